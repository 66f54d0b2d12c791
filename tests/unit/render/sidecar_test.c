/*
 * Renderer, the client of the sidecar: the protocol, with small scripts as the
 * sidecar. sidecar_process_test.c has the process, real_sidecar_test.c the program.
 */
#include "render/renderer.h"

#include "base/json_read.h"
#include "fixtures/sidecar_bench.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_request_and_reply(void **state)
{
    struct bench *bench = *state;
    struct renderer *renderer = scripted_renderer(bench, "ok(request, { request, count });", 0);
    const json_t *result = NULL;
    struct error err = { .code = ERR_NONE };
    assert_true(renderer_prepare(renderer_for(renderer, 0), bench->arena, "html", "<p title=\"\u00e9\">\n</p>",
                                 "https://example.com/", &result, &err));
    const json_t *request = json_object_get(result, "request");
    assert_string_equal(json_get_text(request, "op"), "prepare");
    assert_string_equal(json_get_text(request, "format"), "html");
    assert_string_equal(json_get_text(request, "content"), "<p title=\"\u00e9\">\n</p>");
    assert_string_equal(json_get_text(request, "baseUrl"), "https://example.com/");
    /* One process serves them all. */
    result = prepare_well(bench, renderer, "x");
    assert_int_equal(json_get_int(result, "count", 0), 2);
    assert_null(json_object_get(json_object_get(result, "request"), "baseUrl"));
    renderer_free(renderer);
}

static void test_large_request_and_reply(void **state)
{
    struct bench *bench = *state;
    struct renderer *renderer =
        scripted_renderer(bench, "process.stderr.write('e'.repeat(200000) + '\\n'); ok(request, { content: request.content });", 0);
    char *html = arena_alloc(bench->arena, 3 * 1024 * 1024 + 1);
    memset(html, 'h', 3 * 1024 * 1024);
    const json_t *result = prepare_well(bench, renderer, html);
    assert_string_equal(json_get_text(result, "content"), html);
    assert_true(log_has(bench, "eeee"));

    struct error err = { .code = ERR_NONE };
    char *huge = arena_alloc(bench->arena, RENDERER_MAX_REQUEST_BYTES + 1);
    memset(huge, 'h', RENDERER_MAX_REQUEST_BYTES);
    assert_null(prepare_html(bench, renderer, huge, &err));
    assert_int_equal(err.code, ERR_PAYLOAD_TOO_LARGE);
    assert_string_equal(err.param, "source.content");
    assert_false(renderer_draw_page(renderer_for(renderer, 0), bench->arena, huge, 1, 1, "{}", &result, &err));
    assert_int_equal(err.code, ERR_PAYLOAD_TOO_LARGE);
    assert_string_equal(err.param, "html");
    prepare_well(bench, renderer, "x");
    renderer_free(renderer);
}

static void test_reported_errors(void **state)
{
    struct bench *bench = *state;
    struct renderer *renderer = scripted_renderer(
        bench, "reply({ id: request.id, ok: false, error: { code: request.content, param: 'source.content', message: 'No.' } });",
        0);
    static const struct {
        const char *name;
        enum error_code code;
    } cases[] = { { "EMAIL_IMPORT_FAILED", ERR_EMAIL_IMPORT_FAILED },
                  { "INVALID_REQUEST", ERR_INVALID_REQUEST },
                  { "PAYLOAD_TOO_LARGE", ERR_PAYLOAD_TOO_LARGE },
                  { "SERVICE_UNAVAILABLE", ERR_SERVICE_UNAVAILABLE } };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct error err = { .code = ERR_NONE };
        assert_null(prepare_html(bench, renderer, cases[i].name, &err));
        assert_int_equal(err.code, cases[i].code);
        assert_string_equal(err.param, "source.content");
        assert_string_equal(err.message, "No.");
    }
    struct error err = { .code = ERR_NONE };
    assert_null(prepare_html(bench, renderer, "API_KEY_REVOKED", &err)); /* not for it to say */
    assert_int_equal(err.code, ERR_INTERNAL_ERROR);
    assert_null(strstr(err.message, "No."));
    renderer_free(renderer);
}

static void test_senseless_replies(void **state)
{
    static const struct {
        const char *on;
        const char *cause;
    } cases[] = {
        { "process.stdout.write('not json\\n');", "line 1" },
        { "reply({ id: request.id + 1, ok: true, result: {} });", "another request" },
        { "reply([1]);", "another request" },
        { "process.stdout.write('\\n');", "renderer" },
        { "const line = JSON.stringify({ id: request.id, ok: true, result: {} }) + '\\n'; process.stdout.write(line + line);",
          "line 2" },
        { "process.stdout.write('x'.repeat(5 * 1024 * 1024));", "too large" },
        { "process.stdout.write('[' .repeat(1000) + '\\n');", "renderer" },
        { "closeSync(1);", "closed" },
        { "reply({ id: request.id, ok: true });", "without a result" },
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct bench *bench = *state;
        /* The first request of each process is answered well, so that what follows is seen to recover. */
        char *on = arena_printf(bench->arena, "if (request.content === 'bad') { %s } else ok(request, { count });", cases[i].on);
        struct renderer *renderer = scripted_renderer(bench, on, 0);
        prepare_well(bench, renderer, "good");
        assert_unavailable(bench, renderer, "bad", cases[i].cause);
        prepare_well(bench, renderer, "good");
        renderer_free(renderer);
    }
}

/* The report of the engine "browser" comes through, with a file for a picture. Too much HTML is refused before the process sees it.
 */
static void test_report_of_a_shown_mail(void **state)
{
    struct bench *bench = *state;
    const json_t *report = NULL;
    struct error err = { .code = ERR_NONE };
    struct renderer *renderer = scripted_renderer(
        bench,
        "ok(request, { engine: { name: 'axe-core', version: '1' }, checks: [{ id: 'textCut', status: 'passed', "
        "reason: [request.op, request.content, Object.keys(request.files)[0]].join(' '), findings: [], more: 0 }] });",
        0);
    const char *files = "{\"https://a.example/1.png\": {\"type\": \"image/png\", \"data\": \"\"}}";
    assert_true(renderer_check_shown(renderer_for(renderer, 0), bench->arena, "<p>Hi</p>", files, &report, &err));
    const json_t *check = json_array_get(json_object_get(report, "checks"), 0);
    assert_string_equal(json_get_text(check, "reason"), "checkShown <p>Hi</p> https://a.example/1.png");

    char *large = arena_alloc(bench->arena, RENDERER_MAX_REQUEST_BYTES + 1);
    memset(large, 'x', RENDERER_MAX_REQUEST_BYTES);
    large[RENDERER_MAX_REQUEST_BYTES] = '\0';
    assert_false(renderer_check_shown(renderer_for(renderer, 0), bench->arena, large, "{}", &report, &err));
    assert_int_equal(err.code, ERR_PAYLOAD_TOO_LARGE);
    renderer_free(renderer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_request_and_reply, set_up_bench, tear_down_bench),
        cmocka_unit_test_setup_teardown(test_large_request_and_reply, set_up_bench, tear_down_bench),
        cmocka_unit_test_setup_teardown(test_reported_errors, set_up_bench, tear_down_bench),
        cmocka_unit_test_setup_teardown(test_senseless_replies, set_up_bench, tear_down_bench),
        cmocka_unit_test_setup_teardown(test_report_of_a_shown_mail, set_up_bench, tear_down_bench),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
