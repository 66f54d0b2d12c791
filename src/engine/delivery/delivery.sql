-- The data of a send that its delivery needs.
-- name: delivery_send :one
-- params: brand_id bigint, id bigint, now timestamptz
-- columns: status text, organization_id bigint, message_class text, email_id bigint, audience_id bigint null, domain_id bigint, is_sandbox boolean, subject_code bytea, html_code bytea, text_code bytea, from_address text, sender_name text null, reply_to text null, domain text, has_click_host boolean, brand text, inline_to text[] null, inline_keys text[] null, started_at timestamptz null, any_suppressed boolean, is_held boolean, receives_reports boolean, is_carrier boolean, node_id text, brand_tracks boolean, is_tracked boolean
select s.status, b.organization_id, s.message_class, s.email_id, s.audience_id, s.domain_id, d.kind = 'sandbox', s.subject_code, coalesce(s.html_code, v.html_code), v.text_code, s.from_address,
       s.sender_name, s.reply_to, d.name, 'CNAME click.' || d.name = any (d.published),
       jsonb_strip_nulls(b.identity || jsonb_build_object('name', b.name, 'domain', b.domain, 'timeZone', b.time_zone,
                                                          'locale', b.locale))::text,
       s.inline_to, s.inline_keys, s.started_at,
       exists (select 1 from suppressions_at(:brand_id, :now)), s.held_at is not null,
       array['MX bounce.' || d.name, 'TXT bounce.' || d.name] <@ d.published, s.is_carrier,
       case when s.is_carrier then coalesce((select k.node_id from automation_carriers k where k.brand_id = s.brand_id and k.send_id = s.id), '')
            else '' end,
       brand_tracks(b.tracking, s.message_class), s.is_tracked
  from sends s
  join email_versions v on v.brand_id = s.brand_id and v.id = s.email_version_id
  join domains d on d.brand_id = s.brand_id and d.id = s.domain_id
  join brands b on b.id = s.brand_id
 where s.brand_id = :brand_id and s.id = :id;

-- Begins a send. No row when it was canceled or has begun before, or is not approved.
-- name: delivery_begin :one
-- params: brand_id bigint, id bigint, is_tracked boolean, now timestamptz
-- columns: audience_id bigint null, inline_to text[] null, inline_keys text[] null
update sends
   set status = 'running', pause_reason = null, started_at = coalesce(started_at, :now), updated_at = :now,
       is_tracked = :is_tracked
 where brand_id = :brand_id and id = :id
   and (status in ('scheduled', 'queued') or (status = 'paused' and pause_reason = 'plan_limit'))
   and approval_state = 'approved'
   and held_at is null
returning audience_id, inline_to, inline_keys;

-- Notes that mail of a send is tracked: the brand or the installation began to track after the send had begun.
-- name: delivery_note_tracked :exec
-- params: brand_id bigint, id bigint
update sends set is_tracked = true where brand_id = :brand_id and id = :id and not is_tracked;

-- Notifies all sender processes that a send is ready.
-- name: delivery_notify_senders :exec
select pg_notify('posthorn_send', '');

-- Pauses a send that exceeds the allowance of the plan.
-- name: delivery_pause_for_plan :exec
-- params: brand_id bigint, id bigint, now timestamptz
update sends
   set status = 'paused', pause_reason = 'plan_limit', updated_at = :now
 where brand_id = :brand_id and id = :id and status in ('scheduled', 'queued', 'paused');

-- Serialises the allowance checks of one organization.
-- name: delivery_allowance_lock :exec
-- params: lock integer, organization_id bigint
select pg_advisory_xact_lock(:lock, hashint8(:organization_id));

-- Turns off the statement timeout: expanding millions of contacts can take longer than a caller's statement may.
-- name: delivery_disable_timeout :exec
select set_config('statement_timeout', '0', true);

-- Expands an inline list into recipients, and links each to its contact if there is one. With a key the order is that of the keyed
-- hashes of the addresses. The brand comes out of a subquery as in contacts_save.
-- name: delivery_expand_inline :one
-- params: brand_id bigint, send_id bigint, sample_key bytea null, emails text[], keys text[]
-- columns: count bigint
with listed as materialized (
    select :brand_id::bigint as brand_id, t.email, t.key, row_number() over (order by sha256(:sample_key::bytea || convert_to(t.key, 'UTF8')), t.place) as ordinal
      from unnest(:emails::text[], :keys::text[]) with ordinality as t (email, key, place)
), recipients as (
    insert into send_recipients (brand_id, send_id, ordinal, contact_id, email, email_key)
    select :brand_id, :send_id, l.ordinal, c.id, l.email, l.key
      from listed l
      left join lateral (select id from contacts k where k.brand_id = l.brand_id and k.email_key = l.key limit 1) c on true
), total as (
    select count(*) as count from listed
), counted as (
    update sends set recipient_count = t.count from total t where brand_id = :brand_id and id = :send_id
)
select count from total;

-- Makes the ranges of these recipients, so that senders can lease them.
-- name: delivery_add_ranges :exec
-- params: brand_id bigint, send_id bigint, from_ordinal bigint, to_ordinal bigint, range_size bigint
insert into send_ranges (brand_id, send_id, from_ordinal, to_ordinal, next_ordinal)
select :brand_id, :send_id, r.first, least(r.first + :range_size - 1, :to_ordinal), r.first
  from generate_series(:from_ordinal::bigint, :to_ordinal::bigint, :range_size::bigint) as r (first);

-- Updates the planner's statistics after a large send, without waiting for autovacuum.
-- name: delivery_analyze :exec
analyze send_recipients;

-- Counts the recipients of a send that begins against the allowance of the period.
-- name: delivery_count_usage :exec
-- params: organization_id bigint, at timestamptz, count bigint
insert into email_usage (organization_id, period_start, sent)
values (:organization_id, date_trunc('month', :at at time zone 'UTC')::date, :count)
    on conflict (organization_id, period_start) do update set sent = email_usage.sent + excluded.sent;

-- Corrects the allowance of a send by results. Recipients that were not mailed use none. When the send was canceled or given up,
-- that has returned the allowance of all recipients without a result: then those that were mailed after all are counted again.
-- The period is that of the beginning, of a gradual send that of its last tranche, of a carrier that of the result.
-- Runs behind delivery_count, whose lock of the statistics keeps the send from ending meanwhile. Nothing to correct locks nothing:
-- steppers that append to a carrier hold the row until their commit.
-- name: delivery_correct_usage :exec
-- params: organization_id bigint, brand_id bigint, send_id bigint, mailed bigint, unmailed bigint, at timestamptz
update email_usage u
   set sent = greatest(u.sent + case when s.status in ('running', 'paused') then -:unmailed::bigint else :mailed::bigint end, 0)
  from sends s
 where s.brand_id = :brand_id and s.id = :send_id and u.organization_id = :organization_id
   and case when s.status in ('running', 'paused') then :unmailed::bigint else :mailed::bigint end > 0
   and u.period_start = date_trunc('month', case when s.is_carrier then :at
                                                 else coalesce((select g.released_at from gradual_sends g
                                                                 where g.brand_id = s.brand_id and g.send_id = s.id), s.started_at) end
                                            at time zone 'UTC')::date;

-- Current recipients of a send, with the custom fields of the design in the given order. Each field's text follows a letter for
-- its type; the name '' means all fields (engine/compose/merge_fields.h). A range omits recipients with a result or a queued
-- retry. Retries omit those that are not leased to `owner`. Each "limit 1" forces a lookup by the whole key, also while the
-- tables have no statistics yet; the brand of a contact is that of the recipient, as in contacts_save. The rows are those in front of the one with which the custom fields exceed `max_bytes`, and that
-- one; `eligible` counts all. The date is that of the range; only a damaged journal names recipients of a range that has not begun.
-- A field that is stored without compression is not read for its size.
-- name: delivery_recipients :many
-- params: brand_id bigint, send_id bigint, ordinals bigint[], fields text[], is_fresh boolean, is_retry boolean, owner text, date timestamptz null, max_bytes bigint
-- columns: ordinal bigint, email text, email_key text, contact_id bigint null, was_contact boolean, subscribed boolean null, is_invalid boolean, attempts bigint, first_at timestamptz null, uncertain boolean, date timestamptz, first_name text null, last_name text null, user_id text null, fields text[], source text null, eligible bigint
with eligible as (
    select r.ordinal, r.email, r.email_key, c.id as contact_id, r.contact_id is not null as was_contact, c.subscribed,
           coalesce(y.attempts, 0)::bigint as attempts, y.first_at, coalesce(y.uncertain, false) as uncertain,
           c.first_name, c.last_name, c.user_id, c.source, c.custom_fields, count(*) over () as count,
           sum(case when c.id is null or cardinality(:fields::text[]) = 0 then 0
                    when pg_column_compression(c.custom_fields) is null then pg_column_size(c.custom_fields)
                    else octet_length(c.custom_fields::text) end)
               over (order by r.ordinal rows between unbounded preceding and 1 preceding) as bytes_before
      from unnest(:ordinals::bigint[]) as w (ordinal)
     cross join lateral (select * from send_recipients
                          where brand_id = :brand_id and send_id = :send_id and ordinal = w.ordinal limit 1) r
      left join lateral (select * from send_retries
                          where brand_id = :brand_id and send_id = :send_id and ordinal = w.ordinal limit 1) y on true
      left join lateral (select * from contacts where brand_id = r.brand_id and email_key = r.email_key limit 1) c on true
     where case when :is_retry::boolean then y.lease_owner = :owner else y.ordinal is null end
       and (:is_fresh::boolean
            or (select true from send_results
                 where brand_id = :brand_id and send_id = :send_id and ordinal = w.ordinal limit 1) is null)
)
select e.ordinal, e.email, e.email_key, e.contact_id, e.was_contact, e.subscribed,
       coalesce((select true from contact_validations v
                  where v.brand_id = :brand_id and v.contact_id = e.contact_id and v.status = 'invalid' limit 1), false),
       e.attempts, e.first_at, e.uncertain,
       coalesce(:date::timestamptz,
                (select g.started_at from send_ranges g
                  where g.brand_id = :brand_id and g.send_id = :send_id and g.from_ordinal <= e.ordinal
                  order by g.from_ordinal desc limit 1),
                now()),
       e.first_name, e.last_name, e.user_id,
       array(select case jsonb_typeof(v.value) when 'null' then null when 'object' then 'j' || v.value::text
                                               when 'array' then 'j' || v.value::text
                                               else left(jsonb_typeof(v.value), 1) || (v.value #>> '{}') end
               from unnest(:fields::text[]) with ordinality as f (name, place)
              cross join lateral (select case f.name when '' then e.custom_fields else e.custom_fields -> f.name end) v (value)
              order by f.place),
       e.source, e.count
  from eligible e
 where coalesce(e.bytes_before, 0) < :max_bytes
 order by e.ordinal;

-- The suppressed addresses among these. Mail that is not marketing ignores that somebody has unsubscribed.
-- name: delivery_suppressed :many
-- params: brand_id bigint, hashes text[], is_marketing boolean, now timestamptz
-- columns: hash text
select encode(s.address_hash, 'hex')
  from suppressions_at(:brand_id, :now) s
 where s.address_hash = any (array(select decode(h.hash, 'hex') from unnest(:hashes::text[]) as h (hash)))
   and (:is_marketing or s.reason not in ('unsubscribe', 'unsubscribed'));

-- Locks the ranges that have ordinals between these two for settling, and returns their owners.
-- name: delivery_hold_ranges :many
-- params: brand_id bigint, send_id bigint, first bigint, last bigint
-- columns: lease_owner text null
select lease_owner
  from send_ranges
 where brand_id = :brand_id and send_id = :send_id and from_ordinal <= :last
   and from_ordinal >= (select max(b.from_ordinal) from send_ranges b
                         where b.brand_id = :brand_id and b.send_id = :send_id and b.from_ordinal <= :first)
 order by from_ordinal
   for update;

-- Locks retries for settling, if they are leased to `owner` and have no result. `attempts` differs when a retry was settled and
-- leased again meanwhile.
-- name: delivery_hold_retries :many
-- params: brand_id bigint, send_id bigint, ordinals bigint[], owner text
-- columns: ordinal bigint, attempts bigint
select y.ordinal, y.attempts::bigint
  from send_retries y
 where y.brand_id = :brand_id and y.send_id = :send_id and y.ordinal = any (:ordinals::bigint[]) and y.lease_owner = :owner
   and not exists (select 1 from send_results r
                    where r.brand_id = y.brand_id and r.send_id = y.send_id and r.ordinal = y.ordinal)
 order by y.ordinal
   for update of y;

-- Recipients for which another process has written a result or a retry.
-- name: delivery_foreign_results :many
-- params: brand_id bigint, send_id bigint, ordinals bigint[]
-- columns: ordinal bigint
select ordinal from send_results where brand_id = :brand_id and send_id = :send_id and ordinal = any (:ordinals::bigint[])
 union all
select ordinal from send_retries where brand_id = :brand_id and send_id = :send_id and ordinal = any (:ordinals::bigint[]);

-- Locks recipients whose bounces are settled, as report_recipient does for a report, so that only one of both counts a bounce. What the
-- other one has written is seen by the next statement.
-- name: delivery_lock_bounced :exec
-- params: brand_id bigint, send_id bigint, ordinals bigint[]
select 1
  from send_recipients
 where brand_id = :brand_id and send_id = :send_id and ordinal = any (:ordinals::bigint[])
 order by ordinal
   for no key update;

-- Those of these recipients whose bounce was reported and counted before they have a result.
-- name: delivery_reported_bounces :many
-- params: brand_id bigint, send_id bigint, ordinals bigint[]
-- columns: ordinal bigint
select ordinal
  from recipient_events
 where brand_id = :brand_id and send_id = :send_id and ordinal = any (:ordinals::bigint[]) and event_type = 'bounced';

-- Marks results and retries that another process wrote while this one sent to the same recipients, who may have got two copies.
-- name: delivery_mark_doubled :exec
-- params: brand_id bigint, send_id bigint, ordinals bigint[]
with results as (
    update send_results set uncertain = true
     where brand_id = :brand_id and send_id = :send_id and ordinal = any (:ordinals::bigint[]) and not uncertain
)
update send_retries set uncertain = true
 where brand_id = :brand_id and send_id = :send_id and ordinal = any (:ordinals::bigint[]) and not uncertain;

-- Closes a range. Each of its recipients has a result or a queued retry.
-- name: delivery_close_range :exec
-- params: brand_id bigint, send_id bigint, from_ordinal bigint, owner text
update send_ranges
   set next_ordinal = to_ordinal + 1, lease_owner = null, lease_until = null
 where brand_id = :brand_id and send_id = :send_id and from_ordinal = :from_ordinal and lease_owner = :owner;

-- Appends results.
-- name: delivery_results :exec
-- params: brand_id bigint, send_id bigint, ordinals bigint[], outcomes text[], reasons text[], replies text[], relays text[], attempts bigint[], uncertain boolean[], at timestamptz
insert into send_results (brand_id, send_id, ordinal, outcome, reason, reply, relay, attempts, uncertain, occurred_at)
select :brand_id, :send_id, t.ordinal, t.outcome, t.reason, t.reply, t.relay, t.attempts, t.uncertain, :at
  from unnest(:ordinals::bigint[], :outcomes::text[], :reasons::text[], :replies::text[], :relays::text[], :attempts::bigint[],
              :uncertain::boolean[]) as t (ordinal, outcome, reason, reply, relay, attempts, uncertain);

-- Queues retries.
-- name: delivery_put_off :exec
-- params: brand_id bigint, send_id bigint, ordinals bigint[], attempts bigint[], first_ats timestamptz[], due_ats timestamptz[], replies text[], relays text[], uncertain boolean[], is_carrier boolean
insert into send_retries (brand_id, send_id, ordinal, attempts, first_at, due_at, reply, relay, uncertain, is_carrier)
select :brand_id, :send_id, t.ordinal, t.attempts, t.first_at, t.due_at, t.reply, t.relay, t.uncertain, :is_carrier
  from unnest(:ordinals::bigint[], :attempts::bigint[], :first_ats::timestamptz[], :due_ats::timestamptz[], :replies::text[],
              :relays::text[], :uncertain::boolean[]) as t (ordinal, attempts, first_at, due_at, reply, relay, uncertain)
    on conflict (brand_id, send_id, ordinal)
       do update set attempts = excluded.attempts, due_at = excluded.due_at, reply = excluded.reply, relay = excluded.relay,
                     uncertain = excluded.uncertain, lease_owner = null, lease_until = null;

-- Deletes retries that have a result, from this process or another.
-- name: delivery_delete_finished_retries :exec
-- params: brand_id bigint, send_id bigint, ordinals bigint[]
delete from send_retries y
 where y.brand_id = :brand_id and y.send_id = :send_id and y.ordinal = any (:ordinals::bigint[])
   and exists (select 1 from send_results r where r.brand_id = y.brand_id and r.send_id = y.send_id and r.ordinal = y.ordinal);

-- Appends events: for each recipient one of each type, in this order.
-- name: delivery_events :exec
-- params: brand_id bigint, send_id bigint, email_id bigint, types text[], emails text[], keys text[], summaries text[], at timestamptz
insert into events (brand_id, occurred_at, domain, event_type, recipient_email, recipient_key, send_id, email_id, summary)
select :brand_id, :at, 'email', e.type, t.email, t.key, :send_id, :email_id, t.summary
  from unnest(:emails::text[], :keys::text[], :summaries::text[]) with ordinality as t (email, key, summary, place),
       unnest(:types::text[]) with ordinality as e (type, step)
 order by t.place, e.step;

-- Counts events in the daily activity of contacts. Rows are written in the order of their keys, so two sends to the same people
-- cannot deadlock. A batch of a carrier may have a recipient twice. "sent" and "delivered" occur together: only "sent" is counted, and filters read it for both.
-- name: delivery_activity :exec
-- params: brand_id bigint, type text, keys text[], at timestamptz
insert into contact_activity (brand_id, event_type, email_key, day, count)
select :brand_id, :type, k.key, (:at::timestamptz at time zone 'UTC')::date, count(*)
  from unnest(:keys::text[]) as k (key)
 group by k.key
 order by k.key
    on conflict (brand_id, event_type, email_key, day) do update set count = contact_activity.count + excluded.count;

-- Adds to the statistics of a send and to the event counts of the hour. `reported` bounces are counted already, as later ones.
-- name: delivery_count :exec
-- params: brand_id bigint, send_id bigint, delivered bigint, bounced bigint, reported bigint, skipped bigint, failed bigint, held bigint, at timestamptz
with figures as (
    update send_stats
       set accepted = accepted + :delivered, sent = sent + :delivered, delivered = delivered + :delivered,
           bounced = bounced + :bounced, bounced_later = bounced_later - :reported, skipped = skipped + :skipped, failed = failed + :failed, held = held + :held
     where brand_id = :brand_id and send_id = :send_id
)
insert into event_counts (brand_id, hour, event_type, count)
select :brand_id, date_trunc('hour', :at, 'UTC'), e.type, e.count
  from (values ('bounced', :bounced::bigint), ('delivered', :delivered::bigint), ('sent', :delivered::bigint)) as e (type, count)
 where e.count > 0
 order by e.type
    on conflict (brand_id, hour, event_type) do update set count = event_counts.count + excluded.count;

-- Adds to the counts by receiving domain and source of the contact. Runs behind delivery_count, in the common order of these tables.
-- "sent" and "delivered" occur together.
-- name: delivery_rollups :exec
-- params: brand_id bigint, send_id bigint, node_id text, types text[], keys text[], sources text[], at timestamptz
insert into event_rollups (brand_id, send_id, node_id, day, event_type, receiving_domain, source, count)
select :brand_id, :send_id, :node_id, (:at::timestamptz at time zone 'UTC')::date, e.type, n.domain, n.source, n.count
  from (select t.type, split_part(t.key, '@', 2) as domain, coalesce(t.source, '') as source, count(*) as count
          from unnest(:types::text[], :keys::text[], :sources::text[]) as t (type, key, source)
         group by 1, 2, 3) n
  join (values ('bounced', 'bounced'), ('delivered', 'delivered'), ('delivered', 'sent')) as e (outcome, type) on e.outcome = n.type
 order by e.type, n.domain, n.source
    on conflict (brand_id, send_id, node_id, day, event_type, receiving_domain, source)
       do update set count = event_rollups.count + excluded.count;

-- Ends a send without open recipients. No row while a recipient is open or waits for a tranche, or when the send has ended
-- already. A carrier never ends. The insights of its brand are found anew six hours after the end of a large send.
-- name: delivery_complete :one
-- params: brand_id bigint, id bigint, now timestamptz
-- columns: status text
with ended as (
    update sends s
       set status = case when t.failed + t.held = 0 then 'completed' when t.delivered > 0 then 'partially_completed' else 'failed' end,
           error = nullif(concat_ws(' ', case when t.failed > 0 then t.failed || ' messages could not be composed.' end,
                                         case when t.held > 0 then t.held || ' messages may or may not have arrived and were not sent again.' end), ''),
           completed_at = case when t.failed + t.held = 0 or t.delivered > 0 then :now::timestamptz end,
           failed_at = case when t.failed + t.held > 0 and t.delivered = 0 then :now::timestamptz end,
           updated_at = :now
      from send_stats t
     where s.brand_id = :brand_id and s.id = :id and s.status = 'running' and s.started_at is not null and not s.is_carrier
       and t.brand_id = s.brand_id and t.send_id = s.id
       and not exists (select 1 from send_ranges r
                        where r.brand_id = s.brand_id and r.send_id = s.id and r.next_ordinal <= r.to_ordinal)
       and not exists (select 1 from send_retries y where y.brand_id = s.brand_id and y.send_id = s.id)
       and not exists (select 1 from gradual_sends g
                        where g.brand_id = s.brand_id and g.send_id = s.id and g.next_tranche_at is not null)
    returning s.status, s.recipient_count
), due as (
    insert into insight_runs (brand_id, due_at)
    select :brand_id, :now::timestamptz + interval '6 hours' from ended where recipient_count >= 500
        on conflict (brand_id) do update set due_at = least(insight_runs.due_at, excluded.due_at)
)
select status from ended;

-- Ends a send that cannot continue, unless it is a carrier, and returns the allowance of the recipients without a result. The lock of the statistics comes
-- first, as in delivery_count.
-- name: delivery_fail :exec
-- params: organization_id bigint, brand_id bigint, id bigint, error text, now timestamptz
with figures as (
    select * from send_stats where brand_id = :brand_id and send_id = :id for update
), ended as (
    update sends s
       set status = case when t.delivered > 0 then 'partially_completed' else 'failed' end,
           error = :error, failed_at = :now, pause_reason = null, updated_at = :now
      from figures t
     where s.brand_id = :brand_id and s.id = :id and s.status in ('scheduled', 'queued', 'running', 'paused')
       and not s.is_carrier and t.brand_id = s.brand_id and t.send_id = s.id
    returning s.brand_id, s.id, s.started_at, s.recipient_count, t.delivered + t.bounced - t.bounced_later + t.skipped + t.failed + t.held as decided
), released as (
    select g.released, g.released_at
      from ended e
      join gradual_sends g on g.brand_id = e.brand_id and g.send_id = e.id
       for update of g
)
update email_usage u
   set sent = greatest(u.sent - coalesce(r.released, e.recipient_count) + e.decided, 0)
  from ended e
  left join released r on true
 where e.started_at is not null and u.organization_id = :organization_id
   and u.period_start = date_trunc('month', coalesce(r.released_at, e.started_at) at time zone 'UTC')::date;

-- ---- Leases ----

-- Renews the leases of ranges, and returns the ranges that are still leased to `owner`.
-- name: delivery_renew_ranges :many
-- params: brand_ids bigint[], send_ids bigint[], from_ordinals bigint[], owner text, lease_s integer
-- columns: send_id bigint, from_ordinal bigint
update send_ranges r
   set lease_until = clock_timestamp() + make_interval(secs => :lease_s)
  from unnest(:brand_ids::bigint[], :send_ids::bigint[], :from_ordinals::bigint[]) as m (brand_id, send_id, from_ordinal)
 where r.brand_id = m.brand_id and r.send_id = m.send_id and r.from_ordinal = m.from_ordinal and r.lease_owner = :owner
returning r.send_id, r.from_ordinal;

-- Renews the leases of retries.
-- name: delivery_renew_retries :exec
-- params: owner text, lease_s integer
update send_retries set lease_until = clock_timestamp() + make_interval(secs => :lease_s) where lease_owner = :owner;

-- Releases the leases of a process that has ended, or whose journal was recovered.
-- name: delivery_release :exec
-- params: owner text
with ranges as (
    update send_ranges set lease_owner = null, lease_until = null where lease_owner = :owner and next_ordinal <= to_ordinal
), retries as (
    update send_retries set lease_owner = null, lease_until = null where lease_owner = :owner
)
delete from senders where owner = :owner;

-- Ends the database sessions of processes that have ended, and returns the processes that have none. A session executes what its
-- process has sent before it ended: it may lease work after the leases of the process were released. Sessions of another role only
-- end by themselves.
-- name: delivery_end_sessions :many
-- params: owners text[]
-- columns: owner text
select o.owner
  from unnest(:owners::text[]) as o (owner)
  left join pg_stat_activity a on a.application_name = o.owner
 group by o.owner
having count(case when a.usename = current_user then pg_terminate_backend(a.pid) else a.pid > 0 end) = 0;

-- Releases all leases of a process except these.
-- name: delivery_keep_only :exec
-- params: owner text, range_sends bigint[], ranges bigint[], retry_sends bigint[], retries bigint[]
with ranges as (
    update send_ranges r set lease_owner = null, lease_until = null
     where r.lease_owner = :owner and r.next_ordinal <= r.to_ordinal
       and not exists (select 1 from unnest(:range_sends::bigint[], :ranges::bigint[]) as k (send_id, from_ordinal)
                        where k.send_id = r.send_id and k.from_ordinal = r.from_ordinal)
)
update send_retries y set lease_owner = null, lease_until = null
 where y.lease_owner = :owner
   and not exists (select 1 from unnest(:retry_sends::bigint[], :retries::bigint[]) as k (send_id, ordinal)
                    where k.send_id = y.send_id and k.ordinal = y.ordinal);

-- Counts a crash of a sender process for the work that it had in hand, and returns the crashes of each so far, with the range of its
-- ordinal. The crashes of a range are kept under its first ordinal.
-- name: delivery_count_crashes :many
-- params: brand_ids bigint[], send_ids bigint[], ordinals bigint[], are_ranges boolean[], now timestamptz
-- columns: brand_id bigint, send_id bigint, ordinal bigint, is_range boolean, crashes bigint, to_ordinal bigint
with work as (
    select distinct t.brand_id, t.send_id, case when t.is_range then g.from_ordinal else t.ordinal end as ordinal, t.is_range,
           g.to_ordinal
      from unnest(:brand_ids::bigint[], :send_ids::bigint[], :ordinals::bigint[], :are_ranges::boolean[])
           as t (brand_id, send_id, ordinal, is_range)
     cross join lateral (select * from send_ranges
                          where brand_id = t.brand_id and send_id = t.send_id and from_ordinal <= t.ordinal
                          order by from_ordinal desc
                          limit 1) g
), counted as (
    insert into send_crashes as k (brand_id, send_id, ordinal, is_range, crashes, crashed_at)
    select brand_id, send_id, ordinal, is_range, 1, :now::timestamptz from work order by 1, 2, 3, 4
        on conflict (brand_id, send_id, ordinal, is_range)
           do update set crashes = k.crashes + 1, crashed_at = excluded.crashed_at
    returning k.brand_id, k.send_id, k.ordinal, k.is_range, k.crashes
)
select c.brand_id, c.send_id, c.ordinal, c.is_range, c.crashes::bigint, w.to_ordinal
  from counted c
  join work w on w.brand_id = c.brand_id and w.send_id = c.send_id and w.ordinal = c.ordinal and w.is_range = c.is_range;

-- Forgets the crashes of the range of an ordinal, whose recipients could be read after all: only crashes in a row count.
-- name: delivery_forget_crashes :exec
-- params: brand_id bigint, send_id bigint, ordinal bigint
delete from send_crashes
 where brand_id = :brand_id and send_id = :send_id and is_range
   and ordinal = (select max(g.from_ordinal) from send_ranges g
                   where g.brand_id = :brand_id and g.send_id = :send_id and g.from_ordinal <= :ordinal);

-- Those of these sends that are not running any more: paused, canceled or given up.
-- name: delivery_stopped_sends :many
-- params: brand_ids bigint[], send_ids bigint[]
-- columns: send_id bigint
select s.id
  from unnest(:brand_ids::bigint[], :send_ids::bigint[]) as t (brand_id, send_id)
  join sends s on s.brand_id = t.brand_id and s.id = t.send_id
 where s.status <> 'running';

-- Heartbeat of a sender process, with its relays.
-- name: delivery_sender_seen :exec
-- params: owner text, relays text[], state jsonb, now timestamptz
insert into senders (owner, relays, state, started_at, seen_at)
values (:owner, :relays, :state, :now, clock_timestamp())
    on conflict (owner) do update set state = excluded.state, seen_at = excluded.seen_at;

-- Sender processes with a recent heartbeat.
-- name: delivery_senders :many
-- columns: owner text, state jsonb, started_at timestamptz, seen_at timestamptz
select owner, state, started_at, seen_at
  from senders
 where seen_at > clock_timestamp() - interval '1 minute'
 order by started_at;

-- Deletes sender processes without a heartbeat for one day.
-- name: delivery_senders_forget :exec
delete from senders where seen_at < clock_timestamp() - interval '1 day';

-- True while any send is running. A carrier runs while a message of it waits for its result.
-- name: delivery_any_running :one
-- columns: running boolean
select exists (select 1 from sends where status = 'running' and not is_carrier)
       or exists (select 1 from send_ranges where is_carrier and next_ordinal <= to_ordinal)
       or exists (select 1 from send_retries where is_carrier);
