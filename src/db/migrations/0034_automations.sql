-- Triggers, payload contracts, automations, their runs, and the mail that runs send.

-- What starts an automation: a custom event, or an event of an integration. provider: api for custom ones. schema: the declared
-- fields. contract: the stored contract's fields; null: it is derived from the schema.
create table triggers (
    brand_id         bigint not null references brands,
    id               bigint generated always as identity,
    provider         text not null default 'api',
    connection_id    bigint, -- of an integration
    event            text,   -- its name at the integration
    title            text not null,
    description      text,
    schema           jsonb not null default '[]',
    contract         jsonb,
    contract_version integer not null default 0,
    contract_hash    bytea,
    enforcement      text not null default 'off' check (enforcement in ('off', 'prune', 'strict')),
    created_at       timestamptz not null,
    updated_at       timestamptz not null,
    primary key (brand_id, id)
);
create unique index triggers_of_connection on triggers (brand_id, connection_id, event) where connection_id is not null;
create index triggers_by_updated on triggers (brand_id, updated_at desc, id desc);

-- The providers that may send events to /integrations.
create table integration_connections (
    brand_id   bigint not null references brands,
    id         bigint generated always as identity,
    provider   text not null,
    name       text not null,
    secret     bytea not null, -- sealed
    settings   jsonb not null default '{}',
    created_at timestamptz not null,
    used_at    timestamptz,
    revoked_at timestamptz,
    primary key (brand_id, id)
);
create unique index integration_connections_id on integration_connections (id); -- an address names only the id

-- Contacts by the id that a provider has for them, because some events name a person only by it. person_key: hash of that id.
create table integration_people (
    brand_id      bigint not null,
    connection_id bigint not null,
    person_key    bytea not null,
    contact_id    bigint not null,
    primary key (brand_id, connection_id, person_key),
    foreign key (brand_id, contact_id) references contacts on delete cascade
);
create index integration_people_by_contact on integration_people (brand_id, contact_id);

-- Events of integrations that were taken, by the id that the provider gives them: a repeated one is answered and not fired again.
create table integration_events (
    brand_id      bigint not null,
    connection_id bigint not null,
    event_key     bytea not null, -- hash of the id that the provider gives the event
    received_at   timestamptz not null,
    primary key (brand_id, connection_id, event_key)
);
create index integration_events_by_age on integration_events (received_at);

-- Automations. version: the number of the latest version. live_version_id: the published version; null: a draft.
create table automations (
    brand_id          bigint not null references brands,
    id                bigint generated always as identity,
    name              text not null,
    description       text,
    version           integer not null default 1,
    latest_version_id bigint not null,
    live_version_id   bigint,
    is_paused         boolean not null default false,
    created_at        timestamptz not null,
    updated_at        timestamptz not null,
    deleted_at        timestamptz,
    primary key (brand_id, id)
);
create index automations_by_updated on automations (brand_id, updated_at desc, id desc) where deleted_at is null;

-- Versions never change. nodes and connections are as the caller gave them, with decoded configs. trigger_id and audience_id come
-- from the config of the trigger node. trigger_node: that node, which a fire reads without the rest of the graph.
create table automation_versions (
    brand_id        bigint not null references brands,
    id              bigint generated always as identity (start with 1099511627776), -- on the wire, versions of designs share the kind
    automation_id   bigint not null,
    version         integer not null,
    nodes           jsonb not null,
    connections     jsonb not null,
    definition_hash bytea not null, -- SHA-256 of the canonical graph
    trigger_id      bigint,
    audience_id     bigint,
    email_ids       bigint[] not null default '{}',
    trigger_node    jsonb generated always as (jsonb_path_query_first(nodes, '$[*] ? (@.type == "trigger")')) stored,
    created_at      timestamptz not null,
    primary key (brand_id, id),
    constraint automation_versions_number unique (brand_id, automation_id, version)
);
create index automation_versions_by_trigger on automation_versions (brand_id, trigger_id) where trigger_id is not null;

-- The payload of a fire, sealed. The row is deleted in the transaction in which no run and no message can read it any more.
create table trigger_payloads (
    brand_id   bigint not null,
    id         bigint generated always as identity,
    sealed     bytea not null,
    created_at timestamptz not null,
    primary key (brand_id, id)
);

-- Fires, a partition a month. not_started: [{"automation": id, "reason": text}]. starts: automations whose start failed for a
-- passing reason and is tried again. has_findings: the payload did not fit the contract, which let it pass.
create table trigger_instances (
    brand_id         bigint not null,
    occurred_at      timestamptz not null,
    id               bigint generated by default as identity,
    trigger_id       bigint not null,
    source           text not null check (source in ('api', 'integration')),
    provider         text,
    state            text not null check (state in ('received', 'verified', 'matched', 'partially_fired', 'fired', 'rejected',
                                                    'dead_letter')),
    contact_id       bigint,
    email_key        text,
    matched          bigint[] not null default '{}',
    runs             bigint[] not null default '{}',
    not_started      jsonb not null default '[]',
    rejection_reason text,
    attempts         integer not null default 1,
    has_findings     boolean not null default false,
    processed_at     timestamptz,
    primary key (brand_id, occurred_at, id)
) partition by range (occurred_at);
create table trigger_instances_other partition of trigger_instances default;
create index trigger_instances_by_id on trigger_instances (brand_id, id);
create index trigger_instances_by_trigger on trigger_instances (brand_id, trigger_id, occurred_at desc, id desc);
create index trigger_instances_other_times on trigger_instances_other using brin (occurred_at);
create index trigger_instances_by_contact on trigger_instances (brand_id, trigger_id, email_key, occurred_at);
select make_months('trigger_instances', now() - interval '1 month');
select make_months('trigger_instances', now());

-- Launches of an automation on an audience.
create table audience_runs (
    brand_id         bigint not null references brands,
    id               bigint generated always as identity,
    automation_id    bigint not null,
    version_id       bigint not null,
    audience_id      bigint not null,
    status           text not null check (status in ('scheduled', 'queued', 'running', 'paused', 'completed', 'partially_completed',
                                                     'failed', 'canceled')),
    pause_reason     text check (pause_reason in ('manual', 'plan_limit')),
    error            text,
    scheduled_at     timestamptz,
    gradual          jsonb,
    total_recipients bigint not null default 0,
    open_runs        bigint not null default 0, -- runs that have not ended
    failed_runs      bigint not null default 0,
    resumed_from     text,
    job_id           bigint,
    created_at       timestamptz not null,
    updated_at       timestamptz not null,
    completed_at     timestamptz,
    primary key (brand_id, id)
);
create index audience_runs_by_created on audience_runs (brand_id, created_at desc, id desc);
create index audience_runs_by_automation on audience_runs (brand_id, automation_id, id desc);

-- Messages of an audience run by node.
create table audience_run_nodes (
    brand_id        bigint not null,
    audience_run_id bigint not null,
    node_id         text not null,
    sent            bigint not null default 0,
    failed          bigint not null default 0,
    skipped         bigint not null default 0,
    primary key (brand_id, audience_run_id, node_id)
);

-- One execution of one automation for one recipient. The row lock is the lease of a stepper.
--   node_id, visit   the node that the run is at or waits in, and the number of that visit; visit 0: not begun
--   entered_at       when the run reached the node; null: it has not begun
--   due_at           the time of the next step; null: only an event or a message can wake the run, or it has ended
--   waits_message    automation_sends.id whose engagement wakes the run
--   waits_trigger    the trigger whose fire for the same address wakes the run
--   is_held          not stepped: the automation or the audience run is paused, or a restored database waits for the operator
create table automation_runs (
    brand_id            bigint not null references brands,
    id                  bigint generated always as identity,
    automation_id       bigint not null,
    version_id          bigint not null,
    trigger_id          bigint,
    trigger_instance_id bigint,
    audience_run_id     bigint,
    payload_id          bigint,  -- null: no payload, or nothing of the run reads it any more
    contact_id          bigint,
    email               text not null,
    email_key           text not null,
    mode                text not null default 'live' check (mode in ('live', 'test')),
    status              text not null default 'running' check (status in ('queued', 'running', 'completed', 'failed', 'canceled')),
    node_id             text not null,
    visit               integer not null default 0,
    entered_at          timestamptz,
    due_at              timestamptz,
    waits_message       bigint,
    waits_trigger       bigint,
    is_held             boolean not null default false,
    error               text,
    started_at          timestamptz not null,
    completed_at        timestamptz,
    primary key (brand_id, id)
);
create index automation_runs_due on automation_runs (brand_id, due_at, id) where due_at is not null and not is_held and status = 'running';
create index automation_runs_open on automation_runs (brand_id, automation_id, id) where status in ('queued', 'running');
create index automation_runs_held on automation_runs (brand_id, automation_id, id) where is_held;
create index automation_runs_of_audience on automation_runs (brand_id, audience_run_id, id) where audience_run_id is not null;
create index automation_runs_by_automation on automation_runs (brand_id, automation_id, started_at desc, id desc);
create index automation_runs_ended on automation_runs (brand_id, automation_id, status, started_at desc, id desc)
    where status in ('completed', 'failed', 'canceled');
create index automation_runs_not_completed on automation_runs (brand_id, status, started_at desc, id desc)
    where status in ('failed', 'canceled');
create index automation_runs_by_started on automation_runs (brand_id, started_at desc, id desc);
create index automation_runs_by_contact on automation_runs (brand_id, email_key, automation_id, id);
create index automation_runs_by_instance on automation_runs (brand_id, trigger_instance_id) where trigger_instance_id is not null;
create index automation_runs_by_message on automation_runs (brand_id, waits_message) where waits_message is not null;
create index automation_runs_by_event on automation_runs (brand_id, waits_trigger, email_key) where waits_trigger is not null;
create index automation_runs_by_payload on automation_runs (brand_id, payload_id) where payload_id is not null;

-- Each visit of a node, once. facts: what decided the branch or the time, without values of a payload.
create table automation_steps (
    brand_id     bigint not null,
    run_id       bigint not null,
    visit        integer not null,
    node_id      text not null,
    node_type    text not null,
    status       text not null check (status in ('running', 'completed', 'failed', 'skipped')),
    branch       text,
    facts        jsonb not null default '{}',
    error        text,
    started_at   timestamptz not null,
    completed_at timestamptz,
    primary key (brand_id, run_id, visit)
);

-- Suspect runs: a process ended while it stepped them. They are stepped in smaller transactions until one of them is alone.
--   batch_runs  the runs of the last transaction in which that happened
--   alone       how often it happened while the run was alone in the transaction
create table step_crashes (
    brand_id   bigint not null,
    run_id     bigint not null,
    batch_runs integer not null,
    alone      integer not null,
    crashed_at timestamptz not null,
    primary key (brand_id, run_id)
);

-- The hidden send that has all messages of one node of one version. Its ordinals only grow.
create table automation_carriers (
    brand_id      bigint not null,
    version_id    bigint not null,
    node_id       text not null,
    send_id       bigint not null,
    automation_id bigint not null,
    next_ordinal  bigint not null default 1,
    primary key (brand_id, version_id, node_id),
    constraint automation_carriers_send unique (brand_id, send_id)
);
create index automation_carriers_by_automation on automation_carriers (brand_id, automation_id);

-- A message of a run. id comes from the identity of sends: callers see it as a send with one recipient.
create table automation_sends (
    brand_id            bigint not null,
    id                  bigint not null,
    carrier_id          bigint not null, -- of sends
    ordinal             bigint not null, -- of send_recipients
    automation_id       bigint not null,
    run_id              bigint not null,
    visit               integer not null,
    node_id             text not null,
    audience_run_id     bigint,
    trigger_instance_id bigint,
    payload_id          bigint, -- null: the message has no payload, or has a result
    canceled_at         timestamptz, -- it is skipped when its turn comes; messages of a canceled run are, too
    created_at          timestamptz not null,
    primary key (brand_id, id),
    constraint automation_sends_message unique (brand_id, carrier_id, ordinal),
    constraint automation_sends_visit unique (brand_id, run_id, visit)
);
create index automation_sends_by_automation on automation_sends (brand_id, automation_id, id desc);
create index automation_sends_by_audience_run on automation_sends (brand_id, audience_run_id, id desc) where audience_run_id is not null;
create index automation_sends_by_instance on automation_sends (brand_id, trigger_instance_id, id desc)
    where trigger_instance_id is not null;
create index automation_sends_canceled on automation_sends (brand_id, automation_id, id desc) where canceled_at is not null;
create index automation_sends_by_payload on automation_sends (brand_id, payload_id) where payload_id is not null;

-- Runs of an automation by day (UTC).
create table automation_counts (
    brand_id      bigint not null,
    automation_id bigint not null,
    day           date not null,
    kind          text not null check (kind in ('started', 'completed', 'failed', 'canceled')),
    count         bigint not null,
    primary key (brand_id, automation_id, day, kind)
);

-- A carrier is in no list and never completes. A recipient of it may be the same person again: for another run, or another visit.
alter table sends add column is_carrier boolean not null default false;
alter table send_recipients add column automation_send_id bigint;
alter table send_recipients drop constraint send_recipients_once;
create unique index send_recipients_once on send_recipients (brand_id, send_id, email_key) where automation_send_id is null;

-- Carriers rest most of the time. They are found by their open ranges and their retries, and other sends as before.
drop index sends_running;
create index sends_running on sends (brand_id, id) where status = 'running' and not is_carrier;
alter table send_ranges add column is_carrier boolean not null default false;
create index send_results_not_sent on send_results (brand_id, send_id, ordinal) where outcome in ('failed', 'held');
create index send_ranges_of_carriers on send_ranges (brand_id, send_id, from_ordinal) where is_carrier and next_ordinal <= to_ordinal;
alter table send_retries add column is_carrier boolean not null default false;
create index send_retries_of_carriers on send_retries (brand_id, send_id, due_at) where is_carrier and lease_owner is null;

-- The events of automations and their runs.
create index events_by_automation on events (brand_id, automation_id, occurred_at, id) where automation_id is not null;
create index events_by_run on events (brand_id, automation_run_id, occurred_at, id) where automation_run_id is not null;

-- Deletes payloads that no open run and no open message reads. The rows are locked in the order of their ids, and looked at again
-- behind the lock, so two transactions that end the last two readers together do not both leave the row.
create function erase_payloads(brand bigint, ids bigint[]) returns bigint language plpgsql as $$
declare
    erased bigint;
begin
    perform 1 from trigger_payloads p where p.brand_id = brand and p.id = any (ids) order by p.id for update;
    delete from trigger_payloads p
     where p.brand_id = brand and p.id = any (ids)
       and not exists (select 1 from automation_runs r where r.brand_id = brand and r.payload_id = p.id)
       and not exists (select 1 from automation_sends m where m.brand_id = brand and m.payload_id = p.id);
    get diagnostics erased = row_count;
    return erased;
end $$;

-- A confirmation of an assistant may also confirm a launch.
alter table send_confirmations add column audience_run_id bigint;
