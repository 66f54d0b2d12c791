-- Makes the missing partitions of the coming months.
-- name: months_make :one
-- params: parent text, at timestamptz
-- columns: made bigint
select make_months(:parent, :at);

-- Moves the rows of the oldest month in the default partition to a partition of their own, when the month has passed.
-- name: months_drain :one
-- params: parent text, at timestamptz, most bigint
-- columns: moved bigint
select drain_month(:parent, :at, :most);

-- Drops the months that are kept no longer, and removes old rows of partitions that hold several months.
-- name: months_drop :one
-- params: parent text, at timestamptz, months integer, most bigint
-- columns: removed bigint
select drop_months(:parent, (date_trunc('month', :at::timestamptz at time zone 'UTC') - make_interval(months => :months)) at time zone 'UTC',
                   :most);

-- For how many months events are kept; no row when it was never set.
-- name: months_kept :one
-- columns: months bigint
select convert_from(value, 'UTF8')::bigint from settings where name = 'events_kept_months';

-- Sets for how many months events are kept.
-- name: months_keep :exec
-- params: months bigint
insert into settings (name, value) values ('events_kept_months', convert_to(:months::bigint::text, 'UTF8'))
    on conflict (name) do update set value = excluded.value;
