-- The number and size of a brand's images.
-- name: asset_usage :one
-- params: brand_id bigint
-- columns: count bigint, bytes bigint
select count(*), coalesce(sum(bytes), 0)::bigint from assets where brand_id = :brand_id;

-- Records images of a brand. A recorded image stays unchanged, but gets the texts and the colours that it has not had, and a
-- generated one joins the library when it is added there.
-- name: assets_keep :exec
-- params: brand_id bigint, hashes text[], types text[], bytes bigint[], widths bigint[], heights bigint[], frames bigint[], source_urls text[], kinds text[], alts text[], descriptions text[], headings text[], page_titles text[], page_urls text[], colours text[], words text[], now timestamptz
insert into assets (brand_id, hash, type, bytes, width, height, frames, source_url, kind, alt, description, heading, page_title,
                    page_url, colours, colours_known, words, created_at)
select :brand_id, decode(g.hash, 'hex'), g.type, g.bytes, g.width, g.height, g.frames, g.source_url, g.kind, g.alt, g.description,
       g.heading, g.page_title, g.page_url, string_to_array(g.colours, ','), g.colours <> '', g.words::tsvector, :now
  from (select distinct on (hash) *
          from unnest(:hashes::text[], :types::text[], :bytes::bigint[], :widths::bigint[], :heights::bigint[], :frames::bigint[],
                      :source_urls::text[], :kinds::text[], :alts::text[], :descriptions::text[], :headings::text[],
                      :page_titles::text[], :page_urls::text[], :colours::text[], :words::text[])
               with ordinality as g(hash, type, bytes, width, height, frames, source_url, kind, alt, description, heading, page_title,
                                    page_url, colours, words, place)
         order by hash, kind desc, place) g
    on conflict (brand_id, hash) do update
   set kind = case when assets.kind = 'generated' then excluded.kind else assets.kind end,
       alt = coalesce(assets.alt, excluded.alt), description = coalesce(assets.description, excluded.description),
       heading = coalesce(assets.heading, excluded.heading), page_title = coalesce(assets.page_title, excluded.page_title),
       page_url = coalesce(assets.page_url, excluded.page_url),
       colours = case when assets.colours = '{}' then excluded.colours else assets.colours end,
       colours_known = assets.colours_known or excluded.colours_known,
       words = assets.words || excluded.words
 where (assets.alt is null and excluded.alt is not null) or (assets.description is null and excluded.description is not null)
    or (assets.colours = '{}' and excluded.colours <> '{}') or (assets.kind = 'generated' and excluded.kind <> 'generated');

-- The images of a brand before an id, newest first (keyset pagination).
-- name: asset_page_newest :page
-- params: brand_id bigint, type text null, kind text null, shape text null, min_ratio float8 null, max_ratio float8 null, before_id bigint, limit bigint
-- row: asset
-- columns: id bigint, hash bytea, type text, kind text, width bigint, height bigint, alt text null, description text null, page_url text null, colours text[], created_at timestamptz
select id, hash, type, kind, width, height, alt, description, page_url, colours, created_at
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
-- columns: id bigint, hash bytea, type text, kind text, width bigint, height bigint, alt text null, description text null, page_url text null, colours text[], created_at timestamptz
select id, hash, type, kind, width, height, alt, description, page_url, colours, created_at
  from assets
 where brand_id = :brand_id and id > :after_id
   and (:type::text is null or type = :type) and (:kind::text is null or kind = :kind)
   and (:shape::text is null or aspect_ratio = :shape)
   and (:min_ratio::float8 is null or width between :min_ratio * height and :max_ratio * height)
 order by id
 limit :limit;

-- What a search needs to know before it ranks: the newest image, and the terms (as queries of words) that no image has. The newest images
-- have most terms; those that they have not are looked for in one pass, so the cost does not grow with the number of the terms.
-- name: asset_search_begin :one
-- params: brand_id bigint, terms text[], near_images bigint
-- columns: newest bigint, missing text[]
with terms as materialized (
    select term, term::tsquery as query, place from unnest(:terms::text[]) with ordinality as t(term, place)
), newest as materialized (
    select id, words from assets where brand_id = :brand_id order by assets.id desc limit :near_images
), rare as materialized (
    select term, query, place from terms t where not exists (select from newest n where n.words @@ t.query)
), found as materialized (
    select distinct unnest(array(select r.place from rare r where a.words @@ r.query)) as place
      from assets a
     where a.brand_id = :brand_id and exists (select from rare)
       and a.words @@ (select string_agg(r.term, ' | ')::tsquery from rare r)
)
select coalesce((select max(id) from newest), 0),
       array(select r.term from rare r where r.place not in (select f.place from found f) order by r.place);

-- Words of a brand's newest images that have one of these parts, for words that no image has. Each word is compared once.
-- name: asset_words_like :many
-- params: brand_id bigint, patterns text[], near_images bigint, limit bigint
-- columns: word text
with newest as materialized (
    select words from assets where brand_id = :brand_id order by assets.id desc limit :near_images
), known as materialized (
    select distinct w.word from newest n, unnest(tsvector_to_array(n.words)) as w(word)
)
select word from known
 where word like any(:patterns::text[])
 order by word
 limit :limit;

-- The images of a brand that match one of the terms, the best first. A term counts by its place (ts_rank) and by its rarity. Images after
-- until_id were added since the first page.
-- name: asset_search :many
-- params: brand_id bigint, terms text[], type text null, kind text null, shape text null, min_ratio float8 null, max_ratio float8 null, until_id bigint, oldest_first boolean, skip bigint, limit bigint
-- row: asset
-- columns: id bigint, hash bytea, type text, kind text, width bigint, height bigint, alt text null, description text null, page_url text null, colours text[], created_at timestamptz
with terms as materialized (
    select place, term::tsquery as query from unnest(:terms::text[]) with ordinality as t(term, place)
), hits as materialized (
    select id, words
      from assets
     where brand_id = :brand_id and id <= :until_id
       and words @@ (select string_agg(t.term, ' | ')::tsquery from unnest(:terms::text[]) as t(term))
       and (:type::text is null or type = :type) and (:kind::text is null or kind = :kind)
       and (:shape::text is null or aspect_ratio = :shape)
       and (:min_ratio::float8 is null or width between :min_ratio * height and :max_ratio * height)
), matches as materialized (
    select h.id, t.place, ts_rank('{0.3, 0.5, 0.7, 1.0}', h.words, t.query)::float8 as rank
      from terms t, hits h
     where h.words @@ t.query
), rarities as materialized (
    select place, ln(1 + (select count(*) from hits) / (0.5 + count(*)))::float8 as rarity from matches group by place
), ranked as (
    select m.id, sum(m.rank * r.rarity) as score
      from matches m join rarities r using (place)
     group by m.id
     order by score desc, case when :oldest_first then m.id else -m.id end
    offset :skip
     limit :limit
)
select a.id, a.hash, a.type, a.kind, a.width, a.height, a.alt, a.description, a.page_url, a.colours, a.created_at
  from ranked r join assets a on a.brand_id = :brand_id and a.id = r.id
 order by r.score desc, case when :oldest_first then a.id else -a.id end;

-- Enqueues the job that takes the colours of a brand's images, unless the brand has one or all colours are taken.
-- name: asset_colours_enqueue :exec
-- params: brand_id bigint, now timestamptz
insert into jobs (kind, pool, organization_id, brand_id, payload, run_after, created_at)
select 'colour_images', 'work', b.organization_id, b.id, '{}', :now, :now
  from brands b
 where b.id = :brand_id and exists (select from assets a where a.brand_id = b.id and not a.colours_known)
    on conflict (brand_id) where kind = 'colour_images' and state in ('queued', 'running') do nothing;

-- Images whose colours were not taken yet, the oldest first.
-- name: assets_without_colours :many
-- params: brand_id bigint, limit bigint
-- columns: id bigint, hash bytea, type text
select id, hash, type
  from assets
 where brand_id = :brand_id and not colours_known
 order by id
 limit :limit;

-- Saves the colours of an image and their names, unless it has got them meanwhile.
-- name: asset_colours_save :exec
-- params: brand_id bigint, id bigint, colours text, words text
update assets
   set colours = string_to_array(:colours, ','), colours_known = true, words = words || (:words::text)::tsvector
 where brand_id = :brand_id and id = :id and not colours_known;

-- Images by their ids, in any order.
-- name: assets_of_ids :many
-- params: brand_id bigint, ids bigint[]
-- row: asset
-- columns: id bigint, hash bytea, type text, kind text, width bigint, height bigint, alt text null, description text null, page_url text null, colours text[], created_at timestamptz
select id, hash, type, kind, width, height, alt, description, page_url, colours, created_at
  from assets
 where brand_id = :brand_id and id = any(:ids::bigint[]);

-- Which of these images a library has, in their order.
-- name: assets_held :many
-- params: hashes text[]
-- columns: is_held boolean
select exists (select from assets a where a.hash = decode(g.hash, 'hex'))
  from unnest(:hashes::text[]) with ordinality as g (hash, place)
 order by g.place;

-- The newest images of the library that do not move, for a slideshow.
-- name: asset_slides :many
-- params: brand_id bigint, limit bigint
-- columns: hash bytea, type text
select hash, type
  from assets
 where brand_id = :brand_id and kind = 'brand' and frames = 1 and width >= 100 and height >= 100
 order by assets.id desc
 limit :limit;
