-- The number and size of a brand's images.
-- name: asset_usage :one
-- params: brand_id bigint
-- columns: count bigint, bytes bigint
select count(*), coalesce(sum(bytes), 0)::bigint from assets where brand_id = :brand_id;

-- Records images of a brand. A recorded image stays, and gets the words that it does not have yet.
-- name: assets_keep :exec
-- params: brand_id bigint, hashes text[], types text[], bytes bigint[], widths bigint[], heights bigint[], frames bigint[], source_urls text[], kinds text[], alts text[], descriptions text[], page_urls text[], colours text[], now timestamptz
insert into assets as a (brand_id, hash, type, bytes, width, height, frames, source_url, created_at, kind, alt, description, page_url, colours)
select distinct on (g.hash) :brand_id, decode(g.hash, 'hex'), g.type, g.bytes, g.width, g.height, g.frames, g.source_url, :now, g.kind, g.alt, g.description, g.page_url,
       string_to_array(g.colours, ',')
  from unnest(:hashes::text[], :types::text[], :bytes::bigint[], :widths::bigint[], :heights::bigint[], :frames::bigint[],
              :source_urls::text[], :kinds::text[], :alts::text[], :descriptions::text[], :page_urls::text[], :colours::text[])
       as g(hash, type, bytes, width, height, frames, source_url, kind, alt, description, page_url, colours)
 order by g.hash, g.kind desc
    on conflict (brand_id, hash) do update
       set alt = coalesce(a.alt, excluded.alt), description = coalesce(a.description, excluded.description),
           page_url = coalesce(a.page_url, excluded.page_url), colours = case when a.colours = '{}' then excluded.colours else a.colours end
     where excluded.description is not null or excluded.alt is not null;

-- The images of a brand before an id, newest first (keyset pagination).
-- name: asset_page_newest :page
-- params: brand_id bigint, type text null, kind text null, shape text null, min_ratio float8 null, max_ratio float8 null, before_id bigint, limit bigint
-- row: asset
-- columns: id bigint, hash bytea, type text, kind text, width bigint, height bigint, created_at timestamptz
select id, hash, type, kind, width, height, created_at
  from assets
 where brand_id = :brand_id and id < :before_id
   and (:type::text is null or type = :type) and (:kind::text is null or kind = :kind)
   and (:shape::text is null or aspect_ratio = :shape)
   and (:min_ratio::float8 is null or width between :min_ratio * height and :max_ratio * height)
 order by id desc
 limit :limit;

-- The images of a brand after an id, oldest first (keyset pagination).
-- name: asset_page_oldest :page
-- params: brand_id bigint, type text null, kind text null, shape text null, min_ratio float8 null, max_ratio float8 null, after_id bigint, limit bigint
-- row: asset
-- columns: id bigint, hash bytea, type text, kind text, width bigint, height bigint, created_at timestamptz
select id, hash, type, kind, width, height, created_at
  from assets
 where brand_id = :brand_id and id > :after_id
   and (:type::text is null or type = :type) and (:kind::text is null or kind = :kind)
   and (:shape::text is null or aspect_ratio = :shape)
   and (:min_ratio::float8 is null or width between :min_ratio * height and :max_ratio * height)
 order by id
 limit :limit;
