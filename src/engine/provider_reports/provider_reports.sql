-- Makes a connection of a provider.
-- name: report_connection_insert :one
-- params: organization_id bigint, provider text, name text, verifier bytea, now timestamptz, most bigint
-- columns: id bigint
insert into report_connections (organization_id, provider, name, verifier, created_at)
select :organization_id, :provider, :name, :verifier, :now
 where (select count(*) from report_connections where organization_id = :organization_id) < :most
returning id;

-- The connections of an organization, oldest first.
-- name: report_connections_list :many
-- params: organization_id bigint
-- columns: id bigint, provider text, name text, verifier bytea, created_at timestamptz
select id, provider, name, verifier, created_at from report_connections where organization_id = :organization_id order by id;

-- Removes a connection.
-- name: report_connection_remove :one
-- params: organization_id bigint, id bigint
-- columns: id bigint
delete from report_connections where organization_id = :organization_id and id = :id returning id;

-- A connection by its id alone, as its address names it, with the kept certificate of an address.
-- name: report_connection_find :one
-- params: id bigint, provider text, url_hash bytea, fetched_after timestamptz
-- columns: organization_id bigint, verifier bytea, pem bytea null
select c.organization_id, c.verifier, k.pem
  from report_connections c
  left join report_certificates k on k.organization_id = c.organization_id and k.connection_id = c.id and k.url_hash = :url_hash
                                 and k.fetched_at > :fetched_after
 where c.id = :id and c.provider = :provider;

-- Keeps a certificate that has signed a notification. The others of the connection are removed.
-- name: report_certificate_keep :exec
-- params: organization_id bigint, connection_id bigint, url_hash bytea, pem bytea, now timestamptz
with others as (
    delete from report_certificates
     where organization_id = :organization_id and connection_id = :connection_id and url_hash <> :url_hash
)
insert into report_certificates (organization_id, connection_id, url_hash, pem, fetched_at)
values (:organization_id, :connection_id, :url_hash, :pem, :now)
    on conflict (organization_id, connection_id, url_hash) do update set pem = excluded.pem, fetched_at = excluded.fetched_at;

-- Notes events, and returns the places (from 1) of those that were not noted before.
-- name: report_events_note :many
-- params: organization_id bigint, connection_id bigint, hashes text[], now timestamptz
-- columns: place bigint
with given as (
    select decode(g.hash, 'hex') as hash, min(g.place) as place
      from unnest(:hashes::text[]) with ordinality as g (hash, place)
     group by g.hash
), noted as (
    insert into report_events_seen (organization_id, connection_id, event_hash, seen_at)
    select :organization_id, :connection_id, hash, :now from given order by hash
        on conflict do nothing
    returning event_hash
)
select g.place from given g join noted n on n.event_hash = g.hash;

-- The brands of an organization among these.
-- name: report_brands_of :many
-- params: organization_id bigint, brand_ids bigint[]
-- columns: id bigint
select id from brands where organization_id = :organization_id and id = any (:brand_ids::bigint[]) and status <> 'deleting';

-- Deletes noted events of more than 30 days ago, some at a time.
-- name: report_events_forget :exec
-- params: before timestamptz, limit bigint
delete from report_events_seen s
 using (select organization_id, connection_id, event_hash from report_events_seen where seen_at < :before order by seen_at
         limit :limit for update skip locked) e
 where s.organization_id = e.organization_id and s.connection_id = e.connection_id and s.event_hash = e.event_hash;
