-- The brands with runs that wait for a time, each with its earliest time. It looks at the first run of each brand only.
-- name: step_heads :many
-- columns: brand_id bigint, due_at timestamptz
with recursive heads (brand_id, due_at) as (
    (select brand_id, due_at
       from automation_runs
      where due_at is not null and not is_held and status = 'running'
      order by brand_id, due_at
      limit 1)
    union all
    select n.brand_id, n.due_at
      from heads h
     cross join lateral (select r.brand_id, r.due_at
                           from automation_runs r
                          where r.due_at is not null and not r.is_held and r.status = 'running' and r.brand_id > h.brand_id
                          order by r.brand_id, r.due_at
                          limit 1) n
)
select brand_id, due_at from heads;

-- The brands with suspect runs.
-- name: step_suspect_brands :many
-- columns: brand_id bigint
select distinct brand_id from step_crashes;

-- Due suspect runs of a brand, those of the smallest transactions first.
-- name: step_suspects :many
-- params: brand_id bigint, now timestamptz, limit integer
-- columns: id bigint, due_at timestamptz, batch_runs bigint, alone bigint
select r.id, coalesce(r.due_at, :now), c.batch_runs::bigint, c.alone::bigint
  from step_crashes c
  join automation_runs r on r.brand_id = c.brand_id and r.id = c.run_id
 where c.brand_id = :brand_id and r.status = 'running' and not r.is_held and r.due_at <= :now
 order by c.batch_runs, r.due_at, r.id
 limit :limit;

-- Counts the end of a process for the runs that it stepped. Rows of runs that have ended are deleted on this occasion.
-- name: step_count_crash :exec
-- params: brand_id bigint, run_ids bigint[], now timestamptz
with ended as (
    delete from step_crashes c using automation_runs r
     where c.brand_id = :brand_id and r.brand_id = c.brand_id and r.id = c.run_id and r.status <> 'running'
)
insert into step_crashes as k (brand_id, run_id, batch_runs, alone, crashed_at)
select r.brand_id, r.id, cardinality(:run_ids::bigint[]), (cardinality(:run_ids::bigint[]) = 1)::integer, :now
  from automation_runs r
 where r.brand_id = :brand_id and r.id = any (:run_ids::bigint[]) and r.status = 'running'
 order by r.id
    on conflict (brand_id, run_id)
       do update set batch_runs = excluded.batch_runs, alone = k.alone + excluded.alone, crashed_at = excluded.crashed_at;

-- Forgets the crashes of runs that could be stepped, or have another fault.
-- name: step_forget_crashes :exec
-- params: brand_id bigint, run_ids bigint[]
delete from step_crashes where brand_id = :brand_id and run_id = any (:run_ids::bigint[]);

-- Locks due runs of a brand behind a mark, with what decides whether they may be stepped. Runs that another stepper has are left
-- out, and those of `except`. `only` without items: any run.
-- name: step_take :many
-- params: brand_id bigint, mark_at timestamptz, mark_id bigint, until timestamptz, only bigint[], except bigint[], now timestamptz, limit integer
-- columns: id bigint, automation_id bigint, version_id bigint, trigger_instance_id bigint null, audience_run_id bigint null, payload_id bigint null, contact_id bigint null, email text, email_key text, is_test boolean, node_id text, visit bigint, entered_at timestamptz null, due_at timestamptz, started_at timestamptz, organization_id bigint, time_zone text, waits_trigger bigint null, is_paused boolean, is_short boolean
select r.id, r.automation_id, r.version_id, r.trigger_instance_id, r.audience_run_id, r.payload_id, r.contact_id, r.email, r.email_key,
       r.mode = 'test', r.node_id, r.visit::bigint, r.entered_at, coalesce(r.due_at, :now), r.started_at, b.organization_id, b.time_zone,
       r.waits_trigger, coalesce(a.is_paused, false) or coalesce(l.status = 'scheduled' or l.pause_reason = 'manual', false),
       coalesce(l.pause_reason = 'plan_limit', false)
  from automation_runs r
  join brands b on b.id = r.brand_id
  left join automations a on a.brand_id = r.brand_id and a.id = r.automation_id
  left join audience_runs l on l.brand_id = r.brand_id and l.id = r.audience_run_id
 where r.brand_id = :brand_id and r.due_at is not null and not r.is_held and r.status = 'running'
   and (r.due_at, r.id) > (:mark_at::timestamptz, :mark_id::bigint) and r.due_at <= :until
   and (cardinality(:only::bigint[]) = 0 or r.id = any (:only::bigint[])) and r.id <> all (:except::bigint[])
 order by r.due_at, r.id
 limit :limit
   for update of r skip locked;

-- Versions that no cache has.
-- name: step_versions :many
-- params: brand_id bigint, ids bigint[]
-- columns: id bigint, nodes jsonb, connections jsonb
select id, nodes, connections from automation_versions where brand_id = :brand_id and id = any (:ids::bigint[]);

-- Holds runs whose automation or audience run is paused. The pause is looked at again behind its lock, so a resume that commits
-- meanwhile leaves no run held.
-- name: step_hold :exec
-- params: brand_id bigint, ids bigint[]
with paused_automations as materialized (
    select id
      from automations
     where brand_id = :brand_id and is_paused
       and id in (select automation_id from automation_runs where brand_id = :brand_id and id = any (:ids::bigint[]))
     order by id
       for share
), paused_launches as materialized (
    select id
      from audience_runs
     where brand_id = :brand_id and (status = 'scheduled' or pause_reason = 'manual')
       and id in (select audience_run_id from automation_runs where brand_id = :brand_id and id = any (:ids::bigint[]))
     order by id
       for share
)
update automation_runs
   set is_held = true
 where brand_id = :brand_id and id = any (:ids::bigint[])
   and (automation_id in (select id from paused_automations) or audience_run_id in (select id from paused_launches));

-- Tries to lock addresses against events that come meanwhile (run_hold_addresses), and returns those that are locked.
-- name: step_lock_addresses :many
-- params: lock integer, brand_id bigint, keys text[]
-- columns: email_key text
select k.key
  from (select distinct key from unnest(:keys::text[]) as u (key)) k
 where pg_try_advisory_xact_lock(:lock, hashtext(:brand_id::bigint || ' ' || k.key));

-- Tries to lock the messages of runs against results and engagement that come meanwhile (run_lock_messages), and returns those that
-- another transaction has. A step looks at the newest message of a node only. A server has room for a few thousand locks: messages above
-- `limit` are returned as if another transaction had them, so that the first runs go now and the others in a later transaction.
-- name: step_lock_messages :many
-- params: lock integer, brand_id bigint, run_ids bigint[], limit bigint
-- columns: id bigint
select m.id
  from (select id, row_number() over (order by run_id, node_id) as place
          from (select distinct on (run_id, node_id) run_id, node_id, id
                  from automation_sends
                 where brand_id = :brand_id and run_id = any (:run_ids::bigint[])
                 order by run_id, node_id, id desc) n) m
 where case when m.place <= :limit then not pg_try_advisory_xact_lock(:lock, hashint8(m.id / 16)) else true end;

-- Contacts with what conditions may name.
-- name: step_contacts :many
-- params: brand_id bigint, ids bigint[]
-- columns: id bigint, contact jsonb
select c.id,
       jsonb_build_object('email', c.email, 'firstName', c.first_name, 'lastName', c.last_name, 'userId', c.user_id, 'source', c.source,
                          'subscribed', c.subscribed, 'subscriptionGroups', c.subscription_groups, 'customFields', c.custom_fields,
                          'createdAt', to_char(c.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
                          'updatedAt', to_char(c.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
  from contacts c
 where c.brand_id = :brand_id and c.id = any (:ids::bigint[]);

-- Sealed payloads.
-- name: step_payloads :many
-- params: brand_id bigint, ids bigint[]
-- columns: id bigint, sealed bytea
select id, sealed from trigger_payloads where brand_id = :brand_id and id = any (:ids::bigint[]);

-- The messages of runs, with the result and the engagement of their recipients. Only human activity is in recipient_events.
-- name: step_messages :many
-- params: brand_id bigint, run_ids bigint[]
-- columns: id bigint, run_id bigint, node_id text, handed_over_at timestamptz null, is_settled boolean, opened_at timestamptz null, clicked_at timestamptz null
select m.id, m.run_id, m.node_id, case when e.outcome = 'delivered' then e.occurred_at end, e.outcome is not null, o.occurred_at,
       c.occurred_at
  from automation_sends m
  left join send_results e on e.brand_id = m.brand_id and e.send_id = m.carrier_id and e.ordinal = m.ordinal
  left join recipient_events o
    on o.brand_id = m.brand_id and o.send_id = m.carrier_id and o.ordinal = m.ordinal and o.event_type = 'opened'
  left join recipient_events c
    on c.brand_id = m.brand_id and c.send_id = m.carrier_id and c.ordinal = m.ordinal and c.event_type = 'clicked'
 where m.brand_id = :brand_id and m.run_id = any (:run_ids::bigint[])
 order by m.run_id, m.visit;

-- The first event of each of these triggers at an address that counts for a visit of a node: it came after the run began, and after
-- what ended the last visit of this node by the run, which is an event or the timeout. Facts have whole milliseconds.
-- name: step_events :many
-- params: brand_id bigint, run_ids bigint[], trigger_ids bigint[], keys text[], started_ats timestamptz[], node_ids text[], visits bigint[]
-- columns: run_id bigint, trigger_id bigint, at timestamptz
select w.run_id, w.trigger_id, i.occurred_at
  from unnest(:run_ids::bigint[], :trigger_ids::bigint[], :keys::text[], :started_ats::timestamptz[], :node_ids::text[],
              :visits::bigint[])
       as w (run_id, trigger_id, key, started_at, node_id, visit)
  left join lateral (select coalesce(s.facts ->> 'eventAt', s.facts ->> 'until')::timestamptz + interval '1 millisecond' as ended_at
                       from automation_steps s
                      where s.brand_id = :brand_id and s.run_id = w.run_id and s.visit < w.visit and s.node_id = w.node_id
                      order by s.visit desc
                      limit 1) before on true
 cross join lateral (select t.occurred_at
                       from trigger_instances t
                      where t.brand_id = :brand_id and t.trigger_id = w.trigger_id and t.email_key = w.key
                        and t.occurred_at > w.started_at and t.occurred_at >= coalesce(before.ended_at, w.started_at)
                        and t.state not in ('rejected', 'dead_letter')
                      order by t.occurred_at
                      limit 1) i;

-- Writes visits of nodes. A visit that has ended never changes again: then fewer rows are written than given, and the transaction is
-- rolled back.
-- name: step_write_visits :exec
-- params: brand_id bigint, run_ids bigint[], visits bigint[], node_ids text[], node_types text[], statuses text[], branches text[], facts jsonb[], errors text[], started_ats timestamptz[], completed_ats timestamptz[]
insert into automation_steps (brand_id, run_id, visit, node_id, node_type, status, branch, facts, error, started_at, completed_at)
select :brand_id, t.run_id, t.visit, t.node_id, t.node_type, t.status, t.branch, t.facts, t.error, t.started_at,
       nullif(t.completed_at, '-infinity')
  from unnest(:run_ids::bigint[], :visits::bigint[], :node_ids::text[], :node_types::text[], :statuses::text[], :branches::text[],
              :facts::jsonb[], :errors::text[], :started_ats::timestamptz[], :completed_ats::timestamptz[])
       as t (run_id, visit, node_id, node_type, status, branch, facts, error, started_at, completed_at)
    on conflict (brand_id, run_id, visit)
       do update set status = excluded.status, branch = excluded.branch, facts = excluded.facts, error = excluded.error,
                     completed_at = excluded.completed_at
        where automation_steps.status = 'running' and automation_steps.node_id = excluded.node_id;

-- Writes where runs are now. 0 and -infinity stand for null.
-- name: step_write_runs :exec
-- params: brand_id bigint, ids bigint[], statuses text[], node_ids text[], visits bigint[], entered_ats timestamptz[], due_ats timestamptz[], messages bigint[], triggers bigint[], errors text[], keeps_payload boolean[], now timestamptz
update automation_runs r
   set status = t.status, node_id = t.node_id, visit = t.visit, entered_at = t.entered_at, due_at = nullif(t.due_at, '-infinity'),
       waits_message = nullif(t.message, 0), waits_trigger = nullif(t.trigger, 0), error = t.error,
       payload_id = case when t.keeps_payload then r.payload_id end,
       completed_at = case when t.status <> 'running' then :now::timestamptz end
  from unnest(:ids::bigint[], :statuses::text[], :node_ids::text[], :visits::bigint[], :entered_ats::timestamptz[],
              :due_ats::timestamptz[], :messages::bigint[], :triggers::bigint[], :errors::text[], :keeps_payload::boolean[])
       as t (id, status, node_id, visit, entered_at, due_at, message, trigger, error, keeps_payload)
 where r.brand_id = :brand_id and r.id = t.id;

-- Writes the events of runs that ended, in the order of the lists.
-- name: step_write_events :exec
-- params: brand_id bigint, ids bigint[], types text[], summaries text[], now timestamptz
insert into events (brand_id, occurred_at, domain, event_type, recipient_email, recipient_key, mode, summary, automation_id, node_id,
                    automation_run_id, audience_run_id, trigger_instance_id)
select :brand_id, :now, 'automation', t.type, r.email, r.email_key, r.mode, t.summary, r.automation_id, r.node_id, r.id,
       r.audience_run_id, r.trigger_instance_id
  from unnest(:ids::bigint[], :types::text[], :summaries::text[]) with ordinality as t (id, type, summary, place)
  join automation_runs r on r.brand_id = :brand_id and r.id = t.id
 order by t.place;

-- Counts what happened to runs.
-- name: step_count :exec
-- params: brand_id bigint, automation_ids bigint[], kinds text[], now timestamptz
insert into automation_counts (brand_id, automation_id, day, kind, count)
select :brand_id, t.automation_id, (:now::timestamptz at time zone 'UTC')::date, t.kind, count(*)
  from unnest(:automation_ids::bigint[], :kinds::text[]) as t (automation_id, kind)
 group by t.automation_id, t.kind
 order by t.automation_id, t.kind
    on conflict (brand_id, automation_id, day, kind) do update set count = automation_counts.count + excluded.count;

-- Counts ended runs of launches, and ends launches whose last run has ended. open_runs also counts recipients whose runs have not
-- started.
-- name: step_count_launches :exec
-- params: brand_id bigint, audience_run_ids bigint[], are_failed boolean[], now timestamptz
update audience_runs l
   set open_runs = l.open_runs - n.ended, failed_runs = l.failed_runs + n.failed, updated_at = :now,
       status = case when l.status not in ('queued', 'running', 'paused') or l.open_runs > n.ended then l.status
                     when l.failed_runs + n.failed = 0 then 'completed'
                     when l.failed_runs + n.failed < l.total_recipients then 'partially_completed'
                     else 'failed' end,
       pause_reason = case when l.open_runs > n.ended then l.pause_reason end,
       completed_at = case when l.open_runs <= n.ended then coalesce(l.completed_at, :now::timestamptz) else l.completed_at end
  from (select a.id, u.ended, u.failed
          from (select t.id, count(*) as ended, count(*) filter (where t.is_failed) as failed
                  from unnest(:audience_run_ids::bigint[], :are_failed::boolean[]) as t (id, is_failed)
                 group by t.id) u
          join audience_runs a on a.brand_id = :brand_id and a.id = u.id
         order by a.id
           for no key update of a) n
 where l.brand_id = :brand_id and l.id = n.id;

-- Counts messages of launches that failed before they had a recipient. Runs before messages are appended, because senders lock these
-- rows before the usage of the organization.
-- name: step_count_failed_messages :exec
-- params: brand_id bigint, audience_run_ids bigint[], node_ids text[]
insert into audience_run_nodes (brand_id, audience_run_id, node_id, failed)
select :brand_id, t.audience_run_id, t.node_id, count(*)
  from unnest(:audience_run_ids::bigint[], :node_ids::text[]) as t (audience_run_id, node_id)
 group by t.audience_run_id, t.node_id
 order by t.audience_run_id, t.node_id
    on conflict (brand_id, audience_run_id, node_id) do update set failed = audience_run_nodes.failed + excluded.failed;

-- Pauses launches whose mail exceeds the allowance of the plan, or continues those whose mail fits again.
-- name: step_launches_without_room :exec
-- params: brand_id bigint, ids bigint[], has_room boolean, now timestamptz
update audience_runs l
   set status = case when :has_room::boolean then 'running' else 'paused' end,
       pause_reason = case when not :has_room::boolean then 'plan_limit' end, updated_at = :now
  from (select a.id
          from audience_runs a
         where a.brand_id = :brand_id and a.id = any (:ids::bigint[])
           and case when :has_room::boolean then a.pause_reason = 'plan_limit' else a.status = 'running' end
         order by a.id
           for no key update) n
 where l.brand_id = :brand_id and l.id = n.id;

-- Ends the open visits of runs that fail before their node is known.
-- name: step_fail_visits :exec
-- params: brand_id bigint, run_ids bigint[], error text, now timestamptz
update automation_steps
   set status = 'failed', error = :error, completed_at = :now
 where brand_id = :brand_id and run_id = any (:run_ids::bigint[]) and status = 'running';
