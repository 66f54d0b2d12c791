-- Two organizations whose campaigns begin, or are being delivered: a range has a lease. A send that waits, such as for its relay, its
-- next tranche or its turn, takes no processor. Two, because one of them may be the organization that asks. One step of an index finds
-- each brand of which a process has leases, and one its first lease. "between" keeps the order, so the others are not read.
-- name: delivering_organizations :many
-- columns: organization_id bigint
with recursive leased (owner, brand_id) as (
    select ''::text, 0::bigint
     union all
    select n.lease_owner, n.brand_id
      from leased l
     cross join lateral (select lease_owner, brand_id
                           from send_ranges
                          where lease_owner is not null and (lease_owner, brand_id) > (l.owner, l.brand_id)
                          order by lease_owner, brand_id
                          limit 1) n
)
select organization_id
  from jobs
 where state = 'running' and lease_until > clock_timestamp() and kind = 'campaign'
 union
select b.organization_id
  from leased l
 cross join lateral (select r.send_id
                       from send_ranges r
                      where r.lease_owner is not null
                        and (r.lease_owner, r.brand_id) between (l.owner, l.brand_id) and (l.owner, l.brand_id)
                        and r.lease_until > clock_timestamp() and r.next_ordinal <= r.to_ordinal and not r.is_carrier
                        and (select s.status = 'running' from sends s where s.brand_id = r.brand_id and s.id = r.send_id limit 1)
                      order by r.lease_owner, r.brand_id
                      limit 1) o
 cross join lateral (select organization_id from brands where id = l.brand_id limit 1) b
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
