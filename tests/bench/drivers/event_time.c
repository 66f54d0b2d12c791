/*
 * Writes events for tests/bench/benches/events.mjs, without the threads of the
 * service. The send has contiguous ordinals from 1, and send_recipients is filled:
 *
 *     event_time DATABASE_URL DATA_DIR results SEND      settles the ranges of the send as delivered; their owner is "event_time"
 *     event_time DATABASE_URL DATA_DIR reactions SEND    records an open and a click of each recipient
 *     event_time DATABASE_URL DATA_DIR copy FILE         copies a file of events, as text, into bare_events
 *
 * It prints the seconds that this took, and the processor seconds of the server's
 * process. The first statements, which connect and read the recipients, count in
 * neither figure.
 */
#include "base/clock.h"
#include "crypto/keys.h"
#include "engine/core/installation.h"
#include "engine/delivery/delivery.h"
#include "engine/events/recipient_events.h"
#include "measure.h"
#include "server_process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COPY_BYTES = 1 << 16 };

#define OWNER "event_time"
#define FEED  "brand_id, occurred_at, domain, event_type, recipient_email, recipient_key, send_id, email_id, summary, url, actor"

struct send_params {
    int64_t brand_id;
    int64_t send_id;
};
struct recipient_row {
    int64_t ordinal;
    const char *email;
    const char *email_key;
    const char *source;
};
static const struct db_field send_fields[] = {
    { "brand_id", DB_BIGINT, false, offsetof(struct send_params, brand_id) },
    { "send_id", DB_BIGINT, false, offsetof(struct send_params, send_id) },
};
static const struct db_field recipient_columns[] = {
    { "ordinal", DB_BIGINT, false, offsetof(struct recipient_row, ordinal) },
    { "email", DB_TEXT, false, offsetof(struct recipient_row, email) },
    { "email_key", DB_TEXT, false, offsetof(struct recipient_row, email_key) },
    { "source", DB_TEXT, false, offsetof(struct recipient_row, source) },
};
static const struct db_statement all_recipients = {
    .name = "",
    .result = DB_MANY,
    .sql = "select r.ordinal, r.email, r.email_key, c.source from send_recipients r "
           "join contacts c on c.brand_id = r.brand_id and c.email_key = r.email_key "
           "where r.brand_id = $1 and r.send_id = $2 order by r.ordinal",
    .params = send_fields,
    .param_count = ARRAY_COUNT(send_fields),
    .columns = recipient_columns,
    .column_count = ARRAY_COUNT(recipient_columns),
    .row_size = sizeof(struct recipient_row),
};

/* Texts and rows live in `arena` until the end. */
struct run {
    struct engine *engine;
    struct db_conn *conn;
    struct arena *arena;
    struct send_params send;
    const struct recipient_row *recipients;
    size_t count;
};

static struct work work_of(const struct run *run, struct arena *arena)
{
    return (struct work){
        .engine = run->engine, .arena = arena, .conn = run->conn, .brand_id = run->send.brand_id, .now_us = clock_now_us()
    };
}

static size_t at_most(size_t count, size_t most)
{
    return count < most ? count : most;
}

/* ---- Results ---- */

static bool settle_range(const struct run *run, size_t from, size_t count, const struct delivery_send_row *send, struct error *err)
{
    ARENA_SCOPE arena = arena_new(0);
    struct work work = work_of(run, arena);
    struct delivery_recipients_row *recipients = arena_array(arena, count, sizeof(*recipients));
    struct delivery_result *results = arena_array(arena, count, sizeof(*results));
    int64_t *ordinals = arena_array(arena, count, sizeof(*ordinals));
    for (size_t i = 0; i < count; i++) {
        const struct recipient_row *row = &run->recipients[from + i];
        ordinals[i] = row->ordinal;
        recipients[i] = (struct delivery_recipients_row){
            .ordinal = row->ordinal, .email = row->email, .email_key = row->email_key, .source = row->source
        };
        results[i] =
            (struct delivery_result){ .outcome = DELIVERY_DELIVERED, .reply = "250 2.0.0 Ok", .relay = "relay:25", .attempts = 1 };
    }
    struct delivery_batch batch = {
        .owner = OWNER,
        .organization_id = send->organization_id,
        .brand_id = run->send.brand_id,
        .send_id = run->send.send_id,
        .from_ordinal = ordinals[0],
        .ordinals = ordinals,
        .ordinal_count = count,
        .is_fresh = true,
        .send = send,
        .recipients = recipients,
        .results = results,
        .count = count,
    };
    return delivery_settle(&work, &batch, err);
}

static bool write_results(const struct run *run, struct error *err)
{
    struct delivery_send_params params = { .brand_id = run->send.brand_id, .id = run->send.send_id };
    struct delivery_send_row *send;
    bool ok = sql_delivery_send(run->conn, run->arena, &params, &send, err);
    for (size_t from = 0; ok && from < run->count; from += DELIVERY_RANGE_SIZE)
        ok = settle_range(run, from, at_most(run->count - from, DELIVERY_RANGE_SIZE), send, err);
    return ok;
}

/* ---- Reactions ---- */

static bool record_recipients(const struct run *run, size_t from, size_t count, struct error *err)
{
    ARENA_SCOPE arena = arena_new(0);
    struct work work = work_of(run, arena);
    struct recipient_event *events = arena_array(arena, 2 * count, sizeof(*events));
    bool *is_new = arena_array(arena, 2 * count, sizeof(*is_new));
    for (size_t i = 0; i < 2 * count; i++)
        events[i] = (struct recipient_event){
            .send_id = run->send.send_id,
            .ordinal = run->recipients[from + i / 2].ordinal,
            .type = i % 2 == 0 ? "opened" : "clicked",
            .at_us = work.now_us - (int64_t)(i % 3600) * US_PER_S,
            .url = i % 2 == 0 ? NULL : "https://example.com/stories/1?from=letter",
            .actor = "human",
            .change = RECIPIENT_EVENT_ADD,
        };
    DB_TX tx = { .conn = NULL };
    return db_tx_begin(run->conn, &tx, err) && recipient_events_record(&work, events, 2 * count, is_new, err) &&
           db_tx_commit(&tx, err);
}

static bool write_reactions(const struct run *run, struct error *err)
{
    const size_t most = RECIPIENT_EVENTS_MAX / 2;
    bool ok = true;
    for (size_t from = 0; ok && from < run->count; from += most)
        ok = record_recipients(run, from, at_most(run->count - from, most), err);
    return ok;
}

/* ---- The peer ---- */

static bool copy_file(const struct run *run, const char *path, struct error *err)
{
    static char block[COPY_BYTES];
    FILE *file = fopen(path, "re");
    int64_t rows = 0;
    size_t size;
    if (file == NULL)
        die("%s cannot be read", path);
    bool ok = db_copy_begin(run->conn, "copy bare_events (" FEED ") from stdin", err);
    while (ok && (size = fread(block, 1, sizeof(block), file)) > 0)
        ok = db_copy_put(run->conn, block, size, err);
    fclose(file);
    return ok && db_copy_end(run->conn, &rows, err);
}

/* ---- Measuring ---- */

static bool prepare(struct run *run, const char *send, struct error *err)
{
    struct db_rows rows;
    run->send = (struct send_params){ run->engine->default_brand_id, strtoll(send, NULL, 10) };
    if (!db_run(run->conn, run->arena, &all_recipients, &run->send, &rows, err))
        return false;
    run->recipients = rows.rows;
    run->count = rows.count;
    return true;
}

static bool measure(struct run *run, const char *mode, const char *argument, struct error *err)
{
    pid_t server;
    bool copies = strcmp(mode, "copy") == 0;
    if (!find_server_process(run->conn, run->arena, &server, err) || (!copies && !prepare(run, argument, err)))
        return false;
    double cpu_s = process_cpu_s(server);
    int64_t begun_ns = now_ns();
    bool ok = copies                         ? copy_file(run, argument, err)
              : strcmp(mode, "results") == 0 ? write_results(run, err)
                                             : write_reactions(run, err);
    if (ok)
        printf("%.6f %.6f\n", (double)(now_ns() - begun_ns) / 1e9, process_cpu_s(server) - cpu_s);
    return ok;
}

int main(int argc, char **argv)
{
    struct error err = { .code = ERR_NONE };
    if (argc != 5)
        die("event_time DATABASE_URL DATA_DIR results|reactions|copy SEND|FILE");
    crypto_start();
    struct installation_config config = { .database_url = argv[1], .data_dir = argv[2], .application_name = OWNER };
    struct installation *installation = installation_new(&config);
    struct run run = { .arena = arena_new(0) };
    bool ok = installation_connect(installation, &run.conn, &err);
    if (ok) {
        run.engine = installation_engine(installation);
        ok = measure(&run, argv[3], argv[4], &err);
    }
    if (!ok)
        fprintf(stderr, "%s (%s)\n", err.message, err.cause);
    db_disconnect(run.conn);
    arena_free(run.arena);
    installation_free(installation);
    return ok ? 0 : 1;
}
