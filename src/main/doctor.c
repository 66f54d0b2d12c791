/*
 * posthorn doctor: looks at everything an installation needs and prints what it
 * finds as one JSON object. Exit status 0 when all is well.
 */
#include "cli/commands.h"

#include "db/cluster.h"
#include "db/migrate.h"
#include "engine/installation.h"
#include "main/jobs_here.h"
#include "render/side.h"
#include "sql/doctor.h"

#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

static void write_database(struct json_writer *json, const struct process *process, const struct options *options, bool *all_well)
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
    int version = 0;
    {
        DB_CONN_SCOPE conn = NULL;
        bool reached = installation_connect(installation, &conn, &err) && db_schema_version(conn, &version, &err) &&
                       sql_doctor_counts(conn, process->arena, &counts, &err);
        *all_well = *all_well && reached;
    }
    json_key(json, "database");
    json_object_begin(json);
    json_member_text(json, "kind", options->database_url != NULL ? "named" : "private cluster");
    /* A named database's address may hold a password; the private cluster's is a socket. */
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
    } else {
        json_member_text(json, "problem", err.message);
    }
    json_object_end(json);
    installation_free(installation);
}

static void write_side_process(struct json_writer *json, const struct process *process, const struct options *options, bool *all_well)
{
    struct side_config config = {
        .node_path = jobs_node_path(options),
        .script_path = jobs_side_script(process->arena, options),
    };
    struct side *side = side_new(&config);
    const json_t *answer;
    struct error err = { .code = ERR_NONE };
    bool answers = side_ping(side, process->arena, &answer, &err);
    side_free(side);
    *all_well = *all_well && answers;

    json_key(json, "htmlProcess");
    json_object_begin(json);
    json_member_text(json, "node", config.node_path);
    json_member_text(json, "script", config.script_path);
    json_member_bool(json, "ok", answers);
    if (!answers)
        json_member_text(json, "problem", err.message);
    json_object_end(json);
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
    bool all_well = true;
    BUF_SCOPE out;
    buf_init(&out, 64 * 1024);
    struct json_writer json;
    json_writer_init(&json, &out);
    json_object_begin(&json);
    json_member_text(&json, "version", POSTHORN_VERSION);
    json_member_text(&json, "dataDir", options->data_dir);
    write_database(&json, process, options, &all_well);
    write_side_process(&json, process, options, &all_well);
    write_outbox(&json, process, options);
    json_member_bool(&json, "ok", all_well);
    json_object_end(&json);
    printf("%s\n", buf_text(&out));
    return all_well ? 0 : 1;
}
