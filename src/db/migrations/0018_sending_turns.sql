-- The first due retry of each running send, so that brands take turns with their retries.
drop index send_retries_due;
create index send_retries_due on send_retries (brand_id, send_id, due_at) where lease_owner is null;
