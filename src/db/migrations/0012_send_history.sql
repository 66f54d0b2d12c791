-- Events of a month have a partition of their own, made ahead by whoever runs jobs (engine/analytics/partitions.h). Nothing is
-- moved: the partition that took everything so far becomes the one of all the time before, and a new one takes strays.
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

-- Makes the partitions of the two months behind the one of `at` that are missing, and gives how many. Their making needs the
-- whole table for a moment: it does not queue for that, since every writer would queue behind it, but leaves it for the next
-- time. A month that has strays already is left to them.
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
