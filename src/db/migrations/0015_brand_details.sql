-- What a brand says of its looks, and an order of the images it keeps.

-- In words, for whoever makes its mail. They stand beside identity, all of which templates may show.
alter table brands
    add column email_design text,
    add column image_style  text;

-- Images are walked in the order in which they came; several of one import came at one time.
alter table assets
    add column id           bigint generated always as identity,
    add column kind         text not null default 'brand' check (kind in ('logo', 'brand', 'generated')),
    add column aspect_ratio text not null generated always as
        (case when width > height then 'landscape' when width < height then 'portrait' else 'square' end) stored;
create unique index assets_by_id on assets (brand_id, id);
