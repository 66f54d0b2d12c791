-- Assets: the copies of images that this installation hosts for a brand. The bytes are files (or objects of another store),
-- named by their hash and shared by all brands. A row records that a brand uses an image. Rows outlive the designs that
-- created them, because sent mail still refers to them.
create table assets (
    brand_id   bigint not null references brands,
    hash       bytea not null,
    type       text not null check (type in ('jpeg', 'png', 'gif', 'webp', 'avif')),
    bytes      bigint not null,
    width      bigint not null,
    height     bigint not null,
    frames     bigint not null,
    source_url text, -- the first source; null: the image was embedded
    created_at timestamptz not null,
    primary key (brand_id, hash)
);
