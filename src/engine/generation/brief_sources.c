#include "engine/generation/brief_sources.h"

#include "base/json_read.h"
#include "engine/assets/assets.h"
#include "sql/emails.h"
#include "sql/generations.h"
#include "template/zone.h"

#include <string.h>

enum { IDENTITY_MAX_BYTES = 64 * 1024, SEED_TEXT_MAX_BYTES = 256 * 1024 };

/* ---- The brand ---- */

static const char *logo_url(struct arena *arena, const struct brief_brand_row *row, const char *public_url)
{
    if (public_url == NULL || row->logo_hash.data == NULL || row->logo_hash.size != SECRET_HASH_BYTES)
        return NULL;
    struct asset_name name = asset_name_of(row->logo_hash.data, asset_type_named(row->logo_type));
    return asset_url(arena, public_url, &name);
}

bool brief_read_brand(const struct work *work, const char *public_url, struct brief_brand *ret_brand, struct error *err)
{
    struct brief_brand_params params = { .brand_id = work->brand_id };
    struct json_bounds bounds = { .max_bytes = IDENTITY_MAX_BYTES };
    struct brief_brand_row *row;
    const json_t *identity;
    if (!sql_brief_brand(work->conn, work->arena, &params, &row, err))
        return false;
    if (row == NULL)
        return fail(err, ERR_BRAND_NOT_FOUND, NULL, "The brand was deleted.");
    if (!json_read(work->arena, row->identity, strlen(row->identity), bounds, &identity, err))
        return false;
    *ret_brand = (struct brief_brand){
        .name = row->name,
        .tagline = json_get_text(identity, "tagline"),
        .description = json_get_text(identity, "description"),
        .address = json_get_text(identity, "address"),
        .website = row->domain != NULL ? arena_printf(work->arena, "https://%s", row->domain) : NULL,
        .logo = logo_url(work->arena, row, public_url),
        .time_zone = row->time_zone,
        .zone = template_zone_load(work->arena, row->time_zone),
        .locale = row->locale,
        .email_design = row->email_design,
        .social = json_object_get(identity, "social"),
    };
    return true;
}

/* ---- The seed ---- */

void brief_set_seed(const struct work *work, struct brief *brief)
{
    const char *const members[] = { brief->prompt,     brief->category,      brief->subject_line,
                                    brief->brand.name, brief->brand.website, brief->brand.email_design };
    struct buf *text = buf_in_arena(work->arena, SEED_TEXT_MAX_BYTES);
    for (size_t i = 0; i < ARRAY_COUNT(members); i++)
        buf_printf(text, "%s\n", members[i] != NULL ? members[i] : "");
    for (size_t i = 0; i < brief->page_count; i++)
        buf_printf(text, "%s\n", brief->pages[i].url);
    sha256(text->data, text->size, brief->seed);
}

/* ---- The reference design ---- */

bool brief_check_reference(const struct work *work, int64_t email_id, struct error *err)
{
    struct email_clone_source_params params = { .brand_id = work->brand_id, .id = email_id };
    struct email_clone_source_row *row;
    if (!sql_email_clone_source(work->conn, work->arena, &params, &row, err))
        return false;
    if (row == NULL)
        return fail(err, ERR_EMAIL_NOT_FOUND, "referenceEmailId", "No email with this id in this brand.");
    return row->version_id.set ||
           fail(err, ERR_EMAIL_NOT_READY, "referenceEmailId", "This design is %s; refer to it when it is ready.", row->status);
}
