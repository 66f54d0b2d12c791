/* HTTP requests and replies: routes, headers, queries, bodies, credentials, documents and configuration. */
#include "fixtures/http_case.h"
#include "http/headers.h"

/* ---- Routes ---- */

static void a_static_segment_beats_a_parameter(void **state)
{
    (void)state;
    ask("GET", "/v1/things/runs", "", NULL);
    assert_status(200);
    assert_has("\"path\":{}");
    ask("GET", "/v1/things/other", "", NULL);
    assert_has("\"path\":{\"thingId\":\"other\"}");
    ask("GET", "/v1/things/runs/7", "", NULL);
    assert_has("\"path\":{\"runId\":\"7\"}");
    ask("PATCH", "/v1/things/runs", "", NULL);
    assert_status(405);
    ask("POST", "/v1/things/runs/fire", "", NULL); /* runs/{runId} settles the path, and has no POST */
    assert_status(405);
}

static void path_parameters_are_decoded_once(void **state)
{
    (void)state;
    ask("GET", "/v1/things/a%2Fb%2540+c", "", NULL);
    assert_status(200);
    assert_has("\"thingId\":\"a/b%40+c\"");
    ask("GET", "/v1/th%69ngs/x", "", NULL);
    assert_has("\"thingId\":\"x\"");
    ask("GET", "/v1/things/%zz", "", NULL);
    assert_status(404);
    ask("GET", "/v1/things/%00", "", NULL);
    assert_status(404);
    ask("GET", "/v1/things/%ff", "", NULL);
    assert_status(404);
}

static void unknown_paths_and_methods_are_told_apart(void **state)
{
    (void)state;
    static const char *const unknown[] = { "/",
                                           "/v1",
                                           "/v1/",
                                           "/v1/nothing",
                                           "/v1/things/",
                                           "/things",
                                           "/v1//things",
                                           "/v1/things/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s",
                                           "*" };
    for (size_t i = 0; i < ARRAY_COUNT(unknown); i++) {
        ask("GET", unknown[i], "", NULL);
        assert_status(404);
        assert_has("NOT_FOUND");
        assert_non_null(answer_header(&answer, "x-request-id"));
    }
    ask("DELETE", "/v1/things", "", NULL);
    assert_status(405);
    assert_has("METHOD_NOT_ALLOWED");
    assert_string_equal(answer_header(&answer, "Allow"), "GET, HEAD, OPTIONS, POST");
    ask("OPTIONS", "/v1/things", "", NULL);
    assert_status(204);
    assert_string_equal(answer_header(&answer, "Allow"), "GET, HEAD, OPTIONS, POST");
    ask("HEAD", "/v1/things", "", NULL);
    assert_status(200);
    assert_true(strtol(answer_header(&answer, "Content-Length"), NULL, 10) > 0);
}

/* ---- Answers ---- */

static void every_answer_carries_its_headers(void **state)
{
    (void)state;
    ask("GET", "/v1/things", "", NULL);
    assert_string_equal(answer_header(&answer, "X-RateLimit-Limit"), "60");
    assert_string_equal(answer_header(&answer, "X-RateLimit-Remaining"), "59");
    assert_string_equal(answer_header(&answer, "X-RateLimit-Reset"), "1800000000");
    assert_string_equal(answer_header(&answer, "X-Credit-Cost"), "7");
    assert_string_equal(answer_header(&answer, "Content-Type"), "application/json");
    char id[64];
    snprintf(id, sizeof(id), "%s", answer_header(&answer, "x-request-id"));
    ask("GET", "/v1/things", "", NULL);
    assert_string_not_equal(answer_header(&answer, "x-request-id"), id);

    ask("GET", "/v1/nothing", "", NULL);
    assert_string_equal(answer_header(&answer, "X-RateLimit-Limit"), "100");
    assert_string_equal(answer_header(&answer, "X-RateLimit-Remaining"), "100");
    assert_null(answer_header(&answer, "X-Credit-Cost"));
    ask("POST", "/v1/refuse", "", NULL);
    assert_status(429);
    assert_string_equal(answer_header(&answer, "Retry-After"), "17");
    assert_null(answer_header(&answer, "X-Credit-Cost"));
}

static void a_suspended_call_answers_like_an_immediate_one(void **state)
{
    (void)state;
    ask("POST", "/v1/things", "Content-Type: application/json\r\nIdempotency-Key: k1\r\n", "{\"a\":1}");
    assert_status(201);
    assert_has("\"key\":\"k1\"");
    assert_has("\"body\":true");
    ask("PATCH", "/v1/things/1", "Idempotency-Key: k1\r\n", "{}");
    assert_has("\"key\":null");
}

static void requests_of_one_connection_follow_each_other(void **state)
{
    (void)state;
    client_open(&client, port);
    char request[256];
    /* Pipelined: all are sent before the first answer is read. */
    for (int i = 0; i < 20; i++) {
        snprintf(request, sizeof(request), "%s /v1/things%s HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}",
                 i % 2 == 0 ? "POST" : "PATCH", i % 2 == 0 ? "" : "/7");
        assert_true(client_send(&client, request, 0));
    }
    for (int i = 0; i < 20; i++) {
        assert_true(client_read(&client, &answer, false, PATIENCE_MS));
        assert_status(i % 2 == 0 ? 201 : 200);
    }
    client_close(&client);
}

/* ---- Queries and bodies ---- */

static void queries_are_read_like_forms(void **state)
{
    (void)state;
    ask("GET", "/v1/things?a=1+2&b=%2B&c&&d=", "", NULL);
    assert_has("\"query\":{\"a\":\"1 2\",\"b\":\"+\",\"c\":\"\",\"d\":\"\"}");
    ask("GET", "/v1/things?limit=1&limit=2", "", NULL);
    assert_status(400);
    assert_has("\"param\":\"limit\"");
    ask("GET", "/v1/things?a=%f", "", NULL);
    assert_status(400);
    ask("GET", "/v1/things?%ff=1", "", NULL);
    assert_status(400);
    char many[2048] = "/v1/things?";
    for (int i = 0; i < 65; i++)
        snprintf(many + strlen(many), sizeof(many) - strlen(many), "k%d=1&", i);
    ask("GET", many, "", NULL);
    assert_status(400);
}

static void bodies_are_json_and_bounded(void **state)
{
    (void)state;
    ask("POST", "/v1/things", "", "{\"a\":");
    assert_status(400);
    assert_has("not valid JSON");
    ask("POST", "/v1/things", "Content-Type: text/plain\r\n", "{}");
    assert_status(400);
    assert_has("Content-Type");
    ask("POST", "/v1/things", "Content-Type: application/merge-patch+json; charset=utf-8\r\n", "{}");
    assert_status(201);
    ask("POST", "/v1/things", "", "{\"a\":\"\xff\"}");
    assert_status(400);

    static char large[200 * 1024];
    memset(large, ' ', sizeof(large) - 1);
    ask("POST", "/v1/things", "", large); /* allowed a megabyte: empty JSON, not too large */
    assert_status(400);
    ask("PATCH", "/v1/things/1", "", large); /* allowed the default */
    assert_status(413);
    assert_has("PAYLOAD_TOO_LARGE");
}

static void a_body_too_large_in_chunks_is_refused(void **state)
{
    (void)state;
    static char chunk[16 * 1024];
    memset(chunk, ' ', sizeof(chunk));
    client_open(&client, port);
    client_send(&client, "PATCH /v1/things/1 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", 0);
    for (int i = 0; i < 8; i++) {
        assert_true(client_send(&client, "4000\r\n", 0));
        assert_true(client_send(&client, chunk, sizeof(chunk)));
        assert_true(client_send(&client, "\r\n", 0));
    }
    client_send(&client, "0\r\n\r\n", 0);
    assert_true(client_read(&client, &answer, false, PATIENCE_MS));
    assert_status(413);
    client_close(&client);
}

static void a_body_too_large_to_drop_is_refused_at_once(void **state)
{
    (void)state;
    client_open(&client, port);
    client_send(&client, "POST /v1/things HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n", 0);
    assert_true(client_read(&client, &answer, false, PATIENCE_MS));
    assert_status(413);
    assert_true(client_is_closed(&client, PATIENCE_MS));
    client_close(&client);
    client_open(&client, port);
    client_send(&client, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 18446744073709551615\r\n\r\n", 0);
    assert_true(client_read(&client, &answer, false, PATIENCE_MS));
    assert_status(413);
    client_close(&client);
}

static void a_body_too_large_is_not_asked_for(void **state)
{
    (void)state;
    client_open(&client, port);
    client_send(&client, "PATCH /v1/things/1 HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\nExpect: 100-continue\r\n\r\n", 0);
    assert_true(client_read(&client, &answer, false, PATIENCE_MS));
    assert_status(413);
    client_close(&client);
}

static void headers_are_bounded(void **state)
{
    (void)state;
    static char lines[64 * 1024] = "X-Long: ";
    memset(lines + strlen(lines), 'a', 6 * 1024);
    snprintf(lines + strlen(lines), 3, "\r\n");
    ask("GET", "/v1/things", lines, NULL);
    assert_status(200);
    memset(lines + strlen("X-Long: "), 'a', 40 * 1024);
    snprintf(lines + strlen(lines), 3, "\r\n");
    ask("GET", "/v1/things", lines, NULL);
    if (answer.status != 0) /* the connection may be reset before the answer is read */
        assert_status(431);
}

static void contradictory_headers_are_refused(void **state)
{
    (void)state;
    client_open(&client, port);
    client_send(&client,
                "PATCH /v1/things/1 HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 0);
    assert_true(client_read(&client, &answer, false, PATIENCE_MS));
    assert_status(400);
    assert_true(client_is_closed(&client, PATIENCE_MS));
    client_close(&client);
    ask("GET", "/v1/things", "Authorization: Bearer a\r\nAuthorization: Bearer b\r\n", NULL);
    assert_status(400);
    ask("POST", "/mcp", "Mcp-Session-Id: a\r\nMcp-Session-Id: b\r\n", "now");
    assert_status(400);
}

/* ---- Credentials ---- */

static void credentials_are_found(void **state)
{
    (void)state;
    ask("GET", "/v1/things", "Authorization: bearer key1\r\nX-Api-Key: key2\r\nX-Brand-Id: b1\r\nUser-Agent: ua/1\r\n", NULL);
    assert_has("\"kind\":1,\"secret\":\"key1\",\"brand\":\"b1\"");
    assert_has("\"client\":\"ua/1\"");
    ask("GET", "/v1/things", "X-Api-Key: key1\r\nX-Brand-Id:\r\n", NULL);
    assert_has("\"secret\":\"key1\",\"brand\":null");
    ask("GET", "/v1/things", "X-Api-Key: key1\r\nX-Brand-Id:  \r\n", NULL);
    assert_has("\"secret\":\"key1\",\"brand\":null");
    ask("GET", "/v1/things", "X-API-Key: key2\r\nCookie: __session=s\r\n", NULL);
    assert_has("\"kind\":1,\"secret\":\"key2\"");
    ask("GET", "/v1/things", "Authorization: Basic eDp5\r\n", NULL);
    assert_has("\"kind\":1,\"secret\":\"\"");
    ask("GET", "/v1/things", "Cookie: x__session=0; a=b; __session=tok; c=d\r\n", NULL);
    assert_has("\"kind\":2,\"secret\":\"tok\"");
    ask("GET", "/v1/things", "Cookie: a=b\r\n", NULL);
    assert_has("\"kind\":0,\"secret\":null");
}

static void a_cookie_writes_only_from_its_own_origin(void **state)
{
    (void)state;
    const char *const strange[] = {
        "Origin: https://evil.example\r\n",
        "Origin: null\r\n",
        "Sec-Fetch-Site: cross-site\r\n",
        "Sec-Fetch-Site: same-site\r\n",
        "Sec-Fetch-Site: same-origin\r\nOrigin: https://evil.example\r\n",
    };
    for (size_t i = 0; i < sizeof(strange) / sizeof(strange[0]); i++) {
        char headers[200];
        snprintf(headers, sizeof(headers), "Cookie: __session=s\r\n%s", strange[i]);
        ask("PATCH", "/v1/things/1", headers, "{}");
        assert_status(403);
        ask("GET", "/v1/things", headers, NULL);
        assert_status(200);
    }
    /* Every browser says one or the other; a program need not. */
    ask("PATCH", "/v1/things/1", "Cookie: __session=s\r\n", "{}");
    assert_status(200);
    ask("PATCH", "/v1/things/1", "Cookie: __session=s\r\nSec-Fetch-Site: same-origin\r\n", "{}");
    assert_status(200);
    static const char app[] = "Host: app.example:8\r\nCookie: __session=s\r\n";
    static const struct {
        const char *origin;
        int status;
    } own[] = { { "http://app.example:8", 200 },
                { "HTTP://APP.example:8", 200 },
                { "https://app.example:8", 403 },
                { "http://app.example", 403 },
                { "http://app.example:80", 403 } };
    for (size_t i = 0; i < ARRAY_COUNT(own); i++) {
        char headers[200];
        snprintf(headers, sizeof(headers), "%sOrigin: %s\r\n", app, own[i].origin);
        ask("PATCH", "/v1/things/1", headers, "{}");
        assert_status(own[i].status);
    }
    ask("PATCH", "/v1/things/1", "Host: app.example\r\nCookie: __session=s\r\nOrigin: http://app.example:80\r\n", "{}");
    assert_status(200);
    ask("PATCH", "/v1/things/1", "X-API-Key: k\r\nOrigin: https://evil.example\r\n", "{}");
    assert_status(200);
}

/* A proxy that ends TLS says so, or the public URL does; a client cannot. */
static void a_cookie_knows_the_scheme_behind_a_proxy(void **state)
{
    (void)state;
    static const char headers[] = "Host: app.example\r\nCookie: __session=s\r\nOrigin: https://app.example\r\n"
                                  "X-Forwarded-Proto: https\r\n";
    const char *const proxies[] = { "127.0.0.1", NULL };
    const struct http_server_config configs[] = {
        { .listen = "127.0.0.1:0" },
        { .listen = "127.0.0.1:0", .trusted_proxies = proxies },
        { .listen = "127.0.0.1:0", .public_url = "https://app.example/mail" },
        { .listen = "127.0.0.1:0", .public_url = "http://app.example" },
    };
    const int statuses[] = { 403, 200, 200, 403 };
    for (size_t i = 0; i < ARRAY_COUNT(configs); i++) {
        start_with(&configs[i]);
        ask("PATCH", "/v1/things/1", headers, "{}");
        assert_status(statuses[i]);
        if (i + 1 < ARRAY_COUNT(configs))
            stop_server(state);
    }
}

/* Old browsers send the form of another site without a word about where it comes from. */
static void a_cookie_sends_no_form(void **state)
{
    (void)state;
    const char *const forms[] = { "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain" };
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        char headers[200];
        snprintf(headers, sizeof(headers), "Cookie: __session=s\r\nContent-Type: %s\r\n", forms[i]);
        ask("POST", "/v1/things", headers, "");
        assert_status(400);
        assert_has("\"param\":\"Content-Type\"");
        snprintf(headers, sizeof(headers), "X-API-Key: k\r\nContent-Type: %s\r\n", forms[i]);
        ask("POST", "/v1/things", headers, "");
        assert_status(201);
    }
    ask("POST", "/v1/things", "Cookie: __session=s\r\n", NULL);
    assert_status(201);
}

/* ---- The rest ---- */

static void documents_and_metrics_are_served(void **state)
{
    (void)state;
    ask("GET", "/openapi.json", "", NULL);
    assert_status(200);
    assert_has("3.1.0");
    ask("POST", "/openapi.json", "", "");
    assert_status(405);
    ask("GET", "/docs/errors", "", NULL);
    assert_status(200);
    assert_has("id=\"RATE_LIMITED\"");
    assert_null(strstr(answer.body, "src="));
    ask("POST", "/docs/errors", "", "");
    assert_status(405);
    client_ask(http_server_metrics_port(server), "GET", "/metrics", "", NULL, &answer);
    assert_status(200);
    assert_has("posthorn_http_requests_total 4\n");
    client_ask(http_server_metrics_port(server), "GET", "/v1/things", "", NULL, &answer);
    assert_status(404);
}

static void bad_configurations_are_refused(void **state)
{
    (void)state;
    const char *const bad_host[] = { "http://x", NULL };
    const char *const bad_origin[] = { "app.example.com", NULL };
    const char *const bad_proxy[] = { "proxy.example.com", NULL };
    const struct {
        struct http_server_config config;
        const char *param;
    } cases[] = {
        { { .listen = "8420" }, "listen" },
        { { .listen = "127.0.0.1" }, "listen" },
        { { .listen = "127.0.0.1:65536" }, "listen" },
        { { .listen = "example.com:80" }, "listen" },
        { { .listen = "::1:80" }, "listen" },
        { { .listen = "192.0.2.1:0" }, "listen" },
        { { .listen = "127.0.0.1:0", .allowed_hosts = bad_host }, "allowed-host" },
        { { .listen = "127.0.0.1:0", .allowed_origins = bad_origin }, "allowed-origin" },
        { { .listen = "127.0.0.1:0", .trusted_proxies = bad_proxy }, "trusted-proxy" },
        { { .listen = "127.0.0.1:0", .metrics_listen = "x" }, "metrics" },
        { { .listen = "127.0.0.1:0", .io_threads = 1000 }, "io-threads" },
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct http_server *none = NULL;
        struct error err = { .code = ERR_NONE };
        assert_false(http_server_start(&cases[i].config, NULL, NULL, &none, &err));
        assert_string_equal(err.param, cases[i].param);
    }
}

static void accept_and_content_type_are_understood(void **state)
{
    (void)state;
    assert_true(accept_takes(NULL, "application", "json"));
    assert_true(accept_takes("application/json, text/event-stream", "text", "event-stream"));
    assert_true(accept_takes("text/*;q=0.5", "text", "event-stream"));
    assert_true(accept_takes("*/*", "text", "event-stream"));
    assert_true(accept_takes("APPLICATION/JSON", "application", "json"));
    assert_false(accept_takes("application/json", "text", "event-stream"));
    assert_false(accept_takes("application/json;q=0, text/html", "application", "json"));
    assert_false(accept_takes("application/json;q=0.000", "application", "json"));
    assert_true(accept_takes("application/json;q=0.001", "application", "json"));
    assert_false(accept_takes("application/jsonx", "application", "json"));
    assert_false(accept_takes("", "application", "json"));
    assert_false(accept_takes(";;,,/", "application", "json"));
    assert_true(content_type_is_json("application/json; charset=utf-8"));
    assert_true(content_type_is_json("Application/Problem+JSON"));
    assert_false(content_type_is_json("application/jsonp"));
    assert_false(content_type_is_json("application/+json"));
    assert_false(content_type_is_json("text/json"));
    assert_false(content_type_is_json("application/json x"));
    assert_false(content_type_is_json(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SERVER(a_static_segment_beats_a_parameter),
        WITH_SERVER(path_parameters_are_decoded_once),
        WITH_SERVER(unknown_paths_and_methods_are_told_apart),
        WITH_SERVER(every_answer_carries_its_headers),
        WITH_SERVER(a_suspended_call_answers_like_an_immediate_one),
        WITH_SERVER(requests_of_one_connection_follow_each_other),
        WITH_SERVER(queries_are_read_like_forms),
        WITH_SERVER(bodies_are_json_and_bounded),
        WITH_SERVER(a_body_too_large_in_chunks_is_refused),
        WITH_SERVER(a_body_too_large_to_drop_is_refused_at_once),
        WITH_SERVER(a_body_too_large_is_not_asked_for),
        WITH_SERVER(headers_are_bounded),
        WITH_SERVER(contradictory_headers_are_refused),
        WITH_SERVER(credentials_are_found),
        WITH_SERVER(a_cookie_writes_only_from_its_own_origin),
        WITH_OWN_SERVER(a_cookie_knows_the_scheme_behind_a_proxy),
        WITH_SERVER(a_cookie_sends_no_form),
        WITH_SERVER(documents_and_metrics_are_served),
        cmocka_unit_test(bad_configurations_are_refused),
        cmocka_unit_test(accept_and_content_type_are_understood),
    };
    return cmocka_run_group_tests_name("http", tests, NULL, NULL);
}
