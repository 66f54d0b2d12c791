-- The automation of a launch, with its published version, and what the organization demands.
-- name: launch_automation :one
-- params: brand_id bigint, id bigint
-- columns: name text, version_id bigint null, audience_id bigint null, audience_name text null, nodes jsonb null, connections jsonb null, approvals_above bigint null
select a.name, v.id, v.audience_id, u.name, v.nodes, v.connections, o.approvals_above
  from automations a
  join brands b on b.id = a.brand_id
  join organizations o on o.id = b.organization_id
  left join automation_versions v on v.brand_id = a.brand_id and v.id = a.live_version_id
  left join audiences u on u.brand_id = a.brand_id and u.id = v.audience_id
 where a.brand_id = :brand_id and a.id = :id and a.deleted_at is null;

-- Whether all of these domains are for transactional mail. 0 is the default domain of the brand.
-- name: launch_is_transactional :one
-- params: brand_id bigint, domain_ids bigint[]
-- columns: is_transactional boolean
select cardinality(:domain_ids::bigint[]) > 0
       and not exists (select 1
                         from unnest(:domain_ids::bigint[]) as n (id)
                         left join domains d
                           on d.id = case when n.id > 0 then n.id
                                          else (select f.id from domains f
                                                 where f.brand_id = :brand_id and f.deleted_at is null
                                                   and (f.kind = 'sandbox' or f.status = 'verified')
                                                 order by f.kind = 'sandbox', f.id
                                                 limit 1) end
                          and d.brand_id = :brand_id
                        where d.sending_purpose is distinct from 'transactional');

-- Inserts a launch.
-- name: launch_insert :one
-- params: brand_id bigint, automation_id bigint, version_id bigint, audience_id bigint, status text, scheduled_at timestamptz null, gradual jsonb null, now timestamptz
-- columns: id bigint
insert into audience_runs (brand_id, automation_id, version_id, audience_id, status, scheduled_at, gradual, created_at, updated_at)
values (:brand_id, :automation_id, :version_id, :audience_id, :status, :scheduled_at, :gradual, :now, :now)
returning id;

-- Stores the job that begins a launch.
-- name: launch_set_job :exec
-- params: brand_id bigint, id bigint, job_id bigint
update audience_runs set job_id = :job_id where brand_id = :brand_id and id = :id;

-- A launch that is about to begin. The lock of the automation keeps it published, and makes a cancellation of all its runs wait.
-- name: launch_find :one
-- params: brand_id bigint, id bigint
-- columns: status text, audience_id bigint, scheduled_at timestamptz null, gradual jsonb null, is_published boolean, nodes jsonb, connections jsonb
select l.status, l.audience_id, l.scheduled_at, l.gradual, a.live_version_id is not null and a.deleted_at is null, v.nodes, v.connections
  from audience_runs l
  join automations a on a.brand_id = l.brand_id and a.id = l.automation_id
  join automation_versions v on v.brand_id = l.brand_id and v.id = l.version_id
 where l.brand_id = :brand_id and l.id = :id
   for share of a;

-- Marks a launch that cannot begin as failed.
-- name: launch_give_up :exec
-- params: brand_id bigint, id bigint, error text, now timestamptz
update audience_runs
   set status = 'failed', error = :error, completed_at = :now, updated_at = :now
 where brand_id = :brand_id and id = :id and status in ('scheduled', 'queued');
