-- All decisions about mail to one address: the contact, and the brand's newest sends (or one send) with their outcome for the
-- address. A message of an automation is a send of its own. One row per send; a single row without a send when there is none.
-- name: explain_decisions :many
-- params: brand_id bigint, email_key text, address_hash text, event_types text[], send_id bigint, limit bigint, now timestamptz
-- columns: contact_id bigint null, subscribed boolean null, consent jsonb null, contact_created_at timestamptz null, contact_updated_at timestamptz null, validation_status text null, validation_reason text null, validated_at timestamptz null, suppression_reason text null, suppressed_at timestamptz null, suppression_source text null, suppression_evidence text null, suppressed_until timestamptz null, unsubscribe_behind timestamptz null, activity jsonb null, is_known boolean, send_id bigint null, status text null, email_id bigint null, email_name text null, target text null, audience_id bigint null, audience_name text null, is_listed boolean null, is_sandbox boolean null, created_at timestamptz null, scheduled_at timestamptz null, started_at timestamptz null, ended_at timestamptz null, pause_reason text null, error text null, recipient_count bigint null, ordinal bigint null, range_begun_at timestamptz null, is_leased boolean null, outcome text null, reason text null, decided_at timestamptz null, attempts bigint null, reply text null, relay text null, uncertain boolean null, first_at timestamptz null, due_at timestamptz null, unsubscribed_at timestamptz null, events jsonb null, machine_hits jsonb null, gradual_starting float8 null, gradual_increment float8 null, gradual_interval bigint null, gradual_unit text null, gradual_zone text null, gradual_tranche bigint null, gradual_released bigint null, next_tranche_at timestamptz null, approval_state text null, held_at timestamptz null, bounced_at timestamptz null, bounce_diagnostic text null, complained_at timestamptz null, complaint_diagnostic text null, delayed_at timestamptz null, delay_diagnostic text null, automation_id bigint null, node_id text null, automation_run_id bigint null, audience_run_id bigint null, trigger_instance_id bigint null
with person as (
    select c.id, c.subscribed, c.consent, c.created_at, c.updated_at, v.status as validation_status,
           v.reason as validation_reason, v.checked_at, p.reason as suppression_reason, p.created_at as suppressed_at,
           p.source as suppression_source, p.evidence as suppression_evidence, p.expires_at as suppressed_until,
           p.unsubscribed_at as unsubscribe_behind,
           (select jsonb_agg(jsonb_build_object('eventType', a.event_type, 'count', a.count, 'lastDay', a.last_day)
                             order by a.event_type)
              from (select event_type, sum(count) as count, max(day) as last_day
                      from contact_activity
                     where brand_id = :brand_id and event_type = any (:event_types::text[]) and email_key = :email_key
                     group by event_type) a) as activity
      from (values (1)) as one
      left join contacts c on c.brand_id = (select :brand_id::bigint) and c.email_key = :email_key
      left join contact_validations v on v.brand_id = c.brand_id and v.contact_id = c.id
      left join suppressions_at(:brand_id, :now) p on p.address_hash = decode(:address_hash, 'hex')
), campaigns as (
    select s.brand_id, s.id, s.id as send_id, null::bigint as ordinal, s.status, s.email_id, s.target, s.audience_id, s.inline_keys,
           s.domain_id, s.created_at, s.scheduled_at, s.started_at, coalesce(s.completed_at, s.failed_at) as ended_at, s.pause_reason,
           s.error, s.recipient_count, s.approval_state, s.held_at, null::bigint as automation_id, null::text as node_id,
           null::bigint as run_id, null::bigint as audience_run_id, null::bigint as trigger_instance_id
      from sends s
     where s.brand_id = :brand_id and (:send_id::bigint = 0 or s.id = :send_id) and not s.is_carrier
     order by s.created_at desc, s.id desc
     limit :limit
), messages as (
    select s.brand_id, m.id, m.carrier_id, m.ordinal, s.status, s.email_id, s.target, null::bigint, null::text[], s.domain_id,
           m.created_at, null::timestamptz, m.created_at, null::timestamptz, s.pause_reason, null::text, 1::bigint,
           s.approval_state, s.held_at, m.automation_id, m.node_id, m.run_id, m.audience_run_id, m.trigger_instance_id
      from automation_runs a
      join automation_sends m on m.brand_id = a.brand_id and m.run_id = a.id
      join sends s on s.brand_id = m.brand_id and s.id = m.carrier_id
     where a.brand_id = :brand_id and a.email_key = :email_key and (:send_id::bigint = 0 or m.id = :send_id)
     order by m.id desc
     limit :limit
), chosen as materialized (
    select *
      from (select * from campaigns union all select * from messages) s
     order by s.created_at desc, s.id desc
     limit :limit
), happened as materialized (
    select e.send_id, e.event_type, e.occurred_at, e.summary, e.id
      from events e
     where e.brand_id = :brand_id and e.recipient_key = :email_key and e.mode = 'live'
       and e.send_id in (select id from chosen)
     order by e.occurred_at desc, e.id desc
     limit 1000
)
select p.id, p.subscribed, p.consent, p.created_at, p.updated_at, p.validation_status, p.validation_reason, p.checked_at,
       p.suppression_reason, p.suppressed_at, p.suppression_source, p.suppression_evidence, p.suppressed_until, p.unsubscribe_behind,
       p.activity,
       p.id is not null or p.suppression_reason is not null or p.activity is not null
           or exists (select 1 from chosen n
                        join send_recipients o on o.brand_id = n.brand_id and o.send_id = n.send_id and o.email_key = :email_key
                                              and o.automation_send_id is null)
           or exists (select 1 from automation_runs n where n.brand_id = :brand_id and n.email_key = :email_key),
       s.id,
       case when s.run_id is null or t.outcome is null then s.status
            when t.outcome in ('failed', 'held') then 'failed' else 'completed' end, s.email_id, m.title, s.target, s.audience_id, a.name, :email_key = any (s.inline_keys), d.kind = 'sandbox',
       s.created_at, s.scheduled_at, s.started_at,
       case when s.run_id is null then s.ended_at else t.occurred_at end, s.pause_reason, s.error, s.recipient_count, r.ordinal, g.started_at, case when y.due_at is null then g.lease_owner else y.lease_owner end is not null, t.outcome, t.reason,
       t.occurred_at, coalesce(t.attempts, y.attempts)::bigint, coalesce(t.reply, y.reply), coalesce(t.relay, y.relay),
       coalesce(t.uncertain, y.uncertain), y.first_at, y.due_at, u.occurred_at,
       (select jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
                   'eventType', h.event_type, 'summary', h.summary,
                   'occurredAt', to_char(h.occurred_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')))
               order by h.occurred_at desc, h.id desc)
          from (select * from happened where send_id = s.id order by occurred_at desc, id desc limit 100) h),
       (select jsonb_agg(jsonb_build_object(
                   'kind', k.kind, 'actor', k.actor, 'reason', k.reason, 'agent', k.agent, 'network', k.network,
                   'occurredAt', to_char(k.occurred_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
               order by k.occurred_at desc, k.id desc)
          from (select * from hits x
                 where x.brand_id = r.brand_id and x.send_id = r.send_id and x.ordinal = r.ordinal and x.actor <> 'human'
                 order by x.occurred_at desc, x.id desc limit 20) k),
       l.starting_percentage, l.increment_percentage, l.interval_value, l.interval_unit, l.time_zone, l.tranche, l.released,
       l.next_tranche_at,
       s.approval_state, s.held_at,
       b.occurred_at,
       (select summary from happened
         where send_id = s.id and event_type = b.event_type and occurred_at = b.occurred_at
         limit 1),
       f.occurred_at,
       (select summary from happened
         where send_id = s.id and event_type = f.event_type and occurred_at = f.occurred_at
         limit 1),
       t.delayed_at, t.delay, s.automation_id, s.node_id, s.run_id, s.audience_run_id, s.trigger_instance_id
  from person p
  left join chosen s on true
  left join emails m on m.brand_id = s.brand_id and m.id = s.email_id
  left join domains d on d.brand_id = s.brand_id and d.id = s.domain_id
  left join audiences a on a.brand_id = s.brand_id and a.id = s.audience_id
  left join gradual_sends l on l.brand_id = s.brand_id and l.send_id = s.id
  left join lateral (select * from send_recipients x
                      where x.brand_id = s.brand_id and x.send_id = s.send_id and x.email_key = :email_key
                        and x.automation_send_id is null and s.ordinal is null
                      union all
                     select * from send_recipients x
                      where x.brand_id = s.brand_id and x.send_id = s.send_id and x.ordinal = s.ordinal) r on true
  left join lateral (select * from send_ranges q
                      where q.brand_id = r.brand_id and q.send_id = r.send_id and q.from_ordinal <= r.ordinal
                      order by q.from_ordinal desc
                      limit 1) g on true
  left join send_results t on t.brand_id = r.brand_id and t.send_id = r.send_id and t.ordinal = r.ordinal
  left join send_retries y on y.brand_id = r.brand_id and y.send_id = r.send_id and y.ordinal = r.ordinal
  left join recipient_events u on u.brand_id = r.brand_id and u.send_id = r.send_id and u.ordinal = r.ordinal
                              and u.event_type = 'unsubscribed'
  left join recipient_events b on b.brand_id = r.brand_id and b.send_id = r.send_id and b.ordinal = r.ordinal
                              and b.event_type = 'bounced'
  left join recipient_events f on f.brand_id = r.brand_id and f.send_id = r.send_id and f.ordinal = r.ordinal
                              and f.event_type = 'complained'
 order by s.created_at desc, s.id desc;

-- The newest runs of one address with their steps. A step's facts hold no value of a payload.
-- name: explain_runs :many
-- params: brand_id bigint, email_key text, limit bigint
-- columns: id bigint, automation_id bigint, automation_name text null, version bigint null, status text, node_id text, due_at timestamptz null, waits_message bigint null, waits_trigger bigint null, is_held boolean, error text null, started_at timestamptz, completed_at timestamptz null, audience_run_id bigint null, trigger_instance_id bigint null, steps jsonb null
select r.id, r.automation_id, a.name, v.version::bigint, r.status, r.node_id, r.due_at, r.waits_message, r.waits_trigger, r.is_held,
       r.error, r.started_at, r.completed_at, r.audience_run_id, r.trigger_instance_id,
       (select jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
                   'visit', s.visit, 'nodeId', s.node_id, 'nodeType', s.node_type, 'status', s.status, 'branch', s.branch,
                   'facts', s.facts, 'error', s.error,
                   'startedAt', to_char(s.started_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
                   'completedAt', to_char(s.completed_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')))
               order by s.visit)
          from (select * from automation_steps x
                 where x.brand_id = r.brand_id and x.run_id = r.id
                 order by x.visit desc limit 100) s)
  from (select * from automation_runs
         where brand_id = :brand_id and email_key = :email_key and mode = 'live'
         order by id desc
         limit :limit) r
  left join automations a on a.brand_id = r.brand_id and a.id = r.automation_id
  left join automation_versions v on v.brand_id = r.brand_id and v.id = r.version_id
 order by r.id desc;

-- The newest fires for one address, and the automations that did not start, each with its reason.
-- name: explain_fires :many
-- params: brand_id bigint, email_key text, limit bigint
-- columns: id bigint, trigger_id bigint, title text, source text, state text, occurred_at timestamptz, rejection_reason text null, run_ids bigint[], refused_ids bigint[], refused_names text[], reasons text[]
select i.id, t.id, t.title, i.source, i.state, i.occurred_at, i.rejection_reason, i.runs,
       array(select (n.value ->> 'automation')::bigint
               from jsonb_array_elements(i.not_started) with ordinality as n (value, place) order by n.place),
       array(select a.name
               from jsonb_array_elements(i.not_started) with ordinality as n (value, place)
               left join automations a on a.brand_id = :brand_id and a.id = (n.value ->> 'automation')::bigint order by n.place),
       array(select n.value ->> 'reason'
               from jsonb_array_elements(i.not_started) with ordinality as n (value, place) order by n.place)
  from triggers t
 cross join lateral (select * from trigger_instances x
                      where x.brand_id = t.brand_id and x.trigger_id = t.id and x.email_key = :email_key
                      order by x.occurred_at desc
                      limit :limit) i
 where t.brand_id = :brand_id
 order by i.occurred_at desc, i.id desc
 limit :limit;

-- The recipient of one message. message_id: of an automation.
-- name: explain_recipient :one
-- params: brand_id bigint, send_id bigint, ordinal bigint
-- columns: email text, message_id bigint null
select email, automation_send_id from send_recipients where brand_id = :brand_id and send_id = :send_id and ordinal = :ordinal;
