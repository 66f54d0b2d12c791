-- Takes the next job that is due. The lease names the connection that took it and runs on the database's clock.
-- name: job_lease :one
-- params: now timestamptz, lease_s integer
-- columns: id bigint, kind text, organization_id bigint null, brand_id bigint null, payload jsonb, call jsonb null, attempts integer, cancel_asked boolean, lease_owner text null
update jobs
   set state = 'running', lease_owner = current_setting('application_name') || ' ' || pg_backend_pid(), attempts = attempts + 1,
       lease_until = clock_timestamp() + make_interval(secs => :lease_s)
 where id = (select id from jobs
              where state = 'queued' and run_after <= :now
              order by run_after, id
              limit 1
                for update skip locked)
returning id, kind, organization_id, brand_id, payload, call, attempts, cancel_asked, lease_owner;

-- A worker loses its job as soon as the connection that took it is gone, be it with the process or with the server, and one
-- that hangs when its lease is over.
-- name: job_reclaim :exec
update jobs set state = 'queued', lease_owner = null
 where state = 'running'
   and (lease_until < clock_timestamp()
        or not exists (select 1 from pg_stat_activity a where a.application_name || ' ' || a.pid = jobs.lease_owner));

-- Keeps a job for its worker to settle; no row when the lease was lost.
-- name: job_hold :one
-- params: id bigint, owner text
-- columns: cancel_asked boolean
select cancel_asked
  from jobs
 where id = :id and lease_owner = :owner and state = 'running'
   for update;

-- The end of a job; what it cost in the end is told to its caller.
-- name: job_finish :exec
-- params: id bigint, state text, status integer null, body text null, error jsonb null, credit_cost bigint null, now timestamptz
update jobs
   set state = :state, result_status = :status, result_body = :body, result_error = :error, settled_at = :now,
       call = case when :credit_cost::bigint is null then call else jsonb_set(call, '{creditCost}', to_jsonb(:credit_cost::bigint)) end,
       lease_owner = null, lease_until = null
 where id = :id;

-- Another round of the same job, unless the lease was lost; `attempts` counts the failures in a row.
-- name: job_requeue :exec
-- params: id bigint, owner text, run_after timestamptz, attempts integer
update jobs
   set state = 'queued', run_after = :run_after, attempts = :attempts, lease_owner = null, lease_until = null
 where id = :id and lease_owner = :owner and state = 'running';

-- How far a running job has come.
-- name: job_note_progress :exec
-- params: id bigint, progress float8, total float8, note text
update jobs set progress = :progress, progress_total = :total, progress_note = :note
 where id = :id and state = 'running';

-- Whether the caller of a job has gone.
-- name: job_cancel_asked :one
-- params: id bigint
-- columns: cancel_asked boolean
select cancel_asked from jobs where id = :id;

-- Tells every process that a job has moved.
-- name: job_tell :exec
-- params: id text
select pg_notify('posthorn_jobs', :id);

-- Whether anything is queued, scheduled, running or being sent.
-- name: job_any_open :one
-- columns: open boolean
select exists (select 1 from jobs where state in ('queued', 'running')) or exists (select 1 from sends where status = 'running');

-- What is kept for a day only: settled jobs, stored responses.
-- name: job_forget_settled :exec
-- params: before timestamptz
delete from jobs where state in ('done', 'failed', 'canceled') and settled_at < :before;

-- Stored responses older than their day.
-- name: idempotency_forget :exec
-- params: before timestamptz
delete from idempotency_keys where created_at < :before;
