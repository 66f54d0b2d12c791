-- The design of a test message.
-- name: compose_test_version :one
-- params: brand_id bigint, id bigint
-- columns: html_code bytea, text_code bytea, brand text
select v.html_code, v.text_code,
       jsonb_strip_nulls(b.identity || jsonb_build_object('name', b.name, 'domain', b.domain, 'timeZone', b.time_zone,
                                                          'locale', b.locale))::text
  from email_versions v
  join brands b on b.id = v.brand_id
 where v.brand_id = :brand_id and v.id = :id;

-- The contact data of one address, as the recipient of a test message.
-- name: compose_test_recipient :one
-- params: brand_id bigint, email_key text, fields text[]
-- columns: first_name text null, last_name text null, user_id text null, fields text[]
select c.first_name, c.last_name, c.user_id,
       array(select case jsonb_typeof(v.value) when 'null' then null when 'object' then 'j' || v.value::text
                                               when 'array' then 'j' || v.value::text
                                               else left(jsonb_typeof(v.value), 1) || (v.value #>> '{}') end
               from unnest(:fields::text[]) with ordinality as f (name, place)
              cross join lateral (select case f.name when '' then c.custom_fields else c.custom_fields -> f.name end) v (value)
              order by f.place)
  from contacts c
 where c.brand_id = (select :brand_id::bigint) and c.email_key = :email_key;
