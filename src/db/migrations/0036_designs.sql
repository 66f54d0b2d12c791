-- Designs as documents, their generations, brands that are read from websites, texts of pictures, vectors of searches.

-- document: canonical JSON text (src/designer/document.h); null: the version was imported. changes: the operations that made the version
-- of the one before; null: it was made as a whole. made_by: import, composer, caller, instruction, restore, clone, or a model.
alter table email_versions add column document text;
alter table email_versions add column changes text;
alter table email_versions add column made_by text not null default 'import';

-- The number of the last block id of the design. It only grows, also when a version is restored.
alter table emails add column block_serial bigint not null default 0;

-- One run for each generation and each edit by prompt. A run is settled in the transaction that appends its version and charges for it.
create table generations (
    brand_id    bigint not null references brands,
    id          bigint generated always as identity,
    email_id    bigint not null,
    job_id      bigint,
    kind        text not null check (kind in ('create', 'edit')),
    status      text not null check (status in ('running', 'completed', 'failed')),
    engine      text,   -- composer, instruction, or provider/model
    version_id  bigint, -- that it made
    warnings    jsonb not null default '[]',
    error_code  text,
    error       text,
    tokens_in   bigint, -- of a model
    tokens_out  bigint,
    created_at  timestamptz not null,
    ended_at    timestamptz,
    primary key (brand_id, id)
);
create index generations_by_email on generations (brand_id, email_id, id desc);

-- What a model of the operator has written, and the tokens that it took; null: no model was asked.
alter table audit_log add column engine text;
alter table audit_log add column tokens_in bigint;
alter table audit_log add column tokens_out bigint;

-- The extraction of a brand from its website; the last one. phase: fetching, reading, colours, pictures, saving.
create table brand_extractions (
    brand_id           bigint not null references brands,
    job_id             bigint,
    url                text not null,
    instructions       text,
    include_paths      text[] not null default '{}',
    exclude_paths      text[] not null default '{}',
    exclude_subdomains boolean not null default false,
    given              text[] not null default '{}', -- of name, timeZone and locale: what the caller has given
    phase              text not null,
    progress           integer not null default 0 check (progress between 0 and 100),
    pages              integer not null default 0,
    error              text,
    started_at         timestamptz not null,
    ended_at           timestamptz,
    primary key (brand_id)
);

-- website: the address that was read. logo: the name of a hosted image. The identity may have social: objects with network and href.
alter table brands add column website text;
alter table brands add column logo text;

-- What is known of a picture besides its size. The words are searched.
alter table assets add column alt text;
alter table assets add column description text;
alter table assets add column page_url text;
alter table assets add column heading text;    -- above the picture
alter table assets add column page_title text; -- of the page or the design that shows it
alter table assets add column colours text[] not null default '{}';

-- The words of a picture, folded as src/engine/search/tokens.c does: A its alternative text, B its description, C where it stands and
-- its file name, D its colours. The words of older pictures are those of their file names.
alter table assets add column words tsvector not null default '';
update assets
   set words = setweight(to_tsvector('simple', regexp_replace(lower(regexp_replace(regexp_replace(source_url, '[?#].*$', ''),
                                                                                   '^.*/', '')), '[^a-z]+', ' ', 'g')), 'C')
 where source_url is not null;

-- Vectors of an embedding model: 32-bit floats, little endian, of length one.
create table asset_vectors (
    brand_id bigint not null references brands,
    model    text not null,
    hash     bytea not null, -- of the picture in assets
    vector   bytea not null,
    primary key (brand_id, model, hash)
);
