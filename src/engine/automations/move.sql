-- A version of an automation, by its id or by its number.
-- name: automation_version_find :one
-- params: brand_id bigint, automation_id bigint, id bigint null, version bigint null
-- columns: id bigint, version bigint, nodes jsonb, connections jsonb
select id, version::bigint, nodes, connections
  from automation_versions
 where brand_id = :brand_id and automation_id = :automation_id and (id = :id or version = :version);

-- The brand of an automation, for the operator.
-- name: automation_brand :one
-- params: id bigint
-- columns: brand_id bigint, organization_id bigint
select a.brand_id, b.organization_id
  from automations a
  join brands b on b.id = a.brand_id
 where a.id = :id and a.deleted_at is null;

-- Judges the open runs of an automation that are on other versions, and with `applies` moves those that keep their place. One
-- statement does both, so that a preview is what a move does. `nodes`, `types` and `reads_payload` are the nodes of the version, in
-- the same order. A run keeps its place when the version has a node of the same id and type, and does not begin again; it decides
-- anew at once by the config of that node. A run that has not begun begins at the trigger of the version. A run whose payload was
-- erased stays on its version when the other one would read the payload. `run_ids` are those of the runs that leave, which the caller
-- cancels.
-- name: runs_move :many
-- params: brand_id bigint, automation_id bigint, version_id bigint, nodes text[], types text[], reads_payload boolean[], trigger_node text, applies boolean, now timestamptz
-- columns: version bigint, node_id text, outcome text, runs bigint, run_ids bigint[]
with places as materialized (
    select v.id as version_id, v.version, n.node ->> 'id' as node_id, n.node ->> 'type' as type
      from automation_versions v
     cross join lateral jsonb_array_elements(v.nodes) as n (node)
     where v.brand_id = :brand_id and v.automation_id = :automation_id and v.id <> :version_id
), target as materialized (
    select * from unnest(:nodes::text[], :types::text[], :reads_payload::boolean[]) as t (node_id, type, reads_payload)
), open_runs as materialized (
    select r.id, r.version_id, r.node_id, r.visit, r.payload_id, r.trigger_instance_id
      from automation_runs r
     where r.brand_id = :brand_id and r.automation_id = :automation_id and r.status in ('queued', 'running') and r.mode = 'live'
       and r.version_id <> :version_id
     order by r.id
       for no key update
), judged as materialized (
    select o.id, o.version_id, o.node_id, o.visit,
           case when o.visit = 0 then 'moves'
                when t.node_id is null then 'leaves'
                when t.reads_payload and o.payload_id is null and o.trigger_instance_id is not null then 'stays'
                else 'moves' end as outcome
      from open_runs o
      left join places p on p.version_id = o.version_id and p.node_id = o.node_id
      left join target t on t.node_id = o.node_id and t.type = p.type
), moved as (
    update automation_runs r
       set version_id = :version_id, waits_message = null, waits_trigger = null,
           node_id = case when j.visit = 0 then :trigger_node else r.node_id end,
           due_at = case when j.visit = 0 or r.status <> 'running' then r.due_at else :now end
      from judged j
     where :applies and j.outcome = 'moves' and r.brand_id = :brand_id and r.id = j.id
)
select v.version::bigint, j.node_id, j.outcome, count(*),
       coalesce(array_agg(j.id order by j.id) filter (where j.outcome = 'leaves'), '{}')
  from judged j
  join automation_versions v on v.brand_id = :brand_id and v.id = j.version_id
 group by v.version, j.node_id, j.outcome
 order by v.version, j.node_id, j.outcome;
