/* Decoding of a REST call: the position of each argument, and the conditions that choose the operation. */
#include "fixtures/own_fail.h"

#include "api/decode.h"
#include "base/json_read.h"
#include "crypto/keys.h"

#include <math.h>
#include <string.h>

static const char *const colours[] = { "red", "green", "blue", NULL };

static struct arena *arena; /* one per test */
static struct id_codec ids;
static struct error err;

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

#define FIELD_OF(wire_name, kind_of, place_of, type, field)                                                                        \
    .name = wire_name, .kind = kind_of, .place = place_of, .offset = offsetof(struct type, field)
#define OPEN .minimum = -INFINITY, .maximum = INFINITY

/* ---- Places: a REST call ---- */

struct placed {
    int64_t send_id;
    int64_t limit;
    struct opt_bool deep;
    uint32_t include;
    const char *name;
    struct opt_int size;
};

static const struct arg_field placed_fields[] = {
    { FIELD_OF("sendId", ARG_ID, ARG_IN_PATH, placed, send_id), .required = true, .id_kind = ID_SEND },
    { FIELD_OF("limit", ARG_INTEGER, ARG_IN_QUERY, placed, limit), .has_default = true, .default_number = 100, .minimum = 1,
      .maximum = 100 },
    { FIELD_OF("deep", ARG_BOOLEAN, ARG_IN_QUERY, placed, deep) },
    { FIELD_OF("include", ARG_TOKENS, ARG_IN_QUERY, placed, include), .enum_values = colours },
    { FIELD_OF("name", ARG_TEXT, ARG_IN_BODY, placed, name), .required = true, .min_size = 1, .max_size = 10 },
    { FIELD_OF("size", ARG_INTEGER, ARG_IN_BODY, placed, size), OPEN },
};
static const struct arg_shape placed_shape = { .fields = placed_fields,
                                               .count = ARRAY_COUNT(placed_fields),
                                               .size = sizeof(struct placed) };
static struct placed placed;

/* `query` is name, value, name, value, NULL. */
static bool decode_placed(const char *send_id, const char *const *query, const char *body)
{
    struct name_value path[] = { { "sendId", send_id } };
    struct name_value pairs[8];
    size_t count = 0;
    for (; query[2 * count] != NULL; count++)
        pairs[count] = (struct name_value){ query[2 * count], query[2 * count + 1] };
    struct call_input input = {
        .path = { path, send_id != NULL },
        .query = { pairs, count },
        .body = body != NULL ? json_of(body) : NULL,
    };
    err = (struct error){ .code = ERR_NONE };
    memset(&placed, 0, sizeof(placed));
    return decode_arguments(arena, &ids, &placed_shape, &input, &placed, &err);
}

#define QUERY(...) ((const char *const[]){ __VA_ARGS__, NULL })
static const char *const no_query[] = { NULL };

static void test_places(void **state)
{
    (void)state;
    const char *id = id_text(&ids, arena, ID_SEND, 77);
    /* Path and query are text on the wire and are decoded by type; values of the JSON body are not coerced. */
    assert_true(decode_placed(id, QUERY("limit", "7", "deep", "true", "include", "red,green"), "{\"name\":\"n\",\"size\":3}"));
    assert_int_equal(placed.send_id, 77);
    assert_int_equal(placed.limit, 7);
    assert_true(placed.deep.set && placed.deep.value);
    assert_int_equal(placed.include, 3);
    assert_string_equal(placed.name, "n");
    assert_int_equal(placed.size.value, 3);

    assert_true(decode_placed(id, no_query, "{\"name\":\"n\"}"));
    assert_int_equal(placed.limit, 100);
    assert_false(decode_placed(id, no_query, "{\"name\":\"n\",\"size\":\"3\"}"));
    assert_string_equal(err.param, "size");
    assert_false(decode_placed(id, no_query, NULL));
    assert_string_equal(err.param, "name");
    assert_non_null(strstr(err.message, "required"));
    assert_false(decode_placed(NULL, no_query, "{\"name\":\"n\"}"));
    assert_string_equal(err.param, "sendId");
}

/* 1..100, whole. */
static void test_limits_in_the_query(void **state)
{
    (void)state;
    static const char *const bad[] = { "0", "101", "1.5", "", "ten", "1e9" };
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
        assert_false(decode_placed("x", QUERY("limit", bad[i]), "{\"name\":\"n\"}"));
        assert_string_equal(err.param, "limit");
    }
}

/* A field is known only where it belongs. … R-029: ids and brandId are no query keys. */
static void test_misplaced_keys(void **state)
{
    (void)state;
    static const char *const wrong_in_query[] = { "sendId", "name", "brandId", "other", "page_size" };
    for (size_t i = 0; i < ARRAY_COUNT(wrong_in_query); i++) {
        assert_false(decode_placed("x", QUERY(wrong_in_query[i], "v"), "{\"name\":\"n\"}"));
        assert_int_equal(err.code, ERR_INVALID_REQUEST);
        assert_string_equal(err.param, wrong_in_query[i]);
    }
    assert_false(decode_placed("x", no_query, "{\"name\":\"n\",\"limit\":5}"));
    assert_string_equal(err.param, "limit");
    assert_false(decode_placed("x", no_query, "{\"name\":\"n\",\"sendId\":\"y\"}"));
    assert_string_equal(err.param, "sendId");
    assert_false(decode_placed("x", no_query, "[]"));
    assert_non_null(strstr(err.message, "JSON object"));
}

/* ---- Conditions: which operation of a route is meant ---- */

static bool holds(enum when_kind kind, const char *value, bool flat, const char *body)
{
    struct op_when when = { kind, "k", value, NULL };
    struct call_input input = { .flat = flat, .body = body != NULL ? json_of(body) : NULL };
    return decode_when_holds(&when, &input);
}

static void test_conditions(void **state)
{
    (void)state;
    assert_true(holds(WHEN_ALWAYS, NULL, false, NULL));
    assert_true(holds(WHEN_PRESENT, NULL, false, "{\"k\":[]}"));
    assert_true(holds(WHEN_PRESENT, NULL, false, "{\"k\":false}"));
    assert_true(holds(WHEN_PRESENT, NULL, false, "{\"k\":null}"));
    assert_false(holds(WHEN_PRESENT, NULL, false, "{\"other\":1}"));
    assert_false(holds(WHEN_PRESENT, NULL, false, NULL));
    assert_false(holds(WHEN_PRESENT, NULL, false, "[]"));

    assert_true(holds(WHEN_EQUALS, "true", false, "{\"k\":true}"));
    assert_false(holds(WHEN_EQUALS, "true", false, "{\"k\":false}"));
    assert_false(holds(WHEN_EQUALS, "true", false, "{\"k\":\"true\"}"));
    assert_true(holds(WHEN_EQUALS, "true", true, "{\"k\":\"true\"}"));
    assert_true(holds(WHEN_EQUALS, "\"account\"", false, "{\"k\":\"account\"}"));
    assert_true(holds(WHEN_EQUALS, "\"account\"", true, "{\"k\":\"account\"}"));
    assert_false(holds(WHEN_EQUALS, "\"account\"", true, "{\"k\":\"accounts\"}"));
    assert_false(holds(WHEN_EQUALS, "\"account\"", false, "{\"k\":5}"));
    assert_false(holds(WHEN_EQUALS, "\"account\"", false, "{}"));
}

static bool holds_beside(const char *body)
{
    struct op_when when = { WHEN_EQUALS, "k", "true", "rows" };
    struct call_input input = { .body = json_of(body) };
    return decode_when_holds(&when, &input);
}

static void test_conditions_on_two_arguments(void **state)
{
    (void)state;
    assert_true(holds_beside("{\"k\":true,\"rows\":[]}"));
    assert_false(holds_beside("{\"k\":false,\"rows\":[]}"));
    assert_false(holds_beside("{\"k\":true}"));
    assert_true(holds_beside("{\"k\":true,\"rows\":null}"));
    assert_false(holds_beside("{\"rows\":[]}"));
}

static bool holds_in_query(enum when_kind kind, const char *value, const char *name, const char *text)
{
    struct op_when when = { kind, "k", value, NULL };
    struct name_value item = { name, text };
    struct call_input input = { .query = { &item, 1 } };
    return decode_when_holds(&when, &input);
}

/* A GET has the arguments of its operation in the query, where every value is text. */
static void test_conditions_in_the_query(void **state)
{
    (void)state;
    assert_true(holds_in_query(WHEN_PRESENT, NULL, "k", "x"));
    assert_true(holds_in_query(WHEN_PRESENT, NULL, "k", ""));
    assert_false(holds_in_query(WHEN_PRESENT, NULL, "other", "x"));
    assert_true(holds_in_query(WHEN_EQUALS, "true", "k", "true"));
    assert_true(holds_in_query(WHEN_EQUALS, "\"account\"", "k", "account"));
    assert_false(holds_in_query(WHEN_EQUALS, "\"account\"", "k", "accounts"));
    assert_false(holds_in_query(WHEN_EQUALS, "true", "k", "false"));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_places),     TEST(test_limits_in_the_query),         TEST(test_misplaced_keys),
        TEST(test_conditions), TEST(test_conditions_on_two_arguments), TEST(test_conditions_in_the_query),
    };
    return cmocka_run_group_tests_name("api: places and conditions", tests, NULL, NULL);
}
