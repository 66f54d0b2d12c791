-- One brand of an organization.
-- name: brand_find :one
-- params: organization_id bigint, brand_id bigint
-- row: brand
-- columns: id bigint, name text, domain text null, status text, identity jsonb, email_design text null, image_style text null, time_zone text, locale text, website text null, logo text null, phase text null, progress integer null, error text null, created_at timestamptz, updated_at timestamptz
select b.id, b.name, b.domain, b.status, b.identity, b.email_design, b.image_style, b.time_zone, b.locale, b.website, b.logo,
       e.phase, e.progress, e.error, b.created_at, b.updated_at
  from brands b
  left join brand_extractions e on e.brand_id = b.id
 where b.organization_id = :organization_id and b.id = :brand_id and b.status <> 'deleting';

-- A page of an organization's brands, oldest first (keyset pagination). `only_id` 0 means all brands; a member's session sees only
-- its brands. The long documents emailDesign and imageStyle are returned only with `only_id`.
-- name: brand_page :page
-- params: organization_id bigint, only_id bigint, member_session_id bigint, after_id bigint, limit bigint
-- row: brand
-- columns: id bigint, name text, domain text null, status text, identity jsonb, email_design text null, image_style text null, time_zone text, locale text, website text null, logo text null, phase text null, progress integer null, error text null, created_at timestamptz, updated_at timestamptz
select b.id, b.name, b.domain, b.status, b.identity,
       case when :only_id <> 0 then b.email_design end, case when :only_id <> 0 then b.image_style end,
       b.time_zone, b.locale, b.website, b.logo, e.phase, e.progress, e.error, b.created_at, b.updated_at
  from brands b
  left join brand_extractions e on e.brand_id = b.id
 where b.organization_id = :organization_id and b.status <> 'deleting'
   and (:only_id = 0 or b.id = :only_id) and b.id > :after_id
   and (:member_session_id::bigint = 0
        or exists (select 1 from session_brands s where s.session_id = :member_session_id and s.brand_id = b.id))
 order by b.id
 limit :limit;

-- Inserts a brand with its capture-only sending domain. No row when the time zone is unknown.
-- name: brand_create :one
-- params: organization_id bigint, name text, domain text null, status text, website text null, identity jsonb, time_zone text, locale text, sandbox_domain text, now timestamptz
-- columns: id bigint
with brand as (
    insert into brands (organization_id, name, domain, status, website, identity, time_zone, locale, created_at, updated_at)
    select :organization_id, :name, :domain, :status, :website, :identity, :time_zone, :locale, :now, :now
     where exists (select 1 from pg_timezone_names where name = :time_zone)
    returning id, organization_id
), sandbox as (
    insert into domains (brand_id, organization_id, name, kind, status, sending_purpose, created_at, updated_at, verified_at)
    select id, organization_id, :sandbox_domain, 'sandbox', 'verified', 'marketing', :now, :now, :now
      from brand
)
select id from brand;

-- Changes a brand, also one whose website could not be read: it is usable from then on. No row while the website is read. Null members of `identity` are removed; members that it does not contain stay unchanged.
-- name: brand_update :one
-- params: organization_id bigint, brand_id bigint, name text null, identity jsonb, sets_email_design boolean, email_design text null, sets_image_style boolean, image_style text null, now timestamptz
-- row: brand
-- columns: id bigint, name text, domain text null, status text, identity jsonb, email_design text null, image_style text null, time_zone text, locale text, website text null, logo text null, phase text null, progress integer null, error text null, created_at timestamptz, updated_at timestamptz
update brands
   set name = coalesce(:name, name),
       identity = jsonb_strip_nulls(identity || :identity),
       email_design = case when :sets_email_design then :email_design else email_design end,
       image_style = case when :sets_image_style then :image_style else image_style end,
       status = 'completed', updated_at = :now
 where organization_id = :organization_id and id = :brand_id and status in ('completed', 'failed')
returning id, name, domain, status, identity, email_design, image_style, time_zone, locale, website, logo,
          null::text, null::integer, null::text, created_at, updated_at;

-- Opens the reading of a website.
-- name: extraction_open :exec
-- params: brand_id bigint, url text, instructions text null, include_paths text[], exclude_paths text[], exclude_subdomains boolean, given text[], now timestamptz
insert into brand_extractions (brand_id, url, instructions, include_paths, exclude_paths, exclude_subdomains, given, phase, started_at)
values (:brand_id, :url, :instructions, :include_paths, :exclude_paths, :exclude_subdomains, :given, 'fetching', :now);

-- Gives a job the reading of a website. No row when another job has it, or when it has ended.
-- name: extraction_claim :one
-- params: brand_id bigint, job_id bigint
-- columns: url text, include_paths text[], exclude_paths text[], exclude_subdomains boolean, domain text null
update brand_extractions e
   set job_id = :job_id, phase = 'fetching', progress = 0, pages = 0
  from brands b
 where e.brand_id = :brand_id and b.id = e.brand_id and b.status = 'extracting' and e.ended_at is null
   and (e.job_id is null or e.job_id = :job_id)
returning e.url, e.include_paths, e.exclude_paths, e.exclude_subdomains, b.domain;

-- Shows the progress of a reading.
-- name: extraction_note :exec
-- params: brand_id bigint, job_id bigint, phase text, progress integer, pages integer
update brand_extractions set phase = :phase, progress = :progress, pages = :pages
 where brand_id = :brand_id and job_id = :job_id and ended_at is null;

-- Ends a reading with what it found. Fields that the caller has given stay. No row when the reading has ended already.
-- name: extraction_complete :one
-- params: brand_id bigint, job_id bigint, name text null, identity jsonb, time_zone text null, locale text null, email_design text null, logo text null, pages integer, now timestamptz
-- columns: brand_id bigint
with ended as (
    update brand_extractions
       set phase = 'saving', progress = 100, pages = :pages, ended_at = :now
     where brand_id = :brand_id and job_id = :job_id and ended_at is null
    returning brand_id, given
)
update brands b
   set name = case when 'name' = any(e.given) then b.name else coalesce(:name, b.name) end,
       identity = :identity::jsonb || b.identity,
       time_zone = case when 'timeZone' = any(e.given) then b.time_zone
                        else coalesce((select z.name from pg_timezone_names z where z.name = :time_zone), b.time_zone) end,
       locale = case when 'locale' = any(e.given) then b.locale else coalesce(:locale, b.locale) end,
       email_design = coalesce(b.email_design, :email_design), logo = :logo, status = 'completed', updated_at = :now
  from ended e
 where b.id = e.brand_id and b.status = 'extracting'
returning b.id;

-- Ends a reading that failed.
-- name: extraction_fail :exec
-- params: brand_id bigint, error text, now timestamptz
with ended as (
    update brand_extractions set error = :error, ended_at = :now where brand_id = :brand_id and ended_at is null returning brand_id
)
update brands b set status = 'failed', updated_at = :now from ended e where b.id = e.brand_id and b.status = 'extracting';
