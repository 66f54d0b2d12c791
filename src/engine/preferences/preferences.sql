-- The public groups of a brand, and whether the contact of a link has chosen them. The contact is found as in subscription_end.
-- name: preferences_of :many
-- row: preference
-- params: brand_id bigint, send_id bigint, ordinal bigint, contact_id bigint
-- columns: name text, title text, is_chosen boolean
select g.name, g.title, coalesce((c.subscription_groups ->> g.name)::boolean, false)
  from public_groups g
  left join contacts c on c.brand_id = (select :brand_id::bigint)
                      and c.email_key = (select link_email_key(:brand_id, :send_id, :ordinal, :contact_id))
 where g.brand_id = :brand_id
 order by g.title, g.name;

-- The address of the contact of a link. No row when the contact does not exist any more.
-- name: preference_contact :one
-- params: brand_id bigint, send_id bigint, ordinal bigint, contact_id bigint
-- columns: email text
select c.email
  from contacts c
 where c.brand_id = (select :brand_id::bigint) and c.email_key = (select link_email_key(:brand_id, :send_id, :ordinal, :contact_id));

-- Declares a group public. No row when the brand has as many as it may have. Changes of one brand wait for each other.
-- name: public_group_set :one
-- params: brand_id bigint, name text, title text, bound bigint, now timestamptz
-- columns: name text
with brand as materialized (
    select id from brands where id = :brand_id for no key update
)
insert into public_groups as g (brand_id, name, title, created_at)
select b.id, :name, :title, :now
  from brand b
 where (select count(*) from public_groups p where p.brand_id = b.id and p.name <> :name) < :bound
    on conflict (brand_id, name) do update set title = excluded.title
returning g.name;

-- Makes a group private.
-- name: public_group_remove :exec
-- params: brand_id bigint, name text
delete from public_groups where brand_id = :brand_id and name = :name;

-- The public groups of a brand.
-- name: public_group_all :many
-- params: brand_id bigint
-- columns: name text, title text, created_at timestamptz
select name, title, created_at from public_groups where brand_id = :brand_id order by title, name;
