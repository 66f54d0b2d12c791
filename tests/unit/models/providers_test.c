/* Models: the requests of each provider to the byte, what is read of their answers, and the object in a text (D-170). */
#include "base/json_read.h"
#include "base/text.h"
#include "models/answer_json.h"
#include "models/provider.h"
#include "models/schemas.h"

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

static const json_t *parse(const char *text)
{
    struct error err = { .code = ERR_NONE };
    const json_t *json;
    assert_true(json_read(arena, text, strlen(text), (struct json_bounds){ .max_bytes = 1 << 20 }, &json, &err));
    return json;
}

/* ---- Requests ---- */

static const char *request_of(const char *provider, enum answer_mode mode)
{
    struct model model = { .provider = provider_find(provider), .name = (char *)(uintptr_t) "m" };
    struct model_request request = {
        .model = &model,
        .mode = mode,
        .schema_name = "design",
        .schema = "{\"type\":\"object\"}",
        .system = "Rules",
        .turns = { { .text = "One" }, { .is_model = true, .text = "{}" }, { .text = "Two" } },
        .turn_count = 3,
    };
    struct buf *out = buf_in_arena(arena, 1 << 16);
    struct json_writer json;
    json_writer_init(&json, out);
    model.provider->write(&request, &json);
    return buf_text(out);
}

#define TURNS                                                                                                                      \
    "{\"role\":\"user\",\"content\":\"One\"},{\"role\":\"assistant\",\"content\":\"{}\"},{\"role\":\"user\",\"content\":\"Two\"}"

static void requests_are_golden(void **state)
{
    (void)state;
    assert_string_equal(request_of("anthropic", MODE_SCHEMA),
                        "{\"model\":\"m\",\"max_tokens\":16000,\"system\":\"Rules\",\"messages\":[" TURNS
                        "],\"output_config\":{\"format\":{\"type\":\"json_schema\",\"schema\":{\"type\":\"object\"}}}}");
    assert_string_equal(request_of("anthropic", MODE_JSON),
                        "{\"model\":\"m\",\"max_tokens\":16000,\"system\":\"Rules\",\"messages\":[" TURNS "]}");
    assert_string_equal(request_of("openai", MODE_SCHEMA),
                        "{\"model\":\"m\",\"instructions\":\"Rules\",\"input\":[" TURNS
                        "],\"max_output_tokens\":32000,\"store\":false,\"text\":{\"format\":{\"type\":\"json_schema\","
                        "\"name\":\"design\",\"schema\":{\"type\":\"object\"},\"strict\":true}}}");
    assert_string_equal(request_of("openai", MODE_JSON),
                        "{\"model\":\"m\",\"instructions\":\"Rules\",\"input\":[" TURNS
                        "],\"max_output_tokens\":32000,\"store\":false,\"text\":{\"format\":{\"type\":\"json_object\"}}}");
    assert_string_equal(request_of("compatible", MODE_SCHEMA),
                        "{\"model\":\"m\",\"messages\":[{\"role\":\"system\",\"content\":\"Rules\"}," TURNS
                        "],\"stream\":false,\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"design\","
                        "\"schema\":{\"type\":\"object\"},\"strict\":true}}}");
    assert_string_equal(request_of("compatible", MODE_PLAIN),
                        "{\"model\":\"m\",\"messages\":[{\"role\":\"system\",\"content\":\"Rules\"}," TURNS "],\"stream\":false}");
}

/* ---- Answers ---- */

static struct model_answer answer_of(const char *provider, const char *text)
{
    struct model_answer answer = { .end = ANSWER_WHOLE };
    provider_find(provider)->read(arena, parse(text), &answer);
    return answer;
}

static void assert_answer(const char *provider, const char *text, enum answer_end end, const char *words)
{
    struct model_answer answer = answer_of(provider, text);
    assert_int_equal(answer.end, end);
    assert_true(words == NULL ? answer.text == NULL : text_equal(answer.text, words));
}

static void answers_end_in_four_ways(void **state)
{
    (void)state;
    assert_answer("anthropic", "{\"content\":[{\"type\":\"thinking\",\"thinking\":\"a\"},{\"type\":\"text\",\"text\":\"b\"}]}",
                  ANSWER_WHOLE, "b");
    assert_answer("anthropic",
                  "{\"content\":[{\"type\":\"text\",\"text\":\"b\"}],\"stop_reason\":\"model_context_window_exceeded\"}",
                  ANSWER_CUT, "b");
    assert_answer("anthropic", "{\"content\":\"b\",\"stop_reason\":\"end_turn\"}", ANSWER_EMPTY, NULL);
    assert_answer("openai", "{\"status\":\"incomplete\",\"incomplete_details\":{\"reason\":\"content_filter\"},\"output\":[]}",
                  ANSWER_REFUSED, NULL);
    assert_answer("openai", "{\"output\":[{\"type\":\"message\",\"content\":[{\"type\":\"refusal\",\"refusal\":\"no\"}]}]}",
                  ANSWER_REFUSED, NULL);
    assert_answer("openai",
                  "{\"output\":[{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"a\"},"
                  "{\"type\":\"output_text\",\"text\":\"b\"}]}]}",
                  ANSWER_WHOLE, "ab");
    assert_answer("compatible", "{\"choices\":[{\"message\":{\"content\":null},\"finish_reason\":\"content_filter\"}]}",
                  ANSWER_REFUSED, NULL);
    assert_answer("compatible", "{\"choices\":[{\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"a\"}]}}]}", ANSWER_WHOLE,
                  "a");
    assert_answer("compatible", "{\"choices\":[]}", ANSWER_EMPTY, NULL);
}

static void tokens_are_counted(void **state)
{
    (void)state;
    struct model_answer told = answer_of("compatible", "{\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":9}}");
    struct model_answer wrong = answer_of("openai", "{\"usage\":{\"input_tokens\":-1,\"output_tokens\":\"9\"}}");
    assert_true(told.tokens_in.set && told.tokens_in.value == 7 && told.tokens_out.value == 9);
    assert_false(wrong.tokens_in.set || wrong.tokens_out.set);
}

/* ---- The object in a text ---- */

static const char *object_in(const char *text)
{
    const char *problem = NULL;
    const json_t *object = answer_find_object(arena, text, &problem);
    return object != NULL ? json_compact(arena, object) : problem;
}

static void one_object_is_found(void **state)
{
    (void)state;
    assert_string_equal(object_in(" {\"a\":\"}{\"} "), "{\"a\":\"}{\"}");
    assert_string_equal(object_in("Hello {{ name }}:\n```json\n{\"a\":{\"b\":1}}\n```\nBye {now}."), "{\"a\":{\"b\":1}}");
    assert_string_equal(object_in("<think>maybe {\"a\":0}</think>\n{\"a\":1}"), "{\"a\":1}");
    assert_string_equal(object_in("{\"a\":1} or {\"a\":2}"), "The answer has several JSON objects. Give one.");
    assert_string_equal(object_in("Sure: {\"a\":[1,"), "The JSON object of the answer is cut off.");
    assert_string_equal(object_in("[1]"), "The answer has no valid JSON object.");
}

/* ---- Members that are left out ---- */

static void absent_members_go(void **state)
{
    (void)state;
    const json_t *answer =
        parse("{\"a\":null,\"b\":\"\",\"c\":{\"d\":\"\"},\"e\":[],\"alt\":\"\",\"rows\":[[\"\",\"x\"]],\"f\":false}");
    assert_string_equal(json_canonical(arena, answer_without_absent(arena, answer, ABSENCE_EMPTY)),
                        "{\"f\":false,\"rows\":[[\"\",\"x\"]]}");
    assert_string_equal(json_canonical(arena, answer_without_absent(arena, answer, ABSENCE_NULL)),
                        "{\"alt\":\"\",\"f\":false,\"rows\":[[\"\",\"x\"]]}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(requests_are_golden, setup, teardown),
        cmocka_unit_test_setup_teardown(answers_end_in_four_ways, setup, teardown),
        cmocka_unit_test_setup_teardown(tokens_are_counted, setup, teardown),
        cmocka_unit_test_setup_teardown(one_object_is_found, setup, teardown),
        cmocka_unit_test_setup_teardown(absent_members_go, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
