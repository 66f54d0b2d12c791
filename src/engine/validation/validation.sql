-- Opens a background validation.
-- name: validation_open :one
-- params: brand_id bigint, now timestamptz
-- columns: id bigint
insert into validations (brand_id, created_at) values (:brand_id, :now) returning id;

-- Adds the contacts with these merge keys to a validation that was not started. Here and below, contacts are found one by one by
-- their unique keys, so the plan does not depend on the statistics of a growing table. An import relies on the order
-- (import_planner).
-- name: validation_add :exec
-- params: brand_id bigint, validation_id bigint, email_keys text[]
insert into validation_targets (brand_id, validation_id, contact_id)
select v.brand_id, v.id, c.id
  from validations v
 cross join unnest(:email_keys::text[]) as g(email_key)
 cross join lateral (select k.id from contacts k
                      where k.brand_id = v.brand_id and k.email_key >= g.email_key and k.email_key <= g.email_key
                      order by k.email_key
                      limit 1) c
 where v.brand_id = :brand_id and v.id = :validation_id and v.job_id is null
    on conflict do nothing;

-- The number of targets of a validation that was not started.
-- name: validation_count :one
-- params: brand_id bigint, validation_id bigint
-- columns: total bigint
select count(*)
  from validation_targets t
  join validations v on v.brand_id = t.brand_id and v.id = t.validation_id and v.job_id is null
 where t.brand_id = :brand_id and t.validation_id = :validation_id;

-- Stores the job that executes a validation.
-- name: validation_bind :exec
-- params: brand_id bigint, validation_id bigint, job_id bigint, total bigint
update validations set job_id = :job_id, total = :total
 where brand_id = :brand_id and id = :validation_id and job_id is null;

-- Deletes a validation that was not started, with its targets.
-- name: validation_drop :exec
-- params: brand_id bigint, validation_id bigint
delete from validations where brand_id = :brand_id and id = :validation_id and job_id is null;

-- The cursor of a started validation that has not ended.
-- name: validation_find :one
-- params: brand_id bigint, validation_id bigint
-- columns: cursor_id bigint
select cursor_id from validations
 where brand_id = :brand_id and id = :validation_id and job_id is not null and ended_at is null;

-- The next targets (keyset pagination). A target whose contact was deleted has no address.
-- name: validation_targets :many
-- params: brand_id bigint, validation_id bigint, cursor_id bigint, limit bigint
-- columns: contact_id bigint, email text null
select t.contact_id, c.email
  from validation_targets t
  left join lateral (select k.email from contacts k where k.brand_id = t.brand_id and k.id = t.contact_id limit 1) c on true
 where t.brand_id = :brand_id and t.validation_id = :validation_id and t.contact_id > :cursor_id
 order by t.contact_id
 limit :limit;

-- Stores verdicts by the merge keys of their addresses. Contacts are locked in the order of the keys, as in a save. The statement
-- waits for a concurrent deletion, and a deleted contact gets no verdict. The brand comes out of a subquery: see contacts_save.
-- name: validation_keep :exec
-- params: brand_id bigint, email_keys text[], statuses text[], reasons text[], suggestions text[], now timestamptz
insert into contact_validations as v (brand_id, contact_id, status, reason, did_you_mean, checked_at)
select g.brand_id, c.id, g.status, g.reason, g.suggestion, :now
  from (select :brand_id::bigint as brand_id, u.*
          from unnest(:email_keys::text[], :statuses::text[], :reasons::text[], :suggestions::text[])
               as u(email_key, status, reason, suggestion)
         order by email_key) g
 cross join lateral (select k.id from contacts k where k.brand_id = g.brand_id and k.email_key = g.email_key limit 1 for key share) c
    on conflict (brand_id, contact_id) do update
   set status = excluded.status, reason = excluded.reason, did_you_mean = excluded.did_you_mean, checked_at = excluded.checked_at;

-- Advances the cursor of a validation from the start of the round. No row when it was advanced meanwhile or has ended.
-- name: validation_advance :one
-- params: brand_id bigint, validation_id bigint, from_cursor bigint, to_cursor bigint, valid bigint, risky bigint, invalid bigint, unchecked bigint, credits bigint
-- columns: id bigint
update validations
   set cursor_id = :to_cursor, valid = valid + :valid, risky = risky + :risky, invalid = invalid + :invalid,
       unchecked = unchecked + :unchecked, credits = credits + :credits
 where brand_id = :brand_id and id = :validation_id and cursor_id = :from_cursor and ended_at is null
returning id;

-- Deletes the targets of a finished round.
-- name: validation_forget_targets :exec
-- params: brand_id bigint, validation_id bigint, from_cursor bigint, to_cursor bigint
delete from validation_targets
 where brand_id = :brand_id and validation_id = :validation_id and contact_id > :from_cursor and contact_id <= :to_cursor;

-- Ends a validation. The remaining targets count as unchecked.
-- name: validation_end :exec
-- params: brand_id bigint, validation_id bigint, now timestamptz
with rest as (
    delete from validation_targets where brand_id = :brand_id and validation_id = :validation_id returning contact_id
)
update validations
   set ended_at = :now, unchecked = unchecked + (select count(*) from rest)
 where brand_id = :brand_id and id = :validation_id and ended_at is null;

-- The counts of all targets.
-- name: validation_totals :one
-- params: brand_id bigint, validation_id bigint
-- columns: total bigint, valid bigint, risky bigint, invalid bigint, unchecked bigint, credits bigint
select total, valid, risky, invalid, unchecked, credits
  from validations
 where brand_id = :brand_id and id = :validation_id;
