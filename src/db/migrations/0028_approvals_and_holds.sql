-- Approval of campaign sends by an administrator of the organization.

-- approvals_above: sends to more recipients than this wait for an administrator; null: none does.
alter table organizations add column approvals_above bigint check (approvals_above >= 0);

-- approval_state: pending until an administrator decides. A send that needs no approval is approved and was never decided.
alter table sends
    add column approval_state text not null default 'approved' check (approval_state in ('pending', 'approved', 'rejected')),
    add column approval_decided_at timestamptz,
    add column approval_session_id bigint, -- the session of the administrator; null: the operator
    add column approval_note text;

-- held_at: the database was restored from an older state. The send may have gone out since then, so it waits until it is released.
alter table sends add column held_at timestamptz;
create index sends_held on sends (brand_id, id) where held_at is not null;

-- How far each data folder was when one of its processes last moved on (sender/restore_guard.h). The same number is in a file of the
-- folder. A file with a larger number shows that the database is older than the folder.
create table data_folders (
    folder     bigint primary key, -- random
    generation bigint not null,
    moved_at   timestamptz not null
);

-- The subscription groups of contacts that people can choose on the page of their unsubscribe link. All others are private.
create table public_groups (
    brand_id   bigint not null references brands,
    name       text not null, -- the id of the group in contacts.subscription_groups
    title      text not null, -- shown to people
    created_at timestamptz not null,
    primary key (brand_id, name)
);
