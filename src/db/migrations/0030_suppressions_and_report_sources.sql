-- Suppressions that end by themselves, and the connections at which mail providers report deliveries over HTTP.

-- The suppressions of a brand that hold at a time. All queries read the table through it, so that an expired suppression suppresses
-- nobody. The planner inlines it, so an address is found by the primary key.
create function suppressions_at(for_brand bigint, at timestamptz) returns setof suppressions language sql stable as $$
    select * from suppressions where brand_id = for_brand and (expires_at is null or expires_at > at)
$$;

-- When the person unsubscribed, while another reason is stored. Such an address stays unsubscribed when that reason ends.
alter table suppressions
    add column unsubscribe_reason text check (unsubscribe_reason in ('unsubscribe', 'unsubscribed')),
    add column unsubscribed_at timestamptz;
create index suppressions_by_expiry on suppressions (expires_at) where expires_at is not null;

-- Suppresses addresses, in the order of their hashes (hexadecimal), so that two transactions cannot deadlock. It replaces a suppression
-- that has expired or expires earlier. A complaint replaces any other reason, and the person's own unsubscribe that of a program.
-- Otherwise the first reason stays, and an unsubscribe is kept behind it. `since` has the times of the events; null: now.
create function suppress(for_brand bigint, hashes text[], new_reason text, new_source text, evidences text[], until timestamptz,
                         time_now timestamptz, since timestamptz[] default '{}') returns void language sql volatile as $$
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
            and s.unsubscribe_reason is distinct from excluded.reason and s.unsubscribe_reason is distinct from 'unsubscribe')
$$;

-- Connections at which mail providers report deliveries. verifier: what proves that a report is theirs. ses: the ARN of the topic;
-- sendgrid: the public key (DER); postmark: the hash of the user and password of basic authentication.
create table report_connections (
    organization_id bigint not null references organizations,
    id              bigint generated always as identity,
    provider        text not null check (provider in ('ses', 'sendgrid', 'postmark')),
    name            text not null,
    verifier        bytea not null,
    created_at      timestamptz not null,
    primary key (organization_id, id)
);
create unique index report_connections_id on report_connections (id);

-- Events of providers that were applied, so that a repetition changes nothing. Rows are removed after 30 days.
create table report_events_seen (
    organization_id bigint not null,
    connection_id   bigint not null,
    event_hash      bytea not null,
    seen_at         timestamptz not null,
    primary key (organization_id, connection_id, event_hash),
    foreign key (organization_id, connection_id) references report_connections on delete cascade
);
create index report_events_seen_by_time on report_events_seen (seen_at);

-- Certificates that sign the notifications of SNS, by the hash of their address. Only one that has signed a notification is kept.
create table report_certificates (
    organization_id bigint not null,
    connection_id   bigint not null,
    url_hash        bytea not null,
    pem             bytea not null,
    fetched_at      timestamptz not null,
    primary key (organization_id, connection_id, url_hash),
    foreign key (organization_id, connection_id) references report_connections on delete cascade
);
