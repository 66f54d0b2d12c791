-- Stores hits. A hit that is stored already, with the same id and time, is not stored again. The delay is the time since the result of the message. A hit of a recipient that does not exist is not stored.
-- name: hits_add :exec
-- params: ids bigint[], brand_ids bigint[], send_ids bigint[], ordinals bigint[], kinds text[], links bigint[], methods text[], agents text[], networks text[], addresses text[], ats timestamptz[]
insert into hits (id, brand_id, send_id, ordinal, kind, link, method, agent, network, address, occurred_at, delay_ms)
select case when t.id = 0 then nextval(pg_get_serial_sequence('hits', 'id')) else t.id end, t.brand_id, t.send_id, t.ordinal, t.kind, nullif(t.link, -1), t.method, t.agent, t.network,
       network(set_masklen(t.address::inet, case family(t.address::inet) when 4 then 24 else 48 end)), t.at,
       (extract(epoch from t.at - e.occurred_at) * 1000)::bigint
  from unnest(:ids::bigint[], :brand_ids::bigint[], :send_ids::bigint[], :ordinals::bigint[], :kinds::text[], :links::bigint[], :methods::text[],
              :agents::text[], :networks::text[], :addresses::text[], :ats::timestamptz[])
       as t (id, brand_id, send_id, ordinal, kind, link, method, agent, network, address, at)
  join send_recipients r on r.brand_id = t.brand_id and r.send_id = t.send_id and r.ordinal = t.ordinal
  left join send_results e on e.brand_id = t.brand_id and e.send_id = t.send_id and e.ordinal = t.ordinal
    on conflict (brand_id, occurred_at, id) do nothing;
