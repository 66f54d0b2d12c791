-- The leases of a process are found without reading the retries and ranges of all brands.
create index send_retries_by_owner on send_retries (lease_owner) where lease_owner is not null;
create index send_ranges_by_owner on send_ranges (lease_owner) where lease_owner is not null;
