/*
 * The three forms: Anthropic Messages, OpenAI Responses, and chat completions of
 * any compatible server.
 */
#include "models/provider.h"

#include "base/buf.h"
#include "base/json_read.h"
#include "base/text.h"

#include <string.h>

enum {
    ANTHROPIC_MAX_TOKENS = 16000, /* a document takes about 4,000; the API requires a bound */
    OPENAI_MAX_TOKENS = 32000,    /* includes those of reasoning */
    ANSWER_TEXT_MAX_BYTES = 4 * 1024 * 1024,
};

/* ---- Parts of all forms ---- */

static void write_role_text(struct json_writer *json, const char *role, const char *text)
{
    json_object_begin(json);
    json_member_text(json, "role", role);
    json_member_text(json, "content", text);
    json_object_end(json);
}

static void write_turns(const struct model_request *request, struct json_writer *json)
{
    for (size_t i = 0; i < request->turn_count; i++)
        write_role_text(json, request->turns[i].is_model ? "assistant" : "user", request->turns[i].text);
}

static void write_schema_members(const struct model_request *request, struct json_writer *json)
{
    json_member_text(json, "name", request->schema_name);
    json_member_raw(json, "schema", request->schema);
    json_member_bool(json, "strict", true);
}

static struct opt_int token_count(const json_t *usage, const char *name)
{
    const json_t *count = json_object_get(usage, name);
    return (struct opt_int){ .set = json_is_integer(count) && json_integer_value(count) >= 0, .value = json_integer_value(count) };
}

/* Joins the texts of the parts that have this type. NULL: there is none. */
static const char *join_parts(struct arena *arena, const json_t *parts, const char *type)
{
    struct buf *text = buf_in_arena(arena, ANSWER_TEXT_MAX_BYTES);
    for (size_t i = 0; i < json_array_size(parts); i++) {
        const json_t *part = json_array_get(parts, i);
        const char *words = json_get_text(part, "text");
        if (text_equal(json_get_text(part, "type"), type) && words != NULL)
            buf_add_text(text, words);
    }
    return text->size > 0 ? buf_text(text) : NULL;
}

static void set_text(struct model_answer *answer, const char *text)
{
    answer->text = text;
    if (text == NULL && answer->end == ANSWER_WHOLE)
        answer->end = ANSWER_EMPTY;
}

/* ---- Anthropic Messages ---- */

static void anthropic_write(const struct model_request *request, struct json_writer *json)
{
    json_object_begin(json);
    json_member_text(json, "model", request->model->name);
    json_member_int(json, "max_tokens", ANTHROPIC_MAX_TOKENS);
    json_member_text(json, "system", request->system);
    json_key(json, "messages");
    json_array_begin(json);
    write_turns(request, json);
    json_array_end(json);
    if (request->mode == MODE_SCHEMA) {
        json_key(json, "output_config");
        json_object_begin(json);
        json_key(json, "format");
        json_object_begin(json);
        json_member_text(json, "type", "json_schema");
        json_member_raw(json, "schema", request->schema);
        json_object_end(json);
        json_object_end(json);
    }
    json_object_end(json);
}

static void anthropic_read(struct arena *arena, const json_t *json, struct model_answer *ret_answer)
{
    const char *reason = json_get_text(json, "stop_reason");
    const json_t *usage = json_object_get(json, "usage");
    ret_answer->tokens_in = token_count(usage, "input_tokens");
    ret_answer->tokens_out = token_count(usage, "output_tokens");
    if (text_equal(reason, "refusal"))
        ret_answer->end = ANSWER_REFUSED;
    else if (text_equal(reason, "max_tokens") || text_equal(reason, "model_context_window_exceeded"))
        ret_answer->end = ANSWER_CUT;
    set_text(ret_answer, join_parts(arena, json_object_get(json, "content"), "text"));
}

/* ---- OpenAI Responses ---- */

static void openai_write(const struct model_request *request, struct json_writer *json)
{
    json_object_begin(json);
    json_member_text(json, "model", request->model->name);
    json_member_text(json, "instructions", request->system);
    json_key(json, "input");
    json_array_begin(json);
    write_turns(request, json);
    json_array_end(json);
    json_member_int(json, "max_output_tokens", OPENAI_MAX_TOKENS);
    json_member_bool(json, "store", false);
    if (request->mode != MODE_PLAIN) {
        json_key(json, "text");
        json_object_begin(json);
        json_key(json, "format");
        json_object_begin(json);
        json_member_text(json, "type", request->mode == MODE_SCHEMA ? "json_schema" : "json_object");
        if (request->mode == MODE_SCHEMA)
            write_schema_members(request, json);
        json_object_end(json);
        json_object_end(json);
    }
    json_object_end(json);
}

static bool has_part(const json_t *parts, const char *type)
{
    for (size_t i = 0; i < json_array_size(parts); i++)
        if (text_equal(json_get_text(json_array_get(parts, i), "type"), type))
            return true;
    return false;
}

/* The output has other items too, such as those of reasoning. */
static void openai_read_output(struct arena *arena, const json_t *output, struct model_answer *answer)
{
    const char *text = NULL;
    for (size_t i = 0; i < json_array_size(output); i++) {
        const json_t *item = json_array_get(output, i);
        const json_t *content = json_object_get(item, "content");
        if (!text_equal(json_get_text(item, "type"), "message"))
            continue;
        if (has_part(content, "refusal"))
            answer->end = ANSWER_REFUSED;
        const char *part = join_parts(arena, content, "output_text");
        if (part != NULL)
            text = text != NULL ? arena_printf(arena, "%s%s", text, part) : part;
    }
    set_text(answer, text);
}

static void openai_read(struct arena *arena, const json_t *json, struct model_answer *ret_answer)
{
    const json_t *usage = json_object_get(json, "usage");
    const char *why = json_get_text(json_object_get(json, "incomplete_details"), "reason");
    ret_answer->tokens_in = token_count(usage, "input_tokens");
    ret_answer->tokens_out = token_count(usage, "output_tokens");
    if (text_equal(why, "content_filter"))
        ret_answer->end = ANSWER_REFUSED;
    else if (text_equal(json_get_text(json, "status"), "incomplete"))
        ret_answer->end = ANSWER_CUT;
    openai_read_output(arena, json_object_get(json, "output"), ret_answer);
}

/* ---- Chat completions ---- */

static void compatible_write(const struct model_request *request, struct json_writer *json)
{
    json_object_begin(json);
    json_member_text(json, "model", request->model->name);
    json_key(json, "messages");
    json_array_begin(json);
    write_role_text(json, "system", request->system);
    write_turns(request, json);
    json_array_end(json);
    json_member_bool(json, "stream", false);
    if (request->mode != MODE_PLAIN) {
        json_key(json, "response_format");
        json_object_begin(json);
        json_member_text(json, "type", request->mode == MODE_SCHEMA ? "json_schema" : "json_object");
        if (request->mode == MODE_SCHEMA) {
            json_key(json, "json_schema");
            json_object_begin(json);
            write_schema_members(request, json);
            json_object_end(json);
        }
        json_object_end(json);
    }
    json_object_end(json);
}

static void compatible_read(struct arena *arena, const json_t *json, struct model_answer *ret_answer)
{
    const json_t *choice = json_array_get(json_object_get(json, "choices"), 0);
    const json_t *message = json_object_get(choice, "message");
    const json_t *usage = json_object_get(json, "usage");
    const char *reason = json_get_text(choice, "finish_reason");
    const char *text = json_get_text(message, "content");
    ret_answer->tokens_in = token_count(usage, "prompt_tokens");
    ret_answer->tokens_out = token_count(usage, "completion_tokens");
    if (json_get_text(message, "refusal") != NULL || text_equal(reason, "content_filter"))
        ret_answer->end = ANSWER_REFUSED;
    else if (text_equal(reason, "length"))
        ret_answer->end = ANSWER_CUT;
    /* Some servers give the content as parts. */
    set_text(ret_answer, text != NULL && *text == '\0' ? NULL
                         : text != NULL                ? text
                                                       : join_parts(arena, json_object_get(message, "content"), "text"));
}

/* ---- The table ---- */

static const struct provider providers[] = {
    {
        .name = "anthropic",
        .url = "https://api.anthropic.com",
        .path = "/v1/messages",
        .needs_key = true,
        .lowest = MODE_PLAIN,
        .absence = ABSENCE_EMPTY,
        .key_header = "x-api-key: ",
        .version = "anthropic-version: 2023-06-01",
        .write = anthropic_write,
        .read = anthropic_read,
    },
    {
        .name = "openai",
        .url = "https://api.openai.com/v1",
        .path = "/responses",
        .needs_key = true,
        .lowest = MODE_JSON,
        .absence = ABSENCE_NULL,
        .key_header = "authorization: Bearer ",
        .write = openai_write,
        .read = openai_read,
    },
    {
        .name = "compatible",
        .path = "/chat/completions",
        .ignores_schemas = true,
        .lowest = MODE_PLAIN,
        .absence = ABSENCE_NULL,
        .key_header = "authorization: Bearer ",
        .write = compatible_write,
        .read = compatible_read,
    },
};

const struct provider *provider_find(const char *name)
{
    for (size_t i = 0; i < sizeof(providers) / sizeof(providers[0]); i++)
        if (text_equal(providers[i].name, name))
            return &providers[i];
    return NULL;
}
