-- The newest visits of nodes of a run, in the order of time. The names are those of the version that the run follows.
-- name: run_logs :many
-- row: run_log
-- params: brand_id bigint, run_id bigint, limit bigint
-- columns: visit integer, node_id text, node_type text, name text null, status text, error text null, started_at timestamptz, completed_at timestamptz null
with newest as (
    select *
      from automation_steps
     where brand_id = :brand_id and run_id = :run_id
     order by visit desc
     limit :limit
), names as (
    select n ->> 'id' as node_id, n ->> 'label' as name
      from automation_runs r
      join automation_versions v on v.brand_id = r.brand_id and v.id = r.version_id
     cross join lateral jsonb_array_elements(v.nodes) n
     where r.brand_id = :brand_id and r.id = :run_id
)
select s.visit, s.node_id, s.node_type, n.name, s.status, s.error, s.started_at, s.completed_at
  from newest s
  left join names n on n.node_id = s.node_id
 order by s.visit;

-- The status of a run. Locks it, so that a step that is under way ends before.
-- name: run_lock :one
-- params: brand_id bigint, id bigint
-- columns: status text
select status from automation_runs where brand_id = :brand_id and id = :id for no key update;

-- The messages of a run that no sender has leased, so that they are not sent when the run is canceled.
-- name: run_unsent_messages :one
-- params: brand_id bigint, id bigint
-- columns: count bigint
select count(*)
  from automation_sends m
 cross join lateral (select g.started_at from send_ranges g
                      where g.brand_id = m.brand_id and g.send_id = m.carrier_id and g.from_ordinal <= m.ordinal
                      order by g.from_ordinal desc
                      limit 1) q
  left join send_retries y on y.brand_id = m.brand_id and y.send_id = m.carrier_id and y.ordinal = m.ordinal
 where m.brand_id = :brand_id and m.run_id = :id and (q.started_at is null or (y.ordinal is not null and y.lease_owner is null));
