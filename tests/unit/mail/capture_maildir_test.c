/* Capture outbox (Maildir): delivery, replacement after a crash, limits, and disk errors. */
#include "mail/capture_maildir.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const struct capture_amount wide = { .messages = 1000, .bytes = 1000000 };

struct folder {
    char path[64];
};

static int make_folder(void **state)
{
    struct folder *folder = calloc(1, sizeof(*folder));
    snprintf(folder->path, sizeof(folder->path), "/tmp/outbox_test.XXXXXX");
    *state = folder;
    return mkdtemp(folder->path) != NULL ? 0 : -1;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status;
    (void)kind;
    (void)walk;
    return remove(path);
}

static int remove_folder(void **state)
{
    struct folder *folder = *state;
    nftw(folder->path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    free(folder);
    return 0;
}

static struct capture_maildir *open_outbox(const struct folder *folder, struct capture_amount bound,
                                           enum capture_maildir_sync sync)
{
    char path[80];
    snprintf(path, sizeof(path), "%s/box", folder->path);
    struct error err = { .code = ERR_NONE };
    struct capture_maildir *outbox = NULL;
    if (!capture_maildir_open(path, bound, sync, &outbox, &err))
        fail_msg("%s: %s", err.message, err.cause);
    return outbox;
}

/* The message of an owner, or of none. */
static struct captured_message message_of(const char *owner, const char *id, const char *text)
{
    return (struct captured_message){ .id = id, .owner = owner, .text = { (const unsigned char *)text, strlen(text) } };
}

static void deliver_of(struct capture_maildir *outbox, const char *owner, const char *id, const char *text)
{
    struct error err = { .code = ERR_NONE };
    struct captured_message message = message_of(owner, id, text);
    bool is_full;
    if (!capture_maildir_deliver(outbox, &message, &is_full, &err))
        fail_msg("%s: %s", err.message, err.cause);
    assert_false(is_full);
}

static void deliver(struct capture_maildir *outbox, const char *id, const char *text)
{
    deliver_of(outbox, NULL, id, text);
}

static void assert_full_for(struct capture_maildir *outbox, const char *owner, const char *id, const char *text)
{
    struct error err = { .code = ERR_NONE };
    struct captured_message message = message_of(owner, id, text);
    bool is_full = false;
    assert_false(capture_maildir_deliver(outbox, &message, &is_full, &err));
    assert_int_equal(err.code, ERR_SERVICE_UNAVAILABLE);
    assert_true(is_full);
}

static void assert_full(struct capture_maildir *outbox, const char *id, const char *text)
{
    assert_full_for(outbox, NULL, id, text);
}

static void assert_refused(struct capture_maildir *outbox, struct captured_message message, enum error_code code)
{
    struct error err = { .code = ERR_NONE };
    bool is_full = true;
    assert_false(capture_maildir_deliver(outbox, &message, &is_full, &err));
    assert_int_equal(err.code, code);
    assert_false(is_full);
}

static void assert_usage(struct capture_maildir *outbox, uint64_t messages, uint64_t bytes)
{
    struct error err = { .code = ERR_NONE };
    struct capture_amount usage;
    assert_true(capture_maildir_measure(outbox, &usage, &err));
    assert_int_equal(usage.messages, messages);
    assert_int_equal(usage.bytes, bytes);
}

static void join(const struct folder *folder, const char *name, char ret_path[256])
{
    snprintf(ret_path, 256, "%s/box/%s", folder->path, name);
}

static void assert_file(const struct folder *folder, const char *name, const char *expected)
{
    char path[256];
    char text[256] = "";
    join(folder, name, path);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t size = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[size] = '\0';
    assert_string_equal(text, expected);
}

static void test_delivers_into_new(void **state)
{
    const struct folder *folder = *state;
    struct capture_maildir *outbox = open_outbox(folder, wide, CAPTURE_MAILDIR_SYNC_DURABLE);
    deliver(outbox, "snd_1.rcp_2", "message");
    assert_file(folder, "new/snd_1.rcp_2", "message");
    assert_usage(outbox, 1, 7);
    char path[256];
    struct stat status;
    join(folder, "new/snd_1.rcp_2", path);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    join(folder, "tmp", path);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0700);
    assert_int_equal(rmdir(path), 0); /* nothing was left in it */
    capture_maildir_close(outbox);
}

static void test_second_delivery_replaces(void **state)
{
    const struct folder *folder = *state;
    struct capture_maildir *outbox = open_outbox(folder, wide, CAPTURE_MAILDIR_SYNC_NONE);
    deliver(outbox, "m1", "first, longer");
    capture_maildir_close(outbox);
    outbox = open_outbox(folder, wide, CAPTURE_MAILDIR_SYNC_NONE);
    deliver(outbox, "m1", "second");
    deliver(outbox, "m2", "other");
    assert_file(folder, "new/m1", "second");
    assert_usage(outbox, 2, strlen("second") + strlen("other"));
    capture_maildir_close(outbox);
}

static void test_message_moved_by_a_reader_is_not_doubled(void **state)
{
    const struct folder *folder = *state;
    struct capture_maildir *outbox = open_outbox(folder, wide, CAPTURE_MAILDIR_SYNC_NONE);
    static const char *const flags[] = { ":2,", ":2,S" };
    for (size_t i = 0; i < ARRAY_COUNT(flags); i++) {
        char from[256];
        char to[256];
        char moved[32];
        snprintf(moved, sizeof(moved), "cur/m%s", flags[i]);
        join(folder, "new/m", from);
        join(folder, moved, to);
        deliver(outbox, "m", "read already");
        assert_int_equal(rename(from, to), 0);
        deliver(outbox, "m", "again");
        assert_int_equal(access(from, F_OK), -1);
        assert_file(folder, moved, "read already");
        assert_usage(outbox, 1, strlen("read already"));
        assert_int_equal(unlink(to), 0);
    }
    capture_maildir_close(outbox);
}

static void test_bad_names(void **state)
{
    const struct folder *folder = *state;
    struct capture_maildir *outbox = open_outbox(folder, wide, CAPTURE_MAILDIR_SYNC_NONE);
    char long_name[CAPTURE_MAILDIR_NAME_MAX_BYTES + 2];
    memset(long_name, 'n', sizeof(long_name));
    long_name[CAPTURE_MAILDIR_NAME_MAX_BYTES] = '\0';
    deliver(outbox, long_name, "longest");
    long_name[CAPTURE_MAILDIR_NAME_MAX_BYTES] = 'n';
    long_name[CAPTURE_MAILDIR_NAME_MAX_BYTES + 1] = '\0';
    static const char *const bad[] = { "", ".hidden", "a/b", "../../etc/x", "m:2,S", "a b", "a\nb", "a@b", "\u00e9" };
    assert_refused(outbox, message_of(NULL, long_name, "x"), ERR_INTERNAL_ERROR);
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++)
        assert_refused(outbox, message_of(NULL, bad[i], "x"), ERR_INTERNAL_ERROR);
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++)
        if (bad[i][0] != '.')
            assert_refused(outbox, message_of(bad[i], "m", "x"), ERR_INTERNAL_ERROR);
    assert_usage(outbox, 1, 7);
    capture_maildir_close(outbox);
}

static void test_bound_of_messages(void **state)
{
    const struct folder *folder = *state;
    struct capture_maildir *outbox = open_outbox(folder, (struct capture_amount){ 2, 1000 }, CAPTURE_MAILDIR_SYNC_NONE);
    deliver(outbox, "m1", "1");
    deliver(outbox, "m2", "2");
    assert_full(outbox, "m3", "3");
    deliver(outbox, "m2", "two"); /* replacing needs no place */
    assert_usage(outbox, 2, 4);
    capture_maildir_close(outbox);

    /* The limit also holds across processes, and deleted mail frees space. */
    outbox = open_outbox(folder, (struct capture_amount){ 2, 1000 }, CAPTURE_MAILDIR_SYNC_NONE);
    assert_full(outbox, "m3", "3");
    char path[256];
    join(folder, "new/m1", path);
    assert_int_equal(unlink(path), 0);
    usleep(1100000); /* the outbox counts again once a second at most */
    deliver(outbox, "m3", "3");
    capture_maildir_close(outbox);
}

static void test_bound_of_bytes(void **state)
{
    const struct folder *folder = *state;
    struct capture_maildir *outbox = open_outbox(folder, (struct capture_amount){ 100, 10 }, CAPTURE_MAILDIR_SYNC_NONE);
    deliver(outbox, "m1", "12345678");
    assert_full(outbox, "m2", "123");
    deliver(outbox, "m3", "12");
    deliver(outbox, "m1", "87654321");
    assert_full(outbox, "m1", "123456789");
    assert_file(folder, "new/m1", "87654321");
    assert_usage(outbox, 2, 10);
    capture_maildir_close(outbox);
}

static void count_again(struct capture_maildir *outbox)
{
    struct error err = { .code = ERR_NONE };
    struct capture_amount usage;
    assert_true(capture_maildir_measure(outbox, &usage, &err));
}

/* Three quarters of what the others leave: of 16, then of 4 (and 1 for the message of no owner). */
static void test_an_owner_leaves_room_in_the_outbox(void **state)
{
    const struct folder *folder = *state;
    const struct capture_amount bound = { .messages = 16, .bytes = 1000 };
    struct capture_maildir *outbox = open_outbox(folder, bound, CAPTURE_MAILDIR_SYNC_NONE);
    for (int i = 0; i < 12; i++) {
        char id[16];
        snprintf(id, sizeof(id), "m%d", i);
        deliver_of(outbox, "org_a", id, "1");
    }
    assert_full_for(outbox, "org_a", "m12", "1");
    deliver_of(outbox, "org_a", "m1", "replaced");
    assert_file(folder, "new/m1@org_a", "replaced");
    for (int i = 0; i < 3; i++)
        deliver_of(outbox, "org_b", (const char *const[]){ "m0", "m1", "m2" }[i], "1");
    assert_full_for(outbox, "org_b", "m3", "1");
    deliver(outbox, "last", "1");
    assert_full(outbox, "more", "1");
    capture_maildir_close(outbox);

    /* The next process counts the shares by the names of the files, also of those that a reader has moved. */
    outbox = open_outbox(folder, bound, CAPTURE_MAILDIR_SYNC_NONE);
    char from[256];
    char to[256];
    join(folder, "new/m2@org_b", from);
    join(folder, "cur/m2@org_b:2,S", to);
    assert_int_equal(rename(from, to), 0);
    join(folder, "new/last", from);
    assert_int_equal(unlink(from), 0);
    count_again(outbox);
    assert_full_for(outbox, "org_b", "m3", "1");
    deliver_of(outbox, "org_c", "m0", "1");
    assert_usage(outbox, 16, 16 + strlen("replaced") - 1);
    capture_maildir_close(outbox);
}

static void test_an_owner_leaves_room_in_bytes(void **state)
{
    const struct folder *folder = *state;
    const struct capture_amount bound = { .messages = 100, .bytes = 16 };
    struct capture_maildir *outbox = open_outbox(folder, bound, CAPTURE_MAILDIR_SYNC_NONE);
    deliver_of(outbox, "org_a", "m0", "123456789");
    assert_full_for(outbox, "org_a", "m1", "1234");
    deliver_of(outbox, "org_a", "m1", "123");
    deliver_of(outbox, "org_b", "m1", "123");
    assert_full_for(outbox, "org_b", "m2", "1");
    assert_usage(outbox, 3, 15);
    capture_maildir_close(outbox);
}

static void test_leftovers_are_removed(void **state)
{
    const struct folder *folder = *state;
    struct capture_maildir *outbox = open_outbox(folder, wide, CAPTURE_MAILDIR_SYNC_NONE);
    char path[256];
    join(folder, "tmp/m1.123.0", path);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    close(fd);
    capture_maildir_close(outbox);
    outbox = open_outbox(folder, wide, CAPTURE_MAILDIR_SYNC_NONE);
    assert_int_equal(access(path, F_OK), -1);
    capture_maildir_close(outbox);
}

/* A failed write leaves no file and releases its reserved space. */
static void test_failed_write(void **state)
{
    const struct folder *folder = *state;
    struct capture_maildir *outbox = open_outbox(folder, (struct capture_amount){ 1, 1000 }, CAPTURE_MAILDIR_SYNC_NONE);
    struct rlimit old;
    getrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, SIG_IGN);
    const struct rlimit small = { .rlim_cur = 10, .rlim_max = old.rlim_max };
    setrlimit(RLIMIT_FSIZE, &small);
    assert_refused(outbox, message_of(NULL, "m1", "longer than ten bytes"), ERR_SERVICE_UNAVAILABLE);
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, SIG_DFL);
    assert_usage(outbox, 0, 0);
    char path[256];
    join(folder, "tmp", path);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    capture_maildir_close(outbox);
    outbox = open_outbox(folder, (struct capture_amount){ 1, 1000 }, CAPTURE_MAILDIR_SYNC_NONE);
    deliver(outbox, "m1", "longer than ten bytes");
    capture_maildir_close(outbox);
}

static void test_unusable_folder(void **state)
{
    const struct folder *folder = *state;
    char path[256];
    join(folder, "", path);
    path[strlen(path) - 1] = '\0';
    int fd = open(path, O_WRONLY | O_CREAT, 0600); /* a file where the folder should be */
    assert_true(fd >= 0);
    close(fd);
    struct error err = { .code = ERR_NONE };
    struct capture_maildir *outbox = NULL;
    assert_false(capture_maildir_open(path, wide, CAPTURE_MAILDIR_SYNC_NONE, &outbox, &err));
    assert_int_equal(err.code, ERR_SERVICE_UNAVAILABLE);
    assert_null(outbox);
}

static void *deliver_many(void *argument)
{
    struct capture_maildir *outbox = argument;
    static _Atomic int thread_counter;
    int thread = thread_counter++;
    for (int i = 0; i < 100; i++) {
        char name[32];
        struct error err = { .code = ERR_NONE };
        snprintf(name, sizeof(name), "t%d.%d", thread, i);
        struct captured_message message = message_of(NULL, name, "12345");
        bool is_full;
        (void)!capture_maildir_deliver(outbox, &message, &is_full, &err);
    }
    return NULL;
}

static void test_threads_share_the_bound(void **state)
{
    const struct folder *folder = *state;
    struct capture_maildir *outbox = open_outbox(folder, (struct capture_amount){ 250, 100000 }, CAPTURE_MAILDIR_SYNC_NONE);
    pthread_t threads[4];
    for (size_t i = 0; i < ARRAY_COUNT(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, deliver_many, outbox), 0);
    for (size_t i = 0; i < ARRAY_COUNT(threads); i++)
        pthread_join(threads[i], NULL);
    assert_usage(outbox, 250, 1250);
    capture_maildir_close(outbox);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_delivers_into_new, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_second_delivery_replaces, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_message_moved_by_a_reader_is_not_doubled, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_bad_names, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_bound_of_messages, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_bound_of_bytes, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_an_owner_leaves_room_in_the_outbox, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_an_owner_leaves_room_in_bytes, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_leftovers_are_removed, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_failed_write, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_unusable_folder, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(test_threads_share_the_bound, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
