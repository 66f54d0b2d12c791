-- A folder by its id. The lock prevents its deletion while the transaction adds a design to it.
-- name: email_group_find :one
-- params: brand_id bigint, id bigint
-- columns: id bigint, name text
select id, name from email_groups where brand_id = :brand_id and id = :id for key share;

-- The id of a folder by its name. Creates the folder when it does not exist.
-- name: email_group_ensure :one
-- params: brand_id bigint, name text, now timestamptz
-- columns: id bigint
insert into email_groups (brand_id, name, created_at) values (:brand_id, :name, :now)
    on conflict (brand_id, name) do update set name = excluded.name
returning id;

-- The folders of a brand by name, with the number of their designs (keyset pagination).
-- name: email_group_page :page
-- row: email_group
-- params: brand_id bigint, from_start boolean, key text null, id bigint, limit bigint
-- columns: id bigint, name text, email_count bigint, sort_key text
select g.id, g.name,
       (select count(*) from emails e where e.brand_id = g.brand_id and e.group_id = g.id and e.deleted_at is null),
       lower(g.name)
  from email_groups g
 where g.brand_id = :brand_id
   and (:from_start or (lower(g.name), g.id) > (:key, :id))
 order by lower(g.name), g.id
 limit :limit;

-- Inserts a folder; no row when its name exists already.
-- name: email_group_create :one
-- row: email_group
-- params: brand_id bigint, name text, now timestamptz
-- columns: id bigint, name text, email_count bigint, sort_key text
insert into email_groups (brand_id, name, created_at) values (:brand_id, :name, :now)
    on conflict (brand_id, name) do nothing
returning id, name, 0::bigint, lower(name);

-- Renames a folder.
-- name: email_group_rename :one
-- row: email_group
-- params: brand_id bigint, id bigint, name text
-- columns: id bigint, name text, email_count bigint, sort_key text
update email_groups g
   set name = :name
 where g.brand_id = :brand_id and g.id = :id
returning g.id, g.name,
          (select count(*) from emails e where e.brand_id = g.brand_id and e.group_id = g.id and e.deleted_at is null),
          lower(g.name);

-- Deletes a folder. Waits for concurrent transactions that add a design to it.
-- name: email_group_delete :exec
-- params: brand_id bigint, id bigint
delete from email_groups where brand_id = :brand_id and id = :id;

-- Removes the designs of a deleted folder from it.
-- name: email_group_empty :exec
-- params: brand_id bigint, group_id bigint
update emails set group_id = null where brand_id = :brand_id and group_id = :group_id;
