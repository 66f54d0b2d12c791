-- The state of a send that is decided. Locks the row: a second decision and a cancellation wait for the first.
-- name: approval_lock :one
-- params: brand_id bigint, id bigint
-- columns: status text, approval_state text, decided_at timestamptz null, scheduled_at timestamptz null
select status, approval_state, approval_decided_at, scheduled_at
  from sends
 where brand_id = :brand_id and id = :id and not is_carrier
   for no key update;

-- Approves a send, with the job that begins it.
-- name: approval_approve :exec
-- params: brand_id bigint, id bigint, job_id bigint, session_id bigint null, note text null, now timestamptz
update sends
   set approval_state = 'approved', approval_decided_at = :now, approval_session_id = :session_id, approval_note = :note,
       job_id = :job_id, updated_at = :now
 where brand_id = :brand_id and id = :id and approval_state = 'pending';

-- Rejects a send. It has no job and no recipients yet, so nothing else changes.
-- name: approval_reject :exec
-- params: brand_id bigint, id bigint, session_id bigint null, note text null, error text, now timestamptz
update sends
   set approval_state = 'rejected', approval_decided_at = :now, approval_session_id = :session_id, approval_note = :note,
       status = 'canceled', error = :error, updated_at = :now
 where brand_id = :brand_id and id = :id and approval_state = 'pending';

-- Notifies the workers when the transaction commits.
-- name: approval_wake_workers :exec
select pg_notify('posthorn_work', '');

-- The brand of a send of the organization.
-- name: approval_send_brand :one
-- params: organization_id bigint, id bigint
-- columns: brand_id bigint
select s.brand_id
  from brands b
  join sends s on s.brand_id = b.id and s.id = :id and not s.is_carrier
 where b.organization_id = :organization_id;

-- Sets the number of recipients above which sends wait for an approval.
-- name: approval_set :exec
-- params: organization_id bigint, above bigint null
update organizations set approvals_above = :above where id = :organization_id;
