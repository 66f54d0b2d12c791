-- Vectors of images and of queries, the colours of images that were recorded before their colours were taken, and keys of models.

-- id: grows with each vector, also when one is made again, so that a search has the same vectors on all of its pages.
-- text_hash: SHA-256 of the text that the vector was made of. Vectors do not compress.
alter table asset_vectors add column id bigint generated always as identity;
alter table asset_vectors add column text_hash bytea not null;
alter table asset_vectors alter column vector set storage external;

-- Vectors of the latest queries, so that the following pages of a search need no model.
create table query_vectors (
    brand_id bigint not null references brands,
    model    text not null,
    hash     bytea not null, -- SHA-256 of the query
    vector   bytea not null,
    made_at  timestamptz not null,
    primary key (brand_id, model, hash)
);

-- Keys of the servers of models: anthropic, openai, or the base address of another one. organization_id 0: they belong to the
-- installation. A key is sealed for the name of its server.
create table model_keys (
    organization_id bigint not null,
    server          text not null,
    key             bytea not null,
    set_at          timestamptz not null,
    primary key (organization_id, server)
);

-- Whether the colours of an image were taken; it may have none.
alter table assets add column colours_known boolean not null default false;
update assets set colours_known = true where colours <> '{}';
create index assets_without_colours on assets (brand_id, id) where not colours_known;

-- A brand has one job of each of these kinds at a time.
create unique index jobs_embed_images on jobs (brand_id) where kind = 'embed_images' and state in ('queued', 'running');
create unique index jobs_colour_images on jobs (brand_id) where kind = 'colour_images' and state in ('queued', 'running');

insert into jobs (kind, pool, organization_id, brand_id, payload, run_after, created_at)
select 'colour_images', 'work', b.organization_id, b.id, '{}', now(), now()
  from brands b
 where exists (select from assets a where a.brand_id = b.id and not a.colours_known);
