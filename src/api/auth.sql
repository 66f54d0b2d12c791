-- Whose key this is. Its use is noted at most once a minute.
-- name: auth_key_by_hash :one
-- params: secret_hash bytea, now timestamptz
-- columns: id bigint, organization_id bigint, brand_id bigint null, scopes integer, rate_multiplier float8, revoked boolean
with touched as (
    update api_keys set last_used_at = :now
     where secret_hash = :secret_hash and revoked_at is null
       and (last_used_at is null or last_used_at < :now::timestamptz - interval '1 minute')
)
select id, organization_id, brand_id, scopes, rate_multiplier, revoked_at is not null
  from api_keys
 where secret_hash = :secret_hash;

-- Whether a brand is one of the organization's.
-- name: auth_brand :one
-- params: organization_id bigint, brand_id bigint
-- columns: ready boolean
select status = 'completed'
  from brands
 where organization_id = :organization_id and id = :brand_id and status <> 'deleting';
