-- All settings.
-- name: setting_all :many
-- columns: name text, value bytea
select name, value from settings;

-- Stores a setting, unless it exists already.
-- name: setting_keep :exec
-- params: name text, value bytea
insert into settings (name, value) values (:name, :value)
    on conflict (name) do nothing;

-- Only one process at a time creates the defaults; the lock ends with the transaction.
-- name: defaults_lock :exec
-- params: lock integer
select pg_advisory_xact_lock(:lock, 0);

-- The oldest organization and its oldest brand, which the local owner uses.
-- name: defaults_find :one
-- columns: organization_id bigint, brand_id bigint null
select o.id, (select b.id from brands b where b.organization_id = o.id order by b.id limit 1)
  from organizations o
 order by o.id
 limit 1;

-- Inserts an organization.
-- name: organization_insert :one
-- params: name text, now timestamptz
-- columns: id bigint
insert into organizations (name, created_at) values (:name, :now)
returning id;

-- Inserts a brand that is ready at once, with its capture-only sending domain.
-- name: brand_insert :one
-- params: organization_id bigint, name text, domain text null, identity jsonb, sandbox_domain text, now timestamptz
-- columns: id bigint
with brand as (
    insert into brands (organization_id, name, domain, status, identity, created_at, updated_at)
    values (:organization_id, :name, :domain, 'completed', :identity, :now, :now)
    returning id, organization_id
), sandbox as (
    insert into domains (brand_id, organization_id, name, kind, status, sending_purpose, created_at, updated_at, verified_at)
    select id, organization_id, :sandbox_domain, 'sandbox', 'verified', 'marketing', :now, :now, :now
      from brand
)
select id from brand;
