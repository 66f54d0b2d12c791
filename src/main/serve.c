/*
 * posthorn mcp and posthorn serve: the MCP server over stdio, and the HTTP
 * server.
 */
#include "cli/commands.h"

#include "api/limits/limit_redis.h"
#include "api/service.h"
#include "api/tracking/hit_recorder.h"
#include "base/log.h"
#include "engine/assets/asset_store.h"
#include "engine/templates/gallery.h"
#include "http/server.h"
#include "inbound/imap.h"
#include "inbound/lmtp.h"
#include "main/job_runner.h"
#include "main/model_options.h"
#include "main/signals.h"
#include "mcp/provider/catalogue_provider.h"
#include "mcp/server.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    STDIO_END_MS = 1000,
    SERVE_GRACE_MS = 7000, /* cancelled calls get two more seconds, so that a shutdown takes at most ten */
    STATEMENT_TIMEOUT_MS = 60000,
    POLL_MS = 1000,
    MMAP_THRESHOLD_BYTES = 256 * 1024,
    TRIM_THRESHOLD_BYTES = 1024 * 1024,
    HOST_NAME_BYTES = 256,
    DESCRIPTORS = 8192, /* for all connections and other open files */
};

static const char default_listen[] = "127.0.0.1:8420";

static struct api_config service_config(const struct process *process, const struct options *options, const char *name)
{
    return (struct api_config){
        .installation = {
            .data_dir = options->data_dir,
            .database_url = options->database_url,
            .runner_argv = process->runner_argv,
            .application_name = name,
            .statement_timeout_ms = STATEMENT_TIMEOUT_MS,
            .public_url = options->public_url,
            .tracking_off = options_tracking_off(options),
            .design_engine = design_engine_of_options(process->arena, options),
            .has_embeddings = options->embeddings != NULL,
            .fetch_allow_loopback = options->fetch_allow_loopback,
            .import_root = options->import_root,
            .key_file = options->key_file,
            .confirm_above = { .set = options->confirm_above >= 0, .value = options->confirm_above },
        },
        .fixed_brand = options->brand,
    };
}

static bool provider_new(struct api *api, const struct options *options, struct catalogue_provider **ret_provider,
                         struct error *err)
{
    struct catalogue_provider_config config = {
        .version = POSTHORN_VERSION,
        .toolsets = options->toolsets,
        .tools = options->tools,
        .read_only = options->read_only,
        .response_budget_chars = (size_t)options->response_budget_chars,
        .picture_budget_chars = (size_t)options->picture_budget_chars,
    };
    return catalogue_provider_new(api, &config, ret_provider, err);
}

static struct mcp_server *mcp_new(const struct catalogue_provider *product)
{
    static const struct mcp_config defaults;
    return mcp_server_new(catalogue_provider_of(product), &defaults);
}

/* Sets the URL of the documentation that errors link to: that of --docs-url, or of the server. `server_url` is used without a
 * public URL; NULL: this process is no server. */
static void publish_docs_url(struct arena *arena, const struct options *options, const char *server_url)
{
    const char *url = options->public_url != NULL ? options->public_url : server_url;
    if (options->docs_url != NULL) {
        api_set_docs_url(options->docs_url);
    } else if (url != NULL) {
        size_t size = strlen(url);
        while (size > 0 && url[size - 1] == '/')
            size--;
        api_set_docs_url(arena_printf(arena, "%.*s/docs", (int)size, url));
    }
}

/* ---- posthorn mcp ---- */

int command_mcp(const struct process *process, const struct options *options)
{
    struct error err = { .code = ERR_NONE };
    int out_fd;
    if (!mcp_stdio_claim(&out_fd, &err))
        return command_failed(&err);
    publish_docs_url(process->arena, options, NULL);
    struct api_config config = service_config(process, options, job_runner_process_name(process->arena, "mcp"));
    struct api *api = api_new(&config);
    struct catalogue_provider *product = NULL;
    int status = 0;
    if (provider_new(api, options, &product, &err)) {
        struct mcp_server *server = mcp_new(product);
        struct credentials owner = { .kind = CREDENTIAL_LOCAL_OWNER, .brand = options->brand };
        mcp_stdio_serve(server, &owner, STDIN_FILENO, out_fd);
        mcp_server_stop(server);
        mcp_server_free(server);
    } else {
        status = command_failed(&err);
    }
    catalogue_provider_free(product);
    api_free(api, STDIO_END_MS);
    return status;
}

/* ---- posthorn serve ---- */

/* The parts of a server whose figures the metrics show. */
struct metrics_sources {
    struct api *api;
    struct hit_recorder *hits;
};

static void write_metrics(void *context, struct buf *out)
{
    const struct metrics_sources *sources = context;
    api_write_metrics(sources->api, out);
    hit_recorder_write_metrics(sources->hits, out);
}

/* Opens a picture of the gallery, which is compiled in. */
static bool open_picture(const struct gallery_picture *picture, struct http_asset *ret_asset)
{
    int fd = memfd_create(picture->name, MFD_CLOEXEC);
    if (fd < 0 || write(fd, picture->bytes, picture->size) != (ssize_t)picture->size) {
        log_event(LOG_WARNING, "serve.assets", "%s", strerror(errno));
        if (fd >= 0)
            close(fd);
        return false;
    }
    *ret_asset = (struct http_asset){ .fd = fd, .bytes = picture->size, .content_type = picture->content_type };
    return true;
}

/* Opens a file of /assets/…: from the asset store of the data folder, or a picture of the gallery. */
static bool open_asset(void *context, const char *text, struct http_asset *ret_asset)
{
    static const char *const content_types[] = {
        [ASSET_JPEG] = "image/jpeg", [ASSET_PNG] = "image/png",   [ASSET_GIF] = "image/gif",
        [ASSET_WEBP] = "image/webp", [ASSET_AVIF] = "image/avif",
    };
    struct error err = { .code = ERR_NONE };
    struct asset_name name;
    struct asset_file file;
    enum asset_type type;
    bool found = false;
    const struct gallery_picture *picture = gallery_find_picture(text);
    if (picture != NULL)
        return open_picture(picture, ret_asset);
    if (!asset_name_read(text, &name, &type))
        return false;
    if (!asset_open(context, &name, &file, &found, &err))
        log_event(LOG_WARNING, "serve.assets", "%s", err.cause);
    if (found)
        *ret_asset = (struct http_asset){ .fd = file.fd, .bytes = (uint64_t)file.bytes, .content_type = content_types[type] };
    return found;
}

static void log_listening(const struct http_server *server, const struct options *options)
{
    unsigned metrics_port = http_server_metrics_port(server);
    struct log_line line;
    log_begin(&line, LOG_INFO, "serve.listening");
    json_member_text(&line.json, "listen", options->listen != NULL ? options->listen : default_listen);
    json_member_int(&line.json, "port", http_server_port(server));
    if (metrics_port != 0)
        json_member_int(&line.json, "metricsPort", metrics_port);
    log_end(&line);
}

/* The host in a URL by which this machine reaches the listener. */
static const char *listening_host(struct arena *arena, const char *listen)
{
    const char *host = arena_dup_bytes(arena, listen, (size_t)(strrchr(listen, ':') - listen));
    return strcmp(host, "0.0.0.0") == 0 || strcmp(host, "[::]") == 0 ? "localhost" : host;
}

/* Converts the number of an option. A number that does not fit becomes UINT32_MAX, which http_server_start refuses. */
static unsigned bounded_number(int64_t number)
{
    return number < UINT32_MAX ? (unsigned)number : UINT32_MAX;
}

static bool serve_until_stopped(struct arena *arena, const struct options *options, struct api *api, struct mcp_server *mcp,
                                struct hit_recorder *hits, struct error *err)
{
    struct metrics_sources sources = { api, hits };
    struct asset_store *assets = asset_folder_new(options->data_dir);
    struct http_server_config config = {
        .listen = options->listen != NULL ? options->listen : default_listen,
        .metrics_listen = options->metrics_listen,
        .allowed_hosts = options_list(arena, options->allowed_hosts),
        .allowed_origins = options_list(arena, options->allowed_origins),
        .trusted_proxies = options_list(arena, options->trusted_proxies),
        .public_url = options->public_url,
        .max_per_peer = bounded_number(options->max_per_peer),
        .body_memory_mib = bounded_number(options->body_memory_mib),
        .open_asset = open_asset,
        .assets_context = assets,
        .write_metrics = write_metrics,
        .metrics_context = &sources,
        .hits = hits,
    };
    struct http_server *server;
    if (!http_server_start(&config, api, mcp, &server, err)) {
        asset_store_free(assets);
        return false;
    }
    publish_docs_url(arena, options,
                     arena_printf(arena, "http://%s:%u", listening_host(arena, config.listen), http_server_port(server)));
    log_listening(server, options);
    while (!signals_wait(POLL_MS))
        continue;
    log_event(LOG_INFO, "serve.stopping", "Shutdown requested.");
    http_server_stop(server, SERVE_GRACE_MS);
    asset_store_free(assets);
    return true;
}

/* ---- Reports of other mail systems ---- */

static bool start_imap(struct api *api, struct arena *arena, const struct options *options, struct imap_poller **ret_imap,
                       struct error *err)
{
    struct imap_config config = {
        .urls = options_list(arena, options->imap),
        .cluster_dir = options->database_url == NULL ? options->data_dir : NULL,
    };
    return imap_poller_start(api, &config, ret_imap, err);
}

static bool start_lmtp(struct api *api, const struct options *options, struct lmtp_server **ret_lmtp, struct error *err)
{
    char name[HOST_NAME_BYTES] = "";
    struct log_line line;
    if (options->lmtp == NULL)
        return true;
    if (gethostname(name, sizeof(name) - 1) != 0 || name[0] == '\0')
        snprintf(name, sizeof(name), "localhost");
    if (!lmtp_server_start(api, options->lmtp, name, ret_lmtp, err))
        return false;
    log_begin(&line, LOG_INFO, "lmtp.listening");
    json_member_text(&line.json, "listen", options->lmtp);
    json_member_int(&line.json, "port", lmtp_server_port(*ret_lmtp));
    log_end(&line);
    return true;
}

/* Raises the limit of descriptors. Every connection needs one, and many systems allow 1,024 by default. Nothing here uses
 * select(2). */
static void allow_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= DESCRIPTORS)
        return;
    limit.rlim_cur = limit.rlim_max < DESCRIPTORS ? limit.rlim_max : DESCRIPTORS;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* Runs the jobs in this process if --database names a database. The runner of a private cluster runs them otherwise. */
static bool start_jobs(struct api *api, const struct options *options, struct job_runner **ret_jobs, struct error *err)
{
    if (options->database_url == NULL)
        return true;
    return job_runner_start(api_installation(api), options, ret_jobs, err);
}

int command_serve(const struct process *process, const struct options *options)
{
    signals_block();
    allow_descriptors();
    /* Large buffers, such as bodies, go back to the system when they are freed. glibc would raise a threshold that is not set. What
     * the calls free again and again stays: its pages would be given back and fetched with each call. */
    mallopt(M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES);
    mallopt(M_TRIM_THRESHOLD, TRIM_THRESHOLD_BYTES);
    struct error err = { .code = ERR_NONE };
    struct limit_store *limit_store = NULL;
    if (options->limit_store != NULL && !limit_redis_new(options->limit_store, &limit_store, &err))
        return command_failed(&err);
    struct api_config config = service_config(process, options, job_runner_process_name(process->arena, "serve"));
    config.limit_store = limit_store;
    struct api *api = api_new(&config);
    struct catalogue_provider *product = NULL;
    struct job_runner *jobs = NULL;
    struct hit_recorder *hits = NULL;
    struct lmtp_server *lmtp = NULL;
    struct imap_poller *imap = NULL;
    int status = 1;
    /* A server without a database must fail at the start, not at the first call. */
    bool ready = installation_open(api_installation(api), &err) && provider_new(api, options, &product, &err) &&
                 start_jobs(api, options, &jobs, &err) && start_lmtp(api, options, &lmtp, &err) &&
                 start_imap(api, process->arena, options, &imap, &err);
    if (ready) {
        struct mcp_server *mcp = mcp_new(product);
        hits = hit_recorder_new(api, options->data_dir, options->public_url);
        if (serve_until_stopped(process->arena, options, api, mcp, hits, &err))
            status = 0;
        hit_recorder_stop(hits);
        mcp_server_free(mcp);
    }
    if (status != 0)
        command_failed(&err);
    imap_poller_stop(imap);
    lmtp_server_stop(lmtp);
    job_runner_stop(jobs);
    catalogue_provider_free(product);
    api_free(api, SERVE_GRACE_MS);
    hit_recorder_free(hits);
    return status;
}
