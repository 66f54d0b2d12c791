/*
 * rate_limit_time: measures the rate limits alone. Threads count calls of many keys
 * and policies in a limit store, which is memory or --store, as fast as
 * possible. Prints processor time and elapsed time a call as one JSON line.
 */
#include "api/limits/limit_redis.h"
#include "api/limits/limits.h"
#include "base/clock.h"
#include "base/text.h"
#include "catalogue/policies.h"

#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 2, POLICIES = 8, WARM_UP_CALLS = 20000 };

static const char *store_address; /* NULL: memory */
static int64_t keys = 1000;
static int64_t calls = 2000000; /* a thread */

static struct limits *limits;

struct turn {
    pthread_t thread;
    int number;
    double processor_ns; /* a call */
    double elapsed_ns;
};

static double now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void count_calls(int number, int64_t count)
{
    struct rate_state rate;
    for (int64_t i = 0; i < count; i++) {
        struct principal who = {
            .kind = CREDENTIAL_API_KEY,
            .key_id = 1 + (i * THREADS + number) % keys,
            .rate_multiplier = 1000000,
        };
        if (!limits_admit(limits, &who, &rate_policies[i % POLICIES], clock_now_us(), &rate) || !limits_are_counted(limits))
            exit(EXIT_FAILURE); /* the call was not counted in the store */
    }
}

static void *take_turn(void *of)
{
    struct turn *turn = of;
    count_calls(turn->number, calls < WARM_UP_CALLS ? calls : WARM_UP_CALLS);
    double processor_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
    double elapsed_ns = now_ns(CLOCK_MONOTONIC);
    count_calls(turn->number, calls);
    turn->processor_ns = (now_ns(CLOCK_THREAD_CPUTIME_ID) - processor_ns) / (double)calls;
    turn->elapsed_ns = (now_ns(CLOCK_MONOTONIC) - elapsed_ns) / (double)calls;
    return NULL;
}

static void read_options(int argc, char **argv)
{
    static const struct option known[] = {
        { "store", required_argument, NULL, 's' },
        { "keys", required_argument, NULL, 'k' },
        { "calls", required_argument, NULL, 'c' },
        { NULL, 0, NULL, 0 },
    };
    bool right = true;
    for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (option == 's')
            store_address = optarg;
        else if (option == 'k')
            right = right && int64_parse(optarg, &keys) && keys > 0;
        else if (option == 'c')
            right = right && int64_parse(optarg, &calls) && calls > 0;
        else
            right = false;
    }
    if (right && optind == argc)
        return;
    fprintf(stderr, "usage: rate_limit_time [--store ADDRESS] [--keys N] [--calls N]\n");
    exit(2);
}

int main(int argc, char **argv)
{
    struct limit_store *store = NULL;
    struct error err = { .code = ERR_NONE };
    struct turn turns[THREADS];
    double processor_ns = 0;
    double elapsed_ns = 0;
    signal(SIGPIPE, SIG_IGN);
    read_options(argc, argv);
    if (store_address != NULL && !limit_redis_new(store_address, &store, &err)) {
        fprintf(stderr, "rate_limit_time: %s\n", err.message);
        return 2;
    }
    limits = limits_new(store, "rate_limit_time");
    for (int i = 0; i < THREADS; i++) {
        turns[i] = (struct turn){ .number = i };
        if (pthread_create(&turns[i].thread, NULL, take_turn, &turns[i]) != 0)
            abort();
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(turns[i].thread, NULL);
        processor_ns += turns[i].processor_ns / THREADS;
        elapsed_ns += turns[i].elapsed_ns / THREADS;
    }
    limits_free(limits);
    printf("{\"processorNs\":%.1f,\"elapsedNs\":%.1f}\n", processor_ns, elapsed_ns);
    return 0;
}
