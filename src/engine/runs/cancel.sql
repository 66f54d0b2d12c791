-- Cancels open runs: listed ones, those of an audience run, or those of an automation (0: not named). The parts lock in this order, as the
-- stepper does: automation_runs, automation_steps, audience_runs, automation_counts. A run is counted as started with its first step,
-- so one that is canceled before is counted here. Messages that were handed over stay. `payload_ids` are of these runs; the caller
-- erases those that nothing reads any more. The three ways to name runs are apart, so that each has the plan of its index.
-- name: runs_cancel :one
-- params: brand_id bigint, automation_id bigint, audience_run_id bigint, run_ids bigint[], reason text null, now timestamptz
-- columns: canceled bigint, payload_ids bigint[]
with listed_runs as materialized (
    select r.id, r.payload_id
      from automation_runs r
     where r.brand_id = :brand_id and r.id = any (:run_ids::bigint[]) and r.status in ('queued', 'running')
     order by r.id
       for no key update
), runs_of_launch as materialized (
    select r.id, r.payload_id
      from automation_runs r
     where :audience_run_id::bigint > 0 and r.brand_id = :brand_id and r.audience_run_id = :audience_run_id
       and r.status in ('queued', 'running')
     order by r.id
       for no key update
), runs_of_automation as materialized (
    select r.id, r.payload_id
      from automation_runs r
     where :automation_id::bigint > 0 and r.brand_id = :brand_id and r.automation_id = :automation_id and r.status in ('queued', 'running')
     order by r.id
       for no key update
), open_runs as materialized (
    select * from listed_runs union all select * from runs_of_launch union all select * from runs_of_automation
), ended as (
    update automation_runs r
       set status = 'canceled', completed_at = :now, due_at = null, waits_message = null, waits_trigger = null, payload_id = null,
           is_held = false, error = coalesce(:reason, r.error)
      from open_runs o
     where r.brand_id = :brand_id and r.id = o.id
    returning r.id, r.automation_id, r.audience_run_id, r.trigger_instance_id, r.email, r.email_key, r.node_id, r.visit, r.mode
), steps as (
    update automation_steps s
       set status = 'skipped', completed_at = :now
      from ended e
     where s.brand_id = :brand_id and s.run_id = e.id and s.visit = e.visit and s.status = 'running'
    returning 1
), launches as (
    update audience_runs l
       set open_runs = greatest(l.open_runs - n.ended, 0), updated_at = :now,
           status = case when n.is_stopped then 'canceled'
                         when l.open_runs > n.ended or l.status not in ('queued', 'running', 'paused') then l.status
                         when l.failed_runs > 0 then 'partially_completed'
                         else 'completed' end,
           pause_reason = case when n.is_stopped or l.open_runs <= n.ended then null else l.pause_reason end,
           completed_at = case when n.is_stopped or (l.open_runs <= n.ended and l.status in ('queued', 'running', 'paused'))
                               then :now else l.completed_at end
      from (select w.id, w.is_stopped, coalesce(c.ended, 0) as ended
              from (select q.id, q.status in ('scheduled', 'queued', 'running', 'paused') and cardinality(:run_ids::bigint[]) = 0 as is_stopped
                      from audience_runs q
                     where q.brand_id = :brand_id
                       and ((cardinality(:run_ids::bigint[]) = 0 and :audience_run_id::bigint = 0 and q.automation_id = :automation_id)
                            or q.id = :audience_run_id
                            or q.id in (select audience_run_id from ended))
                       and (select count(*) from steps) >= 0
                     order by q.id
                       for no key update) w
              left join (select audience_run_id, count(*) as ended from ended group by 1) c on c.audience_run_id = w.id) n
     where l.brand_id = :brand_id and l.id = n.id and (n.is_stopped or n.ended > 0)
    returning l.job_id, l.status
), begun as (
    update jobs set state = 'canceled', settled_at = :now
     where id in (select job_id from launches where status = 'canceled') and state = 'queued'
), counts as (
    insert into automation_counts (brand_id, automation_id, day, kind, count)
    select :brand_id, e.automation_id, (:now::timestamptz at time zone 'UTC')::date, k.kind, count(*)
      from ended e
      join (values ('canceled'), ('started')) as k (kind) on k.kind = 'canceled' or e.visit = 0
     where e.mode = 'live' and (select count(*) from launches) >= 0
     group by 2, 4
     order by 2, 4
        on conflict (brand_id, automation_id, day, kind) do update set count = automation_counts.count + excluded.count
    returning 1
), told as (
    insert into events (brand_id, occurred_at, domain, event_type, recipient_email, recipient_key, automation_id, node_id,
                        automation_run_id, audience_run_id, trigger_instance_id, mode)
    select :brand_id, :now, 'automation', 'canceled', email, email_key, automation_id, node_id, id, audience_run_id,
           trigger_instance_id, mode
      from ended
     where (select count(*) from counts) >= 0
     order by id
)
select (select count(*) from ended),
       coalesce((select array_agg(distinct payload_id order by payload_id) from open_runs where payload_id is not null), '{}');

-- Erases those of these payloads that nothing reads any more.
-- name: runs_erase_payloads :one
-- params: brand_id bigint, ids bigint[]
-- columns: erased bigint
select erase_payloads(:brand_id, :ids);

-- Turns off the statement timeout: canceling the runs of a large launch takes longer than a caller's statement may.
-- name: runs_disable_timeout :exec
select set_config('statement_timeout', '0', true);
