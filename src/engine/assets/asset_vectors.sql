-- The images whose vector is missing, or was made of other texts, before an id, the newest first. `hash` and `text_hash` are
-- hexadecimal. "limit 1" makes the planner look up each vector by its key; a join would read all vectors of the brand for each page.
-- name: asset_vectors_missing :many
-- params: brand_id bigint, model text, before_id bigint, limit bigint
-- columns: id bigint, hash text, text text, text_hash text
select t.id, encode(t.hash, 'hex'), t.text, encode(t.text_hash, 'hex')
  from (select a.id, a.hash, x.text, sha256(convert_to(x.text, 'UTF8')) as text_hash
          from assets a, lateral (select concat_ws(E'\n', a.alt, a.description, a.heading, a.page_title) as text) x
         where a.brand_id = :brand_id and a.id < :before_id and x.text <> '') t
  left join lateral (select v.hash, v.text_hash
                       from asset_vectors v
                      where v.brand_id = :brand_id and v.model = :model and v.hash = t.hash
                      limit 1) v on true
 where v.hash is null or v.text_hash <> t.text_hash
 order by t.id desc
 limit :limit;

-- Saves vectors of images. Vectors of another size come from another model of the same name, so they are deleted. The vectors of a
-- model always have one size, because each call leaves one, so the first of them tells whether there is anything to delete.
-- name: asset_vectors_save :exec
-- params: brand_id bigint, model text, hashes text[], text_hashes text[], vectors text[], bytes bigint
with first as materialized (
    select octet_length(vector) as bytes from asset_vectors where brand_id = :brand_id and model = :model order by hash limit 1
), others as (
    delete from asset_vectors
     where brand_id = :brand_id and model = :model and (select bytes from first) <> :bytes::bigint
    returning hash
)
insert into asset_vectors (brand_id, model, hash, text_hash, vector)
select :brand_id, :model, decode(t.hash, 'hex'), decode(t.text_hash, 'hex'), decode(t.vector, 'hex')
  from unnest(:hashes::text[], :text_hashes::text[], :vectors::text[]) as t(hash, text_hash, vector)
 where decode(t.hash, 'hex') not in (select hash from others)
    on conflict (brand_id, model, hash) do update
   set id = default, text_hash = excluded.text_hash, vector = excluded.vector;

-- The number of the newest vector.
-- name: asset_vectors_begin :one
-- params: brand_id bigint, model text
-- columns: newest bigint
select coalesce((select max(id) from asset_vectors where brand_id = :brand_id and model = :model), 0);

-- Images before an id, the newest first, with their vectors. Vectors after until_vector were made since the first page. An image
-- waits when it has texts and no vector of them.
-- name: asset_vectors_scan :many
-- params: brand_id bigint, model text, before_id bigint, until_vector bigint, type text null, kind text null, shape text null, min_ratio float8 null, max_ratio float8 null, limit bigint
-- columns: id bigint, vector bytea null, waits boolean
with images as materialized (
    select id, hash, concat_ws(E'\n', alt, description, heading, page_title) as text
      from assets
     where brand_id = :brand_id and id < :before_id
       and (:type::text is null or type = :type) and (:kind::text is null or kind = :kind)
       and (:shape::text is null or aspect_ratio = :shape)
       and (:min_ratio::float8 is null or width between :min_ratio * height and :max_ratio * height)
     order by id desc
     limit :limit
)
select i.id, v.vector, i.text <> '' and v.text_hash is distinct from sha256(convert_to(i.text, 'UTF8'))
  from images i
  left join asset_vectors v on v.brand_id = :brand_id and v.model = :model and v.hash = i.hash and v.id <= :until_vector
 order by i.id desc;

-- The vector of a query.
-- name: query_vector_find :one
-- params: brand_id bigint, model text, query text
-- columns: vector bytea
select vector from query_vectors where brand_id = :brand_id and model = :model and hash = sha256(convert_to(:query::text, 'UTF8'));

-- Keeps the vector of a query, and the vectors of so many latest queries.
-- name: query_vector_save :exec
-- params: brand_id bigint, model text, query text, vector text, keep bigint, now timestamptz
with old as (
    delete from query_vectors
     where brand_id = :brand_id
       and (model, hash) in (select model, hash from query_vectors where brand_id = :brand_id order by made_at desc offset :keep::bigint - 1)
    returning hash
)
insert into query_vectors (brand_id, model, hash, vector, made_at)
values (:brand_id, :model, sha256(convert_to(:query::text, 'UTF8')), decode(:vector, 'hex'), :now)
    on conflict (brand_id, model, hash) do nothing;

-- Enqueues the job that makes the vectors of a brand, unless the brand has one.
-- name: asset_vectors_enqueue :exec
-- params: brand_id bigint, now timestamptz
insert into jobs (kind, pool, organization_id, brand_id, payload, run_after, created_at)
select 'embed_images', 'network', b.organization_id, b.id, '{}', :now, :now
  from brands b
 where b.id = :brand_id
    on conflict (brand_id) where kind = 'embed_images' and state in ('queued', 'running') do nothing;
