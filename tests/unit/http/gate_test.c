/*
 * Rate limit of requests without a credential, by client address: bursts, recovery,
 * and addresses that share a limit.
 */
#include "crypto/keys.h"
#include "http/address_gate.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const int64_t second_us = 1000000;

static struct gate_address forwarded(const char *text)
{
    struct gate_address address;
    if (!gate_address_of_forwarded(text, &address))
        fail_msg("'%s' is no address", text);
    return address;
}

/* How often an address may take `units` at one moment. */
static int takes(struct address_gate *gate, const char *text, int64_t units, int64_t now_us)
{
    struct gate_address address = forwarded(text);
    int count = 0;
    while (count < ADDRESS_GATE_FULL + 1 && address_gate_take(gate, &address, units, now_us))
        count++;
    return count;
}

static void test_a_burst_and_its_recovery(void **state)
{
    (void)state;
    struct arena *arena = arena_new(0);
    struct address_gate *gate = address_gate_new(arena);
    int64_t now_us = 12345 * second_us;
    assert_int_equal(takes(gate, "192.0.2.1", 1, now_us), ADDRESS_GATE_FULL);
    assert_int_equal(takes(gate, "192.0.2.1", 1, now_us), 0);
    assert_int_equal(takes(gate, "192.0.2.1", 1, now_us + second_us), ADDRESS_GATE_PER_S);
    assert_int_equal(takes(gate, "192.0.2.1", 1, now_us + 1000 * second_us), ADDRESS_GATE_FULL);
    arena_free(arena);
}

/* What costs more is had less often, and a debt beyond the bottom is waited for. */
static void test_dear_requests(void **state)
{
    (void)state;
    struct arena *arena = arena_new(0);
    struct address_gate *gate = address_gate_new(arena);
    assert_int_equal(takes(gate, "192.0.2.1", 900, second_us), 3);
    assert_int_equal(takes(gate, "192.0.2.1", 1, second_us * 14), 0);
    assert_true(takes(gate, "192.0.2.1", 1, second_us * 16) > 0);
    arena_free(arena);
}

/* Of many addresses hardly any meets an exhausted bucket. */
static void test_others_go_on(void **state)
{
    (void)state;
    struct arena *arena = arena_new(0);
    struct address_gate *gate = address_gate_new(arena);
    int met = 0;
    takes(gate, "192.0.2.1", ADDRESS_GATE_FULL, second_us);
    for (int i = 0; i < 200; i++)
        met += takes(gate, arena_printf(arena, "198.51.100.%d", i), ADDRESS_GATE_FULL, second_us) == 0;
    assert_in_range(met, 0, 40); /* 200 of them in 4096 buckets: about five meet each other */
    arena_free(arena);
}

static bool is_same(const char *left, const char *right)
{
    struct gate_address a = forwarded(left);
    struct gate_address b = forwarded(right);
    return memcmp(&a, &b, sizeof(a)) == 0;
}

static void test_whose_requests_count_together(void **state)
{
    (void)state;
    assert_true(is_same("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::1"));
    assert_false(is_same("2001:db8:1:2::1", "2001:db8:1:3::1"));
    assert_false(is_same("192.0.2.1", "192.0.2.2"));
    assert_true(is_same("::ffff:192.0.2.1", "192.0.2.1"));
    /* A client may write what it likes in front of what the proxy adds. */
    assert_true(is_same("192.0.2.9, 203.0.113.5, 192.0.2.1", "192.0.2.1"));
    assert_true(is_same("forged,\t192.0.2.1 ", "192.0.2.1"));
}

static void test_what_is_not_counted(void **state)
{
    (void)state;
    static const char *const none[] = { "",           "127.0.0.1",
                                        "::1",        "::ffff:127.0.0.1",
                                        "unknown",    "192.0.2.1:80",
                                        "192.0.2.1,", "1234567890123456789012345678901234567890123456789012345678901234567890" };
    struct gate_address address;
    for (size_t i = 0; i < ARRAY_COUNT(none); i++)
        if (gate_address_of_forwarded(none[i], &address))
            fail_msg("'%s' was counted", none[i]);
    assert_false(gate_address_of_forwarded(NULL, &address));
    assert_false(gate_address_of_peer(NULL, &address));
    struct sockaddr_in peer = { .sin_family = AF_INET };
    assert_int_equal(inet_pton(AF_INET, "192.0.2.1", &peer.sin_addr), 1);
    assert_true(gate_address_of_peer((struct sockaddr *)&peer, &address));
    assert_int_equal(inet_pton(AF_INET, "127.1.2.3", &peer.sin_addr), 1);
    assert_false(gate_address_of_peer((struct sockaddr *)&peer, &address));
}

int main(void)
{
    crypto_start();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_burst_and_its_recovery),
        cmocka_unit_test(test_dear_requests),
        cmocka_unit_test(test_others_go_on),
        cmocka_unit_test(test_whose_requests_count_together),
        cmocka_unit_test(test_what_is_not_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
