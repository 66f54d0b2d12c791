-- Cohorts and their builds. The row of a deleted audience remains for the sends and audiences that refer to it. The kind of an
-- audience, its readiness (materialization_status) and the table audience_members are in 0002_search.sql.
alter table audiences
    add column deleted_at timestamptz,
    add column selection jsonb, -- of a cohort: the selected events
    add column build_job bigint,
    add column events_scanned bigint not null default 0,
    add column stamped_contacts bigint not null default 0,
    add column enqueued_at timestamptz,
    add column completed_at timestamptz,
    add column scanned_at timestamptz, -- the last event read, with its id
    add column scanned_id bigint;
