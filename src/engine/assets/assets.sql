-- The number and size of a brand's images.
-- name: asset_usage :one
-- params: brand_id bigint
-- columns: count bigint, bytes bigint
select count(*), coalesce(sum(bytes), 0)::bigint from assets where brand_id = :brand_id;

-- Records images of a brand. A recorded image stays unchanged, except that a generated one joins the library when it is added there.
-- name: assets_keep :exec
-- params: brand_id bigint, hashes text[], types text[], kinds text[], bytes bigint[], widths bigint[], heights bigint[], frames bigint[], source_urls text[], now timestamptz
insert into assets (brand_id, hash, type, kind, bytes, width, height, frames, source_url, created_at)
select distinct on (g.hash) :brand_id, decode(g.hash, 'hex'), g.type, g.kind, g.bytes, g.width, g.height, g.frames, g.source_url, :now
  from unnest(:hashes::text[], :types::text[], :kinds::text[], :bytes::bigint[], :widths::bigint[], :heights::bigint[], :frames::bigint[],
              :source_urls::text[]) as g(hash, type, kind, bytes, width, height, frames, source_url)
 order by g.hash
    on conflict (brand_id, hash) do update set kind = excluded.kind
 where assets.kind = 'generated' and excluded.kind <> 'generated';

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

-- The newest images of the library that do not move, for a slideshow.
-- name: asset_slides :many
-- params: brand_id bigint, limit bigint
-- columns: hash bytea, type text
select hash, type
  from assets
 where brand_id = :brand_id and kind = 'brand' and frames = 1 and width >= 100 and height >= 100
 order by assets.id desc
 limit :limit;
