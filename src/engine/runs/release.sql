-- Releases the next held runs of an automation, or of one launch of it (0: of any), and tells the last one; null: there was none. Runs of
-- launches that the stepper would hold again stay held. The runs are read in the order of the index, from the mark on: those that are
-- released already would be read again otherwise. What `held` counts may be canceled before its lock; it tells whether more are left.
-- name: runs_release_part :one
-- params: brand_id bigint, automation_id bigint, audience_run_id bigint, after_id bigint, limit bigint
-- columns: count bigint, last_id bigint null
with held as materialized (
    select r.id
      from automation_runs r
     where r.brand_id = :brand_id and r.automation_id = :automation_id and r.id > :after_id and r.is_held
       and (:audience_run_id::bigint = 0 or r.audience_run_id = :audience_run_id)
       and not exists (select 1 from automations a where a.brand_id = :brand_id and a.id = :automation_id and a.is_paused)
       and not exists (select 1 from audience_runs l
                        where l.brand_id = :brand_id and l.id = r.audience_run_id
                          and (l.status = 'scheduled' or l.pause_reason = 'manual'))
     order by r.id
     limit :limit
), locked as materialized (
    select r.id
      from automation_runs r
     where r.brand_id = :brand_id and r.id = any (array(select id from held)) and r.is_held
     order by r.id
       for no key update
), released as (
    update automation_runs set is_held = false where brand_id = :brand_id and id = any (array(select id from locked))
)
select count(*), max(id) from held;

-- Locks the automation of a launch, so that none of its runs is taken up behind a cancellation of all.
-- name: runs_lock_automation :exec
-- params: brand_id bigint, id bigint
select 1 from automations where brand_id = :brand_id and id = :id for share;

-- Takes up the next failed runs of a launch, and tells the last one. The launch counts all of them as open from its resume on, so it
-- does not end before the last part. One that fails again is behind the mark.
-- name: runs_take_up_part :one
-- params: brand_id bigint, audience_run_id bigint, after_id bigint, limit bigint, now timestamptz
-- columns: count bigint, last_id bigint null
with failed as materialized (
    select r.id
      from automation_runs r
     where r.brand_id = :brand_id and r.audience_run_id = :audience_run_id and r.id > :after_id and r.status = 'failed'
       and exists (select 1 from audience_runs l
                    where l.brand_id = :brand_id and l.id = :audience_run_id and l.status in ('running', 'paused'))
     order by r.id
     limit :limit
), taken as (
    update automation_runs
       set status = 'running', visit = visit + 1, entered_at = :now, due_at = :now, error = null, completed_at = null, is_held = false
     where brand_id = :brand_id and id = any (array(select id from failed)) and status = 'failed'
)
select count(*), max(id) from failed;

-- Wakes the workers behind the commit.
-- name: release_wake_workers :exec
select pg_notify('posthorn_work', '');
