-- Finds an API key by its hash. Its last use is updated at most once a minute.
-- name: auth_key_by_hash :one
-- params: secret_hash bytea, now timestamptz
-- columns: id bigint, organization_id bigint, brand_id bigint null, scopes integer, rate_multiplier float8, revoked boolean, brand_status text null
with touched as (
    update api_keys set last_used_at = :now
     where secret_hash = :secret_hash and revoked_at is null
       and (last_used_at is null or last_used_at < :now::timestamptz - interval '1 minute')
)
select id, organization_id, brand_id, scopes, rate_multiplier, revoked_at is not null,
       (select b.status from brands b where b.id = api_keys.brand_id)
  from api_keys
 where secret_hash = :secret_hash;

-- Finds a session by its hash, unless it has ended or expired.
-- name: auth_session_by_hash :one
-- params: secret_hash bytea, now timestamptz
-- columns: id bigint, organization_id bigint, administrator boolean
select id, organization_id, role = 'org:admin'
  from sessions
 where secret_hash = :secret_hash and ended_at is null and expires_at > :now;

-- Finds a brand of the organization, and whether the session of a member may reach it (0: not a member's session).
-- name: auth_brand :one
-- params: organization_id bigint, brand_id bigint, member_session_id bigint
-- columns: reachable boolean, status text
select :member_session_id::bigint = 0
       or exists (select 1 from session_brands s where s.session_id = :member_session_id and s.brand_id = b.id),
       b.status
  from brands b
 where b.organization_id = :organization_id and b.id = :brand_id and b.status <> 'deleting';
