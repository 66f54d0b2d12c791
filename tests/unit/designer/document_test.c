/* Documents: what is read, what is refused with its path, and operations with their inverses. */
#include "base/json_read.h"
#include "designer/change.h"
#include "designer/document.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct arena *arena; /* one per test */
static struct error err;
static int64_t serial;

static int setup(void **state)
{
    (void)state;
    arena = arena_new(0);
    err = (struct error){ .code = ERR_NONE };
    serial = 0;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

static const json_t *parse(const char *text)
{
    const json_t *json;
    assert_true(json_read(arena, text, strlen(text), (struct json_bounds){ .max_bytes = 1 << 20 }, &json, &err));
    return json;
}

/* In the order of the members, unlike json_compact. */
static const char *printed(const json_t *json)
{
    char *text = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY);
    const char *copy = arena_dup(arena, text);
    free(text);
    return copy;
}

static const json_t *read_document(const char *text)
{
    const json_t *document;
    if (!document_read(arena, parse(text), &serial, &document, &err)) {
        print_error("%s: %s\n", err.param, err.message);
        fail();
    }
    return document;
}

static const char three_blocks[] =
    "{\"blocks\":[{\"heading\":\"Spring\",\"type\":\"hero\",\"text\":\"Hello {{ contact.firstName }}\",\"tone\":null},"
    "{\"type\":\"text\",\"body\":\"One **bold** word.\"},{\"type\":\"divider\",\"variant\":\"dots\"}],"
    "\"title\":\"Spring\",\"theme\":{\"accent\":\"#AA00FF\"}}";

static void test_canonical_form(void **state)
{
    (void)state;
    assert_string_equal(printed(read_document(three_blocks)),
                        "{\"title\":\"Spring\",\"theme\":{\"accent\":\"#aa00ff\"},\"blocks\":["
                        "{\"id\":\"b1\",\"type\":\"hero\",\"variant\":\"centered\",\"heading\":\"Spring\","
                        "\"text\":\"Hello {{ contact.firstName }}\"},"
                        "{\"id\":\"b2\",\"type\":\"text\",\"variant\":\"plain\",\"body\":\"One **bold** word.\"},"
                        "{\"id\":\"b3\",\"type\":\"divider\",\"variant\":\"dots\"}]}");
    assert_int_equal(serial, 3);
}

static void test_refusals_name_the_path(void **state)
{
    (void)state;
    static const struct {
        const char *document;
        const char *param;
    } refused[] = {
        { "{\"title\":\"x\",\"blocks\":[]}", "blocks" },
        { "{\"blocks\":[{\"type\":\"divider\"}]}", "title" },
        { "{\"title\":\"x\",\"colour\":1,\"blocks\":[{\"type\":\"divider\"}]}", "colour" },
        { "{\"title\":\"x\",\"blocks\":[{\"type\":\"carousel\"}]}", "blocks.0.type" },
        { "{\"title\":\"x\",\"blocks\":[{\"type\":\"divider\",\"id\":\"b7\"}]}", "blocks.0.id" },
        { "{\"title\":\"x\",\"blocks\":[{\"type\":\"divider\",\"variant\":\"wavy\"}]}", "blocks.0.variant" },
        { "{\"title\":\"x\",\"blocks\":[{\"type\":\"hero\"}]}", "blocks.0.heading" },
        { "{\"title\":\"x\",\"blocks\":[{\"type\":\"hero\",\"heading\":\"{{ contact. }}\"}]}", "blocks.0.heading" },
        { "{\"title\":\"x\",\"blocks\":[{\"type\":\"hero\",\"heading\":\"a\\nb\"}]}", "blocks.0.heading" },
        { "{\"title\":\"x\",\"blocks\":[{\"type\":\"button\",\"label\":\"Go\",\"href\":\"javascript:alert(1)\"}]}",
          "blocks.0.href" },
        { "{\"title\":\"x\",\"blocks\":[{\"type\":\"image\",\"src\":\"data:image/png;base64,AA\"}]}", "blocks.0.src" },
        { "{\"title\":\"x\",\"blocks\":[{\"type\":\"divider\",\"showIf\":\"a %} {{ b\"}]}", "blocks.0.showIf" },
        { "{\"title\":\"x\",\"blocks\":[{\"type\":\"divider\",\"showIf\":\"a == \"}]}", "blocks.0.showIf" },
        { "{\"title\":\"x\",\"blocks\":[{\"type\":\"list\",\"items\":[\"a\",7]}]}", "blocks.0.items.1" },
        { "{\"title\":\"x\",\"blocks\":[{\"type\":\"event\",\"starts\":\"tomorrow\"}]}", "blocks.0.starts" },
        { "{\"title\":\"x\",\"blocks\":[{\"type\":\"table\",\"columns\":[\"a\",\"b\"],\"rows\":[[\"1\",\"2\"],[\"3\"]]}]}",
          "blocks.0.rows.1" },
        { "{\"title\":\"x\",\"theme\":{\"accent\":\"red\"},\"blocks\":[{\"type\":\"divider\"}]}", "theme.accent" },
        { "{\"title\":\"x\",\"theme\":{\"bodyFont\":\"a;b\"},\"blocks\":[{\"type\":\"divider\"}]}", "theme.bodyFont" },
        { "{\"title\":\"x\",\"theme\":{\"radius\":99},\"blocks\":[{\"type\":\"divider\"}]}", "theme.radius" },
    };
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        const json_t *document;
        error_clear(&err);
        assert_false(document_read(arena, parse(refused[i].document), &serial, &document, &err));
        assert_int_equal(err.code, ERR_INVALID_REQUEST);
        assert_string_equal(err.param, refused[i].param);
    }
}

static void test_changes_and_inverses(void **state)
{
    (void)state;
    static const char *const lists[] = {
        "[{\"op\":\"set\",\"block\":\"b1\",\"values\":{\"heading\":\"Autumn\",\"text\":null,\"tone\":\"dark\"}}]",
        "[{\"op\":\"insert\",\"after\":\"b2\",\"value\":{\"type\":\"spacer\"}},{\"op\":\"remove\",\"block\":\"b1\"}]",
        "[{\"op\":\"move\",\"block\":\"b3\",\"after\":null},{\"op\":\"move\",\"block\":\"b1\",\"after\":\"b2\"}]",
        "[{\"op\":\"theme\",\"values\":{\"accent\":null,\"radius\":4}},{\"op\":\"theme\",\"values\":{\"radius\":null}}]",
        "[{\"op\":\"meta\",\"values\":{\"subjectLine\":\"New\",\"title\":\"Autumn\"}},{\"op\":\"theme\",\"values\":{\"width\":640}}"
        "]",
    };
    const json_t *document = read_document(three_blocks);
    const char *before = printed(document);
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        struct document_change change;
        const json_t *again;
        if (!document_change(arena, document, parse(lists[i]), &serial, &change, &err))
            print_error("%s: %s\n", err.param, err.message);
        assert_int_equal(err.code, ERR_NONE);
        assert_string_not_equal(printed(change.document), before);
        assert_string_equal(printed(document), before);
        assert_true(document_undo(arena, change.document, change.inverse, &again, &err));
        assert_string_equal(printed(again), before);
    }
}

static void test_ids_are_not_reused(void **state)
{
    (void)state;
    struct document_change change;
    size_t index;
    const json_t *document = read_document(three_blocks);
    const char replace[] =
        "[{\"op\":\"remove\",\"block\":\"b3\"},{\"op\":\"insert\",\"after\":\"b2\",\"value\":{\"type\":\"divider\"}}]";
    assert_true(document_change(arena, document, parse(replace), &serial, &change, &err));
    assert_false(document_find_block(change.document, "b3", &index));
    assert_true(document_find_block(change.document, "b4", &index));
    assert_int_equal(index, 2);
}

static void test_refused_operations(void **state)
{
    (void)state;
    static const struct {
        const char *list;
        const char *param;
    } refused[] = {
        { "[]", "operations" },
        { "[{\"op\":\"paint\"}]", "operations.0.op" },
        { "[{\"op\":\"remove\",\"block\":\"b9\"}]", "operations.0.block" },
        { "[{\"op\":\"remove\",\"block\":\"b1\",\"value\":1}]", "operations.0.value" },
        { "[{\"op\":\"set\",\"block\":\"b1\",\"values\":{\"type\":\"text\"}}]", "operations.0.values.type" },
        { "[{\"op\":\"set\",\"block\":\"b1\",\"values\":{\"heading\":null}}]", "operations.0.values.heading" },
        { "[{\"op\":\"move\",\"block\":\"b1\",\"after\":\"b1\"}]", "operations.0.after" },
        { "[{\"op\":\"insert\",\"value\":{\"type\":\"divider\",\"id\":\"b1\"}}]", "operations.0.value.id" },
        { "[{\"op\":\"meta\",\"values\":{\"blocks\":[]}}]", "operations.0.values.blocks" },
        { "[{\"op\":\"remove\",\"block\":\"b1\"},{\"op\":\"remove\",\"block\":\"b2\"},{\"op\":\"remove\",\"block\":\"b3\"}]",
          "operations" },
    };
    const json_t *document = read_document(three_blocks);
    const char *before = printed(document);
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        struct document_change change;
        error_clear(&err);
        assert_false(document_change(arena, document, parse(refused[i].list), &serial, &change, &err));
        assert_string_equal(err.param, refused[i].param);
        assert_string_equal(printed(document), before);
    }
}

static void test_schemas(void **state)
{
    (void)state;
    const json_t *full = parse(document_schema());
    const json_t *strict = parse(document_strict_schema());
    assert_int_equal(json_array_size(json_object_get(full, "required")), 2);
    assert_int_equal(json_array_size(json_object_get(strict, "required")), json_object_size(json_object_get(strict, "properties")));
    assert_null(strstr(document_strict_schema(), "\"$ref\""));
    assert_null(strstr(document_strict_schema(), "maxLength"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_canonical_form, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refusals_name_the_path, setup, teardown),
        cmocka_unit_test_setup_teardown(test_changes_and_inverses, setup, teardown),
        cmocka_unit_test_setup_teardown(test_ids_are_not_reused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused_operations, setup, teardown),
        cmocka_unit_test_setup_teardown(test_schemas, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
