-- Sending domains and what the DNS says of them.

-- published: the records that were there when the DNS was last asked, each as "TYPE name".
-- deleted_at: gone from every list; what was accepted before still leaves in its name, signed with its keys.
alter table domains
    add column published  text[] not null default '{}',
    add column deleted_at timestamptz;

-- The name of a deleted domain can be connected again.
alter table domains drop constraint domains_name;
create unique index domains_name on domains (brand_id, name) where deleted_at is null;

-- The DNS proves a name to one brand only; the operator may give it to several by his word.
create unique index domains_proven on domains (name) where kind = 'sending' and status = 'verified' and not trusted;
create index domains_verified on domains (name) where kind = 'sending' and status = 'verified';
