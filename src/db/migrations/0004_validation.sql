-- Validation of addresses: the result for a contact, and the progress of a
-- background validation.

-- One row per checked contact. It is deleted with the contact, so that no personal data remains after an erasure.
create table contact_validations (
    brand_id     bigint not null,
    contact_id   bigint not null,
    status       text not null check (status in ('valid', 'risky', 'invalid')),
    reason       text check (reason in ('invalid_syntax', 'no_such_domain', 'no_mail', 'disposable', 'role')),
    did_you_mean text,
    checked_at   timestamptz not null,
    primary key (brand_id, contact_id),
    foreign key (brand_id, contact_id) references contacts (brand_id, id) on delete cascade
);

-- A background validation processes its targets in the order of their ids and deletes those that the cursor has passed.
create table validations (
    brand_id   bigint not null references brands,
    id         bigint generated always as identity,
    job_id     bigint, -- null until it was started
    cursor_id  bigint not null default 0,
    total      bigint not null default 0,
    valid      bigint not null default 0,
    risky      bigint not null default 0,
    invalid    bigint not null default 0,
    unchecked  bigint not null default 0,
    credits    bigint not null default 0,
    created_at timestamptz not null,
    ended_at   timestamptz,
    primary key (brand_id, id)
);

create table validation_targets (
    brand_id      bigint not null,
    validation_id bigint not null,
    contact_id    bigint not null,
    primary key (brand_id, validation_id, contact_id),
    foreign key (brand_id, validation_id) references validations (brand_id, id) on delete cascade
);
