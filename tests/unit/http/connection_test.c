/*
 * HTTP connections: the rules of /mcp, streams, clients that disconnect or are slow,
 * limits, and the shutdown of the server.
 */
#include "fixtures/http_case.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- /mcp ---- */

static void mcp_knows_its_hosts_and_origins(void **state)
{
    (void)state;
    static const struct {
        const char *lines;
        int status;
    } cases[] = {
        { "Host: localhost\r\n", 200 },
        { "Host: 127.0.0.1:1\r\n", 200 },
        { "Host: [::1]:8420\r\n", 200 },
        { "Host: [127.0.0.1]\r\n", 403 }, /* brackets hold IPv6 only (RFC 3986 §3.2.2) */
        { "Host: [localhost]\r\n", 403 },
        { "Host: evil.example.com\r\n", 403 },
        { "Host: 127.0.0.1.evil.example\r\n", 403 },
        { "Host: 127.0.0.1:x\r\n", 403 },
        { "Host: 192.0.2.1\r\n", 403 },
        { "Host: localhost\r\nOrigin: http://localhost:6274\r\n", 200 },
        { "Host: localhost\r\nOrigin: http://evil.example.com\r\n", 403 },
        { "Host: localhost\r\nOrigin: http://localhost.evil.example\r\n", 403 },
        { "Host: localhost\r\nOrigin: http://localhost@evil.example\r\n", 403 },
        { "Host: localhost\r\nOrigin: null\r\n", 403 },
        { "Host: localhost\r\nOrigin: file://localhost\r\n", 403 },
        { "Host: localhost\r\nX-Forwarded-Host: evil.example\r\n", 200 },
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        char lines[256];
        snprintf(lines, sizeof(lines), "%sContent-Type: application/json\r\n", cases[i].lines);
        ask("POST", "/mcp", lines, "now");
        if (answer.status != cases[i].status)
            fail_msg("%d for %s", answer.status, cases[i].lines);
    }
}

static void operators_add_hosts_and_proxies(void **state)
{
    (void)state;
    const char *const hosts[] = { "mail.example.com", NULL };
    const char *const origins[] = { "https://app.example.com", NULL };
    const char *const proxies[] = { "127.0.0.1", NULL };
    const struct http_server_config config = {
        .listen = "127.0.0.1:0", .allowed_hosts = hosts, .allowed_origins = origins, .trusted_proxies = proxies
    };
    start_with(&config);
    const char *type = "Content-Type: application/json\r\n";
    char lines[256];
    snprintf(lines, sizeof(lines), "Host: MAIL.example.com:443\r\nOrigin: https://app.example.com\r\n%s", type);
    ask("POST", "/mcp", lines, "now");
    assert_status(200);
    snprintf(lines, sizeof(lines), "Host: localhost\r\nX-Forwarded-Host: evil.example\r\n%s", type);
    ask("POST", "/mcp", lines, "now");
    assert_status(403);
    snprintf(lines, sizeof(lines), "Host: backend.internal\r\nX-Forwarded-Host: mail.example.com\r\n%s", type);
    ask("POST", "/mcp", lines, "now");
    assert_status(200);
}

static void mcp_keeps_the_rules_of_http(void **state)
{
    (void)state;
    ask("POST", "/mcp", "Content-Type: text/plain\r\n", "now");
    assert_status(415);
    ask("POST", "/mcp", "", "now");
    assert_status(415);
    ask("PUT", "/mcp", "", NULL);
    assert_status(405);
    assert_string_equal(answer_header(&answer, "Allow"), "GET, POST, DELETE, OPTIONS");
    static char large[128 * 1024];
    memset(large, ' ', sizeof(large) - 1);
    ask("POST", "/mcp", "Content-Type: application/json\r\n", large);
    assert_status(413);
    ask("POST", "/mcp", "Content-Type: application/json\r\n", "now");
    assert_status(200);
    assert_string_equal(answer_header(&answer, "Mcp-Session-Id"), "session-1");
    ask("POST", "/mcp", "Content-Type: application/json\r\nmcp-session-id: s\r\nmcp-param-region: eu\r\n", "now");
    assert_status(401);
    assert_string_equal(answer_header(&answer, "WWW-Authenticate"), "Bearer");
    ask("DELETE", "/mcp", "", NULL);
    assert_status(200);
}

static void mcp_answers_later_or_as_a_stream(void **state)
{
    (void)state;
    ask("POST", "/mcp", "Content-Type: application/json\r\n", "later");
    assert_status(200);
    assert_has("\"later\":true");
    ask("POST", "/mcp", "Content-Type: application/json\r\n", "stream");
    assert_status(200);
    assert_string_equal(answer_header(&answer, "Content-Type"), "text/event-stream");
    assert_string_equal(answer_header(&answer, "X-Accel-Buffering"), "no");
    assert_string_equal(answer_header(&answer, "Mcp-Session-Id"), "session-1");
    assert_string_equal(answer.body, "data: {}\n\ndata: {}\n\ndata: {}\n\n");
    WAIT_UNTIL(fake_mcp_alive() == 0);
}

/* ---- Clients that go away or dawdle ---- */

static void a_vanished_client_cancels_its_call(void **state)
{
    (void)state;
    unsigned before = fake_cancelled();
    client_open(&client, port);
    client_send(&client, "POST /v1/wait HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", 0);
    WAIT_UNTIL(http_server_figures(server).suspended == 1);
    assert_int_equal(fake_cancelled(), before);
    client_close(&client);
    WAIT_UNTIL(fake_cancelled() == before + 1);
    WAIT_UNTIL(http_server_figures(server).suspended == 0);
    WAIT_UNTIL(http_server_figures(server).connections == 0);
}

static void a_vanished_client_releases_its_message_and_its_stream(void **state)
{
    (void)state;
    unsigned before = fake_mcp_released_early();
    client_open(&client, port);
    client_send(&client, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 4\r\n\r\nwait",
                0);
    WAIT_UNTIL(http_server_figures(server).suspended == 1);
    client_close(&client);
    WAIT_UNTIL(fake_mcp_released_early() == before + 1);

    client_open(&client, port);
    client_send(&client, "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n", 0);
    assert_true(client_sees(&client, "text/event-stream", PATIENCE_MS));
    assert_int_equal(http_server_figures(server).streams, 1);
    client_close(&client);
    WAIT_UNTIL(fake_mcp_released_early() == before + 2);
    WAIT_UNTIL(fake_mcp_alive() == 0);
    WAIT_UNTIL(http_server_figures(server).streams == 0);
}

static void a_client_gone_before_its_body_leaves_nothing(void **state)
{
    (void)state;
    static const char request[] = "POST /v1/things HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{\"a\":1,\"b";
    unsigned calls = fake_calls();
    for (size_t size = 1; size < sizeof(request) - 1; size += 3) {
        client_open(&client, port);
        client_send(&client, request, size);
        client_close(&client);
    }
    WAIT_UNTIL(http_server_figures(server).connections == 0);
    assert_int_equal(fake_calls(), calls);
}

static void slow_clients_are_cut_off(void **state)
{
    (void)state;
    const struct http_server_config config = {
        .listen = "127.0.0.1:0", .header_timeout_s = 1, .idle_timeout_s = 1, .request_timeout_s = 1
    };
    start_with(&config);
    static struct client head;
    static struct client body;
    client_open(&head, port);
    client_open(&body, port);
    client_send(&body, "POST /v1/things HTTP/1.1\r\nHost: x\r\nContent-Length: 9000\r\n\r\n", 0);
    client_send(&head, "GET /v1/things HTTP/1.1\r\n", 0);
    /* Never silent for a second, and yet never done. */
    bool head_open = true;
    bool body_open = true;
    for (int waited_ms = 0; head_open || body_open; waited_ms += 300) {
        if (waited_ms > PATIENCE_MS)
            fail_msg("still open: head %d, body %d", head_open, body_open);
        pause_ms(300);
        head_open = head_open && client_send(&head, "A: b\r\n", 0);
        body_open = body_open && client_send(&body, "x", 1);
    }
    client_close(&head);
    client_close(&body);
    WAIT_UNTIL(http_server_figures(server).connections == 0);
}

static void a_call_past_its_time_is_cancelled(void **state)
{
    (void)state;
    const struct http_server_config config = { .listen = "127.0.0.1:0", .call_timeout_s = 1 };
    start_with(&config);
    unsigned before = fake_cancelled();
    ask("POST", "/v1/wait", "", NULL);
    assert_status(503);
    assert_has("SERVICE_UNAVAILABLE");
    assert_non_null(answer_header(&answer, "Retry-After"));
    assert_int_equal(fake_cancelled(), before + 1);
    ask("POST", "/mcp", "Content-Type: application/json\r\n", "wait");
    assert_status(503);
}

static void a_slow_reader_gets_everything_or_is_cut_off(void **state)
{
    (void)state;
    const struct http_server_config config = { .listen = "127.0.0.1:0", .idle_timeout_s = 1 };
    start_with(&config);
    ask("GET", "/v1/big", "", NULL);
    assert_status(200);
    assert_int_equal(answer.body_size, 64 * 64 * 1024);
    client_open(&client, port);
    client_send(&client, "GET /v1/big HTTP/1.1\r\nHost: x\r\n\r\n", 0);
    WAIT_UNTIL(http_server_figures(server).abandoned == 1); /* it never reads */
    client_close(&client);
    WAIT_UNTIL(http_server_figures(server).connections == 0);
}

static void connections_are_bounded(void **state)
{
    (void)state;
    static struct client clients[4];
    const struct http_server_config config = { .listen = "127.0.0.1:0", .io_threads = 1, .max_connections = 4 };
    start_with(&config);
    for (size_t i = 0; i < 4; i++)
        client_open(&clients[i], port);
    WAIT_UNTIL(http_server_figures(server).connections == 4);
    client_open(&client, port);
    client_send(&client, "GET /v1/things HTTP/1.1\r\nHost: x\r\n\r\n", 0);
    for (size_t i = 1; i < 4; i++) { /* the server has looked at its sockets since */
        client_send(&clients[i], "GET /v1/things HTTP/1.1\r\nHost: x\r\n\r\n", 0);
        assert_true(client_read(&clients[i], &answer, false, PATIENCE_MS));
    }
    assert_int_equal(http_server_figures(server).connections, 4);
    client_close(&clients[0]);
    assert_true(client_read(&client, &answer, false, PATIENCE_MS));
    assert_status(200);
    client_close(&client);
    for (size_t i = 1; i < 4; i++)
        client_close(&clients[i]);
    WAIT_UNTIL(http_server_figures(server).connections == 0);
}

/* While this process is stopped, its child sends a request on each connection. */
static void send_while_stopped(const int *fds, size_t count)
{
    static const char request[] = "GET /v1/things HTTP/1.1\r\nHost: x\r\n\r\n";
    pid_t parent = getpid();
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) { /* only what is safe in a signal handler, because the parent has threads */
        size_t sent = 0;
        const struct timespec until_all_threads_have_stopped = { .tv_nsec = 200 * 1000 * 1000 };
        kill(parent, SIGSTOP);
        nanosleep(&until_all_threads_have_stopped, NULL);
        while (sent < count && write(fds[sent], request, sizeof(request) - 1) == (ssize_t)(sizeof(request) - 1))
            sent++;
        kill(parent, SIGCONT);
        _exit(sent == count ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* libmicrohttpd takes 128 events a call of epoll_wait. As many requests at once are answered, too. */
static void as_many_requests_as_events_are_answered(void **state)
{
    (void)state;
    enum { EVENTS = 128 };
    int fds[EVENTS];
    const struct http_server_config config = { .listen = "127.0.0.1:0", .io_threads = 1 };
    start_with(&config);
    for (int i = 0; i < EVENTS; i++) {
        client_open(&client, port);
        fds[i] = client.fd;
    }
    WAIT_UNTIL(http_server_figures(server).connections == EVENTS);
    send_while_stopped(fds, EVENTS);
    for (int i = 0; i < EVENTS; i++) {
        client = (struct client){ .fd = fds[i], .port = port };
        assert_true(client_read(&client, &answer, false, PATIENCE_MS));
        assert_status(200);
        client_close(&client);
    }
}

/* ---- The end ---- */

static void stopping_answers_what_runs(void **state)
{
    (void)state;
    static struct client waiting;
    static struct client stuck;
    static struct client listening;
    client_open(&waiting, port);
    client_open(&stuck, port);
    client_open(&listening, port);
    client_send(&waiting, "POST /v1/wait HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", 0);
    client_send(&stuck, "POST /v1/stuck HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", 0);
    client_send(&listening, "GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n", 0);
    WAIT_UNTIL(http_server_figures(server).suspended == 2 && http_server_figures(server).streams == 1);
    http_server_stop(server, 100);
    server = NULL;
    assert_true(client_read(&waiting, &answer, false, PATIENCE_MS));
    assert_status(503);
    assert_true(client_is_closed(&listening, PATIENCE_MS));
    client_close(&waiting);
    client_close(&stuck);
    client_close(&listening);
}

static bool is_served(struct client *asking, const char *headers)
{
    char request[200];
    snprintf(request, sizeof(request), "GET /v1/things HTTP/1.1\r\nHost: x\r\n%s\r\n", headers);
    return client_send(asking, request, 0) && client_read(asking, &answer, false, PATIENCE_MS) && answer.status == 200;
}

static void idle_connections_of_one_address_are_bounded(void **state)
{
    (void)state;
    enum { ALLOWED = 3 };
    static struct client clients[ALLOWED + 1];
    const struct http_server_config config = { .listen = "127.0.0.1:0", .max_per_peer = ALLOWED };
    start_with(&config);
    for (int i = 0; i < ALLOWED; i++)
        client_open(&clients[i], port);
    WAIT_UNTIL(http_server_figures(server).connections == ALLOWED);
    client_open(&clients[ALLOWED], port);
    assert_true(client_is_closed(&clients[ALLOWED], PATIENCE_MS));
    client_close(&clients[ALLOWED]);
    assert_int_equal(http_server_figures(server).connections_refused, 1);

    /* A proxy on this machine names the address of its client, and is not counted from then on. */
    assert_true(is_served(&clients[0], "X-Forwarded-For: 192.0.2.7\r\n"));
    client_open(&clients[ALLOWED], port);
    assert_true(is_served(&clients[ALLOWED], ""));
    for (int i = 0; i <= ALLOWED; i++)
        client_close(&clients[i]);
    WAIT_UNTIL(http_server_figures(server).connections == 0);
    for (int i = 0; i < ALLOWED; i++) {
        client_open(&clients[i], port);
        assert_true(is_served(&clients[i], ""));
        client_close(&clients[i]);
    }
}

static void a_trusted_proxy_is_not_bounded(void **state)
{
    (void)state;
    static struct client clients[3];
    const char *const proxies[] = { "127.0.0.1", NULL };
    const struct http_server_config config = { .listen = "127.0.0.1:0", .max_per_peer = 1, .trusted_proxies = proxies };
    start_with(&config);
    for (int i = 0; i < 3; i++) {
        client_open(&clients[i], port);
        assert_true(is_served(&clients[i], ""));
    }
    for (int i = 0; i < 3; i++)
        client_close(&clients[i]);
}

static void many_connections_at_once_get_their_own_answers(void **state)
{
    (void)state;
    enum { CLIENTS = 32, ROUNDS = 10 };
    static struct client clients[CLIENTS];
    for (int i = 0; i < CLIENTS; i++)
        client_open(&clients[i], port);
    for (int round = 0; round < ROUNDS; round++) {
        char request[256];
        char wanted[64];
        for (int i = 0; i < CLIENTS; i++) {
            snprintf(request, sizeof(request), "POST /v1/things/%d/fire HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}",
                     round * 100 + i);
            assert_true(client_send(&clients[i], request, 0));
        }
        for (int i = 0; i < CLIENTS; i++) {
            assert_true(client_read(&clients[i], &answer, false, PATIENCE_MS));
            snprintf(wanted, sizeof(wanted), "\"thingId\":\"%d\"", round * 100 + i);
            assert_has(wanted);
        }
    }
    for (int i = 0; i < CLIENTS; i++)
        client_close(&clients[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SERVER(mcp_knows_its_hosts_and_origins),
        WITH_OWN_SERVER(operators_add_hosts_and_proxies),
        WITH_SERVER(mcp_keeps_the_rules_of_http),
        WITH_SERVER(mcp_answers_later_or_as_a_stream),
        WITH_SERVER(a_vanished_client_cancels_its_call),
        WITH_SERVER(a_vanished_client_releases_its_message_and_its_stream),
        WITH_SERVER(a_client_gone_before_its_body_leaves_nothing),
        WITH_OWN_SERVER(slow_clients_are_cut_off),
        WITH_OWN_SERVER(a_call_past_its_time_is_cancelled),
        WITH_OWN_SERVER(a_slow_reader_gets_everything_or_is_cut_off),
        WITH_OWN_SERVER(connections_are_bounded),
        WITH_OWN_SERVER(as_many_requests_as_events_are_answered),
        WITH_OWN_SERVER(idle_connections_of_one_address_are_bounded),
        WITH_OWN_SERVER(a_trusted_proxy_is_not_bounded),
        WITH_SERVER(many_connections_at_once_get_their_own_answers),
        WITH_SERVER(stopping_answers_what_runs),
    };
    return cmocka_run_group_tests_name("http_connection", tests, NULL, NULL);
}
