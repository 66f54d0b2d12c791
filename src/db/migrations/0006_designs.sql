-- Designs. The default subject belongs to a version, so that an older version brings its own back.
alter table email_versions add column subject_line text;
update email_versions v
   set subject_line = e.subject_line
  from emails e
 where e.brand_id = v.brand_id and e.id = v.email_id and e.latest_version_id = v.id;
alter table emails drop column subject_line;

-- Lists hold a design at its creation while it is generated.
alter table emails add column listed_at timestamptz not null
    generated always as (case when status = 'generating' then created_at else updated_at end) stored;
drop index emails_by_updated;
create index emails_by_listed on emails (brand_id, listed_at desc, id desc) where deleted_at is null;

-- Counting the designs of a folder, and emptying it.
create index emails_by_group on emails (brand_id, group_id) where group_id is not null;
