/* Policies and nice values, as the kernel tells them. */
#include "fixtures/own_fail.h"

#include "base/scheduling.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOW_NICE = 10, MAX_NICE = 19, TRIES = 100, PAUSE_US = 20000 };

struct seen {
    int slow_policy;
    int slow_nice;
    int reset_policy;
    int low_policy;
    int low_nice;
    int twice_nice;
};

static int nice_of(pid_t thread)
{
    return getpriority(PRIO_PROCESS, (id_t)thread);
}

static int lowered(int nice)
{
    return nice + LOW_NICE < MAX_NICE ? nice + LOW_NICE : MAX_NICE;
}

static void *lower_twice(void *data)
{
    struct seen *seen = data;
    scheduling_low_thread();
    seen->twice_nice = nice_of(gettid());
    return NULL;
}

static void *change_policies(void *data)
{
    struct seen *seen = data;
    scheduling_slow_thread();
    seen->slow_policy = sched_getscheduler(0);
    seen->slow_nice = nice_of(gettid());
    scheduling_reset();
    seen->reset_policy = sched_getscheduler(0);
    scheduling_low_thread();
    seen->low_policy = sched_getscheduler(0);
    seen->low_nice = nice_of(gettid());
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, lower_twice, seen), 0);
    pthread_join(thread, NULL);
    return NULL;
}

static void test_a_thread_is_marked_and_reset(void **state)
{
    (void)state;
    struct seen seen;
    pthread_t thread;
    int before = nice_of(getpid());
    assert_int_equal(pthread_create(&thread, NULL, change_policies, &seen), 0);
    pthread_join(thread, NULL);
    assert_int_equal(seen.slow_policy, SCHED_BATCH);
    assert_int_equal(seen.slow_nice, before);
    assert_int_equal(seen.reset_policy, SCHED_OTHER);
    assert_int_equal(seen.low_policy, SCHED_BATCH);
    assert_int_equal(seen.low_nice, lowered(before));
    assert_int_equal(seen.twice_nice, lowered(before));
    assert_int_equal(sched_getscheduler(0), SCHED_OTHER);
    assert_int_equal(nice_of(getpid()), before);
}

/* The child is a session, as a server process of PostgreSQL is. */
static void test_another_process_is_lowered(void **state)
{
    (void)state;
    int before = nice_of(getpid());
    pid_t child = fork();
    if (child == 0) {
        setsid();
        pause();
        _exit(0);
    }
    assert_true(child > 0);
    bool done = false;
    for (int i = 0; i < TRIES && !done; i++) {
        done = scheduling_low_process(child);
        if (!done)
            usleep(PAUSE_US);
    }
    int nice = nice_of(child);
    int policy = sched_getscheduler(child);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_true(done);
    assert_int_equal(nice, lowered(before));
    assert_int_equal(policy, SCHED_BATCH);
    /* A process that has ended is no reason to try again. */
    assert_true(scheduling_low_process(child));
}

static void test_there_is_a_processor(void **state)
{
    (void)state;
    assert_true(scheduling_processors() >= 1);
    assert_true(scheduling_processors() <= (int)sysconf(_SC_NPROCESSORS_CONF));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_thread_is_marked_and_reset),
        cmocka_unit_test(test_another_process_is_lowered),
        cmocka_unit_test(test_there_is_a_processor),
    };
    return cmocka_run_group_tests_name("base: scheduling", tests, NULL, NULL);
}
