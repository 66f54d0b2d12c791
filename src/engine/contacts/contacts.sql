-- Defines the custom fields that a brand does not have yet, as far as it may have more. Gives those that are new.
-- name: contact_fields_define :many
-- params: brand_id bigint, names text[], types text[], max_fields bigint, now timestamptz
-- columns: name text
insert into contact_fields (brand_id, name, type, created_at)
select :brand_id, g.name, g.type, :now
  from unnest(:names::text[], :types::text[]) as g(name, type)
 where not exists (select 1 from contact_fields f where f.brand_id = :brand_id and f.name = g.name)
 order by g.name
 limit greatest(0, :max_fields - (select count(*) from contact_fields where brand_id = :brand_id))
    on conflict (brand_id, name) do nothing
returning name;

-- The definitions of these custom fields; `names` null: of all.
-- name: contact_fields_find :many
-- params: brand_id bigint, names text[] null
-- columns: name text, type text
select name, type
  from contact_fields
 where brand_id = :brand_id and (:names::text[] is null or name = any(:names));

-- Creates or updates one contact. What is not set stays as it is; a custom field set to JSON null goes.
-- name: contact_save :one
-- params: brand_id bigint, email text, email_key text, address_hash bytea, sets_first_name boolean, first_name text null, sets_last_name boolean, last_name text null, sets_user_id boolean, user_id text null, source text null, subscribed boolean null, subscription_groups jsonb, custom_fields jsonb, consent jsonb null, now timestamptz
-- row: contact
-- columns: id bigint, email text, first_name text null, last_name text null, user_id text null, source text, subscribed boolean, subscription_groups jsonb, custom_fields jsonb, consent jsonb null, created_at timestamptz, updated_at timestamptz, inserted boolean
insert into contacts as c (brand_id, email, email_key, first_name, last_name, user_id, source, subscribed,
                           subscription_groups, custom_fields, consent, created_at, updated_at)
values (:brand_id, :email, :email_key, :first_name, :last_name, :user_id, coalesce(:source, 'API'),
        coalesce(:subscribed, not exists (select 1 from suppressions s
                                           where s.brand_id = :brand_id and s.address_hash = :address_hash)),
        :subscription_groups, jsonb_strip_nulls(:custom_fields), :consent, :now, :now)
    on conflict (brand_id, email_key) do update
   set email = excluded.email,
       first_name = case when :sets_first_name then excluded.first_name else c.first_name end,
       last_name = case when :sets_last_name then excluded.last_name else c.last_name end,
       user_id = case when :sets_user_id then excluded.user_id else c.user_id end,
       source = coalesce(:source, c.source),
       subscribed = coalesce(:subscribed, c.subscribed),
       subscription_groups = c.subscription_groups || excluded.subscription_groups,
       custom_fields = jsonb_strip_nulls(c.custom_fields || :custom_fields),
       consent = coalesce(excluded.consent, c.consent),
       updated_at = excluded.updated_at
returning id, email, first_name, last_name, user_id, source, subscribed, subscription_groups, custom_fields, consent,
          created_at, updated_at, xmax = 0;

-- Creates or updates many contacts, each at most once in the arrays. Rows are locked in the order of their keys, so
-- that two batches with the same people cannot deadlock. `missed` rows were created by somebody else meanwhile: the
-- same statement, run again, updates them. `ids` are some of the contacts touched. Contacts are reached by their unique
-- keys only, one by one, so that no statistics of a growing table can make a bad plan of it.
-- name: contacts_save :one
-- params: brand_id bigint, emails text[], email_keys text[], address_hashes text[], sets_first_name boolean[], first_names text[], sets_last_name boolean[], last_names text[], sets_user_id boolean[], user_ids text[], sources text[], subscribed text[], subscription_groups jsonb[], custom_fields jsonb[], consents jsonb[], max_ids bigint, now timestamptz
-- columns: inserted bigint, missed bigint, ids bigint[]
with given as (
    select *
      from unnest(:emails::text[], :email_keys::text[], :address_hashes::text[], :sets_first_name::boolean[], :first_names::text[],
                  :sets_last_name::boolean[], :last_names::text[], :sets_user_id::boolean[], :user_ids::text[], :sources::text[],
                  :subscribed::text[], :subscription_groups::jsonb[], :custom_fields::jsonb[], :consents::jsonb[])
           as g(email, email_key, address_hash, sets_first_name, first_name, sets_last_name, last_name, sets_user_id, user_id,
                source, subscribed, subscription_groups, custom_fields, consent)
     order by email_key
), wanted as materialized (
    select c.id as known_id, g.email, g.email_key,
           case when g.sets_first_name then g.first_name else c.first_name end as first_name,
           case when g.sets_last_name then g.last_name else c.last_name end as last_name,
           case when g.sets_user_id then g.user_id else c.user_id end as user_id,
           coalesce(g.source, c.source, 'API') as source,
           coalesce(g.subscribed::boolean, c.subscribed,
                    not exists (select 1 from suppressions s
                                 where s.brand_id = :brand_id and s.address_hash = decode(g.address_hash, 'hex'))) as subscribed,
           coalesce(c.subscription_groups, '{}') || g.subscription_groups as subscription_groups,
           jsonb_strip_nulls(coalesce(c.custom_fields, '{}') || g.custom_fields) as custom_fields,
           coalesce(g.consent, c.consent) as consent
      from given g
      left join lateral (select * from contacts k
                          where k.brand_id = :brand_id and k.email_key = g.email_key
                          limit 1 for update) c on true
), saved as (
    insert into contacts as c (brand_id, email, email_key, first_name, last_name, user_id, source, subscribed,
                               subscription_groups, custom_fields, consent, created_at, updated_at)
    select :brand_id, email, email_key, first_name, last_name, user_id, source, subscribed,
           subscription_groups, custom_fields, consent, :now, :now
      from wanted
        on conflict (brand_id, email_key) do update
       set email = excluded.email, first_name = excluded.first_name, last_name = excluded.last_name, user_id = excluded.user_id,
           source = excluded.source, subscribed = excluded.subscribed, subscription_groups = excluded.subscription_groups,
           custom_fields = excluded.custom_fields, consent = excluded.consent, updated_at = excluded.updated_at
     where c.id in (select known_id from wanted where known_id is not null)
    returning id
)
select (select count(*) from saved) - (select count(known_id) from wanted),
       (select count(*) from wanted) - (select count(*) from saved),
       array(select id from saved limit :max_ids);

-- Remembers that these people want no marketing mail, whatever becomes of their contact.
-- name: contact_unsubscribes_keep :exec
-- params: brand_id bigint, address_hashes text[], now timestamptz
insert into suppressions (brand_id, address_hash, reason, created_at)
select :brand_id, decode(g.address_hash, 'hex'), 'unsubscribed', :now
  from unnest(:address_hashes::text[]) as g(address_hash)
 order by g.address_hash
    on conflict (brand_id, address_hash) do nothing;

-- Forgets that these people unsubscribed. Bounces and complaints stay.
-- name: contact_unsubscribes_lift :exec
-- params: brand_id bigint, address_hashes text[]
delete from suppressions
 where brand_id = :brand_id and reason = 'unsubscribed'
   and address_hash in (select decode(g.address_hash, 'hex') from unnest(:address_hashes::text[]) as g(address_hash));

-- The conditions of an audience.
-- name: contact_audience_filters :one
-- params: brand_id bigint, audience_id bigint
-- columns: filters jsonb
select filters from audiences where brand_id = :brand_id and id = :audience_id;
