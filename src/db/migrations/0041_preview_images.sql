-- The pictures of designs in lists. emails.preview_image is the name of a stored image.

-- preview_version: the version that preview_image shows, or that could not be drawn. preview_tried_at: the time of a drawing that
-- failed although the design may be right, because no browser answered.
alter table emails add column preview_version bigint;
alter table emails add column preview_tried_at timestamptz;

-- Designs without a picture of their latest version.
create index emails_undrawn on emails (brand_id, preview_tried_at nulls first, id)
    where status = 'ready' and deleted_at is null and preview_version is distinct from latest_version_id;

-- A brand has at most one job that draws them.
create unique index jobs_draw_preview_images on jobs (brand_id) where kind = 'draw_preview_images' and state in ('queued', 'running');
