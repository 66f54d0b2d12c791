/*
 * Embedding API (include/posthorn.h): a blocking transport within a C program.
 */
#include "posthorn.h"

#include "api/service.h"
#include "api/tool_call.h"
#include "api/view/tool_view.h"
#include "base/clock.h"
#include "base/json_read.h"
#include "base/panic.h"
#include "base/text.h"
#include "crypto/keys.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { ARGUMENTS_MAX_BYTES = 8 * 1024 * 1024, CLOSE_WAIT_MS = 10000 };

/* A running call, in the list that posthorn_cancel searches. */
struct embedded_call {
    struct embedded_call *next;
    struct posthorn *posthorn;
    struct call *call;
    const struct posthorn_call *request;
    const struct tool *tool; /* NULL: the request names an operation */
    bool completed;
};

struct posthorn {
    struct api *api;
    char *texts[6];
    const char *brand_id; /* the local owner's brand */
    pthread_mutex_t lock;
    pthread_cond_t completion;
    struct embedded_call *calls;
    char name[32];
};

/* No other process has the name, so its connections tell that its callers wait (job_waiters). */
static void name_process(struct posthorn *posthorn)
{
    unsigned char bytes[6];
    char hex[2 * sizeof(bytes) + 1];
    crypto_start();
    random_bytes(bytes, sizeof(bytes));
    hex_encode(bytes, sizeof(bytes), hex);
    snprintf(posthorn->name, sizeof(posthorn->name), "posthorn embedded %s", hex);
}

static const char *keep_option(struct posthorn *posthorn, size_t slot, const char *text)
{
    if (text != NULL && (posthorn->texts[slot] = strdup(text)) == NULL)
        panic(PANIC_NO_MEMORY);
    return posthorn->texts[slot];
}

/* Sets the name of the model that the runner of this process will read from the environment, as it does. NULL: none. */
static const char *keep_engine(struct posthorn *posthorn, size_t slot)
{
    const char *model = getenv("POSTHORN_MODEL");
    const char *name = getenv("POSTHORN_MODEL_NAME");
    if (model != NULL && name != NULL && asprintf(&posthorn->texts[slot], "%s/%s", model, name) < 0)
        panic(PANIC_NO_MEMORY);
    return posthorn->texts[slot];
}

struct posthorn *posthorn_open(const struct posthorn_options *options)
{
    static const char *const default_runner[] = { "posthorn", "runner", NULL };
    if (options == NULL || options->struct_size != sizeof(*options) || options->data_dir == NULL)
        return NULL;
    struct posthorn *posthorn = calloc(1, sizeof(*posthorn));
    if (posthorn == NULL)
        return NULL;
    name_process(posthorn);
    struct api_config config = {
        .installation = {
            .data_dir = keep_option(posthorn, 0, options->data_dir),
            .database_url = keep_option(posthorn, 1, options->database_url),
            .runner_argv = options->runner_argv != NULL ? options->runner_argv : default_runner,
            .application_name = posthorn->name,
            .import_root = keep_option(posthorn, 3, options->import_root),
            .public_url = keep_option(posthorn, 4, options->public_url),
            .design_engine = keep_engine(posthorn, 5),
            .has_embeddings = getenv("POSTHORN_EMBEDDINGS") != NULL, /* as the runner reads it */
        },
        .job_deadline_ms = options->job_wait_ms,
    };
    posthorn->brand_id = keep_option(posthorn, 2, options->brand_id);
    pthread_mutex_init(&posthorn->lock, NULL);
    pthread_cond_init(&posthorn->completion, NULL);
    posthorn->api = api_new(&config);
    return posthorn;
}

/* Waits a while for running calls, then cancels them. Afterwards no thread uses the struct. */
static void drain_calls(struct posthorn *posthorn)
{
    struct timespec until = clock_deadline(CLOSE_WAIT_MS);
    pthread_mutex_lock(&posthorn->lock);
    int waited = 0;
    while (waited == 0 && posthorn->calls != NULL)
        waited = pthread_cond_clockwait(&posthorn->completion, &posthorn->lock, CLOCK_MONOTONIC, &until);
    for (const struct embedded_call *embedded = posthorn->calls; embedded != NULL; embedded = embedded->next)
        if (!embedded->completed)
            api_stop(posthorn->api, embedded->call);
    while (posthorn->calls != NULL)
        pthread_cond_wait(&posthorn->completion, &posthorn->lock);
    pthread_mutex_unlock(&posthorn->lock);
}

void posthorn_close(struct posthorn *posthorn)
{
    if (posthorn == NULL)
        return;
    drain_calls(posthorn);
    api_free(posthorn->api, 0);
    for (size_t i = 0; i < ARRAY_COUNT(posthorn->texts); i++)
        free(posthorn->texts[i]);
    pthread_cond_destroy(&posthorn->completion);
    pthread_mutex_destroy(&posthorn->lock);
    free(posthorn);
}

/* ---- Replies: one allocation each, so that one free() releases them ---- */

static struct posthorn_reply *reply_new(const char *body, size_t size)
{
    struct posthorn_reply *reply = calloc(1, sizeof(*reply) + size + 1);
    if (reply == NULL)
        panic(PANIC_NO_MEMORY);
    char *copy = (char *)(reply + 1);
    memcpy(copy, body, size);
    reply->body = copy;
    reply->body_bytes = size;
    reply->credits = -1;
    return reply;
}

void posthorn_reply_free(struct posthorn_reply *reply)
{
    free(reply);
}

static struct posthorn_reply *error_reply(const struct error *err, const char *suggestion)
{
    const struct error_info *info = error_info(err->code);
    BUF_SCOPE out;
    buf_init(&out, SIZE_MAX); /* the parts of an error have bounds */
    struct json_writer json;
    json_writer_init(&json, &out);
    api_write_error_for(&json, err, suggestion);
    struct posthorn_reply *reply = reply_new(buf_text(&out), out.size);
    reply->status = info->http_status;
    return reply;
}

/* A caller who has named a tool gets the suggestion that names tools. */
static struct posthorn_reply *refusal_reply(const struct call *call, const struct error *err, const struct tool *tool)
{
    return error_reply(err, tool != NULL ? api_tool_suggestion(call->arena, err, NULL, NULL) : error_info(err->code)->suggestion);
}

static struct posthorn_reply *reply_of(const struct call *call, const struct tool *tool)
{
    struct error err = { .code = ERR_NONE };
    const struct buf *body = call->reply.body;
    if (!call->ok)
        return refusal_reply(call, &call->error, tool);
    if (tool != NULL && !tool_view_body(tool, call, SIZE_MAX, &body, &err))
        return refusal_reply(call, &err, tool);
    struct posthorn_reply *reply = reply_new(buf_text(body), body->size);
    reply->status = call->reply.status;
    reply->ok = 1;
    reply->replayed = call->replayed;
    reply->credits = call->credit_cost;
    return reply;
}

/* ---- Calls ---- */

static void on_call_completed(struct call *call)
{
    struct embedded_call *embedded = call->transport_data;
    struct posthorn *posthorn = embedded->posthorn;
    pthread_mutex_lock(&posthorn->lock);
    embedded->completed = true;
    pthread_cond_broadcast(&posthorn->completion);
    pthread_mutex_unlock(&posthorn->lock);
}

static void on_call_progress(struct call *call, double progress, double total, const char *message)
{
    const struct embedded_call *embedded = call->transport_data;
    embedded->request->progress(embedded->request->context, progress, total, message);
}

static bool prepare_embedded_call(struct embedded_call *embedded, const struct posthorn_call *request, struct error *err)
{
    struct call *call = embedded->call;
    embedded->tool = tool_find(request->name);
    const json_t *arguments = NULL;
    struct json_bounds bounds = { .max_bytes = ARGUMENTS_MAX_BYTES, .max_tree_bytes = JSON_CALLER_TREE_MAX_BYTES };
    if (request->arguments != NULL &&
        !json_read(call->arena, request->arguments, strlen(request->arguments), bounds, &arguments, err))
        return false;
    if (embedded->tool != NULL) {
        tool_prepare(embedded->tool, json_for_iteration(arguments), call);
    } else {
        call->candidates = operation_candidates(call->arena, request->name);
        call->input = (struct call_input){ .flat = true, .body = arguments };
    }
    if (call->candidates == NULL)
        return fail(err, ERR_NOT_FOUND, "name", "There is no operation or tool named %.80s.", request->name);
    if (request->wait_s > 0 && call->candidates[0]->waits)
        call->wait_s = request->wait_s;
    if (request->idempotency_key != NULL)
        call->idempotency_key = request->idempotency_key;
    return true;
}

static void run_call(struct posthorn *posthorn, struct embedded_call *embedded)
{
    /* The call is begun before it is in the list, so that it can be cancelled from then on. */
    bool immediate = api_is_immediate(posthorn->api, embedded->call);
    (void)immediate;
    pthread_mutex_lock(&posthorn->lock);
    embedded->next = posthorn->calls;
    posthorn->calls = embedded;
    pthread_mutex_unlock(&posthorn->lock);

    api_submit(posthorn->api, embedded->call);

    pthread_mutex_lock(&posthorn->lock);
    while (!embedded->completed)
        pthread_cond_wait(&posthorn->completion, &posthorn->lock);
    struct embedded_call **link = &posthorn->calls;
    while (*link != embedded)
        link = &(*link)->next;
    *link = embedded->next;
    pthread_cond_broadcast(&posthorn->completion);
    pthread_mutex_unlock(&posthorn->lock);
}

/* The brand of the options applies to the local owner. An API key has its own brand. */
static struct credentials credentials_of(const struct posthorn *posthorn, const struct posthorn_call *request)
{
    bool is_owner = request->api_key == NULL;
    return (struct credentials){
        .kind = is_owner ? CREDENTIAL_LOCAL_OWNER : CREDENTIAL_API_KEY,
        .secret = request->api_key,
        .brand = request->brand_id == NULL && is_owner ? posthorn->brand_id : request->brand_id,
    };
}

struct posthorn_reply *posthorn_call(struct posthorn *posthorn, const struct posthorn_call *request)
{
    struct error err = { .code = ERR_NONE };
    if (request == NULL || request->struct_size != sizeof(*request) || request->name == NULL) {
        fail(&err, ERR_INVALID_REQUEST, "name", "name must name an operation or a tool.");
        return error_reply(&err, error_info(err.code)->suggestion);
    }
    ARENA_SCOPE arena = arena_new(0);
    struct call *call = arena_alloc(arena, sizeof(*call));
    struct embedded_call embedded = { .posthorn = posthorn, .call = call, .request = request };
    *call = (struct call){
        .arena = arena,
        .transport = TRANSPORT_EMBEDDED,
        .credentials = credentials_of(posthorn, request),
        .request_id = api_request_id(arena),
        .on_completed = on_call_completed,
        .on_progress = request->progress != NULL ? on_call_progress : NULL,
        .transport_data = &embedded,
    };
    if (!prepare_embedded_call(&embedded, request, &err))
        return refusal_reply(call, &err, embedded.tool);
    run_call(posthorn, &embedded);
    return reply_of(call, embedded.tool);
}

void posthorn_cancel(struct posthorn *posthorn, const char *token)
{
    if (posthorn == NULL || token == NULL)
        return;
    pthread_mutex_lock(&posthorn->lock);
    for (struct embedded_call *embedded = posthorn->calls; embedded != NULL; embedded = embedded->next) {
        const char *own = embedded->request->token;
        if (!embedded->completed && own != NULL && strcmp(own, token) == 0)
            api_cancel(posthorn->api, embedded->call);
    }
    pthread_mutex_unlock(&posthorn->lock);
}
