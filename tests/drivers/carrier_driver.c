/*
 * Appends mail of automations to an installation, as a stepper does, without
 * automations: JSON lines in, JSON lines out. Arguments: data folder, URL of the
 * database.
 *
 *     {"emailId", "domainId", "subject", "node", "firstRun", "batch", "messages": [{"email", "payload"?}]}
 *     → {"carrier": number, "sendIds": ["…"]} or {"error": "…"}
 *
 * Each batch is one transaction. The messages belong to the runs firstRun,
 * firstRun + 1 …, which do not exist.
 */
#include "base/clock.h"
#include "base/json_read.h"
#include "base/json_write.h"
#include "base/text.h"
#include "crypto/keys.h"
#include "engine/core/installation.h"
#include "engine/delivery/carriers.h"
#include "engine/payloads/payloads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_BYTES = 64 * 1024 * 1024, AUTOMATION = 1, AUTOMATION_VERSION = 1 };

struct carrier_version {
    int64_t id;
};

/* The latest version of a design. */
static bool find_version(const struct work *work, int64_t email_id, int64_t *ret_id, struct error *err)
{
    static const struct db_field field = { .name = "id", .type = DB_BIGINT, .offset = offsetof(struct carrier_version, id) };
    const struct db_statement statement = {
        .name = "",
        .result = DB_ONE,
        .sql = arena_printf(work->arena, "select latest_version_id from emails where id = %lld", (long long)email_id),
        .columns = &field,
        .column_count = 1,
        .row_size = sizeof(struct carrier_version),
    };
    struct db_rows rows;
    if (!db_run(work->conn, work->arena, &statement, NULL, &rows, err))
        return false;
    *ret_id = rows.count > 0 ? ((const struct carrier_version *)rows.rows)->id : 0;
    return true;
}

static bool read_message(const struct work *work, const json_t *given, int64_t run_id, struct carrier_message *ret_message,
                         struct error *err)
{
    const json_t *payload = json_object_get(given, "payload");
    const char *email = json_get_text(given, "email");
    *ret_message = (struct carrier_message){ .run_id = run_id, .visit = 1, .email = email, .email_key = email };
    return payload == NULL ||
           payload_store(work, payload, json_in_arena(work->arena, json_object()), &ret_message->payload_id, err);
}

static bool append_batch(const struct work *work, const struct carrier_design *design, const json_t *request, size_t from,
                         size_t count, int64_t *ret_carrier, struct int_list *ret_ids, struct error *err)
{
    struct carrier_message *messages = arena_array(work->arena, count, sizeof(*messages));
    const json_t *given = json_object_get(request, "messages");
    int64_t first_run = json_get_int(request, "firstRun", 1);
    bool has_room;
    DB_TX tx = { .conn = NULL };
    if (!db_tx_begin(work->conn, &tx, err) || !carrier_ensure(work, design, ret_carrier, err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!read_message(work, json_array_get(given, from + i), first_run + (int64_t)(from + i), &messages[i], err))
            return false;
    return carrier_append(work, *ret_carrier, design->node_id, design->automation_id, messages, count, &has_room, ret_ids, err) &&
           carriers_notify(work, err) && db_tx_commit(&tx, err);
}

static bool append_all(struct work *work, const json_t *request, struct json_writer *json, struct error *err)
{
    size_t batch = (size_t)json_get_int(request, "batch", 100);
    size_t count = json_array_size(json_object_get(request, "messages"));
    int64_t carrier = 0;
    struct carrier_design design = {
        .automation_id = AUTOMATION,
        .version_id = AUTOMATION_VERSION,
        .node_id = json_get_text(request, "node"),
        .email_id = id_decode(&work->engine->ids, ID_EMAIL, json_get_text(request, "emailId")),
        .domain_id = id_decode(&work->engine->ids, ID_DOMAIN, json_get_text(request, "domainId")),
        .subject = json_get_text(request, "subject"),
    };
    if (!find_version(work, design.email_id, &design.email_version_id, err))
        return false;
    json_key(json, "sendIds");
    json_array_begin(json);
    for (size_t from = 0; from < count; from += batch) {
        struct int_list ids;
        if (!append_batch(work, &design, request, from, count - from < batch ? count - from : batch, &carrier, &ids, err))
            return false;
        for (size_t i = 0; i < ids.count; i++)
            json_text(json, work_id(work, ID_SEND, ids.items[i]));
    }
    json_array_end(json);
    json_member_int(json, "carrier", carrier);
    return true;
}

static void answer(struct installation *installation, struct db_conn *conn, const char *line, size_t size)
{
    ARENA_SCOPE arena = arena_new(0);
    struct error err = { .code = ERR_NONE };
    const json_t *request = NULL;
    struct buf *reply = buf_in_arena(arena, LINE_MAX_BYTES);
    struct work work = {
        .engine = installation_engine(installation),
        .arena = arena,
        .conn = conn,
        .organization_id = installation_engine(installation)->default_organization_id,
        .brand_id = installation_engine(installation)->default_brand_id,
        .now_us = clock_now_us(),
    };
    struct json_writer json;
    json_writer_init(&json, reply);
    json_object_begin(&json);
    bool done = json_read(arena, line, size, (struct json_bounds){ .max_bytes = LINE_MAX_BYTES }, &request, &err) &&
                append_all(&work, request, &json, &err);
    json_object_end(&json);
    if (done)
        puts(buf_text(reply));
    else
        printf("{\"error\": \"%s: %s\"}\n", err.message, err.cause);
}

static void answer_all(struct installation *installation, struct db_conn *conn)
{
    char *line = NULL;
    size_t capacity = 0;
    for (ssize_t size = getline(&line, &capacity, stdin); size > 0; size = getline(&line, &capacity, stdin)) {
        answer(installation, conn, line, (size_t)size);
        fflush(stdout);
    }
    free(line);
}

int main(int count, char **words)
{
    struct error err = { .code = ERR_NONE };
    struct db_conn *conn;
    if (count != 3)
        return 2;
    crypto_start();
    struct installation_config config = { .data_dir = words[1],
                                          .database_url = words[2],
                                          .application_name = "posthorn carrier driver" };
    struct installation *installation = installation_new(&config);
    if (!installation_connect(installation, &conn, &err)) {
        fprintf(stderr, "%s (%s)\n", err.message, err.cause);
        return 1;
    }
    answer_all(installation, conn);
    db_disconnect(conn);
    installation_free(installation);
    return 0;
}
