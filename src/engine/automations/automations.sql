-- The automations of a brand by last change, newest first (keyset pagination). Graph and versions are of the parts that were asked for.
-- name: automation_page :page
-- row: automation
-- params: brand_id bigint, with_graph boolean, with_versions boolean, max_versions bigint, from_start boolean, at timestamptz, id bigint, limit bigint
-- columns: id bigint, name text, description text null, version bigint, version_id bigint, live_version_id bigint null, is_paused boolean, created_at timestamptz, updated_at timestamptz, trigger_id bigint null, email_ids bigint[], nodes jsonb null, connections jsonb null, version_ids bigint[] null, version_numbers bigint[] null
select a.id, a.name, a.description, a.version::bigint, a.latest_version_id, a.live_version_id, a.is_paused, a.created_at, a.updated_at,
       v.trigger_id, v.email_ids, case when :with_graph then v.nodes end, case when :with_graph then v.connections end, n.ids, n.numbers
  from automations a
  join automation_versions v on v.brand_id = a.brand_id and v.id = a.latest_version_id
 cross join lateral (
       select array_agg(w.id order by w.version desc), array_agg(w.version::bigint order by w.version desc)
         from (select id, version
                 from automation_versions
                where :with_versions and brand_id = a.brand_id and automation_id = a.id
                order by version desc
                limit :max_versions) w) as n (ids, numbers)
 where a.brand_id = :brand_id and a.deleted_at is null
   and (:from_start or (a.updated_at, a.id) < (:at, :id))
 order by a.updated_at desc, a.id desc
 limit :limit;

-- One automation.
-- name: automation_find :one
-- row: automation
-- params: brand_id bigint, id bigint, with_graph boolean, with_versions boolean, max_versions bigint
-- columns: id bigint, name text, description text null, version bigint, version_id bigint, live_version_id bigint null, is_paused boolean, created_at timestamptz, updated_at timestamptz, trigger_id bigint null, email_ids bigint[], nodes jsonb null, connections jsonb null, version_ids bigint[] null, version_numbers bigint[] null
select a.id, a.name, a.description, a.version::bigint, a.latest_version_id, a.live_version_id, a.is_paused, a.created_at, a.updated_at,
       v.trigger_id, v.email_ids, case when :with_graph then v.nodes end, case when :with_graph then v.connections end, n.ids, n.numbers
  from automations a
  join automation_versions v on v.brand_id = a.brand_id and v.id = a.latest_version_id
 cross join lateral (
       select array_agg(w.id order by w.version desc), array_agg(w.version::bigint order by w.version desc)
         from (select id, version
                 from automation_versions
                where :with_versions and brand_id = a.brand_id and automation_id = a.id
                order by version desc
                limit :max_versions) w) as n (ids, numbers)
 where a.brand_id = :brand_id and a.id = :id and a.deleted_at is null;

-- Inserts a draft with its first version. No row: the brand has `bound` automations.
-- name: automation_insert :one
-- params: brand_id bigint, name text, description text null, nodes jsonb, connections jsonb, definition_hash bytea, trigger_id bigint null, audience_id bigint null, email_ids bigint[], bound bigint, now timestamptz
-- columns: id bigint
with ids as materialized (
    select nextval(pg_get_serial_sequence('automations', 'id')) as id,
           nextval(pg_get_serial_sequence('automation_versions', 'id')) as version_id
     where (select count(*) from (select 1 from automations where brand_id = :brand_id and deleted_at is null limit :bound) n) < :bound
), automation as (
    insert into automations (brand_id, id, name, description, latest_version_id, created_at, updated_at)
    overriding system value
    select :brand_id, id, :name, :description, version_id, :now, :now from ids
), version as (
    insert into automation_versions (brand_id, id, automation_id, version, nodes, connections, definition_hash, trigger_id, audience_id,
                                     email_ids, created_at)
    overriding system value
    select :brand_id, version_id, id, 1, :nodes, :connections, :definition_hash, :trigger_id, :audience_id, :email_ids, :now from ids
)
select id from ids;

-- Locks an automation before a change, with the graph of its latest version.
-- name: automation_lock :one
-- params: brand_id bigint, id bigint
-- columns: version_id bigint, live_version_id bigint null, is_paused boolean, nodes jsonb, connections jsonb, definition_hash bytea
select a.latest_version_id, a.live_version_id, a.is_paused, v.nodes, v.connections, v.definition_hash
  from automations a
  join automation_versions v on v.brand_id = a.brand_id and v.id = a.latest_version_id
 where a.brand_id = :brand_id and a.id = :id and a.deleted_at is null
   for no key update of a;

-- Appends a version to a locked automation.
-- name: automation_append_version :exec
-- params: brand_id bigint, id bigint, nodes jsonb, connections jsonb, definition_hash bytea, trigger_id bigint null, audience_id bigint null, email_ids bigint[], now timestamptz
with version as (
    insert into automation_versions (brand_id, automation_id, version, nodes, connections, definition_hash, trigger_id, audience_id,
                                     email_ids, created_at)
    select a.brand_id, a.id, a.version + 1, :nodes, :connections, :definition_hash, :trigger_id, :audience_id, :email_ids, :now
      from automations a
     where a.brand_id = :brand_id and a.id = :id
    returning id, version
)
update automations a
   set version = v.version, latest_version_id = v.id
  from version v
 where a.brand_id = :brand_id and a.id = :id;

-- Changes a locked automation; null leaves name or description unchanged. `publishing`: publish, unpublish, or null.
-- name: automation_change :exec
-- params: brand_id bigint, id bigint, name text null, description text null, publishing text null, is_paused boolean, now timestamptz
update automations
   set name = coalesce(:name, name), description = coalesce(nullif(:description::text, ''), case when :description::text is null then description end),
       live_version_id = case :publishing::text when 'publish' then latest_version_id when 'unpublish' then null else live_version_id end,
       is_paused = :is_paused, updated_at = :now
 where brand_id = :brand_id and id = :id;

-- Deletes an automation (soft delete). Its versions stay, because runs refer to them.
-- name: automation_delete :exec
-- params: brand_id bigint, id bigint, now timestamptz
update automations
   set deleted_at = :now, live_version_id = null, is_paused = false
 where brand_id = :brand_id and id = :id and deleted_at is null;
