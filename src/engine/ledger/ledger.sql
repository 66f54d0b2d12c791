-- Limits the wait for another transaction's claim of the same key.
-- name: ledger_wait_limit :exec
-- params: timeout text
select set_config('lock_timeout', :timeout, true);

-- Deletes a response older than its lifetime, so that its key can be used again.
-- name: ledger_expire :exec
-- params: organization_id bigint, key_hash bytea, before timestamptz
delete from idempotency_keys
 where organization_id = :organization_id and key_hash = :key_hash and created_at < :before;

-- Claims an idempotency key. The unique index blocks a second claim until the first transaction commits or rolls back.
-- name: ledger_insert_key :exec
-- params: organization_id bigint, key_hash bytea, fingerprint bytea, operation text, now timestamptz
insert into idempotency_keys (organization_id, key_hash, fingerprint, operation, created_at)
values (:organization_id, :key_hash, :fingerprint, :operation, :now)
    on conflict (organization_id, key_hash) do nothing;

-- The job or the response of the first call with this key.
-- name: ledger_find_key :one
-- params: organization_id bigint, key_hash bytea
-- columns: fingerprint bytea, job_id bigint null, status integer null, body text null, credit_cost bigint null
select fingerprint, job_id, status, body, credit_cost
  from idempotency_keys
 where organization_id = :organization_id and key_hash = :key_hash;

-- Stores the response for a replay.
-- name: ledger_store_response :exec
-- params: organization_id bigint, key_hash bytea, status integer, body text, credit_cost bigint null
update idempotency_keys
   set status = :status, body = :body, credit_cost = :credit_cost
 where organization_id = :organization_id and key_hash = :key_hash;

-- Stores the job that settles the call with this key.
-- name: ledger_bind_job :exec
-- params: organization_id bigint, key_hash bytea, job_id bigint
update idempotency_keys
   set job_id = :job_id
 where organization_id = :organization_id and key_hash = :key_hash;

-- Deletes a claimed key.
-- name: ledger_delete_key :exec
-- params: organization_id bigint, key_hash bytea
delete from idempotency_keys
 where organization_id = :organization_id and key_hash = :key_hash;

-- Appends a row to the audit log.
-- name: ledger_audit :exec
-- params: now timestamptz, organization_id bigint, brand_id bigint null, key_id bigint null, session_id bigint null, transport text, client text null, request_id text, operation text, subjects text[], engine text null, tokens_in bigint null, tokens_out bigint null
insert into audit_log (occurred_at, organization_id, brand_id, key_id, session_id, door, client, request_id, operation, subjects,
                       engine, tokens_in, tokens_out)
values (:now, :organization_id, :brand_id, :key_id, :session_id, :transport, :client, :request_id, :operation, :subjects,
        :engine, :tokens_in, :tokens_out);

-- Settings of a transaction of several calls: lock waits are short, and prepared statements use their generic plans.
-- name: ledger_share :exec
-- params: lock_timeout text
select set_config('lock_timeout', :lock_timeout, true), set_config('plan_cache_mode', 'force_generic_plan', true);

-- The keys in use, as indices into the arrays (from 1). Each key is looked up by the primary key, so the plan does not depend on
-- table statistics.
-- name: ledger_used_keys :many
-- params: organization_ids bigint[], key_hashes text[]
-- columns: place bigint
select g.place
  from unnest(:organization_ids::bigint[], :key_hashes::text[]) with ordinality as g(organization_id, key_hash, place)
 cross join lateral (select 1 from idempotency_keys k
                      where k.organization_id = g.organization_id and k.key_hash = decode(g.key_hash, 'hex')
                      limit 1) k;

-- Stores the responses of several calls for their replays. Fails as a whole if another transaction has claimed a key meanwhile.
-- name: ledger_keep_responses :exec
-- params: organization_ids bigint[], key_hashes text[], fingerprints text[], operations text[], statuses bigint[], bodies text[], created timestamptz[]
insert into idempotency_keys (organization_id, key_hash, fingerprint, operation, created_at, status, body)
select g.organization_id, decode(g.key_hash, 'hex'), decode(g.fingerprint, 'hex'), g.operation, g.created_at, g.status, g.body
  from unnest(:organization_ids::bigint[], :key_hashes::text[], :fingerprints::text[], :operations::text[], :statuses::bigint[],
              :bodies::text[], :created::timestamptz[])
       as g(organization_id, key_hash, fingerprint, operation, status, body, created_at)
 order by g.organization_id, g.key_hash;

-- Appends audit rows of several calls. The subjects of a call are joined by commas; 0 means no brand, key or session.
-- name: ledger_audits :exec
-- params: times timestamptz[], organization_ids bigint[], brand_ids bigint[], key_ids bigint[], session_ids bigint[], transports text[], clients text[], request_ids text[], operations text[], subjects text[]
insert into audit_log (occurred_at, organization_id, brand_id, key_id, session_id, door, client, request_id, operation, subjects)
select g.occurred_at, g.organization_id, nullif(g.brand_id, 0), nullif(g.key_id, 0), nullif(g.session_id, 0), g.door, g.client,
       g.request_id, g.operation, string_to_array(g.subjects, ',')
  from unnest(:times::timestamptz[], :organization_ids::bigint[], :brand_ids::bigint[], :key_ids::bigint[],
              :session_ids::bigint[], :transports::text[], :clients::text[], :request_ids::text[], :operations::text[],
              :subjects::text[])
       as g(occurred_at, organization_id, brand_id, key_id, session_id, door, client, request_id, operation, subjects);

-- Charges credits to the current period (calendar month, UTC).
-- name: ledger_charge :exec
-- params: organization_id bigint, now timestamptz, credits bigint
insert into credit_usage (organization_id, period_start, used)
values (:organization_id, date_trunc('month', :now at time zone 'UTC')::date, :credits)
    on conflict (organization_id, period_start) do update set used = credit_usage.used + excluded.used;

-- Lets no other call spend credits of the organization until the transaction ends. Unlimited plans need no lock. The credits
-- are read by a later statement, which sees the charges of those that held the lock before.
-- name: ledger_lock_credits :exec
-- params: organization_id bigint, unlimited text[]
select 1 from organizations where id = :organization_id and plan <> all (:unlimited) for no key update;

-- The plan of an organization, its used credits in the current period and those that jobs hold.
-- name: ledger_credits :one
-- params: organization_id bigint, now timestamptz
-- columns: plan text, bonus_credits bigint, used bigint, reserved bigint
select o.plan, o.bonus_credits,
       coalesce((select c.used from credit_usage c
                  where c.organization_id = o.id
                    and c.period_start = date_trunc('month', :now at time zone 'UTC')::date), 0),
       coalesce((select sum(h.credits)::bigint from credit_holds h where h.organization_id = o.id), 0)
  from organizations o
 where o.id = :organization_id;

-- Holds credits for a job.
-- name: ledger_hold :exec
-- params: organization_id bigint, job_id bigint, credits bigint
insert into credit_holds (organization_id, job_id, credits) values (:organization_id, :job_id, :credits);

-- Releases the credits of a job, if it holds any.
-- name: ledger_release_hold :exec
-- params: organization_id bigint, job_id bigint
delete from credit_holds where organization_id = :organization_id and job_id = :job_id;

-- Enqueues a job in the transaction of the work that needs it, and holds its credits. A job that is due has its turn at once.
-- name: job_insert :one
-- params: kind text, pool text, organization_id bigint null, brand_id bigint null, payload jsonb, call jsonb null, run_after timestamptz, now timestamptz, credits bigint
-- columns: id bigint
with job as (
    insert into jobs (kind, pool, organization_id, brand_id, payload, call, run_after, created_at, turn)
    values (:kind, :pool, :organization_id, :brand_id, :payload, :call, :run_after, :now,
            case when :run_after <= :now then job_turn(:pool, :brand_id) end)
    returning id, organization_id
), held as (
    insert into credit_holds (organization_id, job_id, credits)
    select organization_id, id, :credits from job where :credits > 0
)
select id from job;
