#include "engine/brands/brands.h"

#include "base/json_read.h"
#include "base/text.h"
#include "engine/assets/assets.h"
#include "mail/address.h"
#include "mail/header.h"

#include <string.h>

enum { IDENTITY_MAX_BYTES = 64 * 1024, SUBTAG_MAX_CHARS = 8 };

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
static const char letters_and_digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/* Members of the identity, in the order they are written. */
static const char *const identity_members[] = { "description", "tagline", "contactEmail", "contactPhone", "address" };

/* ---- Creating ---- */

static const char *host_of(struct arena *arena, const char *url)
{
    const char *start = strstr(url, "://");
    start = start != NULL ? start + 3 : url;
    const char *at = memchr(start, '@', strcspn(start, "/?#"));
    if (at != NULL)
        start = at + 1;
    return arena_dup_bytes(arena, start, strcspn(start, ":/?#"));
}

static bool read_brand_domain(const struct work *work, const struct brand_fields *fields, const char **ret_domain,
                              struct error *err)
{
    *ret_domain = NULL;
    if (fields->domain != NULL)
        return address_domain_parse(work->arena, fields->domain, "domain", ret_domain, err);
    if (fields->url != NULL)
        return address_domain_parse(work->arena, host_of(work->arena, fields->url), "url", ret_domain, err);
    return true;
}

static const char *identity_json(const struct work *work, const struct brand_fields *fields)
{
    const char *const values[ARRAY_COUNT(identity_members)] = {
        fields->description, fields->tagline, fields->contact_email, fields->contact_phone, fields->address,
    };
    struct buf *out = buf_in_arena(work->arena, IDENTITY_MAX_BYTES);
    struct json_writer json;
    json_writer_init(&json, out);
    json_object_begin(&json);
    for (size_t i = 0; i < ARRAY_COUNT(identity_members); i++)
        if (values[i] != NULL && values[i][0] != '\0')
            json_member_text(&json, identity_members[i], values[i]);
    json_object_end(&json);
    return buf_text(out);
}

static bool check_contact_email(const struct work *work, const char *email, const char *param, struct error *err)
{
    struct address address;
    return email == NULL || address_parse(work->arena, email, param, &address, err);
}

bool brand_check_name(const struct work *work, const char **name, const char *param, struct error *err)
{
    *name = text_trim(work->arena, *name);
    if ((*name)[0] == '\0')
        return fail(err, ERR_INVALID_REQUEST, param, "The name of a brand must not be blank.");
    return header_check_text(*name, param, err);
}

bool brand_locale_is_tag(const char *locale)
{
    size_t size = strspn(locale, letters);
    if (size < 2 || size > SUBTAG_MAX_CHARS)
        return false;
    for (const char *at = locale + size; *at != '\0'; at += size + 1) {
        if (*at != '-')
            return false;
        size = strspn(at + 1, letters_and_digits);
        if (size == 0 || size > SUBTAG_MAX_CHARS)
            return false;
    }
    return true;
}

bool brand_create(const struct work *work, const struct brand_fields *fields, struct brand_row **ret_brand, struct error *err)
{
    const char *domain;
    if (!read_brand_domain(work, fields, &domain, err) || !check_contact_email(work, fields->contact_email, "contactEmail", err))
        return false;
    const char *name = fields->name != NULL ? fields->name : domain;
    if (name == NULL)
        return fail(err, ERR_INVALID_REQUEST, "name", "Pass at least one of name, domain and url.");
    if (!brand_check_name(work, &name, "name", err))
        return false;
    if (fields->locale != NULL && !brand_locale_is_tag(fields->locale))
        return fail(err, ERR_INVALID_REQUEST, "locale", "%.60s is not a BCP 47 language tag, such as en or fr-CA.", fields->locale);

    struct brand_create_params params = {
        .organization_id = work->organization_id,
        .name = name,
        .domain = domain,
        .status = fields->url != NULL ? "extracting" : "completed",
        .website = fields->url,
        .identity = identity_json(work, fields),
        .time_zone = fields->time_zone != NULL ? fields->time_zone : "UTC",
        .locale = fields->locale != NULL ? fields->locale : "en",
        .sandbox_domain = work->engine->sandbox_domain,
        .now = work->now_us,
    };
    struct brand_create_row *created;
    if (!sql_brand_create(work->conn, work->arena, &params, &created, err))
        return false;
    if (created == NULL)
        return fail(err, ERR_INVALID_REQUEST, "timeZone", "%.60s is not an IANA time zone.", params.time_zone);
    return brand_get(work, created->id, ret_brand, err);
}

/* ---- Reading ---- */

bool brand_get(const struct work *work, int64_t brand_id, struct brand_row **ret_brand, struct error *err)
{
    struct brand_find_params params = { .organization_id = work->organization_id, .brand_id = brand_id };
    if (!sql_brand_find(work->conn, work->arena, &params, ret_brand, err))
        return false;
    return *ret_brand != NULL || fail(err, ERR_BRAND_NOT_FOUND, "brandId", "No brand with this id in the organization.");
}

bool brand_require_ready(const struct work *work, struct error *err)
{
    struct brand_row *brand;
    if (!brand_get(work, work->brand_id, &brand, err))
        return false;
    return strcmp(brand->status, "completed") == 0 ||
           fail(err, ERR_BRAND_NOT_READY, NULL, "The website of this brand is not read yet, or could not be read.");
}

/* ---- Changing ---- */

static struct opt_text text_without_empty(struct opt_text text)
{
    if (text.value != NULL && text.value[0] == '\0')
        text.value = NULL;
    return text;
}

bool brand_update(const struct work *work, const struct brand_change *change, struct brand_row **ret_brand, struct error *err)
{
    const struct opt_text identity[ARRAY_COUNT(identity_members)] = {
        text_without_empty(change->description),   text_without_empty(change->tagline), text_without_empty(change->contact_email),
        text_without_empty(change->contact_phone), text_without_empty(change->address),
    };
    struct brand_update_params params = {
        .organization_id = work->organization_id,
        .brand_id = work->brand_id,
        .name = change->name,
        .sets_email_design = change->email_design.set,
        .email_design = text_without_empty(change->email_design).value,
        .sets_image_style = change->image_style.set,
        .image_style = text_without_empty(change->image_style).value,
        .now = work->now_us,
    };
    bool changes = params.name != NULL || params.sets_email_design || params.sets_image_style;
    struct buf *patch = buf_in_arena(work->arena, IDENTITY_MAX_BYTES);
    struct json_writer json;
    json_writer_init(&json, patch);
    json_object_begin(&json);
    for (size_t i = 0; i < ARRAY_COUNT(identity); i++) {
        if (identity[i].set)
            json_member_text(&json, identity_members[i], identity[i].value);
        changes = changes || identity[i].set;
    }
    json_object_end(&json);
    params.identity = buf_text(patch);
    if (!changes)
        return fail(err, ERR_INVALID_REQUEST, "identity", "Pass at least one of identity, emailDesign and imageStyle.");
    if ((params.name != NULL && !brand_check_name(work, &params.name, "identity.brandName", err)) ||
        !check_contact_email(work, text_without_empty(change->contact_email).value, "identity.contactEmail", err) ||
        !sql_brand_update(work->conn, work->arena, &params, ret_brand, err))
        return false;
    return *ret_brand != NULL || brand_require_ready(work, err);
}

/* ---- Writing ---- */

/* The progress of an extraction that has not ended, and the reason why it failed. */
static void write_extraction(const struct brand_row *brand, struct json_writer *json)
{
    if (strcmp(brand->status, "extracting") == 0 && brand->phase != NULL) {
        json_member_text(json, "phase", brand->phase);
        json_member_int(json, "progress", brand->progress.value);
    }
    if (strcmp(brand->status, "failed") == 0)
        json_member_text_if(json, "error", brand->error);
}

bool brand_write_created(const struct work *work, const struct brand_row *brand, const char *enter, struct json_writer *json,
                         struct error *err)
{
    struct json_bounds bounds = { .max_bytes = IDENTITY_MAX_BYTES };
    const json_t *identity;
    if (!json_read(work->arena, brand->identity, strlen(brand->identity), bounds, &identity, err))
        return false;
    json_object_begin(json);
    json_member_id(json, work, "brandId", ID_BRAND, brand->id);
    json_member_text(json, "name", brand->name);
    json_member_text(json, "domain", brand->domain);
    json_member_text(json, "status", brand->status);
    json_member_bool(json, "ready", strcmp(brand->status, "completed") == 0);
    write_extraction(brand, json);
    for (size_t i = 0; i < ARRAY_COUNT(identity_members); i++)
        json_member_text_if(json, identity_members[i], json_get_text(identity, identity_members[i]));
    json_member_text_if(json, "website", brand->website);
    const json_t *social = json_object_get(identity, "social");
    if (json_array_size(social) > 0)
        json_member_raw(json, "socialLinks", json_compact(work->arena, social));
    json_member_text_if(json, "logoUrl", asset_public_url(work, brand->logo));
    json_member_text_if(json, "emailDesign", brand->email_design);
    json_member_text_if(json, "imageStyle", brand->image_style);
    json_member_text(json, "timeZone", brand->time_zone);
    json_member_text(json, "locale", brand->locale);
    json_member_text_if(json, "enter", enter);
    json_member_time(json, "createdAt", brand->created_at);
    json_member_time(json, "updatedAt", brand->updated_at);
    json_object_end(json);
    return true;
}

bool brand_write(const struct work *work, const struct brand_row *brand, struct json_writer *json, struct error *err)
{
    return brand_write_created(work, brand, NULL, json, err);
}
