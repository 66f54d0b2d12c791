-- The newest complete audit of a design for the same kind and purpose.
-- name: audit_previous :one
-- params: brand_id bigint, email_id bigint, kind text, purpose text, now timestamptz
-- columns: id bigint, score bigint null
select id, score::bigint
  from audits
 where brand_id = :brand_id and email_id = :email_id and kind = :kind and purpose = :purpose and status = 'complete'
   and expires_at > :now
 order by id desc
 limit 1;

-- All findings of an audit.
-- name: audit_findings_all :many
-- params: brand_id bigint, audit_id bigint
-- columns: finding_id text, check_id text, severity text, message text
select finding_id, check_id, severity, message
  from audit_findings
 where brand_id = :brand_id and audit_id = :audit_id
 order by position;

-- Saves an audit without its findings.
-- name: audit_insert :one
-- params: brand_id bigint, email_id bigint, version_id bigint, kind text, purpose text, status text, score bigint null, blockers bigint, errors bigint, warnings bigint, info bigint, kept bigint, checks text, engines text, metrics text, diff text null, now timestamptz, expires_at timestamptz
-- columns: id bigint
insert into audits (brand_id, email_id, version_id, kind, purpose, status, score, blockers, errors, warnings, info, kept, checks, engines,
                    metrics, diff, audited_at, expires_at)
values (:brand_id, :email_id, :version_id, :kind, :purpose, :status, :score, :blockers, :errors, :warnings, :info, :kept, :checks,
        :engines, :metrics, :diff, :now, :expires_at)
returning id;

-- Saves the findings of an audit in their order.
-- name: audit_findings_insert :exec
-- params: brand_id bigint, audit_id bigint, finding_ids text[], check_ids text[], severities text[], messages text[], selectors text[], sources text[], are_new boolean[], was_compared boolean
insert into audit_findings (brand_id, audit_id, position, finding_id, check_id, severity, message, selector, source, is_new)
select :brand_id, :audit_id, f.position, f.finding_id, f.check_id, f.severity, f.message, f.selector, f.source,
       case when :was_compared then f.is_new end
  from unnest(:finding_ids::text[], :check_ids::text[], :severities::text[], :messages::text[], :selectors::text[],
              :sources::text[], :are_new::boolean[])
       with ordinality as f (finding_id, check_id, severity, message, selector, source, is_new, position);

-- An audit that is kept, of a design that exists.
-- name: audit_find :one
-- row: audit
-- params: brand_id bigint, id bigint, now timestamptz
-- columns: id bigint, email_id bigint, version_id bigint, kind text, purpose text, status text, score bigint null, blockers bigint, errors bigint, warnings bigint, info bigint, kept bigint, checks text, engines text, metrics text, diff text null, audited_at timestamptz, expires_at timestamptz
select a.id, a.email_id, a.version_id, a.kind, a.purpose, a.status, a.score::bigint, a.blockers, a.errors, a.warnings, a.info, a.kept,
       a.checks, a.engines, a.metrics, a.diff, a.audited_at, a.expires_at
  from audits a
  join emails e on e.brand_id = a.brand_id and e.id = a.email_id and e.deleted_at is null
 where a.brand_id = :brand_id and a.id = :id and a.expires_at > :now;

-- Findings of an audit after a position.
-- name: audit_finding_page :page
-- params: brand_id bigint, audit_id bigint, after bigint, limit bigint
-- columns: position bigint, finding_id text, check_id text, severity text, message text, selector text null, source text null, is_new boolean null
select position, finding_id, check_id, severity, message, selector, source, is_new
  from audit_findings
 where brand_id = :brand_id and audit_id = :audit_id and position > :after
 order by position
 limit :limit;

-- The audits of a brand or of one design that are kept, newest first.
-- name: audit_page :page
-- params: brand_id bigint, email_id bigint null, from_start boolean, before bigint, now timestamptz, limit bigint
-- columns: id bigint, email_id bigint, version_id bigint, kind text, purpose text, status text, score bigint null, blockers bigint, errors bigint, warnings bigint, info bigint, audited_at timestamptz, expires_at timestamptz
select a.id, a.email_id, a.version_id, a.kind, a.purpose, a.status, a.score::bigint, a.blockers, a.errors, a.warnings, a.info,
       a.audited_at, a.expires_at
  from audits a
  join emails e on e.brand_id = a.brand_id and e.id = a.email_id and e.deleted_at is null
 where a.brand_id = :brand_id and (:email_id::bigint is null or a.email_id = :email_id) and (:from_start or a.id < :before)
   and a.expires_at > :now
 order by a.id desc
 limit :limit;

-- What the newest full audit of a version says about blockers; no row when it was never audited.
-- name: audit_blockers :one
-- params: brand_id bigint, email_id bigint, version_id bigint, now timestamptz
-- columns: audit_id bigint, status text, blockers bigint, messages text[]
select a.id, a.status, a.blockers,
       array(select f.message from audit_findings f
              where f.brand_id = a.brand_id and f.audit_id = a.id and f.severity = 'blocker'
              order by f.position
              limit 3)
  from audits a
 where a.brand_id = :brand_id and a.email_id = :email_id and a.version_id = :version_id and a.kind = 'full' and a.expires_at > :now
 order by a.id desc
 limit 1;

-- Deletes audits whose time is over, with their findings.
-- name: audits_forget :exec
-- params: now timestamptz, limit bigint
delete from audits
 where (brand_id, id) in (select brand_id, id from audits where expires_at <= :now order by expires_at limit :limit);
