/* What an edit by an instruction must keep (D-163). */
#include "base/json_read.h"
#include "engine/emails/kept_parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct arena *arena;
static const char *const paths[] = { "firstName", "unsubscribeUrl" };
static const struct email_parts before = {
    .links_json = "[{\"href\": \"https://a.example/\"}, {\"href\": \"{{ unsubscribeUrl }}\"}]",
    .paths = { .items = paths, .count = 2 },
};

static int set_up(void **state)
{
    (void)state;
    arena = arena_new(0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

static bool is_kept(const char *links_json, size_t path_count, json_t *named, struct error *err)
{
    const struct email_content after = { .links_json = links_json, .paths = { .items = paths, .count = path_count } };
    *err = (struct error){ .code = ERR_NONE };
    return email_check_kept(arena, &before, &after, json_in_arena(arena, named), err);
}

static void test_a_version_with_all_parts_is_kept(void **state)
{
    (void)state;
    struct error err;
    assert_true(is_kept(before.links_json, 2, json_array(), &err));
    assert_true(
        is_kept("[{\"href\": \"{{ unsubscribeUrl }}\"}, {\"href\": \"https://b.example/\"}, {\"href\": \"https://a.example/\"}]", 2,
                json_array(), &err));
}

static void test_a_lost_link_is_named_or_refused(void **state)
{
    (void)state;
    struct error err;
    static const char links[] = "[{\"href\": \"{{ unsubscribeUrl }}\"}]";
    assert_false(is_kept(links, 2, json_array(), &err));
    assert_int_equal(err.code, ERR_EMAIL_GENERATION_FAILED);
    assert_string_equal(err.param, "prompt");
    assert_non_null(strstr(err.message, "https://a.example/"));
    assert_false(is_kept(links, 2, json_pack("[s]", "https://b.example/"), &err));
    assert_true(is_kept(links, 2, json_pack("[{s{s[s]}}]", "values", "body", "See [it](https://a.example/)"), &err));
}

static void test_a_lost_merge_tag_is_named_or_refused(void **state)
{
    (void)state;
    struct error err;
    assert_false(is_kept(before.links_json, 1, json_array(), &err));
    assert_non_null(strstr(err.message, "unsubscribeUrl"));
    assert_true(is_kept(before.links_json, 1, json_pack("[s]", "{{ unsubscribeUrl }}"), &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_version_with_all_parts_is_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_lost_link_is_named_or_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_lost_merge_tag_is_named_or_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
