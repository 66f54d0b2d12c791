/*
 * Catalogue provider of the MCP server, with a small catalogue and an engine of this
 * file, so that each projection is tested alone. `asked` records the calls of the
 * engine.
 */
#include "fixtures/mcp_case.h"

#include "base/json_read.h"
#include "base/text.h"
#include "catalogue/mcp_texts.h"
#include "mcp/provider/catalogue_provider.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- The catalogue ---- */

static const struct arg_shape no_fields = { .fields = NULL };
static const struct arg_field list_fields[] = { { .name = "limit" }, { .name = "q" }, { .name = "sort" } };
static const struct arg_shape list_shape = { .fields = list_fields, .count = ARRAY_COUNT(list_fields) };
static const struct arg_field kind_fields[] = { { .name = "kind" } };
static const struct arg_shape kind_shape = { .fields = kind_fields, .count = 1 };

static const struct operation op_list = { .id = "things.list", .args = &list_shape, .max_body_bytes = 1000 };
static const char *const get_technical[] = { "updatedAt", "rows.updatedAt", NULL };
static const char *const get_cut[] = { "rows", NULL };
static const struct result_view get_view = { .technical = get_technical, .cut = get_cut };
static const struct operation op_get = { .id = "things.get", .args = &no_fields, .view = &get_view };
static const struct operation op_stop = { .id = "things.stop", .args = &no_fields };
static const struct result_group start_groups[] = {
    { .member = "errors", .row = "index", .counts = "counts", .uri = "case://starts/{startId}/errors" },
    { .member = NULL },
};
static const struct result_view start_view = { .groups = start_groups };
static const struct operation op_start = { .id = "things.start", .args = &kind_shape, .view = &start_view };
static const struct operation op_send = { .id = "things.send", .args = &no_fields, .asks_confirmation = true };
static const struct operation op_check = { .id = "connection.check", .args = &no_fields };
static const struct operation *const list_candidates[] = { &op_list, NULL };
static const struct operation *const get_candidates[] = { &op_get, NULL };
static const struct operation *const send_candidates[] = { &op_send, NULL };
static const struct operation *const control_candidates[] = { &op_stop, &op_start, NULL };
static const char *const control_values[] = { "stop", "start", NULL };
const struct operation *const api_connection_check[] = { &op_check, NULL };
const struct operation *const api_session_check[] = { &op_check, NULL };
const struct operation operations[] = { { .id = "nothing", .args = &no_fields } };
const size_t operation_count = ARRAY_COUNT(operations);
static const char *const list_arguments[] = { "limit", "q", NULL };
static const char *const get_arguments[] = { "emailId", "include", "htmlFrom", "htmlChars", "limit", "detail", NULL };
static const char *const control_arguments[] = { "kind", "idempotencyKey", "detail", NULL };
static const char *const send_arguments[] = { "idempotencyKey", "confirmationToken", NULL };
static const char *const no_arguments[] = { NULL };

const struct tool tools[] = {
    { .name = "list_things",
      .toolset = "things",
      .built = true,
      .listed = true,
      .read_only = true,
      .list_json = "{\"name\":\"list_things\"}",
      .organization_json = "{\"name\":\"list_things\",\"brand\":1}",
      .arguments = list_arguments,
      .candidates = list_candidates,
      .default_json = "{\"limit\":10}",
      .fixed_json = "{\"sort\":\"new\"}" },
    { .name = "get_thing",
      .toolset = "things",
      .built = true,
      .listed = true,
      .read_only = true,
      .list_json = "{\"name\":\"get_thing\"}",
      .arguments = get_arguments,
      .candidates = get_candidates,
      .takes_detail = true,
      .long_member = "html",
      .long_uri = "case://things/{emailId}/html" },
    { .name = "control_thing",
      .toolset = "control",
      .built = true,
      .listed = true,
      .list_json = "{\"name\":\"control_thing\"}",
      .arguments = control_arguments,
      .takes_detail = true,
      .candidates = control_candidates,
      .choose_by = "kind",
      .choose_values = control_values },
    { .name = "send_thing",
      .toolset = "sending",
      .built = true,
      .listed = true,
      .list_json = "{\"name\":\"send_thing\"}",
      .arguments = send_arguments,
      .candidates = send_candidates },
    { .name = "create_world",
      .toolset = "worlds",
      .built = true,
      .listed = true,
      .organization = true,
      .list_json = "{\"name\":\"create_world\"}",
      .arguments = no_arguments,
      .candidates = list_candidates },
    { .name = "idle_thing", /* built, and what it needs cannot be connected */
      .toolset = "things",
      .built = true,
      .list_json = "{\"name\":\"idle_thing\"}",
      .arguments = no_arguments,
      .candidates = list_candidates },
    { .name = "future_thing",
      .toolset = "things",
      .instead = "Use list_things.",
      .list_json = "{\"name\":\"future_thing\"}",
      .arguments = no_arguments,
      .candidates = list_candidates },
};
const size_t tool_count = ARRAY_COUNT(tools);

const char mcp_instructions[] = "Instructions.";
static const struct mcp_prompt_argument prompt_arguments[] = { { "goal", "The goal", true }, { "who", "For whom", false } };
static const struct mcp_prompt_message prompt_messages[] = { { "user", "Goal: {goal}, for: {who}." } };
const struct mcp_prompt mcp_prompts[] = {
    { "plan", "Plan", "Plans", prompt_arguments, 2, prompt_messages, 1, "{\"name\":\"plan\"}" },
};
const size_t mcp_prompt_count = 1;
const struct mcp_resource mcp_resources[] = {
    { "case://all", "all", "application/json", &op_list, "{}", NULL, "{\"uri\":\"case://all\"}" },
};
const size_t mcp_resource_count = 1;
const struct mcp_resource mcp_resource_templates[] = {
    { "case://things/{id}", "thing", "application/json", &op_get, "{\"id\":\"{id}\"}", NULL,
      "{\"uriTemplate\":\"case://things/{id}\"}" },
    { "case://things/{id}/html", "html", "text/html", &op_get, "{\"id\":\"{id}\",\"include\":[\"html\"]}", "html",
      "{\"uriTemplate\":\"case://things/{id}/html\"}" },
};
const size_t mcp_resource_template_count = 2;
static const char *const completion_match[] = { "title", NULL };
const struct mcp_completion mcp_completions[] = { { "id", &op_list, "{\"limit\":100}", "id", completion_match } };
const size_t mcp_completion_count = 1;

/* ---- The engine ---- */

static struct api {
    char nothing;
} the_api;

static struct {
    unsigned calls;
    unsigned checks;
    unsigned session_checks;
    unsigned cancelled;
    const struct operation *op;
    char body[1024];
    char key[64];
    char confirmation[64];
    char brand[64];
    bool is_declined;
    enum error_code refusal;
    bool has_progress;
} asked;

static struct {
    const char *body;       /* of the answer */
    const char *question;   /* the answer is a preview, with token "T" */
    enum error_code error;  /* or this */
    int64_t bound_brand_id; /* of the credential */
    bool key_is_bad;
    bool window_is_full; /* of the begins of sessions */
    bool progress;
    bool is_slow; /* calls are not answered on the thread that reads them */
} engine;

bool api_is_immediate(struct api *api, struct call *call)
{
    (void)api;
    (void)call;
    return !engine.is_slow;
}

void api_cancel(struct api *api, struct call *call)
{
    (void)api;
    (void)call;
    asked.cancelled++;
}

void api_stop(struct api *api, struct call *call)
{
    api_cancel(api, call);
}

static void record(const struct call *call)
{
    asked.calls++;
    asked.op = call->candidates[0];
    asked.refusal = call->input.refusal.code;
    asked.has_progress = call->on_progress != NULL;
    snprintf(asked.body, sizeof(asked.body), "%s",
             call->input.body != NULL ? json_canonical(call->arena, call->input.body) : "(none)");
    snprintf(asked.key, sizeof(asked.key), "%s", call->idempotency_key != NULL ? call->idempotency_key : "");
    snprintf(asked.confirmation, sizeof(asked.confirmation), "%s", call->confirmation != NULL ? call->confirmation : "");
    snprintf(asked.brand, sizeof(asked.brand), "%s", call->credentials.brand != NULL ? call->credentials.brand : "");
    asked.is_declined = call->is_declined;
}

void api_submit(struct api *api, struct call *call)
{
    (void)api;
    assert_true(call->input.flat);
    assert_int_equal(strncmp(call->request_id, "req_", 4), 0);
    bool is_session_check = call->candidates == api_session_check;
    bool is_check = is_session_check || call->candidates == api_connection_check;
    asked.session_checks += is_session_check;
    if (is_check)
        asked.checks++;
    else
        record(call);
    call->who.bound_brand_id = engine.bound_brand_id;
    enum error_code code = is_check ? ERR_NONE : engine.error;
    if (engine.key_is_bad)
        code = ERR_INVALID_API_KEY;
    if (is_session_check && engine.window_is_full)
        code = ERR_RATE_LIMITED;
    call->ok = code == ERR_NONE && call->input.refusal.code == ERR_NONE;
    if (code == ERR_NONE)
        call->error = call->input.refusal;
    else
        error_fail(&call->error, code, NULL, __FILE__, __LINE__, "The engine says no.");
    if (engine.progress && call->on_progress != NULL)
        call->on_progress(call, 1, 2, "half");
    call->reply.body = buf_in_arena(call->arena, SIZE_MAX);
    buf_add_text(call->reply.body, engine.body != NULL ? engine.body : "{\"ok\":true}");
    if (engine.question != NULL && call->confirmation == NULL) {
        call->reply.question = engine.question;
        call->reply.confirmation = "T";
    }
    call->op = call->candidates != NULL ? call->candidates[0] : NULL;
    call->on_completed(call);
}

/* ---- The cases ---- */

struct provider_case {
    struct catalogue_provider *product;
    struct mcp_server *server;
};

static const struct catalogue_provider_config *config_of_case;

static int set_up(void **state)
{
    static const struct catalogue_provider_config everything = { .version = "1.2.3", .response_budget_chars = 1000 };
    struct provider_case *provider_case = calloc(1, sizeof(*provider_case));
    struct error err = { 0 };
    memset(&asked, 0, sizeof(asked));
    memset(&engine, 0, sizeof(engine));
    const struct catalogue_provider_config *config = config_of_case != NULL ? config_of_case : &everything;
    assert_true(catalogue_provider_new(&the_api, config, &provider_case->product, &err));
    struct mcp_config server_config = { 0 };
    provider_case->server = mcp_server_new(catalogue_provider_of(provider_case->product), &server_config);
    *state = provider_case;
    return 0;
}

static int tear_down(void **state)
{
    struct provider_case *provider_case = *state;
    case_server_free(provider_case->server);
    catalogue_provider_free(provider_case->product);
    free(provider_case);
    config_of_case = NULL;
    return 0;
}

static void assert_has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("no %s in %s", part, text);
}

static void assert_lacks(const char *text, const char *part)
{
    if (strstr(text, part) != NULL)
        fail_msg("%s in %s", part, text);
}

static struct mcp_server *server_of(void **state)
{
    return ((struct provider_case *)*state)->server;
}

static const char *call_tool(void **state, const char *name, const char *arguments, int *ret_status)
{
    char params[2048];
    snprintf(params, sizeof(params), "\"name\":\"%s\",\"arguments\":%s", name, arguments);
    return case_post_modern(server_of(state), "tools/call", name, params, ret_status);
}

static void test_a_result_is_text_and_structure(void **state)
{
    engine.body = "{\"data\":[{\"id\":\"a\\\"b\"}]}";
    const char *answer = call_tool(state, "list_things", "{}", NULL);
    assert_has(answer, "\"content\":[{\"type\":\"text\",\"text\":\"{\\\"data\\\":[{\\\"id\\\":\\\"a\\\\\\\"b\\\"}]}\"}]");
    assert_has(answer, "\"structuredContent\":{\"data\":[{\"id\":\"a\\\"b\"}]}}");
    assert_lacks(answer, "isError");
}

static void test_defaults_and_fixed_arguments(void **state)
{
    call_tool(state, "list_things", "{}", NULL);
    assert_string_equal(asked.body, "{\"limit\":10,\"sort\":\"new\"}");
    call_tool(state, "list_things", "{\"limit\":3,\"q\":\"x\"}", NULL);
    assert_string_equal(asked.body, "{\"limit\":3,\"q\":\"x\",\"sort\":\"new\"}");
    call_tool(state, "list_things", "{\"limit\":3,\"sort\":\"old\"}", NULL);
    assert_int_equal(asked.refusal, ERR_INVALID_REQUEST);
    call_tool(state, "list_things", "null", NULL);
    assert_string_equal(asked.body, "{\"limit\":10,\"sort\":\"new\"}");
    call_tool(state, "list_things", "\"{\\\"limit\\\":7}\"", NULL);
    assert_string_equal(asked.body, "{\"limit\":7,\"sort\":\"new\"}");
}

static void test_unknown_arguments_wait_for_their_place_in_the_checks(void **state)
{
    const char *answer = call_tool(state, "list_things", "{\"colour\":1}", NULL);
    assert_int_equal(asked.calls, 1);
    assert_has(answer, "\"isError\":true");
    assert_has(answer, "INVALID_REQUEST");
    assert_has(answer, "\\\"param\\\":\\\"colour\\\"");
    assert_lacks(answer, "structuredContent");
    int status = 0;
    engine.key_is_bad = true;
    answer = call_tool(state, "list_things", "{\"colour\":1}", &status);
    assert_int_equal(status, 401);
    assert_lacks(answer, "colour");
}

static void test_an_argument_chooses_the_operation(void **state)
{
    call_tool(state, "control_thing", "{\"kind\":\"stop\",\"idempotencyKey\":\"k1\"}", NULL);
    assert_ptr_equal(asked.op, &op_stop);
    assert_string_equal(asked.body, "{}");
    assert_string_equal(asked.key, "k1");
    call_tool(state, "control_thing", "{\"kind\":\"start\"}", NULL);
    assert_ptr_equal(asked.op, &op_start);
    assert_string_equal(asked.body, "{\"kind\":\"start\"}"); /* start has a field of this name */
    assert_has(call_tool(state, "control_thing", "{\"kind\":\"explode\"}", NULL), "kind must be one of: stop, start.");
    assert_has(call_tool(state, "control_thing", "{}", NULL), "kind must be one of: stop, start.");
    assert_has(call_tool(state, "control_thing", "{\"kind\":\"stop\",\"idempotencyKey\":7}", NULL), "idempotencyKey must be text");
}

/* ---- Asking a person ---- */

/* A call of 2026-07-28 by a client with these capabilities; `more` are further members of params. */
static const char *call_send(void **state, const char *capabilities, const char *more)
{
    static char message[2048];
    snprintf(message, sizeof(message),
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"_meta\":{"
             "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":%s},"
             "\"name\":\"send_thing\",\"arguments\":{}%s}}",
             capabilities, more);
    struct case_stdio *client = case_stdio_new(server_of(state));
    case_stdio_line(client, message);
    static char answer[4096];
    snprintf(answer, sizeof(answer), "%s", case_stdio_next(client));
    case_stdio_free(client);
    return answer;
}

static void test_a_person_is_asked_by_a_form(void **state)
{
    engine.question = "Send it?";
    engine.body = "{\"status\":\"confirmation_required\"}";
    const char *answer = call_send(state, "{\"elicitation\":{}}", "");
    assert_has(answer, "\"resultType\":\"input_required\"");
    assert_has(answer, "\"inputRequests\":{\"confirm\":{\"method\":\"elicitation/create\"");
    assert_has(answer, "\"message\":\"Send it?\"");
    assert_has(answer, "\"requestState\":\"T\"");
    assert_lacks(answer, "confirmation_required");
    assert_has(call_send(state, "{\"elicitation\":{\"form\":{},\"url\":{}}}", ""), "input_required");
}

static void test_who_has_no_form_gets_the_preview(void **state)
{
    static const char *const others[] = { "{}", "{\"elicitation\":{\"url\":{}}}", "{\"sampling\":{}}" };
    engine.question = "Send it?";
    engine.body = "{\"status\":\"confirmation_required\"}";
    for (size_t i = 0; i < ARRAY_COUNT(others); i++) {
        const char *answer = call_send(state, others[i], "");
        assert_has(answer, "\"resultType\":\"complete\"");
        assert_has(answer, "\"structuredContent\":{\"status\":\"confirmation_required\"}");
        assert_lacks(answer, "isError");
    }
}

static void test_the_answer_of_a_person(void **state)
{
#define ANSWERED(answer) ",\"requestState\":\"T\",\"inputResponses\":{\"confirm\":" answer "}"
    static const char can[] = "{\"elicitation\":{}}";
    engine.question = "Send it?";
    engine.body = "{\"status\":\"queued\"}";
    assert_has(call_send(state, can, ANSWERED("{\"action\":\"accept\",\"content\":{\"send\":true}}")), "queued");
    assert_string_equal(asked.confirmation, "T");
    assert_false(asked.is_declined);
    assert_int_equal(asked.calls, 1);

    static const char *const refusals[] = {
        ANSWERED("{\"action\":\"accept\",\"content\":{\"send\":false}}"),
        ANSWERED("{\"action\":\"decline\"}"),
        ANSWERED("{\"action\":\"cancel\",\"content\":{\"send\":true}}"),
    };
    for (size_t i = 0; i < ARRAY_COUNT(refusals); i++) {
        /* The engine uses up the token. */
        engine.body = "{\"status\":\"not_sent\"}";
        const char *answer = call_send(state, can, refusals[i]);
        assert_has(answer, "\"structuredContent\":{\"status\":\"not_sent\"");
        assert_lacks(answer, "isError");
        assert_string_equal(asked.confirmation, "T");
        assert_true(asked.is_declined);
    }
    assert_int_equal(asked.calls, 4);

    static const char *const none[] = {
        ANSWERED("{\"action\":\"accept\"}"),
        ANSWERED("{\"action\":\"accept\",\"content\":{\"send\":\"yes\"}}"),
        ANSWERED("7"),
        ",\"inputResponses\":{\"confirm\":{\"action\":\"accept\",\"content\":{\"send\":true}}}",
        ",\"requestState\":\"T\",\"inputResponses\":[]",
    };
    for (size_t i = 0; i < ARRAY_COUNT(none); i++) {
        assert_has(call_send(state, can, none[i]), "input_required");
        assert_string_equal(asked.confirmation, "");
    }
#undef ANSWERED
}

/* A legacy client that has initialized with this version and these capabilities, and has called the tool. */
static struct case_stdio *call_send_legacy(void **state, const char *version, const char *capabilities)
{
    char message[1024];
    struct case_stdio *client = case_stdio_new(server_of(state));
    snprintf(message, sizeof(message),
             "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"%s\",\"capabilities\":%s}}",
             version, capabilities);
    case_stdio_line(client, message);
    assert_has(case_stdio_next(client), version);
    case_stdio_line(client, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"send_thing\"}}");
    return client;
}

static int set_up_preview(void **state)
{
    int failed = set_up(state);
    engine.is_slow = true;
    engine.question = "Send it?";
    engine.body = "{\"status\":\"confirmation_required\"}";
    return failed;
}

static void test_a_legacy_client_is_asked_during_the_call(void **state)
{
    struct case_stdio *client = call_send_legacy(state, "2025-11-25", "{\"elicitation\":{\"form\":{}}}");
    const char *question = case_stdio_next(client);
    assert_has(question,
               "\"id\":\"ask-1\",\"method\":\"elicitation/create\",\"params\":{\"mode\":\"form\",\"message\":\"Send it?\"");
    assert_has(question, "\"requestedSchema\":{\"type\":\"object\"");
    assert_int_equal(asked.calls, 1);
    engine.body = "{\"status\":\"queued\"}";
    case_stdio_line(client,
                    "{\"jsonrpc\":\"2.0\",\"id\":\"ask-1\",\"result\":{\"action\":\"accept\",\"content\":{\"send\":true}}}");
    assert_has(case_stdio_next(client), "\"structuredContent\":{\"status\":\"queued\"}");
    assert_int_equal(asked.calls, 2);
    assert_string_equal(asked.confirmation, "T");
    assert_false(asked.is_declined);
    case_stdio_free(client);
}

static void test_a_person_declines_during_the_call(void **state)
{
    struct case_stdio *client = call_send_legacy(state, "2025-06-18", "{\"elicitation\":{}}");
    const char *question = case_stdio_next(client);
    assert_has(question, "\"params\":{\"message\":\"Send it?\"");
    assert_lacks(question, "mode"); /* 2025-06-18 has none */
    engine.body = "{\"status\":\"not_sent\"}";
    case_stdio_line(client, "{\"jsonrpc\":\"2.0\",\"id\":\"ask-1\",\"result\":{\"action\":\"decline\"}}");
    assert_has(case_stdio_next(client), "not_sent");
    assert_true(asked.is_declined);
    case_stdio_free(client);
}

/* The preview has a token that the assistant can use. */
static void test_without_an_answer_the_call_returns_the_preview(void **state)
{
    static const char *const none[] = {
        "\"error\":{\"code\":-32601,\"message\":\"no\"}",
        "\"result\":{\"action\":\"accept\"}",
        "\"result\":{\"action\":\"accept\",\"content\":{\"send\":\"yes\"}}",
        "\"result\":{}",
    };
    for (size_t i = 0; i < ARRAY_COUNT(none); i++) {
        struct case_stdio *client = call_send_legacy(state, "2025-11-25", "{\"elicitation\":{}}");
        assert_has(case_stdio_next(client), "elicitation/create");
        char message[256];
        snprintf(message, sizeof(message), "{\"jsonrpc\":\"2.0\",\"id\":\"ask-1\",%s}", none[i]);
        case_stdio_line(client, message);
        assert_has(case_stdio_next(client), "confirmation_required");
        assert_string_equal(asked.confirmation, "");
        case_stdio_free(client);
    }
    assert_int_equal(asked.calls, ARRAY_COUNT(none));
}

static void test_legacy_clients_without_forms_get_the_preview(void **state)
{
    static const char *const others[][2] = {
        { "2025-11-25", "{}" },
        { "2025-11-25", "{\"elicitation\":{\"url\":{}}}" },
        { "2025-03-26", "{\"elicitation\":{}}" }, /* this version has no elicitation */
    };
    for (size_t i = 0; i < ARRAY_COUNT(others); i++) {
        struct case_stdio *client = call_send_legacy(state, others[i][0], others[i][1]);
        assert_has(case_stdio_next(client), "\"structuredContent\":{\"status\":\"confirmation_required\"}");
        case_stdio_free(client);
    }
}

static void test_a_cancelled_question_is_not_answered(void **state)
{
    struct case_stdio *client = call_send_legacy(state, "2025-11-25", "{\"elicitation\":{}}");
    assert_has(case_stdio_next(client), "elicitation/create");
    case_stdio_line(client, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}");
    case_stdio_line(client,
                    "{\"jsonrpc\":\"2.0\",\"id\":\"ask-1\",\"result\":{\"action\":\"accept\",\"content\":{\"send\":true}}}");
    case_stdio_line(client, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}");
    assert_has(case_stdio_next(client), "\"id\":2");
    assert_int_equal(asked.calls, 1);
    case_stdio_free(client);
}

static void test_a_token_is_an_argument_of_the_tool(void **state)
{
    call_tool(state, "send_thing", "{\"confirmationToken\":\"T2\"}", NULL);
    assert_string_equal(asked.confirmation, "T2");
    assert_string_equal(asked.body, "{}");
    assert_has(call_tool(state, "send_thing", "{\"confirmationToken\":2}", NULL), "confirmationToken must be");
    assert_has(call_tool(state, "control_thing", "{\"kind\":\"stop\",\"confirmationToken\":\"T\"}", NULL),
               "does not accept the argument");
}

static void test_unknown_tools(void **state)
{
    assert_has(call_tool(state, "no_such", "{}", NULL),
               "\"error\":{\"code\":-32602,\"message\":\"There is no tool named no_such.\"");
    assert_int_equal(asked.calls, 0);
    int status = 0;
    engine.key_is_bad = true;
    call_tool(state, "no_such", "{}", &status);
    assert_int_equal(status, 401);
    assert_has(call_tool(state, "list_things", "7", &status), "\"code\":-32000");
    engine.key_is_bad = false;
    assert_has(call_tool(state, "list_things", "7", &status), "arguments must be an object");
}

/* A name whose 64th byte is the first one of a character. */
#define LONG_NAME "xééééééééééééééééééééééééééééééééééé"

static void test_a_name_is_cut_between_characters(void **state)
{
    static const char *const messages[] = {
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" LONG_NAME "\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"" LONG_NAME "\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/list\",\"params\":{\"_meta\":{"
        "\"io.modelcontextprotocol/protocolVersion\":\"" LONG_NAME "\",\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
    };
    struct case_stdio *client = case_stdio_new(server_of(state));
    case_stdio_line(client,
                    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\"}}");
    assert_has(case_stdio_next(client), "2025-11-25");
    for (size_t i = 0; i < ARRAY_COUNT(messages); i++) {
        case_stdio_line(client, messages[i]);
        const char *answer = case_stdio_next(client);
        assert_has(answer, "xéé");
        assert_true(utf8_is_valid(answer, strlen(answer)));
    }
    case_stdio_free(client);
}

static void test_an_unbuilt_tool_says_what_to_use(void **state)
{
    const char *answer = call_tool(state, "future_thing", "{}", NULL);
    assert_has(answer, "\"isError\":true");
    assert_has(answer, "{\\\"error\\\":{\\\"code\\\":\\\"NOT_IMPLEMENTED\\\"");
    assert_has(answer, "future_thing is not available in this version. Use list_things.");
    assert_int_equal(asked.checks, 1);
    assert_int_equal(asked.calls, 0);
    int status = 0;
    engine.key_is_bad = true;
    assert_lacks(call_tool(state, "future_thing", "{}", &status), "list_things");
    assert_int_equal(status, 401);
}

static void test_a_tool_that_cannot_work_is_not_listed(void **state)
{
    assert_lacks(case_post_modern(server_of(state), "tools/list", NULL, "", NULL), "idle_thing");
    assert_has(call_tool(state, "idle_thing", "{}", NULL), "structuredContent");
}

static void test_errors_of_the_engine(void **state)
{
    int status = 0;
    engine.error = ERR_EMAIL_NOT_FOUND;
    const char *answer = call_tool(state, "list_things", "{}", &status);
    assert_int_equal(status, 200);
    assert_has(answer, "\"isError\":true");
    assert_has(answer, "{\\\"error\\\":{\\\"code\\\":\\\"EMAIL_NOT_FOUND\\\"");
    engine.error = ERR_INSUFFICIENT_PERMISSIONS;
    call_tool(state, "list_things", "{}", &status);
    assert_int_equal(status, 200);
    engine.error = ERR_INVALID_API_KEY;
    answer = call_tool(state, "list_things", "{}", &status);
    assert_int_equal(status, 401);
    assert_has(answer, "\"code\":-32000");
}

static void test_each_tool_bounds_its_message(void **state)
{
    static char arguments[24 * 1024];
    snprintf(arguments, sizeof(arguments), "{\"q\":\"%*s\"}", 20000, "");
    struct case_stdio *client = case_stdio_new(server_of(state));
    static const char begin[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"_meta\":{"
                                "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                                "\"io.modelcontextprotocol/clientCapabilities\":{}},\"name\":\"list_things\",\"arguments\":";
    case_stdio_send(client, begin, sizeof(begin) - 1);
    case_stdio_send(client, arguments, strlen(arguments));
    case_stdio_line(client, "}}");
    assert_has(case_stdio_next(client), "PAYLOAD_TOO_LARGE");
    case_stdio_free(client);
}

/* ---- The budget ---- */

static const char *page(size_t rows, size_t row_chars)
{
    static char text[64 * 1024];
    size_t size = (size_t)snprintf(text, sizeof(text), "{\"brand\":{\"a\":[{},{}]},\"data\":[");
    for (size_t i = 0; i < rows; i++) {
        size += (size_t)snprintf(text + size, sizeof(text) - size, "%s{\"x\":\"]}\\\"", i > 0 ? "," : "");
        for (size_t j = 0; j < row_chars; j++)
            size += (size_t)snprintf(text + size, sizeof(text) - size, "\xc3\xa4");
        size += (size_t)snprintf(text + size, sizeof(text) - size, "\"}");
    }
    snprintf(text + size, sizeof(text) - size, "],\"hasMore\":true}");
    return text;
}

static void test_a_page_that_does_not_fit_is_refused_whole(void **state)
{
    engine.body = page(20, 40);
    const char *answer = call_tool(state, "list_things", "{}", NULL);
    assert_has(answer, "RESPONSE_TOO_LARGE");
    assert_has(answer, "\"isError\":true");
    assert_has(answer, "\\\"param\\\":\\\"limit\\\"");
    assert_lacks(answer, "hasMore");
    /* The limit that is named fits. */
    const char *limit = strstr(answer, "repeat the call with limit ");
    assert_non_null(limit);
    size_t rows = (size_t)strtol(limit + strlen("repeat the call with limit "), NULL, 10);
    assert_in_range(rows, 10, 19);
    engine.body = page(rows, 40);
    assert_lacks(call_tool(state, "list_things", "{}", NULL), "isError");
}

/* D-149: of the body, once. */
static void test_characters_are_counted_and_not_bytes(void **state)
{
    engine.body = page(1, 900);
    assert_true(strlen(engine.body) > 1000);
    assert_lacks(call_tool(state, "list_things", "{}", NULL), "isError");
    engine.body = page(1, 960);
    assert_has(call_tool(state, "list_things", "{}", NULL), "RESPONSE_TOO_LARGE");
}

static void test_what_was_done_is_never_refused(void **state)
{
    engine.body = page(20, 40);
    assert_lacks(call_tool(state, "control_thing", "{\"kind\":\"stop\"}", NULL), "isError");
}

static void test_html_is_a_link_unless_asked_for(void **state)
{
    const char *answer = call_tool(state, "get_thing", "{\"emailId\":\"email_1\"}", NULL);
    assert_has(answer, "{\"type\":\"resource_link\",\"uri\":\"case://things/email_1/html\",\"name\":\"html\"");
    assert_lacks(call_tool(state, "get_thing", "{\"emailId\":\"e\",\"include\":[\"versions\",\"html\"]}", NULL), "resource_link");
    assert_lacks(call_tool(state, "get_thing", "{\"emailId\":\"e\",\"include\":\"html\"}", NULL), "resource_link");
    assert_has(call_tool(state, "get_thing", "{\"emailId\":\"e\",\"include\":[\"versions\"]}", NULL), "resource_link");
}

/* ---- Parts of a long text ---- */

static const char *long_thing(size_t times)
{
    static char text[64 * 1024];
    size_t size = (size_t)snprintf(text, sizeof(text), "{\"emailId\":\"e\",\"html\":\"");
    for (size_t i = 0; i < times; i++) /* eight characters, among them three escapes and a surrogate pair */
        size += (size_t)snprintf(text + size, sizeof(text) - size, "a\\\"\\n\xc3\xa4\\u00e4\\ud83d\\ude00\xf0\x9f\x98\x80z");
    snprintf(text + size, sizeof(text) - size, "\"}");
    return text;
}

/* */
static void test_a_long_text_is_refused_with_the_arguments_that_read_it(void **state)
{
    engine.body = long_thing(100);
    const char *answer = call_tool(state, "get_thing", "{\"emailId\":\"e 1\",\"include\":\"html\"}", NULL);
    assert_has(answer, "RESPONSE_TOO_LARGE");
    assert_has(answer, "\\\"param\\\":\\\"htmlFrom\\\"");
    assert_has(answer, "repeat the call with htmlFrom 0 and htmlChars 750, then go on at nextHtmlFrom");
    assert_has(answer, "\\\"htmlFrom\\\":0,\\\"htmlChars\\\":750,\\\"resource\\\":\\\"case://things/e 1/html\\\"");
    assert_lacks(answer, "with limit");
}

static void test_a_refusal_names_no_argument_that_the_tool_lacks(void **state)
{
    engine.body = page(1, 960);
    const char *answer = call_tool(state, "list_things", "{}", NULL);
    assert_lacks(answer, "include");
    assert_lacks(answer, "html");
    assert_lacks(answer, "param");
    assert_has(answer, "\\\"resource\\\":\\\"case://all\\\"");
}

static void test_a_refusal_names_the_argument_to_leave_out(void **state)
{
    engine.body = page(1, 960);
    assert_has(call_tool(state, "get_thing", "{\"include\":[\"rows\"],\"detail\":\"full\"}", NULL),
               "Repeat the call without include.");
    const char *answer = call_tool(state, "get_thing", "{\"detail\":\"full\"}", NULL);
    assert_has(answer, "Repeat the call without detail.");
    assert_has(answer, "\\\"param\\\":\\\"detail\\\"");
    assert_lacks(call_tool(state, "get_thing", "{}", NULL), "Repeat the call");
}

/* Reads the number behind `name` in an answer; -1 when it is absent. */
static long number_after(const char *answer, const char *name)
{
    const char *at = strstr(answer, name);
    return at != NULL ? strtol(at + strlen(name), NULL, 10) : -1;
}

/* The window of the structured content, as JSON with its escapes. */
static void append_window(const char *answer, char *text)
{
    const char *at = strstr(strstr(answer, "structuredContent"), "\"html\":\"") + strlen("\"html\":\"");
    const char *end = strstr(at, "\",\"htmlFrom\"");
    strncat(text, at, (size_t)(end - at));
}

static void test_windows_join_to_the_whole_and_split_no_escape(void **state)
{
    static char joined[64 * 1024];
    static const struct {
        size_t times;
        const char *chars;
    } sizes[] = { { 5, ",\"htmlChars\":1" }, { 20, ",\"htmlChars\":\"3\"" }, { 100, ",\"htmlChars\":799" }, { 100, "" } };
    for (size_t i = 0; i < ARRAY_COUNT(sizes); i++) {
        engine.body = long_thing(sizes[i].times);
        joined[0] = '\0';
        for (long from = 0; from >= 0;) {
            char arguments[128];
            snprintf(arguments, sizeof(arguments), "{\"emailId\":\"e\",\"htmlFrom\":%ld%s}", from, sizes[i].chars);
            const char *answer = call_tool(state, "get_thing", arguments, NULL);
            assert_lacks(answer, "isError");
            assert_string_equal(asked.body, "{\"emailId\":\"e\",\"include\":\"html\"}");
            assert_int_equal(number_after(answer, "\"htmlTotalChars\":"), 8 * (long)sizes[i].times);
            assert_int_equal(number_after(answer, ",\"htmlFrom\":"), from);
            append_window(answer, joined);
            long next = number_after(answer, "\"nextHtmlFrom\":");
            assert_true(next == -1 || next > from);
            from = next;
        }
        const char *whole = strstr(engine.body, "\"html\":\"") + strlen("\"html\":\"");
        assert_int_equal(strlen(joined), strlen(whole) - 2);
        assert_memory_equal(joined, whole, strlen(joined));
    }
}

static void test_windows_out_of_bounds(void **state)
{
    engine.body = long_thing(1);
    assert_has(call_tool(state, "get_thing", "{\"htmlFrom\":8}", NULL), "htmlFrom must be less than 8");
    assert_lacks(call_tool(state, "get_thing", "{\"htmlFrom\":7}", NULL), "isError");
    assert_has(call_tool(state, "get_thing", "{\"htmlFrom\":-1}", NULL), "\\\"param\\\":\\\"htmlFrom\\\"");
    assert_has(call_tool(state, "get_thing", "{\"htmlChars\":0}", NULL), "\\\"param\\\":\\\"htmlChars\\\"");
    assert_has(call_tool(state, "get_thing", "{\"htmlChars\":1.5}", NULL), "isError");
    assert_has(call_tool(state, "list_things", "{\"htmlFrom\":0}", NULL), "does not accept the argument");
    engine.body = "{\"html\":\"\"}";
    assert_has(call_tool(state, "get_thing", "{\"htmlFrom\":0}", NULL), "\"htmlTotalChars\":0");
}

/* ---- Short answers ---- */

#define ROWS                                                                                                                       \
    "[{\"a\":1,\"b\":null,\"updatedAt\":\"t\",\"deep\":{\"updatedAt\":\"t\",\"c\":[],\"d\":{}}},{\"e\":\"\",\"f\":0,\"g\":false}]"

static void test_short_answers_leave_out_what_says_nothing(void **state)
{
    engine.body = "{\"updatedAt\":\"t\",\"group\":null, \"rows\": " ROWS ",\"none\":[],\"nested\":{\"x\":{}}}";
    assert_has(call_tool(state, "get_thing", "{}", NULL),
               "\"structuredContent\":{\"rows\":[{\"a\":1,\"deep\":{\"updatedAt\":\"t\"}},{\"f\":0,\"g\":false}],\"none\":[]}}");
    assert_string_equal(asked.body, "{}");
    assert_has(call_tool(state, "get_thing", "{\"detail\":\"full\",\"limit\":5}", NULL), ROWS);
    assert_string_equal(asked.body, "{}");
    assert_has(call_tool(state, "get_thing", "{\"detail\":\"all\"}", NULL), "detail must be full");
}

static void test_included_lists_obey_limit(void **state)
{
    engine.body = "{\"rows\":[1,2,[3],{\"a\":\"]\"},5],\"others\":[1,2]}";
    assert_has(call_tool(state, "get_thing", "{\"limit\":3}", NULL),
               "\"structuredContent\":{\"rows\":[1,2,[3]],\"hasMore\":true,\"others\":[1,2]}");
    assert_lacks(call_tool(state, "get_thing", "{\"limit\":5}", NULL), "hasMore");
    assert_has(call_tool(state, "get_thing", "{\"limit\":101}", NULL), "limit must be a whole number from 1 to 100");
}

/* ---- Many faulty rows ---- */

static const char *faults(size_t count)
{
    static char text[64 * 1024];
    size_t size = (size_t)snprintf(text, sizeof(text), "{\"startId\":\"s1\",\"counts\":{\"A\":900},\"errors\":[");
    for (size_t i = 0; i < count; i++)
        size +=
            (size_t)snprintf(text + size, sizeof(text) - size, "%s{\"index\":%zu,\"email\":null,\"code\":\"%s\",\"message\":\"m\"}",
                             i > 0 ? "," : "", i, i % 5 == 3 ? "A" : "B");
    snprintf(text + size, sizeof(text) - size, "]}");
    return text;
}

static void test_many_faulty_rows_are_grouped_by_code(void **state)
{
    engine.body = faults(60);
    const char *answer = call_tool(state, "control_thing", "{\"kind\":\"start\"}", NULL);
    const char *content = strstr(answer, "structuredContent");
    assert_non_null(content);
    assert_has(content, "{\"code\":\"B\",\"count\":48,\"rows\":\"0-2, 4-7, 9-12,");
    assert_has(content, "57, 59\",\"samples\":[{\"index\":0,\"message\":\"m\"},");
    assert_has(content, "{\"index\":11,\"message\":\"m\"}]}");        /* the tenth sample is the last */
    assert_has(content, "{\"code\":\"A\",\"count\":900,\"samples\""); /* the list did not have all rows of this code */
    assert_has(content, "The resource case://starts/s1/errors has all rows.");
    assert_has(call_tool(state, "control_thing", "{\"kind\":\"start\",\"detail\":\"full\"}", NULL), engine.body);
    engine.body = faults(10);
    assert_has(call_tool(state, "control_thing", "{\"kind\":\"start\"}", NULL), engine.body);
}

/* ---- Visibility of tools ---- */

static void test_brand_connections_do_not_create(void **state)
{
    const char *list = case_post_modern(server_of(state), "tools/list", NULL, "", NULL);
    assert_has(
        list,
        "\"tools\":[{\"name\":\"list_things\",\"brand\":1},{\"name\":\"get_thing\"},{\"name\":\"control_thing\"},{\"name\":\"send_"
        "thing\"},{\"name\":\"create_world\"}]");
    assert_int_equal(asked.checks, 1);
    assert_lacks(call_tool(state, "create_world", "{}", NULL), "error");
    engine.bound_brand_id = 7;
    assert_lacks(case_post_modern(server_of(state), "tools/list", NULL, "", NULL), "create_world");
    assert_has(call_tool(state, "create_world", "{}", NULL), "There is no tool named create_world.");
}

static void test_a_call_names_its_brand(void **state)
{
    call_tool(state, "list_things", "{\"brandId\":\"brd_2\",\"limit\":1}", NULL);
    assert_string_equal(asked.brand, "brd_2");
    assert_string_equal(asked.body, "{\"limit\":1,\"sort\":\"new\"}");
    call_tool(state, "list_things", "{}", NULL);
    assert_string_equal(asked.brand, ""); /* nothing is remembered */
    static const char *const wrong[] = { "{\"brandId\":2}", "{\"brandId\":\"\"}", "{\"brandId\":null}" };
    for (size_t i = 0; i < ARRAY_COUNT(wrong); i++) {
        assert_has(call_tool(state, "list_things", wrong[i], NULL), "brandId must be the id of a brand");
        assert_string_equal(asked.brand, "");
    }
    /* A tool that works in no brand does not accept it. */
    assert_has(call_tool(state, "get_thing", "{\"brandId\":\"brd_2\"}", NULL), "does not accept the argument brandId");
}

static void test_a_bound_connection_stays_in_its_brand(void **state)
{
    struct case_stdio *client = case_stdio_new_in(server_of(state), "brd_1");
    static const char call[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"_meta\":{"
        "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
        "\"io.modelcontextprotocol/clientCapabilities\":{}},\"name\":\"list_things\",\"arguments\":{\"brandId\":"
        "\"%s\"}}}";
    char message[512];
    snprintf(message, sizeof(message), call, "brd_2");
    case_stdio_line(client, message);
    assert_has(case_stdio_next(client), "BRAND_SCOPE_MISMATCH");
    assert_string_equal(asked.brand, "brd_1");
    snprintf(message, sizeof(message), call, "brd_1");
    case_stdio_line(client, message);
    assert_has(case_stdio_next(client), "structuredContent");
    assert_string_equal(asked.brand, "brd_1");
    case_stdio_free(client);
}

/* A key could begin sessions without a bound. */
static void test_the_begin_of_a_session_has_a_rate(void **state)
{
    static const char initialize[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":"
                                     "{\"protocolVersion\":\"2025-11-25\"}}";
    int status = 0;
    const char *session = case_initialize(server_of(state), "2025-11-25", "{}");
    assert_non_null(session);
    assert_int_equal(asked.session_checks, 1);
    engine.window_is_full = true;
    assert_has(case_post(server_of(state), NULL, initialize, &status), "RATE_LIMITED");
    assert_int_equal(status, 429);
    case_post(server_of(state), session, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}", &status);
    assert_int_equal(status, 200);
    assert_int_equal(asked.session_checks, 2);
}

static void test_lists_need_a_good_key(void **state)
{
    static const char *const methods[] = { "tools/list", "prompts/list", "resources/list", "resources/templates/list",
                                           "server/discover" };
    engine.key_is_bad = true;
    for (size_t i = 0; i < ARRAY_COUNT(methods); i++) {
        int status = 0;
        assert_has(case_post_modern(server_of(state), methods[i], NULL, "", &status), "INVALID_API_KEY");
        assert_int_equal(status, 401);
    }
    int status = 0;
    case_post_modern(server_of(state), "prompts/get", "plan", "\"name\":\"plan\",\"arguments\":{\"goal\":\"g\"}", &status);
    assert_int_equal(status, 401);
}

static int set_up_chosen(void **state)
{
    static const struct catalogue_provider_config chosen = { .version = "1", .toolsets = "things,worlds", .read_only = true };
    config_of_case = &chosen;
    return set_up(state);
}

static void test_an_operator_leaves_tools_out(void **state)
{
    const char *list = case_post_modern(server_of(state), "tools/list", NULL, "", NULL);
    assert_has(list, "\"tools\":[{\"name\":\"list_things\",\"brand\":1},{\"name\":\"get_thing\"}]");
    assert_has(call_tool(state, "control_thing", "{}", NULL), "There is no tool");
    assert_has(call_tool(state, "create_world", "{}", NULL), "There is no tool");
}

static void test_misspelt_names_are_refused(void **state)
{
    (void)state;
    static const struct catalogue_provider_config wrong[] = {
        { .version = "1", .toolsets = "things,thing" },
        { .version = "1", .toolsets = "" },
        { .version = "1", .tools = "list_things,list" },
    };
    for (size_t i = 0; i < ARRAY_COUNT(wrong); i++) {
        struct catalogue_provider *product = NULL;
        struct error err = { 0 };
        assert_false(catalogue_provider_new(&the_api, &wrong[i], &product, &err));
        assert_int_equal(err.code, ERR_INVALID_REQUEST);
    }
}

/* ---- The local owner ---- */

static void test_the_local_owner_is_not_checked(void **state)
{
    struct case_stdio *client = case_stdio_new(server_of(state));
    case_stdio_line(client,
                    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\"}}");
    assert_has(case_stdio_next(client), "\"instructions\":\"Instructions.\"");
    case_stdio_line(client, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
    assert_has(case_stdio_next(client), "create_world");
    assert_int_equal(asked.checks, 0);
    engine.error = ERR_INVALID_API_KEY;
    engine.progress = true;
    case_stdio_line(client, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/"
                            "call\",\"params\":{\"name\":\"list_things\",\"_meta\":{\"progressToken\":1}}}");
    assert_has(case_stdio_next(client), "\"progressToken\":1,\"progress\":1,\"total\":2,\"message\":\"half\"");
    assert_has(case_stdio_next(client), "\"isError\":true"); /* no transport to say it with a status */
    assert_true(asked.has_progress);
    case_stdio_free(client);
}

/* ---- Resources, prompts, completion ---- */

static const char *read_resource(void **state, const char *uri, int *ret_status)
{
    char params[256];
    snprintf(params, sizeof(params), "\"uri\":\"%s\"", uri);
    return case_post_modern(server_of(state), "resources/read", uri, params, ret_status);
}

static void test_resources(void **state)
{
    engine.body = "{\"html\":\"<b>\"}";
    const char *answer = read_resource(state, "case://things/a%20b", NULL);
    assert_string_equal(asked.body, "{\"id\":\"a b\"}");
    assert_has(answer, "\"contents\":[{\"uri\":\"case://things/a%20b\",\"mimeType\":\"application/"
                       "json\",\"text\":\"{\\\"html\\\":\\\"<b>\\\"}\"}]");
    assert_has(answer, "\"ttlMs\":0,\"cacheScope\":\"private\"");
    answer = read_resource(state, "case://things/x/html", NULL);
    assert_string_equal(asked.body, "{\"id\":\"x\",\"include\":[\"html\"]}");
    assert_has(answer, "\"mimeType\":\"text/html\",\"text\":\"<b>\"");
    read_resource(state, "case://all", NULL);
    assert_ptr_equal(asked.op, &op_list);
}

static void test_resources_that_are_not_there(void **state)
{
    static const char *const missing[] = {
        "case://none", "case://things/", "case://things/a/b", "case://things/a/html/x", "case://things/%zz", "case://things/a?b", ""
    };
    for (size_t i = 0; i < ARRAY_COUNT(missing); i++) {
        char uri[64];
        snprintf(uri, sizeof(uri), "\"data\":{\"uri\":\"%s\"}", missing[i]);
        const char *answer = read_resource(state, missing[i], NULL);
        assert_has(answer, "\"code\":-32602");
        assert_has(answer, uri);
    }
    assert_int_equal(asked.calls, 0);
    engine.error = ERR_EMAIL_NOT_FOUND;
    assert_has(read_resource(state, "case://things/x", NULL), "\"data\":{\"uri\":\"case://things/x\"}");
    engine.error = ERR_NONE;
    engine.body = "{\"html\":null}";
    assert_has(read_resource(state, "case://things/x/html", NULL), "\"code\":-32602");
}

static void test_prompts(void **state)
{
    const char *answer = case_post_modern(server_of(state), "prompts/get", "plan",
                                          "\"name\":\"plan\",\"arguments\":{\"goal\":\"a \\\"b\\\" {who}\"}", NULL);
    assert_has(answer,
               "\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"Goal: a \\\"b\\\" {who}, for: .\"}}]");
    assert_has(case_post_modern(server_of(state), "prompts/get", "plan", "\"name\":\"plan\"", NULL),
               "goal of this prompt is required");
    assert_has(case_post_modern(server_of(state), "prompts/get", "none", "\"name\":\"none\"", NULL), "-32602");
}

static void test_completion(void **state)
{
    engine.body = "{\"data\":[{\"id\":\"aa\"},{\"id\":\"ab\"},{\"id\":\"b\"},{}],\"hasMore\":false}";
    static const char *const reference = "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"case://things/{id}\"}";
    char params[256];
    snprintf(params, sizeof(params), "%s,\"argument\":{\"name\":\"id\",\"value\":\"a\"}", reference);
    assert_has(case_post_modern(server_of(state), "completion/complete", NULL, params, NULL),
               "\"completion\":{\"values\":[\"aa\",\"ab\"],\"total\":2,\"hasMore\":false}");
    /* By name as well: names that begin as typed come first. */
    engine.body =
        "{\"data\":[{\"id\":\"x1\",\"title\":\"Spring Sale\"},{\"id\":\"x2\",\"title\":\"Sale\"},{\"id\":\"x3\",\"title\":null}]}";
    snprintf(params, sizeof(params), "%s,\"argument\":{\"name\":\"id\",\"value\":\"sale\"}", reference);
    assert_has(case_post_modern(server_of(state), "completion/complete", NULL, params, NULL),
               "\"completion\":{\"values\":[\"x2\",\"x1\"],\"total\":2,\"hasMore\":false}");
    snprintf(params, sizeof(params), "%s,\"argument\":{\"name\":\"other\",\"value\":\"a\"}", reference);
    assert_has(case_post_modern(server_of(state), "completion/complete", NULL, params, NULL), "\"values\":[]");
    snprintf(params, sizeof(params), "%s,\"argument\":{\"name\":\"tool\",\"value\":\"list\"}", reference);
    assert_has(case_post_modern(server_of(state), "completion/complete", NULL, params, NULL), "\"values\":[\"list_things\"]");
    assert_has(case_post_modern(server_of(state), "completion/complete", NULL,
                                "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"none\"},"
                                "\"argument\":{\"name\":\"id\",\"value\":\"\"}",
                                NULL),
               "-32602");
}

#define WITH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests_of_product[] = {
        WITH(test_a_result_is_text_and_structure),
        WITH(test_defaults_and_fixed_arguments),
        WITH(test_unknown_arguments_wait_for_their_place_in_the_checks),
        WITH(test_an_argument_chooses_the_operation),
        WITH(test_a_person_is_asked_by_a_form),
        WITH(test_who_has_no_form_gets_the_preview),
        WITH(test_the_answer_of_a_person),
        cmocka_unit_test_setup_teardown(test_a_legacy_client_is_asked_during_the_call, set_up_preview, tear_down),
        cmocka_unit_test_setup_teardown(test_a_person_declines_during_the_call, set_up_preview, tear_down),
        cmocka_unit_test_setup_teardown(test_without_an_answer_the_call_returns_the_preview, set_up_preview, tear_down),
        cmocka_unit_test_setup_teardown(test_legacy_clients_without_forms_get_the_preview, set_up_preview, tear_down),
        cmocka_unit_test_setup_teardown(test_a_cancelled_question_is_not_answered, set_up_preview, tear_down),
        WITH(test_a_token_is_an_argument_of_the_tool),
        WITH(test_unknown_tools),
        WITH(test_a_name_is_cut_between_characters),
        WITH(test_an_unbuilt_tool_says_what_to_use),
        WITH(test_a_tool_that_cannot_work_is_not_listed),
        WITH(test_errors_of_the_engine),
        WITH(test_each_tool_bounds_its_message),
        WITH(test_a_page_that_does_not_fit_is_refused_whole),
        WITH(test_characters_are_counted_and_not_bytes),
        WITH(test_what_was_done_is_never_refused),
        WITH(test_html_is_a_link_unless_asked_for),
        WITH(test_a_long_text_is_refused_with_the_arguments_that_read_it),
        WITH(test_a_refusal_names_no_argument_that_the_tool_lacks),
        WITH(test_a_refusal_names_the_argument_to_leave_out),
        WITH(test_windows_join_to_the_whole_and_split_no_escape),
        WITH(test_windows_out_of_bounds),
        WITH(test_short_answers_leave_out_what_says_nothing),
        WITH(test_included_lists_obey_limit),
        WITH(test_many_faulty_rows_are_grouped_by_code),
        WITH(test_brand_connections_do_not_create),
        WITH(test_a_call_names_its_brand),
        WITH(test_a_bound_connection_stays_in_its_brand),
        WITH(test_the_begin_of_a_session_has_a_rate),
        WITH(test_lists_need_a_good_key),
        cmocka_unit_test_setup_teardown(test_an_operator_leaves_tools_out, set_up_chosen, tear_down),
        cmocka_unit_test(test_misspelt_names_are_refused),
        WITH(test_the_local_owner_is_not_checked),
        WITH(test_resources),
        WITH(test_resources_that_are_not_there),
        WITH(test_prompts),
        WITH(test_completion),
    };
    return cmocka_run_group_tests(tests_of_product, NULL, NULL);
}
