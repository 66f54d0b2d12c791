-- Gives jobs their turns that are due. The jobs of a brand get consecutive turns.
-- name: job_give_turns :exec
-- params: now timestamptz
with due as materialized (
    select id, pool, brand_id, run_after
      from jobs
     where state = 'queued' and turn is null and run_after <= :now
     order by run_after, id
     limit 1000
       for update skip locked
), placed as (
    select id, row_number() over (partition by pool, brand_id order by run_after, id) - 1 as place from due
)
update jobs set turn = job_turn(jobs.pool, jobs.brand_id) + placed.place
  from placed
 where jobs.id = placed.id;

-- Leases the job whose turn is next. The lease names the connection of the worker; the clock of the database measures it.
-- name: job_lease :one
-- params: pool text, lease_s integer
-- row: leased_job
-- columns: id bigint, kind text, organization_id bigint null, brand_id bigint null, payload jsonb, call jsonb null, attempts integer, cancel_asked boolean, lease_owner text null, created_at timestamptz, brand_is_gone boolean
update jobs
   set state = 'running', lease_owner = current_setting('application_name') || ' ' || pg_backend_pid(), attempts = attempts + 1,
       lease_until = clock_timestamp() + make_interval(secs => :lease_s), turn = null
 where id = (select id from jobs
              where pool = :pool and state = 'queued' and turn is not null
              order by turn, id
              limit 1
                for update skip locked)
returning id, kind, organization_id, brand_id, payload, call, attempts,
          cancel_asked and not job_has_caller(organization_id, id), lease_owner, created_at,
          exists (select 1 from brands b where b.id = brand_id and b.status = 'deleting');

-- As job_lease, without the jobs of one organization. It looks at the first job of each other organization, so the number of
-- jobs that wait does not matter.
-- name: job_lease_of_others :one
-- params: pool text, organization_id bigint, lease_s integer
-- row: leased_job
-- columns: id bigint, kind text, organization_id bigint null, brand_id bigint null, payload jsonb, call jsonb null, attempts integer, cancel_asked boolean, lease_owner text null, created_at timestamptz, brand_is_gone boolean
with recursive waiting (organization_id) as (
    (select organization_id
       from jobs
      where pool = :pool and state = 'queued' and turn is not null
      order by organization_id
      limit 1)
    union all
    select (select j.organization_id
              from jobs j
             where j.pool = :pool and j.state = 'queued' and j.turn is not null and j.organization_id > w.organization_id
             order by j.organization_id
             limit 1)
      from waiting w
     where w.organization_id is not null
), heads as (
    select head.id
      from waiting w
     cross join lateral (select j.id, j.turn
                           from jobs j
                          where j.pool = :pool and j.state = 'queued' and j.turn is not null
                            and j.organization_id = w.organization_id
                          order by j.turn, j.id
                          limit 1) head
     where w.organization_id <> :organization_id
     order by head.turn, head.id
     limit 16
)
update jobs
   set state = 'running', lease_owner = current_setting('application_name') || ' ' || pg_backend_pid(), attempts = attempts + 1,
       lease_until = clock_timestamp() + make_interval(secs => :lease_s), turn = null
 where id = (select id from jobs
              where id in (select id from heads) and state = 'queued' and turn is not null
              order by turn, id
              limit 1
                for update skip locked)
returning id, kind, organization_id, brand_id, payload, call, attempts,
          cancel_asked and not job_has_caller(organization_id, id), lease_owner, created_at,
          exists (select 1 from brands b where b.id = brand_id and b.status = 'deleting');

-- Queues jobs again whose worker is lost: the connection of the lease is gone, with its process or its server, or the lease has
-- ended because the worker hangs. A job that its worker is settling is left out: waiting for it would stop all leases.
-- name: job_reclaim :exec
update jobs set state = 'queued', lease_owner = null, turn = null
 where id in (select j.id
                from jobs j
               where j.state = 'running'
                 and (j.lease_until < clock_timestamp()
                      or not exists (select 1 from pg_stat_activity a where a.application_name || ' ' || a.pid = j.lease_owner))
                 for update skip locked);

-- Begins the lease of a running job anew; no row when the lease was lost.
-- name: job_renew :exec
-- params: id bigint, owner text, lease_s integer
update jobs set lease_until = clock_timestamp() + make_interval(secs => :lease_s)
 where id = :id and lease_owner = :owner and state = 'running';

-- Locks a job for the worker that settles it; no row when the lease was lost.
-- name: job_hold :one
-- params: id bigint, owner text
-- columns: cancel_asked boolean
select cancel_asked
  from jobs
 where id = :id and lease_owner = :owner and state = 'running'
   for update;

-- Ends a job; its caller reads the credits that it cost in the end.
-- name: job_finish :exec
-- params: id bigint, state text, status integer null, body text null, error jsonb null, credit_cost bigint null, now timestamptz
with gone as (
    delete from job_waiters w using jobs j where j.id = :id and w.organization_id = j.organization_id and w.job_id = j.id
)
update jobs
   set state = :state, result_status = :status, result_body = :body, result_error = :error, settled_at = :now,
       call = case when :credit_cost::bigint is null then call else jsonb_set(call, '{creditCost}', to_jsonb(:credit_cost::bigint)) end,
       lease_owner = null, lease_until = null
 where id = :id;

-- Another round of the same job, unless the lease was lost; `attempts` counts the failures in a row. `pool` null: in its pool.
-- name: job_requeue :exec
-- params: id bigint, owner text, run_after timestamptz, attempts integer, pool text null
update jobs
   set state = 'queued', run_after = :run_after, turn = null, attempts = :attempts, pool = coalesce(:pool, pool), lease_owner = null,
       lease_until = null
 where id = :id and lease_owner = :owner and state = 'running';

-- Saves the progress of a running job and renews its lease, unless the lease was lost.
-- name: job_note_progress :exec
-- params: id bigint, owner text, progress float8, total float8, note text, lease_s integer
update jobs
   set progress = :progress, progress_total = :total, progress_note = :note,
       lease_until = clock_timestamp() + make_interval(secs => :lease_s)
 where id = :id and lease_owner = :owner and state = 'running';

-- Whether a caller of the job has cancelled, and no other caller waits for it.
-- name: job_cancel_asked :one
-- params: id bigint
-- columns: cancel_asked boolean
select case when cancel_asked then not job_has_caller(organization_id, id) else false end from jobs where id = :id;

-- Notifies every process that a job has progressed or ended.
-- name: job_tell :exec
-- params: id text
select pg_notify('posthorn_jobs', :id);

-- Wakes the pools, for a job that has changed its pool.
-- name: job_wake_pools :exec
select pg_notify('posthorn_work', '');

-- Whether anything is queued, scheduled, running or being sent, a hit waits for its judgement, or a run of an automation for the time
-- of its next step. Nothing judges the hits of a brand that is being deleted.
-- name: job_any_open :one
-- columns: open boolean
select exists (select 1 from jobs where state in ('queued', 'running'))
       or exists (select 1 from sends where status = 'running' and not is_carrier)
       or exists (select 1 from send_ranges where is_carrier and next_ordinal <= to_ordinal)
       or exists (select 1 from send_retries where is_carrier)
       or exists (select 1
                    from hits h
                   where h.actor is null and not exists (select 1 from brands b where b.id = h.brand_id and b.status = 'deleting'))
       or exists (select 1 from automation_runs where due_at is not null and not is_held and status = 'running');

-- Deletes settled jobs that are older than a day.
-- name: job_forget_settled :exec
-- params: before timestamptz
delete from jobs where state in ('done', 'failed', 'canceled') and settled_at < :before;

-- Deletes callers whose job was settled while they joined it.
-- name: job_waiters_forget :exec
delete from job_waiters w
 where not exists (select 1 from jobs j where j.id = w.job_id and j.state in ('queued', 'running'));

-- Releases credits whose job has ended without doing so: its call could not be read.
-- name: credit_holds_forget :exec
delete from credit_holds h
 where not exists (select 1 from jobs j where j.id = h.job_id and j.state in ('queued', 'running'));

-- Deletes stored responses that are older than a day.
-- name: idempotency_forget :exec
-- params: before timestamptz
delete from idempotency_keys where created_at < :before;
