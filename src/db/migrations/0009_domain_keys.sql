-- Signing keys of sending domains, and which master keys sealed what this database keeps.

-- The master keys themselves are in the key file, outside of the database; a fingerprint tells that it is the right one.
create table sealing_keys (
    key_id      integer primary key check (key_id between 1 and 255),
    fingerprint bytea not null,
    created_at  timestamptz not null
);

-- One number for the keys that are made together; the selectors in the DNS are named by it, so no two brands that send
-- from one domain take each other's.
create sequence domain_key_numbers;

-- Waiting (neither used nor retired): made, to be published before it signs.
create table domain_keys (
    brand_id   bigint not null,
    domain_id  bigint not null,
    selector   text not null,
    algorithm  text not null check (algorithm in ('rsa-sha256', 'ed25519-sha256')),
    public_key bytea not null, -- as p= of the DNS record holds it
    sealed_key bytea not null,
    created_at timestamptz not null,
    used_from  timestamptz,
    retired_at timestamptz,
    primary key (brand_id, domain_id, selector),
    foreign key (brand_id, domain_id) references domains on delete cascade
);
