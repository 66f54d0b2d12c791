-- Defines the custom fields that a brand does not have yet, up to its limit. Returns the new ones.
-- name: contact_fields_define :many
-- params: brand_id bigint, names text[], types text[], max_fields bigint, now timestamptz
-- columns: name text
select d.name from define_contact_fields(:brand_id, :names, :types, :max_fields, :now) as d(name);

-- The definitions of these custom fields, in the order of names; `names` null: all. is_leaving: it is being deleted.
-- name: contact_fields_find :many
-- params: brand_id bigint, names text[] null
-- columns: name text, type text, is_leaving boolean
select name, type, cleared_to is not null
  from contact_fields
 where brand_id = :brand_id and (:names::text[] is null or name = any(:names))
 order by name;

-- The values that several of the newest contacts have in these text fields, the most frequent first. Longer values and contacts
-- with very large fields are left out, and the fields of a contact are read once, so the cost is bounded.
-- name: contact_field_values :many
-- params: brand_id bigint, names text[], sample bigint, max_chars bigint, limit bigint
-- columns: name text, value text
with sample as materialized (
    select source, case when pg_column_size(custom_fields) <= 16384 then custom_fields else '{}' end as custom_fields
      from contacts
     where brand_id = :brand_id
     order by id desc
     limit :sample
), given as (
    select f.name, f.value
      from sample s
     cross join lateral jsonb_each_text(s.custom_fields) as f(name, value)
     where f.name = any(:names::text[])
     union all
    select 'source', source from sample where 'source' = any(:names::text[])
), counted as (
    select name, value, row_number() over (partition by name order by count(*) desc, value) as rank
      from given
     where length(value) between 1 and :max_chars
     group by name, value
    having count(*) > 1
)
select name, value from counted where rank <= :limit order by name, rank;

-- Keeps the deletion of a custom field from beginning until the transaction ends. A later statement sees the fields that may be written.
-- name: contact_fields_share :exec
-- params: lock integer, brand_id bigint
select pg_advisory_xact_lock_shared(:lock, hashint8(:brand_id));

-- Those of these custom fields that take no values any more.
-- name: contact_fields_gone :many
-- params: brand_id bigint, names text[]
-- columns: name text
select g.name
  from unnest(:names::text[]) as g(name)
 where not exists (select from contact_fields f where f.brand_id = :brand_id and f.name = g.name and f.cleared_to is null);

-- Marks a custom field as being deleted, behind the transactions that write its values. No row: it does not exist.
-- name: contact_field_leave :many
-- params: brand_id bigint, name text, lock integer
-- columns: name text
update contact_fields
   set cleared_to = coalesce(cleared_to, 0)
 where brand_id = :brand_id and name = :name
   and case when cleared_to is null then pg_advisory_xact_lock(:lock, hashint8(:brand_id)) is not null else true end
returning name;

-- Removes the values of a custom field that is being deleted from the next contacts, and notes how far it got. `seen` is smaller than the
-- limit when no contacts are left.
-- name: contact_field_clear :one
-- params: brand_id bigint, name text, limit bigint
-- columns: seen bigint
with field as materialized (
    select cleared_to from contact_fields where brand_id = :brand_id and name = :name and cleared_to is not null for update
), next as materialized (
    select c.id, c.has_it
      from field f
     cross join lateral (select k.id, k.custom_fields ? :name as has_it
                           from contacts k
                          where k.brand_id = :brand_id and k.id > f.cleared_to
                          order by k.id
                          limit :limit) c
), cleared as (
    update contacts
       set custom_fields = custom_fields - :name
     where brand_id = :brand_id and id in (select id from next where has_it)
), moved as (
    update contact_fields f
       set cleared_to = n.last_id
      from (select max(id) as last_id from next) n
     where f.brand_id = :brand_id and f.name = :name and n.last_id is not null
)
select count(*) from next;

-- Removes the definition of a custom field that is being deleted.
-- name: contact_field_delete :exec
-- params: brand_id bigint, name text
delete from contact_fields where brand_id = :brand_id and name = :name and cleared_to is not null;

-- Takes a custom field whose deletion has failed into use again, without the values that are gone.
-- name: contact_field_stay :exec
-- params: brand_id bigint, name text
update contact_fields set cleared_to = null where brand_id = :brand_id and name = :name;
