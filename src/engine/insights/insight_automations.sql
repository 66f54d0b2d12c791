-- The published automations of a brand, those with most runs first. listens: an event starts it, and it is not paused.
-- name: insight_automations :many
-- params: brand_id bigint, since timestamptz, limit bigint
-- columns: id bigint, name text, changed_at timestamptz, listens boolean
select a.id, a.name, a.updated_at, v.trigger_id is not null and not a.is_paused
  from automations a
  join automation_versions v on v.brand_id = a.brand_id and v.id = a.live_version_id
  left join lateral (select sum(c.count) as started
                       from automation_counts c
                      where c.brand_id = a.brand_id and c.automation_id = a.id and c.kind = 'started'
                        and c.day > (:since::timestamptz at time zone 'UTC')::date) n on true
 where a.brand_id = :brand_id and a.deleted_at is null
 order by n.started desc nulls last, a.id
 limit :limit;

-- The runs that automations began, by the days (UTC) before today.
-- name: insight_run_days :many
-- params: brand_id bigint, automation_ids bigint[], now timestamptz, days bigint
-- columns: automation_id bigint, age bigint, count bigint
select c.automation_id, ((:now::timestamptz at time zone 'UTC')::date - c.day)::bigint, c.count
  from automation_counts c
 where c.brand_id = :brand_id and c.automation_id = any (:automation_ids::bigint[]) and c.kind = 'started'
   and c.day <= (:now::timestamptz at time zone 'UTC')::date
   and c.day > (:now::timestamptz at time zone 'UTC')::date - :days::integer;

-- The steps of automations by periods of 24 hours before now: the runs that left a step, those that failed or were skipped there, and
-- the reason of most of them. Only the latest runs of a period are read. The steps of a run are found one run at a time, because the
-- table has those of all runs.
-- name: insight_steps :many
-- params: brand_id bigint, automation_ids bigint[], now timestamptz, days bigint, runs_of_day bigint
-- columns: automation_id bigint, node_id text, age bigint, runs bigint, lost bigint, reason text null
with visits as (
    select a.id as automation_id, d.age, s.node_id, bool_or(s.status <> 'completed') as is_lost, max(s.error) as error
      from unnest(:automation_ids::bigint[]) as a (id)
     cross join generate_series(0, :days::bigint - 1) as d (age)
     cross join lateral (select q.id
                           from automation_runs q
                          where q.brand_id = :brand_id and q.automation_id = a.id and q.mode = 'live'
                            and q.started_at > :now::timestamptz - (d.age + 1) * interval '1 day'
                            and q.started_at <= :now::timestamptz - d.age * interval '1 day'
                          order by q.started_at desc, q.id desc
                          limit :runs_of_day) r
     cross join lateral (select v.node_id, v.status, v.error
                           from automation_steps v
                          where v.brand_id = :brand_id and v.run_id = r.id and v.status <> 'running'
                         offset 0) s
     group by a.id, d.age, s.node_id, r.id
)
select automation_id, node_id, age, count(*), count(*) filter (where is_lost),
       left(mode() within group (order by error) filter (where is_lost), 300)
  from visits
 group by automation_id, node_id, age
 order by automation_id, node_id, age;

-- The splits by share of published versions that are younger than `since`.
-- name: insight_splits :many
-- params: brand_id bigint, automation_ids bigint[], since timestamptz, limit bigint
-- columns: automation_id bigint, version_id bigint, since timestamptz, node_id text, left_label text null, right_label text null
select a.id, v.id, v.created_at, n.node ->> 'id', n.node -> 'config' ->> 'leftLabel', n.node -> 'config' ->> 'rightLabel'
  from automations a
  join automation_versions v on v.brand_id = a.brand_id and v.id = a.live_version_id
 cross join lateral jsonb_path_query(v.nodes, '$[*] ? (@.type == "split" && exists (@.config.leftPercentage))') as n (node)
 where a.brand_id = :brand_id and a.id = any (:automation_ids::bigint[]) and v.created_at >= :since
 order by v.created_at desc, a.id, n.node ->> 'id'
 limit :limit;

-- The contacts that took each way of splits before `until`, in the order in which they did: those up to 500, up to 1,000, up to 2,000
-- and up to 4,000 of a way, and those of them that clicked a later message of the run within seven days. Only human clicks are in
-- recipient_events. A contact counts once.
-- name: insight_ways :many
-- params: brand_id bigint, automation_ids bigint[], version_ids bigint[], node_ids text[], froms timestamptz[], until timestamptz, runs bigint
-- columns: place bigint, is_left boolean, look bigint, contacts bigint, clicked bigint
with visits as materialized (
    select distinct on (p.place, r.email_key) p.place, s.branch, r.id, s.visit, s.completed_at
      from unnest(:automation_ids::bigint[], :version_ids::bigint[], :node_ids::text[], :froms::timestamptz[]) with ordinality
               as p (automation_id, version_id, node_id, since, place)
     cross join lateral (select q.id, q.email_key
                           from automation_runs q
                          where q.brand_id = :brand_id and q.automation_id = p.automation_id and q.version_id = p.version_id
                            and q.mode = 'live' and q.started_at >= p.since and q.started_at <= :until
                          order by q.started_at, q.id
                          limit :runs) r
     cross join lateral (select v.branch, v.visit, v.completed_at
                           from automation_steps v
                          where v.brand_id = :brand_id and v.run_id = r.id and v.node_id = p.node_id and v.status = 'completed'
                            and v.branch in ('left', 'right') and v.completed_at <= :until
                          order by v.visit
                          limit 1) s
     order by p.place, r.email_key, s.completed_at, r.id
), ranked as (
    select v.*, row_number() over (partition by v.place, v.branch order by v.completed_at, v.id) as rank from visits v
)
select k.place, k.branch = 'left', width_bucket(k.rank, array[501, 1001, 2001]::bigint[])::bigint, count(*),
       count(*) filter (where exists (select 1
                                        from automation_sends m
                                        join recipient_events c on c.brand_id = m.brand_id and c.send_id = m.carrier_id
                                                               and c.ordinal = m.ordinal and c.event_type = 'clicked'
                                       where m.brand_id = :brand_id and m.run_id = k.id and m.visit > k.visit
                                         and c.occurred_at <= k.completed_at + interval '7 days'))
  from ranked k
 where k.rank <= 4000
 group by 1, 2, 3;

-- The triggers that had an event last.
-- name: insight_triggers :many
-- params: brand_id bigint, since timestamptz, limit bigint
-- columns: id bigint, title text
select t.id, t.title
  from triggers t
 cross join lateral (select i.occurred_at
                       from trigger_instances i
                      where i.brand_id = t.brand_id and i.trigger_id = t.id and i.occurred_at > :since
                      order by i.occurred_at desc
                      limit 1) l
 where t.brand_id = :brand_id
 order by l.occurred_at desc, t.id
 limit :limit;

-- The events of triggers by periods of 24 hours before now, and those that were rejected or did not fit the contract. Only the latest of
-- a period are read.
-- name: insight_fires :many
-- params: brand_id bigint, trigger_ids bigint[], now timestamptz, days bigint, fires_of_day bigint
-- columns: trigger_id bigint, age bigint, fires bigint, drifted bigint
select t.id, d.age, count(*), count(*) filter (where f.state = 'rejected' or f.has_findings)
  from unnest(:trigger_ids::bigint[]) as t (id)
 cross join generate_series(0, :days::bigint - 1) as d (age)
 cross join lateral (select i.state, i.has_findings
                       from trigger_instances i
                      where i.brand_id = :brand_id and i.trigger_id = t.id
                        and i.occurred_at > :now::timestamptz - (d.age + 1) * interval '1 day'
                        and i.occurred_at <= :now::timestamptz - d.age * interval '1 day'
                      order by i.occurred_at desc, i.id desc
                      limit :fires_of_day) f
 group by t.id, d.age
 order by t.id, d.age;
