-- Audits of designs and their findings, and a pool of workers for jobs that check and draw designs.

-- kind: full, or accessibility for the checks of that category alone. purpose: the purpose of the send that the mail was checked for.
-- score: null for a partial audit. The counts are those of all findings, also of those that are not kept.
-- checks, engines, metrics, diff: JSON for the answer. diff: the comparison with the complete audit before; null: there was none.
create table audits (
    brand_id   bigint not null references brands,
    id         bigint generated always as identity,
    email_id   bigint not null,
    version_id bigint not null,
    kind       text not null check (kind in ('full', 'accessibility')),
    purpose    text not null check (purpose in ('marketing', 'transactional')),
    status     text not null check (status in ('complete', 'partial')),
    score      bigint check (score between 0 and 100),
    blockers   bigint not null,
    errors     bigint not null,
    warnings   bigint not null,
    info       bigint not null,
    kept       bigint not null, -- findings in audit_findings
    checks     text not null,
    engines    text not null,
    metrics    text not null,
    diff       text,
    audited_at timestamptz not null,
    expires_at timestamptz not null,
    primary key (brand_id, id),
    check ((score is null) = (status = 'partial'))
);
create index audits_by_email on audits (brand_id, email_id, id desc);
create index audits_by_expiry on audits (expires_at);

-- position: hardest first. finding_id: equal for the same fault in another audit of the design. is_new: the audit before has no such
-- finding; null: there was none.
create table audit_findings (
    brand_id   bigint not null,
    audit_id   bigint not null,
    position   bigint not null,
    finding_id text not null,
    check_id   text not null,
    severity   text not null check (severity in ('blocker', 'error', 'warning', 'info')),
    message    text not null,
    selector   text,
    source     text,
    is_new     boolean,
    primary key (brand_id, audit_id, position),
    foreign key (brand_id, audit_id) references audits on delete cascade
);

-- Audits take seconds and need the browser, so workers of their own execute them.
alter table jobs drop constraint jobs_pool_check;
alter table jobs add constraint jobs_pool_check check (pool in ('work', 'network', 'quality'));
