-- Starts runs in the order of the lists, and writes their events. 0 stands for a missing id; a run with the id 0 gets the next one. A run of a paused automation or of an
-- audience run that waits is held from the beginning.
-- name: run_starts :many
-- params: brand_id bigint, ids bigint[], automation_ids bigint[], version_ids bigint[], nodes text[], trigger_ids bigint[], instance_ids bigint[], payload_ids bigint[], audience_run_ids bigint[], contact_ids bigint[], emails text[], keys text[], now timestamptz
-- columns: id bigint
with started as (
    insert into automation_runs (brand_id, id, automation_id, version_id, trigger_id, trigger_instance_id, audience_run_id, payload_id,
                                 contact_id, email, email_key, node_id, due_at, is_held, started_at) overriding system value
    select :brand_id, coalesce(nullif(t.id, 0), nextval((select pg_get_serial_sequence('automation_runs', 'id')::regclass))),
           t.automation_id, t.version_id, nullif(t.trigger_id, 0), nullif(t.instance_id, 0), nullif(t.audience_run_id, 0),
           nullif(t.payload_id, 0), nullif(t.contact_id, 0), t.email, t.key, t.node, :now,
           coalesce(a.is_paused, false) or coalesce(l.status = 'scheduled' or l.pause_reason = 'manual', false), :now
      from unnest(:ids::bigint[], :automation_ids::bigint[], :version_ids::bigint[], :nodes::text[], :trigger_ids::bigint[],
                  :instance_ids::bigint[], :payload_ids::bigint[], :audience_run_ids::bigint[], :contact_ids::bigint[], :emails::text[],
                  :keys::text[])
           with ordinality as t (id, automation_id, version_id, node, trigger_id, instance_id, payload_id, audience_run_id, contact_id,
                                 email, key, place)
      left join automations a on a.brand_id = :brand_id and a.id = t.automation_id
      left join audience_runs l on l.brand_id = :brand_id and l.id = t.audience_run_id
     order by t.place
    returning id, automation_id, trigger_instance_id, audience_run_id, email, email_key, node_id
), told as (
    insert into events (brand_id, occurred_at, domain, event_type, recipient_email, recipient_key, automation_id, node_id,
                        automation_run_id, audience_run_id, trigger_instance_id)
    select :brand_id, :now, 'automation', 'started', email, email_key, automation_id, node_id, id, audience_run_id, trigger_instance_id
      from started
     order by id
)
select id from started order by id;

-- Notifies the steppers behind the commit; they look for due runs of this brand only.
-- name: run_notify_brand :exec
-- params: brand_id bigint
select pg_notify('posthorn_step', :brand_id::bigint::text);

-- The same outside a transaction. A notification makes PostgreSQL write a commit record; nobody waits for the disk for it, because a
-- restarted server has forgotten all notifications.
-- name: run_notify_brand_at_once :exec
-- params: brand_id bigint
select set_config('synchronous_commit', 'off', true), pg_notify('posthorn_step', :brand_id::bigint::text);

-- Keeps steppers from letting a run of these addresses begin to wait for an event, until the end of the transaction. A stepper tries
-- the same lock (run_lock_addresses) and leaves the run for later when it fails. So an event either is there when the run begins to
-- wait, or finds it waiting.
-- name: run_hold_addresses :exec
-- params: lock integer, brand_id bigint, email_keys text[]
select pg_advisory_xact_lock_shared(:lock, hashtext(:brand_id::bigint || ' ' || g.email_key))
  from unnest(:email_keys::text[]) as g (email_key);

-- Wakes the runs that wait for these events: each a trigger and an address. A statement of its own, whose snapshot is younger than
-- the lock. Most events wake nothing, which `heard` finds by one step of an index for each; "exists" keeps the steps behind it from
-- running then, which read every run of the brand while there are no table statistics. The runs are locked in the order of their ids,
-- and no step is a join: a join reads all runs for each event when there are no table statistics.
-- name: run_wake_by_events :exec
-- params: brand_id bigint, trigger_ids bigint[], email_keys text[], now timestamptz
with heard as materialized (
    select g.trigger_id, g.email_key
      from unnest(:trigger_ids::bigint[], :email_keys::text[]) as g (trigger_id, email_key)
     cross join lateral (select 1 from automation_runs r
                          where r.brand_id = :brand_id and r.waits_trigger = g.trigger_id and r.email_key = g.email_key
                          limit 1) w
), waiting as materialized (
    select w.id
      from heard h
     cross join lateral (select r.id from automation_runs r
                          where r.brand_id = :brand_id and r.waits_trigger = h.trigger_id and r.email_key = h.email_key
                         offset 0) w
), woken as materialized (
    select r.id
      from automation_runs r
     where (select exists (select 1 from waiting)) and r.brand_id = :brand_id and r.id = any (array(select id from waiting))
       and r.waits_trigger = any (:trigger_ids::bigint[]) and r.status = 'running' and r.due_at is distinct from :now
     order by r.id
       for no key update
)
update automation_runs
   set due_at = :now
 where (select exists (select 1 from woken)) and brand_id = :brand_id and id = any (array(select id from woken));

-- Wakes the runs that wait for the result of these messages, or for engagement with them. They are locked in the order of their ids.
-- Every row is found by its key, whatever the table statistics say: an update that finds its rows itself reads all runs of the brand
-- when there are none, so the rows go through the conflict on their key. All of them exist, because they are locked.
-- name: run_wake_by_messages :exec
-- params: brand_id bigint, message_ids bigint[], now timestamptz
with waiting as materialized (
    select w.id
      from unnest(:message_ids::bigint[]) as m (id)
     cross join lateral (select r.id from automation_runs r where r.brand_id = :brand_id and r.waits_message = m.id limit 1) w
), woken as materialized (
    select r.*
      from (select distinct id from waiting order by id) w
     cross join lateral (select r.id, r.automation_id, r.version_id, r.email, r.email_key, r.node_id, r.started_at
                           from automation_runs r
                          where r.brand_id = :brand_id and r.id = w.id and r.waits_message = any (:message_ids::bigint[])
                            and r.status = 'running'
                            for no key update) r
)
insert into automation_runs (brand_id, id, automation_id, version_id, email, email_key, node_id, started_at, due_at)
       overriding system value
select :brand_id, id, automation_id, version_id, email, email_key, node_id, started_at, :now from woken order by id
    on conflict (brand_id, id) do update set due_at = excluded.due_at;

-- As run_hold_addresses, for messages (step_lock_messages). Sixteen messages in a row share a lock: a server has room for a few thousand
-- locks, and a batch has hundreds of messages.
-- name: run_lock_messages :exec
-- params: lock integer, message_ids bigint[]
select pg_advisory_xact_lock_shared(:lock, hashint8(m.row))
  from (select distinct id / 16 as row from unnest(:message_ids::bigint[]) as u (id) order by row) m;
