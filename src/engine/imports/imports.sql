-- Inserts an import, its shards and the slices of its text.
-- name: import_insert :one
-- params: brand_id bigint, shards bigint, mapping jsonb null, validate boolean, over_http boolean, csv bytea null, root text null, path text null, device bigint null, inode bigint null, modified_ns bigint null, size_bytes bigint, now timestamptz
-- columns: id bigint
with import as (
    insert into imports (brand_id, mapping, validate, over_http, root, path, device, inode, modified_ns, size_bytes, created_at)
    values (:brand_id, :mapping, :validate, :over_http, :root, :path, :device, :inode, :modified_ns, :size_bytes, :now)
    returning id
), lanes as (
    insert into import_lanes (brand_id, import_id, lane)
    select :brand_id, import.id, lane from import, generate_series(0, :shards::bigint - 1) as lane
), texts as (
    insert into import_texts (brand_id, import_id, slice, bytes)
    select :brand_id, import.id, slice, substring(:csv::bytea from slice * 65536 + 1 for 65536)
      from import, generate_series(0, (octet_length(:csv::bytea) - 1) / 65536) as slice
)
select id from import;

-- The job of an unfinished import of the same unchanged file.
-- name: import_find_open :one
-- params: brand_id bigint, root text, path text, device bigint, inode bigint, modified_ns bigint, size_bytes bigint, mapping jsonb null, validate boolean
-- columns: job_id bigint null
select job_id
  from imports
 where brand_id = :brand_id and path = :path and status in ('queued', 'running') and root = :root and device = :device
   and inode = :inode and modified_ns = :modified_ns and size_bytes = :size_bytes and mapping is not distinct from :mapping::jsonb
   and validate = :validate and job_id is not null
 order by id desc
 limit 1;

-- Stores the job that executes an import.
-- name: import_bind_job :exec
-- params: brand_id bigint, id bigint, job_id bigint
update imports set job_id = :job_id where brand_id = :brand_id and id = :id;

-- Deletes old finished imports and their failed rows.
-- name: import_forget :exec
-- params: before timestamptz
delete from imports
 where created_at < :before and status in ('completed', 'canceled', 'failed');

-- One import.
-- name: import_find :one
-- params: brand_id bigint, id bigint
-- row: import
-- columns: id bigint, status text, mapping jsonb null, validate boolean, over_http boolean, root text null, path text null, device bigint null, inode bigint null, modified_ns bigint null, size_bytes bigint, plan jsonb null, fields_created text[], message text null, validation_id bigint null, validation_job bigint null, created_at timestamptz
select id, status, mapping, validate, over_http, root, path, device, inode, modified_ns, size_bytes, plan, fields_created, message,
       validation_id, validation_job, created_at
  from imports
 where brand_id = :brand_id and id = :id
   and exists (select 1 from brands b where b.id = :brand_id and b.status <> 'deleting');

-- The positions and counts of an import's shards.
-- name: import_shards_find :many
-- params: brand_id bigint, id bigint
-- row: import_shard
-- columns: shard integer, chunks bigint, next_offset bigint, next_line bigint, inserted bigint, updated bigint, unchanged bigint, skipped bigint, failed bigint, errors_kept bigint, error_bytes bigint
select lane, chunks, next_offset, next_line, inserted, updated, unchanged, skipped, failed, errors_kept, error_bytes
  from import_lanes
 where brand_id = :brand_id and import_id = :id
 order by lane;

-- A part of the text of a request; offsets start at 0.
-- name: import_text_part :one
-- params: brand_id bigint, id bigint, offset bigint, size bigint
-- columns: part bytea
select substring(string_agg(bytes, '' order by slice) from (:offset % 65536 + 1)::integer for :size::integer)
  from import_texts
 where brand_id = :brand_id and import_id = :id and slice between :offset / 65536 and (:offset + :size - 1) / 65536
having count(*) > 0;

-- Stores the plan of an import and the start positions of its shards.
-- name: import_plan_keep :exec
-- params: brand_id bigint, id bigint, plan jsonb, fields_created text[], validation_id bigint null, offset bigint, line bigint
with import as (
    update imports set plan = :plan, fields_created = :fields_created, validation_id = :validation_id, status = 'running'
     where brand_id = :brand_id and id = :id and plan is null
    returning id
)
update import_lanes l set next_offset = :offset, next_line = :line
  from import
 where l.brand_id = :brand_id and l.import_id = import.id;

-- Tells the planner how many contacts the brands have, without waiting for autovacuum. Another analyze is not waited for.
-- name: import_analyze :exec
analyze (skip_locked) contacts (brand_id);

-- Finishes an import and deletes its text.
-- name: import_finish :exec
-- params: brand_id bigint, id bigint, status text, message text null, validation_job bigint null, now timestamptz
with finished as (
    update imports set status = :status, message = :message, validation_job = :validation_job, finished_at = :now
     where brand_id = :brand_id and id = :id and status in ('queued', 'running')
    returning id
)
delete from import_texts t
 using finished
 where t.brand_id = :brand_id and t.import_id = finished.id;

-- ---- A chunk of a shard ----

-- The statements of a chunk find contacts one by one by their unique keys, in the order of the keys, so concurrent writers lock in
-- the same order. Several indexes of contacts begin with the brand. Where the statistics are older than the contacts of the brand,
-- the planner takes all of them for equally good, also those that read every contact of the brand for each key. So each lookup is a
-- range of one key with an order, and without sorts only the index of the keys has that order. Such a plan is good for any size of the
-- tables, so a session keeps it: planning a chunk anew takes as long as saving it. The commit of a chunk does not wait for the disk: a
-- crash of the server loses the rows together with the position of the shard, so they are saved again. The commit that ends the import
-- does wait, for all earlier ones, too.
-- name: import_planner :exec
select set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
       set_config('enable_mergejoin', 'off', true), set_config('enable_sort', 'off', true),
       set_config('plan_cache_mode', 'force_generic_plan', true), set_config('synchronous_commit', 'off', true);

-- Locks the position of a shard. No row when another worker has advanced it.
-- name: import_shard_hold :one
-- params: brand_id bigint, id bigint, shard integer, chunks bigint
-- columns: shard integer
select lane
  from import_lanes
 where brand_id = :brand_id and import_id = :id and lane = :shard and chunks = :chunks
   for update;

-- The keys that are contacts already, as indices into the array (from 1). Runs after import_planner.
-- name: import_known_keys :many
-- params: brand_id bigint, email_keys text[]
-- columns: place bigint
select g.place
  from unnest(:email_keys::text[]) with ordinality as g(email_key, place)
 cross join lateral (select 1 from contacts c
                      where c.brand_id = :brand_id and c.email_key >= g.email_key and c.email_key <= g.email_key
                      order by c.email_key
                      limit 1) as known;

-- True if the brand has any suppressions that hold, and any at all. Whether an import can delete one of them is not asked: the answer
-- takes all suppressions of a brand that has bounces only, and lift_unsubscribes finds each address by its key.
-- name: import_suppressions_any :one
-- params: brand_id bigint, now timestamptz
-- columns: any boolean, any_stored boolean
select exists (select 1 from suppressions_at(:brand_id, :now)), exists (select 1 from suppressions where brand_id = :brand_id);

-- The suppressed addresses, as indices into the array (from 1).
-- name: import_suppressed :many
-- params: brand_id bigint, address_hashes text[], now timestamptz
-- columns: place bigint
select g.place
  from unnest(:address_hashes::text[]) with ordinality as g(address_hash, place)
 cross join lateral (select 1 from suppressions_at(:brand_id, :now) s
                      where s.address_hash = decode(g.address_hash, 'hex') limit 1) as known;

-- Updates contacts. Null members stay unchanged, and a contact without any change is not written. The contacts are locked first, so
-- none of them is missing when it is written. The upsert finds them by the index of the keys, whatever the statistics say.
-- name: import_update :exec
-- params: brand_id bigint, email_keys text[], emails text[], first_names text[], last_names text[], user_ids text[], sources text[], subscribed text[], custom_fields jsonb[], now timestamptz
with changed as materialized (
    select c.email_key, g.email, coalesce(g.first_name, c.first_name) as first_name, coalesce(g.last_name, c.last_name) as last_name,
           coalesce(g.user_id, c.user_id) as user_id, coalesce(g.source, c.source) as source,
           coalesce(g.subscribed::boolean, c.subscribed) as subscribed, c.custom_fields || g.custom_fields as custom_fields
      from unnest(:email_keys::text[], :emails::text[], :first_names::text[], :last_names::text[], :user_ids::text[],
                  :sources::text[], :subscribed::text[], :custom_fields::jsonb[])
           as g(email_key, email, first_name, last_name, user_id, source, subscribed, custom_fields)
     cross join lateral (select *
                           from contacts k
                          where k.brand_id = :brand_id and k.email_key >= g.email_key and k.email_key <= g.email_key
                            and (k.email <> g.email
                                 or (g.first_name is not null and g.first_name is distinct from k.first_name)
                                 or (g.last_name is not null and g.last_name is distinct from k.last_name)
                                 or (g.user_id is not null and g.user_id is distinct from k.user_id)
                                 or (g.source is not null and g.source <> k.source)
                                 or (g.subscribed is not null and g.subscribed::boolean <> k.subscribed)
                                 or not k.custom_fields @> g.custom_fields)
                          order by k.email_key
                          limit 1 for update) c
)
insert into contacts as c (brand_id, email, email_key, first_name, last_name, user_id, source, subscribed, custom_fields, created_at,
                           updated_at)
select :brand_id, email, email_key, first_name, last_name, user_id, source, subscribed, custom_fields, :now, :now
  from changed
    on conflict (brand_id, email_key) do update
   set email = excluded.email, first_name = excluded.first_name, last_name = excluded.last_name, user_id = excluded.user_id,
       source = excluded.source, subscribed = excluded.subscribed, custom_fields = excluded.custom_fields,
       updated_at = excluded.updated_at;

-- Stores rows that were not saved.
-- name: import_errors_keep :exec
-- params: brand_id bigint, id bigint, lines bigint[], emails text[], codes text[], fields text[], messages text[], records text[]
insert into import_errors (brand_id, import_id, line, email, code, field, message, record)
select :brand_id, :id, g.line, g.email, g.code, g.field, g.message, g.record
  from unnest(:lines::bigint[], :emails::text[], :codes::text[], :fields::text[], :messages::text[], :records::text[])
       as g(line, email, code, field, message, record);

-- The rows that were not saved, in the order of the text.
-- name: import_errors_find :many
-- params: brand_id bigint, id bigint, limit bigint
-- row: import_error
-- columns: line bigint, email text null, code text, field text null, message text, record text null
select line, email, code, field, message, record
  from import_errors
 where brand_id = :brand_id and import_id = :id
 order by line
 limit :limit;

-- The stored rows that were not saved, by code.
-- name: import_errors_count :many
-- params: brand_id bigint, id bigint
-- row: import_error_count
-- columns: code text, count bigint
select code, count(*)
  from import_errors
 where brand_id = :brand_id and import_id = :id
 group by code
 order by count(*) desc, code;

-- Advances the position of a shard after a chunk, and adds its counts.
-- name: import_shard_advance :exec
-- params: brand_id bigint, id bigint, shard integer, next_offset bigint, next_line bigint, inserted bigint, updated bigint, unchanged bigint, skipped bigint, failed bigint, errors_kept bigint, error_bytes bigint
update import_lanes
   set chunks = chunks + 1, next_offset = :next_offset, next_line = :next_line, inserted = inserted + :inserted,
       updated = updated + :updated, unchanged = unchanged + :unchanged, skipped = skipped + :skipped, failed = failed + :failed,
       errors_kept = errors_kept + :errors_kept, error_bytes = error_bytes + :error_bytes
 where brand_id = :brand_id and import_id = :id and lane = :shard;
