-- Designs. The default subject belongs to a version, so that restoring an older version restores its subject.
alter table email_versions add column subject_line text;
update email_versions v
   set subject_line = e.subject_line
  from emails e
 where e.brand_id = v.brand_id and e.id = v.email_id and e.latest_version_id = v.id;
alter table emails drop column subject_line;

-- The list position of a design: its time of creation while it is being generated.
alter table emails add column listed_at timestamptz not null
    generated always as (case when status = 'generating' then created_at else updated_at end) stored;
drop index emails_by_updated;
create index emails_by_listed on emails (brand_id, listed_at desc, id desc) where deleted_at is null;

-- For counting the designs of a folder, and for emptying it.
create index emails_by_group on emails (brand_id, group_id) where group_id is not null;
