-- Every organization.
-- name: operator_organizations :many
-- columns: id bigint, name text, plan text, bonus_credits bigint, created_at timestamptz
select id, name, plan, bonus_credits, created_at from organizations order by id;

-- The brands of an organization.
-- name: operator_brands :many
-- params: organization_id bigint
-- columns: id bigint, name text, domain text null, status text, created_at timestamptz
select id, name, domain, status, created_at
  from brands
 where organization_id = :organization_id
 order by id;

-- The organization a brand belongs to.
-- name: operator_brand_owner :one
-- params: brand_id bigint
-- columns: organization_id bigint
select organization_id from brands where id = :brand_id and status <> 'deleting';

-- Finds an organization.
-- name: operator_organization :one
-- params: id bigint
-- columns: id bigint
select id from organizations where id = :id;

-- Sets which mail of a brand is tracked.
-- name: operator_tracking_set :exec
-- params: organization_id bigint, brand_id bigint, tracking text
update brands set tracking = :tracking where organization_id = :organization_id and id = :brand_id;

-- Which mail of a brand is tracked.
-- name: operator_tracking_find :one
-- params: organization_id bigint, brand_id bigint
-- columns: tracking text
select tracking from brands where organization_id = :organization_id and id = :brand_id;

-- Sets the plan of an organization.
-- name: operator_plan_set :exec
-- params: id bigint, plan text
update organizations set plan = :plan where id = :id;

-- Runs the jobs of sends that are paused by the plan's limit now.
-- name: operator_paused_sends_wake :exec
-- params: organization_id bigint, now timestamptz
with wanted as (
    select s.job_id
      from sends s
      join brands b on b.id = s.brand_id
     where b.organization_id = :organization_id and s.status = 'paused' and s.pause_reason = 'plan_limit'
), woken as (
    update jobs set run_after = :now
     where id in (select job_id from wanted) and state = 'queued' and run_after > :now
    returning id
)
select pg_notify('posthorn_work', '') where exists (select 1 from woken);

-- Sets the monthly bonus credits of an organization.
-- name: operator_bonus_set :exec
-- params: id bigint, credits bigint
update organizations set bonus_credits = :credits where id = :id;

-- Inserts a session with the hash of its token.
-- name: operator_session_insert :one
-- params: organization_id bigint, user_name text, role text, secret_hash bytea, expires_at timestamptz, now timestamptz
-- columns: id bigint
insert into sessions (organization_id, user_name, role, secret_hash, created_at, expires_at)
values (:organization_id, :user_name, :role, :secret_hash, :now, :expires_at)
returning id;

-- Gives a session access to these brands of its organization.
-- name: operator_session_brands :exec
-- params: session_id bigint, organization_id bigint, brand_ids bigint[]
insert into session_brands (session_id, brand_id)
select :session_id, id
  from brands
 where organization_id = :organization_id and id = any (:brand_ids) and status <> 'deleting';

-- The sessions of an organization, newest first.
-- name: operator_sessions :many
-- params: organization_id bigint, now timestamptz
-- columns: id bigint, user_name text, role text, brand_ids bigint[], created_at timestamptz, expires_at timestamptz, ended_at timestamptz null, active boolean
select s.id, s.user_name, s.role,
       array(select b.brand_id from session_brands b where b.session_id = s.id order by b.brand_id),
       s.created_at, s.expires_at, s.ended_at, s.ended_at is null and s.expires_at > :now
  from sessions s
 where s.organization_id = :organization_id
 order by s.id desc;

-- Ends a session that has not ended yet.
-- name: operator_session_end :exec
-- params: id bigint, now timestamptz
update sessions set ended_at = :now where id = :id and ended_at is null and expires_at > :now;

-- The brand and the organization of a send, and its kind: a campaign, a carrier, or one message of a carrier. The primary key of
-- automation_sends begins with the brand, so the message is looked up in each brand.
-- name: operator_send_owner :one
-- params: id bigint
-- columns: brand_id bigint, organization_id bigint, kind text
select s.brand_id, b.organization_id, case when s.is_carrier then 'carrier' else 'campaign' end
  from sends s
  join brands b on b.id = s.brand_id
 where s.id = :id
 union all
select b.id, b.organization_id, 'message'
  from brands b
 cross join lateral (select 1 from automation_sends where brand_id = b.id and id = :id limit 1) m;

-- A sending domain by its name, with the number of keys in use.
-- name: operator_domain_find :one
-- params: brand_id bigint, name text
-- columns: id bigint, used_keys bigint
select d.id,
       (select count(*) from domain_keys k
         where k.brand_id = d.brand_id and k.domain_id = d.id and k.used_from is not null and k.retired_at is null)
  from domains d
 where d.brand_id = :brand_id and d.name = :name and d.kind = 'sending' and d.deleted_at is null;

-- The domains of a brand.
-- name: operator_domains :many
-- params: brand_id bigint
-- columns: id bigint, name text, kind text, status text, trusted boolean, purpose text
select id, name, kind, status, trusted, sending_purpose from domains where brand_id = :brand_id and deleted_at is null order by id;

-- Marks a domain as verified and trusted, without a DNS check.
-- name: operator_domain_trust :one
-- params: brand_id bigint, name text, now timestamptz
-- columns: id bigint
update domains
   set status = 'verified', trusted = true, verified_at = coalesce(verified_at, :now), updated_at = :now
 where brand_id = :brand_id and name = :name and kind = 'sending' and deleted_at is null
returning id;
