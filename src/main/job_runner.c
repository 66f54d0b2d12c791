#include "main/job_runner.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/panic.h"
#include "base/text.h"
#include "db/cluster.h"
#include "engine/assets/asset_store.h"
#include "jobs/worker.h"
#include "mail/capture_maildir.h"
#include "main/model_options.h"
#include "main/program_files.h"
#include "models/embeddings.h"
#include "models/models.h"
#include "net/dns.h"
#include "render/renderer.h"
#include "sender/sender.h"
#include "spam/spam.h"
#include "stepper/stepper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    CAPTURE_MAILDIR_DEFAULT_MIB = 1024,
    CAPTURE_MAILDIR_MAX_MESSAGES = 5 * 1000 * 1000,
    RETRY_AFTER_DEFAULT_S = 60,
    HOST_NAME_BYTES = 256,
    DELIVERY_WORKERS_MAX = 16
};

struct job_runner {
    struct renderer *renderer;
    struct capture_maildir *outbox;
    struct dns *dns;
    struct asset_store *assets;
    struct smtp_relays *relays;    /* NULL: none */
    struct model *model;           /* NULL: none */
    struct embeddings *embeddings; /* NULL: none */
    struct spam_filter *spam;      /* NULL: none */
    struct sender *sender;
    struct stepper *stepper;
    char *image_program;
    struct workers *workers;
    char helo_name[HOST_NAME_BYTES];
};

char *job_runner_process_name(struct arena *arena, const char *kind)
{
    unsigned char bytes[6];
    random_bytes(bytes, sizeof(bytes));
    char hex[2 * sizeof(bytes) + 1];
    hex_encode(bytes, sizeof(bytes), hex);
    return arena_printf(arena, "posthorn %s %s", kind, hex);
}

static void log_renderer(void *context, const char *line)
{
    (void)context;
    log_event(LOG_INFO, "side", "%s", line);
}

/* ---- Sending ---- */

static bool read_retry_policy(const struct options *options, struct retry_policy *ret_policy, struct error *err)
{
    const char *uncertain = options->uncertain != NULL ? options->uncertain : "resend";
    int64_t retry_after_s = options->retry_after_s > 0 ? options->retry_after_s : RETRY_AFTER_DEFAULT_S;
    *ret_policy = (struct retry_policy){
        .hold_uncertain = strcmp(uncertain, "hold") == 0,
        .first_retry_us = retry_after_s * US_PER_S,
    };
    return ret_policy->hold_uncertain || strcmp(uncertain, "resend") == 0 ||
           fail(err, ERR_INVALID_REQUEST, "--uncertain", "--uncertain is resend or hold.");
}

static bool read_dkim(const struct options *options, bool *ret_unsigned, struct error *err)
{
    *ret_unsigned = options->dkim != NULL && strcmp(options->dkim, "off") == 0;
    return *ret_unsigned || options->dkim == NULL || strcmp(options->dkim, "on") == 0 ||
           fail(err, ERR_INVALID_REQUEST, "--dkim", "--dkim is on or off.");
}

static bool check_tracking(const struct options *options, struct error *err)
{
    return options->tracking == NULL || options_tracking_off(options) || strcmp(options->tracking, "on") == 0 ||
           fail(err, ERR_INVALID_REQUEST, "--tracking", "--tracking is on or off.");
}

static bool start_sender(struct job_runner *jobs, struct installation *installation, const struct options *options,
                         struct error *err)
{
    ARENA_SCOPE arena = arena_new(0);
    struct sender_config config = {
        .installation = installation,
        .owner = installation_name(installation),
        .data_dir = options->data_dir,
        .outbox = jobs->outbox,
        .helo_name = jobs->helo_name,
        .delivery_workers = (int)sysconf(_SC_NPROCESSORS_ONLN),
    };
    if (!read_retry_policy(options, &config.retry_policy, err) || !read_dkim(options, &config.leaves_unsigned, err) ||
        !check_tracking(options, err))
        return false;
    const char *const *relays = options_list(arena, options->relays);
    if (relays != NULL && !smtp_relays_new(relays, &jobs->relays, err))
        return false;
    config.relays = jobs->relays;
    if (relays != NULL && options->public_url == NULL)
        log_event(LOG_WARNING, "sender.links",
                  "Without --public-url nobody serves the unsubscribe links of mail that goes to a relay.");
    if (config.delivery_workers < 1 || config.delivery_workers > DELIVERY_WORKERS_MAX)
        config.delivery_workers = config.delivery_workers < 1 ? 1 : DELIVERY_WORKERS_MAX;
    if (options->helo_name != NULL)
        snprintf(jobs->helo_name, sizeof(jobs->helo_name), "%s", options->helo_name);
    else if (gethostname(jobs->helo_name, sizeof(jobs->helo_name) - 1) != 0 || jobs->helo_name[0] == '\0')
        snprintf(jobs->helo_name, sizeof(jobs->helo_name), "localhost");
    return sender_start(&config, &jobs->sender, err);
}

bool job_runner_start(struct installation *installation, const struct options *options, struct job_runner **ret_jobs,
                      struct error *err)
{
    ARENA_SCOPE arena = arena_new(0);
    uint64_t max_mib = (uint64_t)(options->outbox_max_mib > 0 ? options->outbox_max_mib : CAPTURE_MAILDIR_DEFAULT_MIB);
    struct capture_amount bound = { .messages = CAPTURE_MAILDIR_MAX_MESSAGES, .bytes = max_mib * 1024 * 1024 };
    /* With a database of its own nobody has made the data folder yet. */
    if (!cluster_make_folder(options->data_dir, err))
        return false;
    struct job_runner *jobs = calloc(1, sizeof(*jobs));
    if (jobs == NULL)
        panic(PANIC_NO_MEMORY);
    struct program_files files;
    program_files_find(arena, options, &files);
    const char *missing = program_files_missing(arena, &files);
    if (missing != NULL)
        log_event(LOG_WARNING, "jobs.renderer", "Imports of designs will fail. %s", missing);
    struct renderer_config renderer = { .node_path = files.node, .script_path = files.renderer_script, .log = log_renderer };
    jobs->renderer = renderer_new(&renderer);
    jobs->assets = asset_folder_new(options->data_dir);
    jobs->image_program = strdup(files.image_program);
    if (jobs->image_program == NULL)
        panic(PANIC_NO_MEMORY);
    const char *outbox = arena_printf(arena, "%s/outbox", options->data_dir);
    if (!capture_maildir_open(outbox, bound, CAPTURE_MAILDIR_SYNC_NONE, &jobs->outbox, err) ||
        !dns_new(options->dns_servers, &jobs->dns, err) || !model_of_options(installation, options, &jobs->model, err) ||
        !embeddings_of_options(installation, options, &jobs->embeddings, err) ||
        !spam_filter_new(options->spam, &jobs->spam, err) || !start_sender(jobs, installation, options, err)) {
        job_runner_stop(jobs);
        return false;
    }
    struct job_services services = {
        .renderer = jobs->renderer,
        .outbox = jobs->outbox,
        .sender = jobs->sender,
        .dns = jobs->dns,
        .model = jobs->model,
        .embeddings = jobs->embeddings,
        .spam = jobs->spam,
        .assets = jobs->assets,
        .image_program = jobs->image_program,
        .fetch_allow_loopback = options->fetch_allow_loopback,
    };
    if (options->fetch_allow_loopback)
        log_event(LOG_WARNING, "jobs.fetch", "Images may be fetched from this machine itself. This is for tests only.");
    jobs->workers = workers_start(installation, &services, (int)options->threads);
    jobs->stepper = stepper_start(installation, options->data_dir);
    *ret_jobs = jobs;
    return true;
}

void job_runner_stop(struct job_runner *jobs)
{
    if (jobs == NULL)
        return;
    workers_stop(jobs->workers);
    stepper_stop(jobs->stepper);
    sender_stop(jobs->sender);
    smtp_relays_free(jobs->relays);
    renderer_free(jobs->renderer);
    if (jobs->outbox != NULL)
        capture_maildir_close(jobs->outbox);
    dns_free(jobs->dns);
    model_free(jobs->model);
    embeddings_free(jobs->embeddings);
    spam_filter_free(jobs->spam);
    asset_store_free(jobs->assets);
    free(jobs->image_program);
    free(jobs);
}
