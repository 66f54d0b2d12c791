-- Gradual sends: a campaign that reaches its recipients in tranches. Its recipients get their ordinals in the order of a keyed hash of
-- their addresses when it begins, so tranche n ends at an ordinal. Only released recipients have ranges.
create table gradual_sends (
    brand_id            bigint not null,
    send_id             bigint not null,
    starting_percentage float8 not null,  -- share of the first tranche
    increment_percentage float8 not null, -- share of each further one
    interval_value      bigint not null,
    interval_unit       text not null check (interval_unit in ('hour', 'day')),
    time_zone           text not null,
    sample_key          bytea not null,            -- the key of the hash that orders the recipients
    tranche             bigint not null default 0, -- tranches that were released
    released            bigint not null default 0, -- recipients in them: the last released ordinal
    released_at         timestamptz,               -- of the last tranche
    next_tranche_at     timestamptz,               -- null: not begun, or everybody is released
    paused_at           timestamptz,               -- the last pause by a caller or by a guard
    resumed_at          timestamptz,               -- the last resume by a caller
    -- The figures at the last resume: the guard counts from there.
    base_sent           bigint not null default 0,
    base_bounced        bigint not null default 0,
    base_delivered      bigint not null default 0,
    base_complained     bigint not null default 0,
    primary key (brand_id, send_id)
);
