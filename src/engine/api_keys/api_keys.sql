-- Inserts an API key with the hash of its secret.
-- name: api_key_insert :one
-- params: organization_id bigint, brand_id bigint null, name text, secret_hash bytea, preview text, scopes integer, rate_multiplier float8, now timestamptz
-- row: api_key
-- columns: id bigint, brand_id bigint null, name text, preview text, scopes integer, rate_multiplier float8, created_at timestamptz, last_used_at timestamptz null, revoked_at timestamptz null
insert into api_keys (organization_id, brand_id, name, secret_hash, preview, scopes, rate_multiplier, created_at)
values (:organization_id, :brand_id, :name, :secret_hash, :preview, :scopes, :rate_multiplier, :now)
returning id, brand_id, name, preview, scopes, rate_multiplier, created_at, last_used_at, revoked_at;

-- Finds the brand of a new key in its organization.
-- name: api_key_brand :one
-- params: organization_id bigint, brand_id bigint
-- columns: id bigint
select id from brands where organization_id = :organization_id and id = :brand_id and status <> 'deleting';

-- A page of an organization's keys, newest first (keyset pagination); `before_id` 0 begins with the newest.
-- name: api_key_page :page
-- params: organization_id bigint, before_id bigint, limit bigint
-- row: api_key
-- columns: id bigint, brand_id bigint null, name text, preview text, scopes integer, rate_multiplier float8, created_at timestamptz, last_used_at timestamptz null, revoked_at timestamptz null
select id, brand_id, name, preview, scopes, rate_multiplier, created_at, last_used_at, revoked_at
  from api_keys
 where organization_id = :organization_id and (:before_id::bigint = 0 or id < :before_id)
 order by id desc
 limit :limit;

-- Revokes a key that is not revoked yet. `organization_id` 0 means the operator, who can revoke any key. No row when the key does
-- not exist.
-- name: api_key_revoke :one
-- params: organization_id bigint, id bigint, now timestamptz
-- columns: revoked_at timestamptz, revoked_now boolean
with revoked as (
    update api_keys set revoked_at = :now
     where id = :id and revoked_at is null and (:organization_id::bigint = 0 or organization_id = :organization_id)
    returning revoked_at
)
select coalesce((select r.revoked_at from revoked r), k.revoked_at, :now), exists (select 1 from revoked)
  from api_keys k
 where k.id = :id and (:organization_id::bigint = 0 or k.organization_id = :organization_id);

-- All keys of an organization, for the operator.
-- name: api_key_all :many
-- params: organization_id bigint
-- row: api_key
-- columns: id bigint, brand_id bigint null, name text, preview text, scopes integer, rate_multiplier float8, created_at timestamptz, last_used_at timestamptz null, revoked_at timestamptz null
select id, brand_id, name, preview, scopes, rate_multiplier, created_at, last_used_at, revoked_at
  from api_keys
 where organization_id = :organization_id
 order by id;
