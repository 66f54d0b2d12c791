-- How a page of automations performed on the days (UTC) of a window, newest automation first: their runs by the day of the event, and the
-- mail of their carriers. An automation that was deleted is there while it has figures. The page is chosen first, so that no other
-- automation is added up; subqueries with a limit keep the planner from reading all figures of the brand instead.
-- name: automation_figures :page
-- row: automation_figures
-- params: brand_id bigint, from_time timestamptz, to_time timestamptz, from_start boolean, at timestamptz, id bigint, limit bigint
-- columns: id bigint, name text, is_published boolean, runs bigint, completed bigint, failed bigint, sent bigint, delivered bigint, opened bigint, clicked bigint, bounced bigint, complained bigint, unsubscribed bigint, is_tracked boolean, last_run_at timestamptz null, created_at timestamptz
with days as materialized (
    select (:from_time::timestamptz at time zone 'UTC')::date as first,
           ((:to_time::timestamptz - interval '1 microsecond') at time zone 'UTC')::date as last
), page as materialized (
    select a.id, a.created_at, d.first, d.last
      from (select id, created_at, deleted_at
              from automations
             where brand_id = :brand_id and (:from_start or (created_at, id) < (:at, :id))
             order by created_at desc, id desc
            offset 0) a
     cross join days d
     where a.deleted_at is null
        or (select true from automation_counts
             where brand_id = :brand_id and automation_id = a.id and day between d.first and d.last limit 1)
        or (select true
              from automation_carriers k
             cross join lateral (select 1 from event_rollups
                                  where brand_id = k.brand_id and send_id = k.send_id and day between d.first and d.last limit 1) e
             where k.brand_id = :brand_id and k.automation_id = a.id limit 1)
     order by a.created_at desc, a.id desc
     limit :limit
)
select a.id, a.name, a.live_version_id is not null and a.deleted_at is null,
       coalesce(r.started, 0)::bigint, coalesce(r.completed, 0)::bigint, coalesce(r.failed, 0)::bigint, coalesce(m.sent, 0)::bigint,
       coalesce(m.delivered, 0)::bigint, coalesce(m.opened, 0)::bigint, coalesce(m.clicked, 0)::bigint, coalesce(m.bounced, 0)::bigint,
       coalesce(m.complained, 0)::bigint, coalesce(m.unsubscribed, 0)::bigint, coalesce(m.is_tracked, false), l.started_at, a.created_at
  from page p
 cross join lateral (select * from automations where brand_id = :brand_id and id = p.id limit 1) a
 cross join lateral (select sum(count) filter (where kind = 'started') as started, sum(count) filter (where kind = 'completed') as completed,
                            sum(count) filter (where kind = 'failed') as failed
                       from automation_counts
                      where brand_id = :brand_id and automation_id = p.id and day between p.first and p.last) r
 cross join lateral (select sum(e.sent) as sent, sum(e.delivered) as delivered, sum(e.opened) as opened, sum(e.clicked) as clicked,
                            sum(e.bounced) as bounced, sum(e.complained) as complained, sum(e.unsubscribed) as unsubscribed,
                            bool_or(s.is_tracked) filter (where e.rollups > 0) as is_tracked
                       from automation_carriers k
                      cross join lateral (select is_tracked from sends where brand_id = k.brand_id and id = k.send_id limit 1) s
                      cross join lateral (select count(*) as rollups, sum(count) filter (where event_type = 'sent') as sent,
                                                 sum(count) filter (where event_type = 'delivered') as delivered,
                                                 sum(count) filter (where event_type = 'opened') as opened,
                                                 sum(count) filter (where event_type = 'clicked') as clicked,
                                                 sum(count) filter (where event_type = 'bounced') as bounced,
                                                 sum(count) filter (where event_type = 'complained') as complained,
                                                 sum(count) filter (where event_type = 'unsubscribed') as unsubscribed
                                            from event_rollups
                                           where brand_id = k.brand_id and send_id = k.send_id and day between p.first and p.last) e
                      where k.brand_id = :brand_id and k.automation_id = p.id) m
  left join lateral (select q.started_at
                       from automation_runs q
                      where q.brand_id = :brand_id and q.automation_id = p.id and q.mode = 'live'
                      order by q.started_at desc, q.id desc
                      limit 1) l on true
 order by p.created_at desc, p.id desc;

-- The figures of all automations together, in a row of the same shape.
-- name: automation_totals :one
-- row: automation_figures
-- params: brand_id bigint, from_time timestamptz, to_time timestamptz
-- columns: id bigint, name text, is_published boolean, runs bigint, completed bigint, failed bigint, sent bigint, delivered bigint, opened bigint, clicked bigint, bounced bigint, complained bigint, unsubscribed bigint, is_tracked boolean, last_run_at timestamptz null, created_at timestamptz
with days as materialized (
    select (:from_time::timestamptz at time zone 'UTC')::date as first,
           ((:to_time::timestamptz - interval '1 microsecond') at time zone 'UTC')::date as last
), runs as (
    select sum(c.count) filter (where c.kind = 'started') as started, sum(c.count) filter (where c.kind = 'completed') as completed,
           sum(c.count) filter (where c.kind = 'failed') as failed
      from automation_counts c
      join days d on c.day between d.first and d.last
     where c.brand_id = :brand_id
), mail as (
    select sum(e.count) filter (where e.event_type = 'sent') as sent,
           sum(e.count) filter (where e.event_type = 'delivered') as delivered,
           sum(e.count) filter (where e.event_type = 'opened') as opened,
           sum(e.count) filter (where e.event_type = 'clicked') as clicked,
           sum(e.count) filter (where e.event_type = 'bounced') as bounced,
           sum(e.count) filter (where e.event_type = 'complained') as complained,
           sum(e.count) filter (where e.event_type = 'unsubscribed') as unsubscribed
      from automation_carriers k
      join event_rollups e on e.brand_id = k.brand_id and e.send_id = k.send_id
      join days d on e.day between d.first and d.last
     where k.brand_id = :brand_id
)
select 0::bigint, ''::text, false, coalesce(r.started, 0)::bigint, coalesce(r.completed, 0)::bigint, coalesce(r.failed, 0)::bigint,
       coalesce(m.sent, 0)::bigint, coalesce(m.delivered, 0)::bigint, coalesce(m.opened, 0)::bigint, coalesce(m.clicked, 0)::bigint,
       coalesce(m.bounced, 0)::bigint, coalesce(m.complained, 0)::bigint, coalesce(m.unsubscribed, 0)::bigint, false, null::timestamptz,
       :to_time::timestamptz
  from runs r, mail m;
