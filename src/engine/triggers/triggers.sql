-- The triggers of a brand by last change, newest first (keyset pagination).
-- name: trigger_page :page
-- row: trigger
-- params: brand_id bigint, from_start boolean, at timestamptz, id bigint, limit bigint
-- columns: id bigint, provider text, event text null, title text, description text null, schema jsonb, contract jsonb null, contract_version integer, contract_hash bytea null, enforcement text, created_at timestamptz, updated_at timestamptz
select t.id, t.provider, t.event, t.title, t.description, t.schema, t.contract, t.contract_version, t.contract_hash, t.enforcement,
       t.created_at, t.updated_at
  from triggers t
 where t.brand_id = :brand_id
   and (:from_start or (t.updated_at, t.id) < (:at, :id))
 order by t.updated_at desc, t.id desc
 limit :limit;

-- One trigger.
-- name: trigger_find :one
-- row: trigger
-- params: brand_id bigint, id bigint
-- columns: id bigint, provider text, event text null, title text, description text null, schema jsonb, contract jsonb null, contract_version integer, contract_hash bytea null, enforcement text, created_at timestamptz, updated_at timestamptz
select t.id, t.provider, t.event, t.title, t.description, t.schema, t.contract, t.contract_version, t.contract_hash, t.enforcement,
       t.created_at, t.updated_at
  from triggers t
 where t.brand_id = :brand_id and t.id = :id;

-- Locks a trigger for a change of its contract, so that no automation that starts with it is published meanwhile, and tells how
-- many published ones do.
-- name: trigger_lock :one
-- params: brand_id bigint, id bigint
-- columns: provider text, title text, schema jsonb, contract jsonb null, contract_version integer, contract_hash bytea null, enforcement text, published bigint
select t.provider, t.title, t.schema, t.contract, t.contract_version, t.contract_hash, t.enforcement,
       (select count(*)
          from automations a
          join automation_versions v on v.brand_id = a.brand_id and v.id = a.live_version_id
         where a.brand_id = t.brand_id and a.deleted_at is null and v.trigger_id = t.id)
  from triggers t
 where t.brand_id = :brand_id and t.id = :id
   for update of t;

-- Inserts a custom trigger. No row: the brand has `bound` of them.
-- name: trigger_insert :one
-- row: trigger
-- params: brand_id bigint, title text, description text null, schema jsonb, bound bigint, now timestamptz
-- columns: id bigint, provider text, event text null, title text, description text null, schema jsonb, contract jsonb null, contract_version integer, contract_hash bytea null, enforcement text, created_at timestamptz, updated_at timestamptz
insert into triggers as t (brand_id, title, description, schema, created_at, updated_at)
select :brand_id, :title, :description, :schema, :now, :now
 where (select count(*) from (select 1 from triggers where brand_id = :brand_id and connection_id is null limit :bound) n) < :bound
returning t.id, t.provider, t.event, t.title, t.description, t.schema, t.contract, t.contract_version, t.contract_hash, t.enforcement,
          t.created_at, t.updated_at;

-- Changes a custom trigger; null leaves a member unchanged, and an empty description removes it.
-- name: trigger_change :one
-- row: trigger
-- params: brand_id bigint, id bigint, title text null, description text null, schema jsonb null, now timestamptz
-- columns: id bigint, provider text, event text null, title text, description text null, schema jsonb, contract jsonb null, contract_version integer, contract_hash bytea null, enforcement text, created_at timestamptz, updated_at timestamptz
update triggers t
   set title = coalesce(:title, t.title), description = nullif(coalesce(:description, t.description), ''),
       schema = coalesce(:schema, t.schema), updated_at = :now
 where t.brand_id = :brand_id and t.id = :id
returning t.id, t.provider, t.event, t.title, t.description, t.schema, t.contract, t.contract_version, t.contract_hash, t.enforcement,
          t.created_at, t.updated_at;

-- Stores the contract of a trigger, or null to derive it from the schema. The version and the hash of the last stored contract stay.
-- name: trigger_store_contract :exec
-- params: brand_id bigint, id bigint, contract jsonb null, version integer, hash bytea null, enforcement text, now timestamptz
update triggers
   set contract = :contract, contract_version = :version, contract_hash = :hash, enforcement = :enforcement, updated_at = :now
 where brand_id = :brand_id and id = :id;

-- The automations that use a trigger in their latest or live version: to start, or to wait for it (`wait_pattern` matches the nodes
-- of a version with such a wait). Deleted automations do not count.
-- name: trigger_references :many
-- params: brand_id bigint, id bigint, wait_pattern jsonb, limit bigint
-- columns: automation_id bigint, name text, is_published boolean
select a.id, a.name, a.live_version_id is not null
  from automations a
 where a.brand_id = :brand_id and a.deleted_at is null
   and exists (select 1
                 from automation_versions v
                where v.brand_id = a.brand_id and v.id in (a.latest_version_id, a.live_version_id)
                  and (v.trigger_id = :id or v.nodes @> :wait_pattern))
 order by a.id
 limit :limit;

-- Deletes a trigger.
-- name: trigger_delete :exec
-- params: brand_id bigint, id bigint
delete from triggers where brand_id = :brand_id and id = :id;

-- A trigger with the published automations that it starts, or that wait for it (`wait_pattern` as above): how many, and the first ones
-- by id.
-- name: trigger_listeners :one
-- params: brand_id bigint, id bigint, wait_pattern jsonb, limit bigint
-- columns: schema jsonb, count bigint, automation_ids bigint[] null, automation_names text[] null
select t.schema, coalesce(l.count, 0), l.ids, l.names
  from triggers t
  left join lateral (
        select count(*) as count, array_agg(p.id order by p.id) filter (where p.place <= :limit) as ids,
               array_agg(p.name order by p.id) filter (where p.place <= :limit) as names
          from (select a.id, a.name, row_number() over (order by a.id) as place
                  from automations a
                  join automation_versions v on v.brand_id = a.brand_id and v.id = a.live_version_id
                 where a.brand_id = t.brand_id and a.deleted_at is null
                   and (v.trigger_id = t.id or v.nodes @> :wait_pattern)) p) l on true
 where t.brand_id = :brand_id and t.id = :id;
