/* Rules of robots.txt: groups, the longest rule, wildcards, escapes, bounds (RFC 9309, R-184). */
#include "fixtures/own_fail.h"

#include "base/buf.h"
#include "net/robots.h"

#include "fixtures/processor_bound.h"

#include <string.h>

static bool allows(const char *file, const char *path)
{
    ARENA_SCOPE arena = arena_new(0);
    return robots_allows(robots_parse(arena, file, strlen(file)), arena, path);
}

static void test_our_group_replaces_that_for_all(void **state)
{
    (void)state;
    static const char file[] = "User-agent: *\nDisallow: /\n\nUser-agent: other\nuser-AGENT: PostHorn/2.0\nDisallow: /private\n";
    assert_true(allows(file, "/"));
    assert_true(allows(file, "/public"));
    assert_false(allows(file, "/private/1"));
    assert_false(allows("User-agent: *\nDisallow: /\n", "/public"));
    assert_true(allows("User-agent: posthornbot\nDisallow: /\n", "/"));
    assert_true(allows("Disallow: /\n", "/"));
}

static void test_groups_for_us_are_joined(void **state)
{
    (void)state;
    static const char file[] =
        "User-agent: posthorn\nDisallow: /a\nUser-agent: *\nDisallow: /b\nUser-agent: posthorn\nDisallow: /c\n";
    assert_false(allows(file, "/a"));
    assert_true(allows(file, "/b"));
    assert_false(allows(file, "/c"));
}

static void test_the_longest_rule_decides(void **state)
{
    (void)state;
    static const char file[] = "User-agent: *\nDisallow: /shop\nAllow: /shop/open\nDisallow: /same\nAllow: /same\nDisallow:\n";
    assert_false(allows(file, "/shop"));
    assert_false(allows(file, "/shopping"));
    assert_true(allows(file, "/shop/open/1"));
    assert_true(allows(file, "/same"));
    assert_true(allows(file, "/other"));
    static const char longest_first[] = "User-agent: *\nAllow: /shop/open\nAllow: /same\nDisallow: /shop\nDisallow: /same\n";
    assert_true(allows(longest_first, "/shop/open/1"));
    assert_true(allows(longest_first, "/same"));
}

static void test_wildcards(void **state)
{
    (void)state;
    static const char file[] = "User-agent: *\r\nDisallow: /*.pdf$ # files\r\nDisallow: /a*z/\r\nDisallow: /*?sort=\r\n";
    assert_false(allows(file, "/x/file.pdf"));
    assert_true(allows(file, "/x/file.pdf?1"));
    assert_true(allows(file, "/.pdf/file"));
    assert_false(allows(file, "/.pdf/.pdf"));
    assert_false(allows("User-agent: *\nDisallow: /*a*b$\n", "/ab/bab"));
    assert_true(allows("User-agent: *\nDisallow: /*ab*b$\n", "/xab"));
    assert_true(allows("User-agent: *\nDisallow: /a$\n", "/ab"));
    assert_false(allows(file, "/abcz/"));
    assert_true(allows(file, "/abcz"));
    assert_false(allows(file, "/list?sort=up"));
    assert_true(allows(file, "/list?page=2"));
}

static void test_escapes_are_compared(void **state)
{
    (void)state;
    assert_false(allows("User-agent: *\nDisallow: /%7Eann/\n", "/~ann/page"));
    assert_false(allows("User-agent: *\nDisallow: /\xC3\xBC\x62\x65r\n", "/%c3%bcber-uns"));
    assert_true(allows("User-agent: *\nDisallow: /a%2Fb\n", "/a/b"));
}

static void test_bad_files_are_bounded(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(0);
    struct buf *file = buf_in_arena(arena, ROBOTS_MAX_BYTES + 4096);
    buf_add_text(file, "\xEF\xBB\xBFUser-agent: *\nDisallow: /first\n");
    while (file->size < ROBOTS_MAX_BYTES)
        buf_add_text(file, "Disallow: /*a*a*a*a*a*a*a*a*a*a*b\n");
    buf_add_text(file, "\nDisallow: /last\n");
    const struct robots *robots = robots_parse(arena, file->data, file->size);
    assert_false(robots_allows(robots, arena, "/first"));
    assert_true(robots_allows(robots, arena, "/last"));
    char path[1024] = "/";
    memset(path + 1, 'a', sizeof(path) - 2);
    path[sizeof(path) - 1] = '\0';
    assert_true(robots_allows(robots, arena, path));
    assert_true(allows(":::\nUser-agent\nDisallow", "/"));
}

/* Rules that nearly match at each place of the path, as many and as long as they may be. */
static void test_rules_take_little_time(void **state)
{
    (void)state;
    enum { ROBOTS_CALLS = 40 };
    ARENA_SCOPE arena = arena_new(0);
    char *rule = arena_alloc(arena, ROBOTS_RULE_MAX_BYTES + 1);
    memset(rule, 'a', ROBOTS_RULE_MAX_BYTES);
    memcpy(rule, "/*", 2);
    rule[ROBOTS_RULE_MAX_BYTES - 1] = 'b';
    struct buf *file = buf_in_arena(arena, ROBOTS_MAX_BYTES);
    buf_add_text(file, "User-agent: *\n");
    for (int i = 0; i < ROBOTS_MAX_RULES; i++)
        buf_printf(file, "Disallow: %s\n", rule);
    const struct robots *robots = robots_parse(arena, file->data, file->size);
    char *path = arena_alloc(arena, ROBOTS_PATH_MAX_BYTES + 2);
    memset(path, 'a', ROBOTS_PATH_MAX_BYTES + 1);
    path[0] = '/';
    assert_false(robots_allows(robots, arena, path)); /* a longer path */
    path[ROBOTS_PATH_MAX_BYTES] = '\0';
    processor_bound_begin();
    for (int i = 0; i < ROBOTS_CALLS; i++)
        assert_true(robots_allows(robots, arena, path));
    processor_bound_end();
}

static void test_without_a_file(void **state)
{
    (void)state;
    ARENA_SCOPE arena = arena_new(0);
    assert_true(robots_allows(robots_for_all(arena, true), arena, "/"));
    assert_false(robots_allows(robots_for_all(arena, false), arena, "/any?x"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_our_group_replaces_that_for_all),
        cmocka_unit_test(test_groups_for_us_are_joined),
        cmocka_unit_test(test_the_longest_rule_decides),
        cmocka_unit_test(test_wildcards),
        cmocka_unit_test(test_escapes_are_compared),
        cmocka_unit_test(test_bad_files_are_bounded),
        cmocka_unit_test(test_rules_take_little_time),
        cmocka_unit_test(test_without_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
