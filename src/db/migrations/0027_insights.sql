-- Findings about a brand's mail, and the runs that make them.

-- due_at: when the next run is enqueued. job_id: the run that was enqueued last. running_job: the run that is under way; it counts
-- only while its job runs.
create table insight_runs (
    brand_id       bigint primary key references brands,
    due_at         timestamptz not null,
    job_id         bigint,
    running_job    bigint,
    succeeded_at   timestamptz,
    data_as_of     timestamptz,
    attempt_status text check (attempt_status in ('succeeded', 'running', 'failed')),
    attempt_at     timestamptz
);
create index insight_runs_due on insight_runs (due_at);

-- held, missed: runs in a row that found it, and that did not. state null: found by one run only, and not shown.
create table insights (
    brand_id    bigint not null references brands,
    id          bigint generated always as identity,
    detector    text not null,
    subject     text not null,
    state       text check (state in ('active', 'resolved', 'stale')),
    kind        text not null,
    severity    text not null check (severity in ('critical', 'warning', 'opportunity', 'info')),
    score       double precision not null,
    description text not null,
    action      jsonb not null,
    detail      jsonb not null, -- rationale, metrics, evidence, subject, method
    held        bigint not null,
    missed      bigint not null,
    found_at    timestamptz not null,
    checked_at  timestamptz not null,
    closed_at   timestamptz,
    primary key (brand_id, id),
    constraint insights_once unique (brand_id, detector, subject)
);

-- Messages that a receiving domain has blocked or delayed: few of the results of a send.
create index send_results_refused on send_results (brand_id, send_id, ordinal)
    where (outcome = 'bounced' and reason = 'block') or attempts >= 6;
