-- Makes the missing partitions of the coming months.
-- name: event_partitions_make :one
-- params: at timestamptz
-- columns: made bigint
select make_event_partitions(:at);
