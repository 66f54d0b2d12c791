-- Deletes the unsubscribes of one kind of these addresses (hashes, hexadecimal) that are older than the person's consent. Bounces and
-- complaints stay. Each address is found by the primary key: a join with the suppressions of a brand could compare all of them with all
-- addresses, because it takes its plan from statistics that may be older than the suppressions. The order is that of suppress(), so that
-- two transactions cannot deadlock.
create function lift_unsubscribes(for_brand bigint, kind text, hashes text[], consented timestamptz[]) returns void language plpgsql volatile
    set enable_seqscan = off
as $$
declare
    lifted record;
begin
    for lifted in
        select g.address_hash, g.consented
          from (select decode(h.hash, 'hex') as address_hash, max(h.consented) as consented
                  from unnest(hashes, consented) as h (hash, consented)
                 group by 1) g
         cross join lateral (select from suppressions s
                              where s.brand_id = for_brand and s.address_hash = g.address_hash and kind in (s.reason, s.unsubscribe_reason)
                              limit 1) known
         order by g.address_hash
    loop
        update suppressions s
           set unsubscribe_reason = null, unsubscribed_at = null
         where s.brand_id = for_brand and s.address_hash = lifted.address_hash and s.unsubscribe_reason = kind
           and s.unsubscribed_at < lifted.consented;
        delete from suppressions s
         where s.brand_id = for_brand and s.address_hash = lifted.address_hash and s.reason = kind and s.created_at < lifted.consented;
    end loop;
end
$$;
