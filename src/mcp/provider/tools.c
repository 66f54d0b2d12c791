/*
 * Tools: turns tools/call into a call of the engine, which validates the
 * arguments. served_tools.c selects the tools.
 */
#include "api/tool_call.h"
#include "base/json_read.h"
#include "base/nearest.h"
#include "mcp/provider/provider_private.h"

#include <stdlib.h>
#include <string.h>

enum { MESSAGE_FRAME_BYTES = 16 * 1024 };

/* ---- Arguments ---- */

/* The arguments object. Absent means empty; some clients send the object as text. NULL when it is something else. */
static json_t *arguments_of(const struct mcp_request *request)
{
    json_t *arguments = json_object_get(request->params, "arguments");
    if (arguments == NULL || json_is_null(arguments))
        return json_in_arena(request->arena, json_object());
    if (json_is_object(arguments))
        return arguments;
    const json_t *inside = NULL;
    struct error err = { 0 };
    struct json_bounds bounds = { .max_bytes = json_string_length(arguments), .max_tree_bytes = JSON_CALLER_TREE_MAX_BYTES };
    if (json_is_string(arguments) &&
        json_read(request->arena, json_string_value(arguments), json_string_length(arguments), bounds, &inside, &err) &&
        json_is_object(inside))
        return (json_t *)(uintptr_t)inside;
    return NULL;
}

/* ---- tools/call ---- */

/* A tool that is declared and not built yet; NULL when there is none of this name. */
static const struct tool *find_unbuilt_tool(const char *name)
{
    for (size_t i = 0; i < tool_count; i++) {
        if (!tools[i].built && strcmp(tools[i].name, name) == 0)
            return &tools[i];
    }
    return NULL;
}

/* The model gets a result that it can act on. A protocol error would often not reach it. */
static void answer_unbuilt_tool(struct provider_call *provider_call)
{
    const struct tool *tool = provider_call->tool;
    struct error err = { .code = ERR_NONE };
    fail(&err, ERR_NOT_IMPLEMENTED, NULL, "%s is not available in this version. %s", tool->name,
         tool->instead != NULL ? tool->instead : "");
    provider_answer_error(provider_call, &err);
}

static const char *unknown_tool(struct arena *arena, const char *name)
{
    return arena_printf(arena, "There is no tool named %.64s.", name);
}

/* The same, with the tool that was probably meant. Only tools that every connection sees are named. */
static const char *unknown_name(const struct catalogue_provider *catalogue, struct arena *arena, const char *name)
{
    const char **names = arena_array(arena, catalogue->tool_count, sizeof(*names));
    size_t count = 0;
    for (size_t i = 0; i < catalogue->tool_count; i++)
        if (!catalogue->tools[i]->organization)
            names[count++] = catalogue->tools[i]->name;
    const char *nearest = name_nearest(name, names, count);
    return nearest == NULL ? unknown_tool(arena, name)
                           : arena_printf(arena, "There is no tool named %.64s; use %s.", name, nearest);
}

static void answer_tool_call(struct provider_call *provider_call)
{
    const struct call *call = &provider_call->call;
    struct mcp_request *request = provider_call->request;
    const struct tool *tool = provider_call->tool;
    if (tool->organization && provider_is_brand_connection(provider_call)) {
        mcp_refuse(request, RPC_INVALID_PARAMS, NULL, "%s", unknown_tool(request->arena, tool->name));
        return;
    }
    if (call->ok) {
        if (!provider_ask_consent(provider_call))
            provider_answer_body(provider_call);
        return;
    }
    /* Over HTTP an invalid credential becomes a 401 of the transport, so that clients ask for a key. */
    if (request->transport == TRANSPORT_MCP_HTTP && error_info(call->error.code)->http_status == 401)
        mcp_refuse_error(request, &call->error);
    else
        provider_answer_refusal(provider_call);
}

/* The argument brandId is what the header X-Brand-Id is for a program: it names the brand of this call. It cannot lead out of the
 * brand that the connection is bound to. Dispatch checks it like the header. */
static bool take_brand(const struct tool *tool, json_t *arguments, struct call *call, struct error *err)
{
    static const char brand_argument[] = "brandId";
    const json_t *given = json_object_get(arguments, brand_argument);
    if (given == NULL || tool->organization_json == NULL)
        return true;
    const char *named = json_string_value(given);
    if (named == NULL || named[0] == '\0')
        return fail(err, ERR_INVALID_REQUEST, brand_argument,
                    "brandId must be the id of a brand; get_capabilities with topic brands "
                    "lists them.");
    const char *bound = call->credentials.brand;
    if (bound != NULL && strcmp(bound, named) != 0)
        return fail(err, ERR_BRAND_SCOPE_MISMATCH, brand_argument,
                    "This connection is bound to another brand. Leave brandId out, or connect to the brand %.64s.", named);
    call->credentials.brand = arena_dup(call->arena, named);
    json_object_del(arguments, brand_argument);
    return true;
}

/* The largest message of the tool: the largest body of its operations, and the frame. */
static size_t largest_message(const struct tool *tool)
{
    size_t largest = 0;
    for (const struct operation *const *candidate = tool->candidates; *candidate != NULL; candidate++) {
        if ((*candidate)->max_body_bytes > largest)
            largest = (*candidate)->max_body_bytes;
    }
    return largest + MESSAGE_FRAME_BYTES;
}

void provider_tools_call(const struct catalogue_provider *catalogue, struct mcp_request *request)
{
    const char *name = json_string_value(json_object_get(request->params, "name"));
    if (name == NULL) {
        provider_refuse(catalogue, request, "params.name must be the name of a tool.");
        return;
    }
    const struct tool *tool = provider_find_tool(catalogue, name);
    const struct tool *unbuilt = tool == NULL ? find_unbuilt_tool(name) : NULL;
    if (unbuilt != NULL) {
        provider_check(catalogue, request, answer_unbuilt_tool)->tool = unbuilt;
        return;
    }
    /* The brand of a key is known only after the call. The brand of the connection is known before. */
    if (tool == NULL || (tool->organization && request->credentials.brand != NULL)) {
        provider_refuse(catalogue, request,
                        tool == NULL ? unknown_name(catalogue, request->arena, name) : unknown_tool(request->arena, name));
        return;
    }
    json_t *arguments = arguments_of(request);
    if (arguments == NULL) {
        provider_refuse(catalogue, request, "params.arguments must be an object.");
        return;
    }
    const char *token;
    enum provider_consent consent = provider_consent_of(request, tool, &token);
    struct provider_call *provider_call = provider_call_new(catalogue, request, tool->candidates, answer_tool_call);
    provider_call->tool = tool;
    struct call *call = &provider_call->call;
    struct error refusal = { .code = ERR_NONE };
    bool has_brand = take_brand(tool, arguments, call, &refusal);
    tool_prepare(tool, arguments, call);
    call->tool = tool->name;
    if (!has_brand) {
        call->input.refusal = refusal;
        call->input.body = NULL;
    }
    if (consent != CONSENT_NOT_ASKED)
        call->confirmation = token;
    call->is_declined = consent == CONSENT_REFUSED;
    if (request->message_bytes > largest_message(tool))
        fail(&call->input.refusal, ERR_PAYLOAD_TOO_LARGE, NULL, "A call of %s may have at most %zu bytes.", tool->name,
             largest_message(tool));
}
