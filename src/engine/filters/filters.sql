-- Audiences by their ids, including deleted ones, because other audiences can refer to them.
-- name: contact_audiences_named :page
-- params: brand_id bigint, ids bigint[]
-- columns: id bigint, kind text, status text, deleted boolean, filters jsonb
select id, kind, materialization_status, deleted_at is not null, filters
  from audiences
 where brand_id = :brand_id and id = any(:ids);

-- Whether the statistics know that the brand has many contacts, and many counts of their events. Text becomes an array for the rows of
-- these columns only, so they are chosen first.
-- name: filter_brand_known :one
-- params: brand_id bigint, many bigint
-- columns: contacts boolean, activity boolean
with learned as materialized (
    select s.tablename::text as name, s.most_common_vals::text as brands, s.most_common_freqs as shares
      from pg_stats s
     where s.schemaname = current_schema() and s.tablename in ('contacts', 'contact_activity') and s.attname = 'brand_id'
)
select coalesce(bool_or(l.name = 'contacts'), false), coalesce(bool_or(l.name = 'contact_activity'), false)
  from learned l
  join pg_class t on t.oid = l.name::regclass
 where t.reltuples * l.shares[array_position(l.brands::bigint[], :brand_id)] >= :many;
