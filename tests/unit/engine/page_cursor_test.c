/* Keyset pagination: a page cursor is valid only for its list, organization, brand and day, shows no number, and a changed cursor
 * is refused. */
#include "fixtures/own_fail.h"

#include "base/clock.h"
#include "base/json_read.h"
#include "base/text.h"
#include "engine/core/page.h"

#include <string.h>

static struct arena *arena; /* one per test */
static struct engine engine;
static struct work work;
static struct error err;

static int setup(void **state)
{
    (void)state;
    crypto_start();
    arena = arena_new(0);
    memset(engine.token_key, 7, sizeof(engine.token_key));
    token_keys_init(&engine.token_keys, engine.token_key);
    work =
        (struct work){ .engine = &engine, .arena = arena, .organization_id = 3, .brand_id = 11, .now_us = 1795253400 * US_PER_S };
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

static const char binding[] = "contacts.search\n{\"a\":1}";

static struct page_cursor read_place(const char *cursor)
{
    struct page_cursor place;
    err = (struct error){ .code = ERR_NONE };
    if (!page_cursor_read(&work, binding, cursor, &place, &err))
        fail_msg("%s: %s", cursor, err.message);
    return place;
}

/* 400 with the param cursor. */
static void assert_refused(const char *cursor, const char *words)
{
    struct page_cursor place = { .set = true, .id = 99 };
    err = (struct error){ .code = ERR_NONE };
    if (page_cursor_read(&work, binding, cursor, &place, &err))
        fail_msg("'%s' was accepted", cursor);
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
    assert_string_equal(err.param, "cursor");
    if (strstr(err.message, words) == NULL)
        fail_msg("'%s' does not say '%s'", err.message, words);
    assert_false(place.set);
}

static void test_no_cursor_is_the_start(void **state)
{
    (void)state;
    struct page_cursor place = read_place(NULL);
    assert_false(place.set);
    assert_int_equal(place.id, 0);
}

/* a cursor names the last row. */
static void test_places_come_back(void **state)
{
    (void)state;
    struct page_cursor place = read_place(page_cursor(&work, binding, &(struct page_cursor){ .number = -5, .id = INT64_MAX }));
    assert_true(place.set);
    assert_int_equal(place.number, -5);
    assert_true(place.id == INT64_MAX);
    assert_null(place.text);
    assert_false(place.is_null);

    place = read_place(page_cursor(&work, binding, &(struct page_cursor){ .text = "caf\xc3\xa9", .id = 3 }));
    assert_string_equal(place.text, "caf\xc3\xa9");
    assert_int_equal(place.id, 3);
    place = read_place(page_cursor(&work, binding, &(struct page_cursor){ .text = "", .id = 3 }));
    assert_string_equal(place.text, "");
    place = read_place(page_cursor(&work, binding, &(struct page_cursor){ .is_null = true, .id = 4 }));
    assert_true(place.is_null);
    assert_null(place.text);
}

static void test_long_keys_are_bounded(void **state)
{
    (void)state;
    char text[2000];
    memset(text, 'k', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    const char *cursor = page_cursor(&work, binding, &(struct page_cursor){ .text = text, .id = 3 });
    assert_true(strlen(cursor) <= PAGE_CURSOR_MAX_CHARS);
    assert_int_equal(strlen(read_place(cursor).text), PAGE_TEXT_KEY_MAX_BYTES);
}

/* A cursor of another list, filter, order, brand, organization or installation. */
static void test_bound_to_its_list(void **state)
{
    (void)state;
    const struct page_cursor place = { .number = 1, .id = 2 };
    assert_refused(page_cursor(&work, "contacts.search\n{\"a\":2}", &place), "another list");
    assert_refused(page_cursor(&work, "", &place), "another list");
    struct work other = work;
    other.brand_id = 12;
    assert_refused(page_cursor(&other, binding, &place), "another list");
    other = work;
    other.organization_id = 4;
    assert_refused(page_cursor(&other, binding, &place), "another list");
    /* a list of an organization has no brand. */
    other.brand_id = work.brand_id = 0;
    assert_refused(page_cursor(&other, binding, &place), "another list");
    struct engine elsewhere = engine;
    elsewhere.token_keys.tag[0] ^= 1;
    other = work;
    other.engine = &elsewhere;
    assert_refused(page_cursor(&other, binding, &place), "cursor is not valid");
}

/* 24 hours, then an honest refusal. */
static void test_age(void **state)
{
    (void)state;
    const char *cursor = page_cursor(&work, binding, &(struct page_cursor){ .id = 2 });
    work.now_us += 24 * INT64_C(3600) * US_PER_S;
    assert_int_equal(read_place(cursor).id, 2);
    work.now_us += 1;
    assert_refused(cursor, "older than 24 hours");
    work.now_us -= 25 * INT64_C(3600) * US_PER_S;
    assert_int_equal(read_place(cursor).id, 2);
}

static void write_numbers(struct page *page)
{
    while (page_next_row(page))
        json_int(page->json, (int64_t)page->shown);
}

/* The cursor of a written page; NULL when it has none. */
static const char *cursor_in(const struct buf *out)
{
    static const char before[] = "\"cursor\":\"";
    const char *start = strstr(buf_text(out), before);
    return start != NULL ? arena_dup_bytes(arena, start + strlen(before), strcspn(start + strlen(before), "\"")) : NULL;
}

/* A catalogue is paged by offset, and its cursor is bound like any other. */
static void test_offsets(void **state)
{
    (void)state;
    struct buf *out = buf_in_arena(arena, 4096);
    struct json_writer json;
    size_t offset = 99;
    err = (struct error){ .code = ERR_NONE };
    assert_true(page_offset_read(&work, binding, NULL, &offset, &err));
    assert_int_equal(offset, 0);

    json_writer_init(&json, out);
    struct page page = page_offset_begin(&json, 3, 0, 4);
    write_numbers(&page);
    page_offset_end(&page, &work, binding, 0);
    assert_non_null(strstr(buf_text(out), "\"hasMore\":true"));
    const char *cursor = cursor_in(out);
    assert_true(page_offset_read(&work, binding, cursor, &offset, &err));
    assert_int_equal(offset, 3);
    assert_false(page_offset_read(&work, "another", cursor, &offset, &err));
    assert_string_equal(err.param, "cursor");

    buf_clear(out);
    json_writer_init(&json, out);
    page = page_offset_begin(&json, 3, 6, 4);
    write_numbers(&page);
    page_offset_end(&page, &work, binding, 6);
    assert_string_equal(buf_text(out), "{\"data\":[],\"pagination\":{\"limit\":3,\"cursor\":null,\"hasMore\":false}}");
}

/* ids of rows count the rows of all brands, so two cursors must not show how many were made in between. */
static void test_no_number_shows(void **state)
{
    (void)state;
    const struct page_cursor place = { .number = 0x1112131415161718, .id = 0x2122232425262728, .text = "ada@example.com" };
    size_t size;
    const unsigned char *bytes = base64url_decode(arena, page_cursor(&work, binding, &place), &size);
    assert_null(memmem(bytes, size, "ada", 3));
    assert_null(memmem(bytes, size, &work.now_us, sizeof(work.now_us)));
    assert_null(memmem(bytes, size, &place.id, sizeof(place.id)));
    assert_null(memmem(bytes, size, &place.number, sizeof(place.number)));
}

static void test_tampering(void **state)
{
    (void)state;
    const char *cursor = page_cursor(&work, binding, &(struct page_cursor){ .text = "key", .id = 2 });
    size_t size;
    unsigned char *bytes = base64url_decode(arena, cursor, &size);
    for (size_t i = 0; i < size; i++) {
        bytes[i] ^= 1;
        assert_refused(base64url_encode(arena, bytes, size), "cursor is not valid");
        bytes[i] ^= 1;
    }
    assert_refused("", "cursor is not valid");
    assert_refused("x", "cursor is not valid");
    assert_refused("5", "cursor is not valid");
    assert_refused(arena_printf(arena, "%s=", cursor), "cursor is not valid");
    /* A token of another purpose, and one of ours that is too short to be a cursor. */
    struct bytes payload;
    assert_true(token_open(arena, &engine.token_keys, "page", cursor, &payload));
    assert_refused(token_seal(arena, &engine.token_keys, "link", payload.data, payload.size), "cursor is not valid");
    assert_refused(token_seal(arena, &engine.token_keys, "page", "short", 5), "cursor is not valid");
}

/* A page of three from `found` rows, numbered from 1; gives the cursor. */
static const char *write_page(struct buf *out, size_t found)
{
    struct json_writer json;
    json_writer_init(&json, out);
    struct page page = page_begin(&json, 3, (struct db_page){ .count = found });
    write_numbers(&page);
    page_end(&page, &work, binding, (struct page_cursor){ .id = (int64_t)page.shown });
    json_member_bool(&json, "extra", true);
    json_object_end(&json);
    return cursor_in(out);
}

/* data and pagination; the cursor is null exactly when there is no more. */
static void test_pages(void **state)
{
    (void)state;
    BUF_SCOPE out;
    buf_init(&out, 4000);
    assert_null(write_page(&out, 0));
    assert_string_equal(buf_text(&out),
                        "{\"data\":[],\"pagination\":{\"limit\":3,\"cursor\":null,\"hasMore\":false},\"extra\":true}");
    buf_clear(&out);
    assert_null(write_page(&out, 3));
    assert_string_equal(buf_text(&out),
                        "{\"data\":[1,2,3],\"pagination\":{\"limit\":3,\"cursor\":null,\"hasMore\":false},\"extra\":true}");
    buf_clear(&out);
    /* The fourth row only says that there are more. */
    const char *next = write_page(&out, 4);
    assert_non_null(next);
    assert_string_equal(buf_text(&out), arena_printf(arena,
                                                     "{\"data\":[1,2,3],\"pagination\":{\"limit\":3,\"cursor\":\"%s\","
                                                     "\"hasMore\":true},\"extra\":true}",
                                                     next));
    assert_int_equal(read_place(next).id, 3);
}

/* A page of texts of this size; gives the number of rows. */
static size_t write_wide_page(struct db_page found, size_t row_bytes, const char **ret_next)
{
    struct json_writer json;
    struct buf *out = buf_in_arena(arena, 2 * PAGE_MAX_BYTES);
    char *text = arena_alloc(arena, row_bytes + 1);
    memset(text, 'x', row_bytes);
    json_writer_init(&json, out);
    struct page page = page_begin(&json, 10, found);
    while (page_next_row(&page)) {
        json_array_begin(&json);
        json_text(&json, text);
        json_array_end(&json);
    }
    page_end(&page, &work, binding, (struct page_cursor){ .id = (int64_t)page.shown });
    json_object_end(&json);
    const json_t *read;
    struct json_bounds bounds = { .max_bytes = out->size };
    if (!json_read(arena, buf_text(out), out->size, bounds, &read, &err))
        fail_msg("%s", err.message);
    assert_int_equal(json_array_size(json_object_get(read, "data")), page.shown);
    *ret_next = cursor_in(out);
    return page.shown;
}

/* a page ends with a cursor before it is too large, and has at least one row. */
static void test_wide_rows(void **state)
{
    (void)state;
    const char *next;
    assert_int_equal(write_wide_page((struct db_page){ .count = 11 }, PAGE_MAX_BYTES / 4 - 10, &next), 4);
    assert_int_equal(read_place(next).id, 4);
    assert_int_equal(write_wide_page((struct db_page){ .count = 4 }, PAGE_MAX_BYTES / 4 - 10, &next), 4);
    assert_null(next);
    /* One row alone, and one that even the buffer would not have with another one. */
    assert_int_equal(write_wide_page((struct db_page){ .count = 2 }, PAGE_MAX_BYTES + 1, &next), 1);
    assert_int_equal(read_place(next).id, 1);
    assert_int_equal(write_wide_page((struct db_page){ .count = 1 }, PAGE_MAX_BYTES + 1, &next), 1);
    assert_null(next);
    /* The database has left out rows. */
    assert_int_equal(write_wide_page((struct db_page){ .count = 2, .is_cut = true }, 1, &next), 2);
    assert_int_equal(read_place(next).id, 2);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_no_cursor_is_the_start),
        TEST(test_places_come_back),
        TEST(test_long_keys_are_bounded),
        TEST(test_bound_to_its_list),
        TEST(test_no_number_shows),
        TEST(test_age),
        TEST(test_offsets),
        TEST(test_tampering),
        TEST(test_pages),
        TEST(test_wide_rows),
    };
    return cmocka_run_group_tests_name("engine: page", tests, NULL, NULL);
}
