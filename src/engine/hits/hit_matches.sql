-- Adds a word or a range, or gives another actor to one that is there. No id: there are too many. Adding it as it is changes nothing.
-- name: hit_match_add :one
-- params: fact text, match text, actor text, now timestamptz, most bigint
-- columns: id bigint null
with present as (
    select id, actor from hit_matches where organization_id = 0 and fact = :fact and match = :match
), changed as (
    insert into hit_matches (organization_id, fact, match, actor, created_at)
    select 0, :fact, :match, :actor, :now
     where not exists (select 1 from present where actor = :actor)
       and (exists (select 1 from present)
            or (select count(*) from hit_matches where organization_id = 0 and fact = :fact) < :most)
        on conflict (organization_id, fact, match) do update set actor = excluded.actor
    returning id
), revised as (
    insert into hit_rule_revisions as v (organization_id, revision)
    select 0, 1 from changed
        on conflict (organization_id) do update set revision = v.revision + 1
)
select coalesce((select id from changed), (select id from present));

-- Removes a word or a range. No row when there is none.
-- name: hit_match_remove :one
-- params: fact text, match text
-- columns: revision integer
with removed as (
    delete from hit_matches where organization_id = 0 and fact = :fact and match = :match returning 1
)
update hit_rule_revisions set revision = revision + 1
 where organization_id = 0 and exists (select 1 from removed)
returning revision;

-- The words and ranges in the order in which they were added.
-- name: hit_matches_find :many
-- row: hit_match
-- columns: id bigint, fact text, match text, actor text, created_at timestamptz
select id, fact, match, actor, created_at from hit_matches where organization_id = 0 order by fact, id;

-- The revision of the rules, and the words and ranges when it is not `known`; one row without them otherwise.
-- name: hit_matches_newer :many
-- params: known integer
-- columns: revision integer, id bigint null, fact text null, match text null
select r.revision, m.id, m.fact, m.match
  from (select coalesce((select v.revision from hit_rule_revisions v where v.organization_id = 0), 0) as revision) r
  left join hit_matches m on m.organization_id = 0 and r.revision <> :known;
