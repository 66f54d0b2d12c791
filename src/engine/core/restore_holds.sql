-- Everything that the comparison with a data folder needs: the generation of the folder, and the last time that any folder moved on.
-- name: restore_find :one
-- params: folder bigint
-- columns: generation bigint null, last_moved_at timestamptz null
select (select generation from data_folders where folder = :folder), (select max(moved_at) from data_folders);

-- Stores the generation of a folder. Folders that were not used for a year are forgotten.
-- name: restore_move :exec
-- params: folder bigint, generation bigint, now timestamptz
with forgotten as (
    delete from data_folders where folder <> :folder and moved_at < :now::timestamptz - interval '1 year'
)
insert into data_folders as f (folder, generation, moved_at)
values (:folder, :generation, :now)
    on conflict (folder) do update set generation = greatest(f.generation, excluded.generation), moved_at = excluded.moved_at;

-- Holds what may have gone out after the state that was restored: all sends that have begun or were due, and the runs of automations
-- whose step was due. Sends and runs that are due later are not held, nor are carriers without a message on the way. Messages of
-- placement tests that waited are looked for as those whose end is not known, and are not sent: a result tells that they went out.
-- name: restore_hold :exec
-- params: now timestamptz
with runs as (
    update automation_runs set is_held = true where status = 'running' and not is_held and due_at <= :now
), placements as (
    update placement_observations set state = 'sent', is_uncertain = true, sent_at = :now, due_at = :now where state = 'waiting'
    returning brand_id, test_id
), tests as (
    update placement_tests t
       set status = 'running', updated_at = :now
     where t.status = 'queued' and exists (select from placements p where p.brand_id = t.brand_id and p.test_id = t.id)
)
update sends
   set held_at = :now
 where held_at is null
   and (status in ('queued', 'running', 'paused') or (status = 'scheduled' and scheduled_at <= :now))
   and (not is_carrier
        or exists (select 1 from send_ranges r
                    where r.brand_id = sends.brand_id and r.send_id = sends.id and r.next_ordinal <= r.to_ordinal)
        or exists (select 1 from send_retries y where y.brand_id = sends.brand_id and y.send_id = sends.id));

-- The number of held sends, the time of the first hold, and the number of held runs, without those of paused automations and launches.
-- name: restore_count :one
-- columns: held bigint, since timestamptz null, runs bigint
select count(*), min(held_at),
       (select count(*)
          from automation_runs r
          left join automations a on a.brand_id = r.brand_id and a.id = r.automation_id
          left join audience_runs l on l.brand_id = r.brand_id and l.id = r.audience_run_id
         where r.is_held and r.status = 'running' and a.is_paused is not true
           and (l.status = 'scheduled' or l.pause_reason = 'manual') is not true)
  from sends
 where held_at is not null and status in ('scheduled', 'queued', 'running', 'paused');

-- The held sends, in their order.
-- name: restore_list :many
-- params: limit bigint
-- columns: id bigint, brand_id bigint, status text, subject text, scheduled_at timestamptz null, started_at timestamptz null, held_at timestamptz, recipient_count bigint null, decided bigint
select s.id, s.brand_id, s.status, s.subject, s.scheduled_at, s.started_at, coalesce(s.held_at, to_timestamp(0)),
       case when s.is_carrier then (select k.next_ordinal - 1 from automation_carriers k where k.brand_id = s.brand_id and k.send_id = s.id)
            else s.recipient_count end,
       t.accepted + t.bounced - t.bounced_later + t.skipped + t.failed + t.held
  from sends s
  join send_stats t on t.brand_id = s.brand_id and t.send_id = s.id
 where s.held_at is not null and s.status in ('scheduled', 'queued', 'running', 'paused')
 order by s.brand_id, s.id
 limit :limit;

-- Releases one send, or all sends and runs, and wakes the senders, the steppers and the workers.
-- name: restore_release :one
-- params: send_id bigint, now timestamptz
-- columns: released bigint
with released as (
    update sends set held_at = null where held_at is not null and (:send_id::bigint = 0 or id = :send_id) returning job_id, scheduled_at
), woken as (
    update jobs j
       set run_after = :now
      from released r
     where j.id = r.job_id and j.state = 'queued' and j.run_after > :now and (r.scheduled_at is null or r.scheduled_at <= :now)
), runs as (
    update automation_runs r
       set is_held = false
      from (select h.brand_id, h.id
              from automation_runs h
              left join automations a on a.brand_id = h.brand_id and a.id = h.automation_id
              left join audience_runs l on l.brand_id = h.brand_id and l.id = h.audience_run_id
             where :send_id::bigint = 0 and h.is_held and a.is_paused is not true
               and (l.status = 'scheduled' or l.pause_reason = 'manual') is not true) f
     where r.brand_id = f.brand_id and r.id = f.id
), told as materialized (
    select pg_notify('posthorn_work', ''), pg_notify('posthorn_send', ''), pg_notify('posthorn_step', '')
)
select (select count(*) from released) from told;
