/*
 * The journal of the sender: recovery reads the records of an ended process, and
 * a full disk does not damage records that are there.
 */
#include "fixtures/temp_folder.h"
#include "sender/journal_format.h"
#include "sender/journal_reader.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
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

static int64_t mark_dot(struct journal *journal, int64_t ordinal, struct journal_mark *mark)
{
    struct journal_key key = key_of(ordinal);
    assert_true(journal_add_dot(journal, &key, mark));
    return journal_mark_file(mark);
}

static int64_t dot(struct journal *journal, int64_t ordinal)
{
    struct journal_mark mark = { .offset = 0 };
    return mark_dot(journal, ordinal, &mark);
}

static void mark_reply(struct journal *journal, int64_t ordinal, int code, const char *words, struct journal_mark *mark)
{
    struct journal_key key = key_of(ordinal);
    struct smtp_outcome outcome = {
        .end = SMTP_REPLIED, .stage = SMTP_STAGE_FINAL, .code = code, .enhanced = "2.0.0", .relay = "relay:25"
    };
    snprintf(outcome.text, sizeof(outcome.text), "%s", words);
    assert_true(journal_add_reply(journal, &key, &outcome, mark));
}

static void reply(struct journal *journal, int64_t ordinal, int code, const char *words)
{
    struct journal_mark mark = { .offset = 0 };
    mark_reply(journal, ordinal, code, words, &mark);
}

/* ---- Reading ---- */

enum { RANGE_SIZE = 500 };

/* A stale journal with the entries of its ranges, in the order in which they are read. */
struct found_journal {
    struct stale_journal stale;
    const char *owner;
    struct journal_entry *entries;
    size_t count;
};

static bool find_stale(struct stale_journal *ret_stale)
{
    struct journal_location location = { data, installation };
    struct text_list owners = journal_stale_owners(&location, arena);
    return owners.count > 0 && journal_open_stale(&location, owners.items[0], arena, ret_stale);
}

static struct found_journal stale_journal(void)
{
    struct found_journal found = { .count = 0 };
    const struct journal_entry *entries;
    size_t count;
    assert_true(find_stale(&found.stale));
    found.owner = found.stale.owner;
    JOURNAL_READER_SCOPE reader = journal_reader_new(&found.stale, RANGE_SIZE, JOURNAL_INDEX_RECORDS);
    found.entries = arena_array(arena, RANGE_SIZE, sizeof(*found.entries));
    while (journal_reader_next(reader, arena, &entries, &count)) {
        assert_true(found.count + count <= RANGE_SIZE);
        memcpy(found.entries + found.count, entries, count * sizeof(*entries));
        found.count += count;
    }
    return found;
}

static void close_stale(const struct found_journal *found, bool remove)
{
    journal_close_stale(&found->stale, remove);
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
    assert_int_equal(journal_stale_owners(&(struct journal_location){ data, installation }, arena).count, 0);
    journal_close(journal);

    struct journal_location location = { data, installation };
    struct text_list owners = journal_stale_owners(&location, arena);
    assert_int_equal(owners.count, 1);
    assert_string_equal(owners.items[0], "posthorn worker 01");
    struct found_journal found = stale_journal();
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
    close_stale(&found, false);
    found = stale_journal();
    assert_int_equal(found.count, 3);
    close_stale(&found, true);
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
    struct found_journal found = stale_journal();
    assert_int_equal(found.count, 1);
    close_stale(&found, true);
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
    struct found_journal found = stale_journal();
    assert_int_equal(found.count, 1);
    assert_int_equal(found.entries[0].key.ordinal, 1);
    close_stale(&found, true);
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
    struct found_journal found = stale_journal();
    assert_int_equal(found.count, 0);
    close_stale(&found, true);
}

/* A checksum does not prove that this version wrote the record. */
static void test_a_record_without_meaning_proves_nothing(void **state)
{
    (void)state;
    struct journal *journal = open_journal("a");
    struct journal_mark mark = { .offset = 0 };
    struct journal_key key = key_of(1);
    struct smtp_outcome outcome = { .end = (enum smtp_end)7, .stage = SMTP_STAGE_FINAL, .relay = "relay:25" };
    dot(journal, INT64_MIN);
    dot(journal, 0);
    assert_true(journal_add_reply(journal, &key, &outcome, &mark));
    journal_close(journal);
    struct found_journal found = stale_journal();
    assert_int_equal(found.count, 1);
    assert_int_equal(found.entries[0].key.ordinal, 1);
    assert_false(found.entries[0].has_reply);
    close_stale(&found, true);
}

/* Files that nothing needs are removed. The last record of a recipient counts, whichever file it is in. */
static void test_a_full_file_is_followed_by_the_next(void **state)
{
    (void)state;
    struct journal *journal = open_journal("a");
    int64_t first = journal_current_file(journal);
    for (int64_t ordinal = 1; dot(journal, ordinal % 400 + 1) == first; ordinal++)
        continue;
    reply(journal, 1, 250, "Ok");
    assert_int_equal(journal_current_file(journal), first + 1);
    journal_remove_before(journal, first); /* there is none before it */
    assert_int_equal(access(arena_printf(arena, "%s/journal/a.1.journal", data), F_OK), 0);
    journal_remove_before(journal, first + 1);
    assert_int_not_equal(access(arena_printf(arena, "%s/journal/a.1.journal", data), F_OK), 0);
    journal_remove_before(journal, first + 9); /* the current file stays */
    journal_close(journal);
    struct found_journal found = stale_journal();
    assert_int_equal(found.count, 2);
    assert_true(found.entries[0].has_reply);
    close_stale(&found, true);
}

/* Fills files until `file` is the current one, with records of other recipients. */
static void fill_until(struct journal *journal, int64_t file)
{
    for (int64_t ordinal = 0; dot(journal, 100 + ordinal % 300) < file; ordinal++)
        continue;
}

/* A session that waits long for its reply keeps no old file: its record is appended again, as the last one of its recipient. */
static void test_an_old_record_is_carried_to_the_current_file(void **state)
{
    (void)state;
    struct journal *journal = open_journal("a");
    struct journal_mark waiting = { .offset = 0 };
    struct journal_mark replied = { .offset = 0 };
    struct journal_mark not_sent = { .offset = 0 };
    mark_dot(journal, 1, &waiting);
    mark_dot(journal, 2, &replied);
    mark_reply(journal, 2, 250, "Ok", &replied);
    mark_dot(journal, 3, &not_sent);
    struct journal_key key = key_of(3);
    struct smtp_outcome lost = { .end = SMTP_NOT_SENT, .stage = SMTP_STAGE_FINAL, .text = "lost" };
    assert_true(journal_add_reply(journal, &key, &lost, &not_sent));
    assert_int_equal(journal_mark_file(&not_sent), 0);
    fill_until(journal, 3);
    journal_carry(journal, &waiting);
    journal_carry(journal, &replied);
    journal_carry(journal, &not_sent);
    assert_int_equal(journal_mark_file(&waiting), 3);
    assert_int_equal(journal_mark_file(&replied), 3);
    assert_int_equal(journal_mark_file(&not_sent), 0);
    journal_remove_before(journal, 3);
    journal_close(journal);
    struct found_journal found = stale_journal();
    assert_int_equal(found.stale.path_count, 1);
    assert_int_equal(found.entries[0].key.ordinal, 1);
    assert_false(found.entries[0].has_reply);
    assert_int_equal(found.entries[1].key.ordinal, 2);
    assert_true(found.entries[1].has_reply);
    assert_int_equal(found.entries[1].outcome.code, 250);
    assert_int_not_equal(found.entries[2].key.ordinal, 3);
    close_stale(&found, true);
}

/* At its bound the journal takes no dot record, but the replies to what has left. It goes on when files are removed. */
static void test_a_journal_is_bounded(void **state)
{
    (void)state;
    struct journal *journal = open_journal("a");
    struct journal_mark mark = { .offset = 0 };
    struct journal_key key = key_of(1);
    int64_t records = 0;
    int64_t bound = (int64_t)JOURNAL_FILES_MAX * (JOURNAL_FILE_BYTES / JOURNAL_RECORD_MIN_BYTES + 2);
    while (records < bound && journal_add_dot(journal, &key, &mark))
        records++;
    assert_true(records < bound);
    assert_int_equal(journal_current_file(journal), JOURNAL_FILES_MAX);
    reply(journal, 1, 250, "Ok");
    journal_remove_before(journal, JOURNAL_FILES_MAX);
    dot(journal, 2);
    journal_remove(journal);
}

/* ---- A large journal ---- */

/* Writes the files of an ended process: a dot record and a reply record of each recipient, the replies far behind. */
static void write_records(int64_t recipients)
{
    const struct journal_location location = { data, installation };
    const struct journal_file_head head = journal_make_head(&location);
    FILE *file = NULL;
    int64_t in_file = 0;
    int files = 0;
    assert_int_equal(mkdir(arena_printf(arena, "%s/journal", data), 0700), 0);
    for (int64_t i = 0; i < 2 * recipients; i++) {
        struct journal_record record = { .body = { .kind = i < recipients ? JOURNAL_RECORD_DOT : JOURNAL_RECORD_REPLY } };
        /* An order that is neither that of the keys nor its reverse. */
        record.body.key = key_of(i % recipients * 7919 % recipients + 1);
        record.body.key.send_id = record.body.key.ordinal % 5;
        record.body.code = 250;
        record.head.size = (uint32_t)(JOURNAL_RECORD_MIN_BYTES - sizeof(record.head));
        record.head.check = journal_checksum(&record.body, record.head.size);
        if (file == NULL || ++in_file > 80000) {
            if (file != NULL)
                fclose(file);
            file = fopen(arena_printf(arena, "%s/journal/gone.%d.journal", data, ++files), "w");
            assert_int_equal(fwrite(&head, sizeof(head), 1, file), 1);
            in_file = 0;
        }
        assert_int_equal(fwrite(&record, JOURNAL_RECORD_MIN_BYTES, 1, file), 1);
    }
    fclose(file);
}

/* Every range is given once, with the last record of each recipient. Memory stays within the index, compares within n log n. The
 * long form sets POSTHORN_JOURNAL_RECORDS to a million. */
static void test_a_large_journal_is_read_in_passes(void **state)
{
    (void)state;
    const char *given = getenv("POSTHORN_JOURNAL_RECORDS");
    size_t records = given != NULL ? strtoul(given, NULL, 10) : 100 * 1000;
    int64_t recipients = (int64_t)records / 2;
    size_t index_records = records / 4;
    write_records(recipients);
    struct stale_journal stale;
    assert_true(find_stale(&stale));
    JOURNAL_READER_SCOPE reader = journal_reader_new(&stale, RANGE_SIZE, index_records);
    unsigned char *seen = calloc((size_t)recipients + 1, 1);
    ARENA_SCOPE of_range = arena_new(RANGE_SIZE * 2 * sizeof(struct journal_entry));
    const struct journal_entry *entries;
    size_t count;
    while (journal_reader_next(reader, of_range, &entries, &count)) {
        for (size_t i = 0; i < count; i++) {
            assert_true(entries[i].has_reply);
            assert_int_equal(entries[i].key.send_id, entries[0].key.send_id);
            assert_int_equal((entries[i].key.ordinal - 1) / RANGE_SIZE, (entries[0].key.ordinal - 1) / RANGE_SIZE);
            assert_int_equal(seen[entries[i].key.ordinal]++, 0);
        }
        arena_reset(of_range);
    }
    for (int64_t ordinal = 1; ordinal <= recipients; ordinal++)
        assert_int_equal(seen[ordinal], 1);
    free(seen);
    struct journal_reader_figures figures = journal_reader_figures(reader);
    size_t log_of_records = 1;
    while ((size_t)1 << log_of_records < records)
        log_of_records++;
    assert_int_equal(figures.records, 2 * recipients);
    assert_true(figures.passes > 1 && figures.passes <= 8);
    assert_true(figures.max_bytes <= 2 * 32 * index_records);
    assert_true(figures.compares <= 4 * records * log_of_records);
    journal_close_stale(&stale, true);
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
    struct journal_mark mark = { .offset = 0 };
    bool written = journal_add_dot(journal, &key, &mark);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_false(written);
    assert_int_equal(journal_mark_file(&mark), 0);
    dot(journal, 3);
    journal_close(journal);
    struct found_journal found = stale_journal();
    assert_int_equal(found.count, 2);
    assert_int_equal(found.entries[1].key.ordinal, 3);
    close_stale(&found, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_an_ended_process_leaves_its_last_records, begin, end),
        cmocka_unit_test_setup_teardown(test_a_removed_journal_is_not_stale, begin, end),
        cmocka_unit_test_setup_teardown(test_a_journal_of_another_installation_is_ignored, begin, end),
        cmocka_unit_test_setup_teardown(test_a_torn_record_ends_the_reading, begin, end),
        cmocka_unit_test_setup_teardown(test_a_damaged_record_ends_the_reading, begin, end),
        cmocka_unit_test_setup_teardown(test_a_record_without_meaning_proves_nothing, begin, end),
        cmocka_unit_test_setup_teardown(test_a_full_file_is_followed_by_the_next, begin, end),
        cmocka_unit_test_setup_teardown(test_an_old_record_is_carried_to_the_current_file, begin, end),
        cmocka_unit_test_setup_teardown(test_a_journal_is_bounded, begin, end),
        cmocka_unit_test_setup_teardown(test_a_large_journal_is_read_in_passes, begin, end),
        cmocka_unit_test_setup_teardown(test_a_full_disk_damages_no_record, begin, end),
    };
    return cmocka_run_group_tests_name("sender_journal", tests, NULL, NULL);
}
