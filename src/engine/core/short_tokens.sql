-- Keeps a sealed token under the hash of its short token, in place of the former owner of the slot. A token that is kept already is
-- written again only when that makes it live an hour longer.
-- name: short_token_keep :exec
-- params: organization_id bigint, slot bigint, token_hash bytea, brand_id bigint, caller_id bigint, sealed text, expires_at timestamptz
insert into short_tokens as t (organization_id, slot, token_hash, brand_id, caller_id, sealed, expires_at)
values (:organization_id, :slot, :token_hash, :brand_id, :caller_id, :sealed, :expires_at)
    on conflict (organization_id, slot) do update
   set token_hash = excluded.token_hash, brand_id = excluded.brand_id, caller_id = excluded.caller_id, sealed = excluded.sealed,
       expires_at = excluded.expires_at
 where t.token_hash <> excluded.token_hash or t.brand_id <> excluded.brand_id or t.caller_id <> excluded.caller_id
    or t.expires_at < excluded.expires_at - interval '1 hour';

-- The sealed token of a short one, for the caller and brand that it was given to. No row otherwise.
-- name: short_token_find :one
-- params: organization_id bigint, slot bigint, token_hash bytea, brand_id bigint, caller_id bigint, now timestamptz
-- columns: sealed text
select sealed
  from short_tokens
 where organization_id = :organization_id and slot = :slot and token_hash = :token_hash and brand_id = :brand_id
   and caller_id = :caller_id and expires_at > :now;

-- Deletes expired short tokens.
-- name: short_tokens_forget :exec
-- params: now timestamptz
delete from short_tokens where expires_at < :now;
