-- How automations performed on the days (UTC) of a window, newest automation first: their runs by the day of the event, and the mail of
-- their carriers. An automation that was deleted is there while it has figures.
-- name: automation_figures :many
-- params: brand_id bigint, from_time timestamptz, to_time timestamptz
-- columns: id bigint, name text, is_published boolean, runs bigint, completed bigint, failed bigint, sent bigint, delivered bigint, opened bigint, clicked bigint, bounced bigint, complained bigint, unsubscribed bigint, is_tracked boolean, last_run_at timestamptz null, created_at timestamptz
with days as materialized (
    select (:from_time::timestamptz at time zone 'UTC')::date as first,
           ((:to_time::timestamptz - interval '1 microsecond') at time zone 'UTC')::date as last
), runs as (
    select c.automation_id, sum(c.count) filter (where c.kind = 'started') as started,
           sum(c.count) filter (where c.kind = 'completed') as completed, sum(c.count) filter (where c.kind = 'failed') as failed
      from automation_counts c
      join days d on c.day between d.first and d.last
     where c.brand_id = :brand_id
     group by c.automation_id
), mail as (
    select k.automation_id, sum(e.count) filter (where e.event_type = 'sent') as sent,
           sum(e.count) filter (where e.event_type = 'delivered') as delivered,
           sum(e.count) filter (where e.event_type = 'opened') as opened,
           sum(e.count) filter (where e.event_type = 'clicked') as clicked,
           sum(e.count) filter (where e.event_type = 'bounced') as bounced,
           sum(e.count) filter (where e.event_type = 'complained') as complained,
           sum(e.count) filter (where e.event_type = 'unsubscribed') as unsubscribed, bool_or(s.is_tracked) as is_tracked
      from automation_carriers k
      join sends s on s.brand_id = k.brand_id and s.id = k.send_id
      join event_rollups e on e.brand_id = k.brand_id and e.send_id = k.send_id
      join days d on e.day between d.first and d.last
     where k.brand_id = :brand_id
     group by k.automation_id
)
select a.id, a.name, a.live_version_id is not null and a.deleted_at is null,
       coalesce(r.started, 0)::bigint, coalesce(r.completed, 0)::bigint, coalesce(r.failed, 0)::bigint, coalesce(m.sent, 0)::bigint,
       coalesce(m.delivered, 0)::bigint, coalesce(m.opened, 0)::bigint, coalesce(m.clicked, 0)::bigint, coalesce(m.bounced, 0)::bigint,
       coalesce(m.complained, 0)::bigint, coalesce(m.unsubscribed, 0)::bigint, coalesce(m.is_tracked, false), l.started_at, a.created_at
  from automations a
  left join runs r on r.automation_id = a.id
  left join mail m on m.automation_id = a.id
  left join lateral (select q.started_at
                       from automation_runs q
                      where q.brand_id = a.brand_id and q.automation_id = a.id and q.mode = 'live'
                      order by q.started_at desc, q.id desc
                      limit 1) l on true
 where a.brand_id = :brand_id and (a.deleted_at is null or r.automation_id is not null or m.automation_id is not null)
 order by a.created_at desc, a.id desc;
