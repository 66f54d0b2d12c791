-- Leases the next range to a sender process. Transactional and automation mail comes first. Brands take turns (round robin),
-- starting after the brand served last. `places` and `full` are those of struct delivery_lease_request. A leased range stays with its
-- owner until delivery_expire_leases frees it. A range that was freed so stays marked: what its former owner sent is unknown, also to a
-- third process.
--
-- Sends are found by their open ranges, one step of an index for each, because most carriers and gradual sends rest. The brands of
-- others are visited in their turn until one has a range. A send that was canceled keeps its open ranges: a walk jumps to the next
-- running send, then to the next send with an open range, until both are the same. "limit 1" forces a lookup by the whole key.
--
-- A walk goes once through the sends of each domain that has room. It begins at a random send, because other processes lease, too; half
-- of the walks begin at the oldest, so that it does not wait for all that come later. The first 16 sends of the walk are tried in random
-- order, then the others one by one. The last statement compares with a subquery: a join would read all ranges when the statistics
-- expect none.
-- name: delivery_take_range :one
-- params: owner text, lease_s integer, after_brand bigint, places bigint[], full bigint[], put_off bigint[], now timestamptz
-- columns: brand_id bigint, send_id bigint, from_ordinal bigint, to_ordinal bigint, is_abandoned boolean, was_begun boolean, date timestamptz null, has_crashed boolean, is_carrier boolean
with recursive carriers (brand_id) as (
    select 0::bigint
     union all
    select n.brand_id
      from carriers c
     cross join lateral (select r.brand_id
                           from send_ranges r
                          where r.is_carrier and r.next_ordinal <= r.to_ordinal and r.brand_id > c.brand_id
                          order by r.brand_id
                          limit 1) n
), urgent (brand_id, is_open) as (
    select 0::bigint, false
     union all
    select case when f.is_open then o.brand_id else o.brand_id - 1 end, f.is_open
      from urgent u
     cross join lateral (select brand_id
                           from sends
                          where status = 'running' and not is_carrier and message_class <> 'marketing' and brand_id > u.brand_id
                          order by brand_id
                          limit 1) s
     cross join lateral (select r.brand_id
                           from send_ranges r
                          where r.next_ordinal <= r.to_ordinal and r.brand_id >= s.brand_id
                          order by r.brand_id
                          limit 1) o
     cross join lateral (select o.brand_id = s.brand_id as is_open) f
), turns (brand_id, is_behind) as (
    select :after_brand::bigint, null::boolean
     union all
    select n.brand_id, n.is_behind
      from turns t
     cross join lateral ((select r.brand_id, coalesce(t.is_behind, false) as is_behind
                            from send_ranges r
                           where r.next_ordinal <= r.to_ordinal and r.brand_id > t.brand_id
                           order by r.brand_id
                           limit 1)
                          union all
                         (select r.brand_id, true
                            from send_ranges r
                           where r.next_ordinal <= r.to_ordinal and t.is_behind is not true
                           order by r.brand_id
                           limit 1)
                          limit 1) n
     where not n.is_behind or n.brand_id <= :after_brand
), stops (brand_id, is_urgent) as (
    (select u.brand_id, true
       from (select brand_id from carriers where brand_id > 0 union select brand_id from urgent where is_open) u
      order by u.brand_id <= :after_brand, u.brand_id)
     union all
    select t.brand_id, false from turns t where t.is_behind is not null
), ready as (
    select t.brand_id, c.send_id
      from stops t
     cross join lateral (
            with recursive used (domain_id) as (
                select 0::bigint
                 union all
                select n.domain_id
                  from used u
                 cross join lateral (select domain_id
                                       from sends
                                      where brand_id = t.brand_id and status = 'running' and held_at is null
                                        and (is_carrier or message_class <> 'marketing') = t.is_urgent and domain_id > u.domain_id
                                      order by domain_id
                                      limit 1) n
            ), walk (domain_id, begin_id, send_id, is_open, is_behind) as (
                select u.domain_id, b.begin_id, b.begin_id, false, false
                  from used u
                 cross join lateral (select kind from domains where brand_id = t.brand_id and id = u.domain_id limit 1) d
                 cross join lateral (select case when d.kind = 'sandbox' then 0 else 2 end + t.is_urgent::integer as place) p
                 cross join lateral (select id
                                       from sends
                                      where brand_id = t.brand_id and status = 'running' and held_at is null
                                        and (is_carrier or message_class <> 'marketing') = t.is_urgent and domain_id = u.domain_id
                                      order by id
                                      limit 1) f
                 cross join lateral (select id
                                       from sends
                                      where brand_id = t.brand_id and status = 'running' and held_at is null
                                        and (is_carrier or message_class <> 'marketing') = t.is_urgent and domain_id = u.domain_id
                                      order by id desc
                                      limit 1) l
                 cross join lateral (select greatest(2 * random() - 1, 0) as share offset 0) r
                 cross join lateral (select f.id - 1 + floor(r.share * (l.id - f.id + 1))::bigint as begin_id) b
                 where p.place = any (:places::bigint[]) and t.brand_id * 4 + p.place <> all (:full::bigint[])
                 union all
                select w.domain_id, w.begin_id,
                       case when o.send_id = s.id then s.id else coalesce(o.send_id - 1, 9223372036854775807) end,
                       coalesce(o.send_id = s.id, false), s.is_behind
                  from walk w
                 cross join lateral ((select id, w.is_behind
                                        from sends
                                       where brand_id = t.brand_id and status = 'running' and held_at is null and id > w.send_id
                                         and (is_carrier or message_class <> 'marketing') = t.is_urgent and domain_id = w.domain_id
                                       order by id
                                       limit 1)
                                      union all
                                     (select id, true
                                        from sends
                                       where brand_id = t.brand_id and status = 'running' and held_at is null
                                         and (is_carrier or message_class <> 'marketing') = t.is_urgent and domain_id = w.domain_id
                                         and not w.is_behind
                                       order by id
                                       limit 1)
                                      limit 1) s
                  left join lateral (select r.send_id
                                       from send_ranges r
                                      where r.brand_id = t.brand_id and r.next_ordinal <= r.to_ordinal and r.send_id >= s.id
                                      order by r.send_id
                                      limit 1) o on true
                 where not s.is_behind or s.id <= w.begin_id
            ), open as (
                select send_id from walk where is_open and send_id <> all (:put_off::bigint[])
            )
            (select n.send_id from (select send_id from open limit 16) n order by random())
             union all
            (select send_id from open offset 16)) c
), waiting as (
    select o.brand_id, o.send_id, o.from_ordinal, o.started_at
      from ready s
     cross join lateral (
            select r.*
              from send_ranges r
             where r.brand_id = s.brand_id and r.send_id = s.send_id and r.next_ordinal <= r.to_ordinal
               and r.lease_owner is null
             order by r.from_ordinal
             limit 1
               for update skip locked) o
     limit 1
)
update send_ranges r
   set lease_owner = :owner, lease_until = clock_timestamp() + make_interval(secs => :lease_s),
       started_at = coalesce(r.started_at, :now)
 where (r.brand_id, r.send_id, r.from_ordinal) = (select w.brand_id, w.send_id, w.from_ordinal from waiting w)
returning r.brand_id, r.send_id, r.from_ordinal, r.to_ordinal, r.is_abandoned, (select w.started_at is not null from waiting w),
          r.started_at,
          exists (select 1 from send_crashes k
                   where k.brand_id = r.brand_id and k.send_id = r.send_id and k.is_range and k.ordinal = r.from_ordinal),
          r.is_carrier;

-- Leases due retries of one send. Transactional and automation mail comes first. Brands take turns, as for ranges; of a brand, the send
-- whose retry has waited longest. Brands without a due retry are passed over by one step of an index.
-- name: delivery_take_retries :many
-- params: owner text, lease_s integer, after_brand bigint, places bigint[], full bigint[], put_off bigint[], limit integer, now timestamptz
-- columns: brand_id bigint, send_id bigint, ordinal bigint, is_carrier boolean
with recursive carriers as (
    (select brand_id, send_id from send_retries where is_carrier and lease_owner is null order by brand_id, send_id limit 1)
     union all
    select n.brand_id, n.send_id
      from carriers c
     cross join lateral (select r.brand_id, r.send_id
                           from send_retries r
                          where r.is_carrier and r.lease_owner is null and (r.brand_id, r.send_id) > (c.brand_id, c.send_id)
                          order by r.brand_id, r.send_id
                          limit 1) n
), turns (brand_id, due_at, is_behind) as (
    select :after_brand::bigint, null::timestamptz, false
     union all
    select n.brand_id, n.due_at, n.is_behind
      from turns t
     cross join lateral ((select y.brand_id, y.due_at, t.is_behind
                            from send_retries y
                           where y.lease_owner is null and y.due_at > '-infinity' and y.brand_id > t.brand_id
                           order by y.brand_id, y.due_at
                           limit 1)
                          union all
                         (select y.brand_id, y.due_at, true
                            from send_retries y
                           where y.lease_owner is null and y.due_at > '-infinity' and not t.is_behind
                           order by y.brand_id, y.due_at
                           limit 1)
                          limit 1) n
     where not n.is_behind or n.brand_id <= :after_brand
), longest as (
    select l.*
      from ((select s.brand_id, s.id as send_id
               from (select brand_id, id
                       from sends
                      where status = 'running' and not is_carrier and message_class <> 'marketing'
                      union all
                     select brand_id, send_id from carriers) u
              cross join lateral (select * from sends where brand_id = u.brand_id and id = u.id limit 1) s
              cross join lateral (select kind from domains where brand_id = s.brand_id and id = s.domain_id limit 1) d
              cross join lateral (select case when d.kind = 'sandbox' then 1 else 3 end as place) p
              cross join lateral (select y.due_at
                                    from send_retries y
                                   where y.brand_id = s.brand_id and y.send_id = s.id and y.lease_owner is null and y.due_at <= :now
                                   order by y.due_at
                                   limit 1) o
              where s.status = 'running' and s.held_at is null and s.id <> all (:put_off::bigint[])
                and p.place = any (:places::bigint[]) and s.brand_id * 4 + p.place <> all (:full::bigint[])
              order by s.brand_id <= :after_brand, s.brand_id, o.due_at
              limit 1)
             union all
            (select s.brand_id, s.id
               from turns t
              cross join lateral (
                     select s.brand_id, s.id
                       from sends s
                      cross join lateral (select kind from domains where brand_id = s.brand_id and id = s.domain_id limit 1) d
                      cross join lateral (select case when d.kind = 'sandbox' then 0 else 2 end as place) p
                      cross join lateral (select y.due_at
                                    from send_retries y
                                   where y.brand_id = s.brand_id and y.send_id = s.id and y.lease_owner is null and y.due_at <= :now
                                   order by y.due_at
                                   limit 1) o
                      where s.brand_id = t.brand_id and s.status = 'running' and not s.is_carrier and s.message_class = 'marketing'
                        and s.held_at is null and s.id <> all (:put_off::bigint[])
                        and p.place = any (:places::bigint[]) and s.brand_id * 4 + p.place <> all (:full::bigint[])
                      order by o.due_at
                      limit 1) s
              where t.due_at <= :now
              limit 1)) l
     limit 1
), due as (
    select y.brand_id, y.send_id, y.ordinal
      from send_retries y
      join longest l on l.brand_id = y.brand_id and l.send_id = y.send_id
     where y.lease_owner is null and y.due_at <= :now
     order by y.due_at
     limit :limit
       for update of y skip locked
)
update send_retries y
   set lease_owner = :owner, lease_until = clock_timestamp() + make_interval(secs => :lease_s)
  from due d
 where y.brand_id = d.brand_id and y.send_id = d.send_id and y.ordinal = d.ordinal
returning y.brand_id, y.send_id, y.ordinal, y.is_carrier;

-- Processes that have leases and no connection. One step of an index finds each owner.
-- name: delivery_gone_owners :many
-- columns: owner text
with recursive of_ranges (owner) as (
    select ''::text
     union all
    select n.lease_owner
      from of_ranges o
     cross join lateral (select lease_owner
                           from send_ranges
                          where lease_owner is not null and lease_owner > o.owner
                          order by lease_owner
                          limit 1) n
), of_retries (owner) as (
    select ''::text
     union all
    select n.lease_owner
      from of_retries o
     cross join lateral (select lease_owner
                           from send_retries
                          where lease_owner is not null and lease_owner > o.owner
                          order by lease_owner
                          limit 1) n
)
select o.owner
  from (select owner from of_ranges union select owner from of_retries) o
 where o.owner <> '' and not exists (select 1 from pg_stat_activity a where a.application_name = o.owner);

-- Frees the leases of these processes whose time is over, unless a process has a connection again. The former owner may have sent to
-- any of their recipients.
-- name: delivery_expire_leases :exec
-- params: owners text[]
with gone as (
    select o.owner
      from unnest(:owners::text[]) as o (owner)
     where not exists (select 1 from pg_stat_activity a where a.application_name = o.owner)
), ranges as (
    update send_ranges r
       set lease_owner = null, lease_until = null, is_abandoned = true
      from gone g
     where r.lease_owner = g.owner and r.lease_until < clock_timestamp()
)
update send_retries y
   set lease_owner = null, lease_until = null, uncertain = true
  from gone g
 where y.lease_owner = g.owner and y.lease_until < clock_timestamp();
