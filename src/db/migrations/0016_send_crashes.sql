-- Crashes of sender processes, by the work that the process had in hand: a recipient whose message was composed, or a range (its first
-- ordinal) whose recipients were read. Work with several crashes gets the result `failed` (src/sender/recovery.c).
create table send_crashes (
    brand_id   bigint not null,
    send_id    bigint not null,
    ordinal    bigint not null,
    is_range   boolean not null,
    crashes    smallint not null,
    crashed_at timestamptz not null,
    primary key (brand_id, send_id, ordinal, is_range)
);
