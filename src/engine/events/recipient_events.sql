-- Records events of recipients, and returns the places of those that were recorded. The parts run in this order, because each refers
-- to the one before: contact_activity, send_stats, event_counts, event_rollups. All writers of these tables keep it.
-- name: recipient_events_record :many
-- params: brand_id bigint, send_ids bigint[], ordinals bigint[], types text[], ats timestamptz[], summaries text[], urls text[], actors text[]
-- columns: place bigint
with listed as materialized (
    select distinct on (t.send_id, t.ordinal, t.type) t.*, r.email, r.email_key, s.email_id
      from unnest(:send_ids::bigint[], :ordinals::bigint[], :types::text[], :ats::timestamptz[], :summaries::text[], :urls::text[],
                  :actors::text[]) with ordinality as t (send_id, ordinal, type, at, summary, url, actor, place)
      join send_recipients r on r.brand_id = :brand_id and r.send_id = t.send_id and r.ordinal = t.ordinal
      join sends s on s.brand_id = :brand_id and s.id = t.send_id
     where t.type <> 'bounced'
        or not exists (select 1 from send_results e
                        where e.brand_id = :brand_id and e.send_id = t.send_id and e.ordinal = t.ordinal and e.outcome = 'bounced')
     order by t.send_id, t.ordinal, t.type, t.at, t.place
), first_time as (
    insert into recipient_events (brand_id, send_id, ordinal, event_type, occurred_at)
    select :brand_id, send_id, ordinal, type, at from listed order by send_id, ordinal, type
        on conflict (brand_id, send_id, ordinal, event_type) do nothing
    returning send_id, ordinal, event_type
), recorded as materialized (
    select l.* from listed l join first_time f on f.send_id = l.send_id and f.ordinal = l.ordinal and f.event_type = l.type
), activity as (
    insert into contact_activity (brand_id, event_type, email_key, day, count)
    select :brand_id, type, email_key, (at at time zone 'UTC')::date, count(*) from recorded group by 2, 3, 4 order by 2, 3, 4
        on conflict (brand_id, event_type, email_key, day) do update set count = contact_activity.count + excluded.count
    returning 1
), figures as (
    update send_stats t
       set opened = t.opened + n.opened, clicked = t.clicked + n.clicked, bounced = t.bounced + n.bounced,
           bounced_later = t.bounced_later + n.bounced, complained = t.complained + n.complained,
           unsubscribed = t.unsubscribed + n.unsubscribed
      from (select q.send_id, q.opened, q.clicked, q.bounced, q.complained, q.unsubscribed
              from (select send_id, count(*) filter (where type = 'opened') as opened,
                           count(*) filter (where type = 'clicked') as clicked,
                           count(*) filter (where type = 'bounced') as bounced,
                           count(*) filter (where type = 'complained') as complained,
                           count(*) filter (where type = 'unsubscribed') as unsubscribed
                      from recorded group by send_id) q
              join send_stats w on w.brand_id = :brand_id and w.send_id = q.send_id
             where (select count(*) from activity) >= 0
             order by q.send_id
               for no key update of w) n
     where t.brand_id = :brand_id and t.send_id = n.send_id
    returning 1
), hours as (
    insert into event_counts (brand_id, hour, event_type, count)
    select :brand_id, date_trunc('hour', at, 'UTC'), type, count(*)
      from recorded
     where (select count(*) from figures) >= 0
     group by 2, 3 order by 2, 3
        on conflict (brand_id, hour, event_type) do update set count = event_counts.count + excluded.count
    returning 1
), rollups as (
    insert into event_rollups (brand_id, send_id, day, event_type, receiving_domain, source, count)
    select :brand_id, e.send_id, (e.at at time zone 'UTC')::date, e.type, split_part(e.email_key, '@', 2), coalesce(c.source, ''), count(*)
      from recorded e
      left join contacts c on c.brand_id = :brand_id and c.email_key = e.email_key
     where (select count(*) from hours) >= 0
     group by 2, 3, 4, 5, 6 order by 2, 3, 4, 5, 6
        on conflict (brand_id, send_id, node_id, day, event_type, receiving_domain, source)
           do update set count = event_rollups.count + excluded.count
    returning 1
), feed as (
    insert into events (brand_id, occurred_at, domain, event_type, recipient_email, recipient_key, send_id, email_id, summary, url, actor)
    select :brand_id, at, 'email', type, email, email_key, send_id, email_id, summary, url, actor
      from recorded
     where (select count(*) from rollups) >= 0
     order by place
)
select place from recorded order by place;
