-- The recipients of reported messages of a brand, when their results were written, and if an event of this type was recorded before. A
-- message that was refused at its delivery has bounced. The diagnostics, in lower case, are looked for in the bounce rules; rule_class
-- is the class of the first that matches; '' matches none. The recipients are locked in the order of their numbers: a settlement that
-- writes a bounce (delivery_lock_bounced) comes before or after. "limit 1" makes the planner look up each row by the primary key; a join
-- or "exists" would read all rows of the brand while it expects few.
-- name: report_recipients :many
-- params: brand_id bigint, send_ids bigint[], ordinals bigint[], event_types text[], diagnostics text[]
-- columns: place bigint, organization_id bigint, email_key text, decided_at timestamptz null, is_recorded boolean, rule_class text null
select t.place, (select b.organization_id from brands b where b.id = :brand_id), r.email_key, e.occurred_at,
       coalesce(e.outcome = t.event_type, false)
       or (select true from recipient_events x
            where x.brand_id = :brand_id and x.send_id = t.send_id and x.ordinal = t.ordinal and x.event_type = t.event_type
            limit 1) is not null,
       (select u.class from bounce_rules u
         where u.organization_id = 0 and position(u.pattern in t.diagnostic) > 0
         order by u.id
         limit 1)
  from (select *
          from unnest(:send_ids::bigint[], :ordinals::bigint[], :event_types::text[], :diagnostics::text[]) with ordinality
               as t (send_id, ordinal, event_type, diagnostic, place)
         order by send_id, ordinal) t
 cross join lateral (select r.email_key from send_recipients r
                      where r.brand_id = :brand_id and r.send_id = t.send_id and r.ordinal = t.ordinal
                        for no key update) r
  left join lateral (select e.outcome, e.occurred_at from send_results e
                      where e.brand_id = :brand_id and e.send_id = t.send_id and e.ordinal = t.ordinal
                      limit 1) e on true;

-- Keeps the newest delay of each of these messages. A result that another transaction is writing keeps the delay that it has: waiting
-- for it could deadlock.
-- name: report_delays_keep :exec
-- params: brand_id bigint, send_ids bigint[], ordinals bigint[], ats timestamptz[], diagnostics text[]
with newest as (
    select distinct on (t.send_id, t.ordinal) t.*
      from unnest(:send_ids::bigint[], :ordinals::bigint[], :ats::timestamptz[], :diagnostics::text[])
           as t (send_id, ordinal, at, diagnostic)
     order by t.send_id, t.ordinal, t.at desc
), held as materialized (
    select e.send_id, e.ordinal, n.at, n.diagnostic
      from newest n
      join send_results e on e.brand_id = :brand_id and e.send_id = n.send_id and e.ordinal = n.ordinal
     where e.delayed_at is null or e.delayed_at < n.at
       for no key update of e skip locked
)
update send_results e
   set delayed_at = h.at, delay = h.diagnostic
  from held h
 where e.brand_id = :brand_id and e.send_id = h.send_id and e.ordinal = h.ordinal;

-- Counts reports.
-- name: report_counts_add :exec
-- params: brand_ids bigint[], ats timestamptz[], sources text[], kinds text[], outcomes text[]
insert into report_counts (brand_id, day, source, kind, outcome, count)
select t.brand_id, (t.at at time zone 'UTC')::date, t.source, t.kind, t.outcome, count(*)
  from unnest(:brand_ids::bigint[], :ats::timestamptz[], :sources::text[], :kinds::text[], :outcomes::text[])
       as t (brand_id, at, source, kind, outcome)
 group by 1, 2, 3, 4, 5
 order by 1, 2, 3, 4, 5
    on conflict (brand_id, day, source, kind, outcome) do update set count = report_counts.count + excluded.count;

-- Keeps a report whose message is not known.
-- name: unmatched_report_keep :exec
-- params: now timestamptz, source text, kind text, bounce text null, return_path text null, recipient text null, diagnostic text null, excerpt text
insert into unmatched_reports (received_at, source, kind, bounce, return_path, recipient, diagnostic, excerpt)
values (:now, :source, :kind, :bounce, :return_path, :recipient, :diagnostic, :excerpt);

-- Removes the oldest of these reports. The ids are found by the primary key.
-- name: unmatched_report_trim :exec
-- params: kept integer
delete from unmatched_reports
 where brand_id = 0 and id <= (select id from unmatched_reports where brand_id = 0 order by id desc offset :kept limit 1);

-- The reports whose message is not known, newest first.
-- name: unmatched_reports :many
-- columns: received_at timestamptz, source text, kind text, bounce text null, return_path text null, recipient text null, diagnostic text null, excerpt text
select received_at, source, kind, bounce, return_path, recipient, diagnostic, left(excerpt, 2000)
  from unmatched_reports
 where brand_id = 0
 order by id desc;

-- The counts of reports of all brands since a time.
-- name: report_counts :many
-- params: since timestamptz
-- columns: source text, kind text, outcome text, count bigint
select source, kind, outcome, sum(count)::bigint
  from report_counts
 where day >= (:since::timestamptz at time zone 'UTC')::date
 group by source, kind, outcome
 order by source, kind, outcome;
