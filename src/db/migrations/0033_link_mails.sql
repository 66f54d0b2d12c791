-- The mails with an unsubscribe link that people asked for: one an hour for an address of a brand. Rows are removed when they expire.
create table link_mails (
    brand_id     bigint not null references brands,
    address_hash bytea not null,
    job_id       bigint not null, -- the job that sends the mail
    expires_at   timestamptz not null,
    primary key (brand_id, address_hash)
);
create index link_mails_by_expiry on link_mails (expires_at);

-- The merge key of the person behind an unsubscribe link: of the recipient of a message, or of the contact that asked for the link.
create function link_email_key(for_brand bigint, send bigint, recipient bigint, contact bigint) returns text language sql stable as $$
    select coalesce((select c.email_key from contacts c where c.brand_id = for_brand and c.id = contact),
                    (select r.email_key
                       from send_recipients r
                      where r.brand_id = for_brand and r.send_id = send and r.ordinal = recipient))
$$;
