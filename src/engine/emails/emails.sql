-- The designs of a brand by last change, newest first, from behind a place on.
-- name: email_page_by_updated :many
-- row: email_summary
-- params: brand_id bigint, status text null, any_group boolean, group_id bigint null, from_start boolean, at timestamptz, id bigint, limit bigint
-- columns: id bigint, title text, status text, group_id bigint null, group_name text null, version_id bigint null, preview_image text null, created_at timestamptz, updated_at timestamptz
select e.id, e.title, e.status, g.id, g.name, e.latest_version_id, e.preview_image, e.created_at, e.updated_at
  from emails e
  left join email_groups g on g.brand_id = e.brand_id and g.id = e.group_id
 where e.brand_id = :brand_id and e.deleted_at is null
   and (:from_start or (e.updated_at, e.id) < (:at, :id))
   and (:status::text is null or e.status = :status)
   and (:any_group or e.group_id is not distinct from :group_id)
 order by e.updated_at desc, e.id desc
 limit :limit;

-- The designs of a brand by creation, newest first, from behind a place on.
-- name: email_page_by_created :many
-- row: email_summary
-- params: brand_id bigint, status text null, any_group boolean, group_id bigint null, from_start boolean, at timestamptz, id bigint, limit bigint
-- columns: id bigint, title text, status text, group_id bigint null, group_name text null, version_id bigint null, preview_image text null, created_at timestamptz, updated_at timestamptz
select e.id, e.title, e.status, g.id, g.name, e.latest_version_id, e.preview_image, e.created_at, e.updated_at
  from emails e
  left join email_groups g on g.brand_id = e.brand_id and g.id = e.group_id
 where e.brand_id = :brand_id and e.deleted_at is null
   and (:from_start or (e.created_at, e.id) < (:at, :id))
   and (:status::text is null or e.status = :status)
   and (:any_group or e.group_id is not distinct from :group_id)
 order by e.created_at desc, e.id desc
 limit :limit;

-- One design with its latest version or the one named, without what is long. Kept plain, so that its plan is made once.
-- name: email_find :one
-- params: brand_id bigint, id bigint, version_id bigint null
-- columns: id bigint, title text, status text, subject_line text null, group_id bigint null, group_name text null, version_id bigint null, preview_text text null, preview_image text null, created_at timestamptz, updated_at timestamptz
select e.id, e.title, e.status, e.subject_line, g.id, g.name, v.id, v.preview_text, e.preview_image, e.created_at, e.updated_at
  from emails e
  left join email_groups g on g.brand_id = e.brand_id and g.id = e.group_id
  left join email_versions v on v.brand_id = e.brand_id and v.id = coalesce(:version_id, e.latest_version_id) and v.email_id = e.id
 where e.brand_id = :brand_id and e.id = :id and e.deleted_at is null;

-- What is long about a design: the HTML of a version, and the versions there are.
-- name: email_find_long :one
-- params: brand_id bigint, email_id bigint, version_id bigint, with_html boolean, with_versions boolean
-- columns: html text null, version_ids bigint[] null, version_numbers bigint[] null
select (select v.html from email_versions v
         where :with_html and v.brand_id = :brand_id and v.email_id = :email_id and v.id = :version_id),
       (select array_agg(v.id order by v.version desc) from email_versions v
         where :with_versions and v.brand_id = :brand_id and v.email_id = :email_id),
       (select array_agg(v.version::bigint order by v.version desc) from email_versions v
         where :with_versions and v.brand_id = :brand_id and v.email_id = :email_id);

-- A folder by its id.
-- name: email_group_find :one
-- params: brand_id bigint, id bigint
-- columns: id bigint, name text
select id, name from email_groups where brand_id = :brand_id and id = :id;

-- A folder by its name, made when there is none.
-- name: email_group_ensure :one
-- params: brand_id bigint, name text, now timestamptz
-- columns: id bigint
insert into email_groups (brand_id, name, created_at) values (:brand_id, :name, :now)
    on conflict (brand_id, name) do update set name = excluded.name
returning id;

-- A finished design with its first version.
-- name: email_insert :one
-- params: brand_id bigint, title text, subject_line text null, group_id bigint null, html text, plain_text text, html_code bytea, text_code bytea, preview_text text null, links jsonb, paths text[], report jsonb, now timestamptz
-- columns: id bigint, version_id bigint
with ids as (
    select nextval(pg_get_serial_sequence('emails', 'id')) as email_id,
           nextval(pg_get_serial_sequence('email_versions', 'id')) as version_id
), email as (
    insert into emails (brand_id, id, title, status, subject_line, group_id, latest_version_id, created_at, updated_at)
    overriding system value
    select :brand_id, email_id, :title, 'ready', :subject_line, :group_id, version_id, :now, :now
      from ids
), version as (
    insert into email_versions (brand_id, id, email_id, version, html, plain_text, html_code, text_code, preview_text, links,
                                paths, report, created_at)
    overriding system value
    select :brand_id, version_id, email_id, 1, :html, :plain_text, :html_code, :text_code, :preview_text, :links, :paths,
           :report, :now
      from ids
)
select email_id, version_id from ids;
