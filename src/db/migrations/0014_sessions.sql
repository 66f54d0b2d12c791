-- Sessions of people who are signed in, created by the operator. Only a hash of the cookie's value is stored.
create table sessions (
    id              bigint generated always as identity primary key,
    organization_id bigint not null references organizations,
    user_name       text not null,
    role            text not null check (role in ('org:admin', 'org:member')),
    secret_hash     bytea not null,
    created_at      timestamptz not null,
    expires_at      timestamptz not null,
    ended_at        timestamptz,
    constraint sessions_secret unique (secret_hash)
);
create index sessions_by_organization on sessions (organization_id, id);

-- The brands that a member can access; an administrator can access all of the organization.
create table session_brands (
    session_id bigint not null references sessions on delete cascade,
    brand_id   bigint not null references brands,
    primary key (session_id, brand_id)
);

-- The session of the person who did it, if one was signed in.
alter table audit_log add column session_id bigint;
