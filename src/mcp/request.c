#include "base/text.h"
#include "mcp/core.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static const char *const log_level_names[] = { "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency" };

/* ---- Running and delivering ---- */

void mcp_deliver(struct mcp_request *request)
{
    request->writer->complete(request);
}

static void remove_from_peer(struct mcp_request *request)
{
    if (request->peer != NULL)
        mcp_peer_remove_request(request->peer, request);
}

/* Marks the request as answered. Delivers the answer, unless the thread that holds the request does so. */
static void complete_answer(struct mcp_request *request)
{
    if (!request->deferred) {
        request->answered = true;
        if (request->running)
            mcp_deliver(request);
        return;
    }
    pthread_mutex_t *guard = request->guard;
    pthread_mutex_lock(guard);
    request->answered = true;
    bool deliver = !request->held;
    if (deliver)
        remove_from_peer(request);
    pthread_mutex_unlock(guard);
    if (deliver)
        mcp_deliver(request);
}

void mcp_run(struct mcp_request *request)
{
    const struct mcp_provider *provider = request->server->provider;
    if (!request->deferred) {
        request->running = true;
        if (request->answered)
            mcp_deliver(request);
        else
            provider->start(provider, request);
        return;
    }
    /* Another thread may answer or stop the request before start returns: both wait for the guard. */
    pthread_mutex_t *guard = request->guard;
    pthread_mutex_lock(guard);
    request->running = true;
    request->held = true;
    if (request->peer != NULL)
        mcp_peer_add_request(request->peer, request);
    provider->start(provider, request);
    request->held = false;
    bool deliver = request->answered;
    if (deliver)
        remove_from_peer(request);
    pthread_mutex_unlock(guard);
    if (deliver)
        mcp_deliver(request);
}

bool mcp_restart(struct mcp_request *request, void (*start)(struct mcp_request *request))
{
    pthread_mutex_t *guard = request->guard;
    pthread_mutex_lock(guard);
    bool wanted = !request->stopped;
    bool held_before = request->held;
    request->held = true;
    if (wanted)
        start(request);
    request->held = held_before;
    bool deliver = request->answered && !held_before;
    if (deliver)
        remove_from_peer(request);
    pthread_mutex_unlock(guard);
    if (deliver)
        mcp_deliver(request);
    return wanted;
}

bool mcp_stop_guarded(struct mcp_request *request)
{
    if (request->answered || request->stopped)
        return false;
    const struct mcp_provider *provider = request->server->provider;
    request->stopped = true;
    request->held = true;
    mcp_on_reply *on_reply = request->peer != NULL ? mcp_peer_take_ask(request->peer, request) : NULL;
    if (on_reply != NULL)
        on_reply(request, NULL);
    else if (request->admitted)
        mcp_listen_end(request);
    else if (provider->cancel != NULL)
        provider->cancel(provider, request);
    request->held = false;
    if (request->answered)
        remove_from_peer(request);
    return request->answered;
}

/* ---- Answers ---- */

static void result_begin(struct mcp_request *request, struct json_writer *json, const char *result_type)
{
    rpc_result_open(&request->out, request->id);
    json_writer_init(json, &request->out);
    json_object_begin(json);
    if (request->era == MCP_MODERN) {
        json_member_text(json, "resultType", result_type);
        json_member_raw(json, "_meta", request->server->meta_json);
    }
}

void mcp_result_begin(struct mcp_request *request, struct json_writer *json)
{
    result_begin(request, json, "complete");
}

void mcp_input_required_begin(struct mcp_request *request, struct json_writer *json)
{
    result_begin(request, json, "input_required");
}

void mcp_result_cacheable(const struct mcp_request *request, struct json_writer *json, int64_t ttl_ms)
{
    if (request->era != MCP_MODERN)
        return;
    json_member_int(json, "ttlMs", ttl_ms);
    json_member_text(json, "cacheScope", "private");
}

void mcp_result_end(struct mcp_request *request, struct json_writer *json)
{
    json_object_end(json);
    buf_add_char(&request->out, '}');
    if (request->out.overflowed) {
        mcp_refuse(request, RPC_INTERNAL_ERROR, NULL, "The response is too large.");
        return;
    }
    complete_answer(request);
}

void mcp_answer_raw(struct mcp_request *request, const char *result_json)
{
    rpc_result_open(&request->out, request->id);
    buf_add_text(&request->out, result_json);
    buf_add_char(&request->out, '}');
    complete_answer(request);
}

void mcp_answer_closed(struct mcp_request *request)
{
    buf_add_char(&request->out, '}');
    complete_answer(request);
}

void mcp_answer_nothing(struct mcp_request *request, int http_status)
{
    request->http_status = http_status;
    complete_answer(request);
}

static int status_of_code(int code)
{
    switch (code) {
    case RPC_PARSE_ERROR:
    case RPC_INVALID_REQUEST:
    case RPC_HEADER_MISMATCH:
    case RPC_CAPABILITY_MISSING:
    case RPC_VERSION_UNSUPPORTED:
        return 400;
    case RPC_SESSION_NOT_FOUND:
        return 404;
    default:
        return 200;
    }
}

static void answer_rpc_error(struct mcp_request *request, int code, const char *data_json, const char *message, int http_status)
{
    buf_clear(&request->out);
    rpc_error(&request->out, request->id, code, message, data_json);
    request->http_status = http_status;
    complete_answer(request);
}

void mcp_refuse(struct mcp_request *request, int code, const char *data_json, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *message = arena_vprintf(request->arena, format, arguments);
    va_end(arguments);
    utf8_drop_malformed(message); /* a name of the client may be cut within a character */
    answer_rpc_error(request, code, data_json, message, status_of_code(code));
}

void mcp_refuse_error(struct mcp_request *request, const struct error *err)
{
    const struct error_info *info = error_info(err->code);
    struct buf *data = buf_in_arena(request->arena, 64 * 1024);
    struct json_writer json;
    json_writer_init(&json, data);
    api_write_error_for(&json, err, info->plain_suggestion);

    int status = info->http_status;
    bool of_http = status == 401 || status == 429 || status == 503;
    request->retry_after_s = err->retry_after_s;
    int code = status == 400 || status == 404 ? RPC_INVALID_PARAMS : RPC_SERVER_ERROR;
    answer_rpc_error(request, code, buf_text(data), err->message, of_http ? status : 200);
}

void mcp_refuse_capability(struct mcp_request *request, const char *capability)
{
    mcp_refuse(request, RPC_CAPABILITY_MISSING, arena_printf(request->arena, "{\"requiredCapabilities\":{\"%s\":{}}}", capability),
               "This request needs the client capability %s.", capability);
}

void mcp_admit(struct mcp_request *request, unsigned visibility)
{
    if (!request->deferred) {
        mcp_serve_admitted(request, visibility);
        return;
    }
    /* A lasting request is opened under the guard, so that a client that disconnects now finds it either absent or complete. */
    pthread_mutex_t *guard = request->guard;
    pthread_mutex_lock(guard);
    bool held_before = request->held;
    request->held = true;
    request->admitted = true;
    if (request->stopped)
        mcp_answer_nothing(request, 200);
    else
        mcp_serve_admitted(request, visibility);
    request->held = held_before;
    bool deliver = request->answered && !held_before;
    if (deliver)
        remove_from_peer(request);
    pthread_mutex_unlock(guard);
    if (deliver)
        mcp_deliver(request);
}

/* ---- While working ---- */

void mcp_progress(struct mcp_request *request, double progress, double total, const char *message)
{
    const json_t *token = json_object_get(request->meta, "progressToken");
    bool wanted = (json_is_string(token) || json_is_integer(token)) && progress > request->last_progress;
    if (!wanted || request->id == NULL)
        return;
    request->last_progress = progress;

    BUF_SCOPE out;
    buf_init(&out, 64 * 1024);
    struct json_writer json;
    buf_add_text(&out, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":");
    json_writer_init(&json, &out);
    json_object_begin(&json);
    json_key(&json, "progressToken");
    json.after_key = false;
    rpc_write_id(&out, token);
    json_key(&json, "progress");
    json_number(&json, progress);
    if (total > 0) {
        json_key(&json, "total");
        json_number(&json, total);
    }
    json_member_text_if(&json, "message", message);
    json_object_end(&json);
    buf_add_char(&out, '}');
    if (!out.overflowed)
        request->writer->send(request, out.data, out.size);
}

static enum mcp_log_level wanted_level(const struct mcp_request *request)
{
    if (request->era == MCP_LEGACY)
        return request->peer != NULL ? (enum mcp_log_level)atomic_load(&request->peer->log_level) : MCP_LOG_OFF;
    const char *name = json_string_value(json_object_get(request->meta, "io.modelcontextprotocol/logLevel"));
    enum mcp_log_level level = MCP_LOG_OFF;
    if (name != NULL && mcp_log_level_read(name, &level))
        return level;
    return MCP_LOG_OFF;
}

bool mcp_log_level_read(const char *name, enum mcp_log_level *ret_level)
{
    for (size_t i = 0; i < ARRAY_COUNT(log_level_names); i++) {
        if (strcmp(log_level_names[i], name) == 0) {
            *ret_level = (enum mcp_log_level)i;
            return true;
        }
    }
    return false;
}

void mcp_log(struct mcp_request *request, enum mcp_log_level level, const char *data_json)
{
    if (level >= MCP_LOG_OFF || level < wanted_level(request))
        return;
    BUF_SCOPE out;
    buf_init(&out, 64 * 1024);
    buf_printf(&out, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"%s\",\"data\":",
               log_level_names[level]);
    buf_add_text(&out, data_json);
    buf_add_text(&out, "}}");
    if (!out.overflowed)
        request->writer->send(request, out.data, out.size);
}

struct mcp_client_capabilities mcp_capabilities_read(const json_t *capabilities)
{
    const json_t *elicitation = json_object_get(capabilities, "elicitation");
    bool lists_no_modes = json_is_object(elicitation) && json_object_size(elicitation) == 0;
    return (struct mcp_client_capabilities){
        .elicitation = json_is_object(elicitation),
        .elicitation_form = lists_no_modes || json_object_get(elicitation, "form") != NULL,
        .roots = json_is_object(json_object_get(capabilities, "roots")),
        .sampling = json_is_object(json_object_get(capabilities, "sampling")),
    };
}

bool mcp_client_can(const struct mcp_request *request, const char *capability)
{
    const struct mcp_client_capabilities *declared = &request->client_capabilities;
    return (declared->elicitation && strcmp(capability, "elicitation") == 0) ||
           (declared->roots && strcmp(capability, "roots") == 0) || (declared->sampling && strcmp(capability, "sampling") == 0);
}

bool mcp_ask(struct mcp_request *request, const char *method, const char *params_json, mcp_on_reply *on_reply)
{
    int64_t id = 0;
    if (request->era != MCP_LEGACY || request->peer == NULL || !request->deferred || request->takes_answer_only)
        return false;
    if (!mcp_peer_ask(request->peer, request, on_reply, &id))
        return false;
    BUF_SCOPE out;
    buf_init(&out, 1024 * 1024);
    /* The id is text, so that a log does not confuse it with a number of the client. */
    buf_printf(&out, "{\"jsonrpc\":\"2.0\",\"id\":\"ask-%lld\",\"method\":\"%s\",\"params\":%s}", (long long)id, method,
               params_json);
    if (out.overflowed)
        return mcp_peer_take_ask(request->peer, request) == NULL;
    request->writer->send(request, out.data, out.size);
    return true;
}

void mcp_hang_up(struct mcp_request *request, int retry_ms)
{
    if (request->writer->hang_up != NULL)
        request->writer->hang_up(request, retry_ms);
}
