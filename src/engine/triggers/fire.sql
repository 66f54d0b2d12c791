-- The ids of some fires and of their payloads, which their runs need before the rows are written. A fire without runs leaves a gap.
-- name: fire_next_ids :many
-- params: count bigint
-- columns: instance_id bigint, payload_id bigint
select nextval(s.instances), nextval(s.payloads)
  from (select pg_get_serial_sequence('trigger_instances', 'id')::regclass as instances,
               pg_get_serial_sequence('trigger_payloads', 'id')::regclass as payloads
        offset 0) s
 cross join generate_series(1, :count::bigint);

-- Ids of runs.
-- name: fire_next_run_ids :many
-- params: count bigint
-- columns: id bigint
select nextval(s.runs)
  from (select pg_get_serial_sequence('automation_runs', 'id')::regclass as runs offset 0) s
 cross join generate_series(1, :count::bigint);

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

-- When the last run of each of these automations for an address began, in the order of the lists. Runs of tests do not count.
-- name: fire_last_runs :many
-- params: brand_id bigint, email_keys text[], automation_ids bigint[]
-- columns: started_at timestamptz null
select r.started_at
  from unnest(:email_keys::text[], :automation_ids::bigint[]) with ordinality as g (email_key, automation_id, place)
  left join lateral (select started_at from automation_runs
                      where brand_id = :brand_id and email_key = g.email_key and automation_id = g.automation_id and mode = 'live'
                      order by id desc
                      limit 1) r on true
 order by g.place;

-- Records fires and their events. `matched` and `runs` hold a list of bigints for each fire; a provider '' stands for none.
-- name: fires_record :exec
-- params: brand_id bigint, ids bigint[], trigger_ids bigint[], providers text[], contact_ids bigint[], emails text[], email_keys text[], matched text[], runs text[], not_started text[], has_findings boolean[], now timestamptz
with given as materialized (
    select *
      from unnest(:ids::bigint[], :trigger_ids::bigint[], :providers::text[], :contact_ids::bigint[], :emails::text[],
                  :email_keys::text[], :matched::text[], :runs::text[], :not_started::text[], :has_findings::boolean[])
           with ordinality as g (id, trigger_id, provider, contact_id, email, email_key, matched, runs, not_started, has_findings, place)
), recorded as (
    insert into trigger_instances (brand_id, occurred_at, id, trigger_id, source, provider, state, contact_id, email_key, matched, runs,
                                   not_started, has_findings, processed_at)
    select :brand_id, :now, id, trigger_id, case provider when '' then 'api' else 'integration' end, nullif(provider, ''), 'fired',
           contact_id, email_key, matched::bigint[], runs::bigint[], not_started::jsonb, has_findings, :now
      from given
     order by place
)
insert into events (brand_id, occurred_at, domain, event_type, recipient_email, recipient_key, trigger_instance_id)
select :brand_id, :now, t.domain, t.type, g.email, g.email_key, g.id
  from given g
 cross join lateral (values (1, 'inbound', 'received'),
                            (2, 'trigger', case when cardinality(g.matched::bigint[]) = 0 then 'unmatched' else 'fired' end))
            as t (place, domain, type)
 where t.domain = 'trigger' or g.provider <> ''
 order by g.place, t.place;
