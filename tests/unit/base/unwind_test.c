/* Unwinding: a passed bound of memory leaves its computation only, executes its cleanups, and becomes an error. */
#include "fixtures/base_case.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/guard.h"
#include "base/unwind.h"

#include <stdlib.h>
#include <string.h>

enum { SMALL_ARENA_BYTES = 64 * 1024 };

/* ---- Cleanups ---- */

static char cleaned[16];

static void note_cleanup(const char *name)
{
    strncat(cleaned, name, sizeof(cleaned) - strlen(cleaned) - 1);
}

static void clean_text(const char **name)
{
    note_cleanup(*name);
}

static void throw_at_once(void)
{
    CLEANUP(clean_text) UNUSED const char *name = "0";
    unwind_throw("a test");
}

static void throw_one_below(void)
{
    CLEANUP(clean_text) UNUSED const char *name = "1";
    throw_at_once();
}

static void throw_from_two_below(void *context)
{
    (void)context;
    CLEANUP(clean_text) UNUSED const char *name = "a";
    throw_one_below();
    note_cleanup("never");
}

static void test_cleanups_run_from_the_inside_out(void **state)
{
    (void)state;
    cleaned[0] = '\0';
    CLEANUP(clean_text) const char *outside = "x";
    assert_false(unwind_catch(throw_from_two_below, NULL));
    assert_string_equal(cleaned, "01a");
    assert_false(unwind_is_caught());
    assert_string_equal(outside, "x");
}

static void return_normally(void *context)
{
    assert_true(unwind_is_caught());
    *(int *)context = 7;
}

static void test_a_computation_that_returns(void **state)
{
    (void)state;
    int value = 0;
    assert_true(unwind_catch(return_normally, &value));
    assert_int_equal(value, 7);
    assert_false(unwind_is_caught());
}

/* ---- Catches within catches ---- */

static void catch_within(void *context)
{
    (void)context;
    assert_false(unwind_catch(throw_from_two_below, NULL));
    assert_true(unwind_is_caught());
    note_cleanup("+");
    unwind_throw("the outer one");
}

static void test_the_innermost_catch_returns(void **state)
{
    (void)state;
    cleaned[0] = '\0';
    assert_false(unwind_catch(catch_within, NULL));
    assert_string_equal(cleaned, "01a+");
    assert_false(unwind_is_caught());
}

/* A cleanup may compute something, and pass a bound itself. */
static void throw_and_catch(const char **name)
{
    assert_false(unwind_catch(throw_from_two_below, NULL));
    note_cleanup(*name);
}

static void throw_over_such_a_cleanup(void *context)
{
    (void)context;
    CLEANUP(throw_and_catch) UNUSED const char *name = "!";
    unwind_throw("the first");
}

static void test_a_cleanup_with_a_catch_of_its_own(void **state)
{
    (void)state;
    cleaned[0] = '\0';
    assert_false(unwind_catch(throw_over_such_a_cleanup, NULL));
    assert_string_equal(cleaned, "01a!");
}

static void throw_without_a_catch(void)
{
    unwind_throw("a test");
}

static void test_without_a_catch_the_process_ends(void **state)
{
    (void)state;
    assert_aborts(throw_without_a_catch);
}

/* ---- Arenas ---- */

static void fill(void *context)
{
    struct arena *arena = context;
    for (;;)
        arena_alloc(arena, 1000);
}

static void test_an_arena_that_is_full(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(SMALL_ARENA_BYTES);
    char *before = arena_dup(arena, "still here");
    assert_false(unwind_catch(fill, arena));
    assert_true(arena_used_bytes(arena) <= SMALL_ARENA_BYTES);
    assert_string_equal(before, "still here");
    /* The error is written into the same arena. */
    assert_string_equal(arena_printf(arena, "%01000d", 7) + 999, "7");
    arena_reset(arena);
    assert_false(unwind_catch(fill, arena));
}

static void allocate_without_a_size(void *context)
{
    arena_array(context, SIZE_MAX / 2, 3);
}

static void count_too_much(void *context)
{
    arena_count(context, SMALL_ARENA_BYTES / 2);
    arena_count(context, SMALL_ARENA_BYTES / 2 + 1);
}

static void require_too_much(void *context)
{
    arena_require(context, SMALL_ARENA_BYTES / 2);
    arena_require(context, SMALL_ARENA_BYTES + 1);
}

static void test_other_ways_to_pass_the_bound(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(SMALL_ARENA_BYTES);
    assert_false(unwind_catch(allocate_without_a_size, arena));
    assert_false(unwind_catch(require_too_much, arena));
    assert_int_equal(arena_used_bytes(arena), 0);
    assert_false(unwind_catch(count_too_much, arena));
    assert_int_equal(arena_used_bytes(arena), SMALL_ARENA_BYTES / 2);
}

static int released;

static void count_release(void *object)
{
    free(object);
    released++;
}

static void defer_and_fill(void *context)
{
    arena_defer(context, count_release, malloc(1));
    fill(context);
}

/* An object that exists already is owned even by an arena that is full. */
static void test_deferred_objects_are_released(void **state)
{
    (void)state;
    struct arena *arena = arena_new(SMALL_ARENA_BYTES);
    released = 0;
    assert_false(unwind_catch(defer_and_fill, arena));
    assert_false(unwind_catch(defer_and_fill, arena));
    assert_int_equal(released, 0);
    arena_free(arena);
    assert_int_equal(released, 2);
}

static void fill_in_its_own_scope(void *context)
{
    (void)context;
    ARENA_SCOPE arena = arena_new(SMALL_ARENA_BYTES);
    BUF_SCOPE text;
    buf_init(&text, 100);
    buf_add_text(&text, "owned by this function");
    fill(arena);
}

/* AddressSanitizer reports what is not freed. */
static void test_scopes_are_freed(void **state)
{
    (void)state;
    assert_false(unwind_catch(fill_in_its_own_scope, NULL));
}

/* ---- Guards ---- */

static bool succeed(void *context, struct error *err)
{
    (void)context;
    (void)err;
    return true;
}

static bool refuse(void *context, struct error *err)
{
    (void)context;
    return fail(err, ERR_NOT_FOUND, "id", "Not here.");
}

static bool fail_and_fill(void *context, struct error *err)
{
    fail(err, ERR_NOT_FOUND, "id", "Not here.");
    fill(context);
    return true;
}

static void test_a_guard_makes_an_error(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(SMALL_ARENA_BYTES);
    struct error err = { .code = ERR_NONE };
    assert_true(guard_run(succeed, NULL, "call", &err));
    assert_int_equal(err.code, ERR_NONE);
    assert_false(guard_run(refuse, NULL, "call", &err));
    assert_int_equal(err.code, ERR_NOT_FOUND);
    assert_false(guard_run(fail_and_fill, arena, "call", &err));
    assert_int_equal(err.code, ERR_PAYLOAD_TOO_LARGE);
    assert_string_equal(err.param, "");
    assert_string_equal(err.message, "This call needs more memory than one call may use.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cleanups_run_from_the_inside_out),
        cmocka_unit_test(test_a_computation_that_returns),
        cmocka_unit_test(test_the_innermost_catch_returns),
        cmocka_unit_test(test_a_cleanup_with_a_catch_of_its_own),
        cmocka_unit_test(test_without_a_catch_the_process_ends),
        cmocka_unit_test(test_an_arena_that_is_full),
        cmocka_unit_test(test_other_ways_to_pass_the_bound),
        cmocka_unit_test(test_deferred_objects_are_released),
        cmocka_unit_test(test_scopes_are_freed),
        cmocka_unit_test(test_a_guard_makes_an_error),
    };
    return cmocka_run_group_tests_name("base: unwinding", tests, NULL, NULL);
}
