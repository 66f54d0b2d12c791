-- A page of a brand's sending domains, oldest first.
-- name: domain_page :many
-- params: brand_id bigint, sendable_only boolean, after_id bigint, limit bigint
-- row: domain
-- columns: id bigint, name text, kind text, status text, sending_purpose text, default_sender_name text null, default_from_email text null, default_reply_to text null, created_at timestamptz, updated_at timestamptz, verified_at timestamptz null
select id, name, kind, status, sending_purpose, default_sender_name, default_from_email, default_reply_to,
       created_at, updated_at, verified_at
  from domains
 where brand_id = :brand_id and id > :after_id
   and (not :sendable_only or status = 'verified')
 order by id
 limit :limit;
