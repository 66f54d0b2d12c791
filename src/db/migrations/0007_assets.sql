-- Assets: the copies of images that this installation hosts for a brand. The bytes are files (or objects of another store),
-- named by their hash and shared by all brands; a row says that a brand uses one. Rows outlive the designs that made them,
-- because mail that was sent goes on pointing there.
create table assets (
    brand_id   bigint not null references brands,
    hash       bytea not null,
    type       text not null check (type in ('jpeg', 'png', 'gif', 'webp', 'avif')),
    bytes      bigint not null,
    width      bigint not null,
    height     bigint not null,
    frames     bigint not null,
    source_url text, -- where it was first found; null: it was embedded
    created_at timestamptz not null,
    primary key (brand_id, hash)
);
