/* Properties of operations on documents, over random documents and operations made from schemas/document.json: blocks that no
 * operation names keep their bytes, the inverse gives the first bytes again, the result is a document, and the comparison
 * names what has changed and nothing else. The random numbers have a fixed seed. */
#include "base/json_read.h"
#include "base/text.h"
#include "designer/change.h"
#include "designer/compare.h"
#include "designer/document.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { DOCUMENTS = 400, OPERATIONS_MOST = 8, BLOCKS_MOST = 12, SEED = 14 };

static struct arena *arena; /* one per document */
static json_t *declared;
static uint64_t random_state = SEED;

/* xorshift64*: the same numbers everywhere. */
static size_t below(size_t bound)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (size_t)((random_state * 0x2545F4914F6CDD1DULL) >> 33) % bound;
}

static bool one_in(size_t count)
{
    return below(count) == 0;
}

/* In the order of the members, unlike json_compact. */
static const char *printed(const json_t *json)
{
    char *text = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY);
    const char *copy = arena_dup(arena, text);
    free(text);
    return copy;
}

static const json_t *part(const char *name)
{
    return json_object_get(declared, name);
}

/* ---- Random values of a declared field ---- */

static json_t *random_field(const char *name, const json_t *field);

static const char *any(const json_t *list)
{
    return json_string_value(json_array_get(list, below(json_array_size(list))));
}

static const char *random_text(const char *kind)
{
    static const char *const texts[] = { "Spring", "Ünïcode 🌷", "Hi {{ contact.city | default: \"x\" }}", "5 < 6 & 7",
                                         "\"quoted\"" };
    static const char *const inlines[] = { "One **bold** word", "A [link](https://example.com/a?b=1&c={{ contact.id }})",
                                           "Two\nlines", "Three" };
    static const char *const links[] = { "https://example.com/", "mailto:a@example.com", "{{ payload.href }}", "#top" };
    static const char *const moments[] = { "2026-05-04", "2026-05-04T18:30" };
    static const char *const conditions[] = { "contact.plan == 'pro'", "payload.total > 5" };
    if (text_equal(kind, "link"))
        return links[below(4)];
    if (text_equal(kind, "source"))
        return one_in(2) ? "https://example.com/a.png" : "{{ item.image }}";
    if (text_equal(kind, "moment"))
        return moments[below(2)];
    if (text_equal(kind, "condition"))
        return conditions[below(2)];
    if (text_equal(kind, "path"))
        return "payload.items";
    if (text_equal(kind, "html"))
        return "<p>own <b>part</b></p>";
    if (text_equal(kind, "inline") && one_in(2))
        return inlines[below(4)];
    return text_equal(kind, "name") ? "Name" : texts[below(5)];
}

static json_t *random_fields(const json_t *fields)
{
    const char *name;
    json_t *field;
    json_t *object = json_object();
    json_object_foreach (json_for_iteration(fields), name, field) {
        if (json_get_bool(field, "required", false) || one_in(2))
            json_object_set_new(object, name, random_field(name, field));
    }
    return object;
}

static json_t *random_list(const char *name, const json_t *field)
{
    json_t *list = json_array();
    /* The rows of a table have a cell for each of its three columns. */
    bool is_of_table = text_equal(name, "columns") || text_equal(name, "row");
    size_t count = is_of_table ? 3 : 1 + below(4);
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, random_field(text_equal(name, "rows") ? "row" : "entry", json_object_get(field, "items")));
    return list;
}

static json_t *random_field(const char *name, const json_t *given)
{
    const char *shared = json_get_text(given, "shared");
    const json_t *field = shared != NULL ? json_object_get(part("shared"), shared) : given;
    const char *kind = json_get_text(field, "kind");
    if (text_equal(kind, "group"))
        return random_fields(json_object_get(field, "fields"));
    if (text_equal(kind, "list"))
        return random_list(name, field);
    if (text_equal(kind, "integer"))
        return json_integer(json_get_int(field, "min", 0) + (json_int_t)below(2) * (json_get_int(field, "max", 1) == 1 ? 0 : 1));
    if (text_equal(kind, "enum"))
        return json_string(any(json_object_get(field, "values")));
    if (text_equal(kind, "colour"))
        return json_sprintf("#%06zx", below(0x1000000));
    const char *pattern = json_get_text(field, "pattern");
    if (pattern != NULL)
        return json_string(text_equal(pattern, "timeZone") ? "Europe/Berlin"
                           : text_equal(pattern, "fonts")  ? "Arial, serif"
                                                           : "de");
    return json_string(random_text(kind));
}

/* ---- Random documents and operations ---- */

static json_t *random_block(void)
{
    const json_t *types = part("blocks");
    void *place = json_object_iter(json_for_iteration(types));
    for (size_t skip = below(json_object_size(types)); skip > 0; skip--)
        place = json_object_iter_next(json_for_iteration(types), place);
    const json_t *type = json_object_iter_value(place);
    json_t *block = random_fields(json_object_get(type, "fields"));
    json_object_set_new(block, "type", json_string(json_object_iter_key(place)));
    if (one_in(2))
        json_object_set_new(block, "variant", json_string(any(json_object_get(type, "variants"))));
    json_t *common = random_fields(part("block"));
    json_object_del(common, "id");
    json_object_update_new(block, common);
    return block;
}

static json_t *random_members(void)
{
    json_t *members = random_fields(part("document"));
    json_object_del(members, "blocks");
    return members;
}

static const json_t *random_document(int64_t *serial)
{
    struct error err = { .code = ERR_NONE };
    const json_t *document;
    json_t *given = json_in_arena(arena, random_members());
    json_t *blocks = json_array();
    for (size_t count = 1 + below(BLOCKS_MOST); count > 0; count--)
        json_array_append_new(blocks, random_block());
    json_object_set_new(given, "blocks", blocks);
    if (!document_read(arena, given, serial, &document, &err))
        fail_msg("%s: %s", err.param, err.message);
    return document;
}

/* The id of any block, of a new one now and then, seldom one that is not there. */
static json_t *random_id(int64_t serial)
{
    return json_sprintf("b%zu", 1 + below((size_t)serial + 1));
}

static json_t *random_place(int64_t serial)
{
    return one_in(4) ? json_null() : random_id(serial);
}

/* New values for some members of a block: those of another random block of its type are likely to fit. */
static json_t *random_values(const json_t *document, const char *id)
{
    size_t index;
    json_t *values = json_object();
    if (!document_find_block(document, id, &index))
        return values;
    const json_t *block = json_array_get(json_object_get(document, "blocks"), index);
    const json_t *type = json_object_get(part("blocks"), json_get_text(block, "type"));
    const char *name;
    json_t *field;
    json_object_foreach (json_object_get(type, "fields"), name, field) {
        if (one_in(3))
            json_object_set_new(values, name, random_field(name, field));
        else if (one_in(6) && !json_get_bool(field, "required", false))
            json_object_set_new(values, name, json_null());
    }
    json_object_set_new(values, "tone", one_in(2) ? json_null() : json_string("dark"));
    return values;
}

static json_t *random_operation(const json_t *document, int64_t serial)
{
    json_t *id = random_id(serial);
    json_t *operation;
    switch (below(6)) {
    case 0:
        return json_pack("{ss so so}", "op", "set", "values", random_values(document, json_string_value(id)), "block", id);
    case 1:
        operation = json_pack("{ss so so}", "op", "insert", "after", random_place(serial), "value", random_block());
        break;
    case 2:
        return json_pack("{ss so}", "op", "remove", "block", id);
    case 3:
        return json_pack("{ss so so}", "op", "move", "block", id, "after", random_place(serial));
    case 4:
        operation = json_pack("{ss so}", "op", "theme", "values",
                              random_fields(json_object_get(json_object_get(part("document"), "theme"), "fields")));
        break;
    default:
        operation = json_pack("{ss s{ss so}}", "op", "meta", "values", "title", random_text("name"), "subjectLine",
                              one_in(2) ? json_null() : json_string(random_text("plain")));
    }
    json_decref(id);
    return operation;
}

static const json_t *random_operations(const json_t *document, int64_t serial)
{
    json_t *operations = json_in_arena(arena, json_array());
    for (size_t count = 1 + below(OPERATIONS_MOST); count > 0; count--)
        json_array_append_new(operations, random_operation(document, serial));
    return operations;
}

/* ---- The properties ---- */

static bool is_named(const json_t *operations, const char *op, const char *id)
{
    for (size_t i = 0; i < json_array_size(operations); i++) {
        const json_t *operation = json_array_get(operations, i);
        if (text_equal(json_get_text(operation, "op"), op) && text_equal(json_get_text(operation, "block"), id))
            return true;
    }
    return false;
}

static const json_t *block_of(const json_t *document, const char *id)
{
    size_t index;
    return document_find_block(document, id, &index) ? json_array_get(json_object_get(document, "blocks"), index) : NULL;
}

static void check_untouched_blocks(const json_t *before, const struct document_change *change)
{
    const json_t *blocks = json_object_get(before, "blocks");
    for (size_t i = 0; i < json_array_size(blocks); i++) {
        const json_t *block = json_array_get(blocks, i);
        const char *id = json_get_text(block, "id");
        const json_t *after = block_of(change->document, id);
        if (is_named(change->operations, "remove", id))
            assert_null(after);
        else if (!is_named(change->operations, "set", id))
            assert_string_equal(printed(after), printed(block));
    }
}

static void check_inverse(const json_t *before, const struct document_change *change)
{
    struct error err = { .code = ERR_NONE };
    const json_t *again;
    if (!document_undo(arena, change->document, change->inverse, &again, &err))
        fail_msg("undo: %s: %s", err.param, err.message);
    assert_string_equal(printed(again), printed(before));
    if (!document_undo(arena, before, change->operations, &again, &err))
        fail_msg("redo: %s: %s", err.param, err.message);
    assert_string_equal(printed(again), printed(change->document));
}

static json_t *without_ids(const json_t *document)
{
    size_t i;
    json_t *block;
    json_t *copy = json_in_arena(arena, json_deep_copy(document));
    json_array_foreach (json_object_get(copy, "blocks"), i, block) {
        json_object_del(block, "id");
    }
    return copy;
}

static void check_is_document(const json_t *document)
{
    struct error err = { .code = ERR_NONE };
    const json_t *again;
    int64_t serial = 0;
    json_t *given = without_ids(document);
    if (!document_read(arena, given, &serial, &again, &err))
        fail_msg("read: %s: %s", err.param, err.message);
    assert_string_equal(printed(without_ids(again)), printed(given));
}

static bool lists_id(const json_t *list, const char *id)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (text_equal(json_get_text(json_array_get(list, i), "id"), id))
            return true;
    return false;
}

static void check_comparison(const json_t *before, const json_t *after)
{
    const json_t *result = document_compare(arena, before, after);
    const json_t *blocks = json_object_get(before, "blocks");
    assert_int_equal(json_get_bool(result, "isEqual", false), json_equal(before, after));
    for (size_t i = 0; i < json_array_size(blocks); i++) {
        const json_t *block = json_array_get(blocks, i);
        const char *id = json_get_text(block, "id");
        const json_t *now = block_of(after, id);
        assert_int_equal(lists_id(json_object_get(result, "removed"), id), now == NULL);
        assert_int_equal(lists_id(json_object_get(result, "changed"), id), now != NULL && !json_equal(block, now));
    }
}

static void test_random_documents_and_operations(void **state)
{
    (void)state;
    size_t applied = 0;
    for (size_t i = 0; i < DOCUMENTS; i++) {
        struct error err = { .code = ERR_NONE };
        struct document_change change;
        int64_t serial = 0;
        arena = arena_new(0);
        const json_t *document = random_document(&serial);
        const json_t *operations = random_operations(document, serial);
        const char *first = printed(document);
        if (document_change(arena, document, operations, &serial, &change, &err)) {
            applied++;
            check_untouched_blocks(document, &change);
            check_inverse(document, &change);
            check_is_document(change.document);
            check_comparison(document, change.document);
        } else
            assert_non_null(strstr(err.param, "operations"));
        assert_string_equal(printed(document), first);
        arena_free(arena);
    }
    /* Many lists name a block that is not there and are refused; enough are not. */
    assert_true(applied > DOCUMENTS / 4);
}

/* ---- The form of a comparison ---- */

static void test_comparison_names_every_change(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct document_change change;
    int64_t serial = 0;
    const json_t *document;
    arena = arena_new(0);
    const json_t *given = json_in_arena(arena, json_pack("{ss s{si} s[{ss ss} {ss ss} {ss} {ss}]}", "title", "Spring", "theme",
                                                         "radius", 4, "blocks", "type", "hero", "heading", "One", "type", "text",
                                                         "body", "Two", "type", "divider", "type", "spacer"));
    const json_t *operations = json_in_arena(
        arena, json_pack("[{ss ss s{ss sn}} {ss ss so} {ss ss} {ss so s{ss}} {ss s{si}} {ss s{ss}}]", "op", "set", "block", "b2",
                         "values", "body", "Three", "tone", "op", "move", "block", "b4", "after", json_null(), "op", "remove",
                         "block", "b3", "op", "insert", "after", json_string("b2"), "value", "type", "divider", "op", "theme",
                         "values", "radius", 8, "op", "meta", "values", "subjectLine", "New"));
    assert_true(document_read(arena, given, &serial, &document, &err));
    if (!document_change(arena, document, operations, &serial, &change, &err))
        fail_msg("%s: %s", err.param, err.message);
    assert_string_equal(printed(document_compare(arena, document, change.document)),
                        "{\"members\":[{\"member\":\"subjectLine\",\"before\":null,\"after\":\"New\"}],"
                        "\"theme\":[{\"member\":\"radius\",\"before\":4,\"after\":8}],"
                        "\"added\":[{\"id\":\"b5\",\"type\":\"divider\",\"index\":3,\"value\":{\"id\":\"b5\",\"type\":\"divider\","
                        "\"variant\":\"line\"}}],"
                        "\"removed\":[{\"id\":\"b3\",\"type\":\"divider\",\"index\":2,\"value\":{\"id\":\"b3\",\"type\":"
                        "\"divider\",\"variant\":\"line\"}}],"
                        "\"moved\":[{\"id\":\"b4\",\"type\":\"spacer\",\"before\":3,\"after\":0}],"
                        "\"changed\":[{\"id\":\"b2\",\"type\":\"text\",\"members\":[{\"member\":\"body\",\"before\":\"Two\","
                        "\"after\":\"Three\"}]}],"
                        "\"isEqual\":false}");
    assert_true(json_get_bool(document_compare(arena, document, document), "isEqual", false));
    arena_free(arena);
}

int main(void)
{
    json_error_t error;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_documents_and_operations),
        cmocka_unit_test(test_comparison_names_every_change),
    };
    declared = json_load_file(POSTHORN_SOURCE_DIR "/schemas/document.json", 0, &error);
    if (declared == NULL)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    json_decref(declared);
    return failed;
}
