#include "jobs/types/content_image.h"

#include "base/text.h"
#include "engine/emails/preview_images.h"
#include "net/fetch.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { FETCH_ALL_MS = 20 * 1000 };

static const char assets_folder[] = "/assets/";

/* ---- Taking ---- */

/* The image that is being fetched. */
struct taking {
    struct job *job;
    const char *param;
    struct bytes bytes;
    enum fetch_outcome outcome;
    const char *reason;
    bool is_cancelled;
};

static void image_arrived(void *context, size_t index, const struct fetch_answer *answer)
{
    struct taking *taking = context;
    struct arena *arena = taking->job->work.arena;
    (void)index;
    taking->outcome = answer->outcome;
    taking->reason = arena_dup(arena, answer->reason);
    if (answer->outcome == FETCH_OK)
        taking->bytes = (struct bytes){ (const unsigned char *)arena_dup_bytes(arena, answer->bytes, answer->size), answer->size };
}

static bool asked_to_stop(void *context)
{
    struct taking *taking = context;
    taking->is_cancelled = taking->is_cancelled || job_is_cancelled(taking->job);
    return taking->is_cancelled;
}

bool content_image_fetch(struct job *job, const char *url, const char *param, const char *what, size_t max_bytes,
                         struct bytes *ret_bytes, struct error *err)
{
    struct taking taking = { .job = job, .param = param };
    struct fetch_config config = fetch_config_default();
    config.max_bytes = max_bytes;
    config.all_ms = FETCH_ALL_MS;
    config.allow_loopback = job->services->fetch_allow_loopback;
    config.arrived = image_arrived;
    config.should_stop = asked_to_stop;
    config.context = &taking;
    fetch_all(&config, &url, 1);
    if (taking.is_cancelled)
        return fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "The call was cancelled.");
    *ret_bytes = taking.bytes;
    return taking.outcome == FETCH_OK ||
           fail(err, ERR_INVALID_REQUEST, param, "The %s cannot be fetched: %s.", what, taking.reason);
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static bool read_file(struct arena *arena, const struct asset_file *file, struct bytes *ret_bytes, struct error *err)
{
    CLEANUP(close_fd) int fd = file->fd;
    size_t size = (size_t)file->bytes;
    unsigned char *bytes = arena_alloc(arena, size);
    for (size_t at = 0; at < size;) {
        ssize_t count = read(fd, bytes + at, size - at);
        if (count <= 0 && errno != EINTR)
            return fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "The image store is not available now. Try again later.");
        at += count > 0 ? (size_t)count : 0;
    }
    *ret_bytes = (struct bytes){ bytes, size };
    return true;
}

bool content_image_read(struct arena *arena, struct asset_store *store, const struct asset_name *name, struct bytes *ret_bytes,
                        bool *ret_found, struct error *err)
{
    struct asset_file file;
    return asset_open(store, name, &file, ret_found, err) && (!*ret_found || read_file(arena, &file, ret_bytes, err));
}

bool content_image_own_name(const char *public_url, const char *url, struct asset_name *ret_name)
{
    enum asset_type type;
    size_t size = strlen(public_url);
    return strncmp(url, public_url, size) == 0 && text_starts_with(url + size, assets_folder) &&
           asset_name_read(url + size + strlen(assets_folder), ret_name, &type);
}

static bool read_own(struct taking *taking, const struct asset_name *name, struct error *err)
{
    bool found;
    struct job *job = taking->job;
    return content_image_read(job->work.arena, job->services->assets, name, &taking->bytes, &found, err) &&
           (found || fail(err, ERR_INVALID_REQUEST, taking->param, "This server does not have this image any more."));
}

bool content_image_take(struct job *job, const char *public_url, const char *url, const char *param, struct image_checker *checker,
                        struct picture *ret_image, struct error *err)
{
    struct taking taking = { .job = job, .param = param };
    struct asset_name name;
    bool is_own = content_image_own_name(public_url, url, &name);
    if (!(is_own ? read_own(&taking, &name, err)
                 : content_image_fetch(job, url, param, "image", IMAGE_MAX_BYTES, &taking.bytes, err)) ||
        !image_check(checker, taking.bytes.data, taking.bytes.size, &ret_image->facts, err))
        return false;
    ret_image->bytes = taking.bytes;
    return ret_image->facts.type != IMAGE_NONE ||
           fail(err, ERR_INVALID_REQUEST, param, "The image cannot be used: %s.", ret_image->facts.problem);
}

bool content_image_blame(const char *param, struct error *err)
{
    if (err->code == ERR_INVALID_REQUEST && err->param[0] == '\0')
        error_set_param(err, "%s", param);
    return false;
}

/* ---- Hosting ---- */

enum asset_type content_image_type(enum image_type type)
{
    switch (type) {
    case IMAGE_JPEG:
        return ASSET_JPEG;
    case IMAGE_PNG:
        return ASSET_PNG;
    case IMAGE_GIF:
        return ASSET_GIF;
    case IMAGE_WEBP:
        return ASSET_WEBP;
    case IMAGE_AVIF:
    case IMAGE_NONE:
        break;
    }
    return ASSET_AVIF;
}

static bool check_room(struct job *job, int64_t bytes, struct error *err)
{
    struct asset_quota left;
    if (!asset_quota_left(&job->work, &left, err))
        return false;
    return (left.count >= 1 && left.bytes >= bytes) ||
           fail(err, ERR_INVALID_REQUEST, NULL, "The brand hosts as many images as it may.");
}

bool content_image_store(struct job *job, const struct asset_name *name, struct bytes bytes, struct error *err)
{
    return spare_picture_note(&job->work, name->text, err) && asset_put(job->services->assets, name, bytes.data, bytes.size, err);
}

bool content_image_host(struct job *job, const char *public_url, const struct picture *picture, const char *kind,
                        const char *source_url, struct hosted_picture *ret_hosted, struct error *err)
{
    struct asset asset = {
        .type = content_image_type(picture->facts.type),
        .kind = kind,
        .bytes = (int64_t)picture->bytes.size,
        .width = picture->facts.width,
        .height = picture->facts.height,
        .frames = picture->facts.frames,
        .source_url = source_url,
    };
    sha256(picture->bytes.data, picture->bytes.size, asset.hash);
    struct asset_name name = asset_name_of(asset.hash, asset.type);
    if (!check_room(job, asset.bytes, err) || !content_image_store(job, &name, picture->bytes, err))
        return false;
    *ret_hosted = (struct hosted_picture){ .asset = asset, .url = asset_url(job->work.arena, public_url, &name) };
    return true;
}

void content_image_write_notes(struct json_writer *json, const struct text_list *notes)
{
    if (notes->count == 0)
        return;
    json_member_texts(json, "notes", *notes);
}
