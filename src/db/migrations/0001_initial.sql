-- The initial schema: organizations, brands, credentials, the ledger of calls,
-- contacts, designs, sends, events and jobs. brand_id is the first column of
-- every key and index of a brand's data, so that a database can be sharded by brand.

-- Keys that must live as long as the data: the id permutation, token and address keys.
create table settings (
    name  text primary key,
    value bytea not null
);

create table organizations (
    id            bigint generated always as identity primary key,
    name          text not null,
    plan          text not null default 'self_hosted',
    bonus_credits bigint not null default 0,
    created_at    timestamptz not null
);

create table brands (
    id              bigint generated always as identity primary key,
    organization_id bigint not null references organizations,
    name            text not null,
    domain          text,
    status          text not null check (status in ('extracting', 'completed', 'failed', 'deleting')),
    identity        jsonb not null default '{}',
    time_zone       text not null default 'UTC',
    locale          text not null default 'en',
    created_at      timestamptz not null,
    updated_at      timestamptz not null
);
create index brands_by_organization on brands (organization_id, id);

create table api_keys (
    id              bigint generated always as identity primary key,
    organization_id bigint not null references organizations,
    brand_id        bigint references brands,
    name            text not null,
    secret_hash     bytea not null,
    preview         text not null,
    scopes          integer not null,
    rate_multiplier double precision not null default 1,
    created_at      timestamptz not null,
    last_used_at    timestamptz,
    revoked_at      timestamptz,
    constraint api_keys_secret unique (secret_hash)
);
create index api_keys_by_organization on api_keys (organization_id, id);

-- The ledger of calls: audit log, credits and idempotency keys.

create table idempotency_keys (
    organization_id bigint not null,
    key_hash        bytea not null,
    fingerprint     bytea not null,
    operation       text not null,
    created_at      timestamptz not null,
    job_id          bigint,
    status          integer,
    body            text,
    credit_cost     bigint,
    primary key (organization_id, key_hash)
);
create index idempotency_keys_by_age on idempotency_keys (created_at);

create table audit_log (
    id              bigint generated always as identity primary key,
    occurred_at     timestamptz not null,
    organization_id bigint not null,
    brand_id        bigint,
    key_id          bigint,
    door            text not null,
    client          text,
    request_id      text not null,
    operation       text not null,
    subjects        text[] not null default '{}'
);
create index audit_log_by_brand on audit_log (brand_id, id);

create table credit_usage (
    organization_id bigint not null,
    period_start    date not null,
    used            bigint not null,
    primary key (organization_id, period_start)
);

create table email_usage (
    organization_id bigint not null,
    period_start    date not null,
    sent            bigint not null,
    primary key (organization_id, period_start)
);

-- Contacts. The merge key is the normalized address; the address is kept as given.

create table contacts (
    brand_id            bigint not null references brands,
    id                  bigint generated always as identity,
    email               text not null,
    email_key           text not null,
    first_name          text,
    last_name           text,
    user_id             text,
    source              text not null,
    subscribed          boolean not null,
    subscription_groups jsonb not null default '{}',
    custom_fields       jsonb not null default '{}',
    consent             jsonb,
    created_at          timestamptz not null,
    updated_at          timestamptz not null,
    primary key (brand_id, id),
    constraint contacts_email unique (brand_id, email_key)
);
create index contacts_by_created on contacts (brand_id, created_at, id);

create table contact_fields (
    brand_id   bigint not null references brands,
    name       text not null,
    type       text not null check (type in ('string', 'number', 'date', 'bool')),
    created_at timestamptz not null,
    primary key (brand_id, name)
);

-- Keyed hashes of addresses, so that a suppression survives deletion and re-import.
create table suppressions (
    brand_id     bigint not null references brands,
    address_hash bytea not null,
    reason       text not null,
    created_at   timestamptz not null,
    primary key (brand_id, address_hash)
);

create table audiences (
    brand_id   bigint not null references brands,
    id         bigint generated always as identity,
    name       text not null,
    filters    jsonb not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    primary key (brand_id, id)
);

-- Designs and their versions. Saving a version prepares the data that a send needs.

create table email_groups (
    brand_id   bigint not null references brands,
    id         bigint generated always as identity,
    name       text not null,
    created_at timestamptz not null,
    primary key (brand_id, id),
    constraint email_groups_name unique (brand_id, name)
);

create table emails (
    brand_id          bigint not null references brands,
    id                bigint generated always as identity,
    title             text not null,
    status            text not null check (status in ('generating', 'ready', 'failed')),
    subject_line      text,
    group_id          bigint,
    latest_version_id bigint,
    preview_image     text,
    created_at        timestamptz not null,
    updated_at        timestamptz not null,
    deleted_at        timestamptz,
    primary key (brand_id, id)
);
create index emails_by_updated on emails (brand_id, updated_at desc, id desc) where deleted_at is null;
create index emails_by_created on emails (brand_id, created_at desc, id desc) where deleted_at is null;

create table email_versions (
    brand_id     bigint not null references brands,
    id           bigint generated always as identity,
    email_id     bigint not null,
    version      integer not null,
    html         text not null,
    plain_text   text not null,
    html_code    bytea not null,
    text_code    bytea not null,
    preview_text text,
    links        jsonb not null default '[]',
    paths        text[] not null default '{}',
    report       jsonb not null default '{}',
    created_at   timestamptz not null,
    primary key (brand_id, id),
    constraint email_versions_number unique (brand_id, email_id, version)
);

create table domains (
    brand_id            bigint not null references brands,
    id                  bigint generated always as identity,
    organization_id     bigint not null references organizations,
    name                text not null,
    kind                text not null check (kind in ('sandbox', 'sending')),
    status              text not null check (status in ('pending', 'verified')),
    trusted             boolean not null default false,
    sending_purpose     text not null check (sending_purpose in ('marketing', 'transactional')),
    default_sender_name text,
    default_from_email  text,
    default_reply_to    text,
    created_at          timestamptz not null,
    updated_at          timestamptz not null,
    verified_at         timestamptz,
    primary key (brand_id, id),
    constraint domains_name unique (brand_id, name)
);

-- Sends. A campaign is expanded once into recipients with dense ordinals; senders
-- lease ranges of ordinals that only move forward and append results.

create table sends (
    brand_id         bigint not null references brands,
    id               bigint generated always as identity,
    kind             text not null check (kind in ('campaign', 'automation')),
    message_class    text not null check (message_class in ('marketing', 'transactional')),
    email_id         bigint not null,
    email_version_id bigint not null,
    status           text not null check (status in ('scheduled', 'queued', 'running', 'paused', 'completed',
                                                     'partially_completed', 'failed', 'canceled')),
    subject          text not null,
    subject_code     bytea not null,
    preview_text     text,
    html_code        bytea, -- set when the preview text replaces that of the version
    from_address     text not null,
    sender_name      text,
    reply_to         text,
    domain_id        bigint not null,
    target           text not null check (target in ('all', 'audience', 'inline')),
    audience_id      bigint,
    inline_to        text[],
    inline_keys      text[], -- merge keys of inline_to
    target_hash      bytea not null,
    recipient_count  bigint,
    scheduled_at     timestamptz,
    started_at       timestamptz,
    completed_at     timestamptz,
    failed_at        timestamptz,
    error            text,
    pause_reason     text check (pause_reason in ('manual', 'plan_limit')),
    job_id           bigint, -- the job that begins the send
    created_at       timestamptz not null,
    updated_at       timestamptz not null,
    primary key (brand_id, id)
);
create index sends_by_created on sends (brand_id, created_at desc, id desc);
create index sends_by_email on sends (brand_id, email_id, id);

create table send_recipients (
    brand_id   bigint not null,
    send_id    bigint not null,
    ordinal    bigint not null,
    contact_id bigint,
    email      text not null,
    email_key  text not null,
    primary key (brand_id, send_id, ordinal),
    constraint send_recipients_once unique (brand_id, send_id, email_key)
);

create table send_ranges (
    brand_id     bigint not null,
    send_id      bigint not null,
    from_ordinal bigint not null,
    to_ordinal   bigint not null,
    next_ordinal bigint not null,
    lease_job    bigint, -- the job that sends the range; the lease of the job is the lease of the range
    started_at   timestamptz,
    primary key (brand_id, send_id, from_ordinal)
);
create index send_ranges_open on send_ranges (brand_id, send_id, from_ordinal) where next_ordinal <= to_ordinal;

create table send_results (
    brand_id    bigint not null,
    send_id     bigint not null,
    ordinal     bigint not null,
    outcome     text not null check (outcome in ('delivered', 'bounced', 'skipped', 'failed')),
    reason      text,
    occurred_at timestamptz not null,
    primary key (brand_id, send_id, ordinal)
);

create table send_stats (
    brand_id     bigint not null,
    send_id      bigint not null,
    accepted     bigint not null default 0,
    sent         bigint not null default 0,
    delivered    bigint not null default 0,
    opened       bigint not null default 0,
    clicked      bigint not null default 0,
    bounced      bigint not null default 0,
    complained   bigint not null default 0,
    unsubscribed bigint not null default 0,
    skipped      bigint not null default 0,
    failed       bigint not null default 0,
    primary key (brand_id, send_id)
);

-- Events are appended and never changed; reports read the rollups.

create table events (
    brand_id        bigint not null,
    id              bigint generated by default as identity,
    occurred_at     timestamptz not null,
    domain          text not null check (domain in ('email', 'automation', 'trigger', 'inbound')),
    event_type      text not null,
    recipient_email text,
    recipient_key   text,
    send_id         bigint,
    email_id        bigint,
    mode            text not null default 'live' check (mode in ('live', 'test')),
    summary         text,
    primary key (brand_id, occurred_at, id)
) partition by range (occurred_at);
create table events_other partition of events default;
create index events_by_send on events (brand_id, send_id, occurred_at desc, id desc);
create index events_by_recipient on events (brand_id, recipient_key, occurred_at desc, id desc);

create table event_counts (
    brand_id   bigint not null,
    hour       timestamptz not null,
    event_type text not null,
    count      bigint not null,
    primary key (brand_id, hour, event_type)
);

-- The job queue: side effects, committed in the transaction that requests them (transactional outbox).

create table jobs (
    id              bigint generated always as identity primary key,
    kind            text not null,
    state           text not null default 'queued' check (state in ('queued', 'running', 'done', 'failed', 'canceled')),
    organization_id bigint,
    brand_id        bigint,
    payload         jsonb not null,
    call            jsonb,
    run_after       timestamptz not null,
    lease_owner     text,
    lease_until     timestamptz,
    attempts        integer not null default 0,
    cancel_asked    boolean not null default false,
    progress        double precision not null default 0,
    progress_total  double precision not null default 0,
    progress_note   text,
    result_status   integer,
    result_body     text,
    result_error    jsonb,
    created_at      timestamptz not null,
    settled_at      timestamptz
);
create index jobs_waiting on jobs (run_after, id) where state = 'queued';
create index jobs_running on jobs (lease_until) where state = 'running';
create index jobs_settled on jobs (settled_at) where state in ('done', 'failed', 'canceled');
