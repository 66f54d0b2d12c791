/*
 * Stores of the rate limit. Both stores, process memory and a real Redis server, must
 * pass the same tests, with a clock that the test moves. Faults of the network are
 * tested for the Redis store.
 */
#include "api/limits/limit_address.h"
#include "api/limits/limit_redis.h"
#include "api/limits/limits.h"
#include "base/clock.h"
#include "base/log.h"
#include "fixtures/redis_server.h"
#include "fixtures/temp_folder.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

#define START_S INT64_C(1700000000)

static const struct rate_policy reads = { .name = "reads", .index = 1, .limit = 10, .window_s = 60 };
static const struct rate_policy writes = { .name = "writes", .index = 2, .limit = 3, .window_s = 60 };
static const struct rate_policy unlimited = { .name = "unlimited", .index = 3, .limit = 0, .window_s = 60 };

static struct limits_server server;
static struct limit_store *store; /* that of `limits` */
static struct limits *limits;     /* one per test, with its own windows */
static struct rate_state rate;
static char installation[32];

/* ---- The two kinds ---- */

static void begin(struct limit_store *with)
{
    static int tests;
    snprintf(installation, sizeof(installation), "test%d", tests++);
    store = with;
    limits = limits_new(store, installation);
}

static int setup_memory(void **state)
{
    (void)state;
    begin(limit_memory_new());
    return 0;
}

static int setup_redis(void **state)
{
    (void)state;
    struct limit_store *redis = NULL;
    struct error err = { .code = ERR_NONE };
    if (server.pid == 0)
        limits_server_start(&server);
    assert_ok(limit_redis_new(server.address, &redis, &err), &err);
    begin(redis);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    limits_free(limits);
    return 0;
}

static int group_setup(void **state)
{
    (void)state;
    log_set_level(LOG_ERROR);
    signal(SIGPIPE, SIG_IGN); /* as main does */
    limits_server_make(&server);
    limits_server_set_clock(&server, START_S * US_PER_S);
    return 0;
}

static int group_teardown(void **state)
{
    (void)state;
    limits_server_remove(&server);
    return 0;
}

static struct principal key(int64_t key_id, double multiplier)
{
    return (struct principal){ .kind = CREDENTIAL_API_KEY, .key_id = key_id, .rate_multiplier = multiplier };
}

/* Times are seconds since START_S, on the clock of either store. */
static bool admit_as(const struct principal *who, const struct rate_policy *policy, double at_s)
{
    int64_t now_us = START_S * US_PER_S + (int64_t)(at_s * (double)US_PER_S);
    limits_server_set_clock(&server, now_us);
    return limits_admit(limits, who, policy, now_us, &rate);
}

static bool admit(double at_s)
{
    struct principal who = key(1, 1);
    return admit_as(&who, &reads, at_s);
}

static int admitted(int tries, double at_s)
{
    int count = 0;
    for (int i = 0; i < tries; i++)
        count += admit(at_s);
    return count;
}

/* ---- What both must do ---- */

/* R-120: limit, remaining and reset after every call, refused ones too. */
static void test_counts_down(void **state)
{
    (void)state;
    for (int i = 1; i <= 10; i++) {
        assert_true(admit(1000.5));
        assert_int_equal(rate.limit, 10);
        assert_int_equal(rate.remaining, 10 - i);
        assert_int_equal(rate.reset_s, START_S + 1061);
    }
    assert_false(admit(1000.9));
    assert_int_equal(rate.limit, 10);
    assert_int_equal(rate.remaining, 0);
    /* R-121: a caller that waits until the reset is let in again. */
    assert_int_equal(rate.wait_s, 61);
    assert_false(admit(1060.9));
    assert_int_equal(rate.wait_s, 1);
    assert_true(admit(1061));
}

/* R-119: rolling, not a fixed bucket: no 60 seconds ever see more than the limit. */
static void test_the_window_rolls(void **state)
{
    (void)state;
    assert_int_equal(admitted(5, 1000), 5);
    assert_int_equal(admitted(20, 1030), 5);
    assert_int_equal(rate.reset_s, START_S + 1061);
    assert_int_equal(admitted(20, 1060.9), 0);
    assert_int_equal(admitted(20, 1061), 5);
    assert_int_equal(rate.reset_s, START_S + 1091);
    assert_int_equal(admitted(20, 1090.9), 0);
    assert_int_equal(admitted(20, 1091), 5);
    assert_int_equal(admitted(20, 10000), 10);
}

static void test_no_sixty_seconds_see_more(void **state)
{
    (void)state;
    enum { TIMES = 4000 };
    static double times[TIMES];
    int count = 0;
    uint32_t random = 12345;
    double now_s = 5000;
    for (int i = 0; i < TIMES; i++) {
        random = random * 1664525 + 1013904223;
        now_s += (double)(random >> 24) / 40.0;
        if (admit(now_s))
            times[count++] = now_s;
    }
    assert_true(count > 500);
    for (int i = 10; i < count; i++)
        assert_true(times[i] - times[i - 10] > 60);
}

static void test_refused_calls_do_not_count(void **state)
{
    (void)state;
    assert_int_equal(admitted(10, 1000), 10);
    for (int second = 1001; second < 1060; second++)
        assert_int_equal(admitted(5, second), 0);
    assert_int_equal(admitted(20, 1061), 10);
}

/* R-122: neither do a key and a session of one number, nor two installations that share a store. */
static void test_keys_and_policies_do_not_share(void **state)
{
    (void)state;
    struct principal first = key(1, 1);
    struct principal second = key(2, 1);
    for (int i = 0; i < 10; i++)
        assert_true(admit_as(&first, &reads, 1000));
    assert_false(admit_as(&first, &reads, 1000));
    assert_true(admit_as(&second, &reads, 1000));
    assert_int_equal(rate.remaining, 9);
    for (int i = 0; i < 3; i++)
        assert_true(admit_as(&first, &writes, 1000));
    assert_false(admit_as(&first, &writes, 1000));
    assert_int_equal(rate.limit, 3);
    assert_true(admit_as(&second, &writes, 1000));

    struct principal session = { .kind = CREDENTIAL_SESSION, .session_id = 1, .rate_multiplier = 1 };
    assert_true(admit_as(&session, &reads, 1000));
    assert_int_equal(rate.remaining, 9);
}

/* Also where their hashes meet: of many policies, some share a bucket. */
static void test_many_policies_of_one_key(void **state)
{
    (void)state;
    enum { POLICIES = 600, NAME_BYTES = 24 };
    static struct rate_policy policies[POLICIES];
    static char names[POLICIES][NAME_BYTES];
    struct principal who = key(1, 1);
    for (int i = 0; i < POLICIES; i++) {
        snprintf(names[i], sizeof(names[i]), "policy%d", i);
        policies[i] = (struct rate_policy){ .name = names[i], .index = i, .limit = 1, .window_s = 60 };
        assert_true(admit_as(&who, &policies[i], 1000));
    }
    for (int i = 0; i < POLICIES; i++)
        assert_false(admit_as(&who, &policies[i], 1000));
}

static void test_multipliers(void **state)
{
    (void)state;
    struct principal wide = key(1, 2.55);
    for (int i = 0; i < 25; i++)
        assert_true(admit_as(&wide, &reads, 1000));
    assert_false(admit_as(&wide, &reads, 1000));
    assert_int_equal(rate.limit, 25);
    /* A limit that was lowered meanwhile leaves nothing, not less. */
    wide.rate_multiplier = 1;
    assert_false(admit_as(&wide, &reads, 1000));
    assert_int_equal(rate.limit, 10);
    assert_int_equal(rate.remaining, 0);

    struct principal narrow = key(2, 0.1);
    assert_true(admit_as(&narrow, &reads, 1000));
    assert_false(admit_as(&narrow, &reads, 1000));
    struct principal nothing = key(3, 0.01);
    assert_false(admit_as(&nothing, &reads, 1000));
    assert_int_equal(rate.reset_s, START_S + 1060);
    struct principal vast = key(4, 1e300);
    assert_true(admit_as(&vast, &reads, 1000));
    assert_int_equal(rate.limit, INT64_C(1000000000000000));
    assert_int_equal(rate.remaining, INT64_C(999999999999999));
}

/* R-123: whom nothing limits sees a full window that ends in 60 seconds. */
static void test_unlimited_callers(void **state)
{
    (void)state;
    struct principal owner = { .kind = CREDENTIAL_LOCAL_OWNER, .rate_multiplier = 0 };
    for (int i = 0; i < 50; i++)
        assert_true(admit_as(&owner, &reads, 1000));
    assert_int_equal(rate.limit, 10);
    assert_int_equal(rate.remaining, 10);
    assert_int_equal(rate.reset_s, START_S + 1060);
    struct principal anyone = key(1, 1);
    for (int i = 0; i < 500; i++)
        assert_true(admit_as(&anyone, &unlimited, 1000));
    assert_int_equal(rate.limit, 100);
    rate = limits_unlimited(NULL, 2000 * US_PER_S);
    assert_int_equal(rate.limit, 100);
    assert_int_equal(rate.remaining, 100);
    assert_int_equal(rate.reset_s, 2060);
}

static void test_a_clock_that_goes_back(void **state)
{
    (void)state;
    assert_int_equal(admitted(6, 1000), 6);
    assert_int_equal(admitted(6, 900), 4);
    assert_int_equal(admitted(6, 1000), 0);
    assert_int_equal(admitted(20, 1061), 10);
}

enum { THREADS = 4, CALLS = 1000 };

static void *admit_much(void *counter)
{
    struct principal who = key(5, 10);
    struct rate_state ignored;
    int *count = counter;
    for (int i = 0; i < CALLS; i++)
        *count += limits_admit(limits, &who, &reads, START_S * US_PER_S, &ignored);
    return NULL;
}

static void test_threads_share_a_window(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    int counts[THREADS] = { 0 };
    int sum = 0;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, admit_much, &counts[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        sum += counts[i];
    }
    assert_int_equal(sum, 100);
}

/* ---- The server's part ---- */

/* Two processes of an installation share a limit, also with different clocks; another installation has its own. */
static void test_stores_share_by_the_servers_clock(void **state)
{
    (void)state;
    struct limit_store *other_store;
    struct error err = { .code = ERR_NONE };
    struct principal who = key(1, 1);
    assert_ok(limit_redis_new(server.address, &other_store, &err), &err);
    struct limits *other = limits_new(other_store, installation);
    limits_server_set_clock(&server, START_S * US_PER_S);
    for (int i = 1; i <= 10; i++) {
        int64_t own_clock_us = i * INT64_C(1000000000000);
        assert_true(limits_admit(i % 2 == 0 ? limits : other, &who, &reads, own_clock_us, &rate));
        assert_int_equal(rate.remaining, 10 - i);
        assert_int_equal(rate.reset_s, START_S + 61);
    }
    assert_false(limits_admit(other, &who, &reads, 0, &rate));
    assert_int_equal(rate.wait_s, 61);
    limits_free(other);

    assert_ok(limit_redis_new(server.address, &other_store, &err), &err);
    other = limits_new(other_store, "another");
    assert_true(limits_admit(other, &who, &reads, 0, &rate));
    assert_int_equal(rate.remaining, 9);
    limits_free(other);
}

static void test_windows_expire(void **state)
{
    (void)state;
    limits_server_do(&server, "FLUSHALL");
    assert_true(admit(20000));
    assert_true(admit(20030));
    assert_int_equal(limits_server_do(&server, "DBSIZE"), 1);
    limits_server_set_clock(&server, (START_S + 20089) * US_PER_S);
    char window[96];
    snprintf(window, sizeof(window), "EXISTS posthorn:%s:rate:reads:key:1", installation);
    assert_int_equal(limits_server_do(&server, window), 1);
    limits_server_set_clock(&server, (START_S + 20093) * US_PER_S);
    assert_int_equal(limits_server_do(&server, window), 0);
}

/* Callers do not notice flushed scripts or closed connections. */
static void test_what_a_server_may_forget(void **state)
{
    (void)state;
    assert_true(admit(1000));
    limits_server_do(&server, "SCRIPT FLUSH SYNC");
    assert_true(admit(1000));
    assert_int_equal(rate.remaining, 8);
    limits_server_do(&server, "CLIENT KILL TYPE normal SKIPME yes");
    assert_true(admit(1000));
    assert_int_equal(rate.remaining, 7);
    assert_true(limits_are_counted(limits));
}

/* R-123 */
static void assert_gate_is_open(void)
{
    struct principal who = key(1, 2);
    for (int i = 0; i < 50; i++) {
        assert_true(limits_admit(limits, &who, &reads, (START_S + 7) * US_PER_S, &rate));
        assert_int_equal(rate.limit, 20);
        assert_int_equal(rate.remaining, 20);
        assert_int_equal(rate.reset_s, START_S + 67);
    }
    assert_false(limits_are_counted(limits));
}

static void wait_until_counted(void)
{
    int64_t deadline_us = clock_monotonic_us() + 60 * US_PER_S;
    while (!limits_are_counted(limits)) {
        assert_true(clock_monotonic_us() < deadline_us);
        usleep(10000);
    }
}

static void test_a_store_that_is_killed(void **state)
{
    (void)state;
    assert_true(admit(1000));
    limits_server_signal(&server, SIGKILL);
    assert_gate_is_open();
    limits_server_start(&server);
    wait_until_counted();
    assert_int_equal(admitted(20, 1000), 10);
}

/* Its silence costs one call the time-out of an answer, the others nothing. */
static void test_a_store_that_is_stopped(void **state)
{
    (void)state;
    assert_int_equal(admitted(20, 1000), 10);
    limits_server_signal(&server, SIGSTOP);
    int64_t started_us = clock_monotonic_us();
    assert_gate_is_open();
    int64_t took_us = clock_monotonic_us() - started_us;
    assert_true(took_us >= 240 * US_PER_MS);
    assert_true(took_us < 5 * US_PER_S); /* 50 calls, of which each would wait a quarter of a second */
    limits_server_signal(&server, SIGCONT);
    wait_until_counted();
    assert_false(admit(1000));
}

/* One that answers but cannot count is of no use either. */
static void test_a_store_that_is_full(void **state)
{
    (void)state;
    limits_server_do(&server, "CONFIG SET maxmemory 1");
    assert_gate_is_open();
    limits_server_do(&server, "CONFIG SET maxmemory 0");
    wait_until_counted();
    assert_int_equal(admitted(20, 1000), 10);
}

static void test_a_store_that_comes_later(void **state)
{
    (void)state;
    struct error err = { .code = ERR_NONE };
    limits_server_signal(&server, SIGKILL);
    struct limit_store *redis;
    assert_ok(limit_redis_new(server.address, &redis, &err), &err);
    begin(redis);
    assert_gate_is_open();
    limits_server_start(&server);
    wait_until_counted();
    assert_int_equal(admitted(20, 1000), 10);
    limits_free(limits);
}

/* An address with a database and a login; the displayed address has no password. */
static void test_a_log_in(void **state)
{
    (void)state;
    static const struct {
        const char *login;
        bool counts;
    } tries[] = {
        { "gate:p%40ss@", true },
        { "gate:wrong@", false },
        { ":def%2Fault@", true },
        { "", false },
    };
    limits_server_do(&server, "ACL SETUSER gate on >p@ss ~posthorn:* +@all");
    limits_server_do(&server, "CONFIG SET requirepass def/ault");
    for (size_t i = 0; i < ARRAY_COUNT(tries); i++) {
        char address[256];
        struct limit_store *redis;
        struct limit_redis_facts facts;
        struct error err = { .code = ERR_NONE };
        snprintf(address, sizeof(address), "unix://%s%s?db=3", tries[i].login, server.socket_path);
        assert_ok(limit_redis_new(address, &redis, &err), &err);
        assert_int_equal(redis->operations->answers(redis), tries[i].counts);
        limit_redis_probe(redis, &facts);
        assert_int_equal(facts.problem[0] == '\0', tries[i].counts);
        assert_int_equal(facts.server[0] != '\0', tries[i].counts);
        assert_null(strstr(facts.name, "ss"));
        assert_null(strstr(facts.name, "ault"));
        redis->operations->close(redis);
    }
    limits_server_signal(&server, SIGKILL);
}

/* ---- Addresses ---- */

static void test_addresses(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *name;
        const char *host;
        const char *user;
        const char *password;
    } good[] = {
        { "redis://cache", "redis://cache:6379/0", "cache", NULL, NULL },
        { "redis://cache:7000/5", "redis://cache:7000/5", "cache", NULL, NULL },
        { "redis://:secret@10.0.0.1/", "redis://10.0.0.1:6379/0", "10.0.0.1", NULL, "secret" },
        { "redis://me:s%3Acr%2Ft@[::1]:1", "redis://[::1]:1/0", "::1", "me", "s:cr/t" },
        { "unix:///run/valkey.sock", "unix:///run/valkey.sock?db=0", NULL, NULL, NULL },
        { "unix:///run/valkey.sock?db=2", "unix:///run/valkey.sock?db=2", NULL, NULL, NULL },
        { "unix://me:secret@/run/valkey.sock", "unix:///run/valkey.sock?db=0", NULL, "me", "secret" },
    };
    for (size_t i = 0; i < ARRAY_COUNT(good); i++) {
        struct limit_address address;
        const char *why = "";
        if (!limit_address_read(good[i].text, &address, &why))
            fail_msg("%s: %s", good[i].text, why);
        assert_string_equal(address.name, good[i].name);
        assert_string_equal(address.host != NULL ? address.host : "-", good[i].host != NULL ? good[i].host : "-");
        assert_string_equal(address.user != NULL ? address.user : "-", good[i].user != NULL ? good[i].user : "-");
        assert_string_equal(address.password != NULL ? address.password : "-", good[i].password != NULL ? good[i].password : "-");
        limit_address_done(&address);
    }
    static const char *const bad[] = {
        "",
        "cache:6379",
        "http://cache",
        "redis://",
        "redis://cache:0",
        "redis://cache:99999",
        "redis://cache/first",
        "redis://cache/-1",
        "redis://cache/0/1",
        "redis://cache?db=1",
        "redis://cache%4:1/0",
        "redis://cache#1",
        "redis://me@cache",
        "redis://me:se%00cret@cache",
        "redis://me:@cache",
        "rediss://me:secret@cache",
        "unix://host/run/valkey.sock",
        "unix:///",
        "unix:///run/valkey.sock?database=2",
        "unix:///run/valkey.sock?db=x",
        "unix:///0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678",
    };
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
        struct limit_store *redis;
        struct error err = { .code = ERR_NONE };
        if (limit_redis_new(bad[i], &redis, &err))
            fail_msg("%s was taken", bad[i]);
        assert_string_equal(err.param, "--limit-store");
        assert_null(strstr(err.message, "secret"));
    }
}

#define OVER(kind, test)                                                                                                           \
    {                                                                                                                              \
#test " (" #kind ")", test, setup_##kind, teardown, NULL                                                                   \
    }
#define BOTH(test) OVER(memory, test), OVER(redis, test)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(test_counts_down),
        BOTH(test_the_window_rolls),
        BOTH(test_no_sixty_seconds_see_more),
        BOTH(test_refused_calls_do_not_count),
        BOTH(test_keys_and_policies_do_not_share),
        BOTH(test_many_policies_of_one_key),
        BOTH(test_multipliers),
        BOTH(test_unlimited_callers),
        BOTH(test_a_clock_that_goes_back),
        BOTH(test_threads_share_a_window),
        OVER(redis, test_stores_share_by_the_servers_clock),
        OVER(redis, test_windows_expire),
        OVER(redis, test_what_a_server_may_forget),
        OVER(redis, test_a_store_that_is_killed),
        OVER(redis, test_a_store_that_is_stopped),
        OVER(redis, test_a_store_that_is_full),
        cmocka_unit_test(test_a_store_that_comes_later),
        OVER(redis, test_a_log_in),
        cmocka_unit_test(test_addresses),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
