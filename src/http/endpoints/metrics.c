#include "http/endpoints/metrics.h"

#include "base/metric_text.h"
#include "base/panic.h"

#include "http/server_state.h"
#include "http/socket_address.h"

#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    METRICS_MAX_BYTES = 4 * 1024 * 1024,
    METRICS_MAX_CONNECTIONS = 16,
    METRICS_TIMEOUT_S = 10,
};

struct metrics_listener {
    struct http_server *server;
    struct MHD_Daemon *daemon;
    unsigned port;
};

static void write_page(struct http_server *server, struct buf *out)
{
    struct http_server_figures figures = http_server_figures(server);
    metric_write(out, "posthorn_http_requests_total", "counter", "Requests since the start.", figures.requests);
    metric_write(out, "posthorn_http_refused_total", "counter", "Requests refused before they became a call.", figures.refused);
    metric_write(out, "posthorn_http_abandoned_total", "counter", "Requests whose client disconnected before the response.",
                 figures.abandoned);
    metric_write(out, "posthorn_http_connections_refused_total", "counter", "Connections closed because there were too many.",
                 figures.connections_refused);
    metric_write(out, "posthorn_http_drops_paused_total", "counter",
                 "Pauses of connections because too much of refused bodies arrived.", figures.drops_paused);
    metric_write(out, "posthorn_http_bodies_paused_total", "counter",
                 "Pauses of connections because too much of large bodies arrived beside others.", figures.bodies_paused);
    metric_write(out, "posthorn_http_connections", "gauge", "Open connections.", figures.connections);
    metric_write(out, "posthorn_http_suspended", "gauge", "Requests waiting for their call.", figures.suspended);
    metric_write(out, "posthorn_http_streams", "gauge", "Open event streams.", figures.streams);
    metric_write(out, "posthorn_http_body_bytes", "gauge", "Memory claimed for request bodies and their JSON.", figures.body_bytes);
    metric_write(out, "posthorn_http_answer_bytes", "gauge", "Memory of large answers that are not sent yet.",
                 figures.answer_bytes);
    if (server->write_metrics != NULL)
        server->write_metrics(server->metrics_context, out);
}

static enum MHD_Result queue_page(struct MHD_Connection *connection, unsigned status, const char *type, struct buf *body)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(body->size, body->data, MHD_RESPMEM_MUST_COPY);
    if (response == NULL)
        return MHD_NO;
    enum MHD_Result result = MHD_add_response_header(response, "content-type", type);
    if (result == MHD_YES)
        result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result on_metrics_request(void *context, struct MHD_Connection *connection, const char *url, const char *method,
                                          const char *version, const char *upload, size_t *upload_size, void **request)
{
    static const char seen;
    struct metrics_listener *listener = context;
    (void)version;
    (void)upload;
    if (*request == NULL) {
        *request = (void *)(uintptr_t)&seen;
        return MHD_YES;
    }
    *upload_size = 0;

    BUF_SCOPE body;
    buf_init(&body, METRICS_MAX_BYTES);
    if (strcmp(url, "/metrics") != 0 || (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)) {
        buf_add_text(&body, "GET /metrics\n");
        return queue_page(connection, MHD_HTTP_NOT_FOUND, "text/plain", &body);
    }
    write_page(listener->server, &body);
    return queue_page(connection, MHD_HTTP_OK, "text/plain; version=0.0.4; charset=utf-8", &body);
}

bool metrics_listener_new(const char *listen, struct http_server *server, struct metrics_listener **ret_listener, struct error *err)
{
    struct socket_address address;
    int fd;
    if (!socket_address_parse(listen, "metrics", &address, err) || !socket_address_listen(&address, "metrics", &fd, err))
        return false;

    struct metrics_listener *listener = calloc(1, sizeof(*listener));
    if (listener == NULL)
        panic(PANIC_NO_MEMORY);
    listener->server = server;
    listener->port = socket_address_bound_port(fd);
    listener->daemon =
        MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC, 0, NULL, NULL, on_metrics_request, listener,
                         MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, (unsigned)METRICS_MAX_CONNECTIONS,
                         MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)METRICS_TIMEOUT_S, MHD_OPTION_END);
    if (listener->daemon == NULL) {
        close(fd);
        free(listener);
        return fail(err, ERR_INTERNAL_ERROR, "metrics", "The metrics listener cannot be started.");
    }
    *ret_listener = listener;
    return true;
}

void metrics_listener_free(struct metrics_listener *listener)
{
    if (listener == NULL)
        return;
    MHD_stop_daemon(listener->daemon);
    free(listener);
}

unsigned metrics_listener_port(const struct metrics_listener *listener)
{
    return listener->port;
}
