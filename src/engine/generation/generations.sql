-- Inserts a design without a version, and the run that makes its first one.
-- name: generation_insert_design :one
-- params: brand_id bigint, title text, group_id bigint null, now timestamptz
-- columns: email_id bigint, run_id bigint
with email as (
    insert into emails (brand_id, title, status, group_id, created_at, updated_at)
    values (:brand_id, :title, 'generating', :group_id, :now, :now)
    returning id
)
insert into generations (brand_id, email_id, kind, status, created_at)
select :brand_id, id, 'create', 'running', :now from email
returning email_id, id;

-- Inserts the run of an edit of a locked design.
-- name: generation_insert_edit :one
-- params: brand_id bigint, email_id bigint, now timestamptz
-- columns: run_id bigint
with email as (
    update emails set status = 'generating' where brand_id = :brand_id and id = :email_id returning id
)
insert into generations (brand_id, email_id, kind, status, created_at)
select :brand_id, id, 'edit', 'running', :now from email
returning id;

-- Stores the job of a run.
-- name: generation_set_job :exec
-- params: brand_id bigint, id bigint, job_id bigint
update generations set job_id = :job_id where brand_id = :brand_id and id = :id;

-- The design of a run, and whether the run has ended.
-- name: generation_state :one
-- params: brand_id bigint, id bigint
-- columns: email_id bigint, status text
select email_id, status from generations where brand_id = :brand_id and id = :id;

-- Ends a run that has not ended, with the latest version of its design or without one.
-- name: generation_end :one
-- params: brand_id bigint, id bigint, status text, engine text null, warnings jsonb, error_code text null, error text null, tokens_in bigint null, tokens_out bigint null, now timestamptz
-- columns: email_id bigint
update generations g
   set status = :status, engine = :engine, warnings = :warnings, error_code = :error_code, error = :error,
       tokens_in = :tokens_in, tokens_out = :tokens_out, ended_at = :now,
       version_id = case when :status = 'completed'
                         then (select e.latest_version_id from emails e where e.brand_id = :brand_id and e.id = g.email_id) end
 where g.brand_id = :brand_id and g.id = :id and g.status = 'running'
returning g.email_id;

-- Ends the generation of a design without a new version. A design that has a version stays as it was.
-- name: generation_leave_design :exec
-- params: brand_id bigint, email_id bigint, now timestamptz
update emails
   set status = case when latest_version_id is null then 'failed' else 'ready' end,
       updated_at = case when latest_version_id is null then :now else updated_at end
 where brand_id = :brand_id and id = :email_id and status = 'generating';

-- A run of a design; run_id null: its last one.
-- name: generation_find :one
-- params: brand_id bigint, email_id bigint, run_id bigint null
-- columns: id bigint, status text, engine text null, version_id bigint null, warnings jsonb, error_code text null, error text null
select id, status, engine, version_id, warnings, error_code, error
  from generations
 where brand_id = :brand_id and email_id = :email_id and (:run_id::bigint is null or id = :run_id)
 order by id desc
 limit 1;

-- The brand of a brief, with its newest logo among its images.
-- name: brief_brand :one
-- params: brand_id bigint
-- columns: name text, domain text null, identity jsonb, email_design text null, time_zone text, locale text, logo_hash bytea null, logo_type text null
select b.name, b.domain, b.identity, b.email_design, b.time_zone, b.locale, l.hash, l.type
  from brands b
  left join lateral (select a.hash, a.type from assets a
                      where a.brand_id = b.id and a.kind = 'logo'
                      order by a.id desc limit 1) l on true
 where b.id = :brand_id;
