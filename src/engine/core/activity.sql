-- Two organizations whose campaigns begin, or are being delivered: the first open range has a lease. Senders lease the ranges of a
-- send in this order. A send that waits, such as for its relay, its next tranche or its turn, takes no processor. Two, because one of
-- them may be the organization that asks.
-- name: delivering_organizations :many
-- columns: organization_id bigint
select organization_id
  from jobs
 where state = 'running' and lease_until > clock_timestamp() and kind = 'campaign'
 union
select b.organization_id
  from sends s
  join brands b on b.id = s.brand_id
 cross join lateral (select r.lease_until
                       from send_ranges r
                      where r.brand_id = s.brand_id and r.send_id = s.id and r.next_ordinal <= r.to_ordinal
                      order by r.from_ordinal
                      limit 1) o
 where s.status = 'running' and not s.is_carrier and o.lease_until > clock_timestamp()
 limit 2;

-- Notes organizations that have calls now, and forgets those of a minute ago.
-- name: active_organizations_note :exec
-- params: organization_ids bigint[]
with forgotten as (
    delete from active_organizations
     where called_at < clock_timestamp() - interval '1 minute' and organization_id <> all (:organization_ids::bigint[])
)
insert into active_organizations (organization_id, called_at)
select distinct g.organization_id, clock_timestamp() from unnest(:organization_ids::bigint[]) g (organization_id) order by 1
    on conflict (organization_id) do update set called_at = excluded.called_at;

-- Whether another organization has had a call lately. A process notes it about once a second.
-- name: active_organizations_others :one
-- params: organization_id bigint
-- columns: found boolean
select exists (select 1 from active_organizations
                where organization_id <> :organization_id and called_at > clock_timestamp() - interval '3 seconds');
