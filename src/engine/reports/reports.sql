-- The recipient of a reported message, and when its result was written.
-- name: report_recipient :one
-- params: brand_id bigint, send_id bigint, ordinal bigint
-- columns: organization_id bigint, email_key text, decided_at timestamptz null
select b.organization_id, r.email_key, e.occurred_at
  from send_recipients r
  join brands b on b.id = r.brand_id
  left join send_results e on e.brand_id = r.brand_id and e.send_id = r.send_id and e.ordinal = r.ordinal
 where r.brand_id = :brand_id and r.send_id = :send_id and r.ordinal = :ordinal;

-- Ends the subscription of the contact of a recipient. Runs first, because every transaction locks contacts before suppressions.
-- name: report_end_subscription :exec
-- params: brand_id bigint, email_key text, now timestamptz
update contacts set subscribed = false, updated_at = :now where brand_id = :brand_id and email_key = :email_key and subscribed;

-- Counts a report.
-- name: report_count :exec
-- params: brand_id bigint, at timestamptz, source text, kind text, outcome text
insert into report_counts (brand_id, day, source, kind, outcome, count)
values (:brand_id, (:at::timestamptz at time zone 'UTC')::date, :source, :kind, :outcome, 1)
    on conflict (brand_id, day, source, kind, outcome) do update set count = report_counts.count + 1;
