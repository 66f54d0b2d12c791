/* Bodies: the credential, the rate and the size are judged before they are collected, and their memory has one bound (A-27, D-10).
 */
#include "fixtures/http_case.h"

#include "base/clock.h"
#include "http/address_gate.h"
#include "http/server_state.h"

enum { MIB = 1024 * 1024, LARGE_BYTES = 200 * 1024 };

static char large[4 * MIB + 1];

/* A JSON text of this size. */
static const char *large_json(size_t size)
{
    memset(large, ' ', size);
    large[0] = '{';
    large[size - 1] = '}';
    large[size] = '\0';
    return large;
}

static size_t body_bytes(void)
{
    return http_server_figures(server).body_bytes;
}

static void open_with_head(struct client *to, const char *target, const char *key, size_t size)
{
    char head[300];
    snprintf(head, sizeof(head),
             "POST %s HTTP/1.1\r\nHost: localhost\r\nX-API-Key: %s\r\nContent-Type: application/json\r\n"
             "Content-Length: %zu\r\n\r\n",
             target, key, size);
    client_open(to, port);
    assert_true(client_send(to, head, 0));
}

/* Sends a body of any size. */
static void ask_with_large(const char *key, const char *body, size_t size)
{
    open_with_head(&client, "/v1/keyed", key, size);
    assert_true(client_send(&client, body, size));
    assert_true(client_read(&client, &answer, false, PATIENCE_MS));
    client_close(&client);
}

/* ---- The credential ---- */

static void a_malformed_key_has_its_body_dropped(void **state)
{
    (void)state;
    unsigned calls = fake_calls();
    unsigned checks = fake_checks();
    ask("POST", "/v1/keyed", "X-API-Key: malformed\r\n", "not JSON");
    assert_status(401);
    open_with_head(&client, "/v1/keyed", FAKE_MALFORMED_KEY, LARGE_BYTES);
    assert_true(client_send(&client, large_json(LARGE_BYTES), LARGE_BYTES / 2));
    WAIT_UNTIL(http_server_figures(server).requests == 2);
    assert_int_equal(body_bytes(), 0);
    assert_true(client_send(&client, large + LARGE_BYTES / 2, LARGE_BYTES - LARGE_BYTES / 2));
    assert_true(client_read(&client, &answer, false, PATIENCE_MS));
    assert_status(401);
    client_close(&client);
    assert_int_equal(fake_calls(), calls + 2);
    assert_int_equal(fake_checks(), checks);
}

static void a_malformed_key_is_refused_before_the_size(void **state)
{
    (void)state;
    client_open(&client, port);
    client_send(&client, "POST /v1/keyed HTTP/1.1\r\nHost: x\r\nX-API-Key: malformed\r\nContent-Length: 99999999999\r\n\r\n", 0);
    assert_true(client_read(&client, &answer, false, PATIENCE_MS));
    assert_status(401);
    client_close(&client);
}

static void an_unknown_key_has_its_large_body_dropped(void **state)
{
    (void)state;
    unsigned checks = fake_checks();
    unsigned parsed = fake_inputs_read();
    open_with_head(&client, "/v1/keyed", FAKE_UNKNOWN_KEY, LARGE_BYTES);
    WAIT_UNTIL(fake_checks() == checks + 1); /* before a byte of the body is sent */
    assert_true(client_send(&client, large_json(LARGE_BYTES), LARGE_BYTES));
    assert_true(client_read(&client, &answer, false, PATIENCE_MS));
    assert_status(401);
    assert_int_equal(body_bytes(), 0);
    /* The connection serves the next request. */
    assert_true(client_send(&client, "POST /v1/keyed HTTP/1.1\r\nHost: x\r\nX-API-Key: k\r\nContent-Length: 2\r\n\r\n{}", 0));
    assert_true(client_read(&client, &answer, false, PATIENCE_MS));
    assert_status(200);
    client_close(&client);
    assert_int_equal(fake_inputs_read(), parsed);
}

static void many_dropped_bytes_make_connections_wait(void **state)
{
    (void)state;
    struct client other;
    open_with_head(&client, "/v1/keyed", FAKE_MALFORMED_KEY, 4 * MIB);
    open_with_head(&other, "/v1/keyed", FAKE_MALFORMED_KEY, 4 * MIB);
    large_json(4 * MIB);
    for (size_t at = 0; at < 4 * MIB; at += LARGE_BYTES) {
        size_t size = 4 * MIB - at < LARGE_BYTES ? 4 * MIB - at : LARGE_BYTES;
        assert_true(client_send(&client, large + at, size));
        assert_true(client_send(&other, large + at, size));
    }
    assert_true(client_read(&client, &answer, false, PATIENCE_MS));
    assert_status(401);
    assert_true(client_read(&other, &answer, false, PATIENCE_MS));
    assert_status(401);
    assert_true(http_server_figures(server).drops_paused > 0);
    client_close(&client);
    client_close(&other);
}

static void stopping_ends_the_wait_of_dropped_bodies(void **state)
{
    (void)state;
    open_with_head(&client, "/v1/keyed", FAKE_MALFORMED_KEY, 4 * MIB);
    assert_true(client_send(&client, large_json(4 * MIB), 3 * MIB));
    WAIT_UNTIL(http_server_figures(server).drops_paused > 0);
    http_server_stop(server, 0);
    server = NULL;
    client_close(&client);
}

/* Sends a large body of a known caller, and gives the pauses of its connection. */
static uint64_t pauses_of(size_t size)
{
    uint64_t before = http_server_figures(server).bodies_paused;
    ask_with_large("k", large_json(size), size);
    assert_status(200);
    assert_has("\"body\":true");
    return http_server_figures(server).bodies_paused - before;
}

static void a_large_body_gives_way_to_others(void **state)
{
    (void)state;
    assert_int_equal(pauses_of(4 * MIB), 0);
    fake_neighbour(true);
    assert_int_equal(pauses_of(LARGE_BYTES), 0); /* not large enough */
    /* A busy machine may read so slowly that no pause is due. */
    for (int i = 0; pauses_of(4 * MIB) == 0; i++)
        assert_in_range(i, 0, 100);
    fake_neighbour(false);
    assert_int_equal(pauses_of(4 * MIB), 0);
}

static void stopping_ends_the_wait_of_a_large_body(void **state)
{
    (void)state;
    fake_neighbour(true);
    open_with_head(&client, "/v1/keyed", "k", 4 * MIB);
    assert_true(client_send(&client, large_json(4 * MIB), 3 * MIB));
    WAIT_UNTIL(http_server_figures(server).bodies_paused > 0);
    http_server_stop(server, 0);
    server = NULL;
    client_close(&client);
    fake_neighbour(false);
}

static void bodies_are_parsed_where_they_belong(void **state)
{
    (void)state;
    unsigned parsed = fake_inputs_read();
    ask("POST", "/v1/keyed", "X-API-Key: k\r\n", "{}");
    assert_has("\"body\":true");
    assert_int_equal(fake_inputs_read(), parsed); /* a small one of a known caller: at once */
    ask("POST", "/v1/keyed", "X-API-Key: new\r\n", "{}");
    assert_has("\"body\":true");
    assert_int_equal(fake_inputs_read(), parsed + 1);
    ask("PATCH", "/v1/keyed", "X-API-Key: k\r\n", large_json(LARGE_BYTES));
    assert_has("\"body\":true");
    assert_int_equal(fake_inputs_read(), parsed + 2);
    ask("POST", "/v1/keyed", "X-API-Key: new\r\n", "{\"a\":");
    assert_status(400);
    WAIT_UNTIL(body_bytes() == 0);
}

static void a_body_in_chunks_is_admitted_first(void **state)
{
    (void)state;
    unsigned checks = fake_checks();
    client_open(&client, port);
    client_send(&client, "POST /v1/keyed HTTP/1.1\r\nHost: x\r\nX-API-Key: new\r\nTransfer-Encoding: chunked\r\n\r\n", 0);
    WAIT_UNTIL(fake_checks() == checks + 1);
    client_send(&client, "8000\r\n", 0);
    client_send(&client, large_json(0x8000), 0x8000);
    client_send(&client, "\r\n0\r\n\r\n", 0);
    assert_true(client_read(&client, &answer, false, PATIENCE_MS));
    assert_status(200);
    assert_has("\"body\":true");
    client_close(&client);
}

static void a_full_rate_window_has_a_large_body_dropped(void **state)
{
    (void)state;
    fake_fill_rate(true);
    open_with_head(&client, "/v1/keyed", "k", LARGE_BYTES);
    assert_true(client_send(&client, large_json(LARGE_BYTES), LARGE_BYTES));
    assert_true(client_read(&client, &answer, false, PATIENCE_MS));
    fake_fill_rate(false);
    assert_status(429);
    client_close(&client);
}

static void a_client_that_leaves_cancels_its_check(void **state)
{
    (void)state;
    unsigned checks = fake_checks();
    unsigned cancelled = fake_cancelled();
    open_with_head(&client, "/v1/keyed", FAKE_SLOW_KEY, LARGE_BYTES);
    WAIT_UNTIL(fake_checks() == checks + 1 && http_server_figures(server).suspended == 1);
    client_close(&client);
    WAIT_UNTIL(fake_cancelled() > cancelled && http_server_figures(server).connections == 0);
}

static void stopping_ends_a_check(void **state)
{
    (void)state;
    open_with_head(&client, "/v1/keyed", FAKE_SLOW_KEY, LARGE_BYTES);
    struct client message;
    open_with_head(&message, "/mcp", FAKE_SLOW_KEY, 50 * 1024);
    WAIT_UNTIL(http_server_figures(server).suspended == 2);
    http_server_stop(server, 0);
    server = NULL;
    client_close(&client);
    client_close(&message);
}

/* ---- /mcp ---- */

static void a_message_is_not_parsed_before_its_credential(void **state)
{
    (void)state;
    unsigned alive = fake_mcp_alive();
    ask("POST", "/mcp", "Host: localhost\r\nContent-Type: application/json\r\nX-API-Key: malformed\r\n", "now");
    assert_status(401);
    assert_string_equal(answer_header(&answer, "WWW-Authenticate"), "Bearer");
    ask("POST", "/mcp", "Host: localhost\r\nContent-Type: application/json\r\nX-API-Key: unknown\r\n", "now");
    assert_status(401);
    open_with_head(&client, "/mcp", FAKE_UNKNOWN_KEY, 50 * 1024);
    assert_true(client_send(&client, large_json(50 * 1024), 50 * 1024));
    assert_true(client_read(&client, &answer, false, PATIENCE_MS));
    assert_status(401);
    client_close(&client);
    assert_int_equal(fake_mcp_alive(), alive);
}

static void a_message_of_a_new_caller_is_handled_on_another_thread(void **state)
{
    (void)state;
    unsigned parsed = fake_inputs_read();
    ask("POST", "/mcp", "Host: localhost\r\nContent-Type: application/json\r\nX-API-Key: new\r\n", "now");
    assert_status(200);
    assert_has("now");
    ask("POST", "/mcp", "Host: localhost\r\nContent-Type: application/json\r\nX-API-Key: new\r\n", "stream");
    assert_status(200);
    ask("POST", "/mcp", "Host: localhost\r\nContent-Type: application/json\r\nX-API-Key: k\r\n", large_json(50 * 1024));
    assert_status(200);
    assert_int_equal(fake_inputs_read(), parsed + 3);
    WAIT_UNTIL(body_bytes() == 0);
}

/* ---- Memory ---- */

static void a_tree_has_a_bound(void **state)
{
    (void)state;
    size_t size = 0;
    large[size++] = '[';
    while (size < 2 * MIB) {
        memcpy(large + size, "[],", 3);
        size += 3;
    }
    large[size - 1] = ']';
    large[size] = '\0';
    ask_with_large("k", large, size);
    assert_status(413);
    assert_has("PAYLOAD_TOO_LARGE");
    assert_has("smaller parts");
}

static void the_memory_of_all_bodies_has_one_bound(void **state)
{
    (void)state;
    const struct http_server_config config = { .listen = "127.0.0.1:0", .body_memory_mib = 96 };
    start_with(&config);
    /* All callers are of one organization, which may hold three quarters. */
    enum { HELD = 18, BODY = 4 * MIB };
    static struct client holding[HELD];
    for (int i = 0; i < HELD; i++)
        open_with_head(&holding[i], "/v1/keyed", "k", BODY);
    WAIT_UNTIL(body_bytes() == (size_t)HELD * BODY);

    ask_with_large("k", large_json(BODY), BODY);
    assert_status(503);
    assert_has("too many large bodies");
    ask("POST", "/v1/keyed", "X-API-Key: k\r\n", "{}"); /* a small one is still read */
    assert_status(200);

    for (int i = 0; i < HELD; i++)
        client_close(&holding[i]);
    WAIT_UNTIL(body_bytes() == 0);
    ask_with_large("k", large_json(BODY), BODY);
    assert_status(200);
}

static void open_report(struct client *to, const char *address)
{
    char head[300];
    snprintf(head, sizeof(head), "POST /reports/ses/x HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: %s\r\nContent-Length: %d\r\n\r\n",
             address, MIB);
    client_open(to, port);
    assert_true(client_send(to, head, 0));
}

static void assert_report_has_no_memory(const char *address)
{
    open_report(&client, address);
    assert_true(client_send(&client, large_json(MIB), MIB));
    assert_true(client_read(&client, &answer, false, PATIENCE_MS));
    client_close(&client);
    assert_status(503);
    assert_has("too many large bodies");
}

/* Nobody knows yet whose bodies these are: 4 MiB of an address, 16 MiB of all addresses. */
static void unknown_callers_hold_an_eighth_of_the_memory(void **state)
{
    (void)state;
    static const char *const addresses[] = { "192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4" };
    enum { OF_EACH = 4, HELD = OF_EACH * (int)ARRAY_COUNT(addresses) };
    static struct client holding[HELD];
    for (int i = 0; i < HELD; i++) {
        open_report(&holding[i], addresses[i / OF_EACH]);
        WAIT_UNTIL(body_bytes() == (size_t)(i + 1) * MIB);
        if (i + 1 == OF_EACH)
            assert_report_has_no_memory(addresses[0]);
    }
    assert_report_has_no_memory("192.0.2.5");
    ask("POST", "/v1/keyed", "X-API-Key: new\r\n", "{\"email\":\"ada@example.org\"}");
    assert_status(200);
    ask_with_large("new", large_json(4 * MIB), 4 * MIB);
    assert_status(200);

    for (int i = 0; i < HELD; i++)
        client_close(&holding[i]);
    WAIT_UNTIL(body_bytes() == 0);
    open_report(&holding[0], addresses[0]);
    WAIT_UNTIL(body_bytes() == MIB);
    client_close(&holding[0]);
}

/* An address has no rate left: its request is answered before its body. */
static void assert_refused_before_its_body(const char *target)
{
    char head[300];
    snprintf(head, sizeof(head),
             "POST %s HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 192.0.2.1\r\nExpect: 100-continue\r\nContent-Length: 20000\r\n\r\n",
             target);
    client_open(&client, port);
    assert_true(client_send(&client, head, 0));
    assert_true(client_read(&client, &answer, false, PATIENCE_MS));
    client_close(&client);
    assert_status(429);
}

static void assert_rate_is_judged(void)
{
    struct gate_address address;
    assert_true(gate_address_of_forwarded("192.0.2.1", &address));
    assert_true(address_gate_take(server->gate, &address, 1000 * ADDRESS_GATE_FULL, clock_monotonic_us()));
    assert_refused_before_its_body("/reports/ses/x");
    assert_refused_before_its_body("/integrations/stripe/webhook/x");
    assert_refused_before_its_body("/u/");
}

static void the_rate_of_an_address_is_judged_before_its_body(void **state)
{
    (void)state;
    const char *const proxies[] = { "127.0.0.1", NULL };
    const struct http_server_config config = { .listen = "127.0.0.1:0", .trusted_proxies = proxies };
    start_with(&config);
    assert_rate_is_judged();
}

/* Without the option, a proxy on this machine names its client as well. */
static void a_client_of_a_local_proxy_has_a_rate(void **state)
{
    (void)state;
    assert_rate_is_judged();
}

/* The tree of a message is counted until the work that reads it has ended. */
static void a_tree_is_counted_when_its_client_has_left(void **state)
{
    (void)state;
    fake_mcp_hold(true);
    client_open(&client, port);
    client_send(&client,
                "POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-API-Key: k\r\nContent-Type: application/json\r\n"
                "Content-Length: 4\r\n\r\nhold",
                0);
    WAIT_UNTIL(http_server_figures(server).suspended == 1);
    client_close(&client);
    WAIT_UNTIL(http_server_figures(server).connections == 0);
    size_t counted = body_bytes();
    fake_mcp_hold(false);
    WAIT_UNTIL(body_bytes() == 0);
    assert_int_equal(counted, FAKE_TREE_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_SERVER(a_malformed_key_has_its_body_dropped),
        WITH_SERVER(a_malformed_key_is_refused_before_the_size),
        WITH_SERVER(an_unknown_key_has_its_large_body_dropped),
        WITH_SERVER(many_dropped_bytes_make_connections_wait),
        WITH_SERVER(stopping_ends_the_wait_of_dropped_bodies),
        WITH_SERVER(a_large_body_gives_way_to_others),
        WITH_SERVER(stopping_ends_the_wait_of_a_large_body),
        WITH_SERVER(bodies_are_parsed_where_they_belong),
        WITH_SERVER(a_body_in_chunks_is_admitted_first),
        WITH_SERVER(a_full_rate_window_has_a_large_body_dropped),
        WITH_SERVER(a_client_that_leaves_cancels_its_check),
        WITH_SERVER(stopping_ends_a_check),
        WITH_SERVER(a_message_is_not_parsed_before_its_credential),
        WITH_SERVER(a_message_of_a_new_caller_is_handled_on_another_thread),
        WITH_SERVER(a_tree_has_a_bound),
        WITH_SERVER(unknown_callers_hold_an_eighth_of_the_memory),
        WITH_OWN_SERVER(the_rate_of_an_address_is_judged_before_its_body),
        WITH_SERVER(a_client_of_a_local_proxy_has_a_rate),
        WITH_SERVER(a_tree_is_counted_when_its_client_has_left),
        WITH_OWN_SERVER(the_memory_of_all_bodies_has_one_bound),
    };
    return cmocka_run_group_tests_name("http_body", tests, NULL, NULL);
}
