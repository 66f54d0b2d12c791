#include "main/jobs_here.h"

#include "base/log.h"
#include "base/text.h"
#include "db/cluster.h"
#include "jobs/worker.h"
#include "mail/outbox.h"
#include "render/side.h"

#include <stdlib.h>
#include <unistd.h>

enum { OUTBOX_DEFAULT_MIB = 1024, OUTBOX_MAX_MESSAGES = 5 * 1000 * 1000 };

struct jobs_here {
    struct side *side;
    struct outbox *outbox;
    struct workers *workers;
};

char *jobs_worker_name(struct arena *arena)
{
    unsigned char bytes[6];
    random_bytes(bytes, sizeof(bytes));
    char hex[2 * sizeof(bytes) + 1];
    hex_encode(bytes, sizeof(bytes), hex);
    return arena_printf(arena, "posthorn worker %s", hex);
}

const char *jobs_node_path(const struct options *options)
{
    if (options->node != NULL)
        return options->node;
    return access(POSTHORN_NODE, X_OK) == 0 ? POSTHORN_NODE : "node";
}

char *jobs_side_script(struct arena *arena, const struct options *options)
{
    return arena_printf(arena, "%s/main.mjs", options->render_dir != NULL ? options->render_dir : POSTHORN_RENDER_DIR);
}

static void log_side(void *context, const char *line)
{
    (void)context;
    log_event(LOG_INFO, "side", "%s", line);
}

bool jobs_here_start(struct installation *installation, const struct options *options, struct jobs_here **ret_jobs,
                     struct error *err)
{
    ARENA_SCOPE arena = arena_new(0);
    uint64_t max_mib = (uint64_t)(options->outbox_max_mib > 0 ? options->outbox_max_mib : OUTBOX_DEFAULT_MIB);
    struct outbox_bounds bounds = { .max_messages = OUTBOX_MAX_MESSAGES, .max_bytes = max_mib * 1024 * 1024 };
    struct outbox *outbox;
    /* With a database of its own nobody has made the data folder yet. */
    if (!cluster_make_folder(options->data_dir, err))
        return false;
    if (!outbox_open(arena_printf(arena, "%s/outbox", options->data_dir), bounds, OUTBOX_SYNC_NONE, &outbox, err))
        return false;

    struct jobs_here *jobs = calloc(1, sizeof(*jobs));
    if (jobs == NULL)
        abort();
    struct side_config side = {
        .node_path = jobs_node_path(options),
        .script_path = jobs_side_script(arena, options),
        .log = log_side,
    };
    jobs->outbox = outbox;
    jobs->side = side_new(&side);
    struct job_services services = { .side = jobs->side, .outbox = outbox };
    jobs->workers = workers_start(installation, &services, (int)options->threads);
    *ret_jobs = jobs;
    return true;
}

void jobs_here_stop(struct jobs_here *jobs)
{
    if (jobs == NULL)
        return;
    workers_stop(jobs->workers);
    side_free(jobs->side);
    outbox_close(jobs->outbox);
    free(jobs);
}
