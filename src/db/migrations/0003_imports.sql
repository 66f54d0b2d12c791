-- Imports. The text of an import that was passed as an argument is stored here until the import has ended. For a file the
-- row has its path and its identity at that time.

create table imports (
    brand_id       bigint not null references brands,
    id             bigint generated always as identity,
    status         text not null default 'queued' check (status in ('queued', 'running', 'completed', 'canceled', 'failed')),
    job_id         bigint,
    mapping        jsonb,
    validate       boolean not null,
    over_http      boolean not null,
    csv            bytea,
    root           text,
    path           text,
    device         bigint,
    inode          bigint,
    modified_ns    bigint,
    size_bytes     bigint not null,
    plan           jsonb,
    fields_created text[] not null default '{}',
    message        text,
    validation_id  bigint,
    validation_job bigint,
    created_at     timestamptz not null,
    finished_at    timestamptz,
    primary key (brand_id, id),
    check ((csv is null) or (path is null))
);
create index imports_by_created on imports (brand_id, created_at);
create index imports_open on imports (brand_id, path) where status in ('queued', 'running');
-- The text is read in slices; with compression every slice would decompress all of it.
alter table imports alter column csv set storage external;

-- The progress of an import. Its rows are distributed to shards by address, so that shards never conflict. Each shard reads
-- the chunks of the text in order, and commits a chunk together with its position.
create table import_lanes (
    brand_id     bigint not null,
    import_id    bigint not null,
    lane         integer not null,
    chunks       bigint not null default 0,
    next_offset  bigint not null default 0,
    next_line    bigint not null default 0,
    inserted     bigint not null default 0,
    updated      bigint not null default 0,
    unchanged    bigint not null default 0,
    skipped      bigint not null default 0,
    failed       bigint not null default 0,
    errors_kept  bigint not null default 0,
    error_bytes  bigint not null default 0,
    primary key (brand_id, import_id, lane),
    foreign key (brand_id, import_id) references imports on delete cascade
);

-- A bounded sample of the rows that were not saved. `record` is the row as CSV, null when it was too long.
create table import_errors (
    brand_id  bigint not null,
    import_id bigint not null,
    line      bigint not null,
    email     text,
    code      text not null,
    field     text,
    message   text not null,
    record    text,
    foreign key (brand_id, import_id) references imports on delete cascade
);
create index import_errors_by_line on import_errors (brand_id, import_id, line);
