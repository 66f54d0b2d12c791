-- Short tokens: the cursors and confirmations that an assistant copies, and the sealed tokens behind them. A slot
-- belongs to one token at a time, so an organization has a bounded number of rows.

create table short_tokens (
    organization_id bigint not null,
    slot            bigint not null,  -- from the hash of the token
    token_hash      bytea not null,   -- SHA-256
    brand_id        bigint not null,  -- 0: a list of the organization
    caller_id       bigint not null,  -- an API key; negative: a session; 0: the local owner
    sealed          text not null,
    expires_at      timestamptz not null,
    primary key (organization_id, slot)
);
create index short_tokens_by_expiry on short_tokens (expires_at);
