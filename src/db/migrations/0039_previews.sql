-- Pictures of designs as mail clients show them. A call asks for clients in a round of its own; the job of the call draws them.
-- A row and its clients are deleted after the expiry.
create table previews (
    brand_id    bigint not null references brands,
    id          bigint generated always as identity,
    email_id    bigint not null,
    version_id  bigint not null,
    last_round  bigint not null default 0,
    created_at  timestamptz not null,
    expires_at  timestamptz not null,
    primary key (brand_id, id)
);
create index previews_by_email on previews (brand_id, email_id, id desc);
create index previews_by_expiry on previews (expires_at);

-- place: its order in the answer. drawn_by: the job that draws it. A running client whose job is not running is drawn by the next job.
create table preview_clients (
    brand_id    bigint not null,
    preview_id  bigint not null,
    client      text not null,
    place       bigint not null,
    round       bigint not null,
    status      text not null default 'running' check (status in ('running', 'completed', 'failed')),
    drawn_by    bigint,
    width       bigint,
    height      bigint,
    is_cut      boolean,
    transforms  text, -- a JSON array
    data_date   text,
    reason      text,
    retryable   boolean,
    picture     bytea, -- PNG
    small       bytea, -- WebP, for assistants; null: the mail is too long for one
    primary key (brand_id, preview_id, client),
    foreign key (brand_id, preview_id) references previews on delete cascade
);
-- Pictures are compressed already.
alter table preview_clients alter column picture set storage external;
alter table preview_clients alter column small set storage external;
