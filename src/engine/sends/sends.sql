-- The data of a design that a send needs. Locks the row, so that the second of two concurrent sends of one design sees the first.
-- name: send_email_lock :one
-- row: send_email
-- params: brand_id bigint, id bigint
-- columns: status text, version_id bigint null
select status, latest_version_id
  from emails
 where brand_id = :brand_id and id = :id and deleted_at is null
   for no key update;

-- The same without the lock, for a test message or a preview.
-- name: send_email_find :one
-- row: send_email
-- params: brand_id bigint, id bigint
-- columns: status text, version_id bigint null
select status, latest_version_id
  from emails
 where brand_id = :brand_id and id = :id and deleted_at is null;

-- The HTML of a version.
-- name: send_version_html :one
-- params: brand_id bigint, id bigint
-- columns: html text
select html from email_versions where brand_id = :brand_id and id = :id;

-- A sending domain of the brand.
-- name: send_domain_find :one
-- row: send_domain
-- params: brand_id bigint, id bigint
-- columns: id bigint, brand_id bigint, name text, is_sandbox boolean, status text, sending_purpose text, sender_name text, from_email text null, reply_to text null, has_relay boolean
select d.id, d.brand_id, d.name, d.kind = 'sandbox', d.status, d.sending_purpose, coalesce(d.default_sender_name, b.name),
       d.default_from_email, d.default_reply_to,
       exists (select 1 from senders r where cardinality(r.relays) > 0 and r.seen_at > clock_timestamp() - interval '1 minute')
  from domains d
  join brands b on b.id = d.brand_id
 where d.brand_id = :brand_id and d.id = :id and d.deleted_at is null;

-- The domain of mail that names none: the first verified sending domain of the brand, or else its sandbox.
-- name: send_domain_default :one
-- row: send_domain
-- params: brand_id bigint
-- columns: id bigint, brand_id bigint, name text, is_sandbox boolean, status text, sending_purpose text, sender_name text, from_email text null, reply_to text null, has_relay boolean
select d.id, d.brand_id, d.name, d.kind = 'sandbox', d.status, d.sending_purpose, coalesce(d.default_sender_name, b.name),
       d.default_from_email, d.default_reply_to,
       exists (select 1 from senders r where cardinality(r.relays) > 0 and r.seen_at > clock_timestamp() - interval '1 minute')
  from domains d
  join brands b on b.id = d.brand_id
 where d.brand_id = :brand_id and d.deleted_at is null and (d.kind = 'sandbox' or d.status = 'verified')
 order by d.kind = 'sandbox', d.id
 limit 1;

-- The domain of a test message: the given one, of any brand of the organization, or the brand's sandbox.
-- name: send_domain_for_test :one
-- row: send_domain
-- params: organization_id bigint, brand_id bigint, id bigint
-- columns: id bigint, brand_id bigint, name text, is_sandbox boolean, status text, sending_purpose text, sender_name text, from_email text null, reply_to text null, has_relay boolean
select d.id, d.brand_id, d.name, d.kind = 'sandbox', d.status, d.sending_purpose, coalesce(d.default_sender_name, b.name),
       d.default_from_email, d.default_reply_to,
       exists (select 1 from senders r where cardinality(r.relays) > 0 and r.seen_at > clock_timestamp() - interval '1 minute')
  from domains d
  join brands b on b.id = :brand_id
 where d.organization_id = :organization_id and d.deleted_at is null
   and case when :id = 0 then d.brand_id = :brand_id and d.kind = 'sandbox' else d.id = :id end
 order by d.id
 limit 1;

-- The verified domains of a brand from which mail leaves the machine; :limit of them.
-- name: send_domains_ready :many
-- row: send_domain
-- params: brand_id bigint, limit bigint
-- columns: id bigint, brand_id bigint, name text, is_sandbox boolean, status text, sending_purpose text, sender_name text, from_email text null, reply_to text null, has_relay boolean
select d.id, d.brand_id, d.name, d.kind = 'sandbox', d.status, d.sending_purpose, coalesce(d.default_sender_name, b.name),
       d.default_from_email, d.default_reply_to,
       exists (select 1 from senders r where cardinality(r.relays) > 0 and r.seen_at > clock_timestamp() - interval '1 minute')
  from domains d
  join brands b on b.id = d.brand_id
 where d.brand_id = :brand_id and d.deleted_at is null and d.kind <> 'sandbox' and d.status = 'verified'
 order by d.id
 limit :limit;

-- An earlier campaign with the same design and target that was neither canceled nor failed.
-- name: send_same_target :one
-- params: brand_id bigint, email_id bigint, target_hash bytea
-- columns: id bigint, status text, scheduled_at timestamptz null, started_at timestamptz null, completed_at timestamptz null
select id, status, scheduled_at, started_at, completed_at
  from sends
 where brand_id = :brand_id and email_id = :email_id and target_hash = :target_hash and kind = 'campaign'
   and status not in ('canceled', 'failed')
 order by id desc
 limit 1;

-- The addresses of an inline list that must not be mailed (unsubscribed contacts and suppressed addresses), and those that are no
-- contact (unknown). Each is found by its key; the brand comes out of a subquery as in contacts_save.
-- name: send_inline_special :many
-- params: brand_id bigint, keys text[], hashes text[], now timestamptz
-- columns: key text, reason text
select t.key,
       case when s.reason in ('unsubscribe', 'unsubscribed') then 'unsubscribed' when s.reason is not null then 'suppressed'
            when c.id is null then 'unknown' else 'unsubscribed' end
  from (select :brand_id::bigint as brand_id, g.key, decode(g.hash, 'hex') as address_hash
          from unnest(:keys::text[], :hashes::text[]) as g (key, hash)
        offset 0) t
  left join lateral (select reason from suppressions_at(t.brand_id, :now) k where k.address_hash = t.address_hash limit 1) s on true
  left join lateral (select id, subscribed from contacts k where k.brand_id = t.brand_id and k.email_key = t.key limit 1) c on true
 where s.reason is not null or c.id is null or not c.subscribed;

-- The reason why an address is suppressed. No row when it is not.
-- name: send_test_suppression :one
-- params: brand_id bigint, address_hash bytea, now timestamptz
-- columns: reason text
select reason from suppressions_at(:brand_id, :now) where address_hash = :address_hash;

-- Counts a test message of the brand today (UTC). No row when the bound is reached. The counts of earlier days are deleted.
-- name: send_test_count :one
-- params: brand_id bigint, bound bigint, now timestamptz
-- columns: sent bigint
with today as materialized (
    select (:now::timestamptz at time zone 'UTC')::date as day
), forgotten as (
    delete from test_sends t using today d where t.brand_id = :brand_id and t.day < d.day - 1
)
insert into test_sends as t (brand_id, day, sent)
select :brand_id, d.day, 1 from today d
    on conflict (brand_id, day) do update set sent = t.sent + 1 where t.sent < :bound
returning t.sent;

-- The plan of an organization and its sends in the current period (calendar month, UTC), and the number of recipients above which its
-- sends wait for an approval.
-- name: send_allowance :one
-- params: organization_id bigint, now timestamptz
-- columns: plan text, sent bigint, approvals_above bigint null
select o.plan,
       coalesce((select u.sent from email_usage u
                  where u.organization_id = o.id
                    and u.period_start = date_trunc('month', :now at time zone 'UTC')::date), 0),
       o.approvals_above
  from organizations o
 where o.id = :organization_id;

-- Inserts a campaign send with statistics of zero.
-- name: send_insert :one
-- params: brand_id bigint, email_id bigint, email_version_id bigint, status text, subject text, subject_code bytea, preview_text text null, html_code bytea null, from_address text, sender_name text null, reply_to text null, domain_id bigint, target text, audience_id bigint null, inline_to text[] null, inline_keys text[] null, target_hash bytea, recipient_count bigint null, scheduled_at timestamptz null, approval_state text, now timestamptz
-- columns: id bigint
with send as (
    insert into sends (brand_id, kind, message_class, email_id, email_version_id, status, subject, subject_code, preview_text,
                       html_code, from_address, sender_name, reply_to, domain_id, target, audience_id, inline_to, inline_keys,
                       target_hash, recipient_count, scheduled_at, approval_state, created_at, updated_at)
    values (:brand_id, 'campaign', 'marketing', :email_id, :email_version_id, :status, :subject, :subject_code, :preview_text,
            :html_code, :from_address, :sender_name, :reply_to, :domain_id, :target, :audience_id, :inline_to, :inline_keys,
            :target_hash, :recipient_count, :scheduled_at, :approval_state, :now, :now)
    returning brand_id, id
), stats as (
    insert into send_stats (brand_id, send_id) select brand_id, id from send
)
select id from send;

-- Stores the job that begins the send.
-- name: send_set_job :exec
-- params: brand_id bigint, id bigint, job_id bigint
update sends set job_id = :job_id where brand_id = :brand_id and id = :id;

-- One send with its statistics. The hidden sends that bring the mail of automations are not found.
-- name: send_find :one
-- row: send
-- params: brand_id bigint, id bigint
-- columns: id bigint, kind text, message_class text, email_id bigint, email_version_id bigint, status text, subject text, preview_text text null, from_address text, sender_name text null, reply_to text null, domain_id bigint, target text, audience_id bigint null, audience_name text null, recipient_count bigint null, scheduled_at timestamptz null, started_at timestamptz null, completed_at timestamptz null, failed_at timestamptz null, error text null, pause_reason text null, created_at timestamptz, updated_at timestamptz, accepted bigint, sent bigint, delivered bigint, opened bigint, clicked bigint, bounced bigint, complained bigint, unsubscribed bigint, skipped bigint, failed bigint, held bigint, delayed bigint, is_captured boolean, bounced_later bigint, is_tracked boolean, gradual_starting float8 null, gradual_increment float8 null, gradual_interval bigint null, gradual_unit text null, gradual_zone text null, gradual_tranche bigint null, next_tranche_at timestamptz null, paused_at timestamptz null, resumed_at timestamptz null, approval_state text, automation_id bigint null, node_id text null, automation_run_id bigint null, audience_run_id bigint null, trigger_instance_id bigint null
select s.id, s.kind, s.message_class, s.email_id, s.email_version_id, s.status, s.subject, s.preview_text, s.from_address,
       s.sender_name, s.reply_to, s.domain_id, s.target, s.audience_id, a.name, s.recipient_count, s.scheduled_at,
       s.started_at, s.completed_at, s.failed_at, s.error, s.pause_reason, s.created_at, s.updated_at, t.accepted, t.sent, t.delivered,
       t.opened, t.clicked, t.bounced, t.complained, t.unsubscribed, t.skipped, t.failed, t.held,
       case when s.status = 'running'
            then (select count(*) from send_retries y where y.brand_id = s.brand_id and y.send_id = s.id) else 0 end,
       coalesce(d.kind = 'sandbox', false), t.bounced_later, s.is_tracked, g.starting_percentage, g.increment_percentage, g.interval_value, g.interval_unit, g.time_zone,
       g.tranche, g.next_tranche_at, g.paused_at, g.resumed_at, s.approval_state,
       null::bigint, null::text, null::bigint, null::bigint, null::bigint
  from sends s
  join send_stats t on t.brand_id = s.brand_id and t.send_id = s.id
  left join audiences a on a.brand_id = s.brand_id and a.id = s.audience_id
  left join domains d on d.brand_id = s.brand_id and d.id = s.domain_id
  left join gradual_sends g on g.brand_id = s.brand_id and g.send_id = s.id
 where s.brand_id = :brand_id and s.id = :id and not s.is_carrier;

-- The campaign sends of a brand, newest first (keyset pagination).
-- name: send_page :page
-- row: send
-- params: brand_id bigint, status text null, from_start boolean, at timestamptz, id bigint, limit bigint
-- columns: id bigint, kind text, message_class text, email_id bigint, email_version_id bigint, status text, subject text, preview_text text null, from_address text, sender_name text null, reply_to text null, domain_id bigint, target text, audience_id bigint null, audience_name text null, recipient_count bigint null, scheduled_at timestamptz null, started_at timestamptz null, completed_at timestamptz null, failed_at timestamptz null, error text null, pause_reason text null, created_at timestamptz, updated_at timestamptz, accepted bigint, sent bigint, delivered bigint, opened bigint, clicked bigint, bounced bigint, complained bigint, unsubscribed bigint, skipped bigint, failed bigint, held bigint, delayed bigint, is_captured boolean, bounced_later bigint, is_tracked boolean, gradual_starting float8 null, gradual_increment float8 null, gradual_interval bigint null, gradual_unit text null, gradual_zone text null, gradual_tranche bigint null, next_tranche_at timestamptz null, paused_at timestamptz null, resumed_at timestamptz null, approval_state text, automation_id bigint null, node_id text null, automation_run_id bigint null, audience_run_id bigint null, trigger_instance_id bigint null
select s.id, s.kind, s.message_class, s.email_id, s.email_version_id, s.status, s.subject, s.preview_text, s.from_address,
       s.sender_name, s.reply_to, s.domain_id, s.target, s.audience_id, a.name, s.recipient_count, s.scheduled_at,
       s.started_at, s.completed_at, s.failed_at, s.error, s.pause_reason, s.created_at, s.updated_at, t.accepted, t.sent, t.delivered,
       t.opened, t.clicked, t.bounced, t.complained, t.unsubscribed, t.skipped, t.failed, t.held,
       case when s.status = 'running'
            then (select count(*) from send_retries y where y.brand_id = s.brand_id and y.send_id = s.id) else 0 end,
       coalesce(d.kind = 'sandbox', false), t.bounced_later, s.is_tracked, g.starting_percentage, g.increment_percentage, g.interval_value, g.interval_unit, g.time_zone,
       g.tranche, g.next_tranche_at, g.paused_at, g.resumed_at, s.approval_state,
       null::bigint, null::text, null::bigint, null::bigint, null::bigint
  from sends s
  join send_stats t on t.brand_id = s.brand_id and t.send_id = s.id
  left join audiences a on a.brand_id = s.brand_id and a.id = s.audience_id
  left join domains d on d.brand_id = s.brand_id and d.id = s.domain_id
  left join gradual_sends g on g.brand_id = s.brand_id and g.send_id = s.id
 where s.brand_id = :brand_id and s.kind = 'campaign'
   and (:from_start or (s.created_at, s.id) < (:at, :id))
   and (:status::text is null or s.status = :status)
 order by s.created_at desc, s.id desc
 limit :limit;

-- The campaign sends of one design, newest first (keyset pagination).
-- name: send_page_of_email :page
-- row: send
-- params: brand_id bigint, email_id bigint, status text null, from_start boolean, id bigint, limit bigint
-- columns: id bigint, kind text, message_class text, email_id bigint, email_version_id bigint, status text, subject text, preview_text text null, from_address text, sender_name text null, reply_to text null, domain_id bigint, target text, audience_id bigint null, audience_name text null, recipient_count bigint null, scheduled_at timestamptz null, started_at timestamptz null, completed_at timestamptz null, failed_at timestamptz null, error text null, pause_reason text null, created_at timestamptz, updated_at timestamptz, accepted bigint, sent bigint, delivered bigint, opened bigint, clicked bigint, bounced bigint, complained bigint, unsubscribed bigint, skipped bigint, failed bigint, held bigint, delayed bigint, is_captured boolean, bounced_later bigint, is_tracked boolean, gradual_starting float8 null, gradual_increment float8 null, gradual_interval bigint null, gradual_unit text null, gradual_zone text null, gradual_tranche bigint null, next_tranche_at timestamptz null, paused_at timestamptz null, resumed_at timestamptz null, approval_state text, automation_id bigint null, node_id text null, automation_run_id bigint null, audience_run_id bigint null, trigger_instance_id bigint null
select s.id, s.kind, s.message_class, s.email_id, s.email_version_id, s.status, s.subject, s.preview_text, s.from_address,
       s.sender_name, s.reply_to, s.domain_id, s.target, s.audience_id, a.name, s.recipient_count, s.scheduled_at,
       s.started_at, s.completed_at, s.failed_at, s.error, s.pause_reason, s.created_at, s.updated_at, t.accepted, t.sent, t.delivered,
       t.opened, t.clicked, t.bounced, t.complained, t.unsubscribed, t.skipped, t.failed, t.held,
       case when s.status = 'running'
            then (select count(*) from send_retries y where y.brand_id = s.brand_id and y.send_id = s.id) else 0 end,
       coalesce(d.kind = 'sandbox', false), t.bounced_later, s.is_tracked, g.starting_percentage, g.increment_percentage, g.interval_value, g.interval_unit, g.time_zone,
       g.tranche, g.next_tranche_at, g.paused_at, g.resumed_at, s.approval_state,
       null::bigint, null::text, null::bigint, null::bigint, null::bigint
  from sends s
  join send_stats t on t.brand_id = s.brand_id and t.send_id = s.id
  left join audiences a on a.brand_id = s.brand_id and a.id = s.audience_id
  left join domains d on d.brand_id = s.brand_id and d.id = s.domain_id
  left join gradual_sends g on g.brand_id = s.brand_id and g.send_id = s.id
 where s.brand_id = :brand_id and s.email_id = :email_id and s.kind = 'campaign'
   and (:from_start or s.id < :id)
   and (:status::text is null or s.status = :status)
 order by s.id desc
 limit :limit;

-- One message of an automation as a send of its own. D-105
-- name: send_find_message :one
-- row: send
-- params: brand_id bigint, id bigint
-- columns: id bigint, kind text, message_class text, email_id bigint, email_version_id bigint, status text, subject text, preview_text text null, from_address text, sender_name text null, reply_to text null, domain_id bigint, target text, audience_id bigint null, audience_name text null, recipient_count bigint null, scheduled_at timestamptz null, started_at timestamptz null, completed_at timestamptz null, failed_at timestamptz null, error text null, pause_reason text null, created_at timestamptz, updated_at timestamptz, accepted bigint, sent bigint, delivered bigint, opened bigint, clicked bigint, bounced bigint, complained bigint, unsubscribed bigint, skipped bigint, failed bigint, held bigint, delayed bigint, is_captured boolean, bounced_later bigint, is_tracked boolean, gradual_starting float8 null, gradual_increment float8 null, gradual_interval bigint null, gradual_unit text null, gradual_zone text null, gradual_tranche bigint null, next_tranche_at timestamptz null, paused_at timestamptz null, resumed_at timestamptz null, approval_state text, automation_id bigint null, node_id text null, automation_run_id bigint null, audience_run_id bigint null, trigger_instance_id bigint null
select m.id, s.kind, s.message_class, s.email_id, s.email_version_id, w.status, s.subject, s.preview_text, s.from_address,
       s.sender_name, s.reply_to, s.domain_id, s.target, null::bigint, null::text, 1::bigint, null::timestamptz, q.started_at,
       case when w.status = 'completed' then t.occurred_at end, case when w.status = 'failed' then t.occurred_at end,
       case t.outcome when 'bounced' then concat_ws(': ', 'Bounced (' || coalesce(t.reason, 'unclassified') || ')', t.reply)
                      when 'skipped' then 'Skipped: ' || coalesce(t.reason, 'excluded')
                      when 'failed' then 'The message could not be composed: ' || coalesce(t.reason, 'no reason is known.')
                      when 'held' then 'The message may or may not have arrived and was not sent again.' end,
       null::text, m.created_at, coalesce(t.occurred_at, m.created_at), o.delivered, o.delivered, o.delivered, e.opened, e.clicked,
       greatest(o.bounced, e.bounced), e.complained, e.unsubscribed, o.skipped, o.failed, o.held,
       case when y.ordinal is null then 0 else 1 end::bigint, coalesce(d.kind = 'sandbox', false),
       case when t.outcome = 'bounced' then 0 else e.bounced end, s.is_tracked, null::float8, null::float8, null::bigint, null::text,
       null::text, null::bigint, null::timestamptz, null::timestamptz, null::timestamptz, 'approved', m.automation_id, m.node_id, m.run_id, m.audience_run_id, m.trigger_instance_id
  from automation_sends m
  join sends s on s.brand_id = m.brand_id and s.id = m.carrier_id
  left join domains d on d.brand_id = s.brand_id and d.id = s.domain_id
  left join lateral (select * from send_results
                      where brand_id = m.brand_id and send_id = m.carrier_id and ordinal = m.ordinal limit 1) t on true
  left join lateral (select * from send_retries
                      where brand_id = m.brand_id and send_id = m.carrier_id and ordinal = m.ordinal limit 1) y on true
  left join lateral (select g.started_at from send_ranges g
                      where g.brand_id = m.brand_id and g.send_id = m.carrier_id and g.from_ordinal <= m.ordinal
                      order by g.from_ordinal desc limit 1) q on true
 cross join lateral (select case when m.canceled_at is not null and coalesce(t.outcome, 'skipped') = 'skipped' then 'canceled'
                              when t.outcome in ('delivered', 'bounced', 'skipped') then 'completed' when t.outcome is not null then 'failed'
                                 when q.started_at is not null then 'running' else 'queued' end as status) w
 cross join lateral (select coalesce(t.outcome = 'delivered', false)::int::bigint as delivered, coalesce(t.outcome = 'bounced', false)::int::bigint as bounced,
                            coalesce(t.outcome = 'skipped', false)::int::bigint as skipped, coalesce(t.outcome = 'failed', false)::int::bigint as failed,
                            coalesce(t.outcome = 'held', false)::int::bigint as held) o
 cross join lateral (select count(*) filter (where event_type = 'opened') as opened, count(*) filter (where event_type = 'clicked') as clicked,
                            count(*) filter (where event_type = 'bounced') as bounced,
                            count(*) filter (where event_type = 'complained') as complained,
                            count(*) filter (where event_type = 'unsubscribed') as unsubscribed
                       from recipient_events
                      where brand_id = m.brand_id and send_id = m.carrier_id and ordinal = m.ordinal) e
 where m.brand_id = :brand_id and m.id = :id;

-- The messages of one run, audience run, fire or automation, newest first (keyset pagination). `by` names the narrowest filter, whose
-- index is read; the others are conditions. Messages that have failed, or have no result yet, are found by the results and ranges of the
-- carriers, because they may be few among many. The messages are sorted before their results are read, so that a page reads few.
-- name: send_page_of_automation :page
-- row: send
-- params: brand_id bigint, by text, automation_id bigint, run_id bigint, audience_run_id bigint, instance_id bigint, status text null, from_start boolean, id bigint, limit bigint
-- columns: id bigint, kind text, message_class text, email_id bigint, email_version_id bigint, status text, subject text, preview_text text null, from_address text, sender_name text null, reply_to text null, domain_id bigint, target text, audience_id bigint null, audience_name text null, recipient_count bigint null, scheduled_at timestamptz null, started_at timestamptz null, completed_at timestamptz null, failed_at timestamptz null, error text null, pause_reason text null, created_at timestamptz, updated_at timestamptz, accepted bigint, sent bigint, delivered bigint, opened bigint, clicked bigint, bounced bigint, complained bigint, unsubscribed bigint, skipped bigint, failed bigint, held bigint, delayed bigint, is_captured boolean, bounced_later bigint, is_tracked boolean, gradual_starting float8 null, gradual_increment float8 null, gradual_interval bigint null, gradual_unit text null, gradual_zone text null, gradual_tranche bigint null, next_tranche_at timestamptz null, paused_at timestamptz null, resumed_at timestamptz null, approval_state text, automation_id bigint null, node_id text null, automation_run_id bigint null, audience_run_id bigint null, trigger_instance_id bigint null
select m.id, s.kind, s.message_class, s.email_id, s.email_version_id, w.status, s.subject, s.preview_text, s.from_address,
       s.sender_name, s.reply_to, s.domain_id, s.target, null::bigint, null::text, 1::bigint, null::timestamptz, q.started_at,
       case when w.status = 'completed' then t.occurred_at end, case when w.status = 'failed' then t.occurred_at end,
       case t.outcome when 'bounced' then concat_ws(': ', 'Bounced (' || coalesce(t.reason, 'unclassified') || ')', t.reply)
                      when 'skipped' then 'Skipped: ' || coalesce(t.reason, 'excluded')
                      when 'failed' then 'The message could not be composed: ' || coalesce(t.reason, 'no reason is known.')
                      when 'held' then 'The message may or may not have arrived and was not sent again.' end,
       null::text, m.created_at, coalesce(t.occurred_at, m.created_at), o.delivered, o.delivered, o.delivered, e.opened, e.clicked,
       greatest(o.bounced, e.bounced), e.complained, e.unsubscribed, o.skipped, o.failed, o.held,
       case when y.ordinal is null then 0 else 1 end::bigint, coalesce(d.kind = 'sandbox', false),
       case when t.outcome = 'bounced' then 0 else e.bounced end, s.is_tracked, null::float8, null::float8, null::bigint, null::text,
       null::text, null::bigint, null::timestamptz, null::timestamptz, null::timestamptz, 'approved', m.automation_id, m.node_id, m.run_id, m.audience_run_id, m.trigger_instance_id
  from (select u.* from (
        select * from automation_sends
         where :by = 'run' and brand_id = :brand_id and run_id = :run_id
         union all
        select * from automation_sends
         where :by = 'audience_run' and brand_id = :brand_id and audience_run_id = :audience_run_id
         union all
        select * from automation_sends
         where :by = 'instance' and brand_id = :brand_id and trigger_instance_id = :instance_id
         union all
        select * from automation_sends
         where :by = 'automation' and brand_id = :brand_id and automation_id = :automation_id
         union all
        select * from automation_sends
         where :by = 'canceled' and brand_id = :brand_id and automation_id = :automation_id and canceled_at is not null
         union all
        (select m.*
           from (select send_id from automation_carriers
                  where :by = 'failed' and brand_id = :brand_id
                    and automation_id = coalesce(nullif(:automation_id, 0), (select automation_id from audience_runs
                                                                              where brand_id = :brand_id and id = :audience_run_id))) k
          cross join lateral (select ordinal from send_results
                               where brand_id = :brand_id and send_id = k.send_id and outcome in ('failed', 'held')) f
          cross join lateral (select * from automation_sends
                               where brand_id = :brand_id and carrier_id = k.send_id and ordinal = f.ordinal limit 1) m
          where (:from_start or m.id < :id) and (:audience_run_id = 0 or m.audience_run_id = :audience_run_id)
          order by m.id desc
          limit :limit)
         union all
        (select m.*
           from (select send_id from automation_carriers
                  where :by = 'open' and brand_id = :brand_id
                    and automation_id = coalesce(nullif(:automation_id, 0), (select automation_id from audience_runs
                                                                              where brand_id = :brand_id and id = :audience_run_id))) k
          cross join lateral (select n.ordinal
                                from send_ranges g
                               cross join lateral generate_series(g.next_ordinal, g.to_ordinal) as n (ordinal)
                               where g.brand_id = :brand_id and g.send_id = k.send_id and g.is_carrier and g.next_ordinal <= g.to_ordinal
                                 and (g.started_at is not null) = (:status = 'running')
                                 and (select true from send_results
                                       where brand_id = :brand_id and send_id = k.send_id and ordinal = n.ordinal limit 1) is null
                               union
                              select y.ordinal
                                from send_retries y
                               where y.brand_id = :brand_id and y.send_id = k.send_id and :status = 'running') o
          cross join lateral (select * from automation_sends
                               where brand_id = :brand_id and carrier_id = k.send_id and ordinal = o.ordinal limit 1) m
          where (:from_start or m.id < :id) and (:audience_run_id = 0 or m.audience_run_id = :audience_run_id) and m.canceled_at is null
          order by m.id desc
          limit :limit)) u
         where (:from_start or u.id < :id)
           and (:automation_id = 0 or u.automation_id = :automation_id)
           and (:audience_run_id = 0 or u.audience_run_id = :audience_run_id)
           and (:instance_id = 0 or u.trigger_instance_id = :instance_id)
         order by u.id desc) m
 cross join lateral (select * from sends where brand_id = m.brand_id and id = m.carrier_id limit 1) s
  left join lateral (select kind from domains where brand_id = s.brand_id and id = s.domain_id limit 1) d on true
  left join lateral (select * from send_results
                      where brand_id = m.brand_id and send_id = m.carrier_id and ordinal = m.ordinal limit 1) t on true
  left join lateral (select * from send_retries
                      where brand_id = m.brand_id and send_id = m.carrier_id and ordinal = m.ordinal limit 1) y on true
  left join lateral (select g.started_at from send_ranges g
                      where g.brand_id = m.brand_id and g.send_id = m.carrier_id and g.from_ordinal <= m.ordinal
                      order by g.from_ordinal desc limit 1) q on true
 cross join lateral (select case when m.canceled_at is not null and coalesce(t.outcome, 'skipped') = 'skipped' then 'canceled'
                              when t.outcome in ('delivered', 'bounced', 'skipped') then 'completed' when t.outcome is not null then 'failed'
                                 when q.started_at is not null then 'running' else 'queued' end as status) w
 cross join lateral (select coalesce(t.outcome = 'delivered', false)::int::bigint as delivered, coalesce(t.outcome = 'bounced', false)::int::bigint as bounced,
                            coalesce(t.outcome = 'skipped', false)::int::bigint as skipped, coalesce(t.outcome = 'failed', false)::int::bigint as failed,
                            coalesce(t.outcome = 'held', false)::int::bigint as held) o
 cross join lateral (select count(*) filter (where event_type = 'opened') as opened, count(*) filter (where event_type = 'clicked') as clicked,
                            count(*) filter (where event_type = 'bounced') as bounced,
                            count(*) filter (where event_type = 'complained') as complained,
                            count(*) filter (where event_type = 'unsubscribed') as unsubscribed
                       from recipient_events
                      where brand_id = m.brand_id and send_id = m.carrier_id and ordinal = m.ordinal) e
 where (:status::text is null or w.status = :status)
 order by m.id desc
 limit :limit;

-- Whether the run and the audience run of a filter exist. 0: none is named.
-- name: send_filter_check :one
-- params: brand_id bigint, run_id bigint, audience_run_id bigint
-- columns: has_run boolean, has_audience_run boolean
select :run_id = 0 or exists (select 1 from automation_runs where brand_id = :brand_id and id = :run_id),
       :audience_run_id = 0 or exists (select 1 from audience_runs where brand_id = :brand_id and id = :audience_run_id);

-- The newest events of the recipients of a send.
-- name: send_events :many
-- params: brand_id bigint, send_id bigint, limit bigint
-- columns: event_type text, occurred_at timestamptz, recipient_email text null, url text null
select event_type, occurred_at, recipient_email, url
  from events
 where brand_id = :brand_id and send_id = :send_id and mode = 'live'
 order by occurred_at desc, id desc
 limit :limit;

-- How many recipients of a campaign were left out when their turn came, by reason.
-- name: send_left_out :many
-- params: brand_id bigint, send_id bigint
-- columns: reason text, recipients bigint
select case reason when 'contact deleted' then 'deleted' when 'invalid address' then 'invalid' else coalesce(reason, 'other') end,
       count(*)
  from send_results
 where brand_id = :brand_id and send_id = :send_id and outcome = 'skipped'
 group by 1
 order by 1;

-- The links of a send by the number of recipients who followed them, the most first. A link whose address differs by recipient has that
-- of the design.
-- name: send_links :many
-- params: brand_id bigint, send_id bigint, limit bigint
-- columns: url text, clicked bigint
select coalesce(case when min(h.url) = max(h.url) then min(h.url) end, v.link_table -> h.link ->> 'target', ''),
       count(distinct h.ordinal) as clicked
  from hits h
  join sends s on s.brand_id = h.brand_id and s.id = h.send_id
  join email_versions v on v.brand_id = s.brand_id and v.id = s.email_version_id
 where h.brand_id = :brand_id and h.send_id = :send_id and h.kind = 'click' and h.actor = 'human'
 group by h.link, v.link_table
 order by clicked desc, h.link
 limit :limit;

-- Cancels a send that has not begun, or is paused, and removes the job that would begin it from the queue. A send that has begun
-- returns the allowance of its recipients without a result; a gradual send has used that of its released recipients only. The lock of
-- the statistics comes first, as when results are written.
-- name: send_cancel :exec
-- params: brand_id bigint, id bigint, now timestamptz
with figures as (
    select * from send_stats where brand_id = :brand_id and send_id = :id for update
), canceled as (
    update sends s
       set status = 'canceled', pause_reason = null, updated_at = :now
      from figures t, brands b
     where s.brand_id = :brand_id and s.id = :id and s.status in ('scheduled', 'queued', 'paused') and not s.is_carrier
       and t.brand_id = s.brand_id and t.send_id = s.id and b.id = s.brand_id
    returning s.brand_id, s.id, s.job_id, b.organization_id, s.started_at, s.recipient_count,
              t.delivered + t.bounced - t.bounced_later + t.skipped + t.failed + t.held as decided
), released as (
    select g.released, g.released_at
      from canceled c
      join gradual_sends g on g.brand_id = c.brand_id and g.send_id = c.id
       for update of g
), dropped as (
    update jobs set state = 'canceled', settled_at = :now
     where id = (select job_id from canceled) and state = 'queued'
), returned as (
    update email_usage u
       set sent = greatest(u.sent - coalesce(r.released, c.recipient_count) + c.decided, 0)
      from canceled c
      left join released r on true
     where c.started_at is not null and u.organization_id = c.organization_id
       and u.period_start = date_trunc('month', coalesce(r.released_at, c.started_at) at time zone 'UTC')::date
)
select 1 from canceled;

-- Cancels a message of an automation that has not begun. The lock of its range keeps a sender from leasing it meanwhile; the sender
-- skips the message later.
-- name: send_cancel_message :exec
-- params: brand_id bigint, id bigint, now timestamptz
with waiting as (
    select m.id
      from automation_sends m
     cross join lateral (select g.started_at from send_ranges g
                          where g.brand_id = m.brand_id and g.send_id = m.carrier_id and g.from_ordinal <= m.ordinal
                          order by g.from_ordinal desc
                          limit 1
                            for update) q
     where m.brand_id = :brand_id and m.id = :id and q.started_at is null
)
update automation_sends m
   set canceled_at = coalesce(m.canceled_at, :now)
  from waiting w
 where m.brand_id = :brand_id and m.id = w.id;

-- Cancels the messages without a result of a carrier that is held after a restore, also those that had begun before. Messages that
-- come later are sent.
-- name: send_cancel_held :one
-- params: brand_id bigint, id bigint, now timestamptz
-- columns: canceled bigint
with held as (
    select brand_id, id from sends where brand_id = :brand_id and id = :id and is_carrier and held_at is not null for update
), canceled as (
    update automation_sends m
       set canceled_at = :now
      from (select n.id
              from held h
              join automation_sends n on n.brand_id = h.brand_id and n.carrier_id = h.id
             where n.canceled_at is null
               and not exists (select 1 from send_results r
                                where r.brand_id = n.brand_id and r.send_id = n.carrier_id and r.ordinal = n.ordinal)
             order by n.id
               for update of n) c
     where m.brand_id = :brand_id and m.id = c.id
    returning 1
), released as (
    update sends s set held_at = null from held h
     where s.brand_id = h.brand_id and s.id = h.id and (select count(*) from canceled) >= 0
    returning s.id
), told as materialized (
    select pg_notify('posthorn_send', '') from released
)
select case when exists (select 1 from told) then (select count(*) from canceled) else -1 end;

-- Pauses a running send, and notifies all sender processes.
-- name: send_pause_running :exec
-- params: brand_id bigint, id bigint, now timestamptz
with paused as (
    update sends
       set status = 'paused', pause_reason = 'manual', updated_at = :now
     where brand_id = :brand_id and id = :id and status = 'running' and not is_carrier
    returning brand_id, id
), noted as (
    update gradual_sends g set paused_at = :now from paused p where g.brand_id = p.brand_id and g.send_id = p.id
)
select pg_notify('posthorn_send', '') from paused;

-- Resumes a manually paused send, and notifies all sender processes.
-- name: send_resume :one
-- params: brand_id bigint, id bigint, now timestamptz
-- columns: id bigint
with resumed as (
    update sends
       set status = 'running', pause_reason = null, updated_at = :now
     where brand_id = :brand_id and id = :id and status = 'paused' and pause_reason = 'manual' and not is_carrier
    returning id
), told as materialized (
    select pg_notify('posthorn_send', '') from resumed
)
select r.id from resumed r, told;
