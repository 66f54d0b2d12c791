-- A page of the suppressions of a brand, in the order of the hashes.
-- name: operator_suppressions :many
-- params: brand_id bigint, after text, limit bigint, now timestamptz
-- columns: hash text, reason text, source text null, evidence text null, created_at timestamptz, expires_at timestamptz null, unsubscribed_at timestamptz null
select encode(address_hash, 'hex'), reason, source, evidence, created_at, expires_at, unsubscribed_at
  from suppressions_at(:brand_id, :now)
 where address_hash > decode(:after, 'hex')
 order by address_hash
 limit :limit;

-- Whether the contact of an address is subscribed, behind a lock, because every transaction locks contacts before suppressions.
-- name: operator_suppression_contact :one
-- params: brand_id bigint, email_key text
-- columns: subscribed boolean
select subscribed from contacts where brand_id = (select :brand_id::bigint) and email_key = :email_key for update;

-- The suppression of an address, behind a lock.
-- name: operator_suppression :one
-- params: brand_id bigint, hash text, now timestamptz
-- columns: reason text, source text null, evidence text null, created_at timestamptz, expires_at timestamptz null, unsubscribe_reason text null, unsubscribed_at timestamptz null
select reason, source, evidence, created_at, expires_at, unsubscribe_reason, unsubscribed_at
  from suppressions
 where brand_id = :brand_id and address_hash = decode(:hash, 'hex') and (expires_at is null or expires_at > :now)
   for update;

-- Removes a suppression.
-- name: operator_suppression_remove :exec
-- params: brand_id bigint, hash text
delete from suppressions where brand_id = :brand_id and address_hash = decode(:hash, 'hex');

-- Ends the reason of a suppression, but not the unsubscribe behind it.
-- name: operator_suppression_to_unsubscribe :exec
-- params: brand_id bigint, hash text
update suppressions
   set reason = unsubscribe_reason, source = null, evidence = null, expires_at = null, created_at = unsubscribed_at,
       unsubscribe_reason = null, unsubscribed_at = null
 where brand_id = :brand_id and address_hash = decode(:hash, 'hex') and unsubscribe_reason is not null;

-- Subscribes the contact of an address again.
-- name: operator_suppression_subscribe :exec
-- params: brand_id bigint, email_key text, now timestamptz
update contacts set subscribed = true, updated_at = :now where brand_id = (select :brand_id::bigint) and email_key = :email_key and not subscribed;

-- Suppresses addresses of a file, each with the time of its event.
-- name: operator_suppressions_import :exec
-- params: brand_id bigint, address_hashes text[], reason text, evidences text[], since timestamptz[], now timestamptz
select suppress(:brand_id, :address_hashes, :reason, 'import', :evidences, null, :now, :since);
