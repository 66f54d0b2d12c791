-- Enqueues the job for some brands that have designs to draw, chosen by chance, unless `most` such jobs are queued or running. A brand
-- waits while a design of it was tried after `tried_after`.
-- name: preview_images_enqueue :exec
-- params: until timestamptz, tried_after timestamptz, most bigint, now timestamptz
insert into jobs (kind, pool, organization_id, brand_id, payload, run_after, created_at)
select 'draw_preview_images', 'network', b.organization_id, b.id, '{}', :now, :now
  from brands b
 where b.status <> 'deleting'
   and exists (select 1
                 from emails e
                 join email_versions v on v.brand_id = e.brand_id and v.id = e.latest_version_id
                where e.brand_id = b.id and e.status = 'ready' and e.deleted_at is null
                  and e.preview_version is distinct from e.latest_version_id and v.created_at <= :until)
   and not exists (select 1
                     from emails e
                    where e.brand_id = b.id and e.status = 'ready' and e.deleted_at is null
                      and e.preview_version is distinct from e.latest_version_id and e.preview_tried_at > :tried_after)
   and not exists (select 1
                     from jobs j
                    where j.brand_id = b.id and j.kind = 'draw_preview_images' and j.state in ('queued', 'running'))
 order by random()
 limit greatest(0, :most - (select count(*) from jobs where kind = 'draw_preview_images' and state in ('queued', 'running')))
    on conflict (brand_id) where kind = 'draw_preview_images' and state in ('queued', 'running') do nothing;

-- The next design of a brand to draw, and its latest version.
-- name: preview_image_next :one
-- params: brand_id bigint, until timestamptz
-- columns: email_id bigint, version_id bigint
select e.id, v.id
  from emails e
  join email_versions v on v.brand_id = e.brand_id and v.id = e.latest_version_id
 where e.brand_id = :brand_id and e.status = 'ready' and e.deleted_at is null
   and e.preview_version is distinct from e.latest_version_id and v.created_at <= :until
 order by e.preview_tried_at nulls first, e.id
 limit 1;

-- Saves the picture of a version, or that it has none, unless the design has got another version meanwhile.
-- name: preview_image_set :exec
-- params: brand_id bigint, email_id bigint, version_id bigint, image text null
update emails
   set preview_image = :image, preview_version = :version_id, preview_tried_at = null
 where brand_id = :brand_id and id = :email_id and latest_version_id = :version_id;

-- Notes that a design could not be tried.
-- name: preview_image_put_off :exec
-- params: brand_id bigint, email_id bigint, now timestamptz
update emails set preview_tried_at = :now where brand_id = :brand_id and id = :email_id;
