-- Signing keys of sending domains, and the master keys that encrypted the secrets in this database.

-- The master keys themselves are in the key file, outside of the database; a fingerprint identifies each.
create table sealing_keys (
    key_id      integer primary key check (key_id between 1 and 255),
    fingerprint bytea not null,
    created_at  timestamptz not null
);

-- One number per set of keys. The DNS selectors contain it, so that two brands that send from one domain never share a
-- selector.
create sequence domain_key_numbers;

-- A key that is neither used nor retired is pending: its DNS record must be published before it signs.
create table domain_keys (
    brand_id   bigint not null,
    domain_id  bigint not null,
    selector   text not null,
    algorithm  text not null check (algorithm in ('rsa-sha256', 'ed25519-sha256')),
    public_key bytea not null, -- the value of p= in the DNS record
    sealed_key bytea not null,
    created_at timestamptz not null,
    used_from  timestamptz,
    retired_at timestamptz,
    primary key (brand_id, domain_id, selector),
    foreign key (brand_id, domain_id) references domains on delete cascade
);
