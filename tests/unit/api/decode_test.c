/*
 * Argument decoder with tables of the test: every type with its bounds. A tool call's
 * text is coerced, a REST body is not. Errors name the path of the argument.
 */
#include "fixtures/own_fail.h"

#include "api/decode.h"
#include "base/json_read.h"
#include "crypto/keys.h"

#include <math.h>
#include <string.h>

/* ---- A shape with every kind ---- */

struct row {
    const char *name;
    int64_t size;
};

struct inner {
    const char *city;
    struct arg_list rows;
};

struct args {
    const char *title;
    const char *word;
    struct opt_text note;
    int64_t email_id;
    int64_t count;
    struct opt_int maybe;
    double rate;
    struct opt_number maybe_rate;
    bool on;
    struct opt_bool maybe_on;
    int colour;
    int shade;
    uint32_t include;
    struct opt_int at;
    struct text_list tags;
    struct text_list to;
    const struct inner *inner;
    struct arg_list rows;
    const json_t *filter;
    const json_t *anything;
    const json_t *options;
    const json_t *list;
};

static const char *const colours[] = { "red", "green", "blue", NULL };

#define FIELD_OF(wire_name, kind_of, type, field)                                                                                  \
    .name = wire_name, .kind = kind_of, .place = ARG_IN_BODY, .offset = offsetof(struct type, field)
#define OPEN .minimum = -INFINITY, .maximum = INFINITY

static const struct arg_field row_fields[] = {
    { FIELD_OF("name", ARG_TEXT, row, name), .required = true, .min_size = 1, .max_size = 5 },
    { FIELD_OF("size", ARG_INTEGER, row, size), .has_default = true, .default_number = 7, .minimum = 0, .maximum = 9 },
};
static const struct arg_shape row_shape = { .fields = row_fields, .count = ARRAY_COUNT(row_fields), .size = sizeof(struct row) };

static const struct arg_field inner_fields[] = {
    { FIELD_OF("city", ARG_TEXT, inner, city), .max_size = 10 },
    { FIELD_OF("rows", ARG_OBJECT_LIST, inner, rows), .max_size = 3, .object = &row_shape },
};
static const struct arg_shape inner_shape = { .fields = inner_fields,
                                              .count = ARRAY_COUNT(inner_fields),
                                              .size = sizeof(struct inner) };

static const struct arg_field fields[] = {
    { FIELD_OF("title", ARG_TEXT, args, title), .min_size = 2, .max_size = 4 },
    { FIELD_OF("word", ARG_TEXT, args, word), .min_size = 1, .max_size = 100, .has_default = true, .default_text = "hello" },
    { FIELD_OF("note", ARG_TEXT, args, note), .nullable = true, .max_size = 10 },
    { FIELD_OF("emailId", ARG_ID, args, email_id), .id_kind = ID_EMAIL },
    { FIELD_OF("count", ARG_INTEGER, args, count), .has_default = true, .default_number = 25, .minimum = 1, .maximum = 100 },
    { FIELD_OF("maybe", ARG_INTEGER, args, maybe), OPEN },
    { FIELD_OF("rate", ARG_NUMBER, args, rate), .has_default = true, .default_number = 0.5, .minimum = 0, .maximum = INFINITY },
    { FIELD_OF("maybeRate", ARG_NUMBER, args, maybe_rate), .minimum = -INFINITY, .maximum = 2.5 },
    { FIELD_OF("on", ARG_BOOLEAN, args, on), .has_default = true, .default_number = 1 },
    { FIELD_OF("maybeOn", ARG_BOOLEAN, args, maybe_on) },
    { FIELD_OF("colour", ARG_ENUM, args, colour), .enum_values = colours },
    { FIELD_OF("shade", ARG_ENUM, args, shade), .enum_values = colours, .has_default = true, .default_number = 2 },
    { FIELD_OF("include", ARG_TOKENS, args, include), .enum_values = colours },
    { FIELD_OF("at", ARG_TIME, args, at) },
    { FIELD_OF("tags", ARG_TEXT_LIST, args, tags), .min_size = 1, .max_size = 3, .max_item_size = 4 },
    { FIELD_OF("to", ARG_TEXT_LIST, args, to), .single = true, .min_size = 1, .max_size = 2, .max_item_size = 9 },
    { FIELD_OF("inner", ARG_OBJECT, args, inner), .object = &inner_shape },
    { FIELD_OF("rows", ARG_OBJECT_LIST, args, rows), .min_size = 1, .max_size = 2, .object = &row_shape },
    { FIELD_OF("filter", ARG_JSON, args, filter), .json_type = JSON_OBJECT, .list_too = true, .max_size = 2 },
    { FIELD_OF("anything", ARG_JSON, args, anything), .json_type = JSON_OBJECT, .any_too = true, .max_size = 1 },
    { FIELD_OF("options", ARG_JSON, args, options), .json_type = JSON_OBJECT, .max_size = 2 },
    { FIELD_OF("list", ARG_JSON, args, list), .json_type = JSON_ARRAY, .min_size = 1, .max_size = 3 },
};
static const struct key_elsewhere elsewhere[] = {
    { "thingId", "thingId is no filter of this list; GET /v1/things/{thingId} reads one." },
    { NULL, NULL },
};
static const struct arg_shape shape = {
    .fields = fields, .count = ARRAY_COUNT(fields), .size = sizeof(struct args), .elsewhere = elsewhere
};

/* ---- Decoding ---- */

static struct arena *arena; /* one per test */
static struct id_codec ids;
static struct error err;
static struct args args;

static int setup(void **state)
{
    (void)state;
    static const unsigned char key[ID_KEY_BYTES] = "decoding's codec";
    crypto_start();
    id_codec_init(&ids, key);
    arena = arena_new(0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

static const json_t *json_of(const char *text)
{
    struct json_bounds bounds = { .max_bytes = 1 << 20 };
    const json_t *json = NULL;
    struct error problem = { .code = ERR_NONE };
    if (!json_read(arena, text, strlen(text), bounds, &json, &problem))
        fail_msg("%s: %s", text, problem.message);
    return json;
}

static bool decode(bool flat, const json_t *body)
{
    struct call_input input = { .flat = flat, .body = body };
    err = (struct error){ .code = ERR_NONE };
    memset(&args, 0, sizeof(args));
    return decode_arguments(arena, &ids, &shape, &input, &args, &err);
}

static void assert_taken(bool flat, const char *text)
{
    if (!decode(flat, json_of(text)))
        fail_msg("%s: %s (%s)", text, err.message, err.param);
}

static void assert_refused(bool flat, const char *text, const char *param, const char *words)
{
    if (decode(flat, json_of(text)))
        fail_msg("%s was accepted", text);
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
    assert_string_equal(err.param, param);
    if (strstr(err.message, words) == NULL)
        fail_msg("%s: '%s' does not say '%s'", text, err.message, words);
}

/* Both from a tool and in a body. */
static void taken(const char *text)
{
    assert_taken(false, text);
    assert_taken(true, text);
}

static void refused(const char *text, const char *param, const char *words)
{
    assert_refused(true, text, param, words);
    assert_refused(false, text, param, words);
}

/* ---- Each kind ---- */

static void test_nothing_given(void **state)
{
    (void)state;
    taken("{}");
    assert_null(args.title);
    assert_string_equal(args.word, "hello");
    assert_false(args.note.set);
    assert_int_equal(args.email_id, 0);
    assert_int_equal(args.count, 25);
    assert_false(args.maybe.set);
    assert_true(args.rate == 0.5);
    assert_false(args.maybe_rate.set);
    assert_true(args.on);
    assert_false(args.maybe_on.set);
    assert_int_equal(args.colour, 0);
    assert_int_equal(args.shade, 2);
    assert_int_equal(args.include, 0);
    assert_false(args.at.set);
    assert_null(args.tags.items);
    assert_null(args.inner);
    assert_null(args.rows.items);
    assert_null(args.filter);
    /* No arguments at all are the same. */
    assert_true(decode(true, NULL));
    assert_true(decode(false, NULL));
    assert_int_equal(args.count, 25);
}

static void test_text(void **state)
{
    (void)state;
    taken("{\"title\":\"ab\"}");
    assert_string_equal(args.title, "ab");
    /* Sizes are code points, not bytes. */
    taken("{\"title\":\"\\u00e9\\u20ac\\ud83d\\ude00z\"}");
    refused("{\"title\":\"a\"}", "title", "at least 2");
    refused("{\"title\":\"\"}", "title", "at least 2");
    refused("{\"title\":\"abcde\"}", "title", "5 characters; at most 4");
    refused("{\"word\":\"\"}", "word", "must not be empty");
    refused("{\"title\":true}", "title", "must be text");
    refused("{\"title\":[\"ab\"]}", "title", "must be text");
    refused("{\"title\":null}", "title", "must be text");
    taken("{\"word\":\"given\"}");
    assert_string_equal(args.word, "given");
}

static void test_nullable_text_has_three_states(void **state)
{
    (void)state;
    taken("{\"note\":null}");
    assert_true(args.note.set);
    assert_null(args.note.value);
    taken("{\"note\":\"\"}");
    assert_true(args.note.set);
    assert_string_equal(args.note.value, "");
    refused("{\"note\":\"12345678901\"}", "note", "at most 10");
}

static void test_nul_inside_a_text(void **state)
{
    (void)state;
    static const char *const names[] = { "title", "emailId", "colour", "include", "at", "word" };
    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        json_t *body = json_in_arena(arena, json_object());
        json_object_set_new(body, names[i], json_stringn("re\0d", 4));
        assert_false(decode(false, body));
        assert_string_equal(err.param, names[i]);
    }
    json_t *body = json_in_arena(arena, json_object());
    json_object_set_new(body, "tags", json_pack("[s#]", "a\0b", 3));
    assert_false(decode(false, body));
    assert_string_equal(err.param, "tags.0");
    assert_non_null(strstr(err.message, "U+0000"));
    json_object_clear(body);
    json_object_set_new(body, "include", json_pack("[s#]", "red\0x", 5));
    assert_false(decode(true, body));
    assert_string_equal(err.param, "include");
}

static void test_ids(void **state)
{
    (void)state;
    taken(arena_printf(arena, "{\"emailId\":\"%s\"}", id_text(&ids, arena, ID_EMAIL, 123)));
    assert_int_equal(args.email_id, 123);
    /* A text that is not an id of the kind names no row; this differs from an absent argument. */
    taken("{\"emailId\":\"anything\"}");
    assert_int_equal(args.email_id, -1);
    taken(arena_printf(arena, "{\"emailId\":\"%s\"}", id_text(&ids, arena, ID_SEND, 123)));
    assert_int_equal(args.email_id, -1);
    taken("{\"emailId\":\"\"}");
    assert_int_equal(args.email_id, -1);
    refused("{\"emailId\":5}", "emailId", "must be text");
}

static void test_integers(void **state)
{
    (void)state;
    taken("{\"count\":1,\"maybe\":-5}");
    assert_int_equal(args.count, 1);
    assert_true(args.maybe.set);
    assert_int_equal(args.maybe.value, -5);
    taken("{\"count\":100,\"maybe\":5.0}");
    assert_int_equal(args.count, 100);
    assert_int_equal(args.maybe.value, 5);
    taken("{\"maybe\":9223372036854775807}");
    assert_true(args.maybe.value == INT64_MAX);
    refused("{\"count\":0}", "count", "between 1 and 100");
    refused("{\"count\":101}", "count", "between 1 and 100");
    refused("{\"count\":1.5}", "count", "whole number");
    refused("{\"maybe\":1e30}", "maybe", "whole number");
    refused("{\"count\":true}", "count", "whole number");
    refused("{\"count\":null}", "count", "whole number");
    refused("{\"count\":\"ten\"}", "count", "whole number");
}

static void test_numbers(void **state)
{
    (void)state;
    taken("{\"rate\":0,\"maybeRate\":2.5}");
    assert_true(args.rate == 0);
    assert_true(args.maybe_rate.set && args.maybe_rate.value == 2.5);
    taken("{\"rate\":3}");
    assert_true(args.rate == 3);
    refused("{\"rate\":-0.1}", "rate", "at least 0");
    refused("{\"maybeRate\":2.6}", "maybeRate", "at most 2.5");
    refused("{\"rate\":[]}", "rate", "a number");
}

static void test_booleans(void **state)
{
    (void)state;
    taken("{\"on\":false,\"maybeOn\":true}");
    assert_false(args.on);
    assert_true(args.maybe_on.set && args.maybe_on.value);
    taken("{\"maybeOn\":false}");
    assert_true(args.maybe_on.set && !args.maybe_on.value);
    refused("{\"on\":1}", "on", "true or false");
    refused("{\"on\":\"yes\"}", "on", "true or false");
    refused("{\"on\":\"TRUE\"}", "on", "true or false");
}

static void test_enums(void **state)
{
    (void)state;
    taken("{\"colour\":\"red\",\"shade\":\"blue\"}");
    assert_int_equal(args.colour, 1);
    assert_int_equal(args.shade, 3);
    refused("{\"colour\":\"Red\"}", "colour", "must be one of: red, green, blue.");
    refused("{\"colour\":\"re\"}", "colour", "one of");
    refused("{\"colour\":\"redd\"}", "colour", "one of");
    refused("{\"colour\":\"\"}", "colour", "one of");
    refused("{\"colour\":{}}", "colour", "must be text");
}

/* */
static void test_tokens(void **state)
{
    (void)state;
    taken("{\"include\":\"red,blue\"}");
    assert_int_equal(args.include, 5);
    taken("{\"include\":[\"green\",\"green\"]}");
    assert_int_equal(args.include, 2);
    refused("{\"include\":\"\"}", "include", "one of: red, green, blue");
    refused("{\"include\":\"red,\"}", "include", "one of");
    taken("{\"include\":[]}");
    assert_int_equal(args.include, 0);
    refused("{\"include\":\"red,purple\"}", "include", "one of: red, green, blue");
    refused("{\"include\":\"red blue\"}", "include", "one of");
    refused("{\"include\":\"red,,blue\"}", "include", "one of");
    refused("{\"include\":\",red\"}", "include", "one of");
    refused("{\"include\":[\"red,blue\"]}", "include", "one of");
    refused("{\"include\":[1]}", "include", "list of texts");
    refused("{\"include\":1}", "include", "must be text");
}

static void test_times(void **state)
{
    (void)state;
    taken("{\"at\":\"1970-01-01T01:00:00+01:00\"}");
    assert_true(args.at.set);
    assert_int_equal(args.at.value, 0);
    refused("{\"at\":\"1970-01-01\"}", "at", "ISO 8601");
    refused("{\"at\":\"1970-01-01T00:00:00\"}", "at", "ISO 8601");
    refused("{\"at\":0}", "at", "must be text");
}

static void test_text_lists(void **state)
{
    (void)state;
    taken("{\"tags\":[\"a\",\"bcde\"]}");
    assert_int_equal(args.tags.count, 2);
    assert_string_equal(args.tags.items[1], "bcde");
    refused("{\"tags\":[]}", "tags", "at least 1 item.");
    refused("{\"tags\":[\"a\",\"b\",\"c\",\"d\"]}", "tags", "4 items; at most 3");
    refused("{\"tags\":[\"a\",\"bcdef\"]}", "tags.1", "at most 4");
    refused("{\"tags\":[\"\"]}", "tags.0", "must not be empty");
    refused("{\"tags\":[\"a\",5]}", "tags.1", "must be text");
    refused("{\"tags\":\"a\"}", "tags", "must be a list of texts");
    /* One bare text, where it is allowed. */
    taken("{\"to\":\"a@b.c\"}");
    assert_int_equal(args.to.count, 1);
    assert_string_equal(args.to.items[0], "a@b.c");
    taken("{\"to\":[\"x\",\"y\"]}");
    assert_int_equal(args.to.count, 2);
    refused("{\"to\":\"0123456789\"}", "to", "at most 9");
    refused("{\"to\":5}", "to", "a text or a list of texts");
}

/* the path goes through every level. */
static void test_objects(void **state)
{
    (void)state;
    taken("{\"inner\":{\"city\":\"Paris\",\"rows\":[{\"name\":\"a\"},{\"name\":\"b\",\"size\":9}]}}");
    assert_string_equal(args.inner->city, "Paris");
    assert_int_equal(args.inner->rows.count, 2);
    const struct row *rows = args.inner->rows.items;
    assert_string_equal(rows[0].name, "a");
    assert_int_equal(rows[0].size, 7);
    assert_int_equal(rows[1].size, 9);
    taken("{\"inner\":{}}");
    assert_non_null(args.inner);
    assert_int_equal(args.inner->rows.count, 0);

    refused("{\"inner\":[]}", "inner", "an object");
    refused("{\"inner\":null}", "inner", "an object");
    refused("{\"inner\":{\"town\":\"x\"}}", "inner.town", "not a known key");
    refused("{\"inner\":{\"rows\":[{\"name\":\"a\"},{\"name\":\"b\",\"size\":10}]}}", "inner.rows.1.size", "between 0 and 9");
    refused("{\"inner\":{\"rows\":[{\"size\":1}]}}", "inner.rows.0.name", "name is required");
    /* What several items lack is told at once. */
    refused("{\"inner\":{\"rows\":[{\"name\":\"a\"},{\"size\":1},{}]}}", "inner.rows.1.name",
            "These are required: rows.1.name, rows.2.name.");
    refused("{\"inner\":{\"rows\":[{\"name\":\"toolong\"},{},{}]}}", "inner.rows.0.name", "at most 5");
    refused("{\"inner\":{\"rows\":[{\"name\":\"toolong\"}]}}", "inner.rows.0.name", "at most 5");
    refused("{\"inner\":{\"rows\":[{},{},{},{}]}}", "inner.rows", "at most 3");
}

static void test_object_lists(void **state)
{
    (void)state;
    taken("{\"rows\":[{\"name\":\"a\"}]}");
    assert_int_equal(args.rows.count, 1);
    refused("{\"rows\":[]}", "rows", "at least 1");
    refused("{\"rows\":[{\"name\":\"a\"},{\"name\":\"a\"},{\"name\":\"a\"}]}", "rows", "at most 2");
    refused("{\"rows\":[{\"name\":\"a\"},5]}", "rows.1", "an object");
    refused("{\"rows\":{}}", "rows", "a list of objects");
    refused("{\"rows\":[{\"name\":\"a\",\"user_id\":1}]}", "rows.0.user_id", "camelCase");
}

static void test_free_json(void **state)
{
    (void)state;
    taken("{\"filter\":{\"a\":1,\"b\":[2]},\"list\":[1,2,3]}");
    assert_int_equal(json_object_size(args.filter), 2);
    assert_int_equal(json_array_size(args.list), 3);
    /* An object that may be a list too. */
    taken("{\"filter\":[1,2]}");
    assert_true(json_is_array(args.filter));
    taken("{\"options\":{}}");
    assert_non_null(args.options);
    refused("{\"options\":[1,2]}", "options", "an object");
    refused("{\"filter\":[1,2,3]}", "filter", "at most 2");
    refused("{\"filter\":{\"a\":1,\"b\":2,\"c\":3}}", "filter", "at most 2");
    refused("{\"filter\":5}", "filter", "an object");
    refused("{\"filter\":null}", "filter", "an object");
    taken("{\"anything\":[1]}");
    assert_true(json_is_array(args.anything));
    taken("{\"anything\":null}");
    assert_true(json_is_null(args.anything));
    taken("{\"anything\":{\"a\":1,\"b\":2}}");
    assert_int_equal(json_object_size(args.anything), 2);
    refused("{\"list\":[]}", "list", "at least 1");
    refused("{\"list\":{}}", "list", "a list");
}

/* ---- Keys ---- */

/* What to do next, for the same input. */
static void suggested(enum input_reading reading, const char *text, const char *suggestion)
{
    struct call_input input = { .flat = true, .reading = reading, .body = json_of(text) };
    err = (struct error){ .code = ERR_NONE };
    if (decode_arguments(arena, &ids, &shape, &input, &args, &err))
        fail_msg("%s was accepted", text);
    assert_string_equal(err.suggestion, suggestion);
}

static bool read_as(enum input_reading reading, const char *text)
{
    struct call_input input = { .flat = true, .reading = reading, .body = json_of(text) };
    err = (struct error){ .code = ERR_NONE };
    memset(&args, 0, sizeof(args));
    return decode_arguments(arena, &ids, &shape, &input, &args, &err);
}

/* The names of a shape are suggested at every depth. */
static void test_the_nearest_name_is_suggested(void **state)
{
    (void)state;
    suggested(INPUT_COERCED, "{\"Title\":\"ab\"}", "Use title.");
    suggested(INPUT_COERCED, "{\"email_id\":\"x\"}", "Use emailId.");
    suggested(INPUT_COERCED, "{\"inner\":{\"town\":\"x\"}}", "Use one of: city, rows.");
    suggested(INPUT_COERCED, "{\"inner\":{\"citi\":\"x\"}}", "Use city, or one of: rows.");
    suggested(INPUT_COERCED, "{\"rows\":[{\"name\":\"a\",\"sise\":1}]}", "Use size, or one of: name.");
    suggested(INPUT_COERCED, "{\"colour\":\"grene\"}", "Use green.");
    suggested(INPUT_COERCED, "{\"include\":\"red,bluee\"}", "Use blue.");
    suggested(INPUT_COERCED, "{\"colour\":\"no colour at all\"}", "");
    suggested(
        INPUT_COERCED, "{\"emialId\":1}",
        "Use emailId, or one of: title, word, note, count, maybe, rate, maybeRate, on, maybeOn, colour, shade, include, at, tags, "
        "to, inner, rows, filter, anything, options, list.");
}

static const char *const shown_names[] = { "title", "emailId", "waitSeconds", NULL };

/* A tool shows some of the arguments; an error names no other. */
static void test_only_shown_names_are_suggested(void **state)
{
    (void)state;
    struct call_input input = { .flat = true, .shown = shown_names, .body = json_of("{\"titel\":\"ab\"}") };
    assert_false(decode_arguments(arena, &ids, &shape, &input, &args, &err));
    assert_string_equal(err.suggestion, "Use title, or one of: emailId.");
    input.body = json_of("{\"inner\":{\"citi\":\"ab\"}}");
    assert_false(decode_arguments(arena, &ids, &shape, &input, &args, &err));
    assert_string_equal(err.suggestion, "Use city, or one of: rows.");
}

/* a destructive tool takes no other form, and names the right one. */
static void test_exact_reading(void **state)
{
    (void)state;
    assert_false(read_as(INPUT_EXACT, "{\"on\":\"true\"}"));
    suggested(INPUT_EXACT, "{\"on\":\"true\"}", "Send on as true.");
    suggested(INPUT_EXACT, "{\"count\":\"5\"}", "Send count as 5.");
    suggested(INPUT_EXACT, "{\"title\":2026}", "Send title as \"2026\".");
    suggested(INPUT_EXACT, "{\"tags\":\"[\\\"a\\\"]\"}", "Send tags as [\"a\"].");
    suggested(INPUT_EXACT, "{\"tags\":\"a\"}", "Send tags as [\"a\"].");
    suggested(INPUT_EXACT, "{\"inner\":\"{\\\"city\\\":\\\"x\\\"}\"}", "Send inner as {\"city\":\"x\"}.");
    suggested(INPUT_EXACT, "{\"rows\":{\"name\":\"a\"}}", "Send rows as [{\"name\":\"a\"}].");
    suggested(INPUT_EXACT, "{\"email_id\":\"x\"}", "Use emailId.");
    suggested(INPUT_EXACT, "{\"on\":\"perhaps\"}", "");
    assert_true(read_as(INPUT_EXACT, "{\"to\":\"a@b.c\",\"on\":true,\"count\":5}"));
}

static void test_healing_reading(void **state)
{
    (void)state;
    assert_true(
        read_as(INPUT_HEALED, "{\"inner\":{\"City\":\"x\",\"rows\":{\"Name\":\"a\"}},\"tags\":\"a\",\"rows\":[{\"NAME\":\"b\"}]}"));
    assert_string_equal(args.inner->city, "x");
    assert_int_equal(args.inner->rows.count, 1);
    assert_string_equal(((const struct row *)args.inner->rows.items)->name, "a");
    assert_string_equal(((const struct row *)args.rows.items)->name, "b");
    assert_int_equal(args.tags.count, 1);
    assert_string_equal(args.tags.items[0], "a");
    /* Not when the argument is given, too. */
    assert_false(read_as(INPUT_HEALED, "{\"inner\":{\"City\":\"x\",\"city\":\"y\"}}"));
    assert_string_equal(err.param, "inner.City");
    assert_false(read_as(INPUT_HEALED, "{\"inner\":{\"City\":\"x\",\"CITY\":\"y\"}}"));
    assert_false(read_as(INPUT_COERCED, "{\"inner\":{\"City\":\"x\"}}"));
    assert_false(read_as(INPUT_COERCED, "{\"tags\":\"a\"}"));
}

/* */
static void test_unknown_keys(void **state)
{
    (void)state;
    refused("{\"title\":\"ab\",\"subject\":\"x\"}", "subject", "subject is not a known key.");
    refused("{\"thingId\":\"x\"}", "thingId", "GET /v1/things/{thingId} reads one.");
    refused("{\"inner\":{\"thingId\":\"x\"}}", "inner.thingId", "thingId is not a known key.");
    refused("{\"dry_run\":true}", "dry_run", "keys are camelCase");
    refused("{\"stop_in_flight\":true}", "stop_in_flight", "keys are camelCase");
    refused("{\"brandId\":\"brd_1\"}", "brandId", "the credential or the connection chooses the brand");
    refused("{\"Title\":\"ab\"}", "Title", "not a known key");
    refused("{\"\":1}", "", "not a known key");
    /* A long key is cut, not left out. */
    char text[400] = "{\"";
    memset(text + 2, 'k', 300);
    snprintf(text + 302, sizeof(text) - 302, "\":1}");
    assert_false(decode(true, json_of(text)));
    assert_int_equal(strspn(err.message, "k"), 80);
}

static void test_the_body_is_an_object(void **state)
{
    (void)state;
    refused("[]", "", "must be");
    refused("\"text\"", "", "must be");
    refused("null", "", "must be");
}

/* ---- Coercion: a tool's text that plainly is a value ---- */

static void test_tools_coerce(void **state)
{
    (void)state;
    assert_taken(
        true, "{\"count\":\"5\",\"maybe\":\"-12\",\"rate\":\"2.5\",\"maybeRate\":\"-1e2\",\"on\":\"false\",\"maybeOn\":\"true\"}");
    assert_int_equal(args.count, 5);
    assert_int_equal(args.maybe.value, -12);
    assert_true(args.rate == 2.5);
    assert_true(args.maybe_rate.value == -100);
    assert_false(args.on);
    assert_true(args.maybe_on.value);
    assert_taken(true, "{\"count\":\"5.0\",\"rate\":\"3\"}");
    assert_int_equal(args.count, 5);
    assert_true(args.rate == 3);
    assert_taken(true, "{\"maybe\":\"9007199254740993\"}");
    assert_true(args.maybe.value == INT64_C(9007199254740993));

    assert_taken(true, "{\"word\":2026,\"title\":-12}");
    assert_string_equal(args.word, "2026");
    assert_string_equal(args.title, "-12");

    assert_taken(
        true,
        "{\"tags\":\"[\\\"a\\\",\\\"b\\\"]\",\"inner\":\"{\\\"city\\\":\\\"Rome\\\"}\",\"rows\":\"[{\\\"name\\\":\\\"a\\\"}]\","
        "\"filter\":\" {\\\"a\\\":1} \",\"list\":\"[1]\"}");
    assert_int_equal(args.tags.count, 2);
    assert_string_equal(args.inner->city, "Rome");
    assert_int_equal(args.rows.count, 1);
    assert_int_equal(json_object_size(args.filter), 1);
    assert_int_equal(json_array_size(args.list), 1);
    assert_taken(true, "{\"to\":\"[\\\"x\\\",\\\"y\\\"]\"}");
    assert_int_equal(args.to.count, 2);
    /* Inside objects too. */
    assert_taken(true, "{\"rows\":[{\"name\":5,\"size\":\"3\"}]}");
    assert_string_equal(((const struct row *)args.rows.items)->name, "5");
    assert_int_equal(((const struct row *)args.rows.items)->size, 3);
}

/* The JSON text {"a":[[],[],…]}, whose tree takes about 40 MiB. */
static const char *text_of_large_tree(void)
{
    enum { LISTS = 270 * 1000 };
    struct buf *text = buf_in_arena(arena, SIZE_MAX);
    buf_add_text(text, "{\"a\":[");
    for (int i = 0; i < LISTS; i++)
        buf_add_text(text, i == 0 ? "[]" : ",[]");
    buf_add_text(text, "]}");
    return buf_text(text);
}

static bool decode_large(const char *name, json_t *value, const char *other_name, json_t *other)
{
    return decode(true, json_in_arena(arena, json_pack("{s:o, s:o*}", name, value, other_name, other)));
}

/* The trees in texts share the bound of the arguments. */
static void test_trees_in_texts_have_one_bound(void **state)
{
    (void)state;
    const char *text = text_of_large_tree();
    assert_true(decode_large("filter", json_string(text), "options", NULL));
    assert_int_equal(json_object_size(args.filter), 1);
    assert_false(decode_large("filter", json_string(text), "options", json_string(text)));
    assert_int_equal(err.code, ERR_PAYLOAD_TOO_LARGE);
    assert_false(decode_large("filter", json_loads(text, 0, NULL), "options", json_string(text)));
    assert_int_equal(err.code, ERR_PAYLOAD_TOO_LARGE);
    /* A text that is only read for a suggestion is of a wrong type, whatever its size. */
    assert_false(decode(false, json_in_arena(arena, json_pack("{s:s, s:s}", "filter", text, "options", text))));
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
}

static size_t json_blocks; /* that jansson has allocated */

static void *counting_malloc(size_t size)
{
    json_blocks++;
    return malloc(size);
}

/* A suggestion shows a short list only. */
static void test_a_long_list_in_a_text_is_not_made_for_a_suggestion(void **state)
{
    (void)state;
    struct buf *list = buf_in_arena(arena, SIZE_MAX);
    for (int i = 0; i < 10000; i++)
        buf_add_text(list, "a,");
    struct call_input input = { .flat = true, .reading = INPUT_EXACT, .body = json_pack("{s:s}", "tags", buf_text(list)) };
    json_in_arena(arena, json_for_iteration(input.body));
    json_set_alloc_funcs(counting_malloc, free);
    bool ok = decode_arguments(arena, &ids, &shape, &input, &args, &err);
    json_set_alloc_funcs(malloc, free);
    assert_false(ok);
    assert_string_equal(err.suggestion, "Send tags as a list, not as text.");
    assert_in_range(json_blocks, 0, 200);
}

static void test_coercion_is_faithful(void **state)
{
    (void)state;
    static const char *const no_numbers[] = { "", " 5", "5 ", "5x", "0x10", "nan", "inf", "1e999", "1,5", "-", ".", "five" };
    for (size_t i = 0; i < ARRAY_COUNT(no_numbers); i++) {
        assert_refused(true, arena_printf(arena, "{\"rate\":\"%s\"}", no_numbers[i]), "rate", "a number");
        assert_refused(true, arena_printf(arena, "{\"maybe\":\"%s\"}", no_numbers[i]), "maybe", "a whole number");
    }
    assert_refused(true, "{\"maybe\":\"5.5\"}", "maybe", "a whole number");
    assert_refused(true, "{\"maybe\":\"9223372036854775808\"}", "maybe", "a whole number");
    assert_refused(true, "{\"count\":\"101\"}", "count", "between");
    assert_refused(true, "{\"inner\":\"5\"}", "inner", "an object");
    assert_refused(true, "{\"inner\":\"{broken\"}", "inner", "an object");
    assert_refused(true, "{\"inner\":\"[]\"}", "inner", "an object");
    assert_refused(true, "{\"word\":1.5}", "word", "must be text");
    assert_refused(true, "{\"inner\":\"{\\\"nope\\\":1}\"}", "inner.nope", "not a known key");
}

static void test_bodies_are_not_coerced(void **state)
{
    (void)state;
    assert_refused(false, "{\"count\":\"5\"}", "count", "whole number");
    assert_refused(false, "{\"rate\":\"5\"}", "rate", "a number");
    assert_refused(false, "{\"on\":\"true\"}", "on", "true or false");
    assert_refused(false, "{\"word\":5}", "word", "must be text");
    assert_refused(false, "{\"colour\":5}", "colour", "must be text");
    assert_refused(false, "{\"inner\":\"{}\"}", "inner", "an object");
    assert_refused(false, "{\"filter\":\"{}\"}", "filter", "an object");
    assert_refused(false, "{\"rows\":[{\"name\":\"a\",\"size\":\"3\"}]}", "rows.0.size", "whole number");
    assert_refused(false, "{\"tags\":\"[\\\"a\\\"]\"}", "tags", "a list of texts");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_nothing_given),
        TEST(test_text),
        TEST(test_nullable_text_has_three_states),
        TEST(test_nul_inside_a_text),
        TEST(test_ids),
        TEST(test_integers),
        TEST(test_numbers),
        TEST(test_booleans),
        TEST(test_enums),
        TEST(test_tokens),
        TEST(test_times),
        TEST(test_text_lists),
        TEST(test_objects),
        TEST(test_object_lists),
        TEST(test_free_json),
        TEST(test_unknown_keys),
        TEST(test_the_nearest_name_is_suggested),
        TEST(test_only_shown_names_are_suggested),
        TEST(test_exact_reading),
        TEST(test_healing_reading),
        TEST(test_the_body_is_an_object),
        TEST(test_tools_coerce),
        TEST(test_trees_in_texts_have_one_bound),
        TEST(test_a_long_list_in_a_text_is_not_made_for_a_suggestion),
        TEST(test_coercion_is_faithful),
        TEST(test_bodies_are_not_coerced),
    };
    return cmocka_run_group_tests_name("api: decode", tests, NULL, NULL);
}
