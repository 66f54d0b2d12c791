-- The brand of a link, and if this address has unsubscribed by a link already.
-- name: subscription_find :one
-- params: brand_id bigint, address_hash bytea
-- columns: organization_id bigint, brand_name text, has_left boolean
select b.organization_id, b.name,
       exists (select 1 from suppressions s
                where s.brand_id = b.id and s.address_hash = :address_hash and s.reason = 'unsubscribe')
  from brands b
 where b.id = :brand_id and b.status <> 'deleting';

-- Unsubscribes the current contact of a link's recipient, if there is one. Runs first, because every transaction locks contacts
-- before suppressions.
-- name: subscription_end :exec
-- params: brand_id bigint, send_id bigint, ordinal bigint, now timestamptz
update contacts c
   set subscribed = false, updated_at = :now
  from send_recipients r
 where r.brand_id = :brand_id and r.send_id = :send_id and r.ordinal = :ordinal
   and c.brand_id = r.brand_id and c.email_key = r.email_key and c.subscribed;

-- Suppresses the address. The person's own decision replaces an earlier 'unsubscribed'; a bounce or complaint stays.
-- name: subscription_suppress :exec
-- params: brand_id bigint, address_hash bytea, now timestamptz
insert into suppressions as s (brand_id, address_hash, reason, created_at)
values (:brand_id, :address_hash, 'unsubscribe', :now)
    on conflict (brand_id, address_hash) do update
   set reason = excluded.reason, created_at = excluded.created_at
 where s.reason = 'unsubscribed';
