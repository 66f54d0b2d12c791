#include "jobs/spare_pictures.h"

#include "base/clock.h"
#include "base/log.h"
#include "engine/emails/preview_images.h"

enum { PICTURES_MAX = 200, STORING_S = 86400 };

static void log_problem(const struct error *why)
{
    struct log_line line;
    log_begin(&line, LOG_WARNING, "sparePictures.failed");
    log_error_members(&line, why);
    log_end(&line);
}

/* Removes the files that nobody uses, and moves what can be forgotten to the front. A file that was stored a short time ago may
 * belong to a job that runs; it stays noted. */
static size_t remove_files(struct asset_store *store, struct spare_picture *pictures, size_t count, int64_t since_s)
{
    struct error err = { .code = ERR_NONE };
    size_t done = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_gone = pictures[i].is_used;
        if (!is_gone && !asset_remove(store, &pictures[i].name, since_s, &is_gone, &err)) {
            log_problem(&err);
            return done;
        }
        if (is_gone)
            pictures[done++] = pictures[i];
    }
    return done;
}

bool spare_pictures_remove(struct db_conn *conn, struct asset_store *store, int64_t now_us, struct error *err)
{
    ARENA_SCOPE arena = arena_new(0);
    struct spare_picture *pictures;
    size_t count;
    if (!spare_pictures_read(conn, arena, now_us, PICTURES_MAX, &pictures, &count, err))
        return false;
    size_t done = remove_files(store, pictures, count, now_us / US_PER_S - STORING_S);
    return spare_pictures_forget(conn, arena, now_us, pictures, done, err);
}
