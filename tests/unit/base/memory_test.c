/* Errors, arenas and buffers: ownership, release, and behaviour at the limits. */
#include "fixtures/base_case.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/text.h"

#include <stdalign.h>
#include <stdio.h>
#include <string.h>

/* ---- Errors ---- */

static void test_fail_records_once(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE, .retry_after_s = 7, .details_json = "{}" };
    assert_false(fail(&err, ERR_NOT_FOUND, "sendId", "No %s with %d.", "send", 5));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_string_equal(err.param, "sendId");
    assert_string_equal(err.message, "No send with 5.");
    assert_non_null(strstr(err.file, "memory_test.c"));
    assert_true(err.line > 0);
    /* Earlier members of the error are kept: the wait is often set first. */
    assert_int_equal(err.retry_after_s, 7);
    assert_string_equal(err.details_json, "{}");

    assert_false(error_because(&err, "relation %s", "x"));
    assert_string_equal(err.cause, "relation x");
    assert_false(error_with_details(&err, "{\"a\":1}"));
    assert_string_equal(err.details_json, "{\"a\":1}");

    assert_false(fail(&err, ERR_INVALID_REQUEST, NULL, "Other."));
    assert_string_equal(err.param, "");
    error_clear(&err);
    assert_int_equal(err.code, ERR_NONE);
    assert_int_equal(err.retry_after_s, 0);
    assert_null(err.details_json);
    assert_string_equal(err.message, "");
}

static void test_errors_are_cut_at_their_bounds(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    char longer[2000];
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    fail(&err, ERR_INVALID_REQUEST, longer, "%s", longer);
    assert_int_equal(strlen(err.param), ERROR_PARAM_MAX_BYTES - 1);
    assert_int_equal(strlen(err.message), ERROR_MESSAGE_MAX_BYTES - 1);
    error_because(&err, "%s", longer);
    assert_int_equal(strlen(err.cause), ERROR_CAUSE_MAX_BYTES - 1);
}

/* Half a character would make the answer's JSON invalid. */
static void test_cutting_splits_no_character(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    char name[600] = "";
    for (int i = 0; i < 280; i++)
        memcpy(name + 2 * i, "\xc3\xa9", 3);
    fail(&err, ERR_INVALID_REQUEST, name, "%.81s is not a known key. %s", name, name);
    assert_true(utf8_is_valid(err.param, strlen(err.param)));
    assert_true(utf8_is_valid(err.message, strlen(err.message)));
    assert_int_equal(strlen(err.param), ERROR_PARAM_MAX_BYTES - 2);
    assert_non_null(strstr(err.message, "\xc3\xa9 is not a known key. \xc3\xa9"));
    error_because(&err, "x%s", name);
    assert_true(utf8_is_valid(err.cause, strlen(err.cause)));
    error_param_prefix(&err, "x");
    assert_true(utf8_is_valid(err.param, strlen(err.param)));
}

/* a dotted path. */
static void test_param_prefix_makes_paths(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    fail(&err, ERR_INVALID_REQUEST, "field", "No.");
    error_param_prefix(&err, "filters.0");
    error_param_prefix(&err, "audience");
    assert_string_equal(err.param, "audience.filters.0.field");

    fail(&err, ERR_INVALID_REQUEST, NULL, "No.");
    error_param_prefix(&err, "filters");
    assert_string_equal(err.param, "filters");

    char longer[300];
    memset(longer, 'y', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    error_param_prefix(&err, longer);
    assert_int_equal(strlen(err.param), ERROR_PARAM_MAX_BYTES - 1);
    assert_int_equal(err.param[0], 'y');
}

static void test_codes_have_names(void **state)
{
    (void)state;
    for (int code = ERR_NONE + 1; code < ERROR_CODE_COUNT; code++) {
        const struct error_info *info = error_info((enum error_code)code);
        /* code, type and suggestion are never empty. */
        assert_true(info->name[0] != '\0' && info->type[0] != '\0' && info->suggestion[0] != '\0');
        assert_int_equal(error_code_from_name(info->name, ERR_NONE), code);
    }
    assert_int_equal(error_code_from_name("NO_SUCH_CODE", ERR_INTERNAL_ERROR), ERR_INTERNAL_ERROR);
    assert_int_equal(error_code_from_name(NULL, ERR_NOT_FOUND), ERR_NOT_FOUND);
}

/* ---- Arenas ---- */

static char order[16];

static void note_release(void *object)
{
    strncat(order, object, sizeof(order) - strlen(order) - 1);
}

static char *name_of(struct arena *arena, const char *text)
{
    return arena_dup(arena, text);
}

static void test_deferred_releases_run_newest_first(void **state)
{
    (void)state;
    struct arena *arena = arena_new(0);
    order[0] = '\0';
    /* A released object is still readable, because the memory is freed after all releases. */
    arena_defer(arena, note_release, name_of(arena, "a"));
    arena_defer(arena, note_release, name_of(arena, "b"));
    for (int i = 0; i < 100; i++)
        arena_alloc(arena, 1000);
    arena_defer(arena, note_release, name_of(arena, "c"));
    assert_string_equal(order, "");
    arena_reset(arena);
    assert_string_equal(order, "cba");

    arena_defer(arena, note_release, name_of(arena, "d"));
    arena_free(arena);
    assert_string_equal(order, "cbad");
    arena_free(NULL);
}

static void test_memory_is_zeroed_and_aligned(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(0);
    for (int round = 0; round < 3; round++) {
        for (size_t size = 0; size < 3000; size += 7) {
            unsigned char *memory = arena_alloc(arena, size);
            assert_int_equal((uintptr_t)memory % alignof(max_align_t), 0);
            for (size_t i = 0; i < size; i++)
                assert_int_equal(memory[i], 0);
            memset(memory, 0xa5, size);
        }
        arena_reset(arena);
        assert_int_equal(arena_used_bytes(arena), 0);
    }
    /* Larger than any block. */
    unsigned char *large = arena_alloc(arena, 3 * 1024 * 1024);
    for (size_t i = 0; i < 3 * 1024 * 1024; i++)
        assert_int_equal(large[i], 0);
    memset(large, 1, 3 * 1024 * 1024);
    assert_true(arena_used_bytes(arena) >= 3 * 1024 * 1024);
    int64_t *array = arena_array(arena, 10, sizeof(int64_t));
    array[9] = 1;
}

static void test_allocations_do_not_overlap(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(0);
    enum { COUNT = 2000 };
    char *texts[COUNT];
    for (int i = 0; i < COUNT; i++)
        texts[i] = arena_printf(arena, "%0*d", 1 + i % 40, i);
    for (int i = 0; i < COUNT; i++)
        assert_string_equal(texts[i], arena_printf(arena, "%0*d", 1 + i % 40, i));
}

static void test_copies(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(0);
    assert_null(arena_dup(arena, NULL));
    assert_string_equal(arena_dup(arena, ""), "");
    assert_string_equal(arena_dup(arena, "abc"), "abc");
    assert_memory_equal(arena_dup_bytes(arena, "a\0b", 3), "a\0b\0", 4);
    assert_string_equal(arena_dup_bytes(arena, NULL, 0), "");
    char long_text[5000];
    memset(long_text, 'q', sizeof(long_text) - 1);
    long_text[sizeof(long_text) - 1] = '\0';
    assert_string_equal(arena_printf(arena, "%s", long_text), long_text);
}

static void fill_past_the_bound(void)
{
    struct arena *arena = arena_new(4096);
    for (;;)
        arena_alloc(arena, 4000);
}

static void ask_for_almost_everything(void)
{
    struct arena *arena = arena_new(4096);
    arena_alloc(arena, 100);
    volatile size_t huge = SIZE_MAX - 15;
    arena_alloc(arena, huge);
}

static void ask_for_too_many(void)
{
    struct arena *arena = arena_new(0);
    volatile size_t count = SIZE_MAX / 8 + 2;
    arena_array(arena, count, 8);
}

static void pass_the_default_bound(void)
{
    struct arena *arena = arena_new(0);
    arena_alloc(arena, 2 * (size_t)ARENA_DEFAULT_MAX_BYTES);
}

/* Outside of a catch; tests/unit/base/unwind_test.c has the others. */
static void test_bounds_abort(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(4096);
    /* The bound itself is inside, also round after round. */
    for (int i = 0; i < 10; i++) {
        arena_alloc(arena, 4096);
        arena_reset(arena);
    }
    /* Errors and headers may pass it. */
    arena_alloc(arena, 4096);
    arena_alloc(arena, 4096);
    assert_aborts(fill_past_the_bound);
    assert_aborts(ask_for_almost_everything);
    assert_aborts(ask_for_too_many);
    assert_aborts(pass_the_default_bound);
}

/* ---- Buffers ---- */

static void test_buf_grows_to_its_maximum(void **state)
{
    (void)state;
    BUF_SCOPE buf;
    buf_init(&buf, 1000);
    assert_string_equal(buf_text(&buf), "");
    for (int i = 0; i < 100; i++) {
        buf_add_text(&buf, "0123456789");
        assert_int_equal(buf.size, (size_t)(i + 1) * 10);
        assert_int_equal(buf.data[buf.size], '\0');
    }
    assert_false(buf.overflowed);
    buf_add(&buf, NULL, 0);
    assert_false(buf.overflowed);

    buf_add_char(&buf, 'x');
    assert_true(buf.overflowed);
    assert_int_equal(buf.size, 1000);
    assert_int_equal(strlen(buf_text(&buf)), 1000);
    assert_int_equal(buf_text(&buf)[999], '9');
}

static void test_buf_remembers_overflow(void **state)
{
    (void)state;
    BUF_SCOPE buf;
    buf_init(&buf, 10);
    buf_add_text(&buf, "12345678");
    buf_add_text(&buf, "too long");
    assert_true(buf.overflowed);
    /* What would fit is refused too: a text with a hole in it is worse than none. */
    buf_add_char(&buf, '9');
    buf_printf(&buf, "%d", 9);
    assert_null(buf_room(&buf, 1));
    assert_string_equal(buf_text(&buf), "12345678");
    buf_drop_front(&buf, 7);
    assert_true(buf.overflowed);
    assert_string_equal(buf_text(&buf), "8");
    buf_drop_front(&buf, 100);
    assert_true(buf.overflowed);
    assert_string_equal(buf_text(&buf), "");

    buf_clear(&buf);
    assert_false(buf.overflowed);
    buf_printf(&buf, "%s-%d", "abc", 12);
    assert_string_equal(buf_text(&buf), "abc-12");
    buf_printf(&buf, "%d", 12345);
    assert_true(buf.overflowed);
    assert_string_equal(buf_text(&buf), "abc-12");
}

static void test_buf_room_and_front(void **state)
{
    (void)state;
    BUF_SCOPE buf;
    buf_init(&buf, 1 << 20);
    char *room = buf_room(&buf, 3000);
    memset(room, 'z', 3000);
    buf_grown(&buf, 2000);
    assert_int_equal(buf.size, 2000);
    assert_int_equal(buf.data[2000], '\0');
    buf_add_text(&buf, "end");
    buf_drop_front(&buf, 1999);
    assert_string_equal(buf_text(&buf), "zend");
    buf_drop_front(&buf, 0);
    assert_string_equal(buf_text(&buf), "zend");
    buf_drop_front(&buf, 99);
    assert_string_equal(buf_text(&buf), "");
    assert_null(buf_room(&buf, SIZE_MAX));
    assert_true(buf.overflowed);

    buf_done(&buf);
    assert_string_equal(buf_text(&buf), "");
    assert_int_equal(buf.max_bytes, 1 << 20);
    buf_add_text(&buf, "again");
    assert_string_equal(buf_text(&buf), "again");
}

/* Its storage becomes a large block, and a larger one, and an ordinary one again. */
static void test_buf_of_megabytes(void **state)
{
    (void)state;
    enum { LINE_BYTES = 1000, LINES = 5500 };
    BUF_SCOPE buf;
    buf_init(&buf, 8 << 20);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < LINES; i++)
            buf_printf(&buf, "%0*d", LINE_BYTES, i);
        assert_int_equal(buf.size, LINES * LINE_BYTES);
        for (int i = 0; i < LINES; i++) {
            char line[LINE_BYTES + 1];
            snprintf(line, sizeof(line), "%0*d", LINE_BYTES, i);
            assert_memory_equal(buf.data + i * LINE_BYTES, line, LINE_BYTES);
        }
        assert_int_equal(buf.data[buf.size], '\0');
        buf_done(&buf);
        buf_add_text(&buf, "small");
        buf_clear(&buf);
    }
    assert_non_null(buf_room(&buf, 5 << 20)); /* at once */
    assert_true(buf.capacity > 5 << 20);
    assert_null(buf_room(&buf, 9 << 20));
}

static void test_buf_lives_with_its_arena(void **state)
{
    (void)state;
    struct arena *arena = arena_new(0);
    struct buf *buf = buf_in_arena(arena, 100);
    buf_add_text(buf, "kept");
    assert_string_equal(buf_text(buf), "kept");
    /* Its storage is not arena memory; a leak checker sees when this does not free it. */
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fail_records_once),
        cmocka_unit_test(test_errors_are_cut_at_their_bounds),
        cmocka_unit_test(test_cutting_splits_no_character),
        cmocka_unit_test(test_param_prefix_makes_paths),
        cmocka_unit_test(test_codes_have_names),
        cmocka_unit_test(test_deferred_releases_run_newest_first),
        cmocka_unit_test(test_memory_is_zeroed_and_aligned),
        cmocka_unit_test(test_allocations_do_not_overlap),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_bounds_abort),
        cmocka_unit_test(test_buf_grows_to_its_maximum),
        cmocka_unit_test(test_buf_remembers_overflow),
        cmocka_unit_test(test_buf_room_and_front),
        cmocka_unit_test(test_buf_of_megabytes),
        cmocka_unit_test(test_buf_lives_with_its_arena),
    };
    return cmocka_run_group_tests_name("base: error, arena, buf", tests, NULL, NULL);
}
