-- Search: what conditions ask for besides the row of a contact.

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

-- How often what happened to whom on which day (UTC): a folded view of events, written with them, so that a condition on
-- activity never counts events. By address, as events are.
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

-- Every write of a contact would lock the row of its brand, together with everybody else who writes one.
alter table contacts drop constraint contacts_brand_id_fkey;
