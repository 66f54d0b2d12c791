/*
 * Refusals: requests that an endpoint refuses before it makes a call of them.
 * They are counted and logged in one place, without path or arguments.
 */
#include "base/log.h"
#include "http/guard.h"
#include "http/server_state.h"
#include "http/socket_address.h"

const char *http_exchange_host(const struct http_exchange *exchange)
{
    const char *forwarded = exchange->headers.values[HEADER_X_FORWARDED_HOST];
    if (forwarded != NULL && guard_peer_is_trusted(exchange->server->guard, http_exchange_peer(exchange)))
        return forwarded;
    return exchange->headers.values[HEADER_HOST];
}

const char *http_exchange_scheme(const struct http_exchange *exchange)
{
    const char *forwarded = exchange->headers.values[HEADER_X_FORWARDED_PROTO];
    if (forwarded != NULL && guard_peer_is_trusted(exchange->server->guard, http_exchange_peer(exchange)))
        return forwarded;
    return "http";
}

void http_exchange_log_refusal(struct http_exchange *exchange, int status, const char *code)
{
    atomic_fetch_add_explicit(&exchange->server->refused, 1, memory_order_relaxed);
    if (!log_is_on(LOG_INFO))
        return;
    char peer[SOCKET_ADDRESS_HOST_BYTES] = "unknown";
    if (http_exchange_peer(exchange) != NULL)
        socket_address_host(http_exchange_peer(exchange), peer);
    struct log_line line;
    log_begin(&line, LOG_INFO, "http.refused");
    json_member_int(&line.json, "status", status);
    json_member_text(&line.json, "code", code);
    json_member_text(&line.json, "peer", peer);
    log_end(&line);
}
