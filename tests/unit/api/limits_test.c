/*
 * Rate limit with many callers, and the TTL cache, whose entries are valid for a
 * second. limit_stores_test.c has the other tests of rate limits.
 */
#include "api/limits/limits.h"
#include "api/ttl_cache.h"
#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

static const struct rate_policy reads = { .name = "reads", .index = 1, .limit = 10, .window_s = 60 };

static struct limits *limits; /* one per test */
static struct rate_state rate;

static int setup(void **state)
{
    (void)state;
    limits = limits_new(NULL, "test");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    limits_free(limits);
    return 0;
}

static struct principal key(int64_t key_id, double multiplier)
{
    return (struct principal){ .kind = CREDENTIAL_API_KEY, .key_id = key_id, .rate_multiplier = multiplier };
}

static bool admit_as(const struct principal *who, const struct rate_policy *policy, double at_s)
{
    return limits_admit(limits, who, policy, (int64_t)(at_s * (double)US_PER_S), &rate);
}

/* Many more callers than the gate keeps windows for: idle ones are forgotten, busy ones are not. */
static void test_idle_windows_are_dropped(void **state)
{
    (void)state;
    struct principal busy = key(INT64_C(1) << 40, 1);
    for (int i = 0; i < 10; i++)
        assert_true(admit_as(&busy, &reads, 1000));
    for (int64_t i = 0; i < 150000; i++) {
        struct principal passing = key(i, 1);
        assert_true(admit_as(&passing, &reads, 1055));
    }
    assert_false(admit_as(&busy, &reads, 1059));
    for (int64_t i = 0; i < 150000; i++) {
        struct principal passing = key(i + 1000000, 1);
        assert_true(admit_as(&passing, &reads, 1200));
    }
    for (int i = 0; i < 10; i++)
        assert_true(admit_as(&busy, &reads, 1200));
    assert_false(admit_as(&busy, &reads, 1200));
}

/* ---- The TTL cache ---- */

enum { THREADS = 4 };

struct value {
    int64_t number;
    char text[24];
};

static const unsigned char *cache_key(uint32_t set, unsigned char name)
{
    static unsigned char bytes[TTL_CACHE_KEY_BYTES];
    memset(bytes, name, sizeof(bytes));
    memcpy(bytes, &set, sizeof(set));
    return bytes;
}

static void test_cache_keeps_what_was_put(void **state)
{
    (void)state;
    struct ttl_cache *cache = ttl_cache_new(sizeof(struct value));
    struct value value = { 7, "seven" };
    struct value found = { 0, "" };
    assert_false(ttl_cache_get(cache, cache_key(1, 'a'), &found));
    ttl_cache_put(cache, cache_key(1, 'a'), &value, ttl_cache_generation(cache));
    assert_true(ttl_cache_get(cache, cache_key(1, 'a'), &found));
    assert_int_equal(found.number, 7);
    assert_string_equal(found.text, "seven");
    assert_false(ttl_cache_get(cache, cache_key(1, 'b'), &found));
    assert_false(ttl_cache_get(cache, cache_key(2, 'a'), &found));
    value.number = 8;
    ttl_cache_put(cache, cache_key(1, 'a'), &value, ttl_cache_generation(cache));
    assert_true(ttl_cache_get(cache, cache_key(1, 'a'), &found));
    assert_int_equal(found.number, 8);
    ttl_cache_clear(cache);
    assert_false(ttl_cache_get(cache, cache_key(1, 'a'), &found));
    ttl_cache_free(cache);
    ttl_cache_free(NULL);
}

/* an answer that was asked for before the cache was cleared may be the old truth. */
static void test_cache_forgets_what_is_under_way(void **state)
{
    (void)state;
    struct ttl_cache *cache = ttl_cache_new(sizeof(struct value));
    struct value value = { 1, "" };
    struct value found;
    uint64_t before = ttl_cache_generation(cache);
    ttl_cache_clear(cache);
    ttl_cache_put(cache, cache_key(3, 'a'), &value, before);
    assert_false(ttl_cache_get(cache, cache_key(3, 'a'), &found));
    ttl_cache_put(cache, cache_key(3, 'a'), &value, ttl_cache_generation(cache));
    assert_true(ttl_cache_get(cache, cache_key(3, 'a'), &found));
    ttl_cache_free(cache);
}

/* A third entry of one set replaces the older one. */
static void test_cache_is_bounded(void **state)
{
    (void)state;
    struct ttl_cache *cache = ttl_cache_new(sizeof(struct value));
    struct value value = { 1, "" };
    struct value found;
    ttl_cache_put(cache, cache_key(5, 'a'), &value, ttl_cache_generation(cache));
    usleep(2000);
    ttl_cache_put(cache, cache_key(5, 'b'), &value, ttl_cache_generation(cache));
    usleep(2000);
    ttl_cache_put(cache, cache_key(5 + 1024, 'c'), &value, ttl_cache_generation(cache));
    assert_false(ttl_cache_get(cache, cache_key(5, 'a'), &found));
    assert_true(ttl_cache_get(cache, cache_key(5, 'b'), &found));
    assert_true(ttl_cache_get(cache, cache_key(5 + 1024, 'c'), &found));
    ttl_cache_free(cache);
}

/* a revocation holds everywhere within a second. */
static void test_cache_believes_for_a_second(void **state)
{
    (void)state;
    struct ttl_cache *cache = ttl_cache_new(sizeof(struct value));
    struct value value = { 1, "" };
    struct value found;
    int64_t before_us = clock_monotonic_us();
    ttl_cache_put(cache, cache_key(9, 'a'), &value, ttl_cache_generation(cache));
    int64_t put_us = clock_monotonic_us();
    int64_t asked_us = put_us;
    /* What counts is when it was asked, not when it answered. */
    for (; ttl_cache_get(cache, cache_key(9, 'a'), &found); asked_us = clock_monotonic_us()) {
        assert_true(asked_us - put_us <= US_PER_S);
        usleep(5000);
    }
    assert_true(clock_monotonic_us() - before_us >= US_PER_S);
    /* It is loaded again and cached again. */
    ttl_cache_put(cache, cache_key(9, 'a'), &value, ttl_cache_generation(cache));
    assert_true(ttl_cache_get(cache, cache_key(9, 'a'), &found));
    ttl_cache_free(cache);
}

static void *use_cache(void *cache)
{
    for (uint32_t i = 0; i < 3000; i++) {
        unsigned char name[TTL_CACHE_KEY_BYTES] = { (unsigned char)(i % 7) };
        struct value value = { i % 7, "" };
        struct value found;
        ttl_cache_put(cache, name, &value, ttl_cache_generation(cache));
        if (ttl_cache_get(cache, name, &found) && found.number != i % 7)
            return cache;
        if (i % 1000 == 0)
            ttl_cache_clear(cache);
    }
    return NULL;
}

static void test_cache_in_threads(void **state)
{
    (void)state;
    struct ttl_cache *cache = ttl_cache_new(sizeof(struct value));
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use_cache, cache), 0);
    for (int i = 0; i < THREADS; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
    ttl_cache_free(cache);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_idle_windows_are_dropped),
        cmocka_unit_test(test_cache_keeps_what_was_put),
        cmocka_unit_test(test_cache_forgets_what_is_under_way),
        cmocka_unit_test(test_cache_is_bounded),
        cmocka_unit_test(test_cache_believes_for_a_second),
        cmocka_unit_test(test_cache_in_threads),
    };
    return cmocka_run_group_tests_name("api: limits, TTL cache", tests, NULL, NULL);
}
