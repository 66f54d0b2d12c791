-- The data of a preview that is not in the request: the design's templates, the brand object for them, the name of the audience,
-- and the size of the brand's largest send so far.
-- name: send_preview_facts :one
-- params: brand_id bigint, version_id bigint, audience_id bigint
-- columns: html_code bytea, text_code bytea, brand text, audience_name text null, largest bigint null
select v.html_code, v.text_code,
       jsonb_strip_nulls(b.identity || jsonb_build_object('name', b.name, 'domain', b.domain, 'timeZone', b.time_zone,
                                                          'locale', b.locale))::text,
       (select a.name from audiences a where a.brand_id = v.brand_id and a.id = :audience_id),
       (select max(s.recipient_count) from sends s
         where s.brand_id = v.brand_id and s.kind = 'campaign' and s.status in ('running', 'completed', 'partially_completed'))
  from email_versions v
  join brands b on b.id = v.brand_id
 where v.brand_id = :brand_id and v.id = :version_id;

-- The contact of the sample recipient, with the custom fields of the design (engine/compose/merge_fields.h).
-- name: send_preview_sample :one
-- params: brand_id bigint, email_key text, fields text[]
-- columns: email text, first_name text null, last_name text null, user_id text null, fields text[]
select c.email, c.first_name, c.last_name, c.user_id,
       array(select case jsonb_typeof(v.value) when 'null' then null when 'object' then 'j' || v.value::text
                                               when 'array' then 'j' || v.value::text
                                               else left(jsonb_typeof(v.value), 1) || (v.value #>> '{}') end
               from unnest(:fields::text[]) with ordinality as f (name, place)
              cross join lateral (select case f.name when '' then c.custom_fields else c.custom_fields -> f.name end) v (value)
              order by f.place)
  from contacts c
 where c.brand_id = (select :brand_id::bigint) and c.email_key = :email_key;

-- Marks a token as used by a send or a launch. No row when it was used or declined before. Tokens that expired more than a day ago are deleted.
-- name: send_confirmation_use :one
-- params: brand_id bigint, token_hash bytea, send_id bigint null, audience_run_id bigint null, expires_at timestamptz, now timestamptz
-- columns: brand_id bigint
with forgotten as (
    delete from send_confirmations where brand_id = :brand_id and expires_at < :now::timestamptz - interval '1 day'
)
insert into send_confirmations (brand_id, token_hash, send_id, audience_run_id, expires_at)
values (:brand_id, :token_hash, :send_id, :audience_run_id, :expires_at)
    on conflict do nothing
returning brand_id;

-- Marks a token as declined. A token that was used stays so.
-- name: send_confirmation_decline :one
-- params: brand_id bigint, token_hash bytea, expires_at timestamptz
-- columns: was_used boolean
insert into send_confirmations as c (brand_id, token_hash, send_id, expires_at)
values (:brand_id, :token_hash, null, :expires_at)
    on conflict (brand_id, token_hash) do update set expires_at = c.expires_at
returning c.send_id is not null or c.audience_run_id is not null;
