-- Defines the custom fields that a brand does not have yet, up to its limit. Returns the new ones.
-- name: contact_fields_define :many
-- params: brand_id bigint, names text[], types text[], max_fields bigint, now timestamptz
-- columns: name text
select d.name from define_contact_fields(:brand_id, :names, :types, :max_fields, :now) as d(name);

-- The definitions of these custom fields, in the order of names; `names` null: all.
-- name: contact_fields_find :many
-- params: brand_id bigint, names text[] null
-- columns: name text, type text
select name, type
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

-- Removes the values of a custom field from the next contacts after an id; `last_id` null when no contacts are left.
-- name: contact_field_clear :one
-- params: brand_id bigint, name text, after_id bigint, limit bigint
-- columns: seen bigint, last_id bigint null
with next as materialized (
    select id, custom_fields ? :name as has_it
      from contacts
     where brand_id = :brand_id and id > :after_id
     order by id
     limit :limit
), cleared as (
    update contacts
       set custom_fields = custom_fields - :name
     where brand_id = :brand_id and id in (select id from next where has_it)
)
select count(*), max(id) from next;

-- Removes the definition of a custom field, and the values written while it was being cleared.
-- name: contact_field_delete :one
-- params: brand_id bigint, name text
-- columns: deleted bigint
with gone as (
    delete from contact_fields where brand_id = :brand_id and name = :name
    returning name
), cleared as (
    update contacts
       set custom_fields = custom_fields - :name
     where brand_id = :brand_id and custom_fields ? :name and exists (select 1 from gone)
)
select count(*) from gone;
