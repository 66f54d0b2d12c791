-- The brand of a link, and if this address has unsubscribed by a link already.
-- name: subscription_find :one
-- params: brand_id bigint, address_hash bytea, now timestamptz
-- columns: organization_id bigint, brand_name text, has_left boolean
select b.organization_id, b.name,
       exists (select 1 from suppressions_at(:brand_id, :now) s
                where s.address_hash = :address_hash and 'unsubscribe' in (s.reason, s.unsubscribe_reason))
  from brands b
 where b.id = :brand_id and b.status <> 'deleting';

-- Unsubscribes the current contact of a link, if there is one. Runs first, because every transaction locks contacts
-- before suppressions. The brand and the key come out of subqueries: of a brand that the statistics do not know, the planner would
-- read all contacts and look up the link for each (contacts_save).
-- name: subscription_end :exec
-- params: brand_id bigint, send_id bigint, ordinal bigint, contact_id bigint, now timestamptz
update contacts c
   set subscribed = false, updated_at = :now
 where c.brand_id = (select :brand_id::bigint) and c.email_key = (select link_email_key(:brand_id, :send_id, :ordinal, :contact_id))
   and c.subscribed;
