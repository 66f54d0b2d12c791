-- Reports of other mail systems whose message is not known: the newest ones of the installation, for the operator. brand_id is always 0.
create table unmatched_reports (
    brand_id    bigint not null default 0 check (brand_id = 0),
    id          bigint generated always as identity,
    received_at timestamptz not null,
    source      text not null, -- lmtp, imap, command
    kind        text not null,
    bounce      text,          -- class of a bounce
    return_path text,
    recipient   text,
    diagnostic  text,
    excerpt     text not null, -- the start of the message
    primary key (brand_id, id)
);
