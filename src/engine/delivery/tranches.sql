-- Locks the statistics of a send, as writing results does.
-- name: tranches_hold_figures :exec
-- params: brand_id bigint, send_id bigint
select 1 from send_stats where brand_id = :brand_id and send_id = :send_id for update;

-- Locks a gradual send. Runs behind tranches_hold_figures. The figures are those since the last resume.
-- name: tranches_find :one
-- row: tranches
-- params: brand_id bigint, send_id bigint
-- columns: status text, pause_reason text null, job_id bigint null, started_at timestamptz null, scheduled_at timestamptz null, recipient_count bigint null, starting float8, increment float8, interval bigint, unit text, zone text, sample_key bytea, tranche bigint, released bigint, next_tranche_at timestamptz null, sent bigint, bounced bigint, delivered bigint, complained bigint, is_delivering boolean
select s.status, s.pause_reason, s.job_id, s.started_at, s.scheduled_at, s.recipient_count, g.starting_percentage,
       g.increment_percentage, g.interval_value, g.interval_unit, g.time_zone, g.sample_key, g.tranche, g.released, g.next_tranche_at,
       t.sent - g.base_sent, t.bounced - g.base_bounced, t.delivered - g.base_delivered, t.complained - g.base_complained,
       exists (select 1 from send_ranges r
                where r.brand_id = s.brand_id and r.send_id = s.id and r.next_ordinal <= r.to_ordinal)
  from sends s
  join gradual_sends g on g.brand_id = s.brand_id and g.send_id = s.id
  join send_stats t on t.brand_id = s.brand_id and t.send_id = s.id
 where s.brand_id = :brand_id and s.id = :send_id
   for update of s, g;

-- Records a tranche that is released. `next_tranche_at` is null for the last one.
-- name: tranches_release :exec
-- params: brand_id bigint, send_id bigint, tranche bigint, released bigint, next_tranche_at timestamptz null, now timestamptz
update gradual_sends
   set tranche = :tranche, released = :released, released_at = :now, next_tranche_at = :next_tranche_at
 where brand_id = :brand_id and send_id = :send_id;

-- Continues a send whose tranche fits into the allowance again.
-- name: tranches_run :exec
-- params: brand_id bigint, send_id bigint, now timestamptz
update sends
   set status = 'running', pause_reason = null, updated_at = :now
 where brand_id = :brand_id and id = :send_id;

-- Pauses a send whose next tranche exceeds the allowance.
-- name: tranches_wait_for_plan :exec
-- params: brand_id bigint, send_id bigint, now timestamptz
update sends
   set status = 'paused', pause_reason = 'plan_limit', updated_at = :now
 where brand_id = :brand_id and id = :send_id and status = 'running';

-- Pauses a send by its guard, and notifies all sender processes.
-- name: tranches_guard :exec
-- params: brand_id bigint, send_id bigint, error text, now timestamptz
with paused as (
    update sends
       set status = 'paused', pause_reason = 'manual', error = :error, updated_at = :now
     where brand_id = :brand_id and id = :send_id
    returning brand_id, id
), noted as (
    update gradual_sends g set paused_at = :now from paused p where g.brand_id = p.brand_id and g.send_id = p.id
)
select pg_notify('posthorn_send', '') from paused;
