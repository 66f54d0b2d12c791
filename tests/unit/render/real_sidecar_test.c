/* Renderer with the real sidecar: each kind of request once, in the confinement of the process. */
#include "render/renderer.h"

#include "base/json_read.h"
#include "designer/instruction.h"
#include "fixtures/sidecar_bench.h"
#include "fixtures/temp_folder.h"

#include <string.h>

static void test_the_real_process(void **state)
{
    struct bench *bench = *state;
    struct renderer *renderer = real_renderer(bench);
    struct error err = { .code = ERR_NONE };
    const json_t *result = NULL;
    if (!renderer_ping(renderer_for(renderer, 0), bench->arena, &result, &err))
        fail_msg("%s: %s; %s", err.message, err.cause, bench->log_count > 0 ? bench->log[0] : "");
    assert_true(json_get_bool(result, "pong", false));
    result = prepare_well(bench, renderer, "<p>Hi {{ firstName | default: 'there' }}</p><script>alert(1)</script>");
    const char *html = json_get_text(result, "html");
    assert_non_null(html);
    assert_non_null(strstr(html, "{{ firstName"));
    assert_null(strstr(html, "<script"));
    assert_false(renderer_prepare(renderer_for(renderer, 0), bench->arena, "rtf", "x", NULL, &result, &err));
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
    assert_string_equal(err.param, "source.format");
    renderer_free(renderer);
}

/* Edits by the ids of an outline: all or none. */
static void test_outline_and_splice(void **state)
{
    struct bench *bench = *state;
    struct renderer *renderer = real_renderer(bench);
    struct error err = { .code = ERR_NONE };
    const json_t *result = NULL;
    const char *html = json_get_text(prepare_well(bench, renderer, "<p>Hi <a href=\"https://a.example/\">you</a></p>"), "html");
    assert_true(renderer_outline(renderer_for(renderer, 0), bench->arena, html, &result, &err));
    assert_int_equal(json_array_size(json_object_get(result, "texts")), 1);
    assert_string_equal(json_get_text(json_array_get(json_object_get(result, "links"), 0), "id"), "l1");
    assert_true(renderer_splice(renderer_for(renderer, 0), bench->arena, html,
                                "[{\"id\":\"t1\",\"with\":\"Hi all\"},{\"id\":\"l1\",\"with\":\"https://b.example/\"}]", &result,
                                &err));
    assert_non_null(strstr(json_get_text(result, "html"), "<p>Hi <a href=\"https://b.example/\">all</a></p>"));
    assert_false(renderer_splice(renderer_for(renderer, 0), bench->arena, html,
                                 "[{\"id\":\"t1\",\"with\":\"Ho\"},{\"id\":\"l1\",\"with\":\"javascript:x\"}]", &result, &err));
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
    assert_string_equal(err.param, "edits.1.with");
    renderer_free(renderer);
}

/* An instruction about an outline gives edits that the renderer takes. */
static void test_instruction_for_prepared_html(void **state)
{
    struct bench *bench = *state;
    struct renderer *renderer = real_renderer(bench);
    struct error err = { .code = ERR_NONE };
    const json_t *result = NULL;
    const char *html =
        json_get_text(prepare_well(bench, renderer,
                                   "<p>Hi {{ a | default: \"x & y\" }}</p><a href=\"https://a.example/\" class=\"button\">Buy</a>"),
                      "html");
    assert_true(renderer_outline(renderer_for(renderer, 0), bench->arena, html, &result, &err));
    const struct instruction *instruction =
        instruction_read_outline(bench->arena, result,
                                 "Replace '{{ a | default: \"x & y\" }}' with 'all', set the button text to \"Order\" and set the "
                                 "button link to https://b.example/");
    assert_non_null(instruction->operations);
    if (!renderer_splice(renderer_for(renderer, 0), bench->arena, html, json_compact(bench->arena, instruction->operations),
                         &result, &err))
        fail_msg("%s: %s", err.param, err.message);
    assert_non_null(strstr(json_get_text(result, "html"), "<p>Hi all</p><a href=\"https://b.example/\""));
    assert_non_null(strstr(json_get_text(result, "html"), ">Order</a>"));
    renderer_free(renderer);
}

static const char *status_of(const json_t *report, const char *check_id)
{
    size_t i;
    json_t *check;
    json_array_foreach (json_object_get(report, "checks"), i, check)
        if (strcmp(json_get_text(check, "id"), check_id) == 0)
            return json_get_text(check, "status");
    return "absent";
}

static void test_check_mail(void **state)
{
    struct bench *bench = *state;
    struct renderer *renderer = real_renderer(bench);
    struct error err = { .code = ERR_NONE };
    const json_t *result = NULL;
    const char *members =
        "\"design\":\"<html lang=\\\"en\\\"><body><p>Hello</p></body></html>\",\"html\":null,\"subject\":\"Hello\","
        "\"purpose\":\"marketing\",\"emptyTags\":[],\"pictures\":{}";
    assert_true(renderer_check_mail(renderer_for(renderer, 0), bench->arena, members, &result, &err));
    assert_string_equal(json_get_text(json_object_get(result, "engine"), "name"), "posthorn-static");
    assert_string_equal(status_of(result, "unsubscribeLink"), "issues");
    assert_false(renderer_check_mail(renderer_for(renderer, 0), bench->arena, "\"html\":\"\"", &result, &err));
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
    renderer_free(renderer);
}

/* The real process finds a grey text in its confinement. */
static void test_checks_of_a_shown_mail(void **state)
{
    struct bench *bench = *state;
    struct renderer *renderer = real_renderer(bench);
    struct error err = { .code = ERR_NONE };
    const json_t *report = NULL;
    assert_ok(renderer_check_shown(renderer_for(renderer, 0), bench->arena, "<p style=\"color:#bbb\">Grey words</p>", "{}", &report,
                                   &err),
              &err);
    assert_string_equal(status_of(report, "axeColorContrast"), "issues");
    assert_string_equal(status_of(report, "textCut"), "passed");
    renderer_free(renderer);
}

/* the other formats, in the confinement that the process lives in: no network, no files, another user. */
static void test_the_other_formats(void **state)
{
    static const struct {
        const char *format;
        const char *content;
    } good[] = {
        { "mjml",
          "<mjml><mj-body><mj-section><mj-column><mj-text>Hi {{ firstName }}</mj-text></mj-column></mj-section></mj-body></mjml>" },
        { "jsx", "import { Text } from '@react-email/components';\nexport default () => <Text>Hi {'{{ firstName }}'}</Text>;" },
    };
    struct bench *bench = *state;
    struct renderer *renderer = real_renderer(bench);
    struct error err = { .code = ERR_NONE };
    const json_t *result = NULL;
    for (size_t i = 0; i < ARRAY_COUNT(good); i++) {
        if (!renderer_prepare(renderer_for(renderer, 0), bench->arena, good[i].format, good[i].content, NULL, &result, &err))
            fail_msg("%s: %s %s", good[i].format, err.message, err.cause);
        assert_non_null(strstr(json_get_text(result, "html"), "Hi {{ firstName }}"));
    }
    assert_false(renderer_prepare(renderer_for(renderer, 0), bench->arena, "jsx",
                                  "import fs from 'node:fs';\nexport default () => <p>{fs}</p>;", NULL, &result, &err));
    assert_int_equal(err.code, ERR_EMAIL_IMPORT_FAILED);
    assert_string_equal(err.param, "source.content");
    assert_non_null(strstr(err.message, "Line 1"));
    renderer_free(renderer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_real_process, set_up_bench, tear_down_bench),
        cmocka_unit_test_setup_teardown(test_outline_and_splice, set_up_bench, tear_down_bench),
        cmocka_unit_test_setup_teardown(test_instruction_for_prepared_html, set_up_bench, tear_down_bench),
        cmocka_unit_test_setup_teardown(test_check_mail, set_up_bench, tear_down_bench),
        cmocka_unit_test_setup_teardown(test_checks_of_a_shown_mail, set_up_bench, tear_down_bench),
        cmocka_unit_test_setup_teardown(test_the_other_formats, set_up_bench, tear_down_bench),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
