/*
 * Completion: the last step of a call. It records the outcome, updates the
 * counters, writes the log line and hands the reply to the transport.
 */
#include "api/dispatch/dispatch.h"
#include "base/clock.h"
#include "base/log.h"

static const char *const transport_names[] = {
    [TRANSPORT_STDIO] = "stdio",      [TRANSPORT_MCP_HTTP] = "mcp",      [TRANSPORT_REST] = "rest",
    [TRANSPORT_COMMAND_LINE] = "cli", [TRANSPORT_EMBEDDED] = "embedded", [TRANSPORT_MAIL] = "mail",
};

const char *dispatch_transport_name(enum transport transport)
{
    return transport_names[transport];
}

/* True when the call ended because its caller cancelled it, which is no fault. */
static bool was_cancelled(const struct call *call, bool by_caller)
{
    return by_caller && !call->ok && call->error.code == ERR_SERVICE_UNAVAILABLE;
}

static void log_call(const struct call_state *state, int64_t took_us, bool cancelled)
{
    const struct call *call = state->call;
    bool fault =
        !call->ok && !cancelled && call->error.code != ERR_NOT_IMPLEMENTED && error_info(call->error.code)->http_status >= 500;
    enum log_level level = fault ? LOG_ERROR : LOG_INFO;
    if (!log_is_on(level))
        return;
    struct log_line line;
    log_begin(&line, level, "call");
    json_member_text(&line.json, "requestId", call->request_id);
    json_member_text(&line.json, "operation", call->op->id);
    json_member_text(&line.json, "transport", transport_names[call->transport]);
    if (cancelled)
        json_member_text(&line.json, "outcome", "cancelled");
    else
        json_member_int(&line.json, "status", call->ok ? call->reply.status : error_info(call->error.code)->http_status);
    json_member_int(&line.json, "us", took_us);
    json_member_int(&line.json, "roundTrips", (int64_t)state->round_trips);
    json_member_int(&line.json, "keyId", call->who.key_id);
    if (call->who.session_id != 0)
        json_member_int(&line.json, "sessionId", call->who.session_id);
    json_member_int(&line.json, "brandId", state->brand_id);
    if (!call->ok && !cancelled)
        log_error_members(&line, &call->error);
    log_end(&line);
}

static void count_call(struct api *api, const struct call *call, int64_t took_us, bool cancelled)
{
    if (call->op->index < 0)
        return;
    struct op_counters *counters = &api->counters[call->op->index];
    atomic_fetch_add_explicit(&counters->calls, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&counters->total_us, (uint64_t)took_us, memory_order_relaxed);
    if (!call->ok && !cancelled)
        atomic_fetch_add_explicit(&counters->failures, 1, memory_order_relaxed);
}

enum { RETRY_AFTER_MAX_S = 60 };

/* Every SERVICE_UNAVAILABLE error carries a retry hint. No hint is longer than a rate window. */
static void hint_retry(struct error *err)
{
    if (err->retry_after_s > RETRY_AFTER_MAX_S)
        err->retry_after_s = RETRY_AFTER_MAX_S;
    if (err->code == ERR_SERVICE_UNAVAILABLE && err->retry_after_s == 0)
        err->retry_after_s = 1;
}

void dispatch_finish(struct api *api, struct call_state *state, bool ok, const struct error *err)
{
    struct call *call = state->call;
    pthread_mutex_lock(&api->calls_lock);
    state->phase = CALL_DONE;
    state->conn = NULL;
    bool by_caller = state->by_caller;
    pthread_mutex_unlock(&api->calls_lock);

    call->ok = ok;
    if (!ok) {
        if (&call->error != err)
            call->error = *err;
        hint_retry(&call->error);
        call->credit_cost = -1;
    }
    int64_t took_us = clock_monotonic_us() - state->started_us;
    bool cancelled = was_cancelled(call, by_caller);
    count_call(api, call, took_us, cancelled);
    log_call(state, took_us, cancelled);
    call->on_completed(call);
}
