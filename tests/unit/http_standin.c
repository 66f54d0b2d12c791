#include "http_standin.h"

#include "base/json_write.h"
#include "mcp/server.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WORKERS = 4, QUEUE_MAX = 4096, LATER_MS = 20, STREAM_EVENTS = 3, BIG_BYTES = 64 * 1024 };

static atomic_uint calls;
static atomic_uint cancelled;
static atomic_uint released_early;
static atomic_uint alive;

unsigned standin_calls(void)
{
    return calls;
}
unsigned standin_cancelled(void)
{
    return cancelled;
}
unsigned standin_mcp_released_early(void)
{
    return released_early;
}
unsigned standin_mcp_alive(void)
{
    return alive;
}

static void pause_ms(long ms)
{
    const struct timespec pause = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
    nanosleep(&pause, NULL);
}

/* ---- Workers ---- */

struct task {
    void (*run)(void *argument);
    void *argument;
};

struct workers {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct task queue[QUEUE_MAX];
    size_t first;
    size_t count;
    bool stopping;
    pthread_t threads[WORKERS];
};

static void *work(void *argument)
{
    struct workers *workers = argument;
    pthread_mutex_lock(&workers->lock);
    for (;;) {
        while (workers->count == 0 && !workers->stopping)
            pthread_cond_wait(&workers->wake, &workers->lock);
        if (workers->count == 0)
            break;
        struct task task = workers->queue[workers->first];
        workers->first = (workers->first + 1) % QUEUE_MAX;
        workers->count--;
        pthread_mutex_unlock(&workers->lock);
        task.run(task.argument);
        pthread_mutex_lock(&workers->lock);
    }
    pthread_mutex_unlock(&workers->lock);
    return NULL;
}

static void workers_init(struct workers *workers)
{
    pthread_mutex_init(&workers->lock, NULL);
    pthread_cond_init(&workers->wake, NULL);
    for (size_t i = 0; i < WORKERS; i++) {
        if (pthread_create(&workers->threads[i], NULL, work, workers) != 0)
            abort();
    }
}

static void workers_add(struct workers *workers, void (*run)(void *argument), void *argument)
{
    pthread_mutex_lock(&workers->lock);
    if (workers->count == QUEUE_MAX)
        abort();
    workers->queue[(workers->first + workers->count++) % QUEUE_MAX] = (struct task){ run, argument };
    pthread_cond_signal(&workers->wake);
    pthread_mutex_unlock(&workers->lock);
}

static void workers_done(struct workers *workers)
{
    pthread_mutex_lock(&workers->lock);
    workers->stopping = true;
    pthread_cond_broadcast(&workers->wake);
    pthread_mutex_unlock(&workers->lock);
    for (size_t i = 0; i < WORKERS; i++)
        pthread_join(workers->threads[i], NULL);
    pthread_cond_destroy(&workers->wake);
    pthread_mutex_destroy(&workers->lock);
}

/* ---- The catalogue: one operation a behaviour ---- */

static const struct operation op_now = { .id = "now", .mode = OP_MEMORY, .status = 200 };
static const struct operation op_later = { .id = "later", .mode = OP_READ, .status = 201, .max_body_bytes = 1024 * 1024 };
static const struct operation op_wait = { .id = "wait", .mode = OP_READ, .status = 200 };
static const struct operation op_stuck = { .id = "stuck", .mode = OP_READ, .status = 200 };
static const struct operation op_refuse = { .id = "refuse", .mode = OP_READ, .status = 200 };
static const struct operation op_big = { .id = "big", .mode = OP_READ, .status = 200 };

static const struct operation *const now_candidates[] = { &op_now, NULL };
static const struct operation *const later_candidates[] = { &op_later, NULL };
static const struct operation *const wait_candidates[] = { &op_wait, NULL };
static const struct operation *const stuck_candidates[] = { &op_stuck, NULL };
static const struct operation *const refuse_candidates[] = { &op_refuse, NULL };
static const struct operation *const big_candidates[] = { &op_big, NULL };

const struct operation *const api_signed_download[] = { &op_now, NULL };
const struct operation *const api_subscription[] = { &op_now, NULL };
const struct operation *const api_unsubscribe[] = { &op_later, NULL };

const struct route routes[] = {
    { "GET", "/v1/things", now_candidates },
    { "POST", "/v1/things", later_candidates },
    { "GET", "/v1/things/{thingId}", now_candidates },
    { "PATCH", "/v1/things/{thingId}", now_candidates },
    { "GET", "/v1/things/runs", now_candidates },
    { "GET", "/v1/things/runs/{runId}", now_candidates },
    { "POST", "/v1/things/{thingId}/fire", later_candidates },
    { "POST", "/v1/wait", wait_candidates },
    { "POST", "/v1/stuck", stuck_candidates },
    { "POST", "/v1/refuse", refuse_candidates },
    { "GET", "/v1/big", big_candidates },
};
const size_t route_count = sizeof(routes) / sizeof(routes[0]);
const char catalogue_openapi_json[] = "{\"openapi\":\"3.1.0\"}";

/* ---- The api ---- */

struct call_state {
    atomic_bool cancelled;
};

struct api {
    struct workers workers;
    atomic_bool releasing;
};

static struct api *the_api; /* for the workers; one at a time */

struct api *standin_api_new(void)
{
    struct api *api = calloc(1, sizeof(*api));
    if (api == NULL)
        abort();
    workers_init(&api->workers);
    the_api = api;
    return api;
}

void standin_api_free(struct api *api)
{
    api->releasing = true;
    workers_done(&api->workers);
    free(api);
}

static void write_pairs(struct json_writer *json, const char *name, struct name_value_list pairs)
{
    json_key(json, name);
    json_object_begin(json);
    for (size_t i = 0; i < pairs.count; i++)
        json_member_text(json, pairs.items[i].name, pairs.items[i].value);
    json_object_end(json);
}

/* What the door understood, as the answer. */
static void echo(struct call *call)
{
    call->reply.status = call->candidates[0]->status;
    call->reply.body = buf_in_arena(call->arena, 1024 * 1024);
    json_writer_init(&call->reply.json, call->reply.body);
    struct json_writer *json = &call->reply.json;
    json_object_begin(json);
    json_member_text(json, "op", call->candidates[0]->id);
    json_member_int(json, "kind", (int64_t)call->credentials.kind);
    json_member_text(json, "secret", call->credentials.secret);
    json_member_text(json, "brand", call->credentials.brand);
    json_member_text(json, "key", call->idempotency_key);
    json_member_text(json, "client", call->client);
    write_pairs(json, "path", call->input.path);
    write_pairs(json, "query", call->input.query);
    json_key(json, "body");
    json_bool(json, call->input.body != NULL);
    json_object_end(json);
    call->ok = true;
    call->credit_cost = 7;
    call->rate = (struct rate_state){ .limit = 60, .remaining = 59, .reset_s = 1800000000 };
}

static void finish(struct call *call)
{
    if (call->input.refusal.code != ERR_NONE)
        call->error = call->input.refusal;
    else
        echo(call);
    call->done(call);
}

static void refuse(struct call *call, enum error_code code, int64_t retry_after_s)
{
    fail(&call->error, code, NULL, "Refused by the stand-in.");
    call->error.retry_after_s = retry_after_s;
    call->done(call);
}

static void run_call(void *argument)
{
    struct call *call = argument;
    const char *id = call->candidates[0]->id;
    if (strcmp(id, "refuse") == 0) {
        refuse(call, ERR_RATE_LIMITED, 17);
        return;
    }
    if (strcmp(id, "big") == 0) {
        echo(call);
        call->reply.body = buf_in_arena(call->arena, SIZE_MAX);
        for (size_t i = 0; i < BIG_BYTES; i++)
            buf_add(call->reply.body, "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", 64);
        call->done(call);
        return;
    }
    if (strcmp(id, "later") == 0) {
        pause_ms(LATER_MS);
        finish(call);
        return;
    }
    bool stuck = strcmp(id, "stuck") == 0;
    for (;;) {
        pause_ms(2);
        if (stuck ? the_api->releasing : call->state->cancelled)
            break;
    }
    refuse(call, ERR_INTERNAL_ERROR, 0);
}

bool api_is_immediate(struct api *api, struct call *call)
{
    (void)api;
    return call->candidates[0]->mode == OP_MEMORY;
}

void api_submit(struct api *api, struct call *call)
{
    calls++;
    if (call->candidates[0]->mode == OP_MEMORY) {
        finish(call);
        return;
    }
    call->state = arena_alloc(call->arena, sizeof(*call->state));
    workers_add(&api->workers, run_call, call);
}

void api_cancel(struct api *api, struct call *call)
{
    (void)api;
    cancelled++;
    call->state->cancelled = true;
}

void api_write_error(struct json_writer *json, const struct error *err)
{
    json_object_begin(json);
    json_key(json, "error");
    json_object_begin(json);
    json_member_text(json, "code", error_info(err->code)->name);
    json_member_text(json, "message", err->message);
    json_member_text_if(json, "param", err->param[0] != '\0' ? err->param : NULL);
    json_object_end(json);
    json_object_end(json);
}

char *api_request_id(struct arena *arena)
{
    static atomic_uint counter;
    return arena_printf(arena, "req_%032x", counter++);
}

/* ---- The MCP server: the message is the name of a behaviour ---- */

struct mcp_server {
    struct workers workers;
    atomic_bool stopping;
};

struct mcp_exchange {
    struct mcp_server *server;
    const struct mcp_sink *sink;
    void *transport;
    char what[32];
    bool with_header;
    atomic_int refs;
    pthread_mutex_t lock; /* held while a sink function runs */
    bool released;
    bool finished;
};

struct mcp_server *standin_mcp_new(void)
{
    struct mcp_server *server = calloc(1, sizeof(*server));
    if (server == NULL)
        abort();
    workers_init(&server->workers);
    return server;
}

void standin_mcp_free(struct mcp_server *server)
{
    server->stopping = true;
    workers_done(&server->workers);
    free(server);
}

void mcp_server_stop(struct mcp_server *server)
{
    server->stopping = true;
}

void mcp_server_tick(struct mcp_server *server)
{
    (void)server;
}

size_t mcp_server_message_max_bytes(const struct mcp_server *server)
{
    (void)server;
    return 100 * 1024;
}

struct mcp_exchange *mcp_exchange_new(struct mcp_server *server, const struct mcp_http_request *request,
                                      const struct mcp_sink *mcp_sink, void *transport)
{
    struct mcp_exchange *exchange = calloc(1, sizeof(*exchange));
    if (exchange == NULL)
        abort();
    alive++;
    exchange->server = server;
    exchange->sink = mcp_sink;
    exchange->transport = transport;
    exchange->refs = 1;
    pthread_mutex_init(&exchange->lock, NULL);
    snprintf(exchange->what, sizeof(exchange->what), "%s",
             request->method == MCP_HTTP_GET      ? "listen"
             : request->method == MCP_HTTP_DELETE ? "delete"
                                                  : request->body);
    const char *session = request->header(request->headers, "Mcp-Session-Id");
    const char *parameter = request->header(request->headers, "Mcp-Param-Region");
    exchange->with_header = session != NULL && parameter != NULL;
    return exchange;
}

static void unref(struct mcp_exchange *exchange)
{
    if (--exchange->refs > 0)
        return;
    pthread_mutex_destroy(&exchange->lock);
    alive--;
    free(exchange);
}

static void finish_with(struct mcp_exchange *exchange, const struct mcp_answer *answer)
{
    pthread_mutex_lock(&exchange->lock);
    if (!exchange->released) {
        exchange->finished = true;
        exchange->sink->finish(exchange->transport, answer);
    }
    pthread_mutex_unlock(&exchange->lock);
}

bool mcp_exchange_is_immediate(const struct mcp_exchange *exchange)
{
    return strcmp(exchange->what, "now") == 0 || strcmp(exchange->what, "delete") == 0;
}

static void run_exchange(void *argument)
{
    struct mcp_exchange *exchange = argument;
    const struct mcp_answer done = { .http_status = 200, .body = "{\"later\":true}", .body_size = 14 };
    if (strcmp(exchange->what, "wait") == 0 || strcmp(exchange->what, "listen") == 0) {
        if (strcmp(exchange->what, "listen") == 0)
            exchange->sink->stream_open(exchange->transport, NULL);
        bool over = false;
        while (!over && !exchange->server->stopping) {
            pause_ms(2);
            pthread_mutex_lock(&exchange->lock);
            over = exchange->released;
            pthread_mutex_unlock(&exchange->lock);
        }
    } else if (strcmp(exchange->what, "stream") == 0) {
        exchange->sink->stream_open(exchange->transport, "session-1");
        for (int i = 0; i < STREAM_EVENTS; i++) {
            pause_ms(5);
            exchange->sink->stream_bytes(exchange->transport, "data: {}\n\n", 10);
        }
    } else {
        pause_ms(LATER_MS);
    }
    finish_with(exchange, &done);
    unref(exchange);
}

void mcp_exchange_run(struct mcp_exchange *exchange)
{
    if (mcp_exchange_is_immediate(exchange)) {
        static const char body[] = "{\"now\":true}";
        const struct mcp_answer answer = {
            .http_status = exchange->with_header ? 401 : 200,
            .body = body,
            .body_size = sizeof(body) - 1,
            .session_id = "session-1",
        };
        finish_with(exchange, &answer);
        return;
    }
    exchange->refs++;
    workers_add(&exchange->server->workers, run_exchange, exchange);
}

void mcp_exchange_release(struct mcp_exchange *exchange)
{
    pthread_mutex_lock(&exchange->lock);
    exchange->released = true;
    if (!exchange->finished)
        released_early++;
    pthread_mutex_unlock(&exchange->lock);
    unref(exchange);
}

void mcp_write_refusal(struct buf *out, int rpc_code, const char *message)
{
    buf_printf(out, "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":%d,\"message\":\"%s\"}}", rpc_code, message);
}
