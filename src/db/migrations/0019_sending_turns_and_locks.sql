-- The first due retry of each running send, so that brands take turns with their retries.
drop index send_retries_due;
create index send_retries_due on send_retries (brand_id, send_id, due_at) where lease_owner is null;

-- A range that was taken over from a process whose journal nobody could read: it may have sent to any of its recipients.
alter table send_ranges add column is_abandoned boolean not null default false;

-- The same function with a lock of its own class (src/db/advisory_locks.h).
create or replace function make_event_partitions(at timestamptz) returns bigint language plpgsql as $$
declare
    made bigint := 0;
    first timestamp;
begin
    if not pg_try_advisory_xact_lock(730579264, 0) then
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
