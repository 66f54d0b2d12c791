-- One fire.
-- name: trigger_instance_find :one
-- params: brand_id bigint, id bigint
-- row: trigger_instance
-- columns: id bigint, occurred_at timestamptz, trigger_id bigint, source text, provider text null, state text, matched bigint[], runs bigint[], rejection_reason text null, attempts integer, processed_at timestamptz null
select id, occurred_at, trigger_id, source, provider, state, matched, runs, rejection_reason, attempts, processed_at
  from trigger_instances
 where brand_id = :brand_id and id = :id;

-- A page of fires, newest first.
-- name: trigger_instance_page :page
-- params: brand_id bigint, from_start boolean, at timestamptz, id bigint, limit bigint
-- row: trigger_instance
-- columns: id bigint, occurred_at timestamptz, trigger_id bigint, source text, provider text null, state text, matched bigint[], runs bigint[], rejection_reason text null, attempts integer, processed_at timestamptz null
select id, occurred_at, trigger_id, source, provider, state, matched, runs, rejection_reason, attempts, processed_at
  from trigger_instances
 where brand_id = :brand_id and (:from_start or (occurred_at, id) < (:at::timestamptz, :id::bigint))
 order by occurred_at desc, id desc
 limit :limit;

-- The same of one trigger.
-- name: trigger_instance_page_of_trigger :page
-- params: brand_id bigint, trigger_id bigint, from_start boolean, at timestamptz, id bigint, limit bigint
-- row: trigger_instance
-- columns: id bigint, occurred_at timestamptz, trigger_id bigint, source text, provider text null, state text, matched bigint[], runs bigint[], rejection_reason text null, attempts integer, processed_at timestamptz null
select id, occurred_at, trigger_id, source, provider, state, matched, runs, rejection_reason, attempts, processed_at
  from trigger_instances
 where brand_id = :brand_id and trigger_id = :trigger_id and (:from_start or (occurred_at, id) < (:at::timestamptz, :id::bigint))
 order by occurred_at desc, id desc
 limit :limit;
