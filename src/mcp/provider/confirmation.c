/*
 * Confirmation: asks a person before a tool does something irreversible. The
 * engine answers such a call with a preview and a token (struct reply). A
 * client of 2026-07-28 that can show a form gets the question as a result of
 * type input_required, with the token as its requestState. It repeats the call
 * with the person's answer. Any other client gets the preview as an ordinary
 * result. The token is sealed and bound to caller and call. The engine accepts
 * it once, in any process; a declined one it accepts no more.
 */
#include "base/json_read.h"
#include "base/text.h"
#include "mcp/provider/provider_private.h"

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

/* An empty capability means forms. One that lists modes must list forms. */
static bool can_show_form(const struct mcp_request *request)
{
    const json_t *elicitation = json_object_get(request->client_capabilities, "elicitation");
    return request->era == MCP_MODERN && json_is_object(elicitation) &&
           (json_object_size(elicitation) == 0 || json_object_get(elicitation, "form") != NULL);
}

enum provider_consent provider_consent_of(const struct mcp_request *request, const struct tool *tool, const char **ret_token)
{
    const json_t *answer = json_object_get(json_object_get(request->params, "inputResponses"), question_key);
    const char *action = json_is_object(answer) ? json_get_text(answer, "action") : NULL;
    *ret_token = json_string_value(json_object_get(request->params, "requestState"));
    if (request->era != MCP_MODERN || *ret_token == NULL || action == NULL || !tool_asks_confirmation(tool))
        return CONSENT_NOT_ASKED;
    const json_t *send = json_object_get(json_object_get(answer, "content"), answer_member);
    if (text_equal(action, "accept") && !json_is_boolean(send))
        return CONSENT_NOT_ASKED;
    return text_equal(action, "accept") && json_is_true(send) ? CONSENT_GIVEN : CONSENT_REFUSED;
}

bool provider_ask_consent(const struct provider_call *provider_call)
{
    struct mcp_request *request = provider_call->request;
    const struct reply *reply = &provider_call->call.reply;
    if (reply->confirmation == NULL || !can_show_form(request))
        return false;
    struct json_writer json;
    mcp_input_required_begin(request, &json);
    json_key(&json, "inputRequests");
    json_object_begin(&json);
    json_key(&json, question_key);
    json_object_begin(&json);
    json_member_text(&json, "method", "elicitation/create");
    json_key(&json, "params");
    json_object_begin(&json);
    json_member_text(&json, "mode", "form");
    json_member_text(&json, "message", reply->question);
    json_member_raw(&json, "requestedSchema", form);
    json_object_end(&json);
    json_object_end(&json);
    json_object_end(&json);
    json_member_text(&json, "requestState", reply->confirmation);
    mcp_result_end(request, &json);
    return true;
}
