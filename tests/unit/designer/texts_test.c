/* The texts of documents: new values of nested members, the operations for them, and the parts of a text that stay whole. */
#include "base/json_read.h"
#include "base/text.h"
#include "designer/texts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct arena *arena; /* one per test */

static int setup(void **state)
{
    (void)state;
    arena = arena_new(0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

/* Inline texts with an "a" lose all that they have; plain ones become "new". */
static json_t *new_value(void *context, const struct document_field *field, const char *text)
{
    ++*(size_t *)context;
    if (strchr(text, 'a') == NULL)
        return NULL;
    if (field->kind == DOCUMENT_INLINE)
        return text_value(" \n");
    return field->kind == DOCUMENT_PLAIN ? text_value("new") : NULL;
}

static json_t *parsed(const char *text)
{
    return json_in_arena(arena, json_loads(text, JSON_DECODE_ANY, NULL));
}

static void test_nested_texts(void **state)
{
    (void)state;
    size_t count = 0;
    const struct text_map map = { .new_value = new_value, .context = &count };
    json_t *operations = json_in_arena(arena, json_array());
    texts_change_block(
        &map, parsed("{\"id\": \"b1\", \"type\": \"list\", \"variant\": \"bullets\", \"items\": [\"one\", \"a\", \"two\"]}"),
        operations);
    assert_string_equal(json_compact(arena, operations),
                        "[{\"op\":\"set\",\"block\":\"b1\",\"values\":{\"items\":[\"one\",null,\"two\"]}}]");
    assert_true(count >= 3);
}

static void test_texts_that_stay_make_no_operation(void **state)
{
    (void)state;
    size_t count = 0;
    const struct text_map map = { .new_value = new_value, .context = &count };
    json_t *operations = json_in_arena(arena, json_array());
    texts_change_block(&map, parsed("{\"id\": \"b1\", \"type\": \"list\", \"items\": [\"one\"]}"), operations);
    texts_change_members(&map, parsed("{\"subjectLine\": \"Hello\"}"), operations);
    assert_int_equal(json_array_size(operations), 0);
    assert_int_equal(count, 2);
}

static void test_members_of_the_document(void **state)
{
    (void)state;
    size_t count = 0;
    const struct text_map map = { .new_value = new_value, .context = &count };
    json_t *operations = json_in_arena(arena, json_array());
    texts_change_members(&map, parsed("{\"title\": \"a\", \"subjectLine\": \"a\", \"previewText\": \"b\"}"), operations);
    assert_string_equal(json_compact(arena, operations), "[{\"op\":\"meta\",\"values\":{\"subjectLine\":\"new\"}}]");
}

static void test_parts_stay_whole(void **state)
{
    (void)state;
    assert_int_equal(merge_tag_size("{{ a }} b"), 7);
    assert_int_equal(merge_tag_size("{% if a %}b"), 10);
    assert_int_equal(merge_tag_size("a {{ b }}"), 0);
    assert_int_equal(merge_tag_size("{{ a"), 0);
    assert_int_equal(merge_tag_size("{%}"), 0);
    assert_int_equal(link_end_size("](https://example.com) a"), 22);
    assert_int_equal(link_end_size("](https:"), 0);
    assert_true(text_has_whole_tags("a {{ b }} c {% if d %}"));
    assert_false(text_has_whole_tags("a {{ b"));
    assert_false(text_has_whole_tags("b }} c"));
    assert_false(text_has_whole_tags("{%}"));
    assert_true(text_is_address_like("example.com/a"));
    assert_false(text_is_address_like("example.com and a"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nested_texts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_texts_that_stay_make_no_operation, setup, teardown),
        cmocka_unit_test_setup_teardown(test_members_of_the_document, setup, teardown),
        cmocka_unit_test_setup_teardown(test_parts_stay_whole, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
