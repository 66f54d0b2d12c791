-- Makes a rule, unless there are too many or one has the same pattern.
-- name: bounce_rule_insert :one
-- params: pattern text, class_name text, now timestamptz, most bigint
-- columns: id bigint null, same_id bigint null
with present as (
    select count(*) as count, min(id) filter (where pattern = :pattern) as same_id from bounce_rules where organization_id = 0
), added as (
    insert into bounce_rules (organization_id, pattern, class, created_at)
    select 0, :pattern, :class_name, :now from present where same_id is null and count < :most
    returning id
)
select (select id from added), same_id from present;

-- The rules in the order in which they are tried.
-- name: bounce_rules_list :many
-- columns: id bigint, pattern text, class_name text, created_at timestamptz
select id, pattern, class, created_at from bounce_rules where organization_id = 0 order by id;

-- Removes a rule.
-- name: bounce_rule_delete :one
-- params: id bigint
-- columns: id bigint
delete from bounce_rules where organization_id = 0 and id = :id returning id;
