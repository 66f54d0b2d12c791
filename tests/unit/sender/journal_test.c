/*
 * The journal of the sender: what survives a process, and that a disk which
 * takes no more spoils nothing that is there.
 */
#include "sender/journal.h"
#include "fixtures/temp_folder.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char data[] = "/tmp/posthorn-test-XXXXXX";
static uint64_t installation;
static struct arena *arena;

static int begin(void **state)
{
    (void)state;
    strcpy(data + strlen(data) - 6, "XXXXXX");
    make_folder(data);
    arena = arena_new(0);
    installation = 4711;
    return 0;
}

static int end(void **state)
{
    (void)state;
    arena_free(arena);
    remove_folder(data);
    return 0;
}

static struct journal *open_journal(const char *owner)
{
    struct error err;
    struct journal *journal;
    struct journal_place place = { data, installation };
    assert_ok(journal_open(&place, owner, &journal, &err), &err);
    return journal;
}

static struct journal_key key_of(int64_t ordinal)
{
    return (struct journal_key){ .organization_id = 1, .brand_id = 2, .send_id = 3, .ordinal = ordinal };
}

static int64_t dot(struct journal *journal, int64_t ordinal)
{
    struct journal_key key = key_of(ordinal);
    int64_t file;
    assert_true(journal_dot(journal, &key, &file));
    return file;
}

static void reply(struct journal *journal, int64_t ordinal, int code, const char *words)
{
    struct journal_key key = key_of(ordinal);
    struct smtp_outcome outcome = {
        .end = SMTP_REPLIED, .stage = SMTP_STAGE_FINAL, .code = code, .enhanced = "2.0.0", .relay = "relay:25"
    };
    snprintf(outcome.text, sizeof(outcome.text), "%s", words);
    int64_t file;
    assert_true(journal_reply(journal, &key, &outcome, &file));
}

static struct journal_remains remains(void)
{
    struct journal_remains found;
    struct journal_place place = { data, installation };
    journal_find_remains(&place, arena, &found);
    return found;
}

static void test_what_a_process_leaves(void **state)
{
    (void)state;
    struct journal *journal = open_journal("posthorn worker 01");
    dot(journal, 7);
    dot(journal, 5);
    reply(journal, 5, 250, "Ok: queued as 1234");
    dot(journal, 6);
    reply(journal, 6, 451, "Later");
    dot(journal, 6);                         /* another attempt, whose reply never came */
    assert_int_equal(remains().lock_fd, -1); /* it lives */
    journal_close(journal);

    struct journal_remains found = remains();
    assert_true(found.lock_fd >= 0);
    assert_string_equal(found.owner, "posthorn worker 01");
    assert_int_equal(found.count, 3);
    assert_int_equal(found.entries[0].key.ordinal, 5);
    assert_true(found.entries[0].has_reply);
    assert_int_equal(found.entries[0].outcome.code, 250);
    assert_string_equal(found.entries[0].outcome.text, "Ok: queued as 1234");
    assert_string_equal(found.entries[0].outcome.enhanced, "2.0.0");
    assert_string_equal(found.entries[0].outcome.relay, "relay:25");
    assert_int_equal(found.entries[0].key.organization_id, 1);
    assert_int_equal(found.entries[1].key.ordinal, 6);
    assert_false(found.entries[1].has_reply);
    assert_int_equal(found.entries[2].key.ordinal, 7);
    assert_false(found.entries[2].has_reply);

    assert_int_equal(remains().lock_fd, -1); /* one reader at a time */
    journal_discard(&found, false);
    found = remains();
    assert_int_equal(found.count, 3);
    journal_discard(&found, true);
    assert_int_equal(remains().lock_fd, -1);
}

static void test_an_orderly_end_leaves_nothing(void **state)
{
    (void)state;
    struct journal *journal = open_journal("a");
    dot(journal, 1);
    journal_remove(journal);
    assert_int_equal(remains().lock_fd, -1);
}

/* Its numbers mean other messages there. */
static void test_a_journal_of_another_database_tells_nothing(void **state)
{
    (void)state;
    struct journal *journal = open_journal("a");
    dot(journal, 1);
    journal_close(journal);
    installation = 4712;
    assert_int_equal(remains().lock_fd, -1);
    installation = 4711;
    struct journal_remains found = remains();
    assert_int_equal(found.count, 1);
    journal_discard(&found, true);
}

static void test_a_torn_record_ends_the_reading(void **state)
{
    (void)state;
    struct journal *journal = open_journal("a");
    dot(journal, 1);
    dot(journal, 2);
    journal_close(journal);
    const char *path = arena_printf(arena, "%s/journal/a.1.journal", data);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(truncate(path, status.st_size - 3), 0);
    struct journal_remains found = remains();
    assert_int_equal(found.count, 1);
    assert_int_equal(found.entries[0].key.ordinal, 1);
    journal_discard(&found, true);
}

static void test_damage_is_seen(void **state)
{
    (void)state;
    struct journal *journal = open_journal("a");
    dot(journal, 1);
    journal_close(journal);
    int fd = open(arena_printf(arena, "%s/journal/a.1.journal", data), O_RDWR);
    assert_int_equal(pwrite(fd, "\x7f", 1, 40), 1);
    close(fd);
    struct journal_remains found = remains();
    assert_int_equal(found.count, 0);
    journal_discard(&found, true);
}

/* Files that nothing depends on go; of what is left the last record of a message counts, whichever file it is in. */
static void test_files_follow_each_other(void **state)
{
    (void)state;
    struct journal *journal = open_journal("a");
    int64_t first = journal_file(journal);
    int64_t ordinal = 1;
    while (dot(journal, ordinal++) == first)
        continue;
    reply(journal, 1, 250, "Ok");
    assert_int_equal(journal_file(journal), first + 1);
    journal_forget(journal, first); /* nothing is before it */
    assert_int_equal(access(arena_printf(arena, "%s/journal/a.1.journal", data), F_OK), 0);
    journal_forget(journal, first + 1);
    assert_int_not_equal(access(arena_printf(arena, "%s/journal/a.1.journal", data), F_OK), 0);
    journal_forget(journal, first + 9); /* the file that is written stays */
    journal_close(journal);
    struct journal_remains found = remains();
    assert_int_equal(found.count, 2);
    assert_true(found.entries[0].has_reply);
    journal_discard(&found, true);
}

/* What the disk does not take is refused whole, and when there is room again what was there and what follows is read. */
static void test_a_full_disk_spoils_nothing(void **state)
{
    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    struct journal *journal = open_journal("a");
    dot(journal, 1);
    struct stat status;
    assert_int_equal(stat(arena_printf(arena, "%s/journal/a.1.journal", data), &status), 0);
    struct rlimit before;
    getrlimit(RLIMIT_FSIZE, &before);
    struct rlimit full = { .rlim_cur = (rlim_t)status.st_size + 10, .rlim_max = before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
    struct journal_key key = key_of(2);
    int64_t file;
    bool written = journal_dot(journal, &key, &file);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_false(written);
    dot(journal, 3);
    journal_close(journal);
    struct journal_remains found = remains();
    assert_int_equal(found.count, 2);
    assert_int_equal(found.entries[1].key.ordinal, 3);
    journal_discard(&found, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_a_process_leaves, begin, end),
        cmocka_unit_test_setup_teardown(test_an_orderly_end_leaves_nothing, begin, end),
        cmocka_unit_test_setup_teardown(test_a_journal_of_another_database_tells_nothing, begin, end),
        cmocka_unit_test_setup_teardown(test_a_torn_record_ends_the_reading, begin, end),
        cmocka_unit_test_setup_teardown(test_damage_is_seen, begin, end),
        cmocka_unit_test_setup_teardown(test_files_follow_each_other, begin, end),
        cmocka_unit_test_setup_teardown(test_a_full_disk_spoils_nothing, begin, end),
    };
    return cmocka_run_group_tests_name("sender_journal", tests, NULL, NULL);
}
