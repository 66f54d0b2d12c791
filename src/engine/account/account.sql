-- The usage of an organization in the current period (calendar month, UTC).
-- name: usage_read :one
-- params: organization_id bigint, now timestamptz
-- row: usage
-- columns: plan text, bonus_credits bigint, credits_used bigint, credits_reserved bigint, emails_sent bigint, period_start timestamptz, period_end timestamptz
select o.plan, o.bonus_credits,
       coalesce((select c.used from credit_usage c where c.organization_id = o.id and c.period_start = p.start), 0),
       coalesce((select sum(h.credits)::bigint from credit_holds h where h.organization_id = o.id), 0),
       coalesce((select e.sent from email_usage e where e.organization_id = o.id and e.period_start = p.start), 0),
       p.start::timestamp at time zone 'UTC',
       (p.start + interval '1 month') at time zone 'UTC'
  from organizations o,
       (select date_trunc('month', :now at time zone 'UTC')::date as start) p
 where o.id = :organization_id;

-- The audiences of a brand, newest first.
-- name: account_audiences :many
-- params: brand_id bigint, limit bigint
-- columns: id bigint, name text, filters jsonb, created_at timestamptz, updated_at timestamptz
select id, name, filters, created_at, updated_at
  from audiences
 where brand_id = :brand_id and deleted_at is null
 order by id desc
 limit :limit;

-- The number of contacts that a send to all reaches.
-- name: account_subscribed :one
-- params: brand_id bigint
-- columns: count bigint
select count(*) from contacts where brand_id = :brand_id and subscribed;

-- The suppressed addresses of a brand by reason, of at most `most` addresses, and how many of them are suppressed for a time.
-- name: account_suppressions :many
-- params: brand_id bigint, most bigint, now timestamptz
-- columns: reason text, addresses bigint, expiring bigint
select reason, count(*), count(expires_at)
  from (select reason, expires_at from suppressions_at(:brand_id, :now) limit :most) s
 group by reason
 order by count(*) desc, reason
 limit 50;
