-- The state and progress of the jobs that callers wait for.
-- name: parked_jobs :many
-- params: ids bigint[]
-- columns: id bigint, state text, progress float8, progress_total float8, progress_note text null, status integer null, body text null, error jsonb null, credit_cost bigint null
select id, state, progress, progress_total, progress_note, result_status, result_body, result_error,
       (call->>'creditCost')::bigint
  from jobs
 where id = any(:ids);

-- Asks jobs to stop because no caller waits for them any more.
-- name: parked_cancel :exec
-- params: ids bigint[]
update jobs set cancel_asked = true where id = any(:ids) and state in ('queued', 'running');
