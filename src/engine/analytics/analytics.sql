-- Event counts of a window, per hour or per day in the brand's time zone. Empty buckets are omitted.
-- name: overview_buckets :many
-- params: brand_id bigint, unit text, from_time timestamptz, to_time timestamptz
-- columns: at timestamptz, sent bigint, delivered bigint, opened bigint, clicked bigint, bounced bigint, complained bigint, unsubscribed bigint
select date_trunc(:unit, c.hour, b.time_zone) as at,
       coalesce(sum(c.count) filter (where c.event_type = 'sent'), 0)::bigint,
       coalesce(sum(c.count) filter (where c.event_type = 'delivered'), 0)::bigint,
       coalesce(sum(c.count) filter (where c.event_type = 'opened'), 0)::bigint,
       coalesce(sum(c.count) filter (where c.event_type = 'clicked'), 0)::bigint,
       coalesce(sum(c.count) filter (where c.event_type = 'bounced'), 0)::bigint,
       coalesce(sum(c.count) filter (where c.event_type = 'complained'), 0)::bigint,
       coalesce(sum(c.count) filter (where c.event_type = 'unsubscribed'), 0)::bigint
  from event_counts c
  join brands b on b.id = c.brand_id
 where c.brand_id = :brand_id and c.hour >= date_trunc('hour', :from_time, 'UTC') and c.hour < :to_time
 group by 1
 order by 1;

-- Whether a send that began before `to_time` is tracked.
-- name: overview_is_tracked :one
-- params: brand_id bigint, to_time timestamptz
-- columns: is_tracked boolean
select exists (select 1 from sends where brand_id = :brand_id and is_tracked and started_at < :to_time);

-- The events of a brand in a window, newest first (keyset pagination).
-- name: event_page :page
-- row: event
-- params: brand_id bigint, event_type text null, from_time timestamptz, to_time timestamptz, from_start boolean, at timestamptz, id bigint, limit bigint
-- columns: id bigint, domain text, event_type text, occurred_at timestamptz, recipient_email text null, send_id bigint null, email_id bigint null, email_name text null, mode text, summary text null, url text null, actor text null, automation_id bigint null, node_id text null, automation_run_id bigint null, audience_run_id bigint null, trigger_instance_id bigint null, automation_name text null
select e.id, e.domain, e.event_type, e.occurred_at, e.recipient_email, e.send_id, e.email_id, m.title, e.mode, e.summary,
       e.url, e.actor, e.automation_id, e.node_id, e.automation_run_id, e.audience_run_id, e.trigger_instance_id,
       a.name
  from events e
  left join emails m on m.brand_id = e.brand_id and m.id = e.email_id
  left join automations a on a.brand_id = e.brand_id and a.id = e.automation_id
 where e.brand_id = :brand_id and e.occurred_at >= :from_time and e.occurred_at < :to_time
   and (:from_start or (e.occurred_at, e.id) < (:at, :id))
   and (:event_type::text is null or e.event_type = :event_type)
 order by e.occurred_at desc, e.id desc
 limit :limit;

-- The events of one send in a window, newest first (keyset pagination).
-- name: event_page_of_send :page
-- row: event
-- params: brand_id bigint, send_id bigint, automation_id bigint, run_id bigint, recipient_key text null, event_type text null, from_time timestamptz, to_time timestamptz, from_start boolean, at timestamptz, id bigint, limit bigint
-- columns: id bigint, domain text, event_type text, occurred_at timestamptz, recipient_email text null, send_id bigint null, email_id bigint null, email_name text null, mode text, summary text null, url text null, actor text null, automation_id bigint null, node_id text null, automation_run_id bigint null, audience_run_id bigint null, trigger_instance_id bigint null, automation_name text null
select e.id, e.domain, e.event_type, e.occurred_at, e.recipient_email, e.send_id, e.email_id, m.title, e.mode, e.summary,
       e.url, e.actor, e.automation_id, e.node_id, e.automation_run_id, e.audience_run_id, e.trigger_instance_id,
       a.name
  from events e
  left join emails m on m.brand_id = e.brand_id and m.id = e.email_id
  left join automations a on a.brand_id = e.brand_id and a.id = e.automation_id
 where e.brand_id = :brand_id and e.send_id = :send_id and e.occurred_at >= :from_time and e.occurred_at < :to_time
   and (:from_start or (e.occurred_at, e.id) < (:at, :id))
   and (:automation_id = 0 or e.automation_id = :automation_id)
   and (:run_id = 0 or e.automation_run_id = :run_id)
   and (:recipient_key::text is null or e.recipient_key = :recipient_key)
   and (:event_type::text is null or e.event_type = :event_type)
 order by e.occurred_at desc, e.id desc
 limit :limit;

-- The events of one address in a window, newest first (keyset pagination).
-- name: event_page_of_recipient :page
-- row: event
-- params: brand_id bigint, recipient_key text, automation_id bigint, event_type text null, from_time timestamptz, to_time timestamptz, from_start boolean, at timestamptz, id bigint, limit bigint
-- columns: id bigint, domain text, event_type text, occurred_at timestamptz, recipient_email text null, send_id bigint null, email_id bigint null, email_name text null, mode text, summary text null, url text null, actor text null, automation_id bigint null, node_id text null, automation_run_id bigint null, audience_run_id bigint null, trigger_instance_id bigint null, automation_name text null
select e.id, e.domain, e.event_type, e.occurred_at, e.recipient_email, e.send_id, e.email_id, m.title, e.mode, e.summary,
       e.url, e.actor, e.automation_id, e.node_id, e.automation_run_id, e.audience_run_id, e.trigger_instance_id,
       a.name
  from events e
  left join emails m on m.brand_id = e.brand_id and m.id = e.email_id
  left join automations a on a.brand_id = e.brand_id and a.id = e.automation_id
 where e.brand_id = :brand_id and e.recipient_key = :recipient_key and e.occurred_at >= :from_time and e.occurred_at < :to_time
   and (:from_start or (e.occurred_at, e.id) < (:at, :id))
   and (:automation_id = 0 or e.automation_id = :automation_id)
   and (:event_type::text is null or e.event_type = :event_type)
 order by e.occurred_at desc, e.id desc
 limit :limit;

-- The events of one run of an automation in a window, newest first (keyset pagination).
-- name: event_page_of_run :page
-- row: event
-- params: brand_id bigint, run_id bigint, automation_id bigint, recipient_key text null, event_type text null, from_time timestamptz, to_time timestamptz, from_start boolean, at timestamptz, id bigint, limit bigint
-- columns: id bigint, domain text, event_type text, occurred_at timestamptz, recipient_email text null, send_id bigint null, email_id bigint null, email_name text null, mode text, summary text null, url text null, actor text null, automation_id bigint null, node_id text null, automation_run_id bigint null, audience_run_id bigint null, trigger_instance_id bigint null, automation_name text null
select e.id, e.domain, e.event_type, e.occurred_at, e.recipient_email, e.send_id, e.email_id, m.title, e.mode, e.summary,
       e.url, e.actor, e.automation_id, e.node_id, e.automation_run_id, e.audience_run_id, e.trigger_instance_id,
       a.name
  from events e
  left join emails m on m.brand_id = e.brand_id and m.id = e.email_id
  left join automations a on a.brand_id = e.brand_id and a.id = e.automation_id
 where e.brand_id = :brand_id and e.automation_run_id = :run_id and e.occurred_at >= :from_time and e.occurred_at < :to_time
   and (:from_start or (e.occurred_at, e.id) < (:at, :id))
   and (:automation_id = 0 or e.automation_id = :automation_id)
   and (e.recipient_key = :recipient_key or :recipient_key::text is null)
   and (:event_type::text is null or e.event_type = :event_type)
 order by e.occurred_at desc, e.id desc
 limit :limit;

-- The events of one automation in a window, newest first (keyset pagination).
-- name: event_page_of_automation :page
-- row: event
-- params: brand_id bigint, automation_id bigint, event_type text null, from_time timestamptz, to_time timestamptz, from_start boolean, at timestamptz, id bigint, limit bigint
-- columns: id bigint, domain text, event_type text, occurred_at timestamptz, recipient_email text null, send_id bigint null, email_id bigint null, email_name text null, mode text, summary text null, url text null, actor text null, automation_id bigint null, node_id text null, automation_run_id bigint null, audience_run_id bigint null, trigger_instance_id bigint null, automation_name text null
select e.id, e.domain, e.event_type, e.occurred_at, e.recipient_email, e.send_id, e.email_id, m.title, e.mode, e.summary,
       e.url, e.actor, e.automation_id, e.node_id, e.automation_run_id, e.audience_run_id, e.trigger_instance_id,
       a.name
  from events e
  left join emails m on m.brand_id = e.brand_id and m.id = e.email_id
  left join automations a on a.brand_id = e.brand_id and a.id = e.automation_id
 where e.brand_id = :brand_id and e.automation_id = :automation_id and e.occurred_at >= :from_time and e.occurred_at < :to_time
   and (:from_start or (e.occurred_at, e.id) < (:at, :id))
   and (:event_type::text is null or e.event_type = :event_type)
 order by e.occurred_at desc, e.id desc
 limit :limit;
