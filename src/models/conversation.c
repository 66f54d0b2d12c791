#include "models/conversation.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/json_read.h"
#include "base/text.h"
#include "models/answer_json.h"
#include "models/endpoint.h"
#include "models/prompts.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum {
    HEADERS_MAX = 3,
    QUOTED_ANSWER_MAX_BYTES = 128 * 1024, /* of an answer that goes back with its errors */
    ERROR_TYPE_MAX_CHARS = 60,
};

struct holding {
    const struct conversation *conversation;
    struct arena *arena;
    struct model_request request;
    int64_t until_us;
    bool has_repaired;
};

/* ---- Requests ---- */

/* A provider that heeds the schema does not get it twice. */
static bool shows_schema(const struct holding *holding)
{
    return holding->request.mode != MODE_SCHEMA || holding->request.model->provider->ignores_schemas;
}

static void set_mode(struct holding *holding, enum answer_mode mode)
{
    const struct conversation *conversation = holding->conversation;
    holding->request.mode = mode;
    holding->request.system = conversation->rules(holding->arena, shows_schema(holding) ? conversation->schema : NULL);
}

static bool write_request(struct holding *holding, const char **ret_body, struct error *err)
{
    struct buf *body = buf_in_arena(holding->arena, MODEL_REQUEST_MAX_BYTES);
    struct json_writer json;
    json_writer_init(&json, body);
    holding->request.model->provider->write(&holding->request, &json);
    *ret_body = buf_text(body);
    return !body->overflowed ||
           fail(err, ERR_EMAIL_GENERATION_FAILED, NULL, "The design and its material are too large for a request to the model.");
}

static bool post(struct holding *holding, struct endpoint_answer *ret_answer, struct error *err)
{
    const struct model *model = holding->request.model;
    const char *headers[HEADERS_MAX + 1] = { NULL };
    size_t count = 0;
    const char *body;
    struct error trouble = { .code = ERR_NONE };
    if (model->key_header != NULL)
        headers[count++] = model->key_header;
    if (model->provider->version != NULL)
        headers[count++] = model->provider->version;
    if (!write_request(holding, &body, err))
        return false;
    struct endpoint_request request = { .url = model->url, .headers = headers, .body = body, .until_us = holding->until_us };
    holding->conversation->usage->requests++;
    if (endpoint_post(holding->arena, &request, ret_answer, &trouble))
        return true;
    return fail(err, ERR_EMAIL_GENERATION_FAILED, NULL, "%s", trouble.message);
}

/* ---- Refused requests ---- */

/* The type or the code of an error, without the words that may repeat the prompt. */
static const char *error_type(struct arena *arena, const json_t *json)
{
    const json_t *error = json_object_get(json, "error");
    const char *type = json_get_text(error, "type");
    if (type == NULL)
        type = json_get_text(error, "code");
    size_t size = type != NULL ? strspn(type, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") : 0;
    if (size == 0 || size > ERROR_TYPE_MAX_CHARS || type[size] != '\0')
        return "";
    return arena_printf(arena, " (%s)", type);
}

static bool names_any(const char *text, const char *const *words)
{
    for (; *words != NULL; words++)
        if (strstr(text, *words) != NULL)
            return true;
    return false;
}

/* Whether the request was refused because of its schema or mode. Servers say so in many words, with 400 or 422. */
static bool complains_of_mode(struct arena *arena, const struct endpoint_answer *answer)
{
    static const char *const words[] = { "schema",      "format",     "output_config", "grammar", "structured",
                                         "json_object", "additional", "union",         "strict",  NULL };
    if ((answer->status != 400 && answer->status != 422) || answer->json == NULL)
        return false;
    char *text = text_lower(arena, json_compact(arena, answer->json));
    return names_any(text, words);
}

static bool refuse_status(struct holding *holding, const struct endpoint_answer *answer, struct error *err)
{
    const char *type = error_type(holding->arena, answer->json);
    const char *hint = answer->status == 401 || answer->status == 403 ? " The operator must check its key."
                       : answer->status == 404                        ? " The operator must check its address and name."
                                                                      : "";
    return fail(err, ERR_EMAIL_GENERATION_FAILED, NULL, "The model answered %d%s.%s", answer->status, type, hint);
}

/* ---- Answers ---- */

static void add_tokens(struct opt_int *sum, struct opt_int count)
{
    if (!count.set)
        return;
    sum->set = true;
    sum->value += count.value;
}

/* Why the answer cannot be used, for the model; NULL: it was taken. False: nothing can be mended. */
static bool take_answer(struct holding *holding, const struct model_answer *answer, const char **ret_problem, struct error *err)
{
    const struct conversation *conversation = holding->conversation;
    struct error why = { .code = ERR_NONE };
    *ret_problem = "The answer was cut off at the limit of tokens. Be shorter.";
    if (answer->end == ANSWER_REFUSED)
        return fail(err, ERR_EMAIL_GENERATION_FAILED, NULL, "The model declined the request.");
    if (answer->end == ANSWER_EMPTY)
        return fail(err, ERR_EMAIL_GENERATION_FAILED, NULL, "The model gave an answer without a text.");
    if (answer->end == ANSWER_CUT)
        return true;
    const json_t *object = answer_find_object(holding->arena, answer->text, ret_problem);
    if (object == NULL)
        return true;
    *ret_problem = NULL;
    const json_t *given = object;
    if (conversation->take(conversation->context, given, &why))
        return true;
    /* A failure with this code is final: the model said that it cannot do it. */
    if (why.code == ERR_EMAIL_GENERATION_FAILED) {
        *err = why;
        return false;
    }
    *ret_problem = arena_printf(holding->arena, "%s%s%s%s%s", why.param, why.param[0] != '\0' ? ": " : "", why.message,
                                why.suggestion[0] != '\0' ? " " : "", why.suggestion);
    return true;
}

/* Adds the answer and its problem as turns. False: there was a repair turn already. */
static bool ask_for_repair(struct holding *holding, const struct model_answer *answer, const char *problem, struct error *err)
{
    struct model_request *request = &holding->request;
    if (holding->has_repaired)
        return fail(err, ERR_EMAIL_GENERATION_FAILED, NULL, "The model gave no valid answer. %.300s", problem);
    holding->has_repaired = true;
    size_t size = answer->text != NULL ? strlen(answer->text) : 0;
    const char *quoted = size > 0 && size <= QUOTED_ANSWER_MAX_BYTES ? answer->text : "{}";
    request->turns[request->turn_count++] = (struct turn){ .is_model = true, .text = quoted };
    request->turns[request->turn_count++] = (struct turn){
        .text = prompt_repair(holding->arena, problem, shows_schema(holding) ? NULL : holding->conversation->schema),
    };
    return true;
}

/* One request; `*ret_is_done` is set when its answer was taken. */
static bool hold_turn(struct holding *holding, bool *ret_is_done, struct error *err)
{
    struct endpoint_answer answer;
    struct model_answer read = { .end = ANSWER_WHOLE };
    const char *problem;
    const struct provider *provider = holding->request.model->provider;
    if (!post(holding, &answer, err))
        return false;
    if (complains_of_mode(holding->arena, &answer) && holding->request.mode < provider->lowest) {
        set_mode(holding, holding->request.mode + 1);
        return true;
    }
    if (answer.status >= 300 || (answer.json != NULL && json_is_object(json_object_get(answer.json, "error"))))
        return refuse_status(holding, &answer, err);
    if (answer.json == NULL)
        return fail(err, ERR_EMAIL_GENERATION_FAILED, NULL, "The server of the model answered with something else than JSON.");
    provider->read(holding->arena, answer.json, &read);
    add_tokens(&holding->conversation->usage->tokens_in, read.tokens_in);
    add_tokens(&holding->conversation->usage->tokens_out, read.tokens_out);
    if (!take_answer(holding, &read, &problem, err))
        return false;
    *ret_is_done = problem == NULL;
    return *ret_is_done || ask_for_repair(holding, &read, problem, err);
}

bool conversation_hold(struct arena *arena, const struct conversation *conversation, struct error *err)
{
    struct holding holding = {
        .conversation = conversation,
        .arena = arena,
        .request = { .model = conversation->model, .schema_name = conversation->schema_name, .schema = conversation->schema },
        .until_us = clock_monotonic_us() + conversation->model->total_ms * US_PER_MS,
    };
    bool is_done = false;
    *conversation->usage = (struct model_usage){ .requests = 0 };
    holding.request.turns[holding.request.turn_count++] = (struct turn){ .text = conversation->prompt };
    set_mode(&holding, MODE_SCHEMA);
    /* Each turn lowers the mode, repairs or ends, so there are few. */
    while (!is_done)
        if (!hold_turn(&holding, &is_done, err))
            return false;
    return true;
}
