-- The sender: a sending process leases ranges and retries. The lease has the process's name, which is also the application
-- name of its connections. Results record the last reply. A process that takes over from a dead one reads its journal first
-- (src/sender).

alter table send_ranges drop column lease_job;
alter table send_ranges add column lease_owner text;
alter table send_ranges add column lease_until timestamptz;

create index sends_running on sends (brand_id, id) where status = 'running';

-- bounced: refused permanently, or given up after days; reason is hard, block, refused or expired.
-- held: its delivery is unknown, and the operator allows no second attempt.
alter table send_results drop constraint send_results_outcome_check;
alter table send_results add constraint send_results_outcome_check
    check (outcome in ('delivered', 'bounced', 'skipped', 'failed', 'held'));
alter table send_results add column reply text;                              -- the last reply of the relay
alter table send_results add column relay text;
alter table send_results add column attempts smallint not null default 1;
alter table send_results add column uncertain boolean not null default false; -- an earlier attempt may have arrived as well

-- The retry queue: messages that a relay deferred (soft bounce), or whose delivery is unknown. Small, unlike the campaign.
create table send_retries (
    brand_id    bigint not null,
    send_id     bigint not null,
    ordinal     bigint not null,
    attempts    smallint not null,
    first_at    timestamptz not null,
    due_at      timestamptz not null,
    reply       text,
    relay       text,
    uncertain   boolean not null default false,
    lease_owner text,
    lease_until timestamptz,
    primary key (brand_id, send_id, ordinal)
);
create index send_retries_due on send_retries (due_at) where lease_owner is null;

alter table send_stats add column held bigint not null default 0;

-- The sending processes, so that other processes can see whether a relay is configured.
create table senders (
    owner       text primary key,
    relays      text[] not null, -- host:port each
    state       jsonb not null default '[]', -- of each relay, for the operator
    started_at  timestamptz not null,
    seen_at     timestamptz not null
);

-- Ascending, in the order of the inserts, so that its pages fill from one end. Queries read it backwards.
drop index events_by_send;
create index events_by_send on events (brand_id, send_id, occurred_at, id);
