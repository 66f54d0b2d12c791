#include "jobs/types/asset_import.h"

#include "base/clock.h"
#include "base/json_read.h"
#include "base/log.h"
#include "base/panic.h"
#include "base/text.h"
#include "engine/core/job_payload.h"
#include "jobs/job_renderer.h"
#include "jobs/types/content_image.h"
#include "net/fetch.h"
#include "render/image.h"

#include <assert.h>
#include <string.h>

enum {
    MAX_WARNINGS = 40,
    SHOWN_URL_CHARS = 200,
    REASON_BYTES = 160,
    FETCH_UNTIL_MS = 45 * 1000, /* since the import was enqueued */
    FETCH_MIN_MS = 5 * 1000,    /* also when the import waited long */
    AFTER_FETCH_MS = 10 * 1000, /* for the rest of the import */
};

static_assert((int)FETCH_UNTIL_MS + (int)AFTER_FETCH_MS < (int)JOB_CALLER_WAIT_MS, "an import ends before its caller leaves");

static_assert((int)IMAGE_MAX_BYTES == 15 * 1000 * 1000, "fetch_config_default fetches what image_check takes");

/* An image is UNSEEN until its outcome is decided; images that are never fetched are retained. */
enum image_outcome { IMAGE_UNSEEN, IMAGE_REHOSTED, IMAGE_RETAINED, IMAGE_STRIPPED, IMAGE_DROPPED };

struct image {
    const char *url;      /* as the document has it */
    const json_t *texts;  /* what the document says about it (imageTexts of the renderer) */
    const char *embedded; /* base64 of an image in the document itself; NULL: the image has an address */
    enum image_outcome outcome;
    const char *new_url; /* the address of the copy; NULL: none, or the image was stripped or dropped */
    const char *reason;  /* of the warning; NULL: no warning */
};

struct asset_import {
    struct job *job;
    struct arena *arena;
    const char *public_url; /* NULL: none */
    const char *title;      /* of the document; NULL: none */
    struct image *images;
    size_t count;
    struct image_checker *checker;
    struct asset_quota room;
    struct asset *assets;
    size_t asset_count;
    struct image **fetched; /* in the order of the list for fetch_all */
    size_t arrived;
    size_t fetch_count;
    bool is_cancelled;
};

static void set_image_outcome(struct image *image, enum image_outcome outcome, const char *reason)
{
    image->outcome = outcome;
    image->reason = reason;
}

static void log_trouble(const struct error *err)
{
    struct log_line line;
    log_begin(&line, LOG_WARNING, "assets.import");
    log_error_members(&line, err);
    log_end(&line);
}

/* ---- Listing ---- */

static bool has_template(const char *url)
{
    return strstr(url, "{{") != NULL || strstr(url, "{%") != NULL;
}

static bool is_web_address(const char *url)
{
    return strncasecmp(url, "http://", 7) == 0 || strncasecmp(url, "https://", 8) == 0;
}

static bool is_hosted_here(const struct asset_import *work, const char *url)
{
    size_t size = work->public_url != NULL ? strlen(work->public_url) : 0;
    return size > 0 && strncmp(url, work->public_url, size) == 0 && text_starts_with(url + size, "/assets/");
}

/* Decides the outcome of an image whose address is reason enough. */
static void judge_address(const struct asset_import *work, struct image *image)
{
    if (image->embedded != NULL)
        return;
    if (has_template(image->url) || is_hosted_here(work, image->url))
        set_image_outcome(image, IMAGE_RETAINED, NULL);
    else if (strncasecmp(image->url, "cid:", 4) == 0)
        set_image_outcome(image, IMAGE_RETAINED, "it names an attachment, and designs have none");
    else if (!is_web_address(image->url))
        set_image_outcome(image, IMAGE_RETAINED, "its address is not complete; give baseUrl");
    else if (work->public_url == NULL)
        set_image_outcome(image, IMAGE_RETAINED, NULL); /* one warning for all of them */
}

static bool list_images(struct asset_import *work, const json_t *prepared, struct error *err)
{
    const json_t *assets = json_object_get(prepared, "assets");
    const json_t *urls = json_object_get(assets, "urls");
    const json_t *embedded = json_object_get(assets, "embedded");
    if (!json_is_array(urls) || !json_is_object(embedded)) {
        fail(err, ERR_INTERNAL_ERROR, NULL, "The HTML service gave an incomplete answer.");
        return error_because(err, "prepare: assets is missing");
    }
    work->count = json_array_size(urls);
    work->images = arena_array(work->arena, work->count + 1, sizeof(*work->images));
    size_t looked_at = 0;
    for (size_t i = 0; i < work->count; i++) {
        struct image *image = &work->images[i];
        image->url = json_string_value(json_array_get(urls, i));
        image->texts = json_object_get(json_object_get(prepared, "imageTexts"), image->url);
        image->embedded = json_get_text(embedded, image->url);
        judge_address(work, image);
        if (image->outcome == IMAGE_UNSEEN && image->embedded == NULL && ++looked_at > ASSET_IMPORT_MAX_IMAGES)
            set_image_outcome(image, IMAGE_RETAINED, "only 100 images are fetched for one design");
    }
    return true;
}

/* ---- Taking an image ---- */

static void store_image(struct asset_import *work, struct image *image, const void *bytes, size_t size,
                        const struct image_facts *facts)
{
    struct error err = { .code = ERR_NONE };
    struct asset asset = {
        .type = content_image_type(facts->type),
        .bytes = (int64_t)size,
        .width = facts->width,
        .height = facts->height,
        .frames = facts->frames,
        .source_url = image->embedded == NULL ? image->url : NULL,
        .alt = json_get_text(image->texts, "alt"),
        .description = json_get_text(image->texts, "beside"),
        .heading = json_get_text(image->texts, "heading"),
        .page_title = work->title,
    };
    if (work->room.count < 1 || work->room.bytes < asset.bytes) {
        set_image_outcome(image, IMAGE_RETAINED, "the brand hosts as many images as it may");
        return;
    }
    sha256(bytes, size, asset.hash);
    struct asset_name name = asset_name_of(asset.hash, asset.type);
    if (!content_image_store(work->job, &name, (struct bytes){ bytes, size }, &err)) {
        log_trouble(&err);
        set_image_outcome(image, IMAGE_RETAINED, "it could not be stored");
        return;
    }
    set_image_outcome(image, IMAGE_REHOSTED, NULL);
    image->new_url = asset_url(work->arena, work->public_url, &name);
    work->assets[work->asset_count++] = asset;
    work->room.count--;
    work->room.bytes -= asset.bytes;
}

/* The document keeps an embedded image, with its real type. */
static void keep_embedded(struct asset_import *work, struct image *image, const struct image_facts *facts)
{
    set_image_outcome(image, IMAGE_RETAINED, "it is embedded, which many mail programs do not show");
    image->new_url =
        arena_printf(work->arena, "data:image/%s;base64,%s", asset_type_name(content_image_type(facts->type)), image->embedded);
}

static void take_image(struct asset_import *work, struct image *image, const void *bytes, size_t size)
{
    struct image_facts facts;
    struct error err = { .code = ERR_NONE };
    if (!image_check(work->checker, bytes, size, &facts, &err)) {
        log_trouble(&err);
        /* Unchecked bytes leave the document; an address may stay, because its own server delivers the image. */
        set_image_outcome(image, image->embedded != NULL ? IMAGE_DROPPED : IMAGE_RETAINED, "images cannot be checked right now");
    } else if (facts.type == IMAGE_NONE) {
        set_image_outcome(image, IMAGE_DROPPED, arena_dup(work->arena, facts.problem));
    } else if (work->public_url == NULL) {
        keep_embedded(work, image, &facts);
    } else {
        store_image(work, image, bytes, size, &facts);
        if (image->embedded != NULL && image->outcome == IMAGE_RETAINED)
            image->new_url = arena_printf(work->arena, "data:image/%s;base64,%s", asset_type_name(content_image_type(facts.type)),
                                          image->embedded);
    }
}

static void take_embedded(struct asset_import *work)
{
    for (size_t i = 0; i < work->count; i++) {
        struct image *image = &work->images[i];
        if (image->embedded == NULL)
            continue;
        size_t size;
        const unsigned char *bytes = base64_decode(work->arena, image->embedded, &size);
        if (bytes != NULL)
            take_image(work, image, bytes, size);
        else
            set_image_outcome(image, IMAGE_DROPPED, "it is not proper base64");
    }
}

/* ---- Fetching ---- */

static void image_arrived(void *context, size_t index, const struct fetch_answer *answer)
{
    struct asset_import *work = context;
    struct image *image = work->fetched[index];
    switch (answer->outcome) {
    case FETCH_OK:
        take_image(work, image, answer->bytes, answer->size);
        break;
    case FETCH_REFUSED:
        set_image_outcome(image, IMAGE_STRIPPED, arena_dup(work->arena, answer->reason));
        break;
    case FETCH_FAILED:
    case FETCH_TOO_LARGE:
    case FETCH_TOO_SLOW:
        set_image_outcome(image, IMAGE_RETAINED, arena_dup(work->arena, answer->reason));
        break;
    }
    work->arrived++;
    job_progress(work->job, 1 + (double)work->arrived / (double)(work->fetch_count + 1), 3, "Fetching images");
}

static bool asked_to_stop(void *context)
{
    struct asset_import *work = context;
    work->is_cancelled = work->is_cancelled || job_is_cancelled(work->job);
    return work->is_cancelled;
}

/* The time that is left for all images, so that the caller still gets the answer. */
static int64_t fetch_ms(const struct job *job)
{
    int64_t left_ms = FETCH_UNTIL_MS - (clock_now_us() - job->created_us) / US_PER_MS;
    if (left_ms > FETCH_UNTIL_MS)
        return FETCH_UNTIL_MS;
    return left_ms > FETCH_MIN_MS ? left_ms : (int64_t)FETCH_MIN_MS;
}

static void fetch_images(struct asset_import *work)
{
    struct fetch_config config = fetch_config_default();
    config.all_ms = fetch_ms(work->job);
    config.allow_loopback = work->job->services->fetch_allow_loopback;
    config.arrived = image_arrived;
    config.should_stop = asked_to_stop;
    config.context = work;
    const char **urls = arena_array(work->arena, work->count + 1, sizeof(*urls));
    work->fetched = arena_array(work->arena, work->count + 1, sizeof(struct image *));
    for (size_t i = 0; i < work->count; i++) {
        struct image *image = &work->images[i];
        if (image->outcome != IMAGE_UNSEEN)
            continue;
        work->fetched[work->fetch_count] = image;
        urls[work->fetch_count++] = image->url;
    }
    if (work->fetch_count > 0)
        fetch_all(&config, urls, work->fetch_count);
}

/* ---- Rewriting ---- */

static bool is_renamed(const struct image *image)
{
    return image->new_url != NULL || image->outcome == IMAGE_STRIPPED || image->outcome == IMAGE_DROPPED;
}

static const json_t *new_addresses(const struct asset_import *work)
{
    json_t *addresses = json_in_arena(work->arena, json_object());
    for (size_t i = 0; i < work->count; i++) {
        const struct image *image = &work->images[i];
        if (is_renamed(image))
            json_object_set_new(addresses, image->url, image->new_url != NULL ? json_string(image->new_url) : json_null());
    }
    return addresses;
}

/* The document with the new addresses, as the renderer writes it. */
static bool rewrite(struct asset_import *work, const json_t *prepared, struct imported_assets *imported_assets,
                    const char **ret_warning, struct error *err)
{
    const json_t *addresses = new_addresses(work);
    *ret_warning = NULL;
    *imported_assets = (struct imported_assets){ .prepared = prepared };
    if (json_object_size(addresses) == 0)
        return true;
    imported_assets->addresses = addresses;
    const json_t *answer;
    if (!job_renew(work->job, err) ||
        !renderer_replace_images(job_renderer(work->job), work->arena, json_get_text(prepared, "html"),
                                 json_compact(work->arena, addresses), &answer, err))
        return false;
    *ret_warning = json_get_text(answer, "warning");
    json_t *changed = json_in_arena(work->arena, json_copy(json_for_iteration(prepared)));
    if (json_object_set(changed, "html", json_object_get(answer, "html")) != 0)
        panic(PANIC_NO_MEMORY);
    imported_assets->prepared = changed;
    return true;
}

/* ---- Reporting ---- */

struct warnings {
    struct arena *arena;
    const char *items[MAX_WARNINGS + 4];
    size_t count;
    size_t left_out;
};

static void warn_about_image(struct warnings *warnings, const struct image *image, size_t embedded_number)
{
    if (warnings->count >= MAX_WARNINGS) {
        warnings->left_out++;
        return;
    }
    const char *name = image->embedded != NULL
                           ? arena_printf(warnings->arena, "embedded image %zu", embedded_number)
                           : arena_printf(warnings->arena, "image %s", text_visible(warnings->arena, image->url, SHOWN_URL_CHARS));
    const char *what = image->outcome == IMAGE_RETAINED ? "stays as it is" : "was removed";
    warnings->items[warnings->count++] = arena_printf(warnings->arena, "The %s %s: %s.", name, what, image->reason);
}

static void count_image_outcome(struct asset_report *report, enum image_outcome outcome)
{
    switch (outcome) {
    case IMAGE_REHOSTED:
        report->rehosted++;
        break;
    case IMAGE_UNSEEN:
    case IMAGE_RETAINED:
        report->retained++;
        break;
    case IMAGE_STRIPPED:
        report->stripped++;
        break;
    case IMAGE_DROPPED:
        report->dropped++;
        break;
    }
}

static struct asset_report make_report(const struct asset_import *work, const char *size_warning)
{
    struct asset_report report = { .discovered = (int64_t)work->count };
    struct warnings *warnings = arena_alloc(work->arena, sizeof(*warnings));
    size_t embedded = 0;
    bool could_host = false;
    warnings->arena = work->arena;
    for (size_t i = 0; i < work->count; i++) {
        const struct image *image = &work->images[i];
        count_image_outcome(&report, image->outcome);
        embedded += image->embedded != NULL;
        could_host = could_host || image->embedded != NULL || (is_web_address(image->url) && !has_template(image->url));
        if (image->reason != NULL)
            warn_about_image(warnings, image, embedded);
    }
    if (warnings->left_out > 0)
        warnings->items[warnings->count++] = arena_printf(work->arena, "%zu more images are like these.", warnings->left_out);
    if (size_warning != NULL)
        warnings->items[warnings->count++] = size_warning;
    if (could_host && work->public_url == NULL)
        warnings->items[warnings->count++] = "Images stay at their addresses: a server started with --public-url hosts copies.";
    report.warnings = (struct text_list){ warnings->items, warnings->count };
    return report;
}

/* ---- All of it ---- */

bool import_assets(struct job *job, const char *public_url, const json_t *prepared, struct imported_assets *ret_imported_assets,
                   struct error *err)
{
    struct asset_import work = { .job = job, .arena = job->work.arena, .title = json_get_text(prepared, "title") };
    /* The address of the process that took the call counts; this process may have none. */
    work.public_url = public_url != NULL ? public_url : job->work.engine->public_url;
    const char *size_warning;
    if (!list_images(&work, prepared, err))
        return false;
    if (work.public_url != NULL && work.count > 0 && !asset_quota_left(&job->work, &work.room, err))
        return false;
    work.assets = arena_array(work.arena, work.count + 1, sizeof(*work.assets));
    IMAGE_CHECKER_SCOPE checker = image_checker_new(job->services->image_program);
    work.checker = checker;
    take_embedded(&work);
    fetch_images(&work);
    if (work.is_cancelled)
        return fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "The call was cancelled.");
    if (!rewrite(&work, prepared, ret_imported_assets, &size_warning, err))
        return false;
    ret_imported_assets->report = make_report(&work, size_warning);
    ret_imported_assets->assets = work.assets;
    ret_imported_assets->asset_count = work.asset_count;
    return true;
}
