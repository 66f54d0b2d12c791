-- A page of a brand's sending domains, oldest first (keyset pagination). Each row contains the keys to publish, used keys first.
-- `only_id` 0 means all domains.
-- name: domain_page :page
-- params: brand_id bigint, only_id bigint, sendable_only boolean, after_id bigint, limit bigint
-- row: domain
-- columns: id bigint, name text, kind text, status text, trusted boolean, sending_purpose text, default_sender_name text null, default_from_email text null, default_reply_to text null, created_at timestamptz, updated_at timestamptz, verified_at timestamptz null, published text[], selectors text[], algorithms text[], public_keys text[], used boolean[]
select d.id, d.name, d.kind, d.status, d.trusted, d.sending_purpose, d.default_sender_name, d.default_from_email, d.default_reply_to,
       d.created_at, d.updated_at, d.verified_at, d.published,
       coalesce(k.selectors, '{}'), coalesce(k.algorithms, '{}'), coalesce(k.public_keys, '{}'), coalesce(k.used, '{}')
  from domains d
 cross join lateral (
        select array_agg(o.selector) as selectors, array_agg(o.algorithm) as algorithms,
               array_agg(replace(encode(o.public_key, 'base64'), chr(10), '')) as public_keys,
               array_agg(o.used_from is not null) as used
          from (select selector, algorithm, public_key, used_from
                  from domain_keys
                 where brand_id = d.brand_id and domain_id = d.id and retired_at is null
                 order by used_from is null, created_at, algorithm desc) o) k
 where d.brand_id = :brand_id and d.deleted_at is null and d.id > :after_id
   and (:only_id = 0 or d.id = :only_id)
   and (not :sendable_only or d.status = 'verified')
 order by d.id
 limit :limit;

-- The other brand that has verified a name; a brand of the same organization first.
-- name: domain_claim_find :one
-- params: organization_id bigint, brand_id bigint, name text
-- columns: in_organization boolean
select organization_id = :organization_id
  from domains
 where name = :name and kind = 'sending' and status = 'verified' and brand_id <> :brand_id
 order by organization_id <> :organization_id
 limit 1;

-- Locks a name, so that only one brand at a time verifies it. A later statement sees the changes made during the wait.
-- name: domain_name_lock :exec
-- params: lock integer, name text
select pg_advisory_xact_lock(:lock, hashtext(:name));

-- Inserts a sending domain that is not verified yet.
-- name: domain_insert :one
-- params: brand_id bigint, organization_id bigint, name text, purpose text, now timestamptz
-- columns: id bigint
insert into domains (brand_id, organization_id, name, kind, status, sending_purpose, created_at, updated_at)
values (:brand_id, :organization_id, :name, 'sending', 'pending', :purpose, :now, :now)
returning id;

-- Updates the given members.
-- name: domain_update :exec
-- params: brand_id bigint, id bigint, sets_sender_name boolean, sender_name text null, sets_from_email boolean, from_email text null, sets_reply_to boolean, reply_to text null, purpose text null, now timestamptz
update domains
   set default_sender_name = case when :sets_sender_name then :sender_name else default_sender_name end,
       default_from_email = case when :sets_from_email then :from_email else default_from_email end,
       default_reply_to = case when :sets_reply_to then :reply_to else default_reply_to end,
       sending_purpose = coalesce(:purpose, sending_purpose), updated_at = :now
 where brand_id = :brand_id and id = :id and deleted_at is null;

-- Deletes a domain (soft delete). It is not found any more, and other brands can verify its name.
-- name: domain_delete :exec
-- params: brand_id bigint, id bigint, now timestamptz
update domains
   set deleted_at = :now, status = 'pending', trusted = false, updated_at = :now
 where brand_id = :brand_id and id = :id and kind = 'sending' and deleted_at is null;

-- Stores the result of a DNS check.
-- name: domain_checked :exec
-- params: brand_id bigint, id bigint, status text, published text[], now timestamptz
update domains
   set updated_at = case when status = :status and published = :published::text[] then updated_at else :now end,
       verified_at = case when :status = 'verified' then coalesce(verified_at, :now) end,
       status = :status, published = :published::text[]
 where brand_id = :brand_id and id = :id;
