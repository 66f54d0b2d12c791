/* The memory of a save grows with its rows, not with their pairs: batches and imports whose rows have one address. */
#include "fixtures/own_fail.h"

#include "fixtures/engine_fixture.h"

#include "engine/contacts/contacts.h"
#include "engine/imports/imports.h"

#include <string.h>

enum { SIZES = 4, FIELDS = 100 };

static int begin(void **state)
{
    if (world_reset(state) != 0)
        return -1;
    run_sql("delete from imports; delete from contact_fields");
    return 0;
}

#undef TEST
#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, world_leave)

/* Each size is twice the one before. The bound admits n log n. */
static void assert_grows_with_rows(const size_t bytes[SIZES])
{
    for (size_t i = 1; i < SIZES; i++)
        if (bytes[i] > bytes[i - 1] * 23 / 10)
            fail_msg("twice the rows need %zu bytes instead of %zu", bytes[i], bytes[i - 1]);
}

static json_t *numbered_object(const char *prefix, size_t count, json_t *value)
{
    json_t *object = json_object();
    for (size_t i = 0; i < count; i++)
        json_object_set(object, arena_printf(arena, "%s%zu", prefix, i), value);
    json_decref(value);
    return json_in_arena(arena, object);
}

/* ---- Batches ---- */

static void save_rows(const struct contact_change *changes, size_t count)
{
    struct error err;
    struct contact_batch batch;
    DB_TX tx;
    assert_ok(db_tx_begin(conn, &tx, &err), &err);
    assert_ok(contact_save_batch(&work, changes, count, &batch, &err), &err);
    assert_int_equal(batch.refusal_count, 0);
    assert_ok(db_tx_commit(&tx, &err), &err);
}

static size_t bytes_of_batch(const struct contact_change *changes, size_t count)
{
    struct arena *outer = work.arena;
    ARENA_SCOPE own = arena_new(0);
    work.arena = own;
    save_rows(changes, count);
    work.arena = outer;
    return arena_used_bytes(own);
}

static void test_rows_of_one_address(void **state) /* */
{
    (void)state;
    struct contact_change changes[CONTACTS_MAX_BATCH_ROWS];
    for (size_t i = 0; i < CONTACTS_MAX_BATCH_ROWS; i++)
        changes[i] = (struct contact_change){ .email = "ann@example.com",
                                              .custom_fields = numbered_object("field", FIELDS, json_integer((json_int_t)i)),
                                              .subscription_groups = numbered_object("group", FIELDS, json_boolean(i % 2)) };
    size_t bytes[SIZES];
    for (size_t i = 0; i < SIZES; i++)
        bytes[i] = bytes_of_batch(changes, CONTACTS_MAX_BATCH_ROWS >> (SIZES - 1 - i));
    assert_grows_with_rows(bytes);
    assert_int_equal(number_of("select count(*) from contacts where custom_fields ->> 'field99' = '999'"), 1);
}

/* The merged rows have the most fields of a brand, with the longest texts. */
static void test_longest_values_of_one_address(void **state) /* */
{
    (void)state;
    struct contact_change changes[FIELDS_MAX_PER_BRAND / FIELDS];
    char text[FIELD_TEXT_MAX_CHARS * 4 + 1] = "";
    for (size_t i = 0; i < FIELD_TEXT_MAX_CHARS; i++)
        memcpy(text + 4 * i, "\xf0\x9d\x90\x80", 4);
    for (size_t i = 0; i < ARRAY_COUNT(changes); i++)
        changes[i] = (struct contact_change){
            .email = "ann@example.com",
            .custom_fields = numbered_object(arena_printf(arena, "field%zux", i), FIELDS, json_string(text)),
        };
    save_rows(changes, ARRAY_COUNT(changes));
    assert_int_equal(number_of("select count(*) from contacts c, jsonb_each_text(c.custom_fields) f where length(f.value) = 2000"),
                     FIELDS_MAX_PER_BRAND);
}

/* ---- Imports ---- */

static void open_import(const char *csv, struct import *ret_import)
{
    struct error err;
    struct import_asked asked;
    DB_TX tx;
    assert_ok(db_tx_begin(conn, &tx, &err), &err);
    assert_ok(import_create(&work, &(struct import_request){ .csv = csv }, &asked, &err), &err);
    assert_ok(db_tx_commit(&tx, &err), &err);
    assert_ok(import_open(&work, asked.id, ret_import, &err), &err);
}

static void read_first_chunk(const struct import *import, struct import_chunk *chunk)
{
    struct error err;
    struct import_error_budget budget = { .kept = 0 };
    IMPORT_READING_SCOPE reading;
    import_reading_begin(&reading, &import->source, import->plan.charset, import->plan.delimiter, import->plan.data_offset,
                         import->plan.data_line);
    assert_ok(import_chunk_read(chunk, &import->plan, &reading, &budget, &err), &err);
}

/* The memory of the shard that saves a chunk. */
static size_t bytes_of_shard(const char *csv)
{
    struct error err;
    IMPORT_SCOPE import;
    open_import(csv, &import);
    struct import_chunk *chunk = import_chunk_new(arena);
    read_first_chunk(&import, chunk);
    assert_true(chunk->is_last);
    ARENA_SCOPE own = arena_new(0);
    size_t bytes = 0;
    for (int64_t i = 0; i < IMPORT_SHARDS; i++) {
        struct import_shard shard = { .work = work, .import_id = import.row->id, .shard = i };
        shard.work.arena = own;
        assert_ok(import_shard_apply(&shard, chunk, &err), &err);
        bytes += arena_used_bytes(own);
    }
    return bytes;
}

static void test_csv_rows_of_one_address(void **state) /* */
{
    (void)state;
    size_t bytes[SIZES];
    for (size_t i = 0; i < SIZES; i++) {
        struct buf *csv = buf_in_arena(arena, 1024 * 1024);
        buf_add_text(csv, "email,plan\n");
        for (size_t row = 0; row < (size_t)2000 << i; row++)
            buf_printf(csv, "ann@example.com,p%zu\n", row);
        run_sql("delete from contacts");
        bytes[i] = bytes_of_shard(buf_text(csv));
    }
    assert_grows_with_rows(bytes);
    assert_int_equal(number_of("select count(*) from contacts where custom_fields ->> 'plan' = 'p15999'"), 1);
}

/* Short cells below long column names: a chunk ends before the names, which each row repeats, fill the memory. */
static void test_long_column_names(void **state) /* */
{
    (void)state;
    enum { COLUMNS = 400, NAME_CHARS = 36, ROWS = 1500, CHUNK_MAX_BYTES = 24 * 1024 * 1024 };
    struct buf *csv = buf_in_arena(arena, 4 * 1024 * 1024);
    buf_add_text(csv, "email");
    for (size_t column = 0; column < COLUMNS; column++) {
        buf_printf(csv, ",x%zu", column);
        for (size_t i = 0; i < NAME_CHARS; i++)
            buf_add_text(csv, "\xf0\x9d\x90\x80");
    }
    for (size_t row = 0; row < ROWS; row++) {
        buf_printf(csv, "\na%zu@example.com", row);
        for (size_t column = 0; column < COLUMNS; column++)
            buf_add_text(csv, ",1");
    }
    IMPORT_SCOPE import;
    open_import(buf_text(csv), &import);
    struct import_chunk *chunk = import_chunk_new(arena);
    read_first_chunk(&import, chunk);
    assert_false(chunk->is_last);
    assert_true(chunk->parts[0].count + chunk->parts[1].count > 0);
    assert_true(arena_used_bytes(chunk->arena) < CHUNK_MAX_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_rows_of_one_address),
        TEST(test_longest_values_of_one_address),
        TEST(test_csv_rows_of_one_address),
        TEST(test_long_column_names),
    };
    return cmocka_run_group_tests_name("engine: growth of memory", tests, world_begin, world_end);
}
