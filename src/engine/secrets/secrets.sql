-- Stores the fingerprint of a master key before it seals a secret.
-- name: sealing_key_keep :exec
-- params: key_id integer, fingerprint bytea, now timestamptz
insert into sealing_keys (key_id, fingerprint, created_at) values (:key_id, :fingerprint, :now)
    on conflict (key_id) do nothing;

-- The master keys that sealed secrets.
-- name: sealing_keys_find :many
-- columns: key_id integer, fingerprint bytea
select key_id, fingerprint from sealing_keys order by key_id;
