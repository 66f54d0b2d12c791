/*
 * Confirmation: asks a person before a tool does something irreversible. The
 * engine answers such a call with a preview and a token (struct reply). A
 * client of 2026-07-28 that can show a form gets the question as a result of
 * type input_required, with the token as its requestState. It repeats the call
 * with the person's answer. A client of 2025-06-18 or 2025-11-25 that can show
 * a form gets the question as a request of the server (elicitation/create).
 * The call waits for the answer without a thread and is then submitted again,
 * with the token. Any other client gets the preview as an ordinary result, and
 * so does one that does not answer. The token is sealed and bound to caller and
 * call. The engine accepts it once, in any process; a declined one it accepts
 * no more.
 */
#include "base/json_read.h"
#include "base/text.h"
#include "mcp/provider/provider_private.h"

#include <string.h>

static const char ask_method[] = "elicitation/create";
static const char question_key[] = "confirm";
static const char answer_member[] = "send";
static const char form[] = "{\"type\":\"object\",\"properties\":{\"send\":{\"type\":\"boolean\",\"title\":\"Send it\","
                           "\"description\":\"Delivered email cannot be recalled.\",\"default\":false}},"
                           "\"required\":[\"send\"]}";

static bool tool_asks_confirmation(const struct tool *tool)
{
    for (const struct operation *const *candidate = tool->candidates; *candidate != NULL; candidate++) {
        if ((*candidate)->asks_confirmation)
            return true;
    }
    return false;
}

/* The legacy versions with requests of the server for a form. The first has no modes. */
static const char first_version_with_forms[] = "2025-06-18";

static bool era_has_forms(const struct mcp_request *request)
{
    if (request->era == MCP_MODERN)
        return true;
    const char *version = request->peer != NULL ? request->peer->version : NULL;
    return version != NULL && strcmp(version, first_version_with_forms) >= 0; /* versions are dates */
}

static bool can_show_form(const struct mcp_request *request)
{
    return era_has_forms(request) && request->client_capabilities.elicitation_form;
}

/* The consent in a person's answer to the form. CONSENT_NOT_ASKED: it is not a valid answer. */
static enum provider_consent read_consent(const json_t *answer)
{
    const char *action = json_is_object(answer) ? json_get_text(answer, "action") : NULL;
    if (action == NULL)
        return CONSENT_NOT_ASKED;
    const json_t *send = json_object_get(json_object_get(answer, "content"), answer_member);
    if (text_equal(action, "accept") && !json_is_boolean(send))
        return CONSENT_NOT_ASKED;
    return text_equal(action, "accept") && json_is_true(send) ? CONSENT_GIVEN : CONSENT_REFUSED;
}

enum provider_consent provider_consent_of(const struct mcp_request *request, const struct tool *tool, const char **ret_token)
{
    const json_t *answer = json_object_get(json_object_get(request->params, "inputResponses"), question_key);
    *ret_token = json_string_value(json_object_get(request->params, "requestState"));
    if (request->era != MCP_MODERN || *ret_token == NULL || !tool_asks_confirmation(tool))
        return CONSENT_NOT_ASKED;
    return read_consent(answer);
}

/* The params of elicitation/create. */
static void write_question(struct json_writer *json, const char *question, bool has_modes)
{
    json_object_begin(json);
    if (has_modes)
        json_member_text(json, "mode", "form");
    json_member_text(json, "message", question);
    json_member_raw(json, "requestedSchema", form);
    json_object_end(json);
}

/* ---- 2026-07-28 ---- */

static void answer_with_question(const struct provider_call *provider_call)
{
    struct mcp_request *request = provider_call->request;
    const struct reply *reply = &provider_call->call.reply;
    struct json_writer json;
    mcp_input_required_begin(request, &json);
    json_key(&json, "inputRequests");
    json_object_begin(&json);
    json_key(&json, question_key);
    json_object_begin(&json);
    json_member_text(&json, "method", ask_method);
    json_key(&json, "params");
    write_question(&json, reply->question, true);
    json_object_end(&json);
    json_object_end(&json);
    json_member_text(&json, "requestState", reply->confirmation);
    mcp_result_end(request, &json);
}

/* ---- 2025-06-18 and 2025-11-25 ---- */

/* Submits the same call again, with the person's answer. */
static void submit_again(struct mcp_request *request)
{
    struct provider_call *provider_call = request->provider_data;
    struct call *call = &provider_call->call;
    call->confirmation = call->reply.confirmation;
    call->is_declined = provider_call->consent == CONSENT_REFUSED;
    call->reply = (struct reply){ .status = 0 };
    call->request_id = api_request_id(call->arena);
    call->credit_cost = -1;
    call->state = NULL;
    api_submit(provider_call->catalogue->api, call);
}

/* Without a valid answer the client gets the preview, whose token an assistant can still use. */
static void on_person_answered(struct mcp_request *request, const json_t *result)
{
    struct provider_call *provider_call = request->provider_data;
    provider_call->consent = read_consent(result);
    if (provider_call->consent == CONSENT_NOT_ASKED || !mcp_restart(request, submit_again))
        provider_answer_body(provider_call);
}

static bool ask_by_request(const struct provider_call *provider_call)
{
    struct mcp_request *request = provider_call->request;
    struct buf *params = buf_in_arena(request->arena, MCP_ANSWER_MAX_BYTES);
    struct json_writer json;
    json_writer_init(&json, params);
    bool has_modes = strcmp(request->peer->version, first_version_with_forms) > 0;
    write_question(&json, provider_call->call.reply.question, has_modes);
    return mcp_ask(request, ask_method, buf_text(params), on_person_answered);
}

bool provider_ask_consent(struct provider_call *provider_call)
{
    struct mcp_request *request = provider_call->request;
    if (provider_call->call.reply.confirmation == NULL || !can_show_form(request))
        return false;
    if (request->era == MCP_LEGACY)
        return ask_by_request(provider_call);
    answer_with_question(provider_call);
    return true;
}
