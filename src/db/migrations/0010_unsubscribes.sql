-- Who left by the link of which message: once for a recipient and a send, however often the link is followed.
create table unsubscribes (
    brand_id    bigint not null,
    send_id     bigint not null,
    ordinal     bigint not null,
    occurred_at timestamptz not null,
    primary key (brand_id, send_id, ordinal)
);
