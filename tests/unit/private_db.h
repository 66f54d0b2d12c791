/*
 * For unit tests: a real PostgreSQL server of their own in a folder under /tmp,
 * gone when the test ends. The server dies with the thread that started it.
 * A test program includes this once; what it does not use costs nothing.
 */
#pragma once

#include "db/cluster.h"
#include "db/db.h"
#include "temp_folder.h"

/* ---- The server of a test program, and one connection and one arena a test ---- */

static char folder[] = "/tmp/posthorn-test-XXXXXX";
static struct cluster *cluster;
static struct db *db;
static struct arena *arena; /* one a test */
static struct db_conn *conn;

static inline int group_setup(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    make_folder(folder);
    if (!cluster_start(folder, &cluster, &err)) {
        fprintf(stderr, "%s (%s)\n", err.message, err.cause);
        return -1;
    }
    ARENA_SCOPE scratch = arena_new(0);
    struct db_config config = { .url = cluster_url(scratch, folder),
                                .application_name = "unit_test",
                                .statement_timeout_ms = 20000 };
    db = db_new(&config);
    DB_CONN_SCOPE first = NULL;
    return db_connect(db, 1000, &first, &err) && db_script(first, "create schema posthorn", &err) ? 0 : -1;
}

static inline int group_teardown(void **state)
{
    (void)state;
    db_free(db);
    cluster_stop(cluster, 5000);
    remove_folder(folder);
    return 0;
}

static inline int setup(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    arena = arena_new(0);
    return db_connect(db, 1000, &conn, &err) ? 0 : -1;
}

static inline int teardown(void **state)
{
    (void)state;
    db_disconnect(conn);
    arena_free(arena);
    return 0;
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

/* ---- Statements by hand ---- */

#define FIELD(type_name, member, db_type, is_nullable)                                                                             \
    {                                                                                                                              \
        .name = #member, .type = (db_type), .nullable = (is_nullable), .offset = offsetof(struct type_name, member)                \
    }

struct number {
    int64_t value;
};
static const struct db_field number_fields[] = { FIELD(number, value, DB_BIGINT, false) };

struct words {
    const char *value;
};
static const struct db_field words_fields[] = { FIELD(words, value, DB_TEXT, false) };

/* The common shapes: a number in, a number out, text out. */
#define NUMBER_QUERY(statement_name, text, with_param)                                                                             \
    static const struct db_statement statement_name = {                                                                            \
        .name = #statement_name,                                                                                                   \
        .result = DB_MANY,                                                                                                         \
        .sql = (text),                                                                                                             \
        .params = number_fields,                                                                                                   \
        .param_count = (with_param),                                                                                               \
        .columns = number_fields,                                                                                                  \
        .column_count = 1,                                                                                                         \
        .row_size = sizeof(struct number),                                                                                         \
    }
#define NUMBER_COMMAND(statement_name, text)                                                                                       \
    static const struct db_statement statement_name = {                                                                            \
        .name = #statement_name,                                                                                                   \
        .result = DB_EXEC,                                                                                                         \
        .sql = (text),                                                                                                             \
        .params = number_fields,                                                                                                   \
        .param_count = 1,                                                                                                          \
    }
#define PLAIN_COMMAND(statement_name, text)                                                                                        \
    static const struct db_statement statement_name = { .name = #statement_name, .result = DB_EXEC, .sql = (text) }

/* A table of numbers that most tests write to. */
NUMBER_QUERY(count_items, "select count(*) from items", 0);
NUMBER_QUERY(backend_pid, "select pg_backend_pid()::bigint", 0);
NUMBER_COMMAND(add_item, "insert into items (id) values ($1)");
NUMBER_COMMAND(divide_by, "select 1 / $1");

static inline void fresh_items(void)
{
    struct error err;
    assert_ok(db_script(conn, "drop table if exists items; create table items (id bigint constraint items_id primary key)", &err),
              &err);
}

static inline int64_t item_count(void)
{
    struct error err;
    struct db_rows rows;
    assert_ok(db_run(conn, arena, &count_items, NULL, &rows, &err), &err);
    return ((struct number *)rows.rows)->value;
}
