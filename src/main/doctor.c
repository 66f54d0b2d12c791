/*
 * posthorn doctor: checks everything an installation needs and prints the
 * results as one JSON object. Exit status 0 when all checks pass.
 */
#include "cli/commands.h"

#include "api/limits/limit_redis.h"
#include "base/clock.h"
#include "base/json_read.h"
#include "db/cluster.h"
#include "db/migrate.h"
#include "engine/core/installation.h"
#include "main/program_files.h"
#include "render/image.h"
#include "render/renderer.h"
#include "render/vips.h"
#include "spam/spam.h"
#include "sql/delivery.h"
#include "sql/doctor.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The processes that send, with the state of their relays a few seconds ago. */
static void write_senders(struct json_writer *json, const struct delivery_senders_row *senders, size_t count)
{
    json_key(json, "senders");
    json_array_begin(json);
    for (size_t i = 0; i < count; i++) {
        json_object_begin(json);
        json_member_text(json, "process", senders[i].owner);
        json_member_time(json, "startedAt", senders[i].started_at);
        json_member_time(json, "seenAt", senders[i].seen_at);
        json_member_raw(json, "relays", senders[i].state);
        json_object_end(json);
    }
    json_array_end(json);
}

/* `ret_servers`: the number of HTTP servers that are connected to the database. */
static void write_database(struct json_writer *json, const struct process *process, const struct options *options,
                           int64_t *ret_servers, bool *all_ok)
{
    struct installation_config config = {
        .data_dir = options->data_dir,
        .database_url = options->database_url,
        .runner_argv = process->runner_argv,
        .application_name = "posthorn doctor",
    };
    struct installation *installation = installation_new(&config);
    struct error err = { .code = ERR_NONE };
    struct doctor_counts_row *counts = NULL;
    struct delivery_senders_row *senders = NULL;
    size_t sender_count = 0;
    int version = 0;
    {
        DB_CONN_SCOPE conn = NULL;
        bool reached = installation_connect(installation, &conn, &err) && db_schema_version(conn, &version, &err) &&
                       sql_doctor_counts(conn, process->arena, &counts, &err) &&
                       sql_delivery_senders(conn, process->arena, &senders, &sender_count, &err);
        *all_ok = *all_ok && reached && counts->sends_held == 0;
    }
    json_key(json, "database");
    json_object_begin(json);
    json_member_text(json, "kind", options->database_url != NULL ? "named" : "private cluster");
    /* The address of a named database may hold a password. The address of a private cluster is a socket. */
    if (options->database_url == NULL)
        json_member_text(json, "url", cluster_url(process->arena, options->data_dir));
    json_member_bool(json, "ok", counts != NULL);
    if (counts != NULL) {
        json_member_text(json, "serverVersion", counts->server_version);
        json_member_int(json, "schemaVersion", version);
        json_member_int(json, "organizations", counts->organizations);
        json_member_int(json, "brands", counts->brands);
        json_member_int(json, "contactsEstimate", counts->contacts);
        json_member_int(json, "sends", counts->sends);
        json_member_int(json, "jobsOpen", counts->jobs_open);
        json_member_int(json, "sendsHeld", counts->sends_held);
        if (counts->sends_held > 0)
            json_member_text(json, "warning",
                             "The database was restored from an older state. Sends that may have gone out already are held; see "
                             "posthorn admin restore status.");
        *ret_servers = counts->servers;
    } else {
        json_member_text(json, "problem", err.message);
    }
    json_object_end(json);
    write_senders(json, senders, sender_count);
    installation_free(installation);
}

/* The limit store of the rate limits. Its address is shown without the login. */
static void write_limit_store(struct json_writer *json, const struct options *options, int64_t servers, bool *all_ok)
{
    struct limit_store *store = NULL;
    struct limit_redis_facts facts = { .name = "" };
    struct error err = { .code = ERR_NONE };
    bool is_shared = options->limit_store != NULL;
    bool ok = !is_shared || limit_redis_new(options->limit_store, &store, &err);
    if (store != NULL) {
        limit_redis_probe(store, &facts);
        store->operations->close(store);
        ok = facts.problem[0] == '\0';
    }
    *all_ok = *all_ok && ok;
    json_key(json, "limitStore");
    json_object_begin(json);
    json_member_text(json, "kind", is_shared ? "shared" : "memory");
    json_member_bool(json, "ok", ok);
    if (is_shared)
        json_member_text(json, "address", facts.name);
    if (facts.server[0] != '\0')
        json_member_text(json, "server", facts.server);
    if (!ok)
        json_member_text(json, "problem", store != NULL ? facts.problem : err.message);
    json_member_int(json, "servers", servers);
    if (!is_shared && servers > 1)
        json_member_text(
            json, "warning",
            "Several servers share this database and each counts calls separately; give all of them the same --limit-store.");
    json_object_end(json);
}

/* JSX needs a browser; HTML and MJML do not. An installation without one is whole. */
static void write_browser(struct json_writer *json, bool is_installed)
{
    json_member_bool(json, "jsx", is_installed);
    if (!is_installed)
        json_member_text(json, "warning",
                         "No browser was found on the path; install the Debian package chromium-headless-shell. Until then JSX, "
                         "client previews and pictures of HTML are refused, designs have no previewImage, and audits end partial.");
}

static void write_renderer(struct json_writer *json, const struct process *process, const struct options *options, bool *all_ok)
{
    struct program_files files;
    program_files_find(process->arena, options, &files);
    const char *problem = program_files_problem(process->arena, &files);
    struct renderer_config config = { .node_path = files.node, .script_path = files.renderer_script };
    struct renderer *renderer = renderer_new(&config);
    const json_t *answer;
    struct error err = { .code = ERR_NONE };
    bool answers = renderer_ping(renderer_for(renderer, 0), process->arena, &answer, &err) && problem == NULL;
    renderer_free(renderer);
    *all_ok = *all_ok && answers;

    json_key(json, "htmlProcess");
    json_object_begin(json);
    json_member_text(json, "node", config.node_path);
    json_member_text(json, "script", config.script_path);
    json_member_bool(json, "ok", answers);
    if (answers)
        write_browser(json, json_get_bool(answer, "jsx", false));
    else
        json_member_text(json, "problem", problem != NULL ? problem : err.message);
    json_object_end(json);
}

/* Sends no bytes to posthorn-image, which answers that they are not an image. Without this program, images of imported designs
 * are not hosted. */
static void write_images(struct json_writer *json, const struct process *process, const struct options *options, bool *all_ok)
{
    struct program_files files;
    program_files_find(process->arena, options, &files);
    struct image_checker *checker = image_checker_new(files.image_program);
    struct image_facts facts;
    struct error err = { .code = ERR_NONE };
    bool answers = image_check(checker, "", 0, &facts, &err);
    image_checker_free(checker);
    *all_ok = *all_ok && answers;

    json_key(json, "images");
    json_object_begin(json);
    json_member_text(json, "program", files.image_program);
    json_member_text_if(json, "publicUrl", options->public_url);
    json_member_bool(json, "ok", answers);
    json_member_bool(json, "vips", vips_is_installed()); /* content operations need it; designs do not */
    if (!answers)
        json_member_text(json, "problem", err.message);
    json_object_end(json);
}

/* Without a spam filter, audits leave its checks out. */
static void write_spam_filter(struct json_writer *json, const struct process *process, const struct options *options, bool *all_ok)
{
    struct spam_patience patience = { .until_us = clock_monotonic_us() + SPAM_PING_MS * US_PER_MS };
    struct spam_filter *filter = NULL;
    const char *version = NULL;
    struct error err = { .code = ERR_NONE };
    bool answers = spam_filter_new(options->spam, &filter, &err);
    bool is_named = filter != NULL;
    if (is_named)
        answers = spam_ping(filter, process->arena, patience, &version, &err);
    *all_ok = *all_ok && answers;

    json_key(json, "spamFilter");
    json_object_begin(json);
    json_member_text(json, "kind", is_named ? spam_filter_name(filter) : "none");
    json_member_bool(json, "ok", answers);
    json_member_text_if(json, "address", is_named ? spam_filter_address(filter) : NULL);
    json_member_text_if(json, "version", version);
    if (!answers)
        json_member_text(json, "problem", err.message);
    json_object_end(json);
    spam_filter_free(filter);
}

static int64_t count_files(const char *path)
{
    DIR *folder = opendir(path);
    if (folder == NULL)
        return 0;
    int64_t count = 0;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

static void write_outbox(struct json_writer *json, const struct process *process, const struct options *options)
{
    const char *path = arena_printf(process->arena, "%s/outbox", options->data_dir);
    json_key(json, "outbox");
    json_object_begin(json);
    json_member_text(json, "path", path);
    json_member_int(json, "messages", count_files(arena_printf(process->arena, "%s/new", path)));
    json_object_end(json);
}

int command_doctor(const struct process *process, const struct options *options)
{
    bool all_ok = true;
    BUF_SCOPE out;
    buf_init(&out, 64 * 1024);
    struct json_writer json;
    json_writer_init(&json, &out);
    json_object_begin(&json);
    json_member_text(&json, "version", POSTHORN_VERSION);
    json_member_text(&json, "dataDir", options->data_dir);
    int64_t servers = 0;
    write_database(&json, process, options, &servers, &all_ok);
    write_limit_store(&json, options, servers, &all_ok);
    write_renderer(&json, process, options, &all_ok);
    write_images(&json, process, options, &all_ok);
    write_spam_filter(&json, process, options, &all_ok);
    write_outbox(&json, process, options);
    json_member_bool(&json, "ok", all_ok);
    json_object_end(&json);
    printf("%s\n", buf_text(&out));
    return all_ok ? 0 : 1;
}
