-- The audiences of a brand, newest first (keyset pagination).
-- name: audience_page :page
-- row: audience
-- params: brand_id bigint, from_start boolean, id bigint, limit bigint
-- columns: id bigint, name text, kind text, filters jsonb, selection jsonb null, readiness text null, build_job bigint null, events_scanned bigint, stamped_contacts bigint, enqueued_at timestamptz null, completed_at timestamptz null, created_at timestamptz, updated_at timestamptz
select a.id, a.name, a.kind, a.filters, a.selection,
       case when a.kind = 'cohort' then a.materialization_status end, a.build_job, a.events_scanned,
       a.stamped_contacts, a.enqueued_at, a.completed_at, a.created_at, a.updated_at
  from audiences a
 where a.brand_id = :brand_id and a.deleted_at is null
   and (:from_start or a.id < :id)
 order by a.id desc
 limit :limit;

-- One audience.
-- name: audience_find :one
-- row: audience
-- params: brand_id bigint, id bigint
-- columns: id bigint, name text, kind text, filters jsonb, selection jsonb null, readiness text null, build_job bigint null, events_scanned bigint, stamped_contacts bigint, enqueued_at timestamptz null, completed_at timestamptz null, created_at timestamptz, updated_at timestamptz
select a.id, a.name, a.kind, a.filters, a.selection,
       case when a.kind = 'cohort' then a.materialization_status end, a.build_job, a.events_scanned,
       a.stamped_contacts, a.enqueued_at, a.completed_at, a.created_at, a.updated_at
  from audiences a
 where a.brand_id = :brand_id and a.id = :id and a.deleted_at is null;

-- Inserts an audience with filters.
-- name: audience_insert :one
-- row: audience
-- params: brand_id bigint, name text, filters jsonb, now timestamptz
-- columns: id bigint, name text, kind text, filters jsonb, selection jsonb null, readiness text null, build_job bigint null, events_scanned bigint, stamped_contacts bigint, enqueued_at timestamptz null, completed_at timestamptz null, created_at timestamptz, updated_at timestamptz
insert into audiences (brand_id, name, filters, created_at, updated_at)
values (:brand_id, :name, :filters, :now, :now)
returning id, name, kind, filters, selection, case when kind = 'cohort' then materialization_status end, build_job,
          events_scanned, stamped_contacts, enqueued_at, completed_at, created_at, updated_at;

-- Inserts a cohort with a pending build.
-- name: audience_insert_cohort :one
-- row: audience
-- params: brand_id bigint, name text, selection jsonb, now timestamptz
-- columns: id bigint, name text, kind text, filters jsonb, selection jsonb null, readiness text null, build_job bigint null, events_scanned bigint, stamped_contacts bigint, enqueued_at timestamptz null, completed_at timestamptz null, created_at timestamptz, updated_at timestamptz
insert into audiences (brand_id, name, kind, filters, selection, materialization_status, enqueued_at, created_at, updated_at)
values (:brand_id, :name, 'cohort', '{"logic": "and", "filters": []}', :selection, 'pending', :now, :now, :now)
returning id, name, kind, filters, selection, case when kind = 'cohort' then materialization_status end, build_job,
          events_scanned, stamped_contacts, enqueued_at, completed_at, created_at, updated_at;

-- Stores the job that builds a cohort.
-- name: audience_set_job :exec
-- params: brand_id bigint, id bigint, job_id bigint
update audiences set build_job = :job_id where brand_id = :brand_id and id = :id;

-- Changes name or filters; null leaves a member unchanged.
-- name: audience_change :one
-- row: audience
-- params: brand_id bigint, id bigint, name text null, filters jsonb null, now timestamptz
-- columns: id bigint, name text, kind text, filters jsonb, selection jsonb null, readiness text null, build_job bigint null, events_scanned bigint, stamped_contacts bigint, enqueued_at timestamptz null, completed_at timestamptz null, created_at timestamptz, updated_at timestamptz
update audiences a
   set name = coalesce(:name, a.name), filters = coalesce(:filters, a.filters), updated_at = :now
 where a.brand_id = :brand_id and a.id = :id and a.deleted_at is null
returning a.id, a.name, a.kind, a.filters, a.selection,
       case when a.kind = 'cohort' then a.materialization_status end, a.build_job, a.events_scanned,
          a.stamped_contacts, a.enqueued_at, a.completed_at, a.created_at, a.updated_at;

-- Deletes an audience (soft delete). Accepted sends and audiences that refer to it still use it.
-- name: audience_delete :exec
-- params: brand_id bigint, id bigint, now timestamptz
update audiences set deleted_at = :now where brand_id = :brand_id and id = :id and deleted_at is null;

-- Locks a cohort for the next step of its build.
-- name: audience_build_lock :one
-- params: brand_id bigint, id bigint
-- columns: selection jsonb null, readiness text, stamped bigint, scanned_at timestamptz null, scanned_id bigint null, created_at timestamptz
select selection, materialization_status, stamped_contacts, scanned_at, scanned_id, created_at
  from audiences
 where brand_id = :brand_id and id = :id and kind = 'cohort'
   for update;

-- Adds the contacts of the next events as members. Returns the number of events read and the position after them. Recipients that
-- are not contacts any more are omitted. Null and an empty list mean any. The brand comes out of a subquery as in contacts_save.
-- name: audience_build_step :one
-- params: brand_id bigint, id bigint, event_types text[], from timestamptz, to timestamptz, send_id bigint null, email_id bigint null, automation_ids bigint[], recipient_key text null, after_at timestamptz, after_id bigint, limit bigint
-- columns: scanned bigint, stamped bigint, last_at timestamptz null, last_id bigint null
with chosen as materialized (
    select e.occurred_at, e.id, e.recipient_key
      from events e
     where e.brand_id = :brand_id and e.occurred_at >= :from and e.occurred_at < :to
       and (e.occurred_at, e.id) > (:after_at, :after_id)
       and e.domain = 'email' and e.mode = 'live' and e.event_type = any(:event_types::text[])
       and (:send_id::bigint is null or e.send_id = :send_id)
       and (:email_id::bigint is null or e.email_id = :email_id)
       and (cardinality(:automation_ids::bigint[]) = 0 or e.automation_id = any(:automation_ids::bigint[]))
       and (:recipient_key::text is null or e.recipient_key = :recipient_key)
     order by e.occurred_at, e.id
     limit :limit
), stamped as (
    insert into audience_members (brand_id, audience_id, contact_id)
    select e.brand_id, :id::bigint, c.id
      from (select distinct :brand_id::bigint as brand_id, recipient_key from chosen) e
     cross join lateral (select id from contacts k where k.brand_id = e.brand_id and k.email_key = e.recipient_key limit 1) c
        on conflict do nothing
    returning contact_id
), ending as (
    select occurred_at, id from chosen order by occurred_at desc, id desc limit 1
)
select (select count(*) from chosen), (select count(*) from stamped), (select occurred_at from ending), (select id from ending);

-- Tells the planner of a new cohort, without waiting for autovacuum. While neither the members nor the contacts of a brand are known, a
-- search in the cohort compares all with all. Another analyze is not waited for.
-- name: audience_analyze :exec
analyze (skip_locked) audience_members (brand_id, audience_id);

-- Stores the progress of a build. Readiness is running, ready or failed.
-- name: audience_build_note :exec
-- params: brand_id bigint, id bigint, readiness text, scanned bigint, stamped bigint, last_at timestamptz null, last_id bigint null, now timestamptz
update audiences
   set materialization_status = :readiness, events_scanned = events_scanned + :scanned,
       stamped_contacts = stamped_contacts + :stamped,
       scanned_at = coalesce(:last_at, scanned_at), scanned_id = coalesce(:last_id, scanned_id),
       completed_at = case when :readiness in ('ready', 'failed') then :now::timestamptz end
 where brand_id = :brand_id and id = :id;

-- Whether a send, a campaign or a message of an automation, and a design are in the brand, and the places, from 0, of the first
-- automation and the first audience that are not. A deleted audience is not.
-- name: audience_subjects :one
-- params: brand_id bigint, send_id bigint, email_id bigint, automation_ids bigint[], audience_ids bigint[]
-- columns: has_send boolean, has_email boolean, missing_automation bigint null, missing_audience bigint null
select exists (select 1 from sends where brand_id = :brand_id and id = :send_id and not is_carrier)
       or exists (select 1 from automation_sends where brand_id = :brand_id and id = :send_id),
       exists (select 1 from emails where brand_id = :brand_id and id = :email_id),
       (select min(g.place) - 1
          from unnest(:automation_ids::bigint[]) with ordinality as g (id, place)
         where not exists (select 1 from automations where brand_id = :brand_id and id = g.id)),
       (select min(g.place) - 1
          from unnest(:audience_ids::bigint[]) with ordinality as g (id, place)
         where not exists (select 1 from audiences where brand_id = :brand_id and id = g.id and deleted_at is null));
