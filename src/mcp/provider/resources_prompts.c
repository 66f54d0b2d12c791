/*
 * Resources, prompts and completions of the product, from the tables that
 * codegen generates from tools/mcp.json. A resource is the answer of an
 * operation under a URI.
 */
#include "base/json_read.h"
#include "base/panic.h"
#include "base/text.h"
#include "catalogue/mcp_texts.h"
#include "mcp/provider/provider_private.h"

#include <stdlib.h>
#include <string.h>

enum { COMPLETION_MAX_VALUES = 100, PROMPT_MAX_BYTES = 256 * 1024 };

/* ---- Lists ---- */

static const char *resource_list(struct arena *arena, const struct mcp_resource *rows, size_t count)
{
    struct buf *out = buf_in_arena(arena, MCP_ANSWER_MAX_BYTES);
    struct json_writer json;
    json_writer_init(&json, out);
    json_array_begin(&json);
    for (size_t i = 0; i < count; i++)
        json_raw(&json, rows[i].list_json);
    json_array_end(&json);
    return out->data;
}

static const char *prompt_list(struct arena *arena)
{
    struct buf *out = buf_in_arena(arena, MCP_ANSWER_MAX_BYTES);
    struct json_writer json;
    json_writer_init(&json, out);
    json_array_begin(&json);
    for (size_t i = 0; i < mcp_prompt_count; i++)
        json_raw(&json, mcp_prompts[i].list_json);
    json_array_end(&json);
    return out->data;
}

void provider_texts_init(struct catalogue_provider *catalogue)
{
    catalogue->provider.instructions = mcp_instructions;
    for (int visibility = 0; visibility < VISIBILITY_COUNT; visibility++) {
        catalogue->lists[MCP_LIST_RESOURCES][visibility] = resource_list(catalogue->arena, mcp_resources, mcp_resource_count);
        catalogue->lists[MCP_LIST_TEMPLATES][visibility] =
            resource_list(catalogue->arena, mcp_resource_templates, mcp_resource_template_count);
        catalogue->lists[MCP_LIST_PROMPTS][visibility] = prompt_list(catalogue->arena);
    }
}

/* ---- Placeholders in texts ---- */

/* The arguments of a row, with its placeholders replaced. */
static json_t *fill_arguments(struct arena *arena, const char *args_json, const json_t *parameters)
{
    json_t *arguments = json_in_arena(arena, json_loads(args_json, 0, NULL));
    if (arguments == NULL)
        panic(PANIC_NO_MEMORY); /* generated at build time */
    const char *name;
    json_t *value;
    void *next;
    json_object_foreach_safe(arguments, next, name, value)
    {
        const char *text = json_string_value(value);
        if (text == NULL || strchr(text, '{') == NULL)
            continue;
        struct buf *filled = buf_in_arena(arena, 4096);
        provider_fill_text(filled, text, parameters);
        json_object_set_new(arguments, name, json_string(buf_text(filled)));
    }
    return arguments;
}

/* ---- resources/read ---- */

/* Matches a URI against a template. Each placeholder matches one path segment. */
static bool match_template(struct arena *arena, const char *template, const char *uri, json_t *ret_parameters)
{
    while (*template != '\0') {
        if (*template != '{') {
            if (*template ++ != *uri++)
                return false;
            continue;
        }
        const char *close = strchr(template, '}');
        size_t size = strcspn(uri, "/?#");
        char *value = size > 0 ? percent_decode(arena, uri, size) : NULL;
        if (value == NULL)
            return false;
        json_object_setn_new(ret_parameters, template + 1, (size_t)(close - template - 1), json_string(value));
        template = close + 1;
        uri += size;
    }
    return *uri == '\0';
}

static const struct mcp_resource *find_resource(struct arena *arena, const char *uri, json_t *ret_parameters)
{
    for (size_t i = 0; i < mcp_resource_count; i++) {
        if (strcmp(mcp_resources[i].uri, uri) == 0)
            return &mcp_resources[i];
    }
    for (size_t i = 0; i < mcp_resource_template_count; i++) {
        json_object_clear(ret_parameters);
        if (match_template(arena, mcp_resource_templates[i].uri, uri, ret_parameters))
            return &mcp_resource_templates[i];
    }
    return NULL;
}

static const char *uri_of(const struct mcp_request *request)
{
    return json_string_value(json_object_get(request->params, "uri"));
}

/* A missing resource is an invalid parameter (2026-07-28), in both eras. */
static void refuse_unknown_resource(struct provider_call *provider_call)
{
    struct mcp_request *request = provider_call->request;
    struct buf *data = buf_in_arena(request->arena, MCP_ANSWER_MAX_BYTES);
    struct json_writer json;
    json_writer_init(&json, data);
    json_object_begin(&json);
    json_member_text(&json, "uri", uri_of(request));
    json_object_end(&json);
    mcp_refuse(request, RPC_INVALID_PARAMS, buf_text(data), "There is no such resource.");
}

/* The content: the whole body, or one text member of it. NULL when there is none. */
static const char *select_content(struct arena *arena, const struct buf *body, const char *member)
{
    if (member == NULL)
        return buf_text(body);
    const json_t *json = NULL;
    struct error err = { 0 };
    struct json_bounds bounds = { .max_bytes = body->size };
    if (!json_read(arena, buf_text(body), body->size, bounds, &json, &err))
        return NULL;
    return json_string_value(json_object_get(json, member));
}

static void answer_resource(struct provider_call *provider_call)
{
    const struct call *call = &provider_call->call;
    const struct mcp_resource *resource = provider_call->row;
    struct mcp_request *request = provider_call->request;
    if (!call->ok && error_info(call->error.code)->http_status == 404) {
        refuse_unknown_resource(provider_call);
        return;
    }
    if (!call->ok) {
        mcp_refuse_error(request, &call->error);
        return;
    }
    const char *text = select_content(request->arena, call->reply.body, resource->pick);
    if (text == NULL) {
        refuse_unknown_resource(provider_call);
        return;
    }
    struct json_writer json;
    mcp_result_begin(request, &json);
    mcp_result_cacheable(request, &json, 0);
    json_key(&json, "contents");
    json_array_begin(&json);
    json_object_begin(&json);
    json_member_text(&json, "uri", uri_of(request));
    json_member_text(&json, "mimeType", resource->mime_type);
    bool is_binary = text_starts_with(resource->mime_type, "image/"); /* the member is in base64 */
    json_member_text(&json, is_binary ? "blob" : "text", text);
    json_object_end(&json);
    json_array_end(&json);
    mcp_result_end(request, &json);
}

/* A call of one operation with the arguments of a row. */
static struct provider_call *new_row_call(const struct catalogue_provider *catalogue, struct mcp_request *request,
                                          const struct operation *operation, json_t *arguments,
                                          void (*answer)(struct provider_call *call), const void *row)
{
    const struct operation **one = arena_array(request->arena, 2, sizeof(struct operation *));
    one[0] = operation;
    struct provider_call *provider_call = provider_call_new(catalogue, request, one, answer);
    provider_call->call.input.body = arguments;
    provider_call->row = row;
    return provider_call;
}

void provider_resources_read(const struct catalogue_provider *catalogue, struct mcp_request *request)
{
    const char *uri = uri_of(request);
    if (uri == NULL) {
        provider_refuse(catalogue, request, "params.uri must be the URI of a resource.");
        return;
    }
    json_t *parameters = json_in_arena(request->arena, json_object());
    const struct mcp_resource *resource = find_resource(request->arena, uri, parameters);
    if (resource == NULL) {
        provider_check(catalogue, request, refuse_unknown_resource);
        return;
    }
    json_t *arguments = fill_arguments(request->arena, resource->args_json, parameters);
    new_row_call(catalogue, request, resource->operation, arguments, answer_resource, resource);
}

/* ---- prompts/get ---- */

static const struct mcp_prompt *find_prompt(const char *name)
{
    for (size_t i = 0; name != NULL && i < mcp_prompt_count; i++) {
        if (strcmp(mcp_prompts[i].name, name) == 0)
            return &mcp_prompts[i];
    }
    return NULL;
}

/* The first required argument that is missing or empty; NULL when there is none. */
static const char *missing_argument(const struct mcp_prompt *prompt, const json_t *arguments)
{
    for (size_t i = 0; i < prompt->argument_count; i++) {
        const struct mcp_prompt_argument *argument = &prompt->arguments[i];
        const char *value = json_string_value(json_object_get(arguments, argument->name));
        if (argument->required && (value == NULL || value[0] == '\0'))
            return argument->name;
    }
    return NULL;
}

static void answer_prompt(struct provider_call *provider_call)
{
    struct mcp_request *request = provider_call->request;
    const struct mcp_prompt *prompt = provider_call->row;
    const json_t *arguments = json_object_get(request->params, "arguments");
    const char *missing = missing_argument(prompt, arguments);
    if (missing != NULL) {
        mcp_refuse(request, RPC_INVALID_PARAMS, NULL, "The argument %s of this prompt is required and must be text.", missing);
        return;
    }
    struct json_writer json;
    mcp_result_begin(request, &json);
    json_member_text(&json, "description", prompt->description);
    json_key(&json, "messages");
    json_array_begin(&json);
    for (size_t i = 0; i < prompt->message_count; i++) {
        struct buf *text = buf_in_arena(request->arena, PROMPT_MAX_BYTES);
        provider_fill_text(text, prompt->messages[i].text, arguments);
        json_object_begin(&json);
        json_member_text(&json, "role", prompt->messages[i].role);
        json_key(&json, "content");
        json_object_begin(&json);
        json_member_text(&json, "type", "text");
        json_member_text(&json, "text", buf_text(text));
        json_object_end(&json);
        json_object_end(&json);
    }
    json_array_end(&json);
    mcp_result_end(request, &json);
}

void provider_prompts_get(const struct catalogue_provider *catalogue, struct mcp_request *request)
{
    const struct mcp_prompt *prompt = find_prompt(json_string_value(json_object_get(request->params, "name")));
    if (prompt == NULL)
        provider_refuse(catalogue, request, "params.name must be the name of a prompt.");
    else
        provider_check(catalogue, request, answer_prompt)->row = prompt;
}

/* ---- completion/complete ---- */

static void write_completion(struct mcp_request *request, const char *const *values, size_t count, size_t total)
{
    struct json_writer json;
    mcp_result_begin(request, &json);
    json_key(&json, "completion");
    json_object_begin(&json);
    json_key(&json, "values");
    json_array_begin(&json);
    for (size_t i = 0; i < count; i++)
        json_text(&json, values[i]);
    json_array_end(&json);
    json_member_int(&json, "total", (int64_t)total);
    json_member_bool(&json, "hasMore", total > count);
    json_object_end(&json);
    mcp_result_end(request, &json);
}

static const char *typed_so_far(const struct mcp_request *request)
{
    const char *value = json_string_value(json_object_get(json_object_get(request->params, "argument"), "value"));
    return value != NULL ? value : "";
}

static void complete_nothing(struct provider_call *provider_call)
{
    write_completion(provider_call->request, NULL, 0, 0);
}

static void complete_tool(struct provider_call *provider_call)
{
    const char *values[COMPLETION_MAX_VALUES];
    size_t total = provider_tool_names(provider_call, typed_so_far(provider_call->request), values, COMPLETION_MAX_VALUES);
    write_completion(provider_call->request, values, total < COMPLETION_MAX_VALUES ? total : COMPLETION_MAX_VALUES, total);
}

/* The rows of a page: its first member that is an array. */
static const json_t *page_rows(const json_t *page)
{
    const char *name;
    json_t *value;
    json_object_foreach ((json_t *)(uintptr_t)page, name, value) {
        if (json_is_array(value))
            return value;
    }
    return NULL;
}

/* How well a row fits what was typed. */
enum fit { FIT_NONE, FIT_INSIDE, FIT_BEGIN };

/* The value itself must begin as typed. A name beside it, such as a title, may contain it anywhere, in any case. */
static enum fit fit_of_row(const struct mcp_completion *completion, const json_t *row, const char *typed)
{
    const char *value = json_string_value(json_object_get(row, completion->pick));
    if (value == NULL)
        return FIT_NONE;
    if (text_starts_with(value, typed))
        return FIT_BEGIN;
    for (const char *const *member = completion->match; *member != NULL; member++) {
        const char *name = json_string_value(json_object_get(row, *member));
        const char *at = name != NULL ? strcasestr(name, typed) : NULL;
        if (at != NULL)
            return at == name ? FIT_BEGIN : FIT_INSIDE;
    }
    return FIT_NONE;
}

/* Appends the values of the rows with this fit; returns how many there are in all. */
static size_t take_values(const struct mcp_completion *completion, const json_t *rows, const char *typed, enum fit wanted,
                          const char **values, size_t count)
{
    size_t index;
    json_t *row;
    json_array_foreach (json_for_iteration(rows), index, row) {
        if (fit_of_row(completion, row, typed) != wanted)
            continue;
        if (count < COMPLETION_MAX_VALUES)
            values[count] = json_string_value(json_object_get(row, completion->pick));
        count++;
    }
    return count;
}

static void complete_from_rows(struct provider_call *provider_call)
{
    const struct call *call = &provider_call->call;
    const struct mcp_completion *completion = provider_call->row;
    struct mcp_request *request = provider_call->request;
    if (!call->ok) {
        mcp_refuse_error(request, &call->error);
        return;
    }
    const json_t *page = NULL;
    struct error err = { 0 };
    struct json_bounds bounds = { .max_bytes = call->reply.body->size };
    if (!json_read(request->arena, buf_text(call->reply.body), call->reply.body->size, bounds, &page, &err)) {
        mcp_refuse_error(request, &err);
        return;
    }
    const char *typed = typed_so_far(request);
    const char *values[COMPLETION_MAX_VALUES];
    const json_t *rows = page_rows(page);
    size_t total = take_values(completion, rows, typed, FIT_BEGIN, values, 0);
    total = take_values(completion, rows, typed, FIT_INSIDE, values, total);
    write_completion(request, values, total < COMPLETION_MAX_VALUES ? total : COMPLETION_MAX_VALUES, total);
}

/* True when the reference names a prompt or a resource template of this server. */
static bool is_known_reference(const json_t *reference)
{
    const char *type = json_string_value(json_object_get(reference, "type"));
    const char *uri = json_string_value(json_object_get(reference, "uri"));
    if (text_equal(type, "ref/prompt"))
        return find_prompt(json_string_value(json_object_get(reference, "name"))) != NULL;
    if (!text_equal(type, "ref/resource") || uri == NULL)
        return false;
    for (size_t i = 0; i < mcp_resource_template_count; i++) {
        if (strcmp(mcp_resource_templates[i].uri, uri) == 0)
            return true;
    }
    return false;
}

void provider_complete(const struct catalogue_provider *catalogue, struct mcp_request *request)
{
    const char *argument = json_string_value(json_object_get(json_object_get(request->params, "argument"), "name"));
    if (argument == NULL || !is_known_reference(json_object_get(request->params, "ref"))) {
        provider_refuse(catalogue, request,
                        "params.ref must name a prompt or resource template, params.argument one of its arguments.");
        return;
    }
    for (size_t i = 0; i < mcp_completion_count; i++) {
        const struct mcp_completion *completion = &mcp_completions[i];
        if (strcmp(completion->argument, argument) != 0)
            continue;
        json_t *arguments = fill_arguments(request->arena, completion->args_json, NULL);
        new_row_call(catalogue, request, completion->operation, arguments, complete_from_rows, completion);
        return;
    }
    provider_check(catalogue, request, strcmp(argument, "tool") == 0 ? complete_tool : complete_nothing);
}
