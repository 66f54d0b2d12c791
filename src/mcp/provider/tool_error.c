/*
 * Tool errors: the error envelope as the text of a result with isError, within
 * the response budget of the client. A refusal may list hundreds of faults; then
 * the list in its details is cut to what fits, and `omitted` is the number of
 * those that were left out.
 */
#include "base/json_read.h"
#include "mcp/provider/provider_private.h"

#include <stdint.h>
#include <string.h>

/* ---- Details that fit ---- */

/* The first member that is a list; NULL when there is none. */
static const char *list_name(const json_t *details)
{
    const char *name;
    json_t *member;
    json_object_foreach (json_for_iteration(details), name, member)
        if (json_is_array(member))
            return name;
    return NULL;
}

/* The first items of a list that take at most so many bytes. */
static json_t *first_items(struct arena *arena, const json_t *list, size_t max_bytes)
{
    json_t *kept = json_in_arena(arena, json_array());
    size_t used = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *item = json_array_get(list, i);
        used += strlen(json_compact(arena, item)) + 1;
        if (used > max_bytes)
            break;
        json_array_append(kept, item);
    }
    return kept;
}

/* The details in at most so many bytes; NULL when they have no list to cut, or are still too large without it. */
static const char *fit_details(struct arena *arena, const char *details, size_t max_bytes)
{
    const json_t *whole;
    struct error ignored = { .code = ERR_NONE };
    const struct json_bounds bounds = { .max_bytes = strlen(details) };
    if (!json_read(arena, details, strlen(details), bounds, &whole, &ignored))
        return NULL;
    const char *name = list_name(whole);
    if (name == NULL)
        return NULL;
    const json_t *list = json_object_get(whole, name);
    json_t *fitting = json_in_arena(arena, json_copy(json_for_iteration(whole)));
    json_object_set_new(fitting, "omitted", json_integer((json_int_t)json_array_size(list)));
    json_object_set_new(fitting, name, json_array());
    size_t rest = strlen(json_compact(arena, fitting));
    if (rest > max_bytes)
        return NULL;
    json_t *kept = first_items(arena, list, max_bytes - rest);
    json_object_set_new(fitting, "omitted", json_integer((json_int_t)(json_array_size(list) - json_array_size(kept))));
    json_object_set(fitting, name, kept);
    return json_compact(arena, fitting);
}

/* ---- Results ---- */

static const struct buf *write_envelope(struct arena *arena, const struct error *err, const char *suggestion)
{
    struct buf *envelope = buf_in_arena(arena, SIZE_MAX); /* the parts of an error have bounds */
    struct json_writer json;
    json_writer_init(&json, envelope);
    api_write_error_for(&json, err, suggestion);
    return envelope;
}

/* `budget`: the most characters of the text, which has at most as many characters as bytes. */
static void answer_error(struct mcp_request *request, const struct error *err, const char *suggestion, size_t budget)
{
    const struct buf *envelope = write_envelope(request->arena, err, suggestion);
    if (envelope->size > budget && err->details_json != NULL) {
        size_t excess = envelope->size - budget;
        size_t size = strlen(err->details_json);
        struct error shown = *err;
        shown.details_json = fit_details(request->arena, err->details_json, size > excess ? size - excess : 0);
        envelope = write_envelope(request->arena, &shown, suggestion);
    }
    struct json_writer json;
    mcp_result_begin(request, &json);
    json_key(&json, "content");
    json_array_begin(&json);
    json_object_begin(&json);
    json_member_text(&json, "type", "text");
    json_member_text(&json, "text", buf_text(envelope));
    json_object_end(&json);
    json_array_end(&json);
    json_member_bool(&json, "isError", true);
    mcp_result_end(request, &json);
}

void provider_answer_error(const struct provider_call *provider_call, const struct error *err)
{
    answer_error(provider_call->request, err, error_info(err->code)->plain_suggestion,
                 provider_call->catalogue->response_budget_chars);
}

static bool sees_tool(const void *provider_call, const char *name)
{
    return provider_sees_tool(provider_call, name);
}

const char *provider_suggestion(const struct provider_call *provider_call, const struct error *err)
{
    return api_tool_suggestion(provider_call->request->arena, err, sees_tool, provider_call);
}

void provider_answer_refusal(const struct provider_call *provider_call)
{
    const struct error *err = &provider_call->call.error;
    answer_error(provider_call->request, err, provider_suggestion(provider_call, err),
                 provider_call->catalogue->response_budget_chars);
}
