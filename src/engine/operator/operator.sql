-- Every organization.
-- name: operator_organizations :many
-- columns: id bigint, name text, plan text, created_at timestamptz
select id, name, plan, created_at from organizations order by id;

-- The brands of an organization.
-- name: operator_brands :many
-- params: organization_id bigint
-- columns: id bigint, name text, domain text null, status text, created_at timestamptz
select id, name, domain, status, created_at
  from brands
 where organization_id = :organization_id
 order by id;

-- The organization a brand belongs to.
-- name: operator_brand_owner :one
-- params: brand_id bigint
-- columns: organization_id bigint
select organization_id from brands where id = :brand_id and status <> 'deleting';

-- Whether an organization exists.
-- name: operator_organization :one
-- params: id bigint
-- columns: id bigint
select id from organizations where id = :id;

-- A new API key; only the hash of its secret is kept.
-- name: operator_key_insert :one
-- params: organization_id bigint, brand_id bigint null, name text, secret_hash bytea, preview text, scopes integer, rate_multiplier float8, now timestamptz
-- columns: id bigint
insert into api_keys (organization_id, brand_id, name, secret_hash, preview, scopes, rate_multiplier, created_at)
values (:organization_id, :brand_id, :name, :secret_hash, :preview, :scopes, :rate_multiplier, :now)
returning id;

-- The keys of an organization.
-- name: operator_keys :many
-- params: organization_id bigint
-- columns: id bigint, brand_id bigint null, name text, preview text, scopes integer, rate_multiplier float8, created_at timestamptz, last_used_at timestamptz null, revoked_at timestamptz null
select id, brand_id, name, preview, scopes, rate_multiplier, created_at, last_used_at, revoked_at
  from api_keys
 where organization_id = :organization_id
 order by id;

-- Revokes a key that is not revoked yet.
-- name: operator_key_revoke :exec
-- params: id bigint, now timestamptz
update api_keys set revoked_at = :now where id = :id and revoked_at is null;

-- A new sending domain, still to be verified.
-- name: operator_domain_insert :one
-- params: brand_id bigint, organization_id bigint, name text, purpose text, now timestamptz
-- columns: id bigint
insert into domains (brand_id, organization_id, name, kind, status, sending_purpose, created_at, updated_at)
values (:brand_id, :organization_id, :name, 'sending', 'pending', :purpose, :now, :now)
returning id;

-- A sending domain by its name, and with how many keys it signs.
-- name: operator_domain_find :one
-- params: brand_id bigint, name text
-- columns: id bigint, name text, status text, used_keys bigint
select d.id, d.name, d.status,
       (select count(*) from domain_keys k
         where k.brand_id = d.brand_id and k.domain_id = d.id and k.used_from is not null and k.retired_at is null)
  from domains d
 where d.brand_id = :brand_id and d.name = :name and d.kind = 'sending';

-- The domains of a brand.
-- name: operator_domains :many
-- params: brand_id bigint
-- columns: id bigint, name text, kind text, status text, trusted boolean, purpose text
select id, name, kind, status, trusted, sending_purpose from domains where brand_id = :brand_id order by id;

-- Takes the operator's word that a domain is his.
-- name: operator_domain_trust :one
-- params: brand_id bigint, name text, now timestamptz
-- columns: id bigint
update domains
   set status = 'verified', trusted = true, verified_at = coalesce(verified_at, :now), updated_at = :now
 where brand_id = :brand_id and name = :name and kind = 'sending'
returning id;
