-- Search: the tables that filter conditions read besides the row of a contact.

-- An audience is a saved filter, or a cohort whose members are listed and can be used once they are ready.
alter table audiences
    add column kind text not null default 'filter' check (kind in ('filter', 'cohort')),
    add column materialization_status text not null default 'ready'
        check (materialization_status in ('pending', 'running', 'ready', 'failed'));

create table audience_members (
    brand_id    bigint not null,
    audience_id bigint not null,
    contact_id  bigint not null,
    primary key (brand_id, audience_id, contact_id)
);

-- The number of events per address, kind and day (UTC). It is written together with the events, so that a condition on
-- activity never counts events.
create table contact_activity (
    brand_id   bigint not null,
    event_type text not null,
    email_key  text not null,
    day        date not null,
    count      bigint not null,
    primary key (brand_id, event_type, email_key, day)
);
insert into contact_activity (brand_id, event_type, email_key, day, count)
select brand_id, event_type, recipient_key, (occurred_at at time zone 'UTC')::date, count(*)
  from events
 where domain = 'email' and mode = 'live' and recipient_key is not null
 group by 1, 2, 3, 4;

-- With the foreign key every write of a contact would lock the row of its brand, which all writers share.
alter table contacts drop constraint contacts_brand_id_fkey;
