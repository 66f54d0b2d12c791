-- Used confirmations, each for one send. A confirmation contains its expiry time, so the row of an expired one can be deleted.

create table send_confirmations (
    brand_id   bigint not null,
    token_hash bytea not null, -- SHA-256
    send_id    bigint not null,
    expires_at timestamptz not null,
    primary key (brand_id, token_hash)
);
create index send_confirmations_by_expiry on send_confirmations (brand_id, expires_at);
