/* The spool of hits: nothing that was appended is lost, a torn tail ends the reading, and a file has one reader. */
#include "api/tracking/hit_spool.h"

#include "base/text.h"

#include <fcntl.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <cmocka.h>

static struct arena *arena; /* one per test */
static char folder[64];

static int setup(void **state)
{
    (void)state;
    arena = arena_new(0);
    snprintf(folder, sizeof(folder), "/tmp/hit-spool-XXXXXX");
    return mkdtemp(folder) == NULL;
}

static glob_t spool_files(void)
{
    glob_t found = { .gl_pathc = 0 };
    glob(arena_printf(arena, "%s/hits/*", folder), 0, NULL, &found);
    return found;
}

static int teardown(void **state)
{
    (void)state;
    glob_t found = spool_files();
    for (size_t i = 0; i < found.gl_pathc; i++)
        unlink(found.gl_pathv[i]);
    globfree(&found);
    rmdir(arena_printf(arena, "%s/hits", folder));
    rmdir(folder);
    arena_free(arena);
    return 0;
}

static struct spooled_hit hit_number(int64_t number)
{
    struct spooled_hit hit = {
        .id = number,
        .at_us = 1000000 + number,
        .is_head = number % 2 == 1,
        .agent = number % 3 == 0 ? "" : arena_printf(arena, "Agent/%lld", (long long)number),
        .address = number % 5 == 0 ? "" : "203.0.113.7",
    };
    memset(hit.token, 'a' + (int)(number % 26), HIT_TOKEN_CHARS);
    return hit;
}

static void assert_hit(const struct spooled_hit *hit, int64_t number)
{
    struct spooled_hit expected = hit_number(number);
    assert_int_equal(hit->id, expected.id);
    assert_int_equal(hit->at_us, expected.at_us);
    assert_int_equal(hit->is_head, expected.is_head);
    assert_string_equal(hit->token, expected.token);
    assert_string_equal(hit->agent, expected.agent);
    assert_string_equal(hit->address, expected.address);
}

static void append(struct hit_spool *spool, int64_t from, int64_t count)
{
    struct error err = { .code = ERR_NONE };
    struct spooled_hit hits[64];
    for (int64_t i = 0; i < count; i++)
        hits[i] = hit_number(from + i);
    assert_true(hit_spool_append(spool, hits, (size_t)count, &err));
}

static size_t drain_all(struct hit_drain *drain, struct spooled_hit *hits, size_t max)
{
    size_t count = 0;
    size_t read = 1;
    while (read > 0 && count + 7 <= max) {
        read = hit_drain_read(drain, arena, hits + count, 7);
        count += read;
    }
    return count;
}

static void test_what_is_appended_is_drained_once(void **state)
{
    (void)state;
    struct spooled_hit hits[128];
    struct hit_spool *spool = hit_spool_new(folder);
    assert_null(hit_drain_open(spool));
    assert_false(hit_spool_has_files(spool));
    append(spool, 0, 30);
    append(spool, 30, 20);
    assert_true(hit_spool_has_own(spool));

    struct hit_drain *drain = hit_drain_open(spool);
    assert_non_null(drain);
    assert_int_equal(drain_all(drain, hits, 128), 50);
    for (int64_t i = 0; i < 50; i++)
        assert_hit(&hits[i], i);
    /* Appending goes on meanwhile, into another file. */
    append(spool, 50, 5);
    hit_drain_close(drain, true);

    drain = hit_drain_open(spool);
    assert_int_equal(drain_all(drain, hits, 128), 5);
    assert_hit(&hits[0], 50);
    hit_drain_close(drain, false); /* the database did not take them */
    drain = hit_drain_open(spool);
    assert_int_equal(drain_all(drain, hits, 128), 5);
    hit_drain_close(drain, true);
    assert_false(hit_spool_has_files(spool));
    hit_spool_free(spool);
}

static void test_files_of_ended_processes_are_drained(void **state)
{
    (void)state;
    struct spooled_hit hits[64];
    struct hit_spool *other = hit_spool_new(folder);
    struct hit_spool *spool = hit_spool_new(folder);
    append(other, 0, 3);
    assert_null(hit_drain_open(spool)); /* its process lives */
    hit_spool_free(other);
    struct hit_drain *drain = hit_drain_open(spool);
    assert_non_null(drain);
    assert_null(hit_drain_open(spool)); /* one reader */
    assert_int_equal(drain_all(drain, hits, 64), 3);
    hit_drain_close(drain, true);
    hit_spool_free(spool);
}

static void test_a_file_torn_at_every_byte(void **state)
{
    (void)state;
    struct buf *whole = buf_in_arena(arena, 64 * 1024);
    size_t ends[4];
    for (int64_t i = 0; i < 4; i++) {
        struct spooled_hit hit = hit_number(i);
        hit_record_write(whole, &hit);
        ends[i] = whole->size;
    }
    struct hit_spool *spool = hit_spool_new(folder);
    append(spool, 0, 1);
    hit_drain_close(hit_drain_open(spool), true); /* makes the folder */
    for (size_t size = 0; size <= whole->size; size++) {
        const char *path = arena_printf(arena, "%s/hits/torn.spool", folder);
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        assert_int_equal(write(fd, whole->data, size), (ssize_t)size);
        close(fd);
        struct spooled_hit hits[16];
        struct hit_drain *drain = hit_drain_open(spool);
        size_t count = drain_all(drain, hits, 16);
        size_t expected = 0;
        while (expected < 4 && ends[expected] <= size)
            expected++;
        assert_int_equal(count, expected);
        for (size_t i = 0; i < count; i++)
            assert_hit(&hits[i], (int64_t)i);
        hit_drain_close(drain, true);
    }
    hit_spool_free(spool);
}

static void test_a_changed_record_is_not_read(void **state)
{
    (void)state;
    struct spooled_hit hit = hit_number(7);
    struct spooled_hit read;
    struct buf *record = buf_in_arena(arena, 4096);
    hit_record_write(record, &hit);
    struct bytes bytes = { (const unsigned char *)record->data, record->size };
    assert_int_equal(hit_record_read(bytes, arena, &read), record->size);
    for (size_t i = 0; i < record->size; i++) {
        record->data[i] ^= 0x20;
        assert_int_equal(hit_record_read(bytes, arena, &read), 0);
        record->data[i] ^= 0x20;
    }
}

static void test_long_texts_are_cut(void **state)
{
    (void)state;
    char text[2000];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    struct spooled_hit hit = hit_number(1);
    struct spooled_hit read;
    hit.agent = hit.address = text;
    struct buf *record = buf_in_arena(arena, 4096);
    hit_record_write(record, &hit);
    assert_true(hit_record_read((struct bytes){ (const unsigned char *)record->data, record->size }, arena, &read) > 0);
    assert_int_equal(strlen(read.agent), HIT_AGENT_MAX_BYTES);
    assert_int_equal(strlen(read.address), HIT_ADDRESS_MAX_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_is_appended_is_drained_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_files_of_ended_processes_are_drained, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_file_torn_at_every_byte, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_changed_record_is_not_read, setup, teardown),
        cmocka_unit_test_setup_teardown(test_long_texts_are_cut, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
