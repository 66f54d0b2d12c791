-- The links of a version as the renderer listed them when it was prepared: every occurrence in document order.
-- name: mail_links :one
-- params: brand_id bigint, version_id bigint
-- columns: links jsonb
select links from email_versions where brand_id = :brand_id and id = :version_id;
