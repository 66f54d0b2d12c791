-- The designs of a brand by last change, newest first (keyset pagination). A design that is being generated counts from its
-- creation.
-- name: email_page_by_updated :page
-- row: email_summary
-- params: brand_id bigint, status text null, any_group boolean, group_id bigint null, from_start boolean, at timestamptz, id bigint, limit bigint
-- columns: id bigint, title text, status text, group_id bigint null, group_name text null, version_id bigint null, preview_image text null, created_at timestamptz, listed_at timestamptz
select e.id, e.title, e.status, g.id, g.name, e.latest_version_id, e.preview_image, e.created_at, e.listed_at
  from emails e
  left join email_groups g on g.brand_id = e.brand_id and g.id = e.group_id
 where e.brand_id = :brand_id and e.deleted_at is null
   and (:from_start or (e.listed_at, e.id) < (:at, :id))
   and (:status::text is null or e.status = :status)
   and (:any_group or e.group_id is not distinct from :group_id)
 order by e.listed_at desc, e.id desc
 limit :limit;

-- The designs of a brand by creation, newest first (keyset pagination).
-- name: email_page_by_created :page
-- row: email_summary
-- params: brand_id bigint, status text null, any_group boolean, group_id bigint null, from_start boolean, at timestamptz, id bigint, limit bigint
-- columns: id bigint, title text, status text, group_id bigint null, group_name text null, version_id bigint null, preview_image text null, created_at timestamptz, listed_at timestamptz
select e.id, e.title, e.status, g.id, g.name, e.latest_version_id, e.preview_image, e.created_at, e.listed_at
  from emails e
  left join email_groups g on g.brand_id = e.brand_id and g.id = e.group_id
 where e.brand_id = :brand_id and e.deleted_at is null
   and (:from_start or (e.created_at, e.id) < (:at, :id))
   and (:status::text is null or e.status = :status)
   and (:any_group or e.group_id is not distinct from :group_id)
 order by e.created_at desc, e.id desc
 limit :limit;

-- One design with its latest or the given version, without its long members. A version that was asked for shows no picture of
-- another one. The statement is simple, so that PostgreSQL reuses its generic plan.
-- name: email_find :one
-- params: brand_id bigint, id bigint, version_id bigint null
-- columns: id bigint, title text, status text, subject_line text null, group_id bigint null, group_name text null, version_id bigint null, preview_text text null, made_by text null, preview_image text null, created_at timestamptz, updated_at timestamptz
select e.id, e.title, e.status, v.subject_line, g.id, g.name, v.id, v.preview_text, v.made_by,
       case when :version_id is null or e.preview_version = v.id then e.preview_image end, e.created_at, e.updated_at
  from emails e
  left join email_groups g on g.brand_id = e.brand_id and g.id = e.group_id
  left join email_versions v on v.brand_id = e.brand_id and v.id = coalesce(:version_id, e.latest_version_id) and v.email_id = e.id
 where e.brand_id = :brand_id and e.id = :id and e.deleted_at is null;

-- The long members of a design: the HTML and the document of a version, and its newest versions.
-- name: email_find_long :one
-- params: brand_id bigint, email_id bigint, version_id bigint, with_html boolean, with_document boolean, with_versions boolean, max_versions bigint
-- columns: html text null, document text null, version_ids bigint[] null, version_numbers bigint[] null, version_makers text[] null, version_documents bigint[] null
select (select v.html from email_versions v
         where :with_html and v.brand_id = :brand_id and v.email_id = :email_id and v.id = :version_id),
       (select v.document from email_versions v
         where :with_document and v.brand_id = :brand_id and v.email_id = :email_id and v.id = :version_id),
       n.ids, n.numbers, n.makers, n.documents
  from (select array_agg(v.id order by v.version desc), array_agg(v.version::bigint order by v.version desc),
               array_agg(v.made_by order by v.version desc), array_agg(v.has_document order by v.version desc)
          from (select id, version, made_by, (document is not null)::int::bigint as has_document
                  from email_versions
                 where :with_versions and brand_id = :brand_id and email_id = :email_id
                 order by version desc
                 limit :max_versions) v) as n (ids, numbers, makers, documents);

-- A version of a design with the content that is edited or compared: by its id, by its number, or the newest one below a number.
-- name: email_version_content :one
-- params: brand_id bigint, email_id bigint, id bigint null, version bigint null, below bigint null
-- columns: id bigint, version bigint, subject_line text null, preview_text text null, html text, document text null, made_by text, created_at timestamptz
select id, version::bigint, subject_line, preview_text, html, document, made_by, created_at
  from email_versions
 where brand_id = :brand_id and email_id = :email_id and (id = :id or version = :version or version < :below)
 order by version desc
 limit 1;

-- Adds the latest version of a design. Without `email_id` the design is inserted, too. The design may have no version yet. The
-- title is null when it stays.
-- name: email_add_version :one
-- params: brand_id bigint, email_id bigint null, title text null, group_id bigint null, subject_line text null, html text, plain_text text, html_code bytea, text_code bytea, preview_text text null, links jsonb, link_table jsonb, paths text[], report jsonb, document text null, changes text null, made_by text, block_serial bigint, now timestamptz
-- columns: id bigint, version_id bigint
with ids as (
    select coalesce(:email_id, nextval(pg_get_serial_sequence('emails', 'id'))) as email_id,
           nextval(pg_get_serial_sequence('email_versions', 'id')) as version_id
), inserted as (
    insert into emails (brand_id, id, title, status, group_id, latest_version_id, block_serial, created_at, updated_at)
    overriding system value
    select :brand_id, email_id, :title, 'ready', :group_id, version_id, :block_serial, :now, :now
      from ids
     where :email_id is null
), version as (
    insert into email_versions (brand_id, id, email_id, version, subject_line, html, plain_text, html_code, text_code,
                                preview_text, links, link_table, paths, report, document, changes, made_by, created_at)
    overriding system value
    select :brand_id, version_id, email_id,
           coalesce((select max(a.version) from email_versions a where a.brand_id = :brand_id and a.email_id = :email_id), 0) + 1,
           :subject_line, :html, :plain_text, :html_code, :text_code, :preview_text, :links, :link_table, :paths, :report,
           :document, :changes, :made_by, :now
      from ids
), updated as (
    update emails
       set latest_version_id = ids.version_id, status = 'ready', title = coalesce(:title, title),
           block_serial = greatest(block_serial, :block_serial), updated_at = :now
      from ids
     where brand_id = :brand_id and emails.id = :email_id
)
select email_id, version_id from ids;

-- Locks a design, also a deleted one, before a change.
-- name: email_lock :one
-- params: brand_id bigint, id bigint
-- columns: status text, latest_version_id bigint null, deleted_at timestamptz null
select status, latest_version_id, deleted_at
  from emails
 where brand_id = :brand_id and id = :id
   for no key update;

-- Changes the metadata of a design.
-- name: email_update :exec
-- params: brand_id bigint, id bigint, title text null, sets_group boolean, group_id bigint null, now timestamptz
update emails
   set title = coalesce(:title, title), group_id = case when :sets_group then :group_id else group_id end, updated_at = :now
 where brand_id = :brand_id and id = :id;

-- Changes the default subject, which belongs to the version.
-- name: email_version_set_subject :exec
-- params: brand_id bigint, id bigint, subject_line text null
update email_versions set subject_line = :subject_line where brand_id = :brand_id and id = :id;

-- Deletes a design (soft delete). Its versions stay, because sends use them, including sends that have not begun.
-- name: email_delete :exec
-- params: brand_id bigint, id bigint, now timestamptz
with pictures as (
    delete from previews where brand_id = :brand_id and email_id = :id
), spared as (
    insert into spare_pictures (brand_id, image, noted_at)
    select brand_id, preview_image, :now from emails where brand_id = :brand_id and id = :id and preview_image is not null
        on conflict (brand_id, image) do update set noted_at = excluded.noted_at
)
update emails set deleted_at = :now where brand_id = :brand_id and id = :id;

-- Whether a design exists.
-- name: email_exists :one
-- params: brand_id bigint, email_id bigint
-- columns: id bigint
select id from emails where brand_id = :brand_id and id = :email_id and deleted_at is null;

-- A saved version of a design, by its id or by its number.
-- name: email_version_find :one
-- params: brand_id bigint, email_id bigint, id bigint null, version bigint null
-- columns: id bigint
select id
  from email_versions
 where brand_id = :brand_id and email_id = :email_id and (id = :id or version = :version);

-- Appends a copy of a saved version as the latest version of a locked design.
-- name: email_restore :exec
-- params: brand_id bigint, email_id bigint, version_id bigint, now timestamptz
with copy as (
    insert into email_versions (brand_id, email_id, version, subject_line, html, plain_text, html_code, text_code, preview_text,
                                links, link_table, paths, report, document, made_by, created_at)
    select v.brand_id, v.email_id,
           (select max(a.version) + 1 from email_versions a where a.brand_id = v.brand_id and a.email_id = v.email_id),
           v.subject_line, v.html, v.plain_text, v.html_code, v.text_code, v.preview_text, v.links, v.link_table, v.paths, v.report,
           v.document, 'restore', :now
      from email_versions v
     where v.brand_id = :brand_id and v.email_id = :email_id and v.id = :version_id
    returning id
)
update emails
   set latest_version_id = copy.id, status = 'ready', updated_at = :now
  from copy
 where brand_id = :brand_id and emails.id = :email_id;

-- What an edit of a design reads: its latest version, the number of its last block id, and the brand's part of its look.
-- name: email_edit_source :one
-- params: brand_id bigint, id bigint
-- columns: version_id bigint null, subject_line text null, html text null, links jsonb null, paths text[] null, document text null, block_serial bigint, email_design text null, locale text, time_zone text
select v.id, v.subject_line, v.html, v.links, v.paths, v.document, e.block_serial, b.email_design, b.locale, b.time_zone
  from emails e
  join brands b on b.id = e.brand_id
  left join email_versions v on v.brand_id = e.brand_id and v.id = e.latest_version_id and v.email_id = e.id
 where e.brand_id = :brand_id and e.id = :id and e.deleted_at is null;

-- The source of a clone, with its latest or the given version.
-- name: email_clone_source :one
-- params: brand_id bigint, id bigint, version_id bigint null
-- columns: title text, status text, latest_version_id bigint null, version_id bigint null
select e.title, e.status, e.latest_version_id, v.id
  from emails e
  left join email_versions v on v.brand_id = e.brand_id and v.email_id = e.id and v.id = coalesce(:version_id, e.latest_version_id)
 where e.brand_id = :brand_id and e.id = :id and e.deleted_at is null;

-- Inserts a design whose first version is a copy of the given version. It is in the folder of its source, unless another one is
-- set. A folder that is deleted meanwhile counts as none. A picture of the version is shared.
-- name: email_clone :one
-- params: brand_id bigint, version_id bigint, title text, sets_group boolean, group_id bigint null, now timestamptz
-- columns: id bigint
with ids as (
    select nextval(pg_get_serial_sequence('emails', 'id')) as email_id,
           nextval(pg_get_serial_sequence('email_versions', 'id')) as version_id
), version as (
    insert into email_versions (brand_id, id, email_id, version, subject_line, html, plain_text, html_code, text_code,
                                preview_text, links, link_table, paths, report, document, made_by, created_at)
    overriding system value
    select v.brand_id, ids.version_id, ids.email_id, 1, v.subject_line, v.html, v.plain_text, v.html_code, v.text_code,
           v.preview_text, v.links, v.link_table, v.paths, v.report, v.document, 'clone', :now
      from email_versions v, ids
     where v.brand_id = :brand_id and v.id = :version_id
), email as (
    insert into emails (brand_id, id, title, status, group_id, latest_version_id, preview_image, preview_version, block_serial, created_at,
                        updated_at)
    overriding system value
    select :brand_id, ids.email_id, :title, 'ready',
           case when :sets_group then :group_id
                else (select g.id from email_groups g where g.brand_id = :brand_id and g.id = e.group_id for key share) end,
           ids.version_id, case when e.preview_version = v.id then e.preview_image end,
           case when e.preview_version = v.id then ids.version_id end, e.block_serial, :now, :now
      from ids, email_versions v
      join emails e on e.brand_id = v.brand_id and e.id = v.email_id
     where v.brand_id = :brand_id and v.id = :version_id
)
select email_id from ids;

-- The next versions whose links are not numbered. A version of a send that is being delivered waits for its end, so that a message
-- that is composed again has the same bytes.
-- name: email_unnumbered :many
-- params: brand_id bigint, limit bigint
-- columns: id bigint, html text, plain_text text, html_code bytea, text_code bytea
select v.id, v.html, v.plain_text, v.html_code, v.text_code
  from email_versions v
 where v.brand_id = :brand_id and v.link_table is null
   and not exists (select 1 from sends s
                    where s.brand_id = v.brand_id and s.email_version_id = v.id and s.status = 'running'
                      and (not s.is_carrier
                           or exists (select 1 from send_ranges r
                                       where r.brand_id = s.brand_id and r.send_id = s.id and r.next_ordinal <= r.to_ordinal)
                           or exists (select 1 from send_retries y where y.brand_id = s.brand_id and y.send_id = s.id)))
 order by v.id
 limit :limit;

-- The number of versions whose links are not numbered.
-- name: email_unnumbered_left :one
-- params: brand_id bigint
-- columns: count bigint
select count(*) from email_versions where brand_id = :brand_id and link_table is null;

-- Stores the programs and the links of a version.
-- name: email_set_links :exec
-- params: brand_id bigint, id bigint, html_code bytea, text_code bytea, link_table jsonb
update email_versions
   set html_code = :html_code, text_code = :text_code, link_table = :link_table
 where brand_id = :brand_id and id = :id and link_table is null;
