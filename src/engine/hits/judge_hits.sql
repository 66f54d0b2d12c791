-- The state of judging the hits of a brand, which is created when there is none. `oldest` is the oldest hit that is not judged.
-- name: judge_hits_state :one
-- params: brand_id bigint, rules_version integer
-- columns: rules_version integer, send_id bigint, ordinal bigint, oldest timestamptz null
with made as (
    insert into hit_judgements (brand_id, rules_version) values (:brand_id, :rules_version)
        on conflict (brand_id) do nothing
    returning rules_version, send_id, ordinal
)
select s.rules_version, s.send_id, s.ordinal,
       (select h.occurred_at from hits h where h.brand_id = :brand_id and h.actor is null order by h.occurred_at limit 1)
  from (select rules_version, send_id, ordinal from made
         union all
        select rules_version, send_id, ordinal from hit_judgements where brand_id = :brand_id) s
 limit 1;

-- Keeps hits of the brand from being stored until the job has ended. False: some are being stored.
-- name: judge_hits_hold :one
-- params: lock integer, brand_id bigint
-- columns: held boolean
select pg_try_advisory_xact_lock(:lock, hashint8(:brand_id));

-- Whether hits of the brand are not judged.
-- name: judge_hits_any_new :one
-- params: brand_id bigint
-- columns: any boolean
select exists (select 1 from hits where brand_id = :brand_id and actor is null);

-- The recipients of the oldest hits that are not judged.
-- name: judge_hits_new :many
-- row: judged_recipient
-- params: brand_id bigint, until timestamptz, limit bigint
-- columns: send_id bigint, ordinal bigint
select distinct h.send_id, h.ordinal
  from (select send_id, ordinal
          from hits
         where brand_id = :brand_id and actor is null and occurred_at <= :until
         order by occurred_at
         limit :limit) h
 order by 1, 2;

-- The next recipients with hits, in the order of their keys.
-- name: judge_hits_next :many
-- row: judged_recipient
-- params: brand_id bigint, after_send_id bigint, after_ordinal bigint, hit_limit bigint, limit bigint
-- columns: send_id bigint, ordinal bigint
select distinct h.send_id, h.ordinal
  from (select send_id, ordinal
          from hits
         where brand_id = :brand_id and (send_id, ordinal) > (:after_send_id, :after_ordinal)
         order by send_id, ordinal
         limit :hit_limit) h
 order by 1, 2
 limit :limit;

-- The truncated addresses of hits that were judged, to find the ranges of newer rules.
-- name: judge_hits_addresses :many
-- params: brand_id bigint, send_ids bigint[], ordinals bigint[]
-- columns: occurred_at timestamptz, id bigint, address text, range_id bigint
select h.occurred_at, h.id, h.address::text, coalesce(h.range_id, 0)
  from unnest(:send_ids::bigint[], :ordinals::bigint[]) as t (send_id, ordinal)
 cross join lateral (select k.occurred_at, k.id, k.address, k.range_id
                       from hits k
                      where k.brand_id = :brand_id and k.send_id = t.send_id and k.ordinal = t.ordinal and k.address is not null
                     offset 0) h;

-- Saves the ranges that were found for hits.
-- name: judge_hits_save_ranges :exec
-- params: brand_id bigint, ats timestamptz[], ids bigint[], range_ids bigint[]
update hits h
   set range_id = nullif(t.range_id, 0)
  from unnest(:ats::timestamptz[], :ids::bigint[], :range_ids::bigint[]) as t (at, id, range_id)
 where h.brand_id = :brand_id and h.occurred_at = t.at and h.id = t.id;

-- Judges all hits of recipients that are as old as `until` or were judged before, and returns how the events of the recipients have to
-- change. A hit is judged by itself and by the hits of the same recipient within a burst before and after it:
--   1. the operator's word or range names an actor; else the class of the program or of the network does. A word takes the place of the
--      class of the program, a range that of the class of the network,
--   2. the method is not GET, or the link is one that no person sees,
--   3. the burst contains such a link, or a sweep: many different links within moments; a click also: a request with another method,
--   4. it came very soon after the delivery and has a suspect class,
--   5. otherwise it is of a person.
-- A recipient has the events of its first hits of persons; a click implies an open. An event without a hit at its time stays: the hit
-- was removed with its month. Each "offset 0" forces a lookup for each recipient. With
-- old statistics, a join once read all events of the brand for each of these recipients.
-- name: judge_hits :many
-- params: brand_id bigint, send_ids bigint[], ordinals bigint[], until timestamptz, rules_version integer, decided_facts text[], decided_classes text[], decided_kinds text[], decided_actors text[], suspect_agents text[], suspect_networks text[], burst_s float8, sweep_s float8, sweep_links bigint, fast_ms bigint
-- columns: send_id bigint, ordinal bigint, event_type text, recorded_at timestamptz null, occurred_at timestamptz null, url text null
with chosen as materialized (
    select t.send_id, t.ordinal from unnest(:send_ids::bigint[], :ordinals::bigint[]) as t (send_id, ordinal)
), decided as materialized (
    select t.fact, t.class, t.kind, t.actor
      from unnest(:decided_facts::text[], :decided_classes::text[], :decided_kinds::text[], :decided_actors::text[])
           as t (fact, class, kind, actor)
), found as (
    select h.*, count(*) filter (where h.link >= 0) over recent as recent_clicks, array_agg(h.link) filter (where h.link >= 0) over recent as recent_links
      from chosen c
     cross join lateral (select k.occurred_at, k.id, k.send_id, k.ordinal, k.kind, k.link, k.url, k.method, k.agent, k.network, k.word_id, k.range_id, k.delay_ms,
                                k.actor, k.reason
                           from hits k
                          where k.brand_id = :brand_id and k.send_id = c.send_id and k.ordinal = c.ordinal
                         offset 0) h
    window recent as (partition by h.send_id, h.ordinal order by h.occurred_at
                      range between make_interval(secs => :sweep_s) preceding and current row)
), bursts as (
    select f.*, count(*) filter (where f.link = -2) over burst as hidden_links,
           count(*) filter (where f.kind = 'click' and f.method <> 'GET') over burst as other_methods,
           count(*) filter (where f.recent_clicks >= :sweep_links
                              and (select count(distinct l.link) from unnest(f.recent_links) as l (link)) >= :sweep_links)
               over burst as sweeps
      from found f
    window burst as (partition by f.send_id, f.ordinal order by f.occurred_at
                     range between make_interval(secs => :burst_s) preceding and make_interval(secs => :burst_s) following)
), judged as materialized (
    select b.occurred_at, b.id, b.send_id, b.ordinal, b.kind, b.url, b.actor as old_actor, b.reason as old_reason, v.actor, v.reason
      from bursts b
      left join hit_matches w on w.organization_id = 0 and w.id = b.word_id
      left join hit_matches r on r.organization_id = 0 and r.id = b.range_id
      left join decided a on w.id is null and a.fact = 'agent' and a.class = b.agent and a.kind = b.kind
      left join decided n on r.id is null and n.fact = 'network' and n.class = b.network and n.kind = b.kind
     cross join lateral (
            select case when w.actor <> 'facts' then w.actor when r.actor <> 'facts' then r.actor
                        when a.actor is not null then a.actor when n.actor is not null then n.actor
                        when y.why is not null then 'bot' else 'human' end as actor,
                   case when w.actor <> 'facts' then 'word:' || w.match when r.actor <> 'facts' then 'range:' || r.match
                        when a.actor is not null then 'agent:' || b.agent when n.actor is not null then 'network:' || b.network
                        else coalesce(y.why, 'person') end as reason
              from (select case when b.method <> 'GET' then 'method'
                                when b.link = -2 then 'hidden_link'
                                when b.hidden_links > 0 then 'burst_with_hidden_link'
                                when b.sweeps > 0 then 'sweep'
                                when b.kind = 'click' and b.other_methods > 0 then 'burst_with_method'
                                when coalesce(b.delay_ms, 0) < :fast_ms
                                     and ((w.id is null and b.agent = any (:suspect_agents::text[]))
                                          or (r.id is null and b.network = any (:suspect_networks::text[])))
                                then 'fast' end as why) y) v
     where b.occurred_at <= :until or b.actor is not null
), written as (
    update hits h
       set actor = j.actor, reason = j.reason, rules_version = :rules_version
      from judged j
     where h.brand_id = :brand_id and h.occurred_at = j.occurred_at and h.id = j.id
       and (j.old_actor is distinct from j.actor or j.old_reason is distinct from j.reason)
), wanted as (
    select distinct on (send_id, ordinal, event_type) send_id, ordinal, event_type, occurred_at, url
      from (select send_id, ordinal, 'opened' as event_type, occurred_at, id, null::text as url from judged where actor = 'human'
             union all
            select send_id, ordinal, 'clicked', occurred_at, id, url from judged where actor = 'human' and kind = 'click') h
     order by send_id, ordinal, event_type, occurred_at, id
), recorded as (
    select c.send_id, c.ordinal, e.event_type, e.occurred_at
      from chosen c
     cross join lateral (select k.event_type, k.occurred_at
                           from recipient_events k
                          where k.brand_id = :brand_id and k.send_id = c.send_id and k.ordinal = c.ordinal
                            and k.event_type in ('opened', 'clicked')
                         offset 0) e
)
select coalesce(w.send_id, r.send_id), coalesce(w.ordinal, r.ordinal), coalesce(w.event_type, r.event_type), r.occurred_at, w.occurred_at, w.url
  from wanted w
  full join recorded r on r.send_id = w.send_id and r.ordinal = w.ordinal and r.event_type = w.event_type
 where w.occurred_at is distinct from r.occurred_at
   and (r.occurred_at is null
        or ((r.send_id, r.ordinal, r.occurred_at) in (select j.send_id, j.ordinal, j.occurred_at from judged j)) is true)
 order by 1, 2, 3;

-- Saves how far judging again has come. All recipients: the rules of the version have judged every hit.
-- name: judge_hits_advance :exec
-- params: brand_id bigint, send_id bigint, ordinal bigint, all_recipients boolean, rules_version integer
update hit_judgements
   set send_id = case when :all_recipients then 0 else :send_id::bigint end,
       ordinal = case when :all_recipients then 0 else :ordinal::bigint end,
       rules_version = case when :all_recipients then :rules_version else rules_version end
 where brand_id = :brand_id;

-- Enqueues the job for brands that have hits to judge and no job: the hits were stored while a job ended, or there are new rules:
-- of the program, or of the operator.
-- name: judge_hits_wake :exec
-- params: rules_version integer, now timestamptz
insert into jobs (kind, pool, organization_id, brand_id, payload, run_after, created_at)
select 'judge_hits', 'work', b.organization_id, b.id, '{}', :now, :now
  from brands b
 where b.status <> 'deleting'
   and (exists (select 1 from hits h where h.brand_id = b.id and h.actor is null)
        or exists (select 1 from hit_judgements j where j.brand_id = b.id and j.rules_version < :rules_version
                      + coalesce((select v.revision from hit_rule_revisions v where v.organization_id = 0), 0)))
 order by b.id
    on conflict (brand_id) where kind = 'judge_hits' and state in ('queued', 'running') do nothing;
