-- Holds off the end of the jobs that judge hits of brands. In a statement of its own before hits_add, which then sees a job that has ended.
-- name: hits_hold_jobs :exec
-- params: lock integer, brand_ids bigint[]
select pg_advisory_xact_lock_shared(:lock, b.key)
  from (select distinct hashint8(u.id) as key from unnest(:brand_ids::bigint[]) as u (id) order by 1) b;

-- Stores hits, and enqueues the job that judges them for each brand that has none. The delay is the time since the result of the
-- message. A hit that is stored already, with the same id and time, is not stored again; id 0 gets a new id. A hit of a recipient
-- that does not exist is not stored, nor are more than `max_hits` hits of a recipient. A link without a URL leads where the version's
-- table says. Of mail of automations no URL is stored, because it may have a value of a payload, but the address as it is in the design.
-- name: hits_add :exec
-- params: ids bigint[], brand_ids bigint[], send_ids bigint[], ordinals bigint[], kinds text[], links bigint[], methods text[], agents text[], networks text[], word_ids bigint[], range_ids bigint[], addresses text[], urls text[], ats timestamptz[], max_hits bigint, judge_at timestamptz, now timestamptz
with stored as (
    insert into hits (id, brand_id, send_id, ordinal, kind, link, method, agent, network, word_id, range_id, address, url, occurred_at, delay_ms)
    select case t.id when 0 then nextval(pg_get_serial_sequence('hits', 'id')) else t.id end, t.brand_id, t.send_id, t.ordinal, t.kind,
           nullif(t.link, -1), t.method, t.agent, t.network, nullif(t.word_id, 0), nullif(t.range_id, 0),
           network(set_masklen(t.address::inet, case family(t.address::inet) when 4 then 24 else 48 end)),
           coalesce(case when not s.is_carrier then t.url end, v.link_table -> t.link::integer ->> 'target'), t.at,
           (extract(epoch from t.at - e.occurred_at) * 1000)::bigint
      from unnest(:ids::bigint[], :brand_ids::bigint[], :send_ids::bigint[], :ordinals::bigint[], :kinds::text[], :links::bigint[], :methods::text[],
                  :agents::text[], :networks::text[], :word_ids::bigint[], :range_ids::bigint[], :addresses::text[], :urls::text[],
                  :ats::timestamptz[])
           as t (id, brand_id, send_id, ordinal, kind, link, method, agent, network, word_id, range_id, address, url, at)
      join send_recipients r on r.brand_id = t.brand_id and r.send_id = t.send_id and r.ordinal = t.ordinal
      left join sends s on t.link >= 0 and s.brand_id = t.brand_id and s.id = t.send_id
      left join email_versions v on v.brand_id = s.brand_id and v.id = s.email_version_id
      left join send_results e on e.brand_id = t.brand_id and e.send_id = t.send_id and e.ordinal = t.ordinal
     where (select count(*) from (select from hits h
                                   where h.brand_id = t.brand_id and h.send_id = t.send_id and h.ordinal = t.ordinal
                                   limit :max_hits) known) < :max_hits
        on conflict (brand_id, occurred_at, id) do nothing
    returning brand_id
)
insert into jobs (kind, pool, organization_id, brand_id, payload, run_after, created_at)
select 'judge_hits', 'work', b.organization_id, b.id, '{}', :judge_at, :now
  from brands b
 where b.id in (select brand_id from stored)
 order by b.id
    on conflict (brand_id) where kind = 'judge_hits' and state in ('queued', 'running') do nothing;

-- Erases addresses of older hits, up to a limit. Hits that are judged at the moment have their turn later.
-- name: hits_erase_addresses :exec
-- params: before timestamptz, limit bigint
update hits
   set address = null
  from (select brand_id, occurred_at, id
          from hits
         where address is not null and occurred_at < :before
         order by occurred_at
         limit :limit
           for update skip locked) old
 where hits.brand_id = old.brand_id and hits.occurred_at = old.occurred_at and hits.id = old.id;
