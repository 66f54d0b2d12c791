-- Suppresses addresses as before. In PL/pgSQL the plan of the statement is kept for the session; a function in SQL is read and planned
-- anew by each statement that calls it.
create or replace function suppress(for_brand bigint, hashes text[], new_reason text, new_source text, evidences text[], until timestamptz,
                         time_now timestamptz, since timestamptz[] default '{}') returns void language plpgsql volatile as $$
begin
    insert into suppressions as s (brand_id, address_hash, reason, source, evidence, expires_at, created_at)
    select for_brand, decode(h.hash, 'hex'), new_reason, new_source, min(h.evidence), until,
           least(coalesce(max(h.since), time_now), time_now)
      from unnest(hashes, evidences, since) as h (hash, evidence, since)
     group by h.hash
     order by 2
        on conflict (brand_id, address_hash) do update
       set (reason, source, evidence, expires_at, created_at, unsubscribe_reason, unsubscribed_at) =
           (select case when r.replaces then excluded.reason else s.reason end,
                   case when r.replaces then excluded.source else s.source end,
                   case when r.replaces then excluded.evidence else s.evidence end,
                   case when r.replaces then excluded.expires_at else s.expires_at end,
                   case when r.replaces then excluded.created_at else s.created_at end,
                   k.reason, k.at
              from (values (s.expires_at <= time_now
                            or (excluded.reason = 'complaint' and s.reason <> 'complaint')
                            or (excluded.reason = 'unsubscribe' and s.reason = 'unsubscribed')
                            or coalesce(s.expires_at < coalesce(excluded.expires_at, 'infinity'), false))) as r (replaces)
              left join lateral (
                      select u.reason, u.at
                        from (values (s.unsubscribe_reason, s.unsubscribed_at), (s.reason, s.created_at),
                                     (excluded.reason, excluded.created_at)) as u (reason, at)
                       where u.reason in ('unsubscribe', 'unsubscribed')
                         and case when r.replaces then excluded.reason else s.reason end not in ('unsubscribe', 'unsubscribed')
                       order by u.reason, u.at
                       limit 1) k on true)
     where s.expires_at <= time_now
        or (excluded.reason = 'complaint' and s.reason <> 'complaint')
        or (excluded.reason = 'unsubscribe' and s.reason = 'unsubscribed')
        or s.expires_at < coalesce(excluded.expires_at, 'infinity')
        or (excluded.reason in ('unsubscribe', 'unsubscribed') and s.reason not in ('unsubscribe', 'unsubscribed')
            and s.unsubscribe_reason is distinct from excluded.reason and s.unsubscribe_reason is distinct from 'unsubscribe');
end
$$;
