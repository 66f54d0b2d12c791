-- Mailboxes that receive reports of other mail systems and are polled by IMAP. organization_id 0: they belong to the installation.
-- The password is sealed for the number and the address of its row. A poll moves due_at, so one process at a time polls a mailbox.
create table report_mailboxes (
    organization_id bigint not null,
    id              bigint generated always as identity,
    address         text not null, -- with the user, without the password
    password        bytea not null,
    created_at      timestamptz not null,
    due_at          timestamptz not null,
    polled_at       timestamptz, -- the end of the last poll
    problem         text, -- why it failed; null: it did not
    primary key (organization_id, id)
);

-- Which mail of a brand reports opens and clicks: none, marketing mail, or all mail.
alter table brands add column tracking text not null default 'marketing' check (tracking in ('off', 'marketing', 'all'));

-- Whether a brand tracks mail of a class.
create function brand_tracks(tracking text, message_class text) returns boolean language sql immutable as $$
    select tracking = 'all' or (tracking = 'marketing' and message_class = 'marketing')
$$;

-- Actors that the operator gives to classes of programs and networks, in place of those that the program has. organization_id 0: they hold
-- for the whole installation. facts: other facts decide.
create table hit_rules (
    organization_id bigint not null,
    fact            text not null check (fact in ('agent', 'network')),
    class           text not null,
    kind            text not null check (kind in ('open', 'click')),
    actor           text not null check (actor in ('human', 'proxy', 'bot', 'facts')),
    created_at      timestamptz not null,
    primary key (organization_id, fact, class, kind)
);

-- How often these rules were changed. Added to the version of the program's rules, so each change judges all hits again.
create table hit_rule_revisions (
    organization_id bigint not null primary key,
    revision        integer not null
);
