-- What a graph refers to: pinned versions of designs (owner: the design), domains, the trigger events, the audience, and the names of the
-- contact fields. The trigger events are locked, so that no contract becomes stricter while an automation is published.
-- name: graph_refs :many
-- params: brand_id bigint, version_ids bigint[], domain_ids bigint[], trigger_ids bigint[], audience_id bigint
-- columns: kind text, id bigint, owner bigint null, state text null, name text null, names text[] null, fields jsonb null, is_stored boolean
with wanted_triggers as materialized (
    select t.id, t.title, coalesce(t.contract, t.schema) as fields, t.contract is not null as is_stored
      from triggers t
     where t.brand_id = :brand_id and t.id = any (:trigger_ids)
     order by t.id
       for share
)
select 'version', v.id, v.email_id, case when e.deleted_at is null then e.status else 'deleted' end, e.title, v.paths, null::jsonb, false
  from email_versions v
  join emails e on e.brand_id = v.brand_id and e.id = v.email_id
 where v.brand_id = :brand_id and v.id = any (:version_ids)
 union all
select 'domain', d.id, null, d.status, d.name, null, null, false
  from domains d
 where d.brand_id = :brand_id and d.id = any (:domain_ids) and d.deleted_at is null
 union all
select 'trigger', id, null, null, title, null, fields, is_stored from wanted_triggers
 union all
select 'audience', a.id, null, case when a.kind = 'cohort' then a.materialization_status else 'ready' end, a.name, null, null, false
  from audiences a
 where a.brand_id = :brand_id and a.id = :audience_id and a.deleted_at is null
 union all
select 'fields', 0, null, null, null, array_agg(f.name order by f.name), null, false
  from contact_fields f
 where f.brand_id = :brand_id
 order by 1, 2;

-- The compiled templates of versions.
-- name: graph_codes :page
-- params: brand_id bigint, version_ids bigint[]
-- columns: id bigint, html_code bytea, text_code bytea
select id, html_code, text_code
  from email_versions
 where brand_id = :brand_id and id = any (:version_ids)
 order by id;
