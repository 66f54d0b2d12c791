-- Audiences by their ids, including deleted ones, because other audiences can refer to them.
-- name: contact_audiences_named :page
-- params: brand_id bigint, ids bigint[]
-- columns: id bigint, kind text, status text, deleted boolean, filters jsonb
select id, kind, materialization_status, deleted_at is not null, filters
  from audiences
 where brand_id = :brand_id and id = any(:ids);
