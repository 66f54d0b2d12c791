-- Urgent sends are few among the running ones, and senders look for their work first.
create index sends_running_urgent on sends (brand_id, id) where status = 'running' and not is_carrier and message_class <> 'marketing';
-- The retry of each brand that has waited longest, for the turns of brands. Only their walk asks for a time after the beginning of time:
-- a lookup of the retries of one send would read those of the whole brand by this index.
create index send_retries_turns on send_retries (brand_id, due_at) where lease_owner is null and due_at > '-infinity';
