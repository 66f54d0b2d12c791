-- Jobs: brands are served in turns, jobs that wait for other machines have workers of their own, and the callers that wait for
-- a job are known in every process.

-- pool: the workers that execute the job.
-- turn: the place of a job that is due among those of its pool; null until it is due. The jobs of a brand have consecutive
-- turns, so that each brand has about one job for each turn.
alter table jobs
    add column pool text not null default 'work' check (pool in ('work', 'network')),
    add column turn bigint;

update jobs set pool = 'network'
 where state in ('queued', 'running')
   and kind in ('import_email', 'test_send', 'validate_addresses', 'validate_contacts', 'save_validated', 'verify_domain');

drop index jobs_waiting;
create index jobs_waiting on jobs (run_after, id) where state = 'queued' and turn is null;
create index jobs_in_turn on jobs (pool, turn, id) where state = 'queued' and turn is not null;
create index jobs_in_turn_by_organization on jobs (pool, organization_id, turn, id) where state = 'queued' and turn is not null;
create index jobs_in_turn_by_brand on jobs (brand_id, pool, turn) where state = 'queued' and turn is not null;

-- The turn of a job that is due now: after the waiting jobs of its brand, but not before the first job of the pool.
create function job_turn(for_pool text, for_brand bigint) returns bigint language sql stable as $$
    select greatest(coalesce((select max(turn) + 1 from jobs
                               where brand_id = for_brand and pool = for_pool and state = 'queued' and turn is not null), 0),
                    coalesce((select min(turn) from jobs
                               where pool = for_pool and state = 'queued' and turn is not null), 0))
$$;

-- Callers that wait for a job, in any process. A caller whose process has no connection left does not wait any more.
-- process: the application name of the connections of its process, which no other process has.
-- call: tells the callers of one process apart.
create table job_waiters (
    organization_id bigint not null,
    job_id          bigint not null,
    process         text not null,
    call            bigint not null,
    primary key (organization_id, job_id, process, call)
);

create function job_has_caller(for_organization bigint, for_job bigint) returns boolean language sql stable as $$
    select exists (select 1
                     from job_waiters w
                     join pg_stat_activity a on a.application_name = w.process
                    where w.organization_id = for_organization and w.job_id = for_job)
$$;
