-- The newest report about a delay of a message that a relay had accepted.
alter table send_results
    add column delayed_at timestamptz,
    add column delay text; -- the diagnostic
