/* Values of every type, sent to the server and read back. */
#include "fixtures/private_db.h"

#include <math.h>
#include <string.h>

struct plain {
    int64_t big;
    int64_t small;
    double number;
    bool truth;
    const char *words;
    const char *json;
    struct bytes bytes;
    int64_t at;
    struct int_list bigs;
    struct int_list times;
    struct text_list texts;
    struct text_list jsons;
    struct bool_list truths;
};
static const struct db_field plain_fields[] = {
    FIELD(plain, big, DB_BIGINT, false),           FIELD(plain, small, DB_INTEGER, false),
    FIELD(plain, number, DB_FLOAT, false),         FIELD(plain, truth, DB_BOOLEAN, false),
    FIELD(plain, words, DB_TEXT, false),           FIELD(plain, json, DB_JSONB, false),
    FIELD(plain, bytes, DB_BYTEA, false),          FIELD(plain, at, DB_TIMESTAMPTZ, false),
    FIELD(plain, bigs, DB_BIGINT_ARRAY, false),    FIELD(plain, times, DB_TIMESTAMPTZ_ARRAY, false),
    FIELD(plain, texts, DB_TEXT_ARRAY, false),     FIELD(plain, jsons, DB_JSONB_ARRAY, false),
    FIELD(plain, truths, DB_BOOLEAN_ARRAY, false),
};
static const struct db_statement echo_plain = {
    .name = "echo_plain",
    .result = DB_ONE,
    .sql = "select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13",
    .params = plain_fields,
    .param_count = ARRAY_COUNT(plain_fields),
    .columns = plain_fields,
    .column_count = ARRAY_COUNT(plain_fields),
    .row_size = sizeof(struct plain),
};

struct optional {
    struct opt_int big;
    struct opt_int small;
    struct opt_number number;
    struct opt_bool truth;
    const char *words;
    const char *json;
    struct bytes bytes;
    struct opt_int at;
    struct int_list bigs;
    struct text_list texts;
    struct bool_list truths;
};
static const struct db_field optional_fields[] = {
    FIELD(optional, big, DB_BIGINT, true),           FIELD(optional, small, DB_INTEGER, true),
    FIELD(optional, number, DB_FLOAT, true),         FIELD(optional, truth, DB_BOOLEAN, true),
    FIELD(optional, words, DB_TEXT, true),           FIELD(optional, json, DB_JSONB, true),
    FIELD(optional, bytes, DB_BYTEA, true),          FIELD(optional, at, DB_TIMESTAMPTZ, true),
    FIELD(optional, bigs, DB_BIGINT_ARRAY, true),    FIELD(optional, texts, DB_TEXT_ARRAY, true),
    FIELD(optional, truths, DB_BOOLEAN_ARRAY, true),
};
static const struct db_statement echo_optional = {
    .name = "echo_optional",
    .result = DB_ONE,
    .sql = "select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11",
    .params = optional_fields,
    .param_count = ARRAY_COUNT(optional_fields),
    .columns = optional_fields,
    .column_count = ARRAY_COUNT(optional_fields),
    .row_size = sizeof(struct optional),
};

static const char *const hard_texts[] = {
    "plain",
    "",
    "NULL",
    "null",
    "a \"quoted\" \\ back\\\\slash",
    "{curly,comma}",
    "'single'",
    "line\nfeed\ttab",
    NULL,
    "żółć 🦊 \u202e",
    "%s %n",
};
static const char *const some_jsons[] = { "{\"a\": \"}\"}", NULL, "[]", "\"text\"", "null" };

static void test_values_come_back(void **state)
{
    (void)state;
    struct error err;
    const int64_t bigs[] = { 0, -1, INT64_MIN, INT64_MAX, 42 };
    const int64_t times[] = { 0, 1, -1, INT64_C(1732178096123456), DB_TIME_INFINITY, DB_TIME_MINUS_INFINITY };
    const bool truths[] = { true, false, true };
    struct plain sent = {
        .big = INT64_MIN,
        .small = INT32_MIN,
        .number = -0.1,
        .truth = true,
        .words = hard_texts[4],
        .json = "{\"k\": [1, 2.5, null, \"ż\"]}",
        .bytes = { .data = (const unsigned char *)"\0\xff\\x00", .size = 6 },
        .at = INT64_C(-62135596800000000), /* 0001-01-01 */
        .bigs = { bigs, ARRAY_COUNT(bigs) },
        .times = { times, ARRAY_COUNT(times) },
        .texts = { hard_texts, ARRAY_COUNT(hard_texts) },
        .jsons = { some_jsons, ARRAY_COUNT(some_jsons) },
        .truths = { truths, ARRAY_COUNT(truths) },
    };
    struct db_rows rows;
    assert_ok(db_run(conn, arena, &echo_plain, &sent, &rows, &err), &err);
    assert_int_equal(rows.count, 1);
    const struct plain *got = rows.rows;
    assert_int_equal(got->big, sent.big);
    assert_int_equal(got->small, sent.small);
    assert_true(got->number == sent.number);
    assert_true(got->truth);
    assert_string_equal(got->words, sent.words);
    assert_string_equal(got->json, sent.json);
    assert_int_equal(got->bytes.size, 6);
    assert_memory_equal(got->bytes.data, sent.bytes.data, 6);
    assert_int_equal(got->at, sent.at);
    assert_int_equal(got->bigs.count, ARRAY_COUNT(bigs));
    assert_memory_equal(got->bigs.items, bigs, sizeof(bigs));
    assert_int_equal(got->times.count, ARRAY_COUNT(times));
    assert_memory_equal(got->times.items, times, sizeof(times));
    assert_int_equal(got->truths.count, ARRAY_COUNT(truths));
    assert_memory_equal(got->truths.items, truths, sizeof(truths));

    assert_int_equal(got->texts.count, ARRAY_COUNT(hard_texts));
    for (size_t i = 0; i < ARRAY_COUNT(hard_texts); i++) {
        if (hard_texts[i] == NULL)
            assert_null(got->texts.items[i]);
        else
            assert_string_equal(got->texts.items[i], hard_texts[i]);
    }
    assert_int_equal(got->jsons.count, ARRAY_COUNT(some_jsons));
    for (size_t i = 0; i < ARRAY_COUNT(some_jsons); i++) {
        if (some_jsons[i] == NULL)
            assert_null(got->jsons.items[i]);
        else
            assert_string_equal(got->jsons.items[i], some_jsons[i]);
    }
}

/* Both directions by our codec could be wrong together; here the server says what it understood. */
static void test_server_understands(void **state)
{
    (void)state;
    struct error err;
    struct {
        int64_t at;
        struct text_list texts;
        double number;
    } sent = { .at = INT64_C(1732178096123456), .texts = { hard_texts + 4, 2 }, .number = 1e300 };
    const struct db_field params[] = {
        { "at", DB_TIMESTAMPTZ, false, (size_t)((char *)&sent.at - (char *)&sent) },
        { "texts", DB_TEXT_ARRAY, false, (size_t)((char *)&sent.texts - (char *)&sent) },
        { "number", DB_FLOAT, false, (size_t)((char *)&sent.number - (char *)&sent) },
    };
    const struct db_statement statement = {
        .name = "understand",
        .result = DB_ONE,
        .sql = "select to_char($1, 'YYYY-MM-DD HH24:MI:SS.US') || ' ' || cardinality($2) || ' ' || $2[1] || ' ' || $3",
        .params = params,
        .param_count = ARRAY_COUNT(params),
        .columns = words_fields,
        .column_count = 1,
        .row_size = sizeof(struct words),
    };
    struct db_rows rows;
    assert_ok(db_run(conn, arena, &statement, &sent, &rows, &err), &err);
    assert_string_equal(((struct words *)rows.rows)->value, "2024-11-21 08:34:56.123456 2 a \"quoted\" \\ back\\\\slash 1e+300");
}

static void test_nulls_come_back(void **state)
{
    (void)state;
    struct error err;
    struct optional sent = { .words = NULL };
    struct db_rows rows;
    assert_ok(db_run(conn, arena, &echo_optional, &sent, &rows, &err), &err);
    const struct optional *got = rows.rows;
    assert_false(got->big.set || got->small.set || got->number.set || got->truth.set || got->at.set);
    assert_null(got->words);
    assert_null(got->json);
    assert_null(got->bytes.data);
    assert_null(got->bigs.items);
    assert_null(got->texts.items);
    assert_null(got->truths.items);
}

static void test_optional_values_come_back(void **state)
{
    (void)state;
    struct error err;
    struct optional sent = {
        .big = { true, 0 },
        .small = { true, -7 },
        .number = { true, NAN },
        .truth = { true, false },
        .words = "",
        .json = "{}",
        .bytes = { .data = (const unsigned char *)"", .size = 0 },
        .at = { true, 0 },
        .bigs = { .items = (const int64_t[]){ 0 }, .count = 0 },
        .texts = { .items = hard_texts, .count = 0 },
        .truths = { .items = (const bool[]){ false }, .count = 1 },
    };
    struct db_rows rows;
    assert_ok(db_run(conn, arena, &echo_optional, &sent, &rows, &err), &err);
    const struct optional *got = rows.rows;
    assert_true(got->big.set && got->big.value == 0);
    assert_true(got->small.set && got->small.value == -7);
    assert_true(got->number.set && isnan(got->number.value));
    assert_true(got->truth.set && !got->truth.value);
    assert_string_equal(got->words, "");
    assert_string_equal(got->json, "{}");
    assert_non_null(got->bytes.data);
    assert_int_equal(got->bytes.size, 0);
    assert_true(got->at.set && got->at.value == 0);
    /* Empty is not null. */
    assert_non_null(got->bigs.items);
    assert_int_equal(got->bigs.count, 0);
    assert_non_null(got->texts.items);
    assert_int_equal(got->texts.count, 0);
    assert_int_equal(got->truths.count, 1);
    assert_false(got->truths.items[0]);
}

static void test_unfit_values_are_refused(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct optional too_big = { .small = { true, INT64_C(1) << 31 } };
    uint64_t before = db_round_trips(conn);
    assert_false(db_run(conn, arena, &echo_optional, &too_big, NULL, &err));
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
    assert_string_equal(err.param, "small");

    struct plain missing_text = { .words = NULL, .json = "{}" };
    assert_false(db_run(conn, arena, &echo_plain, &missing_text, NULL, &err));
    assert_int_equal(err.code, ERR_INTERNAL_ERROR);
    assert_non_null(strstr(err.cause, "words"));
    assert_int_equal(db_round_trips(conn), before);

    static const struct db_statement null_number = {
        .name = "null_number",
        .result = DB_ONE,
        .sql = "select null::bigint",
        .columns = number_fields,
        .column_count = 1,
        .row_size = sizeof(struct number),
    };
    assert_false(db_run(conn, arena, &null_number, NULL, NULL, &err));
    assert_int_equal(err.code, ERR_INTERNAL_ERROR);
    static const struct db_statement wrong_type = {
        .name = "wrong_type",
        .result = DB_ONE,
        .sql = "select 1::integer",
        .columns = number_fields,
        .column_count = 1,
        .row_size = sizeof(struct number),
    };
    assert_false(db_run(conn, arena, &wrong_type, NULL, NULL, &err));
    static const struct db_statement two_rows = {
        .name = "two_rows",
        .result = DB_ONE,
        .sql = "select generate_series(1, 2)::bigint",
        .columns = number_fields,
        .column_count = 1,
        .row_size = sizeof(struct number),
    };
    assert_false(db_run(conn, arena, &two_rows, NULL, NULL, &err));
    assert_non_null(strstr(err.cause, "number of rows"));
}

static void test_invalid_utf8_is_the_callers_fault(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct optional sent = { .words = "\xff\xfe" };
    assert_false(db_run(conn, arena, &echo_optional, &sent, NULL, &err));
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
    sent = (struct optional){ .json = "{\"a\": \"\\u0000\"}" };
    assert_false(db_run(conn, arena, &echo_optional, &sent, NULL, &err));
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
}

/* The cause of an error goes into the log, which has no values. */
static void test_causes_quote_no_values(void **state)
{
    (void)state;
    static const char *const scripts[] = {
        "select 'ada@example.com'::bigint",
        "select 'ada@example.com'::timestamptz",
        "select '{\"ada@example.com\"'::jsonb",
        "create temp table quoting (email text primary key, constraint no_ada check (email not like 'ada%'))",
        "insert into quoting values ('bob@example.com'), ('bob@example.com')",
        "insert into quoting values ('ada@example.com')",
    };
    for (size_t i = 0; i < ARRAY_COUNT(scripts); i++) {
        struct error err = { .code = ERR_NONE };
        assert_int_equal(db_script(conn, scripts[i], &err), i == 3);
        assert_null(strstr(err.cause, "@example.com"));
        assert_true(i == 3 || strlen(err.cause) > strlen("script: "));
        if (i > 3)
            assert_non_null(strstr(err.cause, i == 4 ? "quoting_pkey" : "no_ada"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_values_come_back),          TEST(test_server_understands),       TEST(test_nulls_come_back),
        TEST(test_optional_values_come_back), TEST(test_unfit_values_are_refused), TEST(test_invalid_utf8_is_the_callers_fault),
        TEST(test_causes_quote_no_values),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
