-- Enqueues the runs that are due, and schedules the next of each brand a day later. A brand without a row gets its first run in
-- half a day to a day.
-- name: insight_runs_enqueue :exec
-- params: kind text, now timestamptz, limit bigint
with missing as (
    insert into insight_runs (brand_id, due_at)
    select b.id, :now::timestamptz + make_interval(mins => (720 + b.id % 720)::integer)
      from brands b
     where b.status <> 'deleting' and not exists (select 1 from insight_runs r where r.brand_id = b.id)
     order by b.id
     limit :limit
        on conflict (brand_id) do nothing
), due as materialized (
    select r.brand_id, b.organization_id
      from insight_runs r
      join brands b on b.id = r.brand_id and b.status <> 'deleting'
     where r.due_at <= :now
       and not exists (select 1 from jobs j where j.id = r.job_id and j.state in ('queued', 'running'))
     order by r.due_at, r.brand_id
     limit :limit
       for update of r skip locked
), queued as (
    insert into jobs (kind, pool, organization_id, brand_id, payload, run_after, created_at, turn)
    select :kind, 'work', organization_id, brand_id, '{}', :now, :now, job_turn('work', brand_id) from due
    returning id, brand_id
)
update insight_runs r
   set job_id = q.id, due_at = :now::timestamptz + interval '1 day'
  from queued q
 where r.brand_id = q.brand_id;

-- Marks a run as under way; no row while another run of the brand is.
-- name: insight_run_begin :one
-- params: brand_id bigint, job_id bigint, now timestamptz
-- columns: brand_id bigint
insert into insight_runs as r (brand_id, due_at, running_job, attempt_status, attempt_at)
values (:brand_id, :now::timestamptz + interval '1 day', :job_id, 'running', :now)
    on conflict (brand_id) do update set running_job = excluded.running_job, attempt_status = 'running', attempt_at = excluded.attempt_at
 where r.running_job is null or r.running_job = excluded.running_job
    or not exists (select 1 from jobs j where j.id = r.running_job and j.state = 'running')
returning r.brand_id;

-- Ends the run of a job.
-- name: insight_run_end :exec
-- params: brand_id bigint, job_id bigint, status text, now timestamptz, data_as_of timestamptz null
update insight_runs
   set running_job = null, attempt_status = :status, attempt_at = :now,
       succeeded_at = case when :status = 'succeeded' then :now::timestamptz else succeeded_at end,
       data_as_of = coalesce(:data_as_of::timestamptz, data_as_of)
 where brand_id = :brand_id and running_job = :job_id;

-- Saves the findings of a run. A finding that two runs in a row hold becomes active; one that two runs in a row do not hold becomes
-- resolved, or stale when the last of them had too few figures to test it. A finding that was never shown, and one that was closed
-- before `forget`, is deleted.
-- name: insights_store :one
-- params: brand_id bigint, detectors text[], subjects text[], helds boolean[], kinds text[], severities text[], scores_milli bigint[], descriptions text[], actions jsonb[], details jsonb[], now timestamptz, forget timestamptz
-- columns: active bigint
with seen as materialized (
    select *
      from unnest(:detectors::text[], :subjects::text[], :helds::boolean[], :kinds::text[], :severities::text[],
                  :scores_milli::bigint[], :descriptions::text[], :actions::jsonb[], :details::jsonb[])
               as t (detector, subject, is_held, kind, severity, score_milli, description, action, detail)
), found as (
    insert into insights as i (brand_id, detector, subject, kind, severity, score, description, action, detail, held, missed, found_at,
                               checked_at)
    select :brand_id, detector, subject, kind, severity, score_milli / 1000.0, description, action, detail, 1, 0, :now, :now
      from seen
     where is_held
     order by detector, subject
        on conflict (brand_id, detector, subject) do update
       set held = i.held + 1, missed = 0, kind = excluded.kind, severity = excluded.severity, score = excluded.score,
           description = excluded.description, action = excluded.action, detail = excluded.detail, checked_at = excluded.checked_at,
           found_at = case when i.state = 'active' or i.held > 0 then i.found_at else excluded.found_at end,
           closed_at = case when i.held + 1 >= 2 then null else i.closed_at end,
           state = case when i.held + 1 >= 2 then 'active' else i.state end
    returning (i.state is not distinct from 'active') as is_active
), lost as (
    update insights i
       set held = 0, missed = i.missed + 1, checked_at = :now,
           closed_at = case when i.state = 'active' and i.missed + 1 >= 2 then :now::timestamptz else i.closed_at end,
           state = case when i.state = 'active' and i.missed + 1 >= 2
                        then case when s.detector is null then 'stale' else 'resolved' end
                        else i.state end
      from insights o
      left join seen s on s.detector = o.detector and s.subject = o.subject
     where o.brand_id = :brand_id and i.brand_id = o.brand_id and i.id = o.id and s.is_held is distinct from true
       and o.state is not null and (o.closed_at is null or o.closed_at >= :forget)
    returning (i.state is not distinct from 'active') as is_active
), forgotten as (
    delete from insights o
     where o.brand_id = :brand_id and (o.state is null or o.closed_at < :forget)
       and not exists (select 1 from seen s where s.detector = o.detector and s.subject = o.subject and s.is_held)
)
select (select count(*) from found where is_active) + (select count(*) from lost where is_active);

-- The findings of a brand that are shown, in the order of their list. state null: any.
-- name: insight_list :many
-- row: insight
-- params: brand_id bigint, state text null, severity text null, limit bigint
-- columns: id bigint, state text, kind text, severity text, score float8, description text, action jsonb, detail jsonb, found_at timestamptz, checked_at timestamptz, closed_at timestamptz null
select id, coalesce(state, ''), kind, severity, score, description, action, '{}'::jsonb, found_at, checked_at, closed_at
  from insights
 where brand_id = :brand_id and state is not null and (:state::text is null or state = :state)
   and (:severity::text is null or severity = :severity)
 order by array_position(array['critical', 'warning', 'opportunity', 'info'], severity), score desc, id
 limit :limit;

-- One finding that is shown.
-- name: insight_find :one
-- row: insight
-- params: brand_id bigint, id bigint
-- columns: id bigint, state text, kind text, severity text, score float8, description text, action jsonb, detail jsonb, found_at timestamptz, checked_at timestamptz, closed_at timestamptz null
select id, coalesce(state, ''), kind, severity, score, description, action, detail, found_at, checked_at, closed_at
  from insights
 where brand_id = :brand_id and id = :id and state is not null;

-- The runs of a brand. A run whose job does not run any more has an unknown end.
-- name: insight_freshness :one
-- params: brand_id bigint
-- columns: succeeded_at timestamptz null, data_as_of timestamptz null, attempt_status text null, attempt_at timestamptz null
select r.succeeded_at, r.data_as_of,
       case when r.attempt_status = 'running' and j.state is distinct from 'running' then 'unknown' else r.attempt_status end,
       r.attempt_at
  from insight_runs r
  left join jobs j on j.id = r.running_job
 where r.brand_id = :brand_id;
