-- Previews of a design that have not expired, locked. The lock keeps two calls from asking for the same clients.
-- name: preview_lock :one
-- row: preview_lock
-- params: brand_id bigint, id bigint, email_id bigint, now timestamptz
-- columns: id bigint, version_id bigint
select id, version_id from previews where brand_id = :brand_id and id = :id and email_id = :email_id and expires_at > :now for update;

-- The newest previews of a version in which all of these clients wait for their pictures, locked.
-- name: preview_lock_pending :one
-- row: preview_lock
-- params: brand_id bigint, email_id bigint, version_id bigint, clients text[], now timestamptz
-- columns: id bigint, version_id bigint
select p.id, p.version_id
  from previews p
 where p.brand_id = :brand_id and p.email_id = :email_id and p.version_id = :version_id and p.expires_at > :now
   and not exists (select from unnest(:clients::text[]) as asked (client)
                    where not exists (select from preview_clients c
                                       where c.brand_id = p.brand_id and c.preview_id = p.id and c.client = asked.client
                                         and c.status = 'running'))
 order by p.id desc
 limit 1
   for update;

-- Inserts previews without clients.
-- name: preview_insert :one
-- params: brand_id bigint, email_id bigint, version_id bigint, now timestamptz, expires_at timestamptz
-- columns: id bigint
insert into previews (brand_id, email_id, version_id, created_at, expires_at)
values (:brand_id, :email_id, :version_id, :now, :expires_at)
returning id;

-- Begins a round: adds the clients that the previews do not have, and those that have failed. Without clients: all that have failed.
-- name: preview_begin_round :one
-- params: brand_id bigint, id bigint, clients text[]
-- columns: round bigint, added bigint
with next as (
    update previews set last_round = last_round + 1 where brand_id = :brand_id and id = :id returning last_round
), asked as (
    select client, place from unnest(:clients::text[]) with ordinality as named (client, place)
     union all
    select client, place from preview_clients
     where brand_id = :brand_id and preview_id = :id and cardinality(:clients::text[]) = 0 and status = 'failed'
), added as (
    insert into preview_clients (brand_id, preview_id, client, place, round)
    select :brand_id, :id, client, place + 100 * last_round, last_round from asked, next
        on conflict (brand_id, preview_id, client) do update
       set status = 'running', round = excluded.round, drawn_by = null, reason = null, retryable = null
     where preview_clients.status = 'failed'
    returning 1
)
select last_round, (select count(*) from added) from next;

-- The design of previews.
-- name: preview_design :one
-- params: brand_id bigint, id bigint
-- columns: email_id bigint, version_id bigint
select email_id, version_id from previews where brand_id = :brand_id and id = :id;

-- Takes the next client that no running job draws.
-- name: preview_take :one
-- params: brand_id bigint, id bigint, job_id bigint
-- columns: client text
update preview_clients t
   set drawn_by = :job_id
 where t.brand_id = :brand_id and t.preview_id = :id
   and t.client = (select c.client
                     from preview_clients c
                    where c.brand_id = :brand_id and c.preview_id = :id and c.status = 'running'
                      and (c.drawn_by is null or c.drawn_by = :job_id
                           or not exists (select from jobs j where j.id = c.drawn_by and j.state = 'running'))
                    order by c.place, c.client
                    limit 1
                      for update skip locked)
returning t.client;

-- Saves the picture of a client.
-- name: preview_save :exec
-- params: brand_id bigint, id bigint, client text, picture bytea, small bytea null, width bigint, height bigint, is_cut boolean, transforms text, data_date text
update preview_clients
   set status = 'completed', picture = :picture, small = :small, width = :width, height = :height, is_cut = :is_cut, transforms = :transforms,
       data_date = :data_date
 where brand_id = :brand_id and preview_id = :id and client = :client and status = 'running';

-- Notes why a client has no picture.
-- name: preview_refuse :exec
-- params: brand_id bigint, id bigint, client text, reason text, retryable boolean
update preview_clients set status = 'failed', reason = :reason, retryable = :retryable
 where brand_id = :brand_id and preview_id = :id and client = :client and status = 'running';

-- Ends the clients of a job that has failed, and those that no job draws.
-- name: preview_refuse_rest :exec
-- params: brand_id bigint, id bigint, job_id bigint, reason text, retryable boolean
update preview_clients c set status = 'failed', reason = :reason, retryable = :retryable
 where c.brand_id = :brand_id and c.preview_id = :id and c.status = 'running'
   and (c.drawn_by is null or c.drawn_by = :job_id or not exists (select from jobs j where j.id = c.drawn_by and j.state = 'running'));

-- Whether clients are left that no job draws.
-- name: preview_left_over :one
-- params: brand_id bigint, id bigint, job_id bigint
-- columns: left_over boolean
select exists (select from preview_clients c
                where c.brand_id = :brand_id and c.preview_id = :id and c.status = 'running'
                  and (c.drawn_by is null or c.drawn_by = :job_id
                       or not exists (select from jobs j where j.id = c.drawn_by and j.state = 'running')));

-- Runs a job at once that waits for its next round.
-- name: preview_wake_answer :exec
-- params: job_id bigint, now timestamptz
update jobs set run_after = :now where id = :job_id and kind = 'answer_previews' and state = 'queued' and run_after > :now;

-- The state of a round: its pictures, its clients that still run, and the reason of one that has failed; and the clients of all rounds
-- that still run.
-- name: preview_round :one
-- params: brand_id bigint, id bigint, round bigint
-- columns: pictures bigint, running bigint, all_running bigint, reason text null
select count(*) filter (where round = :round and status = 'completed'),
       count(*) filter (where round = :round and status = 'running'),
       count(*) filter (where status = 'running'),
       min(reason) filter (where round = :round and status = 'failed')
  from preview_clients
 where brand_id = :brand_id and preview_id = :id;

-- Previews that have not expired, a row for each client, or for the client asked for. Only that one has its small picture.
-- name: preview_rows :many
-- params: brand_id bigint, id bigint, client text null, now timestamptz
-- columns: email_id bigint, version_id bigint, created_at timestamptz, expires_at timestamptz, client text, status text, width bigint null, height bigint null, is_cut boolean null, transforms text null, data_date text null, reason text null, retryable boolean null, small bytea null
select p.email_id, p.version_id, p.created_at, p.expires_at, c.client, c.status, c.width, c.height, c.is_cut, c.transforms, c.data_date,
       c.reason, c.retryable, case when c.client = :client then c.small end
  from previews p
  join preview_clients c on c.brand_id = p.brand_id and c.preview_id = p.id
 where p.brand_id = :brand_id and p.id = :id and p.expires_at > :now and (:client::text is null or c.client = :client)
 order by c.place, c.client;

-- The picture of a client. A link leads here without a credential, so the brand is looked at.
-- name: preview_picture :one
-- params: brand_id bigint, id bigint, client text, now timestamptz
-- columns: picture bytea null, width bigint null, height bigint null
select c.picture, c.width, c.height
  from previews p
  join preview_clients c on c.brand_id = p.brand_id and c.preview_id = p.id
 where p.brand_id = :brand_id and p.id = :id and p.expires_at > :now and c.client = :client and c.status = 'completed'
   and exists (select 1 from brands b where b.id = :brand_id and b.status <> 'deleting');

-- Deletes expired previews.
-- name: previews_forget :exec
-- params: now timestamptz, limit bigint
delete from previews where (brand_id, id) in (select brand_id, id from previews where expires_at <= :now limit :limit);
