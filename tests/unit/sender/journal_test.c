/*
 * The journal of the sender: recovery reads the records of an ended process, and
 * a full disk does not damage records that are there.
 */
#include "fixtures/temp_folder.h"
#include "sender/journal.h"

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
    struct journal_location location = { data, installation };
    assert_ok(journal_open(&location, owner, &journal, &err), &err);
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
    assert_true(journal_add_dot(journal, &key, &file));
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
    assert_true(journal_add_reply(journal, &key, &outcome, &file));
}

static bool find_stale(struct stale_journal *ret_stale)
{
    struct journal_location location = { data, installation };
    return journal_find_stale(&location, arena, ret_stale);
}

static struct stale_journal stale_journal(void)
{
    struct stale_journal stale;
    assert_true(find_stale(&stale));
    return stale;
}

static void assert_none_stale(void)
{
    struct stale_journal stale;
    assert_false(find_stale(&stale));
}

static void test_an_ended_process_leaves_its_last_records(void **state)
{
    (void)state;
    struct journal *journal = open_journal("posthorn worker 01");
    dot(journal, 7);
    dot(journal, 5);
    reply(journal, 5, 250, "Ok: queued as 1234");
    dot(journal, 6);
    reply(journal, 6, 451, "Later");
    dot(journal, 6);     /* another attempt, without a reply */
    assert_none_stale(); /* its process lives */
    journal_close(journal);

    struct stale_journal found = stale_journal();
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

    assert_none_stale(); /* one reader at a time */
    journal_close_stale(&found, false);
    found = stale_journal();
    assert_int_equal(found.count, 3);
    journal_close_stale(&found, true);
    assert_none_stale();
}

static void test_a_removed_journal_is_not_stale(void **state)
{
    (void)state;
    struct journal *journal = open_journal("a");
    dot(journal, 1);
    journal_remove(journal);
    assert_none_stale();
}

/* Its keys name other recipients there. */
static void test_a_journal_of_another_installation_is_ignored(void **state)
{
    (void)state;
    struct journal *journal = open_journal("a");
    dot(journal, 1);
    journal_close(journal);
    installation = 4712;
    assert_none_stale();
    installation = 4711;
    struct stale_journal found = stale_journal();
    assert_int_equal(found.count, 1);
    journal_close_stale(&found, true);
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
    struct stale_journal found = stale_journal();
    assert_int_equal(found.count, 1);
    assert_int_equal(found.entries[0].key.ordinal, 1);
    journal_close_stale(&found, true);
}

static void test_a_damaged_record_ends_the_reading(void **state)
{
    (void)state;
    struct journal *journal = open_journal("a");
    dot(journal, 1);
    journal_close(journal);
    int fd = open(arena_printf(arena, "%s/journal/a.1.journal", data), O_RDWR);
    assert_int_equal(pwrite(fd, "\x7f", 1, 40), 1);
    close(fd);
    struct stale_journal found = stale_journal();
    assert_int_equal(found.count, 0);
    journal_close_stale(&found, true);
}

/* Files that nothing needs are removed. The last record of a recipient counts, whichever file it is in. */
static void test_a_full_file_is_followed_by_the_next(void **state)
{
    (void)state;
    struct journal *journal = open_journal("a");
    int64_t first = journal_current_file(journal);
    int64_t ordinal = 1;
    while (dot(journal, ordinal++) == first)
        continue;
    reply(journal, 1, 250, "Ok");
    assert_int_equal(journal_current_file(journal), first + 1);
    journal_remove_before(journal, first); /* there is none before it */
    assert_int_equal(access(arena_printf(arena, "%s/journal/a.1.journal", data), F_OK), 0);
    journal_remove_before(journal, first + 1);
    assert_int_not_equal(access(arena_printf(arena, "%s/journal/a.1.journal", data), F_OK), 0);
    journal_remove_before(journal, first + 9); /* the current file stays */
    journal_close(journal);
    struct stale_journal found = stale_journal();
    assert_int_equal(found.count, 2);
    assert_true(found.entries[0].has_reply);
    journal_close_stale(&found, true);
}

/* A record that does not fit is refused as a whole. The records before it, and those after there is room again, are read. */
static void test_a_full_disk_damages_no_record(void **state)
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
    bool written = journal_add_dot(journal, &key, &file);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_false(written);
    dot(journal, 3);
    journal_close(journal);
    struct stale_journal found = stale_journal();
    assert_int_equal(found.count, 2);
    assert_int_equal(found.entries[1].key.ordinal, 3);
    journal_close_stale(&found, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_an_ended_process_leaves_its_last_records, begin, end),
        cmocka_unit_test_setup_teardown(test_a_removed_journal_is_not_stale, begin, end),
        cmocka_unit_test_setup_teardown(test_a_journal_of_another_installation_is_ignored, begin, end),
        cmocka_unit_test_setup_teardown(test_a_torn_record_ends_the_reading, begin, end),
        cmocka_unit_test_setup_teardown(test_a_damaged_record_ends_the_reading, begin, end),
        cmocka_unit_test_setup_teardown(test_a_full_file_is_followed_by_the_next, begin, end),
        cmocka_unit_test_setup_teardown(test_a_full_disk_damages_no_record, begin, end),
    };
    return cmocka_run_group_tests_name("sender_journal", tests, NULL, NULL);
}
