/* Generations: titles, the states of a design and its run, the end of a run, also twice and after a deletion. */
#include "fixtures/engine_fixture.h"

#include "engine/generation/generations.h"

static const char html[] = "<!DOCTYPE html><html><head></head><body><p>Hi</p></body></html>";

/* ---- Titles ---- */

static void assert_title(const char *prompt, const char *wanted)
{
    assert_string_equal(generation_title(arena, prompt), wanted);
}

static void test_a_title_is_the_beginning_of_the_prompt(void **state) /* D-139 */
{
    (void)state;
    assert_title("Spring sale", "Spring sale");
    assert_title("\n\n## Spring **sale**\n\nMore", "Spring **sale**");
    assert_title("```\n# Open day\n```", "Open day");
    assert_title(" \n---\n ", "New email");
    assert_title("Announce the spring sale of our garden shop with twenty percent off everything",
                 "Announce the spring sale of our garden shop with twenty…");
    const char *emoji = generation_title(arena, "🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱🌱");
    assert_int_equal(strlen(emoji), 59 * strlen("🌱") + strlen("…"));
}

/* ---- Runs ---- */

struct begun {
    int64_t email_id;
    int64_t run_id;
};

static struct begun begin(void)
{
    struct error err;
    struct begun begun;
    struct generation_begin wanted = { .title = "A prompt" };
    assert_ok(generation_begin_design(&work, &wanted, &begun.email_id, &begun.run_id, &err), &err);
    return begun;
}

static struct email_find_row *design(int64_t email_id)
{
    struct error err;
    struct email_find_params params = { .brand_id = work.brand_id, .id = email_id };
    struct email_find_row *row;
    assert_ok(sql_email_find(conn, arena, &params, &row, &err), &err);
    return row;
}

static struct generation_find_row *run_of(struct begun begun)
{
    struct error err;
    struct generation_find_row *run;
    assert_ok(generation_get(&work, begun.email_id, begun.run_id, &run, &err), &err);
    return run;
}

static bool complete(struct begun begun, struct error *err)
{
    static const char *const warnings[] = { "No \"price\"." };
    struct email_content content;
    struct email_find_row *email;
    bool is_current;
    assert_ok(email_prepare(arena, prepared(html, "Hi"), &content, err), err);
    struct generation_result result = {
        .version = { .content = &content, .document_json = "{}", .made_by = "composer", .title = "Ready", .block_serial = 3 },
        .warnings = { warnings, 1 },
    };
    return generation_complete(&work, begun.run_id, &result, &email, &is_current, err) && is_current;
}

static void test_a_run_completes_once(void **state) /* D-139 */
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    work.now_us -= US_PER_S;
    struct begun begun = begin();
    assert_string_equal(design(begun.email_id)->status, "generating");
    assert_string_equal(design(begun.email_id)->title, "A prompt");
    assert_false(design(begun.email_id)->version_id.set);
    assert_false(generation_run_has_ended(run_of(begun)));

    work.now_us += US_PER_S;
    assert_true(complete(begun, &err));
    struct email_find_row *email = design(begun.email_id);
    assert_string_equal(email->status, "ready");
    assert_string_equal(email->title, "Ready");
    assert_string_equal(email->made_by, "composer");
    assert_int_equal(email->updated_at, work.now_us);
    assert_true(email->created_at < email->updated_at);
    assert_int_equal(number_of("select block_serial from emails"), 3);
    struct generation_find_row *run = run_of(begun);
    assert_string_equal(run->status, "completed");
    assert_int_equal(run->version_id.value, email->version_id.value);
    assert_string_equal(run->warnings, "[\"No \\\"price\\\".\"]");

    assert_false(complete(begun, &err));
    assert_int_equal(err.code, ERR_NONE);
    assert_int_equal(number_of("select count(*) from email_versions"), 1);
}

static void test_a_run_fails(void **state) /* R-217, D-151 */
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct error why = { .code = ERR_SERVICE_UNAVAILABLE, .message = "The renderer cannot be started." };
    struct begun begun = begin();
    assert_ok(generation_fail(&work, begun.run_id, &why, &err), &err);
    assert_string_equal(design(begun.email_id)->status, "failed");
    struct generation_find_row *run = run_of(begun);
    assert_string_equal(run->error_code, "EMAIL_GENERATION_FAILED");
    assert_string_equal(run->error, "The renderer cannot be started.");
    assert_false(complete(begun, &err));
    assert_int_equal(number_of("select count(*) from email_versions"), 0);
}

static void test_an_edit_that_fails_leaves_the_design(void **state) /* D-151 */
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct error why = { .code = ERR_EMAIL_GENERATION_FAILED, .message = "The instruction was not understood." };
    struct begun begun = { .email_id = design_of(html, "Hi") };
    int64_t version_id = design(begun.email_id)->version_id.value;
    int64_t updated_at = design(begun.email_id)->updated_at;
    assert_ok(generation_begin_edit(&work, begun.email_id, &begun.run_id, &err), &err);
    assert_string_equal(design(begun.email_id)->status, "generating");
    int64_t second;
    assert_false(generation_begin_edit(&work, begun.email_id, &second, &err));
    assert_int_equal(err.code, ERR_EMAIL_IN_PROGRESS);

    error_clear(&err);
    work.now_us += US_PER_S;
    assert_ok(generation_fail(&work, begun.run_id, &why, &err), &err);
    assert_string_equal(design(begun.email_id)->status, "ready");
    assert_int_equal(design(begun.email_id)->version_id.value, version_id);
    assert_int_equal(design(begun.email_id)->updated_at, updated_at);

    struct begun again = { .email_id = begun.email_id };
    assert_ok(generation_begin_edit(&work, again.email_id, &again.run_id, &err), &err);
    assert_true(complete(again, &err));
    assert_int_equal(number_of("select max(version)::bigint from email_versions"), 2);
}

static void test_a_deleted_design_gets_no_version(void **state) /* */
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct error ignored = { .code = ERR_NONE };
    struct email_deletion deletion;
    struct begun begun = begin();
    assert_ok(email_delete(&work, begun.email_id, &deletion, &err), &err);
    assert_true(deletion.deleted);
    assert_false(complete(begun, &err));
    assert_int_equal(err.code, ERR_EMAIL_NOT_FOUND);
    assert_ok(generation_fail(&work, begun.run_id, &err, &ignored), &ignored);
    assert_int_equal(number_of("select count(*) from generations where status = 'failed'"), 1);
    assert_int_equal(number_of("select count(*) from email_versions"), 0);
}

static void test_an_edit_needs_a_version(void **state) /* */
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    struct begun begun = begin();
    int64_t run_id;
    run_sql("update emails set status = 'failed'");
    assert_false(generation_begin_edit(&work, begun.email_id, &run_id, &err));
    assert_int_equal(err.code, ERR_EMAIL_NOT_READY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_title_is_the_beginning_of_the_prompt),
        TEST(test_a_run_completes_once),
        TEST(test_a_run_fails),
        TEST(test_an_edit_that_fails_leaves_the_design),
        TEST(test_a_deleted_design_gets_no_version),
        TEST(test_an_edit_needs_a_version),
    };
    return cmocka_run_group_tests(tests, world_begin, world_end);
}
