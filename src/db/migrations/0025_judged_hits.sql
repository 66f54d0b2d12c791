-- Hits are judged by rules, their events and figures follow a change of the rules, and old months of events and hits are removed.

-- Judging the hits of a brand. All judged hits agree with the rules of this version, or of a newer one up to the recipient that
-- judging again has reached (send_id, ordinal).
create table hit_judgements (
    brand_id      bigint not null references brands primary key,
    rules_version integer not null,
    send_id       bigint not null default 0,
    ordinal       bigint not null default 0
);
alter table hits add column url text; -- where the link of a click leads
create index hits_unjudged on hits (brand_id, occurred_at) where actor is null;
create index hits_with_address on hits (occurred_at) where address is not null;

-- A brand has at most one job that judges its hits.
create unique index jobs_judge_hits on jobs (brand_id) where kind = 'judge_hits' and state in ('queued', 'running');

-- The source of the contact when the event was recorded: the rollup that counts the event.
alter table recipient_events add column source text not null default '';

-- The messages of the send report opens and clicks.
alter table sends add column is_tracked boolean not null default false;
create index sends_tracked on sends (brand_id, started_at) where is_tracked;

-- Sent, delivered and bounced are in the rollups from now on, and before by the events that exist.
insert into event_rollups (brand_id, send_id, day, event_type, receiving_domain, source, count)
select e.brand_id, e.send_id, (e.occurred_at at time zone 'UTC')::date, e.event_type, split_part(e.recipient_key, '@', 2),
       coalesce(c.source, ''), count(*)
  from events e
  left join contacts c on c.brand_id = e.brand_id and c.email_key = e.recipient_key
 where e.domain = 'email' and e.mode = 'live' and e.send_id is not null and e.recipient_key is not null
   and e.event_type in ('sent', 'delivered', 'bounced', 'unsubscribed')
 group by 1, 2, 3, 4, 5, 6
    on conflict do nothing;

-- The months of a table that is partitioned by month: `parent_YYYY_MM`, and `parent_other` for rows of other months.

-- Creates the missing partitions of the two months after `at` and returns their number. This locks the whole table for a
-- moment. It does not wait for that lock, because every writer would wait behind it, but retries at the next call. A month
-- that already has rows in the default partition gets no partition.
drop function make_event_partitions(timestamptz);
create function make_months(parent text, at timestamptz) returns bigint language plpgsql as $$
declare
    made bigint := 0;
    first timestamp;
    strays boolean;
begin
    if not pg_try_advisory_xact_lock(730579264, 0) then
        return 0;
    end if;
    perform set_config('lock_timeout', '100ms', true);
    for ahead in 1..2 loop
        first := date_trunc('month', at at time zone 'UTC') + make_interval(months => ahead);
        continue when to_regclass(parent || to_char(first, '"_"YYYY"_"MM')) is not null;
        execute format('select exists (select 1 from %I where occurred_at >= %L and occurred_at < %L)', parent || '_other',
                       first at time zone 'UTC', (first + interval '1 month') at time zone 'UTC') into strays;
        continue when strays;
        begin
            execute format('create table %I partition of %I for values from (%L) to (%L)', parent || to_char(first, '"_"YYYY"_"MM'),
                           parent, first at time zone 'UTC', (first + interval '1 month') at time zone 'UTC');
            made := made + 1;
        exception when lock_not_available or check_violation or invalid_object_definition then
            return made;
        end;
    end loop;
    return made;
end $$;

-- Moves the rows of the oldest month in the default partition to a partition of their own, when the month has passed and has at
-- most `most` rows. Returns the number of moved rows. The rows are missing at no time: the table is locked while they are moved.
create function drain_month(parent text, at timestamptz, most bigint) returns bigint language plpgsql as $$
declare
    first timestamp;
    month text;
    moved bigint;
begin
    execute format('select date_trunc(''month'', min(occurred_at) at time zone ''UTC'') from %I', parent || '_other') into first;
    month := parent || to_char(first, '"_"YYYY"_"MM');
    if first is null or first + interval '1 month' > date_trunc('month', at at time zone 'UTC') or to_regclass(month) is not null
       or not pg_try_advisory_xact_lock(730579264, 0) then
        return 0;
    end if;
    perform set_config('lock_timeout', '100ms', true);
    begin
        execute format('lock table %I in access exclusive mode', parent);
        execute format('create table %I (like %I including all)', month, parent);
        execute format('with moved as (delete from %I where occurred_at < %L returning *) insert into %I select * from moved',
                       parent || '_other', (first + interval '1 month') at time zone 'UTC', month);
        get diagnostics moved = row_count;
        if moved > most then
            raise exception using errcode = 'check_violation';
        end if;
        execute format('alter table %I attach partition %I for values from (%L) to (%L)', parent, month,
                       first at time zone 'UTC', (first + interval '1 month') at time zone 'UTC');
        return moved;
    exception when lock_not_available or check_violation or invalid_object_definition then
        return 0;
    end;
end $$;

-- Drops the partitions that end before `cutoff`, and removes up to `most` older rows from those that hold several months. Returns the
-- number of dropped partitions and removed rows. A partition that is read stays; a later call drops it.
create function drop_months(parent text, cutoff timestamptz, most bigint) returns bigint language plpgsql as $$
declare
    part record;
    removed bigint := 0;
    deleted bigint;
begin
    if not pg_try_advisory_xact_lock(730579264, 0) then
        return 0;
    end if;
    perform set_config('lock_timeout', '100ms', true);
    for part in
        select c.relname as name, bound.until
          from pg_inherits i
          join pg_class c on c.oid = i.inhrelid
         cross join lateral (select substring(pg_get_expr(c.relpartbound, c.oid) from 'TO \(''([^'']+)''\)')::timestamptz as until) bound
         where i.inhparent = to_regclass(parent) and (c.relname in (parent || '_other', parent || '_before') or bound.until <= cutoff)
         order by 1
    loop
        begin
            if part.until <= cutoff then
                execute format('drop table %I', part.name);
                removed := removed + 1;
                continue;
            end if;
            execute format('delete from %1$I where ctid = any (array(select ctid from %1$I where occurred_at < %2$L limit %3$s))',
                           part.name, cutoff, most);
            get diagnostics deleted = row_count;
            removed := removed + deleted;
        exception when lock_not_available then
            return removed;
        end;
    end loop;
    return removed;
end $$;

-- Finds old rows of the partitions that hold several months.
create index events_before_times on events_before using brin (occurred_at);
create index events_other_times on events_other using brin (occurred_at);
create index hits_other_times on hits_other using brin (occurred_at);

-- This month and the next have partitions of hits from the beginning.
select make_months('hits', now() - interval '1 month');
