-- A custom field that is being deleted takes no values. cleared_to: its values are gone from the contacts up to this id; null: it is in use.
alter table contact_fields add column cleared_to bigint;

-- Defines the custom fields that a brand does not have yet, up to its limit, and returns the new ones. The classes of the locks are in
-- src/db/advisory_locks.h. The shared lock is held until the contacts are written, so a deletion begins without a writer that has seen
-- the field. The other one is taken for new fields only: their number is read behind it, by a statement of its own, so that transactions
-- at the same time do not each add fields up to the limit.
create function define_contact_fields(for_brand bigint, given_names text[], given_types text[], max_fields bigint, defined_at timestamptz)
    returns setof text language plpgsql volatile
as $$
begin
    perform pg_advisory_xact_lock_shared(730579276, hashint8(for_brand));
    if not exists (select from unnest(given_names) as g(name)
                    where not exists (select from contact_fields f where f.brand_id = for_brand and f.name = g.name)) then
        return;
    end if;
    perform pg_advisory_xact_lock(730579275, hashint8(for_brand));
    return query
    insert into contact_fields (brand_id, name, type, created_at)
    select for_brand, g.name, g.type, defined_at
      from unnest(given_names, given_types) as g(name, type)
     where not exists (select from contact_fields f where f.brand_id = for_brand and f.name = g.name)
     order by g.name
     limit greatest(0, max_fields - (select count(*) from contact_fields where brand_id = for_brand))
        on conflict (brand_id, name) do nothing
    returning contact_fields.name;
end
$$;
