-- Pictures of designs in lists that may be needed no more: a version or a deletion has replaced them, or a job was about to store them.
-- noted_at: the last time. The upkeep of the workers removes a picture some days later, unless a design or a library shows it.
create table spare_pictures (
    brand_id bigint not null references brands,
    image    text not null, -- its name in the asset store
    noted_at timestamptz not null,
    primary key (brand_id, image)
);
create index spare_pictures_by_age on spare_pictures (noted_at);
insert into spare_pictures (brand_id, image, noted_at)
select distinct brand_id, preview_image, now() from emails where deleted_at is not null and preview_image is not null;

-- Brands share the files of equal pictures, so that all of them are asked before one is removed.
create index emails_by_picture on emails (preview_image) where preview_image is not null and deleted_at is null;
create index assets_by_hash on assets (hash);
