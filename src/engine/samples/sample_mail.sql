-- The version that is checked or shown, the brand object for its templates, and the domain that mail of the brand comes from: the first
-- verified one, or else its sandbox.
-- name: sample_mail_source :one
-- params: brand_id bigint, email_id bigint, version_id bigint null
-- columns: status text, version_id bigint null, subject_line text null, preview_text text null, html text null, plain_text text null, html_code bytea null, text_code bytea null, brand text, address text null, domain_id bigint, domain text, is_sandbox boolean, sending_purpose text, sender_name text, from_email text null, reply_to text null, has_click_host boolean, receives_reports boolean, tracks_marketing boolean, tracks_transactional boolean
select e.status, v.id, v.subject_line, v.preview_text, v.html, v.plain_text, v.html_code, v.text_code,
       jsonb_strip_nulls(b.identity || jsonb_build_object('name', b.name, 'domain', b.domain, 'timeZone', b.time_zone,
                                                          'locale', b.locale))::text,
       b.identity ->> 'address', d.id, d.name, d.kind = 'sandbox', d.sending_purpose, coalesce(d.default_sender_name, b.name),
       d.default_from_email, d.default_reply_to, 'CNAME click.' || d.name = any (d.published), array['MX bounce.' || d.name, 'TXT bounce.' || d.name] <@ d.published,
       brand_tracks(b.tracking, 'marketing'), brand_tracks(b.tracking, 'transactional')
  from emails e
  join brands b on b.id = e.brand_id
 cross join lateral (select *
                       from domains d
                      where d.brand_id = e.brand_id and d.deleted_at is null and (d.kind = 'sandbox' or d.status = 'verified')
                      order by d.kind = 'sandbox', d.id
                      limit 1) d
  left join email_versions v on v.brand_id = e.brand_id and v.id = coalesce(:version_id, e.latest_version_id) and v.email_id = e.id
 where e.brand_id = :brand_id and e.id = :email_id and e.deleted_at is null;

-- The contact whose values are shown: the oldest of the subscribed ones.
-- name: sample_mail_contact :one
-- params: brand_id bigint
-- columns: email text, email_key text
select email, email_key
  from contacts
 where brand_id = :brand_id and subscribed
 order by id
 limit 1;
