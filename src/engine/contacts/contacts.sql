-- Creates or updates contacts (upsert) and returns them. Unset members stay unchanged; a custom field set to JSON null is removed.
-- The arrays hold each contact once, in the order of the keys. Rows are locked in this order, so two transactions cannot deadlock.
-- Contacts are found by the unique index only, and suppressions one by one, so the plan does not depend on table statistics.
-- Meant for a few contacts: each existing one is searched for in the whole input. The arrays come out of a subquery, so that the
-- planner does not count their items: with the count, PostgreSQL plans each call anew, which costs more than the call.
-- name: contact_save :many
-- params: brand_id bigint, emails text[], email_keys text[], address_hashes text[], sets_first_name boolean[], first_names text[], sets_last_name boolean[], last_names text[], sets_user_id boolean[], user_ids text[], sources text[], subscribed text[], subscription_groups jsonb[], custom_fields jsonb[], consents jsonb[], now timestamptz
-- row: contact
-- columns: id bigint, email text, first_name text null, last_name text null, user_id text null, source text, subscribed boolean, subscription_groups jsonb, custom_fields jsonb, consent jsonb null, created_at timestamptz, updated_at timestamptz, inserted boolean
with given as materialized (
    select g.*
      from (select :emails::text[], :email_keys::text[], :address_hashes::text[], :sets_first_name::boolean[], :first_names::text[],
                   :sets_last_name::boolean[], :last_names::text[], :sets_user_id::boolean[], :user_ids::text[], :sources::text[],
                   :subscribed::text[], :subscription_groups::jsonb[], :custom_fields::jsonb[], :consents::jsonb[]
            offset 0)
           as p(a, b, c, d, e, f, g, h, i, j, k, l, m, n)
     cross join lateral unnest(p.a, p.b, p.c, p.d, p.e, p.f, p.g, p.h, p.i, p.j, p.k, p.l, p.m, p.n)
           as g(email, email_key, address_hash, sets_first_name, first_name, sets_last_name, last_name, sets_user_id, user_id,
                source, subscribed, subscription_groups, custom_fields, consent)
)
insert into contacts as c (brand_id, email, email_key, first_name, last_name, user_id, source, subscribed,
                           subscription_groups, custom_fields, consent, created_at, updated_at)
select :brand_id, email, email_key, first_name, last_name, user_id, coalesce(source, 'API'),
       coalesce(subscribed::boolean,
                (select false from suppressions_at(:brand_id, :now) s
                  where s.address_hash = decode(g.address_hash, 'hex')
                  limit 1),
                true),
       subscription_groups, jsonb_strip_nulls(custom_fields), consent, :now, :now
  from given g
    on conflict (brand_id, email_key) do update
   set (email, first_name, last_name, user_id, source, subscribed, subscription_groups, custom_fields, consent, updated_at) =
       (select g.email,
               case when g.sets_first_name then g.first_name else c.first_name end,
               case when g.sets_last_name then g.last_name else c.last_name end,
               case when g.sets_user_id then g.user_id else c.user_id end,
               coalesce(g.source, c.source),
               coalesce(g.subscribed::boolean, c.subscribed),
               c.subscription_groups || g.subscription_groups,
               jsonb_strip_nulls(c.custom_fields || g.custom_fields),
               coalesce(g.consent, c.consent),
               excluded.updated_at
          from given g
         where g.email_key = excluded.email_key)
returning id, email, first_name, last_name, user_id, source, subscribed, subscription_groups, custom_fields, consent,
          created_at, updated_at, xmax = 0;

-- Creates or updates many contacts (bulk upsert), each at most once in the arrays. Rows are locked in the order of their keys,
-- so two batches with the same people cannot deadlock. `missed` counts rows that another transaction created meanwhile: running
-- the statement again updates them. `ids` are some of the saved contacts. Contacts and suppressions are found one by one by
-- their unique keys, so the plan does not depend on table statistics. The brand comes out of a subquery here and below: about a
-- brand that it can look up in old statistics, the planner would assume that it has no contacts, and read all of them for each key.
-- name: contacts_save :one
-- params: brand_id bigint, emails text[], email_keys text[], address_hashes text[], sets_first_name boolean[], first_names text[], sets_last_name boolean[], last_names text[], sets_user_id boolean[], user_ids text[], sources text[], subscribed text[], subscription_groups jsonb[], custom_fields jsonb[], consents jsonb[], max_ids bigint, now timestamptz
-- columns: inserted bigint, missed bigint, ids bigint[]
with given as (
    select :brand_id::bigint as brand_id, g.*
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
                    (select false from suppressions_at(:brand_id, :now) s
                      where s.address_hash = decode(g.address_hash, 'hex')
                      limit 1),
                    true) as subscribed,
           coalesce(c.subscription_groups, '{}') || g.subscription_groups as subscription_groups,
           jsonb_strip_nulls(coalesce(c.custom_fields, '{}') || g.custom_fields) as custom_fields,
           coalesce(g.consent, c.consent) as consent
      from given g
      left join lateral (select * from contacts k
                          where k.brand_id = g.brand_id and k.email_key = g.email_key
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

-- The contacts that would get more subscription groups than a contact may have. The rows of one address count together. A contact
-- that has more already keeps them and gets no further ones.
-- name: contact_groups_beyond :many
-- params: brand_id bigint, email_keys text[], groups jsonb[], max_groups bigint
-- columns: email_key text
select g.email_key
  from (select :brand_id::bigint as brand_id, u.email_key, array_agg(distinct k.name) as names
          from unnest(:email_keys::text[], :groups::jsonb[]) as u(email_key, groups)
         cross join lateral jsonb_object_keys(u.groups) as k(name)
         group by u.email_key) g
  left join lateral (select array(select jsonb_object_keys(c.subscription_groups)) as names
                       from contacts c
                      where c.brand_id = g.brand_id and c.email_key = g.email_key
                      limit 1) has on true
 where (select count(*) from (select unnest(g.names) union select unnest(has.names)) every)
       > greatest(:max_groups, coalesce(cardinality(has.names), 0));

-- Deletes the unsubscribes of these addresses that the brand made. Bounces and complaints stay.
-- name: contact_unsubscribes_lift :exec
-- params: brand_id bigint, address_hashes text[]
select lift_unsubscribes(:brand_id, 'unsubscribed', :address_hashes,
                         array_fill('infinity'::timestamptz, array[cardinality(:address_hashes::text[])]));

-- Deletes unsubscribes made by the link of a message, if the person has given consent after it.
-- name: contact_unsubscribes_release :exec
-- params: brand_id bigint, address_hashes text[], agreed timestamptz[]
select lift_unsubscribes(:brand_id, 'unsubscribe', :address_hashes, :agreed);

-- Updates one existing contact. Unset members stay unchanged; a custom field set to JSON null is removed. The brand comes out of a
-- subquery as in contacts_save.
-- name: contact_update :one
-- params: brand_id bigint, email_key text, sets_first_name boolean, first_name text null, sets_last_name boolean, last_name text null, sets_user_id boolean, user_id text null, source text null, subscribed boolean null, subscription_groups jsonb, custom_fields jsonb, consent jsonb null, now timestamptz
-- row: contact
-- columns: id bigint, email text, first_name text null, last_name text null, user_id text null, source text, subscribed boolean, subscription_groups jsonb, custom_fields jsonb, consent jsonb null, created_at timestamptz, updated_at timestamptz, inserted boolean
update contacts c
   set first_name = case when :sets_first_name then :first_name else c.first_name end,
       last_name = case when :sets_last_name then :last_name else c.last_name end,
       user_id = case when :sets_user_id then :user_id else c.user_id end,
       source = coalesce(:source, c.source),
       subscribed = coalesce(:subscribed, c.subscribed),
       subscription_groups = c.subscription_groups || :subscription_groups,
       custom_fields = jsonb_strip_nulls(c.custom_fields || :custom_fields),
       consent = coalesce(:consent, c.consent),
       updated_at = :now
 where c.brand_id = (select :brand_id::bigint) and c.email_key = :email_key
returning id, email, first_name, last_name, user_id, source, subscribed, subscription_groups, custom_fields, consent,
          created_at, updated_at, false;

-- Deletes contacts by their keys and returns the deleted ones. Rows are locked in the order of the keys. An unsubscribed contact
-- leaves an unsubscribe for its address. The activity of the contacts (opens and clicks) is deleted, too.
-- name: contacts_delete :many
-- params: brand_id bigint, email_keys text[], address_hashes text[], event_types text[], now timestamptz
-- columns: id bigint, email_key text
with given as (
    select distinct on (g.email_key) :brand_id::bigint as brand_id, g.email_key, g.address_hash
      from unnest(:email_keys::text[], :address_hashes::text[]) as g(email_key, address_hash)
     order by g.email_key
), leaving as materialized (
    select c.id, c.email_key, c.subscribed, g.address_hash
      from given g
     cross join lateral (select * from contacts k
                          where k.brand_id = g.brand_id and k.email_key = g.email_key
                          limit 1 for update) c
), gone as (
    delete from contacts where brand_id = (select brand_id from given limit 1) and id in (select id from leaving)
), kept as materialized (
    select * from suppress(:brand_id, array(select l.address_hash from leaving l where not l.subscribed), 'unsubscribed', 'api',
                           '{}', null, :now)
), forgotten as (
    delete from contact_activity
     where brand_id = (select brand_id from given limit 1) and event_type = any(:event_types)
       and email_key in (select email_key from leaving)
)
select l.id, l.email_key from leaving l cross join kept;

-- The first page of contacts, newest first.
-- name: contact_page_first :page
-- params: brand_id bigint, limit bigint
-- row: contact
-- columns: id bigint, email text, first_name text null, last_name text null, user_id text null, source text, subscribed boolean, subscription_groups jsonb, custom_fields jsonb, consent jsonb null, created_at timestamptz, updated_at timestamptz, inserted boolean
select id, email, first_name, last_name, user_id, source, subscribed, subscription_groups, custom_fields, consent, created_at,
       updated_at, false
  from contacts
 where brand_id = :brand_id
 order by created_at desc, id desc
 limit :limit;

-- A further page of contacts, newest first (keyset pagination).
-- name: contact_page_after :page
-- params: brand_id bigint, at timestamptz, id bigint, limit bigint
-- row: contact
-- columns: id bigint, email text, first_name text null, last_name text null, user_id text null, source text, subscribed boolean, subscription_groups jsonb, custom_fields jsonb, consent jsonb null, created_at timestamptz, updated_at timestamptz, inserted boolean
select id, email, first_name, last_name, user_id, source, subscribed, subscription_groups, custom_fields, consent, created_at,
       updated_at, false
  from contacts
 where brand_id = :brand_id and (created_at, id) < (:at, :id)
 order by created_at desc, id desc
 limit :limit;
