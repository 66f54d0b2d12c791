-- Records events of recipients, and returns the places of those that were recorded. `changes` has for each: add, a first event; move,
-- the event recorded at `recorded_at` happened at `at`; remove, the event recorded at `recorded_at` did not happen. The parts run in
-- this order, because each refers to the one before: contact_activity, send_stats, event_counts, event_rollups. All writers of these
-- tables keep it. The activity of a contact that was deleted meanwhile is not counted down.
-- "limit 1", a lock, the conflict of a key and ctid make the planner look up each row by its key; a join would read all rows of the brand
-- while it expects few. A locked row that has its recorded time is the one of the snapshot, because every change moves the time.
-- "is true" makes a hash of the rows; a join of them would compare each with each, because the planner expects few.
-- The feed names the message of a run in place of its carrier. message_id: that message, of an open or a click; null for campaigns.
-- name: recipient_events_record :many
-- params: brand_id bigint, send_ids bigint[], ordinals bigint[], types text[], ats timestamptz[], summaries text[], urls text[], actors text[], changes text[], recorded_ats timestamptz[]
-- columns: place bigint, message_id bigint null
with listed as materialized (
    select distinct on (t.send_id, t.ordinal, t.type) t.*, r.email, r.email_key, s.email_id, coalesce(c.source, '') as source,
           coalesce(m.id, t.send_id) as feed_id, coalesce(m.node_id, '') as node, m.id as message_id, m.automation_id, m.node_id,
           m.run_id, m.audience_run_id, m.trigger_instance_id
      from unnest(:send_ids::bigint[], :ordinals::bigint[], :types::text[], :ats::timestamptz[], :summaries::text[], :urls::text[],
                  :actors::text[], :changes::text[], :recorded_ats::timestamptz[])
           with ordinality as t (send_id, ordinal, type, at, summary, url, actor, change, recorded_at, place)
     cross join lateral (select r.brand_id, r.email, r.email_key, r.automation_send_id
                           from send_recipients r
                          where r.brand_id = :brand_id and r.send_id = t.send_id and r.ordinal = t.ordinal
                          limit 1) r
     cross join lateral (select s.email_id from sends s where s.brand_id = :brand_id and s.id = t.send_id limit 1) s
      left join lateral (select m.id, m.node_id, m.automation_id, m.run_id, m.audience_run_id, m.trigger_instance_id
                           from automation_sends m
                          where m.brand_id = :brand_id and m.id = r.automation_send_id
                          limit 1) m on true
      left join lateral (select c.source from contacts c where c.brand_id = r.brand_id and c.email_key = r.email_key limit 1) c on true
     where t.type <> 'bounced'
        or (select e.outcome
              from send_results e
             where e.brand_id = :brand_id and e.send_id = t.send_id and e.ordinal = t.ordinal
             limit 1) is distinct from 'bounced'
     order by t.send_id, t.ordinal, t.type, t.at, t.place
), first_time as (
    insert into recipient_events (brand_id, send_id, ordinal, event_type, occurred_at, source)
    select :brand_id, send_id, ordinal, type, at, source from listed where change = 'add' order by send_id, ordinal, type
        on conflict (brand_id, send_id, ordinal, event_type) do nothing
    returning send_id, ordinal, event_type
), held as materialized (
    select e.*, l.send_id, l.ordinal, l.type as event_type, l.change, l.at as new_at, l.source as new_source
      from (select * from listed where change <> 'add' order by send_id, ordinal, type) l
     cross join lateral (select e.ctid as tid, e.occurred_at, e.source
                           from recipient_events e
                          where e.brand_id = :brand_id and e.send_id = l.send_id and e.ordinal = l.ordinal and e.event_type = l.type
                            and e.occurred_at = l.recorded_at
                            for update) e
), moved as (
    insert into recipient_events (brand_id, send_id, ordinal, event_type, occurred_at, source)
    select :brand_id, send_id, ordinal, event_type, new_at, new_source from held where change = 'move' order by send_id, ordinal, event_type
        on conflict (brand_id, send_id, ordinal, event_type) do update set occurred_at = excluded.occurred_at, source = excluded.source
), removed as (
    delete from recipient_events where ctid = any (array(select tid from held where change = 'remove'))
), counted as materialized (
    select l.place, l.send_id, l.type, l.email, l.email_key, l.email_id, l.summary, l.url, l.actor, 1 as step, l.at, l.source,
           l.feed_id, l.node, l.message_id, l.automation_id, l.node_id, l.run_id, l.audience_run_id, l.trigger_instance_id
      from listed l
     where ((l.send_id, l.ordinal, l.type) in (select f.send_id, f.ordinal, f.event_type from first_time f)) is true
     union all
    select l.place, l.send_id, l.type, l.email, l.email_key, l.email_id, l.summary, l.url, l.actor, p.step,
           case p.step when 1 then l.at else h.occurred_at end, case p.step when 1 then l.source else h.source end,
           l.feed_id, l.node, l.message_id, l.automation_id, l.node_id, l.run_id, l.audience_run_id, l.trigger_instance_id
      from held h
      join listed l on l.send_id = h.send_id and l.ordinal = h.ordinal and l.type = h.event_type
      join (values (1), (-1)) as p (step) on p.step = -1 or h.change = 'move'
), activity as (
    insert into contact_activity (brand_id, event_type, email_key, day, count)
    select :brand_id, n.type, n.email_key, n.day, n.count
      from (select type, email_key, (at at time zone 'UTC')::date as day, sum(step) as count from counted group by 1, 2, 3) n
     where n.count > 0
        or (n.count < 0
            and (select true from contact_activity a
                  where a.brand_id = :brand_id and a.event_type = n.type and a.email_key = n.email_key and a.day = n.day
                  limit 1))
     order by 2, 3, 4
        on conflict (brand_id, event_type, email_key, day) do update set count = contact_activity.count + excluded.count
    returning 1
), figures as (
    update send_stats t
       set opened = t.opened + n.opened, clicked = t.clicked + n.clicked, bounced = t.bounced + n.bounced,
           bounced_later = t.bounced_later + n.bounced, complained = t.complained + n.complained,
           unsubscribed = t.unsubscribed + n.unsubscribed
      from (select q.send_id, q.opened, q.clicked, q.bounced, q.complained, q.unsubscribed
              from (select send_id, coalesce(sum(step) filter (where type = 'opened'), 0) as opened,
                           coalesce(sum(step) filter (where type = 'clicked'), 0) as clicked,
                           coalesce(sum(step) filter (where type = 'bounced'), 0) as bounced,
                           coalesce(sum(step) filter (where type = 'complained'), 0) as complained,
                           coalesce(sum(step) filter (where type = 'unsubscribed'), 0) as unsubscribed
                      from counted group by send_id) q
              join send_stats w on w.brand_id = :brand_id and w.send_id = q.send_id
             where (select count(*) from activity) >= 0
             order by q.send_id
               for no key update of w) n
     where t.brand_id = :brand_id and t.send_id = n.send_id
    returning 1
), hours as (
    insert into event_counts (brand_id, hour, event_type, count)
    select :brand_id, date_trunc('hour', at, 'UTC'), type, sum(step)
      from counted
     where (select count(*) from figures) >= 0
     group by 2, 3
    having sum(step) <> 0
     order by 2, 3
        on conflict (brand_id, hour, event_type) do update set count = event_counts.count + excluded.count
    returning 1
), rollups as (
    insert into event_rollups (brand_id, send_id, node_id, day, event_type, receiving_domain, source, count)
    select :brand_id, send_id, node, (at at time zone 'UTC')::date, type, split_part(email_key, '@', 2), source, sum(step)
      from counted
     where (select count(*) from hours) >= 0
     group by 2, 3, 4, 5, 6, 7
    having sum(step) <> 0
     order by 2, 3, 4, 5, 6, 7
        on conflict (brand_id, send_id, node_id, day, event_type, receiving_domain, source)
           do update set count = event_rollups.count + excluded.count
    returning 1
), feed as (
    insert into events (brand_id, occurred_at, domain, event_type, recipient_email, recipient_key, send_id, email_id, summary, url, actor,
                        automation_id, node_id, automation_run_id, audience_run_id, trigger_instance_id)
    select :brand_id, at, 'email', type, email, email_key, feed_id, email_id, summary, url, actor, automation_id, node_id, run_id,
           audience_run_id, trigger_instance_id
      from counted
     where step = 1 and (select count(*) from rollups) >= 0
     order by place
), gone as materialized (
    select c.at, e.part, e.tid
      from counted c
     cross join lateral (select e.tableoid as part, e.ctid as tid
                           from events e
                          where e.brand_id = :brand_id and e.occurred_at = c.at and e.send_id = c.feed_id
                            and e.recipient_key = c.email_key and e.event_type = c.type and e.domain = 'email'
                         offset 0) e
     where c.step = -1
), unfed as (
    delete from events
     where occurred_at between (select min(at) from gone) and (select max(at) from gone)
       and ctid = any (array(select tid from gone)) and (tableoid, ctid) in (select part, tid from gone)
)
select place, case when type in ('opened', 'clicked') then message_id end from counted where step = 1 order by place;

-- Removes counts that moved and removed events have brought to zero. Their rows are locked by this transaction already, so ctid names
-- them. Each is looked up by its key, as in recipient_events_record.
-- name: recipient_events_forget_zeros :exec
-- params: brand_id bigint, send_ids bigint[], ordinals bigint[], types text[], recorded_ats timestamptz[]
with listed as materialized (
    select t.send_id, t.type, r.email_key, t.at, (t.at at time zone 'UTC')::date as day
      from unnest(:send_ids::bigint[], :ordinals::bigint[], :types::text[], :recorded_ats::timestamptz[]) as t (send_id, ordinal, type, at)
     cross join lateral (select r.email_key
                           from send_recipients r
                          where r.brand_id = :brand_id and r.send_id = t.send_id and r.ordinal = t.ordinal
                          limit 1) r
), activity as (
    delete from contact_activity
     where ctid = any (array(select a.tid
                               from listed l
                              cross join lateral (select a.ctid as tid
                                                    from contact_activity a
                                                   where a.brand_id = :brand_id and a.event_type = l.type and a.email_key = l.email_key
                                                     and a.day = l.day and a.count <= 0
                                                   limit 1) a))
), hours as (
    delete from event_counts
     where ctid = any (array(select h.tid
                               from (select distinct date_trunc('hour', at, 'UTC') as hour, type from listed) l
                              cross join lateral (select h.ctid as tid
                                                    from event_counts h
                                                   where h.brand_id = :brand_id and h.hour = l.hour and h.event_type = l.type and h.count = 0
                                                   limit 1) h))
)
delete from event_rollups
 where ctid = any (array(select p.tid
                           from (select distinct send_id, day, type from listed) l
                          cross join lateral (select p.ctid as tid
                                                from event_rollups p
                                               where p.brand_id = :brand_id and p.send_id = l.send_id and p.day = l.day
                                                 and p.event_type = l.type and p.count = 0
                                              offset 0) p));
