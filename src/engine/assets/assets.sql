-- How much a brand hosts.
-- name: asset_usage :one
-- params: brand_id bigint
-- columns: count bigint, bytes bigint
select count(*), coalesce(sum(bytes), 0)::bigint from assets where brand_id = :brand_id;

-- The brand uses these images. One that it uses already stays as it is.
-- name: assets_keep :exec
-- params: brand_id bigint, hashes text[], types text[], bytes bigint[], widths bigint[], heights bigint[], frames bigint[], source_urls text[], now timestamptz
insert into assets (brand_id, hash, type, bytes, width, height, frames, source_url, created_at)
select :brand_id, decode(g.hash, 'hex'), g.type, g.bytes, g.width, g.height, g.frames, g.source_url, :now
  from unnest(:hashes::text[], :types::text[], :bytes::bigint[], :widths::bigint[], :heights::bigint[], :frames::bigint[],
              :source_urls::text[]) as g(hash, type, bytes, width, height, frames, source_url)
 order by g.hash
    on conflict (brand_id, hash) do nothing;
