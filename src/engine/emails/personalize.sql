-- The data of a preview: the latest or the given version of a design, and the brand object for templates.
-- name: email_personalize_source :one
-- params: brand_id bigint, id bigint, version_id bigint null
-- columns: status text, version_id bigint null, subject_line text null, preview_text text null, html_code bytea null, text_code bytea null, brand text
select e.status, v.id, v.subject_line, v.preview_text, v.html_code, v.text_code,
       jsonb_strip_nulls(b.identity || jsonb_build_object('name', b.name, 'domain', b.domain, 'timeZone', b.time_zone,
                                                          'locale', b.locale))::text
  from emails e
  join brands b on b.id = e.brand_id
  left join email_versions v on v.brand_id = e.brand_id and v.id = coalesce(:version_id, e.latest_version_id) and v.email_id = e.id
 where e.brand_id = :brand_id and e.id = :id and e.deleted_at is null;
