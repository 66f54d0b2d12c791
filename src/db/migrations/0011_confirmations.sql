-- Confirmations that were used, each for one send. An expired one is refused by its own words, so its row can go.

create table send_confirmations (
    brand_id   bigint not null,
    token_hash bytea not null, -- SHA-256
    send_id    bigint not null,
    expires_at timestamptz not null,
    primary key (brand_id, token_hash)
);
create index send_confirmations_by_expiry on send_confirmations (brand_id, expires_at);
