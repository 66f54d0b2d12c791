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

-- Records the event and its statistics, the first time that this recipient of this send unsubscribes.
-- name: subscription_event :one
-- params: brand_id bigint, send_id bigint, ordinal bigint, now timestamptz
-- columns: told boolean
with who as materialized (
    select r.email, r.email_key, s.email_id
      from send_recipients r
      join sends s on s.brand_id = r.brand_id and s.id = r.send_id
     where r.brand_id = :brand_id and r.send_id = :send_id and r.ordinal = :ordinal
), first_time as (
    insert into unsubscribes (brand_id, send_id, ordinal, occurred_at)
    select :brand_id, :send_id, :ordinal, :now from who
        on conflict (brand_id, send_id, ordinal) do nothing
    returning 1
), told as materialized (
    select w.* from who w, first_time
), figures as (
    update send_stats
       set unsubscribed = unsubscribed + 1
     where brand_id = :brand_id and send_id = :send_id and exists (select 1 from told)
), counted as (
    insert into event_counts (brand_id, hour, event_type, count)
    select :brand_id, date_trunc('hour', :now::timestamptz, 'UTC'), 'unsubscribed', 1 from told
        on conflict (brand_id, hour, event_type) do update set count = event_counts.count + 1
), folded as (
    insert into contact_activity (brand_id, event_type, email_key, day, count)
    select :brand_id, 'unsubscribed', email_key, (:now::timestamptz at time zone 'UTC')::date, 1 from told
        on conflict (brand_id, event_type, email_key, day) do update set count = contact_activity.count + 1
), event as (
    insert into events (brand_id, occurred_at, domain, event_type, recipient_email, recipient_key, send_id, email_id, summary)
    select :brand_id, :now, 'email', 'unsubscribed', email, email_key, :send_id, email_id, 'By the link in the message.'
      from told
)
select exists (select 1 from told);
