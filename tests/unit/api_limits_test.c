/* The rate gate and the short cache: rolling windows over moved times, and what is believed for a second. */
#include "api/limits.h"
#include "api/short_cache.h"
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
static const struct rate_policy writes = { .name = "writes", .index = 2, .limit = 3, .window_s = 60 };
static const struct rate_policy unlimited = { .name = "unlimited", .index = 3, .limit = 0, .window_s = 60 };

static struct limits *limits; /* one a test */
static struct rate_state rate;

static int setup(void **state)
{
    (void)state;
    limits = limits_new();
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

/* limit, remaining and reset after every call, refused ones too. */
static void test_counts_down(void **state)
{
    (void)state;
    for (int i = 1; i <= 10; i++) {
        assert_true(admit(1000.5));
        assert_int_equal(rate.limit, 10);
        assert_int_equal(rate.remaining, 10 - i);
        assert_true(rate.reset_s > 1000 + 59 && rate.reset_s <= 1000 + 61);
    }
    assert_false(admit(1000.9));
    assert_int_equal(rate.limit, 10);
    assert_int_equal(rate.remaining, 0);
    /* whoever waits until the reset is let in again. */
    assert_false(admit((double)rate.reset_s - 1));
    assert_true(admit((double)rate.reset_s));
}

/* rolling, not a fixed bucket: no 60 seconds ever see more than the limit. */
static void test_the_window_rolls(void **state)
{
    (void)state;
    assert_int_equal(admitted(5, 1000), 5);
    assert_int_equal(admitted(20, 1030), 5);
    assert_int_equal(admitted(20, 1059.9), 0);
    assert_int_equal(admitted(20, 1061), 5);
    assert_int_equal(admitted(20, 1089), 0);
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

/* */
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
}

/* Also where their hashes meet: of many policies, some share a bucket. */
static void test_many_policies_of_one_key(void **state)
{
    (void)state;
    enum { POLICIES = 600 };
    static struct rate_policy policies[POLICIES];
    struct principal who = key(1, 1);
    for (int i = 0; i < POLICIES; i++) {
        policies[i] = (struct rate_policy){ .name = "one of many", .index = i, .limit = 1, .window_s = 60 };
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
    struct principal vast = key(4, 1e300);
    assert_true(admit_as(&vast, &reads, 1000));
    assert_true(rate.limit > INT64_C(1000000));
}

/* whom nothing limits sees a full window that ends in 60 seconds. */
static void test_unlimited_callers(void **state)
{
    (void)state;
    struct principal owner = { .kind = CREDENTIAL_LOCAL_OWNER, .rate_multiplier = 0 };
    for (int i = 0; i < 50; i++)
        assert_true(admit_as(&owner, &reads, 1000));
    assert_int_equal(rate.limit, 10);
    assert_int_equal(rate.remaining, 10);
    assert_int_equal(rate.reset_s, 1060);
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

enum { THREADS = 4 };

static void *admit_much(void *counter)
{
    struct principal who = key(5, 10);
    struct rate_state ignored;
    int *count = counter;
    for (int i = 0; i < 1000; i++)
        *count += limits_admit(limits, &who, &reads, 1000 * US_PER_S, &ignored);
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

/* ---- The short cache ---- */

struct value {
    int64_t number;
    char text[24];
};

static const unsigned char *cache_key(uint32_t set, unsigned char name)
{
    static unsigned char bytes[SHORT_CACHE_KEY_BYTES];
    memset(bytes, name, sizeof(bytes));
    memcpy(bytes, &set, sizeof(set));
    return bytes;
}

static void test_cache_keeps_what_was_put(void **state)
{
    (void)state;
    struct short_cache *cache = short_cache_new(sizeof(struct value));
    struct value value = { 7, "seven" };
    struct value found = { 0, "" };
    assert_false(short_cache_get(cache, cache_key(1, 'a'), &found));
    short_cache_put(cache, cache_key(1, 'a'), &value, short_cache_generation(cache));
    assert_true(short_cache_get(cache, cache_key(1, 'a'), &found));
    assert_int_equal(found.number, 7);
    assert_string_equal(found.text, "seven");
    assert_false(short_cache_get(cache, cache_key(1, 'b'), &found));
    assert_false(short_cache_get(cache, cache_key(2, 'a'), &found));
    value.number = 8;
    short_cache_put(cache, cache_key(1, 'a'), &value, short_cache_generation(cache));
    assert_true(short_cache_get(cache, cache_key(1, 'a'), &found));
    assert_int_equal(found.number, 8);
    short_cache_clear(cache);
    assert_false(short_cache_get(cache, cache_key(1, 'a'), &found));
    short_cache_free(cache);
    short_cache_free(NULL);
}

/* an answer that was asked for before the cache was cleared may be the old truth. */
static void test_cache_forgets_what_is_under_way(void **state)
{
    (void)state;
    struct short_cache *cache = short_cache_new(sizeof(struct value));
    struct value value = { 1, "" };
    struct value found;
    uint64_t before = short_cache_generation(cache);
    short_cache_clear(cache);
    short_cache_put(cache, cache_key(3, 'a'), &value, before);
    assert_false(short_cache_get(cache, cache_key(3, 'a'), &found));
    short_cache_put(cache, cache_key(3, 'a'), &value, short_cache_generation(cache));
    assert_true(short_cache_get(cache, cache_key(3, 'a'), &found));
    short_cache_free(cache);
}

/* A third entry of one set replaces the older one. */
static void test_cache_is_bounded(void **state)
{
    (void)state;
    struct short_cache *cache = short_cache_new(sizeof(struct value));
    struct value value = { 1, "" };
    struct value found;
    short_cache_put(cache, cache_key(5, 'a'), &value, short_cache_generation(cache));
    usleep(2000);
    short_cache_put(cache, cache_key(5, 'b'), &value, short_cache_generation(cache));
    usleep(2000);
    short_cache_put(cache, cache_key(5 + 1024, 'c'), &value, short_cache_generation(cache));
    assert_false(short_cache_get(cache, cache_key(5, 'a'), &found));
    assert_true(short_cache_get(cache, cache_key(5, 'b'), &found));
    assert_true(short_cache_get(cache, cache_key(5 + 1024, 'c'), &found));
    short_cache_free(cache);
}

/* a revocation holds everywhere within a second. */
static void test_cache_believes_for_a_second(void **state)
{
    (void)state;
    struct short_cache *cache = short_cache_new(sizeof(struct value));
    struct value value = { 1, "" };
    struct value found;
    int64_t put_us = clock_monotonic_us();
    short_cache_put(cache, cache_key(9, 'a'), &value, short_cache_generation(cache));
    bool fresh = true;
    while (fresh) {
        usleep(5000);
        fresh = short_cache_get(cache, cache_key(9, 'a'), &found);
    }
    int64_t age_us = clock_monotonic_us() - put_us;
    assert_true(age_us >= US_PER_S);
    assert_true(age_us < US_PER_S + 500 * US_PER_MS);
    /* It is asked for again and believed again. */
    short_cache_put(cache, cache_key(9, 'a'), &value, short_cache_generation(cache));
    assert_true(short_cache_get(cache, cache_key(9, 'a'), &found));
    short_cache_free(cache);
}

static void *use_cache(void *cache)
{
    for (uint32_t i = 0; i < 3000; i++) {
        unsigned char name[SHORT_CACHE_KEY_BYTES] = { (unsigned char)(i % 7) };
        struct value value = { i % 7, "" };
        struct value found;
        short_cache_put(cache, name, &value, short_cache_generation(cache));
        if (short_cache_get(cache, name, &found) && found.number != i % 7)
            return cache;
        if (i % 1000 == 0)
            short_cache_clear(cache);
    }
    return NULL;
}

static void test_cache_in_threads(void **state)
{
    (void)state;
    struct short_cache *cache = short_cache_new(sizeof(struct value));
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use_cache, cache), 0);
    for (int i = 0; i < THREADS; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
    short_cache_free(cache);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_counts_down),
        TEST(test_the_window_rolls),
        TEST(test_no_sixty_seconds_see_more),
        TEST(test_refused_calls_do_not_count),
        TEST(test_keys_and_policies_do_not_share),
        TEST(test_many_policies_of_one_key),
        TEST(test_multipliers),
        TEST(test_unlimited_callers),
        TEST(test_a_clock_that_goes_back),
        TEST(test_idle_windows_are_dropped),
        TEST(test_threads_share_a_window),
        cmocka_unit_test(test_cache_keeps_what_was_put),
        cmocka_unit_test(test_cache_forgets_what_is_under_way),
        cmocka_unit_test(test_cache_is_bounded),
        cmocka_unit_test(test_cache_believes_for_a_second),
        cmocka_unit_test(test_cache_in_threads),
    };
    return cmocka_run_group_tests_name("api: limits, short cache", tests, NULL, NULL);
}
