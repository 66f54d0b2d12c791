-- A lease looks for the sends of a brand by their urgency and their domain, since a process may have room for some of them only. A brand
-- may have thousands of sends that have no room.
create index sends_by_urgency on sends (brand_id, (is_carrier or message_class <> 'marketing'), domain_id, id)
 where status = 'running' and held_at is null;
-- The brands of which a process has leases are found without reading each lease.
create index send_ranges_leased on send_ranges (lease_owner, brand_id) where lease_owner is not null;
drop index send_ranges_by_owner;
