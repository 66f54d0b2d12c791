-- The numbered links of the design of a send. No row when they have no numbers.
-- name: tracking_links :one
-- params: brand_id bigint, send_id bigint
-- columns: domain text, links text
select d.name, v.link_table::text
  from sends s
  join email_versions v on v.brand_id = s.brand_id and v.id = s.email_version_id
  join domains d on d.brand_id = s.brand_id and d.id = s.domain_id
 where s.brand_id = :brand_id and s.id = :send_id and v.link_table is not null;
