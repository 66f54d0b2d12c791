#include "engine/brands/extraction.h"

#include "base/log.h"
#include "base/text.h"
#include "engine/brands/brands.h"
#include "mail/address.h"

#include <string.h>
#include <strings.h>

enum {
    FOUND_MAX_BYTES = 32 * 1024,
    DESCRIPTION_MAX_CHARS = 2000,
    TAGLINE_MAX_CHARS = 200,
    PHONE_MAX_CHARS = 40,
    ADDRESS_MAX_CHARS = 500,
    NAME_MAX_CHARS = 120,
    LOCALE_MAX_CHARS = 35,
    ERROR_MAX_CHARS = 300,
};

bool extraction_read_url(struct arena *arena, const char *url, const char **ret_url, struct error *err)
{
    const char *trimmed = text_trim(arena, url);
    const char *end = strstr(trimmed, "://");
    const char *scheme = end != NULL ? text_lower(arena, arena_dup_bytes(arena, trimmed, (size_t)(end - trimmed))) : "https";
    const char *rest = end != NULL ? end + 3 : trimmed;
    if (strcmp(scheme, "http") != 0 && strcmp(scheme, "https") != 0)
        return fail(err, ERR_INVALID_REQUEST, "url", "The address of a website begins with https:// or http://.");
    const char *at = memchr(rest, '@', strcspn(rest, "/?#"));
    rest = at != NULL ? at + 1 : rest;
    size_t host = strcspn(rest, "/?#");
    rest = arena_dup_bytes(arena, rest, strcspn(rest, "#"));
    *ret_url = arena_printf(arena, "%s://%.*s%s%s", scheme, (int)host, rest, rest[host] == '/' ? "" : "/", rest + host);
    return true;
}

bool extraction_open(const struct work *work, const struct extraction_request *request, struct error *err)
{
    struct extraction_open_params params = {
        .brand_id = work->brand_id,
        .url = request->url,
        .instructions = request->instructions,
        .include_paths = request->include_paths,
        .exclude_paths = request->exclude_paths,
        .exclude_subdomains = request->exclude_subdomains,
        .given = request->given,
        .now = work->now_us,
    };
    return sql_extraction_open(work->conn, work->arena, &params, NULL, err);
}

bool extraction_claim(const struct work *work, int64_t job_id, struct extraction_claim_row **ret_row, struct error *err)
{
    struct extraction_claim_params params = { .brand_id = work->brand_id, .job_id = job_id };
    return sql_extraction_claim(work->conn, work->arena, &params, ret_row, err);
}

void extraction_note(const struct work *work, int64_t job_id, const char *phase, int64_t progress, int64_t pages)
{
    struct error ignored = { .code = ERR_NONE };
    struct extraction_note_params params = {
        .brand_id = work->brand_id, .job_id = job_id, .phase = phase, .progress = progress, .pages = pages
    };
    if (!sql_extraction_note(work->conn, work->arena, &params, NULL, &ignored))
        log_event(LOG_DEBUG, "brand.progress", "The progress of an extraction could not be shown.");
}

/* A found text that a caller could have set. */
static const char *usable(const char *text, size_t most)
{
    return utf8_has_length(text, 1, most) ? text : NULL;
}

static const char *usable_name(const struct work *work, const char *name)
{
    struct error ignored = { .code = ERR_NONE };
    return usable(name, NAME_MAX_CHARS) != NULL && brand_check_name(work, &name, "name", &ignored) ? name : NULL;
}

static const char *usable_locale(const char *locale)
{
    return usable(locale, LOCALE_MAX_CHARS) != NULL && brand_locale_is_tag(locale) ? locale : NULL;
}

static const char *usable_email(const struct work *work, const char *email)
{
    struct error ignored = { .code = ERR_NONE };
    struct address address;
    return email != NULL && address_parse(work->arena, email, "contactEmail", &address, &ignored) ? email : NULL;
}

static const char *identity_of(const struct work *work, const struct extraction_found *found)
{
    struct buf *out = buf_in_arena(work->arena, FOUND_MAX_BYTES);
    struct json_writer json;
    json_writer_init(&json, out);
    json_object_begin(&json);
    json_member_text_if(&json, "description", usable(found->description, DESCRIPTION_MAX_CHARS));
    json_member_text_if(&json, "tagline", usable(found->tagline, TAGLINE_MAX_CHARS));
    json_member_text_if(&json, "contactEmail", usable_email(work, found->contact_email));
    json_member_text_if(&json, "contactPhone", usable(found->contact_phone, PHONE_MAX_CHARS));
    json_member_text_if(&json, "address", usable(found->address, ADDRESS_MAX_CHARS));
    if (found->social != NULL)
        json_member_raw(&json, "social", found->social);
    json_object_end(&json);
    return buf_text(out);
}

bool extraction_complete(const struct work *work, int64_t job_id, const struct extraction_found *found, struct error *err)
{
    struct extraction_complete_row *row;
    struct extraction_complete_params params = {
        .brand_id = work->brand_id,
        .job_id = job_id,
        .name = usable_name(work, found->name),
        .identity = identity_of(work, found),
        .time_zone = found->time_zone,
        .locale = usable_locale(found->locale),
        .email_design = found->email_design,
        .logo = found->logo,
        .pages = found->pages,
        .now = work->now_us,
    };
    return sql_extraction_complete(work->conn, work->arena, &params, &row, err);
}

bool extraction_fail(const struct work *work, const char *why, struct error *err)
{
    struct extraction_fail_params params = { .brand_id = work->brand_id,
                                             .error = text_visible(work->arena, why, ERROR_MAX_CHARS),
                                             .now = work->now_us };
    return sql_extraction_fail(work->conn, work->arena, &params, NULL, err);
}
