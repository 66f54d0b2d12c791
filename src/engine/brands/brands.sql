-- One brand of an organization.
-- name: brand_find :one
-- params: organization_id bigint, brand_id bigint
-- row: brand
-- columns: id bigint, name text, domain text null, status text, identity jsonb, email_design text null, image_style text null, time_zone text, locale text, created_at timestamptz, updated_at timestamptz
select id, name, domain, status, identity, email_design, image_style, time_zone, locale, created_at, updated_at
  from brands
 where organization_id = :organization_id and id = :brand_id and status <> 'deleting';

-- A page of an organization's brands, oldest first (keyset pagination). `only_id` 0 means all brands; a member's session sees only
-- its brands. The long documents emailDesign and imageStyle are returned only with `only_id`.
-- name: brand_page :page
-- params: organization_id bigint, only_id bigint, member_session_id bigint, after_id bigint, limit bigint
-- row: brand
-- columns: id bigint, name text, domain text null, status text, identity jsonb, email_design text null, image_style text null, time_zone text, locale text, created_at timestamptz, updated_at timestamptz
select id, name, domain, status, identity,
       case when :only_id <> 0 then email_design end, case when :only_id <> 0 then image_style end,
       time_zone, locale, created_at, updated_at
  from brands
 where organization_id = :organization_id and status <> 'deleting'
   and (:only_id = 0 or id = :only_id) and id > :after_id
   and (:member_session_id::bigint = 0
        or exists (select 1 from session_brands s where s.session_id = :member_session_id and s.brand_id = brands.id))
 order by id
 limit :limit;

-- Inserts a brand that is ready at once, with its capture-only sending domain. No row when the time zone is unknown.
-- name: brand_create :one
-- params: organization_id bigint, name text, domain text null, identity jsonb, time_zone text, locale text, sandbox_domain text, now timestamptz
-- columns: id bigint
with brand as (
    insert into brands (organization_id, name, domain, status, identity, time_zone, locale, created_at, updated_at)
    select :organization_id, :name, :domain, 'completed', :identity, :time_zone, :locale, :now, :now
     where exists (select 1 from pg_timezone_names where name = :time_zone)
    returning id, organization_id
), sandbox as (
    insert into domains (brand_id, organization_id, name, kind, status, sending_purpose, created_at, updated_at, verified_at)
    select id, organization_id, :sandbox_domain, 'sandbox', 'verified', 'marketing', :now, :now, :now
      from brand
)
select id from brand;

-- Changes a brand. Null members of `identity` are removed; members that it does not contain stay unchanged.
-- name: brand_update :one
-- params: organization_id bigint, brand_id bigint, name text null, identity jsonb, sets_email_design boolean, email_design text null, sets_image_style boolean, image_style text null, now timestamptz
-- row: brand
-- columns: id bigint, name text, domain text null, status text, identity jsonb, email_design text null, image_style text null, time_zone text, locale text, created_at timestamptz, updated_at timestamptz
update brands
   set name = coalesce(:name, name),
       identity = jsonb_strip_nulls(identity || :identity),
       email_design = case when :sets_email_design then :email_design else email_design end,
       image_style = case when :sets_image_style then :image_style else image_style end,
       updated_at = :now
 where organization_id = :organization_id and id = :brand_id and status <> 'deleting'
returning id, name, domain, status, identity, email_design, image_style, time_zone, locale, created_at, updated_at;
