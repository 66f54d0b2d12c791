-- The latest campaigns of a brand, newest first. slot: the hour of the week in the brand's time zone.
-- name: insight_sends :many
-- params: brand_id bigint, from_time timestamptz, now timestamptz, limit bigint
-- columns: id bigint, started_at timestamptz, slot bigint
select s.id, coalesce(s.started_at, s.created_at),
       ((extract(isodow from s.started_at at time zone b.time_zone) - 1) * 24
        + extract(hour from s.started_at at time zone b.time_zone))::bigint
  from sends s
  join brands b on b.id = s.brand_id
 where s.brand_id = :brand_id and s.kind = 'campaign' and s.started_at >= :from_time and s.started_at <= :now
 order by s.started_at desc, s.id desc
 limit :limit;

-- The receiving domains and the sources of contacts with most mail in some sends. A row has a domain or a source; the counts are of
-- a source. Sent and bounced messages are few of the rollups, so this costs less than a pass over all of them.
-- name: insight_leaders :many
-- params: brand_id bigint, send_ids bigint[], domains bigint, sources bigint
-- columns: domain text null, source text null, sent bigint, bounced bigint
with mail as materialized (
    select r.receiving_domain, r.source, sum(r.count) filter (where r.event_type = 'sent') as sent,
           sum(r.count) filter (where r.event_type = 'bounced') as bounced
      from event_rollups r
     where r.brand_id = :brand_id and r.send_id = any(:send_ids) and r.event_type in ('sent', 'bounced')
     group by 1, 2
)
(select receiving_domain, null, 0::bigint, 0::bigint
   from mail group by 1 order by sum(sent) desc nulls last, 1 limit :domains)
union all
(select null, source, coalesce(sum(sent), 0)::bigint, coalesce(sum(bounced), 0)::bigint
   from mail group by source order by sum(sent) desc nulls last, source limit :sources);

-- The first rollups of the sends from one id to another, in the order of the primary key, so that nothing is sorted or hashed. A row has
-- the counts of one send, step, day and type, with their domains on lines; all rows together have at most `limit` counts.
-- name: insight_rolled :page
-- params: brand_id bigint, from_send bigint, to_send bigint, week timestamptz, limit bigint
-- columns: send_id bigint, type text, in_week boolean, domains text, counts bigint[]
select r.send_id, r.event_type, r.day >= (:week::timestamptz at time zone 'UTC')::date,
       string_agg(r.receiving_domain, E'\n'), array_agg(r.count)
  from (select p.send_id, p.node_id, p.day, p.event_type, p.receiving_domain, p.count
          from event_rollups p
         where p.brand_id = :brand_id and p.send_id between :from_send and :to_send
         order by p.send_id, p.node_id, p.day, p.event_type, p.receiving_domain, p.source
         limit :limit) r
 group by r.send_id, r.node_id, r.day, r.event_type
 order by r.send_id, r.node_id, r.day, r.event_type;

-- The next rollups of one send behind a step, day, type, domain and source. last_source: that of the last count. It is a query of its own,
-- because the condition on every rollup and the source of each cost half as much again.
-- name: insight_rolled_behind :many
-- params: brand_id bigint, send_id bigint, week timestamptz, node_id text, day text, type text, domain text, source text, limit bigint
-- columns: node_id text, day text, type text, in_week boolean, domains text, counts bigint[], last_source text
select r.node_id, r.day::text, r.event_type, r.day >= (:week::timestamptz at time zone 'UTC')::date,
       string_agg(r.receiving_domain, E'\n'), array_agg(r.count), (array_agg(r.source))[count(*)]
  from (select p.node_id, p.day, p.event_type, p.receiving_domain, p.source, p.count
          from event_rollups p
         where p.brand_id = :brand_id and p.send_id = :send_id
           and (p.node_id, p.day, p.event_type, p.receiving_domain, p.source) > (:node_id, :day::date, :type, :domain, :source)
         order by p.node_id, p.day, p.event_type, p.receiving_domain, p.source
         limit :limit) r
 group by r.node_id, r.day, r.event_type
 order by r.node_id, r.day, r.event_type;

-- Messages that receiving domains have blocked, or taken after six attempts or more: with the usual backoff more than an hour.
-- name: insight_refusals :many
-- params: brand_id bigint, send_ids bigint[]
-- columns: send_id bigint, domain text, blocked bigint, delayed bigint
select e.send_id, split_part(r.email_key, '@', 2),
       count(*) filter (where e.outcome = 'bounced' and e.reason = 'block'), count(*) filter (where e.attempts >= 6)
  from send_results e
  join send_recipients r on r.brand_id = e.brand_id and r.send_id = e.send_id and r.ordinal = e.ordinal
 where e.brand_id = :brand_id and e.send_id = any(:send_ids)
   and ((e.outcome = 'bounced' and e.reason = 'block') or e.attempts >= 6)
 group by 1, 2;

-- Contacts by the mails a week that they got since a day, and sums over them for the variance of their clicks. The activity counts
-- a delivery as "sent" (delivery_activity).
-- name: insight_frequencies :many
-- params: brand_id bigint, since timestamptz, weeks bigint
-- columns: bin bigint, contacts bigint, mails float8, clicks float8, mails_squared float8, clicks_squared float8, clicks_by_mails float8
with per_contact as (
    select email_key, (sum(count) filter (where event_type = 'sent'))::float8 as mails,
           coalesce(sum(count) filter (where event_type = 'clicked'), 0)::float8 as clicks
      from contact_activity
     where brand_id = :brand_id and event_type in ('sent', 'clicked') and day >= (:since::timestamptz at time zone 'UTC')::date
     group by email_key
)
select (case when mails <= :weeks then 0 when mails <= 2 * :weeks then 1 else 2 end)::bigint, count(*), sum(mails), sum(clicks),
       sum(mails * mails), sum(clicks * clicks), sum(clicks * mails)
  from per_contact
 where mails > 0
 group by 1
 order by 1;

-- Subscribed contacts that are older than `since`, and those of them that opened and clicked nothing after it. None while the brand
-- has no opens or clicks from before `since`, because then nobody knows.
-- Contacts and activity are put together and grouped by their keys: in a join, PostgreSQL compares all with all when the statistics do
-- not know the brand.
-- name: insight_dormant :one
-- params: brand_id bigint, since timestamptz
-- columns: contacts bigint, dormant bigint
select count(*), count(*) filter (where not p.is_awake)
  from (select bool_or(k.is_contact) as is_contact, bool_or(not k.is_contact) as is_awake
          from (select email_key, true as is_contact
                  from contacts
                 where brand_id = :brand_id and created_at < :since and subscribed
                 union all
                select email_key, false
                  from contact_activity
                 where brand_id = :brand_id and event_type in ('opened', 'clicked')
                   and day >= (:since::timestamptz at time zone 'UTC')::date) k
         where (select exists (select 1 from event_counts
                                where brand_id = :brand_id and event_type in ('opened', 'clicked') and hour < :since))
         group by k.email_key) p
 where p.is_contact;

-- Sending domains that have sent mail; lost: they are not verified any more.
-- name: insight_domains :many
-- params: brand_id bigint, limit bigint
-- columns: id bigint, name text, is_lost boolean
select d.id, d.name, d.status = 'pending'
  from domains d
 where d.brand_id = :brand_id and d.kind = 'sending' and d.deleted_at is null
   and exists (select 1 from sends s where s.brand_id = d.brand_id and s.domain_id = d.id and s.started_at is not null)
 order by d.status = 'pending' desc, d.id
 limit :limit;

-- The plan of an organization, its mail in this month, and the whole days until the next.
-- name: insight_plan :one
-- params: organization_id bigint, now timestamptz
-- columns: plan text, used bigint, days_left float8
select o.plan,
       coalesce((select u.sent from email_usage u
                  where u.organization_id = o.id and u.period_start = date_trunc('month', :now at time zone 'UTC')::date), 0),
       (extract(epoch from date_trunc('month', :now at time zone 'UTC') + interval '1 month' - :now at time zone 'UTC') / 86400)::float8
  from organizations o
 where o.id = :organization_id;

-- The messages of an organization by day, counted up: from its first day with mail after `since` to yesterday.
-- name: insight_mail_days :many
-- params: organization_id bigint, since timestamptz, now timestamptz
-- columns: day float8, total float8
with mail as (
    select date_trunc('day', n.hour at time zone 'UTC') as day, sum(n.count) as count
      from brands b
      join event_counts n on n.brand_id = b.id and n.event_type = 'sent' and n.hour >= date_trunc('day', :since::timestamptz, 'UTC')
                         and n.hour < date_trunc('day', :now::timestamptz, 'UTC')
     where b.organization_id = :organization_id
     group by 1
)
select (extract(epoch from d.day) / 86400)::float8, (sum(coalesce(m.count, 0)) over (order by d.day))::float8
  from generate_series((select min(day) from mail), date_trunc('day', :now::timestamptz at time zone 'UTC') - interval '1 day',
                       interval '1 day') as d (day)
  left join mail m on m.day = d.day
 order by 1;
