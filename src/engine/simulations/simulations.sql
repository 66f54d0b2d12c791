-- What a simulation of an automation needs: its latest version, and the time zone of the brand.
-- name: simulation_automation :one
-- params: brand_id bigint, id bigint
-- columns: version_id bigint, nodes jsonb, connections jsonb, time_zone text
select a.latest_version_id, v.nodes, v.connections, b.time_zone
  from automations a
  join automation_versions v on v.brand_id = a.brand_id and v.id = a.latest_version_id
  join brands b on b.id = a.brand_id
 where a.brand_id = :brand_id and a.id = :id and a.deleted_at is null;

-- The time zone of a brand.
-- name: simulation_time_zone :one
-- params: brand_id bigint
-- columns: time_zone text
select time_zone from brands where id = :brand_id;

-- The contacts of the last fires of a trigger, each once.
-- name: simulation_fired :many
-- params: brand_id bigint, trigger_id bigint, since timestamptz, fires bigint, limit bigint
-- columns: contact_id bigint
select coalesce(f.contact_id, 0)
  from (select i.contact_id, i.occurred_at
          from trigger_instances i
         where i.brand_id = :brand_id and i.trigger_id = :trigger_id and i.occurred_at > :since and i.contact_id is not null
         order by i.occurred_at desc, i.id desc
         limit :fires) f
 group by f.contact_id
 order by max(f.occurred_at) desc, f.contact_id
 limit :limit;

-- The contact with an address, with what conditions may name.
-- name: simulation_contact :one
-- row: simulation_contact
-- params: brand_id bigint, email_key text
-- columns: id bigint, email text, contact jsonb
select c.id, c.email,
       jsonb_build_object('email', c.email, 'firstName', c.first_name, 'lastName', c.last_name, 'userId', c.user_id, 'source', c.source,
                          'subscribed', c.subscribed, 'customFields', c.custom_fields,
                          'createdAt', to_char(c.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
                          'updatedAt', to_char(c.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
  from contacts c
 where c.brand_id = (select :brand_id::bigint) and c.email_key = :email_key;

-- Contacts, in the order of their addresses.
-- name: simulation_contacts :many
-- row: simulation_contact
-- params: brand_id bigint, ids bigint[]
-- columns: id bigint, email text, contact jsonb
select c.id, c.email,
       jsonb_build_object('email', c.email, 'firstName', c.first_name, 'lastName', c.last_name, 'userId', c.user_id, 'source', c.source,
                          'subscribed', c.subscribed, 'customFields', c.custom_fields,
                          'createdAt', to_char(c.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
                          'updatedAt', to_char(c.updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
  from contacts c
 where c.brand_id = :brand_id and c.id = any (:ids::bigint[])
 order by c.email_key;

-- Stores a run of a test that has ended, with its steps.
-- name: simulation_insert_run :one
-- params: brand_id bigint, automation_id bigint, version_id bigint, contact_id bigint null, email text, email_key text, status text, node_id text, error text null, started_at timestamptz, completed_at timestamptz, node_ids text[], node_types text[], statuses text[], branches text[], facts text[], errors text[], entered_ats timestamptz[], left_ats timestamptz[]
-- columns: id bigint
with run as (
    insert into automation_runs (brand_id, automation_id, version_id, contact_id, email, email_key, mode, status, node_id, visit, error,
                                 started_at, completed_at)
    values (:brand_id, :automation_id, :version_id, :contact_id, :email, :email_key, 'test', :status, :node_id,
            cardinality(:node_ids::text[]), :error, :started_at, :completed_at)
    returning id
), steps as (
    insert into automation_steps (brand_id, run_id, visit, node_id, node_type, status, branch, facts, error, started_at, completed_at)
    select :brand_id, run.id, t.visit, t.node_id, t.node_type, t.status, t.branch, t.facts::jsonb, t.error, t.entered_at, t.left_at
      from run
     cross join unnest(:node_ids::text[], :node_types::text[], :statuses::text[], :branches::text[], :facts::text[], :errors::text[],
                       :entered_ats::timestamptz[], :left_ats::timestamptz[]) with ordinality
                as t (node_id, node_type, status, branch, facts, error, entered_at, left_at, visit)
)
select id from run;
