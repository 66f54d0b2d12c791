-- The ids of a fire and of its payload, which its runs need before the rows are written. A fire without runs leaves a gap.
-- name: fire_next_ids :one
-- columns: instance_id bigint, payload_id bigint
select nextval(pg_get_serial_sequence('trigger_instances', 'id')), nextval(pg_get_serial_sequence('trigger_payloads', 'id'));

-- Locks the published automations that listen to a trigger, so that none is published, paused or deleted while its runs start. A
-- statement of its own: the next one sees what was committed while this one waited.
-- name: fire_lock_automations :exec
-- params: brand_id bigint, trigger_id bigint
select 1
  from automations a
 where a.brand_id = :brand_id and a.deleted_at is null and a.live_version_id is not null
   and a.id in (select v.automation_id from automation_versions v where v.brand_id = :brand_id and v.trigger_id = :trigger_id)
 order by a.id
   for share;

-- The published automations that listen to a trigger, with the trigger node of their published version. Paused ones count, too.
-- name: fire_automations :many
-- params: brand_id bigint, trigger_id bigint
-- columns: automation_id bigint, version_id bigint, node jsonb
select a.id, v.id, coalesce(v.trigger_node, '{}')
  from automation_versions v
 cross join lateral (select l.id from automations l
                      where l.brand_id = :brand_id and l.id = v.automation_id and l.live_version_id = v.id and l.deleted_at is null
                      limit 1) a
 where v.brand_id = :brand_id and v.trigger_id = :trigger_id and v.trigger_node is not null
 order by a.id;

-- When the last run of each of these automations for an address began. Runs of tests do not count.
-- name: fire_last_runs :many
-- params: brand_id bigint, email_key text, automation_ids bigint[]
-- columns: automation_id bigint, started_at timestamptz
select a.id, r.started_at
  from unnest(:automation_ids::bigint[]) as a (id)
 cross join lateral (select started_at from automation_runs
                      where brand_id = :brand_id and email_key = :email_key and automation_id = a.id and mode = 'live'
                      order by id desc
                      limit 1) r;

-- Records a fire and its events: that an integration sent it, and whether an automation starts with it.
-- name: fire_record :exec
-- params: brand_id bigint, id bigint, trigger_id bigint, source text, provider text null, contact_id bigint, email text, email_key text, matched bigint[], runs bigint[], not_started jsonb, has_findings boolean, now timestamptz
with recorded as (
    insert into trigger_instances (brand_id, occurred_at, id, trigger_id, source, provider, state, contact_id, email_key, matched, runs,
                                   not_started, has_findings, processed_at)
    values (:brand_id, :now, :id, :trigger_id, :source, :provider, 'fired', :contact_id, :email_key, :matched, :runs, :not_started,
            :has_findings, :now)
)
insert into events (brand_id, occurred_at, domain, event_type, recipient_email, recipient_key, trigger_instance_id)
select :brand_id, :now, t.domain, t.type, :email, :email_key, :id
  from (values (1, 'inbound', 'received'),
               (2, 'trigger', case when cardinality(:matched::bigint[]) = 0 then 'unmatched' else 'fired' end)) as t (place, domain, type)
 where t.domain = 'trigger' or :source::text = 'integration'
 order by t.place;
