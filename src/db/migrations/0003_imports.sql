-- Imports. The text of an import that came as an argument is kept here until it has ended; a file is named, with what it
-- was when it was named.

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
-- It is read in slices: compressed, every slice would cost the whole.
alter table imports alter column csv set storage external;

-- How far an import is. Its rows are shared out among lanes by address, so that lanes never meet; each goes through the
-- chunks of the text in order, and commits a chunk together with its place.
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

-- Rows that were not saved, as far as they are kept. `record` is the row as CSV, null when it was too long to keep.
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
