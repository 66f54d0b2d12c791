#include "mcp_case.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

enum { WAIT_S = 10, MAX_HELD = 512, MAX_KEPT = 512 };

static pthread_mutex_t case_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t case_changed = PTHREAD_COND_INITIALIZER;

static struct timespec deadline(void)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_sec += WAIT_S;
    return time;
}

/* ---- The provider ---- */

static struct mcp_request *held[MAX_HELD];
static unsigned held_count;
static unsigned cancelled_count;

static void answer_text(struct mcp_request *request, const char *text)
{
    struct json_writer json;
    mcp_result_begin(request, &json);
    json_member_text(&json, "text", text);
    mcp_result_end(request, &json);
}

static const char *tool_name(const struct mcp_request *request)
{
    const char *name = json_string_value(json_object_get(request->params, "name"));
    return name != NULL ? name : "";
}

static void *work_later(void *data)
{
    answer_text(data, "later");
    return NULL;
}

static void *work_progress(void *data)
{
    static const double steps[] = { 1, 1, 0.5, 2, 3.5 };
    struct mcp_request *request = data;
    for (size_t i = 0; i < ARRAY_COUNT(steps); i++)
        mcp_progress(request, steps[i], 4, "step");
    answer_text(request, "progressed");
    return NULL;
}

static void *work_hang_up(void *data)
{
    struct mcp_request *request = data;
    mcp_hang_up(request, 250);
    answer_text(request, "while you were away");
    return NULL;
}

static void on_thread(void *(*work)(void *data), struct mcp_request *request)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, request) != 0)
        abort();
    pthread_detach(thread);
}

static void hold(struct mcp_request *request)
{
    pthread_mutex_lock(&case_lock);
    held[held_count++] = request;
    pthread_cond_broadcast(&case_changed);
    pthread_mutex_unlock(&case_lock);
}

void case_await_held(unsigned count)
{
    struct timespec until = deadline();
    pthread_mutex_lock(&case_lock);
    while (held_count < count && pthread_cond_timedwait(&case_changed, &case_lock, &until) == 0)
        continue;
    pthread_mutex_unlock(&case_lock);
}

void case_let_go(void)
{
    for (;;) {
        pthread_mutex_lock(&case_lock);
        struct mcp_request *request = held_count > 0 ? held[--held_count] : NULL;
        pthread_mutex_unlock(&case_lock);
        if (request == NULL)
            return;
        answer_text(request, "let go");
    }
}

unsigned case_cancelled(void)
{
    pthread_mutex_lock(&case_lock);
    unsigned count = cancelled_count;
    pthread_mutex_unlock(&case_lock);
    return count;
}

static void answer_asked(struct mcp_request *request, const json_t *result)
{
    const char *action = json_string_value(json_object_get(result, "action"));
    answer_text(request, action != NULL ? action : "no answer");
}

static void seal_state(struct mcp_request *request)
{
    bool absent = false;
    const json_t *state = mcp_state_open(request, &absent);
    if (absent) {
        struct json_writer json;
        mcp_input_required_begin(request, &json);
        json_member_text(&json, "requestState", mcp_state_seal(request, "{\"n\":7}"));
        mcp_result_end(request, &json);
    } else if (state == NULL) {
        mcp_refuse(request, RPC_INVALID_PARAMS, NULL, "bad state");
    } else {
        answer_text(request, json_integer_value(json_object_get(state, "n")) == 7 ? "state 7" : "another state");
    }
}

static void run_tool(struct mcp_request *request)
{
    const char *name = tool_name(request);
    const json_t *arguments = json_object_get(request->params, "arguments");
    const char *text = json_string_value(json_object_get(arguments, "text"));
    if (strcmp(name, "echo") == 0)
        answer_text(request, text != NULL ? text : "nothing");
    else if (strcmp(name, "later") == 0)
        on_thread(work_later, request);
    else if (strcmp(name, "progress") == 0)
        on_thread(work_progress, request);
    else if (strcmp(name, "hangup") == 0)
        on_thread(work_hang_up, request);
    else if (strcmp(name, "hold") == 0)
        hold(request);
    else if (strcmp(name, "state") == 0)
        seal_state(request);
    else if (strcmp(name, "announce") == 0) {
        mcp_announce(request->server, MCP_CHANGED_TOOLS, NULL);
        mcp_announce(request->server, MCP_CHANGED_RESOURCE, "case://one");
        answer_text(request, "announced");
    } else if (!mcp_ask(request, "elicitation/create", "{\"message\":\"?\"}", answer_asked))
        answer_text(request, "cannot ask");
}

static bool prepare(const struct mcp_provider *provider, struct mcp_request *request)
{
    (void)provider;
    static const char *const known[] = { "echo", "state", "announce", "later", "progress", "hangup", "hold", "ask" };
    if (request->method != MCP_TOOLS_CALL)
        return true;
    for (size_t i = 0; i < ARRAY_COUNT(known); i++) {
        if (strcmp(known[i], tool_name(request)) == 0)
            return i < 3;
    }
    mcp_refuse(request, RPC_INVALID_PARAMS, NULL, "There is no tool %.64s.", tool_name(request));
    return true;
}

static void start(const struct mcp_provider *provider, struct mcp_request *request)
{
    (void)provider;
    if (request->method == MCP_TOOLS_CALL)
        run_tool(request);
    else if (request->method == MCP_RESOURCES_READ || request->method == MCP_PROMPTS_GET || request->method == MCP_COMPLETE)
        mcp_refuse(request, RPC_INVALID_PARAMS, NULL, "not there");
    else
        mcp_admit(request, 0);
}

static void cancel(const struct mcp_provider *provider, struct mcp_request *request)
{
    (void)provider;
    bool was_held = false;
    pthread_mutex_lock(&case_lock);
    cancelled_count++;
    for (unsigned i = 0; i < held_count && !was_held; i++) {
        was_held = held[i] == request;
        if (was_held)
            held[i] = held[--held_count];
    }
    pthread_mutex_unlock(&case_lock);
    if (was_held)
        answer_text(request, "stopped");
}

static const char *list(const struct mcp_provider *provider, enum mcp_list which, unsigned visibility)
{
    (void)provider;
    (void)visibility;
    static const char *const lists[] = { "[{\"name\":\"echo\",\"inputSchema\":{\"type\":\"object\"}}]",
                                         "[{\"uri\":\"case://one\",\"name\":\"one\"}]", "[]", NULL };
    return lists[which];
}

static bool is_resource(const struct mcp_provider *provider, const char *uri)
{
    (void)provider;
    return strcmp(uri, "case://one") == 0;
}

static const struct mcp_provider case_provider = {
    .name = "case",
    .version = "1.0",
    .instructions = "Only for tests.",
    .features = { .tools_change = true, .resources_subscribe = true, .logging = true },
    .visibility_count = 1,
    .list = list,
    .prepare = prepare,
    .start = start,
    .cancel = cancel,
    .is_resource = is_resource,
};

struct mcp_server *case_server_new(const struct mcp_config *config)
{
    static const struct mcp_config defaults = { 0 };
    pthread_mutex_lock(&case_lock);
    cancelled_count = 0;
    pthread_mutex_unlock(&case_lock);
    return mcp_server_new(&case_provider, config != NULL ? config : &defaults);
}


/* ---- HTTP ---- */

struct case_reply {
    struct mcp_exchange *exchange;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool immediate;
    bool streaming;
    bool finished;
    bool left;
    int status;
    char *session;
    struct buf body;
    struct case_reply *next;
};

static struct case_reply *replies; /* not ended yet */

static void on_open(void *transport, const char *session_id)
{
    struct case_reply *reply = transport;
    pthread_mutex_lock(&reply->lock);
    if (reply->immediate || reply->streaming)
        abort();
    reply->streaming = true;
    if (session_id != NULL)
        reply->session = strdup(session_id);
    pthread_mutex_unlock(&reply->lock);
}

static bool on_bytes(void *transport, const char *bytes, size_t size)
{
    struct case_reply *reply = transport;
    pthread_mutex_lock(&reply->lock);
    if (!reply->streaming || reply->finished || reply->left)
        abort();
    buf_add(&reply->body, bytes, size);
    pthread_cond_broadcast(&reply->changed);
    pthread_mutex_unlock(&reply->lock);
    return true;
}

static void on_finish(void *transport, const struct mcp_answer *answer)
{
    struct case_reply *reply = transport;
    pthread_mutex_lock(&reply->lock);
    if (reply->finished || reply->left)
        abort();
    reply->finished = true;
    reply->status = answer->http_status;
    if (!reply->streaming) {
        buf_add(&reply->body, answer->body, answer->body_size);
        if (answer->session_id != NULL)
            reply->session = strdup(answer->session_id);
    }
    pthread_cond_broadcast(&reply->changed);
    pthread_mutex_unlock(&reply->lock);
}

static const char *find_header(const void *headers, const char *name)
{
    const struct case_request *request = headers;
    for (size_t i = 0; i < CASE_MAX_HEADERS && request->headers[i][0] != NULL; i++) {
        if (strcasecmp(request->headers[i][0], name) == 0)
            return request->headers[i][1];
    }
    return NULL;
}

struct case_reply *case_begin(struct mcp_server *server, const struct case_request *request)
{
    static const struct mcp_sink sink = { .stream_open = on_open, .stream_bytes = on_bytes, .finish = on_finish };
    struct case_reply *reply = calloc(1, sizeof(*reply));
    pthread_mutex_init(&reply->lock, NULL);
    pthread_cond_init(&reply->changed, NULL);
    buf_init(&reply->body, SIZE_MAX);
    pthread_mutex_lock(&case_lock);
    reply->next = replies;
    replies = reply;
    pthread_mutex_unlock(&case_lock);
    /* A copy that ends right behind the body, so that reading past it is seen. */
    size_t size = request->body_size != 0 ? request->body_size : request->body != NULL ? strlen(request->body) : 0;
    char *body = malloc(size + 1);
    if (size > 0)
        memcpy(body, request->body, size);
    struct mcp_http_request http = {
        .method = request->method,
        .body = body,
        .body_size = size,
        .accepts_json = !request->only_stream,
        .accepts_event_stream = !request->only_json,
        .credentials = { .kind = request->secret != NULL ? CREDENTIAL_API_KEY : CREDENTIAL_NONE, .secret = request->secret },
        .header = find_header,
        .headers = request,
    };
    reply->exchange = mcp_exchange_new(server, &http, &sink, reply);
    free(body);
    reply->immediate = mcp_exchange_is_immediate(reply->exchange);
    mcp_exchange_run(reply->exchange);
    if (reply->immediate && !reply->finished)
        abort();
    return reply;
}

int case_status(struct case_reply *reply)
{
    struct timespec until = deadline();
    pthread_mutex_lock(&reply->lock);
    while (!reply->finished && pthread_cond_timedwait(&reply->changed, &reply->lock, &until) == 0)
        continue;
    int status = reply->finished ? reply->status : -1;
    pthread_mutex_unlock(&reply->lock);
    return status;
}

bool case_streamed(struct case_reply *reply, const char *text)
{
    struct timespec until = deadline();
    bool found = false;
    int waited = 0;
    pthread_mutex_lock(&reply->lock);
    while (!found && waited == 0) {
        found = strstr(buf_text(&reply->body), text) != NULL;
        if (!found)
            waited = pthread_cond_timedwait(&reply->changed, &reply->lock, &until);
    }
    pthread_mutex_unlock(&reply->lock);
    return found;
}

const char *case_body(struct case_reply *reply)
{
    return buf_text(&reply->body);
}

bool case_is_stream(struct case_reply *reply)
{
    return reply->streaming;
}

bool case_was_immediate(const struct case_reply *reply)
{
    return reply->immediate;
}

const char *case_session(struct case_reply *reply)
{
    return reply->session;
}

void case_leave(struct case_reply *reply)
{
    if (reply->exchange == NULL)
        return;
    mcp_exchange_release(reply->exchange);
    pthread_mutex_lock(&reply->lock);
    reply->left = true;
    pthread_mutex_unlock(&reply->lock);
    reply->exchange = NULL;
}

void case_end(struct case_reply *reply)
{
    case_leave(reply);
    pthread_mutex_lock(&case_lock);
    struct case_reply **link = &replies;
    while (*link != reply)
        link = &(*link)->next;
    *link = reply->next;
    pthread_mutex_unlock(&case_lock);
    buf_done(&reply->body);
    free(reply->session);
    pthread_mutex_destroy(&reply->lock);
    pthread_cond_destroy(&reply->changed);
    free(reply);
}

/* ---- Whole requests ---- */

static char *kept[MAX_KEPT];
static size_t kept_count;

static const char *keep(const char *text)
{
    if (text == NULL || kept_count == MAX_KEPT)
        abort();
    return kept[kept_count++] = strdup(text);
}

void case_forget(void)
{
    while (kept_count > 0)
        free(kept[--kept_count]);
}

static const char *to_end(struct case_reply *reply, int *ret_status)
{
    int status = case_status(reply);
    if (ret_status != NULL)
        *ret_status = status;
    const char *body = keep(case_body(reply));
    case_end(reply);
    return body;
}

const char *case_post(struct mcp_server *server, const char *session, const char *body, int *ret_status)
{
    struct case_request request = { .body = body };
    if (session != NULL)
        request.headers[0][0] = "Mcp-Session-Id", request.headers[0][1] = session;
    return to_end(case_begin(server, &request), ret_status);
}

const char *case_post_modern(struct mcp_server *server, const char *method, const char *name, const char *params, int *ret_status)
{
    BUF_SCOPE body;
    buf_init(&body, SIZE_MAX);
    buf_printf(&body,
               "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{%s%s\"_meta\":{"
               "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
               method, params, params[0] != '\0' ? "," : "");
    struct case_request request = {
        .body = buf_text(&body),
        .headers = { { "MCP-Protocol-Version", "2026-07-28" }, { "Mcp-Method", method }, { name != NULL ? "Mcp-Name" : NULL, name } },
    };
    return to_end(case_begin(server, &request), ret_status);
}

const char *case_initialize(struct mcp_server *server, const char *version, const char *capabilities)
{
    BUF_SCOPE body;
    buf_init(&body, SIZE_MAX);
    buf_printf(&body,
               "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"%s\",\"capabilities\":%s,"
               "\"clientInfo\":{\"name\":\"case\",\"version\":\"1\"}}}",
               version, capabilities);
    struct case_request request = { .body = buf_text(&body) };
    struct case_reply *reply = case_begin(server, &request);
    const char *session = keep(case_session(reply));
    case_end(reply);
    return session;
}

void case_server_free(struct mcp_server *server)
{
    /* Those of a test that failed half-way: the server would wait for them. */
    while (replies != NULL)
        case_end(replies);
    case_let_go();
    mcp_server_free(server);
    case_forget();
}

/* ---- stdio ---- */

struct case_stdio {
    struct mcp_server *server;
    pthread_t thread;
    int to[2];
    int from[2];
    struct buf in;
    size_t taken;
};

static void *serve(void *data)
{
    struct case_stdio *stdio = data;
    static const struct credentials owner = { .kind = CREDENTIAL_LOCAL_OWNER };
    mcp_stdio_serve(stdio->server, &owner, stdio->to[0], stdio->from[1]);
    close(stdio->from[1]);
    return NULL;
}

struct case_stdio *case_stdio_new(struct mcp_server *server)
{
    struct case_stdio *stdio = calloc(1, sizeof(*stdio));
    stdio->server = server;
    buf_init(&stdio->in, SIZE_MAX);
    if (pipe(stdio->to) != 0 || pipe(stdio->from) != 0 || pthread_create(&stdio->thread, NULL, serve, stdio) != 0)
        abort();
    return stdio;
}

void case_stdio_send(struct case_stdio *stdio, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t written = write(stdio->to[1], bytes, size);
        if (written <= 0)
            return; /* the server has gone */
        bytes += written;
        size -= (size_t)written;
    }
}

void case_stdio_line(struct case_stdio *stdio, const char *line)
{
    case_stdio_send(stdio, line, strlen(line));
    case_stdio_send(stdio, "\n", 1);
}

const char *case_stdio_next(struct case_stdio *stdio)
{
    buf_drop_front(&stdio->in, stdio->taken);
    stdio->taken = 0;
    for (;;) {
        char *end = stdio->in.size > 0 ? memchr(stdio->in.data, '\n', stdio->in.size) : NULL;
        if (end != NULL) {
            *end = '\0';
            stdio->taken = (size_t)(end - stdio->in.data) + 1;
            return stdio->in.data;
        }
        struct pollfd ready = { .fd = stdio->from[0], .events = POLLIN };
        if (poll(&ready, 1, WAIT_S * 1000) != 1)
            return NULL;
        char *room = buf_room(&stdio->in, 65536);
        ssize_t size = read(stdio->from[0], room, 65536);
        if (size <= 0)
            return NULL;
        buf_grown(&stdio->in, (size_t)size);
    }
}

int case_stdio_close(struct case_stdio *stdio)
{
    int64_t begin_us = clock_monotonic_us();
    close(stdio->to[1]);
    stdio->to[1] = -1;
    pthread_join(stdio->thread, NULL);
    return (int)((clock_monotonic_us() - begin_us) / US_PER_MS);
}

void case_stdio_free(struct case_stdio *stdio)
{
    if (stdio->to[1] >= 0)
        case_stdio_close(stdio);
    close(stdio->to[0]);
    close(stdio->from[0]);
    buf_done(&stdio->in);
    free(stdio);
}
