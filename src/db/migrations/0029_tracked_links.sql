-- The numbered links of a version (engine/tracking/link_table.h). Null: its links have no numbers, because it is older than tracking.
alter table email_versions add column link_table jsonb;
create index email_versions_unnumbered on email_versions (brand_id, id) where link_table is null;

insert into jobs (kind, pool, organization_id, brand_id, payload, run_after, created_at)
select 'number_links', 'work', b.organization_id, b.id, '{}', now(), now()
  from brands b
 where exists (select 1 from email_versions v where v.brand_id = b.id);
