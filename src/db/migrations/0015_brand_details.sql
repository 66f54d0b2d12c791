-- A brand's description of its style, and the order of its images.

-- Text for the authors of its mail. It is not in identity, because templates may show all of identity.
alter table brands
    add column email_design text,
    add column image_style  text;

-- Images are listed in the order of their creation; those of one import have the same time.
alter table assets
    add column id           bigint generated always as identity,
    add column kind         text not null default 'brand' check (kind in ('logo', 'brand', 'generated')),
    add column aspect_ratio text not null generated always as
        (case when width > height then 'landscape' when width < height then 'portrait' else 'square' end) stored;
create unique index assets_by_id on assets (brand_id, id);
