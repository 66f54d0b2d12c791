/*
 * Fuzzes the reader of journals. The first byte says whether the checksums of the
 * records are made right, so that the checks behind them are reached, and where a
 * second file begins; the rest are files after their headers. Besides not
 * crashing: every recipient comes once, in order within its range, with texts
 * that end; a small index gives what a large one gives; and the index keeps its
 * bound.
 */
#include "fuzz.h"
#include "sender/journal_format.h"
#include "sender/journal_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FILES = 2, RANGE_SIZE = 4, SMALL_INDEX = 4 * 4, PATH_BYTES = 64, TEXT_MAX_BYTES = 64 * 1024, RIGHT_CHECKSUMS = 1 };

/* ---- Files ---- */

/* Makes the sizes of records possible, and their checksums right. */
static void make_right(unsigned char *data, size_t size)
{
    const size_t least = offsetof(struct journal_record_body, text);
    struct journal_record_head head;
    for (size_t at = 0; at + sizeof(head) + least <= size; at += sizeof(head) + head.size) {
        memcpy(&head, data + at, sizeof(head));
        head.size = (uint32_t)(least + head.size % 64);
        if (at + sizeof(head) + head.size > size)
            head.size = (uint32_t)least;
        head.check = journal_checksum(data + at + sizeof(head), head.size);
        memcpy(data + at, &head, sizeof(head));
    }
}

static int open_file(const unsigned char *data, size_t size, char ret_path[PATH_BYTES])
{
    const struct journal_file_head head = { .installation = 1 };
    int fd = memfd_create("journal", MFD_CLOEXEC);
    require(fd >= 0 && write(fd, &head, sizeof(head)) == (ssize_t)sizeof(head) && write(fd, data, size) == (ssize_t)size);
    snprintf(ret_path, PATH_BYTES, "/proc/self/fd/%d", fd);
    return fd;
}

/* ---- Reading ---- */

struct seen {
    size_t entries;
    uint64_t sum; /* of the entries in any order */
};

static int64_t range_of(const struct journal_key *key)
{
    return (key->ordinal - 1) / RANGE_SIZE;
}

static uint64_t hash_entry(const struct journal_entry *entry)
{
    const struct smtp_outcome *outcome = &entry->outcome;
    uint64_t sum = journal_checksum(&entry->key, sizeof(entry->key));
    if (!entry->has_reply)
        return sum;
    sum = sum * 31 + journal_checksum(outcome->text, strlen(outcome->text));
    sum = sum * 31 + journal_checksum(outcome->relay, strlen(outcome->relay));
    return sum * 31 + (uint64_t)(unsigned)outcome->code * 7 + (uint64_t)outcome->end + (uint64_t)outcome->stage;
}

static void check_entry(const struct journal_entry *entry)
{
    const struct smtp_outcome *outcome = &entry->outcome;
    require(entry->key.ordinal >= 1);
    if (!entry->has_reply)
        return;
    require(memchr(outcome->text, '\0', sizeof(outcome->text)) != NULL);
    require(memchr(outcome->enhanced, '\0', sizeof(outcome->enhanced)) != NULL);
    require(strlen(outcome->relay) < JOURNAL_RELAY_MAX_BYTES);
    require(outcome->end <= SMTP_UNCERTAIN && outcome->stage <= SMTP_STAGE_FINAL);
}

static struct seen read_all(const struct stale_journal *stale, size_t index_records)
{
    struct seen seen = { 0, 0 };
    JOURNAL_READER_SCOPE reader = journal_reader_new(stale, RANGE_SIZE, index_records);
    ARENA_SCOPE arena = arena_new(0);
    const struct journal_entry *entries;
    for (size_t count; journal_reader_next(reader, arena, &entries, &count);) {
        require(count >= 1 && count <= RANGE_SIZE);
        for (size_t i = 0; i < count; i++) {
            check_entry(&entries[i]);
            require(range_of(&entries[i].key) == range_of(&entries[0].key) && entries[i].key.send_id == entries[0].key.send_id);
            require(i == 0 || entries[i].key.ordinal > entries[i - 1].key.ordinal);
            seen.sum += hash_entry(&entries[i]);
        }
        seen.entries += count;
    }
    struct journal_reader_figures figures = journal_reader_figures(reader);
    require(seen.entries <= figures.records);
    return seen;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    char paths[FILES][PATH_BYTES];
    const char *const names[FILES] = { paths[0], paths[1] };
    const struct stale_journal stale = { .owner = "fuzz", .paths = names, .path_count = FILES, .lock_fd = -1 };
    if (size == 0 || size > TEXT_MAX_BYTES)
        return 0;
    unsigned char *bytes = malloc(size);
    require(bytes != NULL);
    memcpy(bytes, data + 1, size - 1);
    size_t split = (size - 1) * (data[0] >> 1) / 128;
    if ((data[0] & RIGHT_CHECKSUMS) != 0) {
        make_right(bytes, split);
        make_right(bytes + split, size - 1 - split);
    }
    int first = open_file(bytes, split, paths[0]);
    int second = open_file(bytes + split, size - 1 - split, paths[1]);
    struct seen at_once = read_all(&stale, JOURNAL_INDEX_RECORDS);
    struct seen in_passes = read_all(&stale, SMALL_INDEX);
    require(at_once.entries == in_passes.entries && at_once.sum == in_passes.sum);
    close(first);
    close(second);
    free(bytes);
    return 0;
}
