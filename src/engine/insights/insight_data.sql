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

-- The events of sends by receiving domain, and by source of the contact, in one pass over the rollups. A row has a send and a domain,
-- or a source. Domains beyond the first ones count as ''.
-- name: insight_cells :many
-- params: brand_id bigint, send_ids bigint[], week timestamptz, domains bigint, sources bigint
-- columns: send_id bigint null, domain text null, source text null, sent bigint, delivered bigint, opened bigint, clicked bigint, bounced bigint, complained bigint, unsubscribed bigint, week_delivered bigint, week_complained bigint
with rolled as materialized (
    select r.send_id, r.receiving_domain, r.source, grouping(r.send_id) = 1 as is_source,
           sum(r.count) filter (where r.event_type = 'sent') as sent,
           sum(r.count) filter (where r.event_type = 'delivered') as delivered,
           sum(r.count) filter (where r.event_type = 'opened') as opened,
           sum(r.count) filter (where r.event_type = 'clicked') as clicked,
           sum(r.count) filter (where r.event_type = 'bounced') as bounced,
           sum(r.count) filter (where r.event_type = 'complained') as complained,
           sum(r.count) filter (where r.event_type = 'unsubscribed') as unsubscribed,
           sum(r.count) filter (where r.event_type = 'delivered' and r.day >= (:week::timestamptz at time zone 'UTC')::date) as week_delivered,
           sum(r.count) filter (where r.event_type = 'complained' and r.day >= (:week::timestamptz at time zone 'UTC')::date) as week_complained
      from event_rollups r
     where r.brand_id = :brand_id and r.send_id = any(:send_ids)
     group by grouping sets ((r.send_id, r.receiving_domain), (r.source))
), top as materialized (
    select receiving_domain from rolled where not is_source group by 1 order by sum(sent) desc nulls last, 1 limit :domains
), cells as (
    select n.send_id, coalesce(t.receiving_domain, '') as domain, null::text as source, n.sent, n.delivered, n.opened, n.clicked,
           n.bounced, n.complained, n.unsubscribed, n.week_delivered, n.week_complained
      from rolled n
      left join top t on t.receiving_domain = n.receiving_domain
     where not n.is_source
    union all
    (select null, null, source, sent, delivered, opened, clicked, bounced, complained, unsubscribed, week_delivered, week_complained
       from rolled where is_source order by sent desc nulls last, source limit :sources)
)
select send_id, domain, source, coalesce(sum(sent), 0)::bigint, coalesce(sum(delivered), 0)::bigint, coalesce(sum(opened), 0)::bigint,
       coalesce(sum(clicked), 0)::bigint, coalesce(sum(bounced), 0)::bigint, coalesce(sum(complained), 0)::bigint,
       coalesce(sum(unsubscribed), 0)::bigint, coalesce(sum(week_delivered), 0)::bigint, coalesce(sum(week_complained), 0)::bigint
  from cells
 group by send_id, domain, source
 order by send_id, domain, source;

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

-- Contacts by the mails a week that they got since a day, and sums over them for the variance of their clicks.
-- name: insight_frequencies :many
-- params: brand_id bigint, since timestamptz, weeks bigint
-- columns: bin bigint, contacts bigint, mails float8, clicks float8, mails_squared float8, clicks_squared float8, clicks_by_mails float8
with per_contact as (
    select email_key, (sum(count) filter (where event_type = 'delivered'))::float8 as mails,
           coalesce(sum(count) filter (where event_type = 'clicked'), 0)::float8 as clicks
      from contact_activity
     where brand_id = :brand_id and event_type in ('delivered', 'clicked') and day >= (:since::timestamptz at time zone 'UTC')::date
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
-- name: insight_dormant :one
-- params: brand_id bigint, since timestamptz
-- columns: contacts bigint, dormant bigint
with known as (
    select exists (select 1 from event_counts
                    where brand_id = :brand_id and event_type in ('opened', 'clicked') and hour < :since) as is_known
), awake as (
    select distinct email_key
      from contact_activity
     where brand_id = :brand_id and event_type in ('opened', 'clicked') and day >= (:since::timestamptz at time zone 'UTC')::date
)
select count(*), count(*) filter (where w.email_key is null)
  from contacts c
  cross join known k
  left join awake w on w.email_key = c.email_key
 where c.brand_id = :brand_id and c.created_at < :since and c.subscribed and k.is_known;

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
