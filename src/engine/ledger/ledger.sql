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
-- params: now timestamptz, organization_id bigint, brand_id bigint null, key_id bigint null, session_id bigint null, transport text, client text null, request_id text, operation text, subjects text[]
insert into audit_log (occurred_at, organization_id, brand_id, key_id, session_id, door, client, request_id, operation, subjects)
values (:now, :organization_id, :brand_id, :key_id, :session_id, :transport, :client, :request_id, :operation, :subjects);

-- How a transaction of several calls behaves: it waits for nobody's lock for long, and plans none of its statements anew.
-- name: ledger_share :exec
-- params: lock_timeout text
select set_config('lock_timeout', :lock_timeout, true), set_config('plan_cache_mode', 'force_generic_plan', true);

-- Which of these keys are in use already, by their place in the arrays. Each is looked up by the primary key, whatever the
-- statistics of a young table say.
-- name: ledger_used_keys :many
-- params: organization_ids bigint[], key_hashes text[]
-- columns: place bigint
select g.place
  from unnest(:organization_ids::bigint[], :key_hashes::text[]) with ordinality as g(organization_id, key_hash, place)
 cross join lateral (select 1 from idempotency_keys k
                      where k.organization_id = g.organization_id and k.key_hash = decode(g.key_hash, 'hex')
                      limit 1) k;

-- Keeps the answers of several calls for their replays. A key that somebody else claimed meanwhile fails all of it.
-- name: ledger_keep_responses :exec
-- params: organization_ids bigint[], key_hashes text[], fingerprints text[], operations text[], statuses bigint[], bodies text[], created timestamptz[]
insert into idempotency_keys (organization_id, key_hash, fingerprint, operation, created_at, status, body)
select g.organization_id, decode(g.key_hash, 'hex'), decode(g.fingerprint, 'hex'), g.operation, g.created_at, g.status, g.body
  from unnest(:organization_ids::bigint[], :key_hashes::text[], :fingerprints::text[], :operations::text[], :statuses::bigint[],
              :bodies::text[], :created::timestamptz[])
       as g(organization_id, key_hash, fingerprint, operation, status, body, created_at)
 order by g.organization_id, g.key_hash;

-- Who did what, for several calls. Subjects of one call are joined by commas; 0 is no brand, key or session.
-- name: ledger_audits :exec
-- params: times timestamptz[], organization_ids bigint[], brand_ids bigint[], key_ids bigint[], session_ids bigint[], transports text[], clients text[], request_ids text[], operations text[], subjects text[]
insert into audit_log (occurred_at, organization_id, brand_id, key_id, session_id, door, client, request_id, operation, subjects)
select g.occurred_at, g.organization_id, nullif(g.brand_id, 0), nullif(g.key_id, 0), nullif(g.session_id, 0), g.door, g.client,
       g.request_id, g.operation, string_to_array(g.subjects, ',')
  from unnest(:times::timestamptz[], :organization_ids::bigint[], :brand_ids::bigint[], :key_ids::bigint[],
              :session_ids::bigint[], :transports::text[], :clients::text[], :request_ids::text[], :operations::text[],
              :subjects::text[])
       as g(occurred_at, organization_id, brand_id, key_id, session_id, door, client, request_id, operation, subjects);

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
