-- The next number for the selectors of a key pair.
-- name: domain_key_number :one
-- columns: number bigint
select nextval('domain_key_numbers');

-- Inserts a signing key of a domain: in use at once, or waiting until its record is published.
-- name: domain_key_insert :exec
-- params: brand_id bigint, domain_id bigint, selector text, algorithm text, public_key bytea, sealed_key bytea, used_from timestamptz null, now timestamptz
insert into domain_keys (brand_id, domain_id, selector, algorithm, public_key, sealed_key, used_from, created_at)
values (:brand_id, :domain_id, :selector, :algorithm, :public_key, :sealed_key, :used_from, :now);

-- The keys that a domain signs with, RSA first. One row without a key when it has none, no row for a sandbox domain.
-- name: domain_keys_used :many
-- params: brand_id bigint, domain_id bigint
-- columns: name text, selector text null, algorithm text null, sealed_key bytea null
select d.name, k.selector, k.algorithm, k.sealed_key
  from domains d
  left join domain_keys k on k.brand_id = d.brand_id and k.domain_id = d.id and k.used_from is not null and k.retired_at is null
 where d.brand_id = :brand_id and d.id = :domain_id and d.kind = 'sending'
 order by k.algorithm desc;

-- Locks a domain, so that only one transaction at a time changes its keys.
-- name: domain_keys_lock :one
-- params: brand_id bigint, domain_id bigint
-- columns: id bigint
select id from domains where brand_id = :brand_id and id = :domain_id and kind = 'sending' for update;

-- The numbers of waiting and used keys of a domain. A statement after the lock sees the changes made during the wait for the lock.
-- name: domain_keys_count :one
-- params: brand_id bigint, domain_id bigint
-- columns: waiting bigint, used bigint
select count(*) filter (where used_from is null), count(*) filter (where used_from is not null)
  from domain_keys
 where brand_id = :brand_id and domain_id = :domain_id and retired_at is null;

-- Activates the waiting keys of a domain.
-- name: domain_keys_use :exec
-- params: brand_id bigint, domain_id bigint, now timestamptz
update domain_keys set used_from = :now
 where brand_id = :brand_id and domain_id = :domain_id and used_from is null and retired_at is null;

-- Retires the keys in use.
-- name: domain_keys_retire :exec
-- params: brand_id bigint, domain_id bigint, now timestamptz
update domain_keys set retired_at = :now
 where brand_id = :brand_id and domain_id = :domain_id and used_from is not null and retired_at is null;

-- Locks a batch of keys that are sealed with another master key than this one.
-- name: domain_keys_to_reseal :many
-- params: key_id integer, after_brand_id bigint, after_domain_id bigint, after_selector text, limit bigint
-- columns: brand_id bigint, domain_id bigint, selector text, sealed_key bytea
select brand_id, domain_id, selector, sealed_key
  from domain_keys
 where get_byte(sealed_key, 1) <> :key_id
   and (brand_id, domain_id, selector) > (:after_brand_id, :after_domain_id, :after_selector)
 order by brand_id, domain_id, selector
 limit :limit
   for update;

-- Stores a resealed key.
-- name: domain_key_reseal :exec
-- params: brand_id bigint, domain_id bigint, selector text, sealed_key bytea
update domain_keys set sealed_key = :sealed_key
 where brand_id = :brand_id and domain_id = :domain_id and selector = :selector;
