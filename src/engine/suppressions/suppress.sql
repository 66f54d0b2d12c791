-- Suppresses an address. A complaint replaces any other reason, a lasting suppression one that expires.
-- name: suppression_add :exec
-- params: brand_id bigint, address_hash bytea, reason text, source text, evidence text null, expires_at timestamptz null, now timestamptz
insert into suppressions as s (brand_id, address_hash, reason, source, evidence, expires_at, created_at)
values (:brand_id, :address_hash, :reason, :source, :evidence, :expires_at, :now)
    on conflict (brand_id, address_hash) do update
   set reason = excluded.reason, source = excluded.source, evidence = excluded.evidence, expires_at = excluded.expires_at,
       created_at = excluded.created_at
 where (excluded.reason = 'complaint' and s.reason <> 'complaint') or s.expires_at < coalesce(excluded.expires_at, 'infinity');
