-- The id of the next payload. A payload is sealed for its id.
-- name: payload_next_id :one
-- columns: id bigint
select nextval(pg_get_serial_sequence('trigger_payloads', 'id'));

-- Stores payloads, in hex, if the database knows the master key that sealed them by this fingerprint. No row otherwise.
-- name: payloads_insert :exec
-- params: brand_id bigint, ids bigint[], sealed text[], key_id integer, fingerprint bytea, now timestamptz
insert into trigger_payloads (brand_id, id, sealed, created_at) overriding system value
select :brand_id, p.id, decode(p.sealed, 'hex'), :now
  from sealing_keys k
 cross join unnest(:ids::bigint[], :sealed::text[]) as p (id, sealed)
 where k.key_id = :key_id and k.fingerprint = :fingerprint;

-- Deletes payloads that no open run and no open message reads.
-- name: payload_erase :one
-- params: brand_id bigint, ids bigint[]
-- columns: erased bigint
select erase_payloads(:brand_id, :ids::bigint[]);

-- The sealed payload of a test message.
-- name: payload_sealed :one
-- params: brand_id bigint, id bigint
-- columns: sealed bytea
select sealed from trigger_payloads where brand_id = :brand_id and id = :id;

-- Payloads that another master key sealed, after a position, locked in the order in which erase_payloads locks those of a brand.
-- name: payloads_to_reseal :many
-- params: after_brand_id bigint, after_id bigint, key_id integer, limit bigint
-- columns: brand_id bigint, id bigint, sealed bytea
select brand_id, id, sealed
  from trigger_payloads
 where (brand_id, id) > (:after_brand_id, :after_id) and get_byte(sealed, 1) <> :key_id
 order by brand_id, id
 limit :limit
   for update;

-- Stores a resealed payload.
-- name: payload_reseal :exec
-- params: brand_id bigint, id bigint, sealed bytea
update trigger_payloads set sealed = :sealed where brand_id = :brand_id and id = :id;
