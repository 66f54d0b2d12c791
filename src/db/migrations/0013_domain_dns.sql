-- Sending domains and their DNS records.

-- published: the records found by the last DNS lookup, each as "TYPE name".
-- deleted_at: hidden from every list; messages accepted before are still sent from the domain, signed with its keys.
alter table domains
    add column published  text[] not null default '{}',
    add column deleted_at timestamptz;

-- The name of a deleted domain can be connected again.
alter table domains drop constraint domains_name;
create unique index domains_name on domains (brand_id, name) where deleted_at is null;

-- Only one brand can verify a name by DNS; the operator may assign it to several.
create unique index domains_proven on domains (name) where kind = 'sending' and status = 'verified' and not trusted;
create index domains_verified on domains (name) where kind = 'sending' and status = 'verified';
