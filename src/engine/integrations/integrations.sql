-- The number of the next connection; its secret is sealed for it.
-- name: integration_next :one
-- columns: id bigint
select nextval(pg_get_serial_sequence('integration_connections', 'id'));

-- Makes a connection, unless the brand has :most that are in use.
-- name: integration_insert :one
-- params: brand_id bigint, id bigint, provider text, name text, secret bytea, settings jsonb, now timestamptz, most bigint
-- columns: id bigint
insert into integration_connections (brand_id, id, provider, name, secret, settings, created_at)
overriding system value
select :brand_id, :id, :provider, :name, :secret, :settings, :now
 where (select count(*) from integration_connections where brand_id = :brand_id and revoked_at is null) < :most
returning id;

-- Makes the triggers of a connection.
-- name: integration_triggers_insert :exec
-- params: brand_id bigint, connection_id bigint, provider text, events text[], titles text[], schemas jsonb[], now timestamptz
insert into triggers (brand_id, provider, connection_id, event, title, schema, created_at, updated_at)
select :brand_id, :provider, :connection_id, t.event, t.title, t.schema, :now, :now
  from unnest(:events::text[], :titles::text[], :schemas::jsonb[]) with ordinality as t (event, title, schema, place)
 order by t.place;

-- The connections of a brand, oldest first.
-- name: integrations_of_brand :many
-- params: brand_id bigint
-- columns: id bigint, provider text, name text, settings jsonb, created_at timestamptz, used_at timestamptz null, revoked_at timestamptz null
select id, provider, name, settings, created_at, used_at, revoked_at from integration_connections where brand_id = :brand_id order by id;

-- The triggers of a connection.
-- name: integration_triggers :many
-- params: brand_id bigint, connection_id bigint
-- columns: id bigint, event text null, title text
select id, event, title from triggers where brand_id = :brand_id and connection_id = :connection_id order by id;

-- Providers that a brand has connected.
-- name: integrations_connected :many
-- params: brand_id bigint
-- columns: provider text
select distinct provider from integration_connections where brand_id = :brand_id and revoked_at is null;

-- The provider of a connection that is in use, locked.
-- name: integration_lock :one
-- params: brand_id bigint, id bigint
-- columns: provider text
select provider from integration_connections where brand_id = :brand_id and id = :id and revoked_at is null for update;

-- Gives a connection another secret.
-- name: integration_rotate :exec
-- params: brand_id bigint, id bigint, secret bytea
update integration_connections set secret = :secret where brand_id = :brand_id and id = :id;

-- Ends a connection. Its triggers stay when a version of an automation names them, because runs and fires refer to them.
-- name: integration_revoke :one
-- params: brand_id bigint, id bigint, now timestamptz
-- columns: id bigint
with revoked as (
    update integration_connections set revoked_at = :now where brand_id = :brand_id and id = :id and revoked_at is null
    returning id
), people as (
    delete from integration_people p using revoked where p.brand_id = :brand_id and p.connection_id = revoked.id
), unused as (
    delete from triggers t using revoked
     where t.brand_id = :brand_id and t.connection_id = revoked.id
       and not exists (select 1 from automation_versions v where v.brand_id = t.brand_id and v.trigger_id = t.id)
       and not exists (select 1 from trigger_instances i where i.brand_id = t.brand_id and i.trigger_id = t.id)
)
select id from revoked;

-- A connection in use by its id alone, as its address names it.
-- name: integration_find :one
-- params: id bigint, provider text
-- columns: brand_id bigint, organization_id bigint, secret bytea, settings jsonb
select c.brand_id, b.organization_id, c.secret, c.settings
  from integration_connections c
  join brands b on b.id = c.brand_id
 where c.id = :id and c.provider = :provider and c.revoked_at is null and b.status <> 'deleting';

-- The trigger of an event, and the address of the person whom the provider names by its own id. person_key null: it names none.
-- name: integration_event_find :one
-- params: brand_id bigint, connection_id bigint, event text, person_key bytea null
-- columns: trigger_id bigint, email text null
select t.id, (select c.email from integration_people p join contacts c on c.brand_id = p.brand_id and c.id = p.contact_id
               where p.brand_id = :brand_id and p.connection_id = :connection_id and p.person_key = :person_key)
  from triggers t
 where t.brand_id = :brand_id and t.connection_id = :connection_id and t.event = :event;

-- Notes the keys of an event, and counts those that were not noted since :repeat_after. A key that was noted before is noted again.
-- name: integration_event_note :one
-- params: brand_id bigint, connection_id bigint, keys text[], now timestamptz, repeat_after timestamptz
-- columns: noted bigint
with given as (
    select decode(k, 'hex') as key from unnest(:keys::text[]) as t (k) order by 1
), noted as (
    insert into integration_events (brand_id, connection_id, event_key, received_at)
    select :brand_id, :connection_id, key, :now from given
        on conflict (brand_id, connection_id, event_key)
        do update set received_at = excluded.received_at where integration_events.received_at < :repeat_after
    returning 1
)
select count(*) from noted;

-- Records an event that could not be fired, also in the feed.
-- name: integration_event_reject :one
-- params: brand_id bigint, trigger_id bigint, provider text, reason text, now timestamptz
-- columns: id bigint
with rejected as (
    insert into trigger_instances (brand_id, occurred_at, trigger_id, source, provider, state, rejection_reason, processed_at)
    values (:brand_id, :now, :trigger_id, 'integration', :provider, 'rejected', :reason, :now)
    returning id
), told as (
    insert into events (brand_id, occurred_at, domain, event_type, summary, trigger_instance_id)
    select :brand_id, :now, 'inbound', 'unresolved', :reason, id from rejected
)
select id from rejected;

-- Remembers the contact of a person.
-- name: integration_person_keep :exec
-- params: brand_id bigint, connection_id bigint, person_key bytea, contact_id bigint
insert into integration_people (brand_id, connection_id, person_key, contact_id)
values (:brand_id, :connection_id, :person_key, :contact_id)
    on conflict (brand_id, connection_id, person_key) do update set contact_id = excluded.contact_id
 where integration_people.contact_id <> excluded.contact_id;

-- Notes the use of a connection, at most once a minute, and not while another event notes it.
-- name: integration_touch :exec
-- params: brand_id bigint, id bigint, now timestamptz
update integration_connections c set used_at = :now
  from (select id from integration_connections
         where brand_id = :brand_id and id = :id and (used_at is null or used_at < :now::timestamptz - interval '1 minute')
           for update skip locked) u
 where c.brand_id = :brand_id and c.id = u.id;

-- Deletes noted events of more than 30 days ago, some at a time.
-- name: integration_events_forget :exec
-- params: before timestamptz, limit bigint
delete from integration_events e
 using (select brand_id, connection_id, event_key from integration_events where received_at < :before order by received_at
         limit :limit for update skip locked) o
 where e.brand_id = o.brand_id and e.connection_id = o.connection_id and e.event_key = o.event_key;

-- Secrets that another master key sealed, after a position, locked.
-- name: integrations_to_reseal :many
-- params: after_brand_id bigint, after_id bigint, key_id integer, limit bigint
-- columns: brand_id bigint, id bigint, secret bytea
select brand_id, id, secret
  from integration_connections
 where (brand_id, id) > (:after_brand_id, :after_id) and get_byte(secret, 1) <> :key_id
 order by brand_id, id
 limit :limit
   for update;
