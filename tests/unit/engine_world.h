/*
 * For unit tests of the engine: a migrated database on a server of its own, a
 * brand, and an outbox, gone when the test ends. A test program includes this
 * once.
 */
#pragma once

#include "base/clock.h"
#include "base/json_read.h"
#include "crypto/keys.h"
#include "db/cluster.h"
#include "engine/emails/emails.h"
#include "engine/core/installation.h"
#include "jobs/job_types.h"
#include "sender/sender.h"
#include "jobs/worker.h"
#include "mail/outbox.h"
#include "temp_folder.h"

#include <string.h>

static char folder[] = "/tmp/posthorn-test-XXXXXX";
static struct cluster *cluster;
static struct installation *installation;
static struct outbox *outbox;
static char *outbox_path;
static struct db_conn *conn;
static struct arena *arena; /* one a test */
static struct work work;    /* of the default brand, one a test */

static inline int world_begin(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    static struct arena *kept;
    crypto_start();
    make_folder(folder);
    kept = arena_new(0);
    outbox_path = arena_printf(kept, "%s/outbox", folder);
    struct outbox_bounds bounds = { .max_messages = 1000000, .max_bytes = UINT64_C(4) << 30 };
    if (!cluster_start(folder, &cluster, &err) || !outbox_open(outbox_path, bounds, OUTBOX_SYNC_NONE, &outbox, &err)) {
        fprintf(stderr, "%s (%s)\n", err.message, err.cause);
        return -1;
    }
    struct installation_config config = {
        .data_dir = folder,
        .database_url = cluster_url(kept, folder),
        .application_name = "posthorn unit test",
    };
    installation = installation_new(&config);
    if (installation_connect(installation, &conn, &err))
        return 0;
    fprintf(stderr, "%s (%s)\n", err.message, err.cause);
    return -1;
}

static inline int world_end(void **state)
{
    (void)state;
    db_disconnect(conn);
    installation_free(installation);
    outbox_close(outbox);
    cluster_stop(cluster, 5000);
    remove_folder(folder);
    return 0;
}

/* ---- One number from the database ---- */

struct number {
    int64_t value;
};

/* A connection knows a prepared statement by its address, so each text keeps one for the life of the program. */
static inline const struct db_statement *number_statement(const char *sql)
{
    static const struct db_field field = { .name = "value", .type = DB_BIGINT, .offset = offsetof(struct number, value) };
    static struct db_statement known[256];
    static char names[ARRAY_COUNT(known)][16];
    size_t i = 0;
    while (known[i].sql != NULL && strcmp(known[i].sql, sql) != 0)
        assert_true(++i < ARRAY_COUNT(known));
    snprintf(names[i], sizeof(names[i]), "number_%zu", i);
    if (known[i].sql == NULL)
        known[i] = (struct db_statement){
            .name = names[i], .result = DB_ONE, .sql = sql, .columns = &field, .column_count = 1, .row_size = sizeof(struct number)
        };
    return &known[i];
}

/* `sql` is a literal. */
static inline int64_t number_of(const char *sql)
{
    struct error err;
    struct db_rows rows;
    assert_ok(db_run(conn, arena, number_statement(sql), NULL, &rows, &err), &err);
    assert_int_equal(rows.count, 1);
    return ((struct number *)rows.rows)->value;
}

static inline void run_sql(const char *format, ...) PRINTF_LIKE(1, 2);
static inline void run_sql(const char *format, ...)
{
    struct error err;
    va_list arguments;
    va_start(arguments, format);
    const char *sql = arena_vprintf(arena, format, arguments);
    va_end(arguments);
    assert_ok(db_script(conn, sql, &err), &err);
}

/* Lets workers and a sender without relays run until the number is what it should be. */
static inline void run_until(struct job_services services, const char *sql, int64_t wanted)
{
    struct error err;
    struct sender *sender;
    struct sender_config config = {
        .installation = installation,
        .owner = installation_name(installation),
        .data_dir = folder,
        .outbox = outbox,
        .helo_name = "localhost",
        .rules = { .first_retry_us = US_PER_S },
    };
    assert_ok(sender_start(&config, &sender, &err), &err);
    services.outbox = outbox;
    services.sender = sender;
    struct workers *workers = workers_start(installation, &services, 2);
    int64_t until_us = clock_monotonic_us() + 30 * US_PER_S;
    while (number_of(sql) != wanted && clock_monotonic_us() < until_us)
        usleep(20000);
    workers_stop(workers);
    sender_stop(sender);
    assert_int_equal(number_of(sql), wanted);
}

static const char nothing_to_do[] UNUSED = "select (select count(*) from jobs where state in ('queued', 'running')) + (select "
                                           "count(*) from sends where status = 'running')";

/* A test begins with an empty default brand. */
static inline int world_reset(void **state)
{
    (void)state;
    arena = arena_new(0);
    work = (struct work){
        .engine = installation_engine(installation),
        .arena = arena,
        .conn = conn,
        .organization_id = installation_engine(installation)->default_organization_id,
        .brand_id = installation_engine(installation)->default_brand_id,
        .now_us = clock_now_us(),
    };
    run_sql(
        "delete from jobs; delete from events; delete from event_counts; delete from send_results; delete from send_retries;"
        "delete from send_ranges; delete from senders;"
        "delete from send_recipients; delete from send_stats; delete from sends; delete from email_versions; delete from emails;"
        "delete from email_groups; delete from contacts; delete from audiences; delete from suppressions; delete from email_usage;"
        "delete from domains where kind <> 'sandbox';"
        "update domains set sending_purpose = 'marketing', status = 'verified';"
        "update organizations set plan = 'self_hosted'; update brands set time_zone = 'UTC'");
    return 0;
}

static inline int world_leave(void **state)
{
    (void)state;
    if (db_in_transaction(conn))
        run_sql("rollback");
    arena_free(arena);
    return 0;
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, world_reset, world_leave)

/* ---- A design ---- */

/* The answer of the side process for HTML that needs no cleaning. */
static inline const json_t *prepared(const char *html, const char *text)
{
    json_error_t why;
    json_t *json =
        json_pack_ex(&why, 0, "{s:s, s:s, s:s, s:n, s:[], s:[], s:{s:[], s:[], s:i}}", "html", html, "text", text, "title",
                     "A title", "previewText", "links", "images", "report", "removed", "warnings", "htmlBytes", 1);
    assert_non_null(json);
    return json_in_arena(arena, json);
}

static inline int64_t design_of(const char *html, const char *text)
{
    struct error err;
    struct email_content content;
    struct email_import import = { .title = "Letter" };
    struct email_saved saved;
    assert_ok(email_prepare(arena, prepared(html, text), &content, &err), &err);
    assert_ok(email_save_import(&work, &import, &content, &saved, &err), &err);
    return saved.id;
}
