-- Makes the partitions of the coming months as far as they are missing.
-- name: event_partitions_make :one
-- params: at timestamptz
-- columns: made bigint
select make_event_partitions(:at);
