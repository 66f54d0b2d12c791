-- One launch, with what became of the messages of its nodes.
-- name: audience_run_find :one
-- row: audience_run
-- params: brand_id bigint, id bigint
-- columns: id bigint, automation_id bigint, audience_id bigint, status text, pause_reason text null, error text null, resumed_from text null, scheduled_at timestamptz null, total_recipients bigint, created_at timestamptz, updated_at timestamptz, nodes text[], sent bigint[], failed bigint[], skipped bigint[]
select l.id, l.automation_id, l.audience_id, l.status, l.pause_reason, l.error, l.resumed_from, l.scheduled_at, l.total_recipients,
       l.created_at, l.updated_at, n.nodes, n.sent, n.failed, n.skipped
  from audience_runs l
 cross join lateral (select coalesce(array_agg(m.node_id order by m.node_id), '{}') as nodes,
                            coalesce(array_agg(m.sent order by m.node_id), '{}') as sent,
                            coalesce(array_agg(m.failed order by m.node_id), '{}') as failed,
                            coalesce(array_agg(m.skipped order by m.node_id), '{}') as skipped
                       from audience_run_nodes m
                      where m.brand_id = l.brand_id and m.audience_run_id = l.id) n
 where l.brand_id = :brand_id and l.id = :id;

-- The launches of a brand, newest first (keyset pagination).
-- name: audience_run_page :page
-- row: audience_run
-- params: brand_id bigint, status text null, automation_id bigint null, from_start boolean, at timestamptz, id bigint, limit bigint
-- columns: id bigint, automation_id bigint, audience_id bigint, status text, pause_reason text null, error text null, resumed_from text null, scheduled_at timestamptz null, total_recipients bigint, created_at timestamptz, updated_at timestamptz, nodes text[], sent bigint[], failed bigint[], skipped bigint[]
select l.id, l.automation_id, l.audience_id, l.status, l.pause_reason, l.error, l.resumed_from, l.scheduled_at, l.total_recipients,
       l.created_at, l.updated_at, n.nodes, n.sent, n.failed, n.skipped
  from audience_runs l
 cross join lateral (select coalesce(array_agg(m.node_id order by m.node_id), '{}') as nodes,
                            coalesce(array_agg(m.sent order by m.node_id), '{}') as sent,
                            coalesce(array_agg(m.failed order by m.node_id), '{}') as failed,
                            coalesce(array_agg(m.skipped order by m.node_id), '{}') as skipped
                       from audience_run_nodes m
                      where m.brand_id = l.brand_id and m.audience_run_id = l.id) n
 where l.brand_id = :brand_id
   and (:from_start or (l.created_at, l.id) < (:at, :id))
   and (:status::text is null or l.status = :status)
   and (:automation_id::bigint is null or l.automation_id = :automation_id)
 order by l.created_at desc, l.id desc
 limit :limit;

-- Serialises the beginning, the resume and the cancellation of a launch. The rows of runs are locked before that of the launch
-- everywhere, so the row of the launch cannot do this.
-- name: audience_run_serialize :exec
-- params: lock integer, id bigint
select pg_advisory_xact_lock(:lock, hashint8(:id));

-- The state of a launch.
-- name: audience_run_state :one
-- params: brand_id bigint, id bigint
-- columns: automation_id bigint, status text, pause_reason text null, total_recipients bigint
select automation_id, status, pause_reason, total_recipients from audience_runs where brand_id = :brand_id and id = :id;

-- Pauses a running launch.
-- name: audience_run_pause :exec
-- params: brand_id bigint, id bigint, now timestamptz
update audience_runs
   set status = 'paused', pause_reason = 'manual', updated_at = :now
 where brand_id = :brand_id and id = :id and status = 'running';

-- Whether a node of the launch has messages that were handed over and messages that have no result yet: those of open ranges, and
-- those that wait for a retry.
-- name: audience_run_is_part_delivered :one
-- params: brand_id bigint, id bigint
-- columns: is_part_delivered boolean
select exists (
    select 1
      from audience_runs l
      join automation_carriers k on k.brand_id = l.brand_id and k.automation_id = l.automation_id
      join audience_run_nodes n on n.brand_id = l.brand_id and n.audience_run_id = l.id and n.node_id = k.node_id and n.sent > 0
     where l.brand_id = :brand_id and l.id = :id
       and (exists (select 1
                      from send_ranges g
                      join automation_sends m
                        on m.brand_id = g.brand_id and m.carrier_id = g.send_id and m.ordinal between g.next_ordinal and g.to_ordinal
                     where g.brand_id = k.brand_id and g.send_id = k.send_id and g.next_ordinal <= g.to_ordinal
                       and m.audience_run_id = l.id
                       and not exists (select 1 from send_results e
                                        where e.brand_id = m.brand_id and e.send_id = m.carrier_id and e.ordinal = m.ordinal))
            or exists (select 1
                         from send_retries y
                         join automation_sends m on m.brand_id = y.brand_id and m.carrier_id = y.send_id and m.ordinal = y.ordinal
                        where y.brand_id = k.brand_id and y.send_id = k.send_id and m.audience_run_id = l.id)));

-- The node of the runs that have come least far: of the open ones, or, when the launch has failed, of those that failed.
-- name: audience_run_first_node :one
-- params: brand_id bigint, id bigint, status text
-- columns: node_id text
select node_id
  from automation_runs
 where brand_id = :brand_id and audience_run_id = :id and status = :status
 order by visit, id
 limit 1;

-- Resumes a launch. The row comes before its held runs: the stepper holds a run only while it sees the pause under the lock of this
-- row, and never has a held run itself.
-- name: audience_run_resume :exec
-- params: brand_id bigint, id bigint, resumed_from text null, now timestamptz
update audience_runs
   set status = 'running', pause_reason = null, error = null, resumed_from = :resumed_from, completed_at = null, updated_at = :now
 where brand_id = :brand_id and id = :id and status in ('paused', 'failed');

-- Counts the failed runs of a launch as open, before the first of them is taken up.
-- name: audience_run_reopen :exec
-- params: brand_id bigint, id bigint
update audience_runs l
   set open_runs = l.open_runs + t.count, failed_runs = greatest(l.failed_runs - t.count, 0)
  from (select count(*) as count
          from automation_runs
         where brand_id = :brand_id and audience_run_id = :id and status = 'failed') t
 where l.brand_id = :brand_id and l.id = :id;
