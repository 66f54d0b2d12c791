-- Each month of events has its own partition, which the job runner creates ahead (engine/analytics/partitions.h). No rows are
-- moved: the former default partition keeps all earlier events, and a new default partition takes events without a month.
alter table events detach partition events_other;
alter table events_other rename to events_before;
do $$
declare
    latest timestamptz := greatest(now(), (select max(occurred_at) from events_before));
begin
    execute format('alter table events attach partition events_before for values from (minvalue) to (%L)',
                   (date_trunc('month', latest at time zone 'UTC') + interval '1 month') at time zone 'UTC');
end $$;
create table events_other partition of events default;

-- Creates the missing partitions of the two months after `at` and returns their number. This locks the whole table for a
-- moment. It does not wait for that lock, because every writer would wait behind it, but retries at the next call. A month
-- that already has events in the default partition gets no partition.
create function make_event_partitions(at timestamptz) returns bigint language plpgsql as $$
declare
    made bigint := 0;
    first timestamp;
begin
    if not pg_try_advisory_xact_lock(7305792610003) then
        return 0;
    end if;
    perform set_config('lock_timeout', '100ms', true);
    for ahead in 1..2 loop
        first := date_trunc('month', at at time zone 'UTC') + make_interval(months => ahead);
        continue when to_regclass(to_char(first, '"events_"YYYY"_"MM')) is not null
                   or exists (select 1 from events_other
                               where occurred_at >= first at time zone 'UTC'
                                 and occurred_at < (first + interval '1 month') at time zone 'UTC');
        begin
            execute format('create table %I partition of events for values from (%L) to (%L)', to_char(first, '"events_"YYYY"_"MM'),
                           first at time zone 'UTC', (first + interval '1 month') at time zone 'UTC');
            made := made + 1;
        exception when lock_not_available or check_violation or invalid_object_definition then
            return made;
        end;
    end loop;
    return made;
end $$;
