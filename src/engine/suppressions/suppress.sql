-- Suppresses addresses of a brand for one reason, by the rule of the function (migration 0030). The hashes are hexadecimal; a hash
-- without evidence has none.
-- name: suppressions_add :exec
-- params: brand_id bigint, address_hashes text[], reason text, source text, evidences text[], expires_at timestamptz null, now timestamptz
select suppress(:brand_id, :address_hashes, :reason, :source, :evidences, :expires_at, :now);

-- Deletes suppressions that have expired, some at a time.
-- name: suppressions_forget :exec
-- params: now timestamptz, limit bigint
delete from suppressions s
 using (select brand_id, address_hash from suppressions where expires_at <= :now order by expires_at limit :limit
           for update skip locked) e
 where s.brand_id = e.brand_id and s.address_hash = e.address_hash;
