/* A pass over an answer: the JSON that a view shows, from lists and strings of every form. */
#include "fixtures/own_fail.h"

#include "api/view/result_view.h"

#include <string.h>

static const char *const cut_items[] = { "items", NULL };

static void assert_pass(struct view_pass pass, const char *text, const char *expected)
{
    ARENA_SCOPE arena = arena_new(0);
    struct buf *body = buf_in_arena(arena, 1000);
    pass.out = buf_in_arena(arena, 1000);
    buf_add_text(body, text);
    view_pass_run(&pass, body);
    assert_string_equal(buf_text(pass.out), expected);
}

static void assert_whole(const char *text)
{
    assert_pass((struct view_pass){ 0 }, text, text);
}

static void assert_cut(const char *items, const char *expected)
{
    char text[200];
    char wanted[200];
    snprintf(text, sizeof(text), "{\"items\":%s,\"next\":1}", items);
    snprintf(wanted, sizeof(wanted), "{\"items\":%s,\"next\":1}", expected);
    assert_pass((struct view_pass){ .cut = cut_items, .limit = 2 }, text, wanted);
}

static void test_lists_are_copied_whole(void **state)
{
    (void)state;
    assert_whole("{\"a\":[]}");
    assert_whole("{\"a\":[1]}");
    assert_whole("{\"a\":[1,-2.5e3,true,null,\"x\",\"\"],\"b\":\"y\"}");
    assert_whole("{\"a\":[1,{\"b\":[2,3]},4,[5,6],7],\"c\":{}}");
    assert_whole("{\"a\":[[],[[]],{},1]}");
}

static void test_strings_end_where_json_ends_them(void **state)
{
    (void)state;
    assert_whole("{\"a\":[\"\\\\\",\"\\\"\",\"\\\\\\\"]\",\"]\",\"b\"]}");
    assert_whole("{\"a\\\\\":\"\\\\\\\\\",\"b\\\"\":\"}\"}");
    assert_whole("{\"a\":\"\\\"\\\"\\\\\"}");
}

static void test_lists_are_cut(void **state)
{
    (void)state;
    assert_cut("[1,2]", "[1,2]");
    assert_cut("[1,2,3]", "[1,2],\"hasMore\":true");
    assert_cut("[1,{\"a\":2},3]", "[1,{\"a\":2}],\"hasMore\":true");
    assert_cut("[{\"a\":1},\"],\",\"c\"]", "[{\"a\":1},\"],\"],\"hasMore\":true");
    assert_cut("[\"a\",\"\\\\\",[3,4,5]]", "[\"a\",\"\\\\\"],\"hasMore\":true");
    assert_cut("[[3,4,5],[6]]", "[[3,4,5],[6]]");
}

static void test_spaces_end_values(void **state)
{
    (void)state;
    assert_pass((struct view_pass){ 0 }, "{ \"a\" : [ 1 , \"b\" , { \"c\" : 2 } , 3 ] }", "{\"a\":[1 , \"b\",{\"c\":2},3]}");
}

static void test_a_short_answer_lacks_what_says_nothing(void **state)
{
    (void)state;
    assert_pass((struct view_pass){ .is_short = true },
                "{\"a\":{\"b\":null,\"c\":[],\"d\":[null],\"e\":\"\"},\"f\":[],\"g\":[\"\"]}",
                "{\"a\":{\"d\":[null]},\"f\":[],\"g\":[\"\"]}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists_are_copied_whole),
        cmocka_unit_test(test_strings_end_where_json_ends_them),
        cmocka_unit_test(test_lists_are_cut),
        cmocka_unit_test(test_spaces_end_values),
        cmocka_unit_test(test_a_short_answer_lacks_what_says_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
