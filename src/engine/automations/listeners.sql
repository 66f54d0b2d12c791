-- Lets publications that start with one trigger wait for each other.
-- name: listeners_serialize :exec
-- params: lock integer, trigger_id bigint
select pg_advisory_xact_lock(:lock, hashint8(:trigger_id));

-- Whether an automation is published with a trigger, and how many others are, at most `bound`.
-- name: listeners_find :one
-- params: brand_id bigint, trigger_id bigint, automation_id bigint, bound bigint
-- columns: is_listener boolean, others bigint
select exists (select 1
                 from automations a
                 join automation_versions v on v.brand_id = a.brand_id and v.id = a.live_version_id
                where a.brand_id = :brand_id and a.id = :automation_id and a.deleted_at is null and v.trigger_id = :trigger_id),
       (select count(*)
          from (select 1
                  from automation_versions v
                 cross join lateral (select 1 from automations l
                                      where l.brand_id = :brand_id and l.id = v.automation_id and l.live_version_id = v.id
                                        and l.deleted_at is null
                                      limit 1) a
                 where v.brand_id = :brand_id and v.trigger_id = :trigger_id and v.automation_id <> :automation_id
                 limit :bound) n);
