/* Sessions over HTTP: what they keep of their client. */
#include "fixtures/mcp_case.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static int set_up(void **state)
{
    *state = case_server_new(NULL);
    return 0;
}

static int tear_down(void **state)
{
    case_server_free(*state);
    return 0;
}

/* ---- What a session keeps ---- */

static size_t json_blocks; /* of jansson, not yet freed */

static void *counting_malloc(size_t size)
{
    json_blocks++;
    return malloc(size);
}

static void counting_free(void *block)
{
    json_blocks -= block != NULL;
    free(block);
}

static void test_a_session_keeps_no_json(void **state)
{
    json_set_alloc_funcs(counting_malloc, counting_free);
    case_initialize(*state, "2025-11-25", "{\"elicitation\":{\"form\":{},\"other\":[[],[]]},\"unknown\":[{},{},{}]}");
    json_set_alloc_funcs(malloc, free);
    assert_int_equal(json_blocks, 0);
}

#define WITH_SERVER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SERVER(test_a_session_keeps_no_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
