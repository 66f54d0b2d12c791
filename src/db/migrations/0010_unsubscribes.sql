-- Unsubscribes by the link of a message: at most one row per recipient and send, however often the link is used.
create table unsubscribes (
    brand_id    bigint not null,
    send_id     bigint not null,
    ordinal     bigint not null,
    occurred_at timestamptz not null,
    primary key (brand_id, send_id, ordinal)
);
