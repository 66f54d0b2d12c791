-- Everything a round of delivery needs of its send.
-- name: delivery_send :one
-- params: brand_id bigint, id bigint
-- columns: status text, email_id bigint, target text, subject_code bytea, html_code bytea, text_code bytea, from_address text, sender_name text null, reply_to text null, domain text, brand_name text, inline_to text[] null, inline_keys text[] null, started_at timestamptz null, any_suppressed boolean
select s.status, s.email_id, s.target, s.subject_code, coalesce(s.html_code, v.html_code), v.text_code, s.from_address,
       s.sender_name, s.reply_to, d.name, b.name, s.inline_to, s.inline_keys, s.started_at,
       exists (select 1 from suppressions p where p.brand_id = s.brand_id)
  from sends s
  join email_versions v on v.brand_id = s.brand_id and v.id = s.email_version_id
  join domains d on d.brand_id = s.brand_id and d.id = s.domain_id
  join brands b on b.id = s.brand_id
 where s.brand_id = :brand_id and s.id = :id;

-- A send begins once; a canceled one never does.
-- name: delivery_begin :one
-- params: brand_id bigint, id bigint, now timestamptz
-- columns: target text, inline_to text[] null, inline_keys text[] null
update sends
   set status = 'running', pause_reason = null, started_at = coalesce(started_at, :now), updated_at = :now
 where brand_id = :brand_id and id = :id
   and (status in ('scheduled', 'queued') or (status = 'paused' and pause_reason = 'plan_limit'))
returning target, inline_to, inline_keys;

-- The plan has no room for this send now.
-- name: delivery_pause_for_plan :exec
-- params: brand_id bigint, id bigint, now timestamptz
update sends
   set status = 'paused', pause_reason = 'plan_limit', updated_at = :now
 where brand_id = :brand_id and id = :id and status in ('scheduled', 'queued', 'paused');

-- One send after the other measures itself against the allowance of the organization.
-- name: delivery_allowance_lock :exec
-- params: organization_id bigint
select pg_advisory_xact_lock(7305792610002 + :organization_id);

-- Expanding millions of contacts may take longer than a statement of a caller may.
-- name: delivery_take_time :exec
select set_config('statement_timeout', '0', true);

-- Every subscribed contact becomes a recipient with a dense ordinal; the ordinals are cut into ranges.
-- name: delivery_expand_all :one
-- params: brand_id bigint, send_id bigint, range_size bigint
-- columns: count bigint
with eligible as materialized (
    select id, email, email_key, row_number() over (order by id) as ordinal
      from contacts
     where brand_id = :brand_id and subscribed
), recipients as (
    insert into send_recipients (brand_id, send_id, ordinal, contact_id, email, email_key)
    select :brand_id, :send_id, ordinal, id, email, email_key
      from eligible
), total as (
    select count(*) as count from eligible
), ranges as (
    insert into send_ranges (brand_id, send_id, from_ordinal, to_ordinal, next_ordinal)
    select :brand_id, :send_id, r.first, least(r.first + :range_size - 1, t.count), r.first
      from total t, generate_series(1, t.count, :range_size) as r (first)
), counted as (
    update sends set recipient_count = t.count from total t where brand_id = :brand_id and id = :send_id
)
select count from total;

-- A short list becomes recipients; who is a contact is linked to it.
-- name: delivery_expand_inline :one
-- params: brand_id bigint, send_id bigint, range_size bigint, emails text[], keys text[]
-- columns: count bigint
with listed as materialized (
    select t.email, t.key, t.ordinal
      from unnest(:emails::text[], :keys::text[]) with ordinality as t (email, key, ordinal)
), recipients as (
    insert into send_recipients (brand_id, send_id, ordinal, contact_id, email, email_key)
    select :brand_id, :send_id, l.ordinal, c.id, l.email, l.key
      from listed l
      left join contacts c on c.brand_id = :brand_id and c.email_key = l.key
), total as (
    select count(*) as count from listed
), ranges as (
    insert into send_ranges (brand_id, send_id, from_ordinal, to_ordinal, next_ordinal)
    select :brand_id, :send_id, r.first, least(r.first + :range_size - 1, t.count), r.first
      from total t, generate_series(1, t.count, :range_size) as r (first)
), counted as (
    update sends set recipient_count = t.count from total t where brand_id = :brand_id and id = :send_id
)
select count from total;

-- Counts messages against the allowance of the period in which the send began; a negative number gives back.
-- name: delivery_count_usage :exec
-- params: organization_id bigint, at timestamptz, count bigint
insert into email_usage (organization_id, period_start, sent)
values (:organization_id, date_trunc('month', :at at time zone 'UTC')::date, greatest(:count::bigint, 0))
    on conflict (organization_id, period_start) do update set sent = greatest(email_usage.sent + :count::bigint, 0);

-- Takes the next range for a job; one that it held before it was interrupted comes first.
-- name: delivery_take_range :one
-- params: brand_id bigint, send_id bigint, job_id bigint, now timestamptz
-- columns: from_ordinal bigint, to_ordinal bigint, next_ordinal bigint, started_at timestamptz
update send_ranges r
   set lease_job = :job_id, started_at = coalesce(r.started_at, :now)
 where (r.brand_id, r.send_id, r.from_ordinal) = (
           select o.brand_id, o.send_id, o.from_ordinal
             from send_ranges o
            where o.brand_id = :brand_id and o.send_id = :send_id and o.next_ordinal <= o.to_ordinal
              and (o.lease_job is null or o.lease_job = :job_id)
              and exists (select 1 from sends s where s.brand_id = o.brand_id and s.id = o.send_id and s.status = 'running')
            order by o.lease_job is null, o.from_ordinal
            limit 1
              for update skip locked)
returning r.from_ordinal, r.to_ordinal, r.next_ordinal, coalesce(r.started_at, :now::timestamptz);

-- The recipients of a range as they are now, with the custom fields that the design names, in the order given.
-- name: delivery_recipients :many
-- params: brand_id bigint, send_id bigint, from_ordinal bigint, to_ordinal bigint, fields text[]
-- columns: ordinal bigint, email text, email_key text, contact_id bigint null, was_contact boolean, subscribed boolean null, first_name text null, last_name text null, user_id text null, fields text[]
select r.ordinal, r.email, r.email_key, c.id, r.contact_id is not null, c.subscribed, c.first_name, c.last_name, c.user_id,
       array(select c.custom_fields ->> f.name from unnest(:fields::text[]) with ordinality as f (name, place) order by f.place)
  from send_recipients r
  left join contacts c on c.brand_id = r.brand_id and c.email_key = r.email_key
 where r.brand_id = :brand_id and r.send_id = :send_id and r.ordinal between :from_ordinal and :to_ordinal
 order by r.ordinal;

-- The design of a test message.
-- name: delivery_test_version :one
-- params: brand_id bigint, id bigint
-- columns: html_code bytea, text_code bytea, brand_name text
select v.html_code, v.text_code, b.name
  from email_versions v
  join brands b on b.id = v.brand_id
 where v.brand_id = :brand_id and v.id = :id;

-- One address as a recipient, for a test message.
-- name: delivery_test_recipient :one
-- params: brand_id bigint, email_key text, fields text[]
-- columns: first_name text null, last_name text null, user_id text null, fields text[]
select c.first_name, c.last_name, c.user_id,
       array(select c.custom_fields ->> f.name from unnest(:fields::text[]) with ordinality as f (name, place) order by f.place)
  from contacts c
 where c.brand_id = :brand_id and c.email_key = :email_key;

-- Which of these addresses are suppressed.
-- name: delivery_suppressed :many
-- params: brand_id bigint, hashes text[]
-- columns: hash text
select encode(s.address_hash, 'hex')
  from suppressions s
 where s.brand_id = :brand_id
   and s.address_hash = any (array(select decode(h.hash, 'hex') from unnest(:hashes::text[]) as h (hash)));

-- Moves a range forward; no row when another worker has moved it.
-- name: delivery_advance :one
-- params: brand_id bigint, send_id bigint, from_ordinal bigint, job_id bigint, next_ordinal bigint, new_next_ordinal bigint
-- columns: from_ordinal bigint
update send_ranges
   set next_ordinal = :new_next_ordinal
 where brand_id = :brand_id and send_id = :send_id and from_ordinal = :from_ordinal and lease_job = :job_id
   and next_ordinal = :next_ordinal
returning from_ordinal;

-- What became of each recipient of a range.
-- name: delivery_results :exec
-- params: brand_id bigint, send_id bigint, ordinals bigint[], outcomes text[], reasons text[], at timestamptz
insert into send_results (brand_id, send_id, ordinal, outcome, reason, occurred_at)
select :brand_id, :send_id, t.ordinal, t.outcome, t.reason, :at
  from unnest(:ordinals::bigint[], :outcomes::text[], :reasons::text[]) as t (ordinal, outcome, reason);

-- The events of the messages that the outbox took: sent, and delivered as there is no way further.
-- name: delivery_events :exec
-- params: brand_id bigint, send_id bigint, email_id bigint, emails text[], keys text[], at timestamptz, summary text
insert into events (brand_id, occurred_at, domain, event_type, recipient_email, recipient_key, send_id, email_id, summary)
select :brand_id, :at, 'email', e.type, t.email, t.key, :send_id, :email_id, :summary
  from unnest(:emails::text[], :keys::text[]) with ordinality as t (email, key, place),
       (values (1, 'sent'), (2, 'delivered')) as e (step, type)
 order by t.place, e.step;

-- Adds a range to the figures of its send and of the hour.
-- name: delivery_count :exec
-- params: brand_id bigint, send_id bigint, delivered bigint, skipped bigint, failed bigint, at timestamptz
with figures as (
    update send_stats
       set accepted = accepted + :delivered, sent = sent + :delivered, delivered = delivered + :delivered,
           skipped = skipped + :skipped, failed = failed + :failed
     where brand_id = :brand_id and send_id = :send_id
)
insert into event_counts (brand_id, hour, event_type, count)
select :brand_id, date_trunc('hour', :at, 'UTC'), e.type, :delivered
  from (values ('delivered'), ('sent')) as e (type)
 where :delivered > 0
    on conflict (brand_id, hour, event_type) do update set count = event_counts.count + excluded.count;

-- Ends a send none of whose ranges is open; no row while one is, or when it has ended already.
-- name: delivery_complete :one
-- params: brand_id bigint, id bigint, now timestamptz
-- columns: status text
update sends s
   set status = case when t.failed = 0 then 'completed' when t.delivered > 0 then 'partially_completed' else 'failed' end,
       error = case when t.failed > 0 then t.failed || ' messages could not be composed.' end,
       completed_at = case when t.failed = 0 or t.delivered > 0 then :now::timestamptz end,
       failed_at = case when t.failed > 0 and t.delivered = 0 then :now::timestamptz end,
       updated_at = :now
  from send_stats t
 where s.brand_id = :brand_id and s.id = :id and s.status = 'running'
   and t.brand_id = s.brand_id and t.send_id = s.id
   and not exists (select 1 from send_ranges r
                    where r.brand_id = s.brand_id and r.send_id = s.id and r.next_ordinal <= r.to_ordinal)
returning s.status;

-- Ends a send that cannot go on and gives back the allowance of those it did not reach.
-- name: delivery_fail :exec
-- params: organization_id bigint, brand_id bigint, id bigint, error text, now timestamptz
with ended as (
    update sends s
       set status = case when t.delivered > 0 then 'partially_completed' else 'failed' end,
           error = :error, failed_at = :now, pause_reason = null, updated_at = :now
      from send_stats t
     where s.brand_id = :brand_id and s.id = :id and s.status in ('scheduled', 'queued', 'running', 'paused')
       and t.brand_id = s.brand_id and t.send_id = s.id
    returning s.started_at, s.recipient_count - t.delivered - t.skipped - t.failed as unused
)
update email_usage u
   set sent = greatest(u.sent - e.unused, 0)
  from ended e
 where e.started_at is not null and u.organization_id = :organization_id
   and u.period_start = date_trunc('month', e.started_at at time zone 'UTC')::date;
