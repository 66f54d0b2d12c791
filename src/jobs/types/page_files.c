#include "jobs/types/page_files.h"

#include "base/text.h"
#include "jobs/types/content_image.h"
#include "net/fetch.h"
#include "render/renderer.h"

#include <string.h>

enum {
    FETCH_ALL_MS = 15 * 1000,
    OWN_MAX_BYTES = 50 * 1000 * 1000, /* of the images of this installation, as fetch_config_default has it for the others */
    SMALL_BYTES = 100 * 1000,         /* a smaller file is not resized */
    MAX_NOTES = 20,
    SHOWN_URL_CHARS = 200,
    FACTS_MAX_BYTES = 512 * 1024,
    FILES_MAX_BYTES = 5 * 1000 * 1000,
    OTHER_MEMBERS_BYTES = 64 * 1024, /* of the request that has the files and the HTML */
};

static const char too_large_together[] = "the images of the page are too large together";

struct collecting {
    struct job *job;
    struct image_checker *checker;
    const struct page_files_request *request;
    const char *const *urls; /* those that are fetched */
    struct buf *json_text;
    struct json_writer json;
    struct buf *facts_text;
    struct json_writer facts;
    size_t file_count;
    size_t own_bytes; /* of the images of this installation that were read */
    const char *notes[MAX_NOTES];
    size_t note_count;
    bool is_cancelled;
};

static void note(struct collecting *collecting, const char *text)
{
    if (collecting->note_count < MAX_NOTES)
        collecting->notes[collecting->note_count++] = text;
}

static void note_image(struct collecting *collecting, const char *url, const char *reason)
{
    struct arena *arena = collecting->job->work.arena;
    note(collecting, arena_printf(arena, "The image %s is not shown: %s.", text_visible(arena, url, SHOWN_URL_CHARS), reason));
}

/* ---- Images ---- */

static const char *content_type(enum image_type type)
{
    switch (type) {
    case IMAGE_JPEG:
        return "image/jpeg";
    case IMAGE_PNG:
        return "image/png";
    case IMAGE_GIF:
        return "image/gif";
    case IMAGE_WEBP:
        return "image/webp";
    case IMAGE_AVIF:
    case IMAGE_NONE:
        break;
    }
    return "image/avif";
}

/* A large image is shown no wider than the page. When libvips is missing or fails, the image stays as it is. */
static void make_small(struct collecting *collecting, struct arena *arena, struct picture *image)
{
    struct error ignored = { .code = ERR_NONE };
    struct picture_size size = { .width = collecting->request->width };
    struct picture small;
    bool is_large = image->bytes.size > SMALL_BYTES && image->facts.width > collecting->request->width;
    if (is_large && picture_resize(arena, collecting->checker, image, size, &small, &ignored) &&
        small.bytes.size < image->bytes.size)
        *image = small;
}

static size_t base64_bytes(size_t size)
{
    return (size + 2) / 3 * 4;
}

static void add_file(struct collecting *collecting, struct arena *arena, const char *url, const struct picture *image)
{
    if (collecting->json_text->size + base64_bytes(image->bytes.size) > collecting->request->max_bytes) {
        note_image(collecting, url, too_large_together);
        return;
    }
    const char *data = base64_encode(arena, image->bytes.data, image->bytes.size);
    json_key(&collecting->json, url);
    json_object_begin(&collecting->json);
    json_member_text(&collecting->json, "type", content_type(image->facts.type));
    json_member_text(&collecting->json, "data", data);
    json_object_end(&collecting->json);
    collecting->file_count++;
}

/* How often a GIF plays: 0 is without an end. The count of repetitions is in an application extension; without it, a GIF plays
 * once. */
static int64_t gif_loops(struct bytes bytes)
{
    static const char name[] = "NETSCAPE2.0\x03\x01";
    const unsigned char *at = memmem(bytes.data, bytes.size, name, sizeof(name) - 1);
    size_t count_at = at != NULL ? (size_t)(at - bytes.data) + sizeof(name) - 1 : 0;
    if (at == NULL || count_at + 2 > bytes.size)
        return 1;
    return bytes.data[count_at] | bytes.data[count_at + 1] << 8;
}

static void add_facts(struct collecting *collecting, const char *url, const struct picture *image)
{
    bool is_gif = image->facts.type == IMAGE_GIF;
    json_key(&collecting->facts, url);
    json_object_begin(&collecting->facts);
    json_member_int(&collecting->facts, "frames", image->facts.frames);
    json_member_int(&collecting->facts, "loops", is_gif ? gif_loops(image->bytes) : 1);
    json_object_end(&collecting->facts);
}

/* What is made of an image has megabytes, which are freed before the next one is taken. */
static void take_image(struct collecting *collecting, const char *url, struct bytes bytes)
{
    ARENA_SCOPE arena = arena_new(0);
    struct error err = { .code = ERR_NONE };
    struct picture image = { .bytes = bytes };
    if (!image_check(collecting->checker, bytes.data, bytes.size, &image.facts, &err)) {
        note_image(collecting, url, "images cannot be checked right now");
    } else if (image.facts.type == IMAGE_NONE) {
        note_image(collecting, url, image.facts.problem);
    } else {
        add_facts(collecting, url, &image);
        make_small(collecting, arena, &image);
        add_file(collecting, arena, url, &image);
    }
}

static void image_arrived(void *context, size_t index, const struct fetch_answer *answer)
{
    struct collecting *collecting = context;
    if (answer->outcome == FETCH_OK)
        take_image(collecting, collecting->urls[index], (struct bytes){ answer->bytes, answer->size });
    else
        note_image(collecting, collecting->urls[index], answer->reason);
}

static bool asked_to_stop(void *context)
{
    struct collecting *collecting = context;
    collecting->is_cancelled = collecting->is_cancelled || job_is_cancelled(collecting->job);
    return collecting->is_cancelled;
}

static void take_own(struct collecting *collecting, const char *url, const struct asset_name *name)
{
    ARENA_SCOPE arena = arena_new(0);
    struct error err = { .code = ERR_NONE };
    struct bytes bytes;
    bool found;
    if (collecting->own_bytes >= OWN_MAX_BYTES) {
        note_image(collecting, url, too_large_together);
        return;
    }
    if (!content_image_read(arena, collecting->job->services->assets, name, &bytes, &found, &err) || !found) {
        note_image(collecting, url, "this server cannot read it");
        return;
    }
    collecting->own_bytes += bytes.size;
    take_image(collecting, url, bytes);
}

/* Takes the images of this installation; returns the addresses of the others. */
static const char **take_all_own(struct collecting *collecting, struct text_list urls, size_t *ret_count)
{
    const char *public_url = collecting->request->public_url;
    const char **others = arena_array(collecting->job->work.arena, urls.count + 1, sizeof(*others));
    struct asset_name name;
    *ret_count = 0;
    for (size_t i = 0; i < urls.count; i++)
        if (public_url != NULL && content_image_own_name(public_url, urls.items[i], &name))
            take_own(collecting, urls.items[i], &name);
        else if (text_starts_with(urls.items[i], "http://") || text_starts_with(urls.items[i], "https://"))
            others[(*ret_count)++] = urls.items[i];
    return others;
}

static void fetch_others(struct collecting *collecting, size_t count)
{
    struct fetch_config config = fetch_config_default();
    config.all_ms = FETCH_ALL_MS;
    config.allow_loopback = collecting->job->services->fetch_allow_loopback;
    config.arrived = image_arrived;
    config.should_stop = asked_to_stop;
    config.context = collecting;
    if (count > 0)
        fetch_all(&config, collecting->urls, count);
}

size_t page_files_room(const char *html, const char *text)
{
    size_t of_text = text != NULL ? json_quoted_size(text, strlen(text)) : 0;
    size_t used = json_quoted_size(html, strlen(html)) + of_text + OTHER_MEMBERS_BYTES;
    size_t left = used < RENDERER_MAX_REQUEST_BYTES ? RENDERER_MAX_REQUEST_BYTES - used : 0;
    return left < FILES_MAX_BYTES ? left : FILES_MAX_BYTES;
}

bool page_files_collect(struct job *job, struct image_checker *checker, const struct page_files_request *request,
                        struct page_files *ret_files, struct error *err)
{
    struct arena *arena = job->work.arena;
    struct collecting collecting = {
        .job = job,
        .checker = checker,
        .request = request,
        .json_text = buf_in_arena(arena, RENDERER_MAX_REQUEST_BYTES),
        .facts_text = buf_in_arena(arena, FACTS_MAX_BYTES),
    };
    size_t other_count;
    json_writer_init(&collecting.json, collecting.json_text);
    json_object_begin(&collecting.json);
    json_writer_init(&collecting.facts, collecting.facts_text);
    json_object_begin(&collecting.facts);
    collecting.urls = take_all_own(&collecting, request->urls, &other_count);
    fetch_others(&collecting, other_count);
    json_object_end(&collecting.json);
    json_object_end(&collecting.facts);
    if (collecting.is_cancelled)
        return fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "The call was cancelled.");
    const char **notes = arena_array(arena, collecting.note_count + 1, sizeof(*notes));
    memcpy(notes, collecting.notes, collecting.note_count * sizeof(*notes));
    *ret_files = (struct page_files){
        .json = buf_text(collecting.json_text),
        .facts = collecting.facts_text->overflowed ? "{}" : buf_text(collecting.facts_text),
        .count = collecting.file_count,
        .notes = { notes, collecting.note_count },
    };
    return true;
}
