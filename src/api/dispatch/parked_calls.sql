-- The state and progress of the jobs that callers wait for.
-- name: parked_jobs :many
-- params: ids bigint[]
-- columns: id bigint, state text, progress float8, progress_total float8, progress_note text null, status integer null, body text null, error jsonb null, credit_cost bigint null
select id, state, progress, progress_total, progress_note, result_status, result_body, result_error,
       (call->>'creditCost')::bigint
  from jobs
 where id = any(:ids);

-- Records a caller that waits for a job, unless the job has settled.
-- name: parked_wait :exec
-- params: job_id bigint, process text, call bigint
insert into job_waiters (organization_id, job_id, process, call)
select organization_id, id, :process, :call
  from jobs
 where id = :job_id and organization_id is not null and state in ('queued', 'running');

-- Deletes a caller that has left. One that has cancelled asks the job to stop; the workers obey when no other caller waits.
-- name: parked_leave :exec
-- params: job_id bigint, process text, call bigint, cancels boolean
with gone as (
    delete from job_waiters w
     using jobs j
     where j.id = :job_id and w.organization_id = j.organization_id and w.job_id = j.id and w.process = :process and w.call = :call
)
update jobs set cancel_asked = true where :cancels and id = :job_id and state in ('queued', 'running');
