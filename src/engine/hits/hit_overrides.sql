-- The revision and the rules of the operator; one row without a rule when there is none.
-- name: hit_overrides_find :many
-- columns: revision integer, fact text null, class_name text null, kind text null, actor text null, created_at timestamptz null
select coalesce((select v.revision from hit_rule_revisions v where v.organization_id = 0), 0), r.fact, r.class, r.kind, r.actor,
       r.created_at
  from (values (0::bigint)) as o (organization_id)
  left join hit_rules r on r.organization_id = o.organization_id
 order by r.fact, r.class, r.kind;

-- Sets a rule. Setting it as it is changes nothing.
-- name: hit_override_set :exec
-- params: fact text, class_name text, kind text, actor text, now timestamptz
with changed as (
    insert into hit_rules (organization_id, fact, class, kind, actor, created_at)
    values (0, :fact, :class_name, :kind, :actor, :now)
        on conflict (organization_id, fact, class, kind) do update
       set actor = excluded.actor, created_at = excluded.created_at
     where hit_rules.actor <> excluded.actor
    returning 1
)
insert into hit_rule_revisions as v (organization_id, revision)
select 0, 1 from changed
    on conflict (organization_id) do update set revision = v.revision + 1;

-- Removes a rule. No row when there is none.
-- name: hit_override_remove :one
-- params: fact text, class_name text, kind text
-- columns: revision integer
with removed as (
    delete from hit_rules where organization_id = 0 and fact = :fact and class = :class_name and kind = :kind returning 1
)
update hit_rule_revisions set revision = revision + 1
 where organization_id = 0 and exists (select 1 from removed)
returning revision;
