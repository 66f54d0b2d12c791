-- The newest report about a delay of a message that a relay had accepted.
alter table send_results
    add column delayed_at timestamptz,
    add column delay text; -- the diagnostic

-- Rules of the operator that give reported bounces another class. organization_id 0: they hold for the whole installation. The first one
-- whose pattern, in lower case, is in the diagnostic decides; the order is that of the ids.
create table bounce_rules (
    organization_id bigint not null,
    id              bigint generated always as identity,
    pattern         text not null,
    class           text not null check (class in ('hard', 'mailbox_full', 'block', 'refused')),
    created_at      timestamptz not null,
    primary key (organization_id, id)
);
