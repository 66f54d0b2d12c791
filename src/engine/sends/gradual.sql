-- Stores the plan of a gradual send.
-- name: gradual_insert :exec
-- params: brand_id bigint, send_id bigint, starting float8, increment float8, interval bigint, unit text, zone text, sample_key bytea
insert into gradual_sends (brand_id, send_id, starting_percentage, increment_percentage, interval_value, interval_unit, time_zone,
                           sample_key)
values (:brand_id, :send_id, :starting, :increment, :interval, :unit, :zone, :sample_key);

-- Pauses a running gradual send, removes its job from the queue and notifies all sender processes. The lock of the statistics comes
-- first, as when results are written.
-- name: gradual_pause :exec
-- params: brand_id bigint, id bigint, now timestamptz
with figures as (
    select * from send_stats where brand_id = :brand_id and send_id = :id for update
), paused as (
    update sends s
       set status = 'paused', pause_reason = 'manual', updated_at = :now
      from figures t
     where s.brand_id = :brand_id and s.id = :id and s.status = 'running'
       and t.brand_id = s.brand_id and t.send_id = s.id
       and exists (select 1 from gradual_sends g where g.brand_id = s.brand_id and g.send_id = s.id)
    returning s.brand_id, s.id, s.job_id
), noted as (
    update gradual_sends g set paused_at = :now from paused p where g.brand_id = p.brand_id and g.send_id = p.id
), dropped as (
    update jobs set state = 'canceled', settled_at = :now
     where id = (select job_id from paused) and state = 'queued'
)
select pg_notify('posthorn_send', '') from paused;

-- Records a resume. What a guard said does not hold any more.
-- name: gradual_note_resume :exec
-- params: brand_id bigint, id bigint, next_tranche_at timestamptz null, now timestamptz
with noted as (
    update gradual_sends g
       set resumed_at = :now, next_tranche_at = :next_tranche_at, base_sent = t.sent, base_bounced = t.bounced,
           base_delivered = t.delivered, base_complained = t.complained
      from send_stats t
     where g.brand_id = :brand_id and g.send_id = :id and t.brand_id = g.brand_id and t.send_id = g.send_id
)
update sends set error = null where brand_id = :brand_id and id = :id and status = 'running';
