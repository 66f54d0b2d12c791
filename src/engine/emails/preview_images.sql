-- Enqueues the job for some brands that have designs to draw, chosen by chance, unless `most` such jobs are queued or running. A brand
-- waits while a design of it was tried after `tried_after`. It steps from one brand to the next by the index of undrawn designs, so
-- brands without any cost nothing. "limit 1" and "offset 0" make the planner look at single designs of each brand; a join would read all
-- undrawn designs.
-- name: preview_images_enqueue :exec
-- params: until timestamptz, tried_after timestamptz, most bigint, now timestamptz
with recursive undrawn (brand_id) as (
    (select brand_id
       from emails
      where status = 'ready' and deleted_at is null and preview_version is distinct from latest_version_id
      order by brand_id, preview_tried_at nulls first, id
      limit 1)
    union all
    select (select e.brand_id
              from emails e
             where e.status = 'ready' and e.deleted_at is null and e.preview_version is distinct from e.latest_version_id
               and e.brand_id > u.brand_id
             order by e.brand_id, e.preview_tried_at nulls first, e.id
             limit 1)
      from undrawn u
     where u.brand_id is not null
)
insert into jobs (kind, pool, organization_id, brand_id, payload, run_after, created_at)
select 'draw_preview_images', 'network', b.organization_id, u.brand_id, '{}', :now, :now
  from undrawn u
 cross join lateral (select organization_id from brands where id = u.brand_id and status <> 'deleting' limit 1) b
 cross join lateral (select 1
                       from emails e
                      cross join lateral (select 1
                                            from email_versions v
                                           where v.brand_id = e.brand_id and v.id = e.latest_version_id and v.created_at <= :until
                                           limit 1) v
                      where e.brand_id = u.brand_id and e.status = 'ready' and e.deleted_at is null
                        and e.preview_version is distinct from e.latest_version_id
                      order by e.preview_tried_at nulls first, e.id
                      limit 1) settled
 where not exists (select 1
                     from emails e
                    where e.brand_id = u.brand_id and e.status = 'ready' and e.deleted_at is null
                      and e.preview_version is distinct from e.latest_version_id and e.preview_tried_at > :tried_after
                   offset 0)
   and not exists (select 1
                     from jobs j
                    where j.brand_id = u.brand_id and j.kind = 'draw_preview_images' and j.state in ('queued', 'running'))
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
-- The picture before is spare.
-- name: preview_image_set :exec
-- params: brand_id bigint, email_id bigint, version_id bigint, image text null, now timestamptz
with spared as (
    insert into spare_pictures (brand_id, image, noted_at)
    select brand_id, preview_image, :now
      from emails
     where brand_id = :brand_id and id = :email_id and latest_version_id = :version_id and preview_image is distinct from :image
       and preview_image is not null
        on conflict (brand_id, image) do update set noted_at = excluded.noted_at
)
update emails
   set preview_image = :image, preview_version = :version_id, preview_tried_at = null
 where brand_id = :brand_id and id = :email_id and latest_version_id = :version_id;

-- Notes that a design could not be tried.
-- name: preview_image_put_off :exec
-- params: brand_id bigint, email_id bigint, now timestamptz
update emails set preview_tried_at = :now where brand_id = :brand_id and id = :email_id;

-- Notes a picture that is about to be stored, so that it is found when its job ends before a design shows it.
-- name: spare_picture_note :exec
-- params: brand_id bigint, image text, now timestamptz
insert into spare_pictures (brand_id, image, noted_at)
values (:brand_id, :image, :now)
    on conflict (brand_id, image) do update set noted_at = excluded.noted_at;

-- Images that the library of a brand has now are not spare.
-- name: spare_pictures_clear :exec
-- params: brand_id bigint, images text[]
delete from spare_pictures where brand_id = :brand_id and image = any(:images::text[]);

-- The pictures that were noted longest ago, and whether a design of any brand shows them.
-- name: spare_pictures_due :many
-- params: before timestamptz, limit bigint
-- columns: brand_id bigint, image text, is_shown boolean
select s.brand_id, s.image, exists (select from emails e where e.preview_image = s.image and e.deleted_at is null)
  from spare_pictures s
 where s.noted_at <= :before
 order by s.noted_at
 limit :limit;

-- Forgets pictures, unless they were noted again meanwhile.
-- name: spare_pictures_forget :exec
-- params: brand_ids bigint[], images text[], before timestamptz
delete from spare_pictures s
 using unnest(:brand_ids::bigint[], :images::text[]) as g (brand_id, image)
 where s.brand_id = g.brand_id and s.image = g.image and s.noted_at <= :before;
