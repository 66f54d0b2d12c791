/* Answers: those that wait to be read are counted, and an organization that holds too many is refused before its calls run. */
#include "fixtures/http_case.h"

#include "http/answer_memory.h"

#include <sys/socket.h>

enum {
    MIB = 1024 * 1024,
    BOUND_BYTES = 64 * MIB, /* of an account: 16 of an organization, 8 of unknown callers, 2 of an address */
    SMALLEST_MIB = 96,      /* of the bodies of a server, so that an organization may hold 48 of answers */
    OWN_MIB = 48,
    LARGEST_MIB = 8, /* of the answers of the fakes, with their storage */
    FAKE_WORKERS = 4,
};

/* ---- The account ---- */

static bool has_room(struct answer_memory *memory, int64_t organization_id, uint64_t address)
{
    const struct answer_share share = { .organization_id = organization_id, .address = address };
    struct error err = { .code = ERR_NONE };
    bool has = answer_memory_has_room(memory, &share, &err);
    if (!has) {
        assert_int_equal(err.code, ERR_SERVICE_UNAVAILABLE);
        assert_true(err.retry_after_s > 0);
    }
    return has;
}

static void an_organization_holds_a_quarter(void **state)
{
    (void)state;
    struct answer_memory *memory = answer_memory_new(BOUND_BYTES);
    struct answer_share first = { .organization_id = 1 };
    struct answer_share second = { .organization_id = 1 };
    answer_memory_hold(memory, &first, 10 * MIB);
    assert_true(has_room(memory, 1, 0));
    answer_memory_hold(memory, &second, 10 * MIB); /* a call that was in execution is counted, whatever the bound is */
    assert_false(has_room(memory, 1, 0));
    for (int64_t other = 2; other < 5000; other++)
        assert_true(has_room(memory, other, 0));
    answer_memory_let_go(memory, &second, 9 * MIB);
    assert_true(has_room(memory, 1, 0));
    answer_memory_release(memory, &second);
    answer_memory_release(memory, &first);
    assert_int_equal(answer_memory_used(memory), 0);
    answer_memory_unref(memory);
}

/* Each holds all that it may, and reads nothing. */
static void organizations_that_hold_much_leave_room(void **state)
{
    (void)state;
    enum { HOLDING = 8 };
    struct answer_memory *memory = answer_memory_new(BOUND_BYTES);
    struct answer_share shares[HOLDING];
    for (int i = 0; i < HOLDING; i++) {
        shares[i] = (struct answer_share){ .organization_id = i + 1 };
        while (has_room(memory, i + 1, 0))
            answer_memory_hold(memory, &shares[i], MIB / 2);
    }
    assert_int_equal(shares[0].bytes, BOUND_BYTES / 4);
    assert_in_range(shares[2].bytes, MIB, BOUND_BYTES / 4 - 1);
    assert_true(has_room(memory, 9, 0));
    assert_true(has_room(memory, 0, 1));
    struct answer_share other = { .organization_id = 9 };
    answer_memory_hold(memory, &other, MIB - 1);
    assert_true(has_room(memory, 9, 0));
    answer_memory_hold(memory, &other, 1);
    assert_false(has_room(memory, 9, 0));
    assert_true(has_room(memory, 10, 0));
    answer_memory_release(memory, &other);
    for (int i = 0; i < HOLDING; i++)
        answer_memory_release(memory, &shares[i]);
    assert_int_equal(answer_memory_used(memory), 0);
    answer_memory_unref(memory);
}

static void all_together_hold_the_bound(void **state)
{
    (void)state;
    struct answer_memory *memory = answer_memory_new(BOUND_BYTES);
    struct answer_share shares[5];
    for (int i = 0; i < 5; i++) {
        shares[i] = (struct answer_share){ .organization_id = i + 1 };
        assert_true(has_room(memory, 9, 0));
        answer_memory_hold(memory, &shares[i], 13 * MIB);
    }
    assert_false(has_room(memory, 9, 0));
    for (int i = 0; i < 5; i++)
        answer_memory_release(memory, &shares[i]);
    assert_true(has_room(memory, 9, 0));
    answer_memory_unref(memory);
}

static void unknown_callers_hold_an_eighth(void **state)
{
    (void)state;
    struct answer_memory *memory = answer_memory_new(BOUND_BYTES);
    struct answer_share shares[4];
    for (uint64_t i = 0; i < 4; i++) {
        shares[i] = (struct answer_share){ .address = i + 1 };
        assert_true(has_room(memory, 0, i + 1));
        answer_memory_hold(memory, &shares[i], 2 * MIB);
        assert_false(has_room(memory, 0, i + 1));
    }
    assert_false(has_room(memory, 0, 5));
    assert_false(has_room(memory, 0, 0));
    assert_true(has_room(memory, 1, 0));
    for (int i = 0; i < 4; i++)
        answer_memory_release(memory, &shares[i]);
    assert_true(has_room(memory, 0, 1));
    answer_memory_unref(memory);
}

/* ---- The server ---- */

static size_t answer_bytes(void)
{
    return http_server_figures(server).answer_bytes;
}

static void start_small(void)
{
    const struct http_server_config config = { .listen = "127.0.0.1:0", .body_memory_mib = SMALLEST_MIB };
    start_with(&config);
}

/* Sends the same request on connections of their own, and reads no answer. */
static void ask_and_read_nothing(struct client *clients, int count, const char *request)
{
    for (int i = 0; i < count; i++) {
        client_open(&clients[i], port);
        assert_true(client_send(&clients[i], request, 0));
    }
}

static void close_all(struct client *clients, int count)
{
    for (int i = 0; i < count; i++)
        client_close(&clients[i]);
    WAIT_UNTIL(http_server_figures(server).connections == 0 && answer_bytes() == 0);
}

static void assert_no_room(void)
{
    assert_status(503);
    assert_has("wait to be read");
    assert_string_equal(answer_header(&answer, "Retry-After"), "2");
}

/* The bound, and what all workers of the fakes had in execution. */
static void assert_bounded(void)
{
    assert_in_range(answer_bytes(), OWN_MIB * MIB, (OWN_MIB + FAKE_WORKERS * LARGEST_MIB) * MIB + MIB);
}

static void answers_that_are_not_read_are_bounded(void **state)
{
    (void)state;
    enum { CLIENTS = 40 };
    static struct client clients[CLIENTS];
    start_small();
    unsigned calls = fake_calls();
    ask_and_read_nothing(clients, CLIENTS, "GET /v1/big HTTP/1.1\r\nHost: x\r\n\r\n");
    WAIT_UNTIL(fake_calls() == calls + CLIENTS && http_server_figures(server).suspended == 0);
    assert_bounded();
    ask("GET", "/v1/big", "", NULL);
    assert_no_room();
    ask("POST", "/v1/keyed", "", "{}");
    assert_no_room();
    ask("GET", "/v1/big", "X-API-Key: " FAKE_OTHER_KEY "\r\n", NULL);
    assert_status(200);
    close_all(clients, CLIENTS);
    ask("GET", "/v1/big", "", NULL);
    assert_status(200);
}

#define MESSAGE(size, key)                                                                                                         \
    "POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-API-Key: " key "\r\nContent-Type: application/json\r\nContent-Length: " size       \
    "\r\n\r\n"

static void answers_to_messages_are_bounded(void **state)
{
    (void)state;
    enum { CLIENTS = 6 };
    static const char type[] = "Content-Type: application/json\r\n";
    static const char new_key[] = "X-API-Key: " FAKE_NEW_KEY "\r\nContent-Type: application/json\r\n";
    static const char other_key[] = "X-API-Key: " FAKE_OTHER_KEY "\r\nContent-Type: application/json\r\n";
    static struct client clients[CLIENTS];
    start_small();
    ask_and_read_nothing(clients, CLIENTS, MESSAGE("5", "k") "large");
    WAIT_UNTIL(answer_bytes() == (size_t)CLIENTS * FAKE_LARGE_BYTES);
    ask("POST", "/mcp", type, "now");
    assert_no_room();
    ask("POST", "/mcp", new_key, "now"); /* the call that looks the caller up is refused */
    assert_no_room();
    ask("GET", "/mcp", "", NULL);
    assert_no_room();
    ask("POST", "/mcp", other_key, "now");
    assert_status(200);
    close_all(clients, CLIENTS);
    ask("POST", "/mcp", type, "now");
    assert_status(200);
}

static void streams_that_are_not_read_are_bounded(void **state)
{
    (void)state;
    enum { CLIENTS = 20 };
    static struct client clients[CLIENTS];
    start_small();
    ask_and_read_nothing(clients, CLIENTS, MESSAGE("5", "k") "flood");
    WAIT_UNTIL(http_server_figures(server).suspended == 0 && answer_bytes() >= OWN_MIB * MIB);
    /* The storage of each grows in powers of two. */
    assert_in_range(answer_bytes(), OWN_MIB * MIB, (OWN_MIB + 2 * FAKE_WORKERS * LARGEST_MIB + CLIENTS * 2) * MIB);
    close_all(clients, CLIENTS);
}

static void read_away(struct client *reading, size_t bytes)
{
    while (bytes > 0) {
        ssize_t count = recv(reading->fd, reading->bytes, sizeof(reading->bytes), 0);
        assert_true(count > 0);
        bytes -= (size_t)count < bytes ? (size_t)count : bytes;
    }
}

static void a_stream_that_was_read_holds_nothing(void **state)
{
    (void)state;
    client_open(&client, port);
    assert_true(client_send(&client, MESSAGE("4", "k") "pour", 0));
    WAIT_UNTIL(answer_bytes() >= MIB);
    read_away(&client, (size_t)FAKE_POUR_EVENTS * FAKE_EVENT_BYTES);
    WAIT_UNTIL(answer_bytes() == 0);
    assert_int_equal(http_server_figures(server).streams, 1);
    client_close(&client);
}

static void downloads_that_are_not_read_are_bounded(void **state)
{
    (void)state;
    static struct client reading_nothing;
    static const char request[] = "GET /downloads/abc HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n";
    start_small();
    ask_and_read_nothing(&reading_nothing, 1, request);
    WAIT_UNTIL(answer_bytes() > 2 * 4 * MIB);
    ask("GET", "/downloads/abc", "X-Forwarded-For: 192.0.2.1\r\n", NULL);
    assert_status(503);
    ask("GET", "/downloads/abc", "X-Forwarded-For: 192.0.2.2\r\n", NULL);
    assert_status(200);
    close_all(&reading_nothing, 1);
    ask("GET", "/downloads/abc", "X-Forwarded-For: 192.0.2.1\r\n", NULL);
    assert_status(200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_organization_holds_a_quarter),
        cmocka_unit_test(organizations_that_hold_much_leave_room),
        cmocka_unit_test(all_together_hold_the_bound),
        cmocka_unit_test(unknown_callers_hold_an_eighth),
        WITH_OWN_SERVER(answers_that_are_not_read_are_bounded),
        WITH_OWN_SERVER(answers_to_messages_are_bounded),
        WITH_OWN_SERVER(streams_that_are_not_read_are_bounded),
        WITH_SERVER(a_stream_that_was_read_holds_nothing),
        WITH_OWN_SERVER(downloads_that_are_not_read_are_bounded),
    };
    return cmocka_run_group_tests_name("http: answers", tests, NULL, NULL);
}
