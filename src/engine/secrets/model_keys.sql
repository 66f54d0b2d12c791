-- Stores the sealed key of a server of models, unless there are :most others.
-- name: model_key_set :one
-- params: server text, key bytea, now timestamptz, most bigint
-- columns: server text
insert into model_keys (organization_id, server, key, set_at)
select 0, :server, :key, :now
 where (select count(*) from model_keys where organization_id = 0 and server <> :server) < :most
    on conflict (organization_id, server) do update set key = excluded.key, set_at = excluded.set_at
returning server;

-- Replaces a sealed key by the same key, sealed anew.
-- name: model_key_seal :exec
-- params: server text, key bytea
update model_keys set key = :key where organization_id = 0 and server = :server;

-- Removes the key of a server.
-- name: model_key_delete :one
-- params: server text
-- columns: server text
delete from model_keys where organization_id = 0 and server = :server returning server;

-- The servers that have a key.
-- name: model_keys_list :many
-- columns: server text, set_at timestamptz
select server, set_at from model_keys where organization_id = 0 order by server;

-- The sealed key of a server.
-- name: model_key_find :one
-- params: server text
-- columns: key bytea
select key from model_keys where organization_id = 0 and server = :server;

-- Keys that another master key sealed, after a position, locked.
-- name: model_keys_to_reseal :many
-- params: after_server text, key_id integer, limit bigint
-- columns: server text, key bytea
select server, key
  from model_keys
 where organization_id = 0 and server > :after_server and get_byte(key, 1) <> :key_id
 order by server
 limit :limit
   for update;
