-- The carrier of a node.
-- name: carrier_find :one
-- params: brand_id bigint, version_id bigint, node_id text
-- columns: send_id bigint
select send_id from automation_carriers where brand_id = :brand_id and version_id = :version_id and node_id = :node_id;

-- The pinned version of a design. No row when the design was deleted.
-- name: carrier_email :one
-- params: brand_id bigint, email_id bigint, version_id bigint
-- columns: version_id bigint
select v.id
  from emails e
  join email_versions v on v.brand_id = e.brand_id and v.email_id = e.id and v.id = :version_id
 where e.brand_id = :brand_id and e.id = :email_id and e.deleted_at is null;

-- Makes the carrier of a node: a running send with statistics of zero. Waits for another transaction that makes it, and gives no row
-- then.
-- name: carrier_insert :one
-- params: brand_id bigint, automation_id bigint, automation_version_id bigint, node_id text, message_class text, email_id bigint, email_version_id bigint, subject text, subject_code bytea, preview_text text null, html_code bytea null, from_address text, sender_name text null, reply_to text null, domain_id bigint, can_track boolean, now timestamptz
-- columns: send_id bigint
with carrier as (
    insert into automation_carriers (brand_id, version_id, node_id, send_id, automation_id)
    values (:brand_id, :automation_version_id, :node_id, nextval(pg_get_serial_sequence('sends', 'id')), :automation_id)
        on conflict (brand_id, version_id, node_id) do nothing
    returning brand_id, send_id
), send as (
    insert into sends (brand_id, id, kind, message_class, email_id, email_version_id, status, subject, subject_code, preview_text,
                       html_code, from_address, sender_name, reply_to, domain_id, target, target_hash, is_tracked, is_carrier,
                       started_at, created_at, updated_at) overriding system value
    select c.brand_id, c.send_id, 'automation', :message_class, :email_id, :email_version_id, 'running', :subject, :subject_code,
           :preview_text, :html_code, :from_address, :sender_name, :reply_to, :domain_id, 'inline', '',
           :can_track and brand_tracks(b.tracking, :message_class), true, :now, :now, :now
      from carrier c
      join brands b on b.id = c.brand_id
    returning brand_id, id
), stats as (
    insert into send_stats (brand_id, send_id) select brand_id, id from send
)
select id from send;

-- Appends messages to a carrier: the rows of its recipients and of the messages, and their ranges. The ids are in the order of the
-- messages. The usage of the organization is counted, and locked, before the carrier is locked: a transaction that appends to several
-- carriers would otherwise lock the usage between them.
-- name: carrier_append :many
-- params: organization_id bigint, brand_id bigint, carrier_id bigint, node_id text, automation_id bigint, range_size bigint, run_ids bigint[], visits bigint[], contact_ids bigint[], emails text[], keys text[], audience_run_ids bigint[], instance_ids bigint[], payload_ids bigint[], now timestamptz
-- columns: id bigint
with usage as (
    insert into email_usage (organization_id, period_start, sent)
    values (:organization_id, date_trunc('month', :now::timestamptz at time zone 'UTC')::date, cardinality(:run_ids::bigint[]))
        on conflict (organization_id, period_start) do update set sent = email_usage.sent + excluded.sent
    returning 1
), carrier as (
    update automation_carriers
       set next_ordinal = next_ordinal + cardinality(:run_ids::bigint[])
     where brand_id = :brand_id and send_id = :carrier_id and (select count(*) from usage) > 0
    returning next_ordinal - cardinality(:run_ids::bigint[]) as first
), messages as materialized (
    select t.*, c.first + t.place - 1 as ordinal, nextval((select pg_get_serial_sequence('sends', 'id')::regclass)) as id
      from carrier c
     cross join unnest(:run_ids::bigint[], :visits::bigint[], :contact_ids::bigint[], :emails::text[], :keys::text[],
                       :audience_run_ids::bigint[], :instance_ids::bigint[], :payload_ids::bigint[])
           with ordinality as t (run_id, visit, contact_id, email, key, audience_run_id, instance_id, payload_id, place)
     order by t.place
), recipients as (
    insert into send_recipients (brand_id, send_id, ordinal, contact_id, email, email_key, automation_send_id)
    select :brand_id, :carrier_id, ordinal, nullif(contact_id, 0), email, key, id from messages
), sends as (
    insert into automation_sends (brand_id, id, carrier_id, ordinal, automation_id, run_id, visit, node_id, audience_run_id,
                                  trigger_instance_id, payload_id, created_at)
    select :brand_id, id, :carrier_id, ordinal, :automation_id, run_id, visit, :node_id, nullif(audience_run_id, 0),
           nullif(instance_id, 0), nullif(payload_id, 0), :now
      from messages
), ranges as (
    insert into send_ranges (brand_id, send_id, from_ordinal, to_ordinal, next_ordinal, is_carrier)
    select :brand_id, :carrier_id, r.first, least(r.first + :range_size - 1, c.first + cardinality(:run_ids::bigint[]) - 1), r.first,
           true
      from carrier c
     cross join generate_series(c.first, c.first + cardinality(:run_ids::bigint[]) - 1, :range_size::bigint) as r (first)
)
select id from messages order by ordinal;

-- The messages of recipients of a carrier, in the order of the ordinals, with their sealed payloads. Every ordinal has a row, except
-- those behind the one with which the payloads exceed `max_bytes`. `canceled`: the reason why the message is not sent.
-- name: carrier_messages :many
-- params: brand_id bigint, carrier_id bigint, ordinals bigint[], with_payloads boolean, max_bytes bigint
-- columns: ordinal bigint, id bigint null, payload_id bigint null, sealed bytea null, canceled text null
select l.ordinal, l.id, l.payload_id, l.sealed,
       case when l.canceled_at is not null then 'canceled' when l.run_status = 'canceled' then 'run canceled' end
  from (select w.ordinal, m.id, m.payload_id, p.sealed, m.canceled_at, r.status as run_status,
               sum(octet_length(p.sealed)) over (order by w.ordinal rows between unbounded preceding and 1 preceding) as bytes_before
          from unnest(:ordinals::bigint[]) as w (ordinal)
          left join lateral (select * from automation_sends
                              where brand_id = :brand_id and carrier_id = :carrier_id and ordinal = w.ordinal limit 1) m on true
          left join lateral (select status from automation_runs where brand_id = :brand_id and id = m.run_id limit 1) r on true
          left join lateral (select * from trigger_payloads
                              where :with_payloads and brand_id = :brand_id and id = m.payload_id limit 1) p on true) l
 where coalesce(l.bytes_before, 0) < :max_bytes
 order by l.ordinal;

-- Appends events of messages: for each recipient one of each type, in this order. The event names the message in place of the carrier.
-- Messages are found one by one by their key, here and below, so the plan does not depend on table statistics.
-- name: carrier_events :exec
-- params: brand_id bigint, carrier_id bigint, email_id bigint, types text[], ordinals bigint[], emails text[], keys text[], summaries text[], at timestamptz
insert into events (brand_id, occurred_at, domain, event_type, recipient_email, recipient_key, send_id, email_id, summary, automation_id,
                    node_id, automation_run_id, audience_run_id, trigger_instance_id)
select :brand_id, :at, 'email', e.type, t.email, t.key, m.id, :email_id, t.summary, m.automation_id, m.node_id, m.run_id,
       m.audience_run_id, m.trigger_instance_id
  from unnest(:ordinals::bigint[], :emails::text[], :keys::text[], :summaries::text[])
       with ordinality as t (ordinal, email, key, summary, place)
 cross join lateral (select * from automation_sends
                      where brand_id = :brand_id and carrier_id = :carrier_id and ordinal = t.ordinal limit 1) m
 cross join unnest(:types::text[]) with ordinality as e (type, step)
 order by t.place, e.step;

-- Records that messages have a result: their payloads are read no more, and their audience runs count them.
-- name: carrier_settle :exec
-- params: brand_id bigint, carrier_id bigint, ordinals bigint[], outcomes text[]
with settled as materialized (
    select m.id, m.payload_id, m.node_id, m.audience_run_id, t.outcome
      from unnest(:ordinals::bigint[], :outcomes::text[]) as t (ordinal, outcome)
     cross join lateral (select * from automation_sends
                          where brand_id = :brand_id and carrier_id = :carrier_id and ordinal = t.ordinal limit 1) m
), released as (
    update automation_sends m
       set payload_id = null
      from settled s
     where m.brand_id = :brand_id and m.id = s.id and s.payload_id is not null
)
insert into audience_run_nodes (brand_id, audience_run_id, node_id, sent, failed, skipped)
select :brand_id, audience_run_id, node_id, count(*) filter (where outcome = 'delivered'),
       count(*) filter (where outcome not in ('delivered', 'skipped')), count(*) filter (where outcome = 'skipped')
  from settled
 where audience_run_id is not null
 group by audience_run_id, node_id
 order by audience_run_id, node_id
    on conflict (brand_id, audience_run_id, node_id)
       do update set sent = audience_run_nodes.sent + excluded.sent, failed = audience_run_nodes.failed + excluded.failed,
                     skipped = audience_run_nodes.skipped + excluded.skipped;
