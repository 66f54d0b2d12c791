/*
 * Batches, transactions and errors on a real server: a failed statement fails alone,
 * leaves no effect, and has an error message.
 */
#include "fixtures/private_db.h"

#include "base/clock.h"
#include "base/unwind.h"

#include <string.h>

/* A statement with a parameter that can be refused here and one that can be large. */
struct pair {
    struct opt_int small;
    const char *words;
};
static const struct db_field pair_fields[] = {
    FIELD(pair, small, DB_INTEGER, true),
    FIELD(pair, words, DB_TEXT, true),
};
static const struct db_statement echo_pair = {
    .name = "echo_pair",
    .result = DB_ONE,
    .sql = "select $1, $2",
    .params = pair_fields,
    .param_count = ARRAY_COUNT(pair_fields),
    .columns = pair_fields,
    .column_count = ARRAY_COUNT(pair_fields),
    .row_size = sizeof(struct pair),
};

/* ---- Results that do not fit into the memory of a call ---- */

enum { TIGHT_ARENA_BYTES = 128 * 1024 };

NUMBER_QUERY(many_numbers, "select n::bigint from generate_series(1, 100000) n", 0);

static int64_t session_number(void)
{
    struct error err = { .code = ERR_NONE };
    struct db_rows rows;
    assert_ok(db_run(conn, arena, &backend_pid, NULL, &rows, &err), &err);
    return ((const struct number *)rows.rows)->value;
}

struct tight_batch {
    struct arena *arena;
    int64_t id;
    bool each;
};

static void run_tight_batch(void *context)
{
    const struct tight_batch *tight = context;
    struct error err = { .code = ERR_NONE };
    struct db_batch *batch = db_batch_new(conn, tight->arena);
    db_batch_add(batch, &add_item, &(struct number){ tight->id });
    db_batch_add(batch, &many_numbers, NULL);
    db_batch_add(batch, &count_items, NULL);
    if (tight->each)
        (void)!db_batch_run_each(batch, &err);
    else
        (void)!db_batch_run(batch, &err);
}

static void run_tight_transaction(void *context)
{
    struct error err = { .code = ERR_NONE };
    DB_TX tx;
    assert_ok(db_tx_begin(conn, &tx, &err), &err);
    run_tight_batch(context);
}

/* The results that were not decoded are dropped. The same connection, and so its session, serves the next call. */
static void test_results_that_do_not_fit(void **state)
{
    (void)state;
    ARENA_SCOPE tight = arena_new(TIGHT_ARENA_BYTES);
    int64_t session = session_number();
    for (int each = 0; each < 2; each++) {
        fresh_items();
        assert_false(unwind_catch(run_tight_batch, &(struct tight_batch){ tight, 1, each == 1 }));
        assert_int_equal(item_count(), 1); /* the statements themselves have run */
        arena_reset(tight);
        assert_false(unwind_catch(run_tight_transaction, &(struct tight_batch){ tight, 2, false }));
        assert_false(db_in_transaction(conn));
        assert_int_equal(item_count(), 1); /* this one was rolled back */
        arena_reset(tight);
    }
    assert_int_equal(session_number(), session);
}

static void commit_without_room(void *context)
{
    struct error err = { .code = ERR_NONE };
    DB_TX tx;
    assert_ok(db_tx_begin(conn, &tx, &err), &err);
    arena_alloc(context, TIGHT_ARENA_BYTES - 1000);
    struct db_batch *batch = db_batch_new(conn, context);
    db_batch_add(batch, &add_item, &(struct number){ 1 });
    (void)!db_batch_run_commit(batch, &tx, &err);
}

/* A caller takes an error for a failure, so a transaction is not committed when its results might not fit. */
static void test_nothing_is_committed_without_room(void **state)
{
    (void)state;
    ARENA_SCOPE tight = arena_new(TIGHT_ARENA_BYTES);
    fresh_items();
    assert_false(unwind_catch(commit_without_room, tight));
    assert_int_equal(item_count(), 0);
}

/* ---- Batches ---- */

static void test_batch_is_one_round_trip(void **state)
{
    (void)state;
    struct error err;
    fresh_items();
    struct db_batch *batch = db_batch_new(conn, arena);
    for (int64_t id = 0; id < 40; id++)
        assert_int_equal(db_batch_add(batch, &add_item, &(struct number){ id }), (size_t)id);
    size_t counted = db_batch_add(batch, &count_items, NULL);
    uint64_t before = db_round_trips(conn);
    assert_ok(db_batch_run(batch, &err), &err);
    assert_int_equal(db_round_trips(conn), before + 1);
    assert_int_equal(db_batch_rows(batch, 7)->affected, 1);
    assert_int_equal(((const struct number *)db_batch_rows(batch, counted)->rows)->value, 40);
}

static void test_batch_fails_whole(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    fresh_items();
    struct db_batch *batch = db_batch_new(conn, arena);
    db_batch_add(batch, &add_item, &(struct number){ 1 });
    db_batch_add(batch, &divide_by, &(struct number){ 0 });
    db_batch_add(batch, &add_item, &(struct number){ 2 });
    assert_false(db_batch_run(batch, &err));
    assert_string_equal(err.sqlstate, "22012");
    assert_int_equal(item_count(), 0);
}

static void test_batch_each_fails_alone(void **state)
{
    (void)state;
    struct error err;
    fresh_items();
    struct db_batch *batch = db_batch_new(conn, arena);
    struct pair unfit = { .small = { true, INT64_MAX } };
    db_batch_add(batch, &add_item, &(struct number){ 1 });
    db_batch_add(batch, &divide_by, &(struct number){ 0 });
    db_batch_add(batch, &add_item, &(struct number){ 1 }); /* a duplicate */
    db_batch_add(batch, &echo_pair, &unfit);               /* cannot be encoded */
    db_batch_add(batch, &add_item, &(struct number){ 2 });
    uint64_t before = db_round_trips(conn);
    assert_ok(db_batch_run_each(batch, &err), &err);
    assert_int_equal(db_round_trips(conn), before + 1);
    assert_int_equal(db_batch_error(batch, 0)->code, ERR_NONE);
    assert_string_equal(db_batch_error(batch, 1)->sqlstate, "22012");
    assert_string_equal(db_batch_error(batch, 2)->sqlstate, "23505");
    assert_int_equal(db_batch_error(batch, 3)->code, ERR_INVALID_REQUEST);
    assert_int_equal(db_batch_error(batch, 4)->code, ERR_NONE);
    assert_int_equal(item_count(), 2);
}

/* More than the buffers of both sides hold, both ways at once. */
static void test_large_batch_does_not_hang(void **state)
{
    (void)state;
    struct error err;
    enum { STATEMENTS = 400, TEXT_BYTES = 64 * 1024 };
    char *text = arena_alloc(arena, TEXT_BYTES + 1);
    memset(text, 'x', TEXT_BYTES);
    struct db_batch *batch = db_batch_new(conn, arena);
    struct pair sent = { .words = text };
    for (int i = 0; i < STATEMENTS; i++)
        db_batch_add(batch, &echo_pair, &sent);
    assert_ok(db_batch_run(batch, &err), &err);
    for (size_t i = 0; i < STATEMENTS; i++) {
        const struct pair *got = db_batch_rows(batch, i)->rows;
        assert_int_equal(strlen(got->words), TEXT_BYTES);
    }
}

static void test_failed_prepare_is_forgotten(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    PLAIN_COMMAND(uses_later, "insert into made_later default values");
    struct db_batch *batch = db_batch_new(conn, arena);
    db_batch_add(batch, &count_items, NULL);
    db_batch_add(batch, &uses_later, NULL);
    db_batch_add(batch, &backend_pid, NULL);
    fresh_items();
    assert_false(db_batch_run(batch, &err));
    assert_string_equal(err.sqlstate, "42P01");
    assert_ok(db_script(conn, "create table made_later (id bigint generated always as identity)", &err), &err);
    assert_ok(db_run(conn, arena, &uses_later, NULL, NULL, &err), &err);
    assert_ok(db_run(conn, arena, &backend_pid, NULL, NULL, &err), &err);
    assert_ok(db_script(conn, "drop table made_later", &err), &err);
}

static void test_stale_plan_is_renewed(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    NUMBER_QUERY(all_items, "select id from items", 0);
    fresh_items();
    assert_ok(db_run(conn, arena, &all_items, NULL, NULL, &err), &err);
    DB_CONN_SCOPE migrating = NULL;
    assert_ok(db_connect(db, 0, &migrating, &err), &err);
    assert_ok(db_script(migrating, "alter table items alter id type integer", &err), &err);
    assert_false(db_run(conn, arena, &all_items, NULL, NULL, &err));
    assert_int_equal(err.code, ERR_SERVICE_UNAVAILABLE);
    /* Prepared anew, the statement is seen for what it is now. */
    assert_false(db_run(conn, arena, &all_items, NULL, NULL, &err));
    assert_non_null(strstr(err.cause, "not as declared"));
}

/* ---- Transactions ---- */

static bool add_and_return_early(struct error *err)
{
    DB_TX tx;
    if (!db_tx_begin(conn, &tx, err))
        return false;
    if (!db_run(conn, arena, &add_item, &(struct number){ 1 }, NULL, err))
        return false;
    return db_run(conn, arena, &divide_by, &(struct number){ 0 }, NULL, err) && db_tx_commit(&tx, err);
}

static void test_early_return_rolls_back(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    fresh_items();
    assert_false(add_and_return_early(&err));
    assert_string_equal(err.sqlstate, "22012");
    assert_false(db_in_transaction(conn));
    assert_int_equal(item_count(), 0);
}

static void test_commit_keeps(void **state)
{
    (void)state;
    struct error err;
    fresh_items();
    uint64_t before = db_round_trips(conn);
    {
        DB_TX tx;
        assert_ok(db_tx_begin(conn, &tx, &err), &err);
        assert_true(db_in_transaction(conn));
        assert_ok(db_run(conn, arena, &add_item, &(struct number){ 1 }, NULL, &err), &err);
        assert_ok(db_tx_commit(&tx, &err), &err);
    }
    /* BEGIN travelled with the statement. */
    assert_int_equal(db_round_trips(conn), before + 2);
    assert_int_equal(item_count(), 1);

    before = db_round_trips(conn);
    {
        DB_TX tx;
        assert_ok(db_tx_begin(conn, &tx, &err), &err);
        struct db_batch *batch = db_batch_new(conn, arena);
        db_batch_add(batch, &add_item, &(struct number){ 2 });
        db_batch_add(batch, &add_item, &(struct number){ 3 });
        assert_ok(db_batch_run_commit(batch, &tx, &err), &err);
        assert_false(db_in_transaction(conn));
    }
    assert_int_equal(db_round_trips(conn), before + 1);
    assert_int_equal(item_count(), 3);
}

static void test_failed_transaction_cannot_commit(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    fresh_items();
    {
        DB_TX tx;
        assert_ok(db_tx_begin(conn, &tx, &err), &err);
        assert_ok(db_run(conn, arena, &add_item, &(struct number){ 1 }, NULL, &err), &err);
        assert_false(db_run(conn, arena, &divide_by, &(struct number){ 0 }, NULL, &err));
        error_clear(&err);
        assert_false(db_tx_commit(&tx, &err));
        assert_int_equal(err.code, ERR_INTERNAL_ERROR);
    }
    {
        DB_TX tx;
        assert_ok(db_tx_begin(conn, &tx, &err), &err);
        struct db_batch *batch = db_batch_new(conn, arena);
        db_batch_add(batch, &add_item, &(struct number){ 1 });
        db_batch_add(batch, &divide_by, &(struct number){ 0 });
        assert_false(db_batch_run_commit(batch, &tx, &err));
        assert_string_equal(err.sqlstate, "22012");
    }
    assert_false(db_in_transaction(conn));
    assert_int_equal(item_count(), 0);
}

static void test_empty_transaction_costs_nothing(void **state)
{
    (void)state;
    struct error err;
    uint64_t before = db_round_trips(conn);
    {
        DB_TX tx;
        assert_ok(db_tx_begin(conn, &tx, &err), &err);
        assert_ok(db_tx_commit(&tx, &err), &err);
    }
    {
        DB_TX tx;
        assert_ok(db_tx_begin(conn, &tx, &err), &err);
    }
    assert_int_equal(db_round_trips(conn), before);
}

static void test_conflict_is_retryable(void **state)
{
    (void)state;
    struct error err;
    fresh_items();
    assert_ok(db_script(conn, "insert into items values (1)", &err), &err);
    DB_CONN_SCOPE other = NULL;
    assert_ok(db_connect(db, 0, &other, &err), &err);
    assert_ok(db_script(conn, "begin isolation level serializable; select count(*) from items; update items set id = 2", &err),
              &err);
    assert_ok(db_script(other, "begin isolation level serializable; select count(*) from items; set lock_timeout = 0", &err), &err);
    assert_ok(db_script(conn, "commit", &err), &err);
    assert_false(db_script(other, "update items set id = 3", &err));
    assert_string_equal(err.sqlstate, "40001");
    assert_true(db_error_is_retryable(&err));
    assert_int_equal(err.code, ERR_SERVICE_UNAVAILABLE);
    error_clear(&err);
    assert_false(db_error_is_retryable(&err));
}

/* ---- Errors ---- */

static void test_errors_are_mapped(void **state)
{
    (void)state;
    static const struct {
        const char *sql;
        enum error_code code;
        const char *param;
    } cases[] = {
        { "create temp table mapped (name text constraint domains_name unique); insert into mapped values ('a'), ('a')",
          ERR_DOMAIN_ALREADY_EXISTS, "name" },
        { "create temp table mapped2 (name text constraint unheard_of unique); insert into mapped2 values ('a'), ('a')",
          ERR_INTERNAL_ERROR, "" },
        { "do $$ begin raise exception using errcode = '40P01'; end $$", ERR_SERVICE_UNAVAILABLE, "" },
        { "do $$ begin raise exception using errcode = '53300'; end $$", ERR_SERVICE_UNAVAILABLE, "" },
        { "do $$ begin raise exception using errcode = '57014'; end $$", ERR_SERVICE_UNAVAILABLE, "" },
        { "do $$ begin raise exception using errcode = '08006'; end $$", ERR_SERVICE_UNAVAILABLE, "" },
        { "set statement_timeout = 20; select pg_sleep(5)", ERR_SERVICE_UNAVAILABLE, "" },
        { "select 3000000000::integer", ERR_INVALID_REQUEST, "" },
        { "select no_such_column", ERR_INTERNAL_ERROR, "" },
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct error err = { .code = ERR_NONE };
        assert_false(db_script(conn, cases[i].sql, &err));
        if (err.code != cases[i].code)
            fail_msg("%s gave code %d (%s)", cases[i].sql, (int)err.code, err.message);
        assert_string_equal(err.param, cases[i].param);
        assert_string_not_equal(err.sqlstate, "");
        /* The message for the caller has no details of the database. */
        assert_null(strstr(err.message, "mapped"));
        assert_null(strstr(err.message, "no_such_column"));
    }
}

static void test_bad_connection_strings(void **state)
{
    (void)state;
    static const char *const urls[] = { "postgres://user:hush@[bad", "hush hush", "host=/tmp/no-such-folder user=x",
                                        "host=127.0.0.1 port=1 user=x password=hush" };
    for (size_t i = 0; i < ARRAY_COUNT(urls); i++) {
        struct db_config config = { .url = urls[i] };
        struct db *nowhere = db_new(&config);
        struct db_conn *none = NULL;
        struct error err = { .code = ERR_NONE };
        assert_false(db_connect(nowhere, 50, &none, &err));
        assert_int_equal(err.code, i < 2 ? ERR_INVALID_REQUEST : ERR_SERVICE_UNAVAILABLE);
        assert_null(strstr(err.message, "hush"));
        assert_null(strstr(err.cause, "hush"));
        assert_null(none);
        db_free(nowhere);
    }
}

static void test_refusal_is_not_waited_for(void **state)
{
    (void)state;
    char *url = arena_printf(arena, "%s dbname=no_such_database", cluster_url(arena, folder));
    struct db_config config = { .url = url };
    struct db *refused = db_new(&config);
    struct db_conn *none = NULL;
    struct error err = { .code = ERR_NONE };
    enum { NEVER_MS = 600 * 1000 }; /* a call that waited for it would not end within the limit of a test */
    assert_false(db_connect(refused, NEVER_MS, &none, &err));
    assert_non_null(strstr(err.cause, "no_such_database"));
    db_free(refused);
}

/* ---- Pages ---- */

static const struct db_field wide_fields[] = { FIELD(pair, small, DB_INTEGER, true), FIELD(pair, words, DB_TEXT, true) };
#define WIDE_PAGE(statement_name, text)                                                                                            \
    static const struct db_statement statement_name = {                                                                            \
        .name = #statement_name,                                                                                                   \
        .result = DB_PAGE,                                                                                                         \
        .sql = (text),                                                                                                             \
        .columns = wide_fields,                                                                                                    \
        .column_count = ARRAY_COUNT(wide_fields),                                                                                  \
        .row_size = sizeof(struct pair),                                                                                           \
    }
WIDE_PAGE(wide_rows, "select n, repeat('x', 1000000) from generate_series(1, 40) n");
WIDE_PAGE(one_wide_row, "select n, repeat('x', 9000000) from generate_series(1, 2) n");
WIDE_PAGE(narrow_rows, "select n, n::text from generate_series(1, 40) n");
WIDE_PAGE(failing_rows, "select n, (100 / (n - 30))::text from generate_series(1, 40) n");
WIDE_PAGE(no_rows, "select 1, 'x' where false");

static void assert_page(const struct db_batch *batch, size_t index, size_t count, bool is_cut)
{
    const struct db_rows *rows = db_batch_rows(batch, index);
    const struct pair *row = rows->rows;
    assert_int_equal(rows->count, count);
    assert_int_equal(rows->is_cut, is_cut);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(row[i].small.value, i + 1);
}

/* A page is cut where its rows are too large, beside other statements of the pipeline. */
static void test_pages_are_bounded(void **state)
{
    (void)state;
    struct error err;
    struct db_batch *batch = db_batch_new(conn, arena);
    const struct db_statement *statements[] = { &wide_rows, &count_items, &narrow_rows, &one_wide_row, &no_rows, &narrow_rows };
    fresh_items();
    for (size_t i = 0; i < ARRAY_COUNT(statements); i++)
        db_batch_add(batch, statements[i], NULL);
    assert_ok(db_batch_run(batch, &err), &err);
    assert_page(batch, 0, 8, true);
    assert_int_equal(strlen(((const struct pair *)db_batch_rows(batch, 0)->rows)[7].words), 1000000);
    assert_int_equal(db_batch_rows(batch, 1)->count, 1);
    assert_page(batch, 2, 40, false);
    assert_page(batch, 3, 1, true);
    assert_page(batch, 4, 0, false);
    assert_page(batch, 5, 40, false);
    /* The results themselves count, and little more: eight wide rows of a page, and one that is wider than a page. */
    assert_in_range(arena_used_bytes(arena), 17 * 1000 * 1000, 18 * 1000 * 1000);
}

/* A statement that fails after some rows, and those behind it. */
static void test_pages_fail(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct db_batch *batch = db_batch_new(conn, arena);
    db_batch_add(batch, &failing_rows, NULL);
    db_batch_add(batch, &narrow_rows, NULL);
    assert_false(db_batch_run(batch, &err));
    assert_string_equal(err.sqlstate, "22012");
    batch = db_batch_new(conn, arena);
    db_batch_add(batch, &narrow_rows, NULL);
    error_clear(&err);
    assert_ok(db_batch_run(batch, &err), &err);
    assert_page(batch, 0, 40, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_results_that_do_not_fit),
        TEST(test_nothing_is_committed_without_room),
        TEST(test_batch_is_one_round_trip),
        TEST(test_batch_fails_whole),
        TEST(test_pages_are_bounded),
        TEST(test_pages_fail),
        TEST(test_batch_each_fails_alone),
        TEST(test_large_batch_does_not_hang),
        TEST(test_failed_prepare_is_forgotten),
        TEST(test_stale_plan_is_renewed),
        TEST(test_early_return_rolls_back),
        TEST(test_commit_keeps),
        TEST(test_failed_transaction_cannot_commit),
        TEST(test_empty_transaction_costs_nothing),
        TEST(test_conflict_is_retryable),
        TEST(test_errors_are_mapped),
        TEST(test_bad_connection_strings),
        TEST(test_refusal_is_not_waited_for),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
