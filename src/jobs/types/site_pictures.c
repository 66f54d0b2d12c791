#include "jobs/types/site_pictures.h"

#include "base/buf.h"
#include "base/json_read.h"
#include "base/json_write.h"
#include "base/text.h"
#include "jobs/types/content_image.h"
#include "jobs/types/site_fetch.h"
#include "jobs/types/site_robots.h"
#include "render/image.h"
#include "render/renderer.h"

#include <string.h>

enum {
    PICTURE_MAX_BYTES = 5 * 1000 * 1000,
    PICTURES_MAX_BYTES = 40 * 1000 * 1000,
    GROUP = 4,                            /* pictures that are in memory at the same time */
    COLOURED_MAX_BYTES = 2 * 1000 * 1000, /* larger pictures get no colours */
    LOGO_MAX_BYTES = 2 * 1000 * 1000,
    DRAW_REQUEST_MAX_BYTES = 4 * 1024 * 1024,
    LOGO_WIDTH = 600,
    LOGO_HEIGHT = 240,
    PICTURE_MIN_PIXELS = 120,
};

struct picture_work {
    struct site *site;
    struct site_pictures *pictures;
    struct image_checker *checker;
    struct asset_quota room;
    size_t pictures_bytes; /* of the pictures that arrived */
};

/* ---- Drawing ---- */

static const char *draw_request(struct arena *arena, const char *type, const void *bytes, size_t size, bool wants_png)
{
    struct buf *out = buf_in_arena(arena, DRAW_REQUEST_MAX_BYTES);
    struct json_writer json;
    json_writer_init(&json, out);
    json_object_begin(&json);
    json_member_text(&json, "type", type);
    json_member_text(&json, "bytes", base64_encode(arena, bytes, size));
    json_member_int(&json, "width", LOGO_WIDTH);
    json_member_int(&json, "height", LOGO_HEIGHT);
    json_member_bool(&json, "wantsPng", wants_png);
    json_object_end(&json);
    char *text = arena_dup(arena, buf_text(out));
    text[strlen(text) - 1] = '\0';
    return text + 1;
}

/* The result of drawing; NULL: the picture cannot be drawn. */
static bool draw(const struct picture_work *work, const char *type, const void *bytes, size_t size, bool wants_png,
                 const json_t **ret_drawn, struct error *err)
{
    ARENA_SCOPE scratch = arena_new(0); /* requests of many pictures would fill the arena of the job */
    struct error problem = { .code = ERR_NONE };
    *ret_drawn = NULL;
    const char *request = draw_request(scratch, type, bytes, size, wants_png);
    if (renderer_site(work->site->renderer, work->site->arena, SITE_DRAW_PICTURE, request, ret_drawn, &problem))
        return true;
    *err = problem;
    return problem.code != ERR_SERVICE_UNAVAILABLE;
}

static const char *colours_of(struct arena *arena, const json_t *drawn)
{
    struct buf *out = buf_in_arena(arena, 256);
    size_t i;
    const json_t *colour;
    json_array_foreach (json_object_get(drawn, "colours"), i, colour)
        if (json_is_string(colour) && json_string_length(colour) == 7)
            buf_printf(out, "%s%s", out->size > 0 ? "," : "", json_string_value(colour));
    return buf_text(out);
}

/* ---- Storing ---- */

static bool type_of(enum image_type image, enum asset_type *ret_type, const char **ret_mime)
{
    static const struct {
        enum asset_type type;
        const char *mime;
    } types[] = {
        [IMAGE_JPEG] = { ASSET_JPEG, "image/jpeg" }, [IMAGE_PNG] = { ASSET_PNG, "image/png" },
        [IMAGE_GIF] = { ASSET_GIF, "image/gif" },    [IMAGE_WEBP] = { ASSET_WEBP, "image/webp" },
        [IMAGE_AVIF] = { ASSET_AVIF, "image/avif" },
    };
    if (image == IMAGE_NONE)
        return false;
    *ret_type = types[image].type;
    *ret_mime = types[image].mime;
    return true;
}

struct checked {
    struct asset asset;
    const char *mime;
};

/* False: the bytes are not a picture that may be hosted, or there is no room for it. */
static bool check(struct picture_work *work, const void *bytes, size_t size, struct checked *ret_checked)
{
    struct image_facts facts;
    struct error ignored = { .code = ERR_NONE };
    *ret_checked = (struct checked){ .mime = NULL };
    if (!image_check(work->checker, bytes, size, &facts, &ignored) ||
        !type_of(facts.type, &ret_checked->asset.type, &ret_checked->mime))
        return false;
    ret_checked->asset.bytes = (int64_t)size;
    ret_checked->asset.width = facts.width;
    ret_checked->asset.height = facts.height;
    ret_checked->asset.frames = facts.frames;
    return work->room.count >= 1 && work->room.bytes >= (int64_t)size;
}

/* Stores checked bytes; the name of the file, or NULL. */
static const char *store(struct picture_work *work, struct asset *asset, const void *bytes, size_t size)
{
    struct error ignored = { .code = ERR_NONE };
    sha256(bytes, size, asset->hash);
    struct asset_name name = asset_name_of(asset->hash, asset->type);
    if (!content_image_store(work->site->job, &name, (struct bytes){ bytes, size }, &ignored))
        return NULL;
    work->pictures->assets[work->pictures->count++] = *asset;
    work->room.count--;
    work->room.bytes -= asset->bytes;
    return arena_dup(work->site->arena, name.text);
}

/* ---- The logo ---- */

/* The type of a picture that is drawn: SVG begins as text, an icon with its signature. NULL: neither. */
static const char *drawn_type(const unsigned char *bytes, size_t size)
{
    static const unsigned char icon[] = { 0, 0, 1, 0 };
    size_t at = size >= 3 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    while (at < size && strchr(" \t\r\n", bytes[at]) != NULL && bytes[at] != '\0')
        at++;
    if (at < size && bytes[at] == '<')
        return "image/svg+xml";
    return size > sizeof(icon) && memcmp(bytes, icon, sizeof(icon)) == 0 ? "image/x-icon" : NULL;
}

/* Hosts a logo, as PNG when its own format cannot be shown in mail. Leaves `logo` NULL when it is not a picture. */
static bool host_logo(struct picture_work *work, const unsigned char *bytes, size_t size, const char *url, struct error *err)
{
    struct checked checked;
    const char *type = drawn_type(bytes, size);
    if (type != NULL) {
        const json_t *drawn;
        if (!draw(work, type, bytes, size, true, &drawn, err))
            return false;
        const char *png = drawn != NULL ? json_get_text(drawn, "png") : NULL;
        bytes = png != NULL ? base64_decode(work->site->arena, png, &size) : NULL;
    }
    if (bytes == NULL || !check(work, bytes, size, &checked))
        return true;
    checked.asset.kind = "logo";
    checked.asset.source_url = url;
    checked.asset.description = "Logo";
    work->pictures->logo = store(work, &checked.asset, bytes, size);
    return true;
}

struct one_fetch {
    struct arena *arena;
    const unsigned char *bytes;
    size_t size;
};

static void one_arrived(void *context, size_t index, const struct fetch_answer *answer)
{
    struct one_fetch *fetch = context;
    (void)index;
    if (answer->outcome != FETCH_OK)
        return;
    fetch->bytes = (const unsigned char *)arena_dup_bytes(fetch->arena, (const char *)answer->bytes, answer->size);
    fetch->size = answer->size;
}

static bool try_logo(struct picture_work *work, const json_t *logo, struct error *err)
{
    struct one_fetch fetch = { .arena = work->site->arena };
    const char *url = json_get_text(logo, "url");
    const char *svg = json_get_text(logo, "svg");
    if (svg != NULL) {
        fetch.bytes = (const unsigned char *)svg;
        fetch.size = strlen(svg);
    } else if (url != NULL && site_robots_allow(work->site, url)) {
        site_fetch(work->site, &url, 1, LOGO_MAX_BYTES, LOGO_MAX_BYTES, one_arrived, &fetch);
    }
    return fetch.bytes == NULL || host_logo(work, fetch.bytes, fetch.size, url, err);
}

/* Takes the first candidate that is a picture. */
static bool host_first_logo(struct picture_work *work, const json_t *logos, struct error *err)
{
    size_t i;
    const json_t *logo;
    json_array_foreach (logos, i, logo) {
        if (!try_logo(work, logo, err))
            return false;
        if (work->pictures->logo != NULL)
            return true;
    }
    return true;
}

/* ---- Pictures ---- */

/* Pictures that are fetched together. */
struct picture_group {
    struct arena *arena;
    const char *urls[GROUP];
    const json_t *wanted[GROUP];
    const unsigned char *bytes[GROUP]; /* NULL: it did not arrive */
    size_t sizes[GROUP];
    size_t count;
};

static void picture_arrived(void *context, size_t index, const struct fetch_answer *answer)
{
    struct picture_group *group = context;
    if (answer->outcome != FETCH_OK)
        return;
    group->bytes[index] = (const unsigned char *)arena_dup_bytes(group->arena, (const char *)answer->bytes, answer->size);
    group->sizes[index] = answer->size;
}

static bool host_picture(struct picture_work *work, const json_t *wanted, const unsigned char *bytes, size_t size,
                         struct error *err)
{
    struct checked checked;
    if (!check(work, bytes, size, &checked) || checked.asset.width < PICTURE_MIN_PIXELS ||
        checked.asset.height < PICTURE_MIN_PIXELS)
        return true;
    const json_t *drawn = NULL;
    if (size <= COLOURED_MAX_BYTES && !draw(work, checked.mime, bytes, size, false, &drawn, err))
        return false;
    checked.asset.kind = "brand";
    checked.asset.source_url = json_get_text(wanted, "url");
    checked.asset.alt = json_get_text(wanted, "alt");
    checked.asset.description = json_get_text(wanted, "description");
    checked.asset.page_url = json_get_text(wanted, "pageUrl");
    checked.asset.colours = drawn != NULL ? colours_of(work->site->arena, drawn) : NULL;
    store(work, &checked.asset, bytes, size);
    return true;
}

/* Fetches the pictures of a group and hosts them. Their bytes are freed afterwards. */
static bool host_group(struct picture_work *work, struct picture_group *group, struct error *err)
{
    ARENA_SCOPE arena = arena_new(0);
    size_t left = work->pictures_bytes < PICTURES_MAX_BYTES ? PICTURES_MAX_BYTES - work->pictures_bytes : 1;
    group->arena = arena;
    site_fetch(work->site, group->urls, group->count, PICTURE_MAX_BYTES, left, picture_arrived, group);
    for (size_t i = 0; i < group->count; i++) {
        work->pictures_bytes += group->sizes[i];
        if (group->bytes[i] != NULL && !host_picture(work, group->wanted[i], group->bytes[i], group->sizes[i], err))
            return false;
    }
    *group = (struct picture_group){ .count = 0 };
    return true;
}

/* Hosts the pictures in the order of the summary. */
static bool host_all(struct picture_work *work, const json_t *pictures, struct error *err)
{
    struct picture_group group = { .count = 0 };
    size_t count = 0;
    size_t i;
    const json_t *picture;
    json_array_foreach (pictures, i, picture) {
        const char *url = json_get_text(picture, "url");
        if (url == NULL || count == SITE_MAX_PICTURES || !site_robots_allow(work->site, url))
            continue;
        count++;
        group.wanted[group.count] = picture;
        group.urls[group.count++] = url;
        if (group.count == GROUP && !host_group(work, &group, err))
            return false;
    }
    return host_group(work, &group, err);
}

bool site_host_pictures(struct site *site, const json_t *summary, struct site_pictures *ret_pictures, struct error *err)
{
    IMAGE_CHECKER_SCOPE checker = image_checker_new(site->job->services->image_program);
    struct picture_work work = { .site = site, .pictures = ret_pictures, .checker = checker };
    return asset_quota_left(&site->job->work, &work.room, err) && host_first_logo(&work, json_object_get(summary, "logos"), err) &&
           host_all(&work, json_object_get(summary, "pictures"), err);
}
