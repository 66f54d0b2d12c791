-- Seed mailboxes: mailboxes of the operator at mail providers, in which placement tests look for their messages. organization_id 0: all
-- organizations of the installation use it. The password is sealed for the number and the address of its row.
create table seed_mailboxes (
    organization_id bigint not null,
    id              bigint generated always as identity,
    provider        text not null,  -- as the operator names it, in lower case
    address         text not null,  -- imaps://user@host
    email           text not null,  -- to which the messages of tests are sent
    password        bytea not null,
    created_at      timestamptz not null,
    primary key (organization_id, id)
);
create unique index seed_mailboxes_by_address on seed_mailboxes (organization_id, address);

-- Inbox placement tests of designs. The job place_test sends the messages, looks for them, and ends the test.
create table placement_tests (
    brand_id     bigint not null references brands,
    id           bigint generated always as identity,
    email_id     bigint not null,
    version_id   bigint not null,
    domain_id    bigint not null,
    subject      text not null,
    preview_text text,             -- null: that of the design
    from_address text not null,
    sender_name  text,
    reply_to     text,
    status       text not null check (status in ('queued', 'running', 'completed', 'partially_completed', 'failed')),
    job_id       bigint,
    created_at   timestamptz not null,
    updated_at   timestamptz not null,
    primary key (brand_id, id)
);
create index placement_tests_by_email on placement_tests (brand_id, email_id, id desc);

-- One message of a test to one seed mailbox. A message is marked as sending before its relay gets it, so that it is never sent twice; one
-- whose end is not known is uncertain. Its id is in its Message-ID.
create table placement_observations (
    brand_id             bigint not null,
    test_id              bigint not null,
    id                   bigint generated always as identity,
    seed_organization_id bigint not null,
    seed_id              bigint not null,
    provider             text not null,
    email                text not null,
    state                text not null default 'waiting' check (state in ('waiting', 'sending', 'sent', 'done')),
    is_uncertain         boolean not null default false,
    due_at               timestamptz not null, -- of the next try to send it, or of the next look
    sent_at              timestamptz,
    placement            text check (placement in ('inbox', 'spam', 'missing')), -- null: not told
    folder               text,                 -- in which it was found
    spf                  text,                 -- results of the receiver (RFC 8601); null: it told none
    dkim                 text,
    dmarc                text,
    reason               text,                 -- why nothing is told
    primary key (brand_id, test_id, id),
    foreign key (brand_id, test_id) references placement_tests (brand_id, id)
);

-- The messages of a test as lists, in the order of their providers.
create function placement_messages(for_brand bigint, for_test bigint)
    returns table (providers text[], placements text[], folders text[], reasons text[], spf text[], dkim text[], dmarc text[])
    language sql stable as $$
    select array_agg(o.provider order by o.provider, o.id), array_agg(o.placement order by o.provider, o.id),
           array_agg(o.folder order by o.provider, o.id), array_agg(o.reason order by o.provider, o.id),
           array_agg(o.spf order by o.provider, o.id), array_agg(o.dkim order by o.provider, o.id),
           array_agg(o.dmarc order by o.provider, o.id)
      from placement_observations o
     where o.brand_id = for_brand and o.test_id = for_test
$$;
