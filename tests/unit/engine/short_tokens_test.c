/* Short tokens: valid for their organization, brand and caller, for a day, in any process; bounded in number. */
#include "fixtures/engine_fixture.h"

#include "engine/core/page.h"
#include "engine/core/short_tokens.h"

static const char binding[] = "emails.list";

/* A call of an assistant: its own struct, as dispatch makes it. */
static struct work call_of(int64_t caller_id)
{
    struct work call = work;
    call.short_tokens = arena_alloc(arena, sizeof(*call.short_tokens));
    *call.short_tokens = (struct short_tokens){ .caller_id = caller_id, .tool = "list_emails" };
    return call;
}

static const char *issue_to(int64_t caller_id, int64_t id)
{
    struct error err;
    struct work call = call_of(caller_id);
    const char *token = page_cursor(&call, binding, &(struct page_cursor){ .number = 5, .id = id });
    assert_ok(short_tokens_keep(&call, &err), &err);
    return token;
}

static bool reads(struct work *call, const char *token, struct page_cursor *ret_position, struct error *err)
{
    struct error ignored;
    assert_ok(short_token_find(call, SHORT_CURSOR, token, &ignored), &ignored);
    return page_cursor_read(call, binding, token, ret_position, err);
}

static void assert_refused(struct work call, const char *token)
{
    struct error err = { .code = ERR_NONE };
    struct page_cursor position;
    assert_false(reads(&call, token, &position, &err));
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
    assert_string_equal(err.param, "cursor");
    assert_non_null(strstr(err.suggestion, "Call list_emails without cursor"));
}

static int64_t row_count(void)
{
    return number_of("select count(*) from short_tokens");
}

static void test_a_cursor_comes_back(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct page_cursor position;
    const char *token = issue_to(7, 42);
    assert_int_equal(strlen(token), TOKEN_SHORT_CHARS);
    struct work call = call_of(7);
    assert_ok(reads(&call, token, &position, &err), &err);
    assert_int_equal(position.id, 42);
    assert_int_equal(position.number, 5);
    assert_int_equal(number_of("select count(*) from short_tokens where sealed like 'cur_%'"), 0);
}

static void test_repeated_calls_add_no_row(void **state)
{
    (void)state;
    const char *token = issue_to(7, 42);
    for (int i = 0; i < 10; i++) {
        work.now_us += 600 * US_PER_S;
        assert_string_equal(issue_to(7, 42), token);
    }
    assert_int_equal(row_count(), 1);
    issue_to(7, 43);
    assert_int_equal(row_count(), 2);
}

static void test_repeated_calls_write_once_an_hour(void **state)
{
    (void)state;
    issue_to(7, 42);
    int64_t version = number_of("select xmin::text::bigint from short_tokens");
    work.now_us += 1800 * US_PER_S;
    issue_to(7, 42);
    assert_int_equal(number_of("select xmin::text::bigint from short_tokens"), version);
    work.now_us += 1900 * US_PER_S;
    issue_to(7, 42);
    assert_int_not_equal(number_of("select xmin::text::bigint from short_tokens"), version);
}

static void test_a_token_is_its_callers(void **state)
{
    (void)state;
    const char *token = issue_to(7, 42);
    assert_refused(call_of(8), token);
    assert_refused(call_of(-7), token);
    assert_refused(call_of(0), token);
    struct work other = call_of(7);
    other.brand_id++;
    assert_refused(other, token);
    other = call_of(7);
    other.organization_id++;
    assert_refused(other, token);
}

static void test_wrong_tokens_are_refused(void **state)
{
    (void)state;
    char *token = arena_dup(arena, issue_to(7, 42));
    char *changed = arena_dup(arena, token);
    changed[TOKEN_SHORT_CHARS - 1] = token[TOKEN_SHORT_CHARS - 1] == '3' ? '4' : '3';
    assert_refused(call_of(7), changed);
    assert_refused(call_of(7), arena_dup_bytes(arena, token, TOKEN_SHORT_CHARS - 1));
    assert_refused(call_of(7), arena_printf(arena, "%sx", token));
    assert_refused(call_of(7), "cur_");
    assert_refused(call_of(7), "");
    /* An assistant does not give sealed tokens, nor a confirmation for a cursor. */
    assert_refused(call_of(7), page_cursor(&work, binding, &(struct page_cursor){ .id = 42 }));
    assert_refused(call_of(7), arena_printf(arena, "yes_%s", token + TOKEN_SHORT_PREFIX_CHARS));
}

static void test_a_token_ends_after_a_day(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct page_cursor position;
    const char *token = issue_to(7, 42);
    work.now_us += SHORT_TOKEN_HOURS * INT64_C(3600) * US_PER_S - 1;
    struct work call = call_of(7);
    assert_ok(reads(&call, token, &position, &err), &err);
    work.now_us += 1;
    assert_refused(call_of(7), token);
}

static void test_a_token_of_another_list_is_refused(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct page_cursor position;
    struct work call = call_of(7);
    const char *token = issue_to(7, 42);
    assert_ok(short_token_find(&call, SHORT_CURSOR, token, &err), &err);
    assert_false(page_cursor_read(&call, "sends.list", token, &position, &err));
    assert_non_null(strstr(err.message, "another list"));
}

/* A new token takes the row of the token that has its slot, so the number of rows is bounded. */
static void test_a_slot_has_one_token(void **state)
{
    (void)state;
    run_sql("insert into short_tokens select %lld, n, '\\x00', 1, 1, '', now() + interval '1 day' from generate_series(0, %d) n",
            (long long)work.organization_id, SHORT_TOKEN_SLOTS - 1);
    struct error err = { .code = ERR_NONE };
    struct page_cursor position;
    for (int64_t id = 1; id <= 200; id++) {
        const char *token = issue_to(7, id);
        struct work call = call_of(7);
        assert_ok(reads(&call, token, &position, &err), &err);
        assert_int_equal(position.id, id);
    }
    assert_int_equal(row_count(), SHORT_TOKEN_SLOTS);
}

static void test_other_calls_use_sealed_tokens(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct page_cursor position;
    const char *cursor = page_cursor(&work, binding, &(struct page_cursor){ .number = 5, .id = 42 });
    assert_ok(page_cursor_read(&work, binding, cursor, &position, &err), &err);
    assert_int_equal(position.id, 42);
    assert_false(page_cursor_read(&work, binding, issue_to(7, 42), &position, &err));
    assert_null(strstr(err.message, "list_emails"));
}

static int begin_empty(void **state)
{
    int status = world_reset(state);
    run_sql("delete from short_tokens");
    return status;
}

#undef TEST
#define TEST(function) cmocka_unit_test_setup_teardown(function, begin_empty, world_leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_cursor_comes_back),
        TEST(test_repeated_calls_add_no_row),
        TEST(test_repeated_calls_write_once_an_hour),
        TEST(test_a_token_is_its_callers),
        TEST(test_wrong_tokens_are_refused),
        TEST(test_a_token_ends_after_a_day),
        TEST(test_a_token_of_another_list_is_refused),
        TEST(test_a_slot_has_one_token),
        TEST(test_other_calls_use_sealed_tokens),
    };
    return cmocka_run_group_tests_name("engine: short tokens", tests, world_begin, world_end);
}
