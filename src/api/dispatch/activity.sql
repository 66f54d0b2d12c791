-- Two organizations whose campaigns are being delivered: the first open range has a lease. Senders lease the ranges of a send in
-- this order. A send that waits, such as for its relay, its next tranche or its turn, takes no processor. Two, because one of them may
-- be the organization that asks.
-- name: delivering_organizations :many
-- columns: organization_id bigint
select distinct b.organization_id
  from sends s
  join brands b on b.id = s.brand_id
 cross join lateral (select r.lease_until
                       from send_ranges r
                      where r.brand_id = s.brand_id and r.send_id = s.id and r.next_ordinal <= r.to_ordinal
                      order by r.from_ordinal
                      limit 1) o
 where s.status = 'running' and not s.is_carrier and o.lease_until > clock_timestamp()
 limit 2;
