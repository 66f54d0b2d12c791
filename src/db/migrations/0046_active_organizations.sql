-- The organizations that have had a call lately, so that jobs in other processes give way to them. A crash of PostgreSQL empties it,
-- which costs nothing: a process notes its organizations each second.
create unlogged table active_organizations (
    organization_id bigint primary key,
    called_at       timestamptz not null
);
