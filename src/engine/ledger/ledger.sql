-- A claim waits for another transaction's claim of the same key, but not for ever.
-- name: ledger_wait_limit :exec
-- params: timeout text
select set_config('lock_timeout', :timeout, true);

-- Forgets a response whose day is over, so that its key is fresh again.
-- name: ledger_expire :exec
-- params: organization_id bigint, key_hash bytea, before timestamptz
delete from idempotency_keys
 where organization_id = :organization_id and key_hash = :key_hash and created_at < :before;

-- The unique index is the wait: a second claim sleeps until the first has committed or gone.
-- name: ledger_insert_key :exec
-- params: organization_id bigint, key_hash bytea, fingerprint bytea, operation text, now timestamptz
insert into idempotency_keys (organization_id, key_hash, fingerprint, operation, created_at)
values (:organization_id, :key_hash, :fingerprint, :operation, :now)
    on conflict (organization_id, key_hash) do nothing;

-- What the first call with this key left.
-- name: ledger_find_key :one
-- params: organization_id bigint, key_hash bytea
-- columns: fingerprint bytea, job_id bigint null, status integer null, body text null, credit_cost bigint null
select fingerprint, job_id, status, body, credit_cost
  from idempotency_keys
 where organization_id = :organization_id and key_hash = :key_hash;

-- Keeps the answer for a replay.
-- name: ledger_store_response :exec
-- params: organization_id bigint, key_hash bytea, status integer, body text, credit_cost bigint null
update idempotency_keys
   set status = :status, body = :body, credit_cost = :credit_cost
 where organization_id = :organization_id and key_hash = :key_hash;

-- The job that will settle the call with this key.
-- name: ledger_bind_job :exec
-- params: organization_id bigint, key_hash bytea, job_id bigint
update idempotency_keys
   set job_id = :job_id
 where organization_id = :organization_id and key_hash = :key_hash;

-- Makes a key fresh again.
-- name: ledger_delete_key :exec
-- params: organization_id bigint, key_hash bytea
delete from idempotency_keys
 where organization_id = :organization_id and key_hash = :key_hash;

-- Who did what.
-- name: ledger_audit :exec
-- params: now timestamptz, organization_id bigint, brand_id bigint null, key_id bigint null, door text, client text null, request_id text, operation text, subjects text[]
insert into audit_log (occurred_at, organization_id, brand_id, key_id, door, client, request_id, operation, subjects)
values (:now, :organization_id, :brand_id, :key_id, :door, :client, :request_id, :operation, :subjects);

-- Charges the running period (calendar month, UTC).
-- name: ledger_charge :exec
-- params: organization_id bigint, now timestamptz, credits bigint
insert into credit_usage (organization_id, period_start, used)
values (:organization_id, date_trunc('month', :now at time zone 'UTC')::date, :credits)
    on conflict (organization_id, period_start) do update set used = credit_usage.used + excluded.used;

-- What an organization has used of its credits in the running period.
-- name: ledger_credits :one
-- params: organization_id bigint, now timestamptz
-- columns: plan text, bonus_credits bigint, used bigint
select o.plan, o.bonus_credits,
       coalesce((select c.used from credit_usage c
                  where c.organization_id = o.id
                    and c.period_start = date_trunc('month', :now at time zone 'UTC')::date), 0)
  from organizations o
 where o.id = :organization_id;

-- A job, committed with the work that asks for it.
-- name: job_insert :one
-- params: kind text, organization_id bigint null, brand_id bigint null, payload jsonb, call jsonb null, run_after timestamptz, now timestamptz
-- columns: id bigint
insert into jobs (kind, organization_id, brand_id, payload, call, run_after, created_at)
values (:kind, :organization_id, :brand_id, :payload, :call, :run_after, :now)
returning id;
