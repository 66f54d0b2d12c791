#include "sender/journal_reader.h"

#include "base/log.h"
#include "base/panic.h"
#include "sender/journal_format.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STALE_FILES_MAX = 64, OFFSET_BITS = 40 };

/* ---- Finding a stale journal ---- */

/* The owner in a file name OWNER.N.journal; NULL for other names. */
static const char *owner_in_name(struct arena *arena, const char *name)
{
    size_t size = strlen(name);
    if (size <= strlen(journal_suffix) || strcmp(name + size - strlen(journal_suffix), journal_suffix) != 0)
        return NULL;
    char *owner = arena_dup(arena, name);
    owner[size - strlen(journal_suffix)] = '\0';
    char *dot = strrchr(owner, '.');
    if (dot == NULL)
        return NULL;
    *dot = '\0';
    return owner;
}

/* Orders the paths of one owner by number: a longer number is greater. */
static int compare_file_numbers(const void *a, const void *b)
{
    const char *const *left = a;
    const char *const *right = b;
    size_t left_size = strlen(*left);
    size_t right_size = strlen(*right);
    return left_size != right_size ? (left_size < right_size ? -1 : 1) : strcmp(*left, *right);
}

static void find_paths(const char *folder, struct arena *arena, struct stale_journal *stale)
{
    const char **paths = arena_array(arena, STALE_FILES_MAX, sizeof(*paths));
    DIR *dir = opendir(folder);
    const struct dirent *each;
    while (dir != NULL && (each = readdir(dir)) != NULL && stale->path_count < STALE_FILES_MAX) {
        const char *owner = owner_in_name(arena, each->d_name);
        if (owner != NULL && strcmp(owner, stale->owner) == 0)
            paths[stale->path_count++] = arena_printf(arena, "%s/%s", folder, each->d_name);
    }
    if (dir != NULL)
        closedir(dir);
    qsort(paths, stale->path_count, sizeof(*paths), compare_file_numbers);
    stale->paths = paths;
}

/* A file that is not locked has no living owner. Owner names are unique, so the owner does not return. */
static bool is_stale_file(int folder_fd, const char *name, const struct journal_file_head *wanted)
{
    struct journal_file_head head;
    int fd = openat(folder_fd, name, O_RDWR | O_CLOEXEC);
    bool stale = fd >= 0 && !journal_is_locked(fd);
    bool ours = stale && pread(fd, &head, sizeof(head), 0) == (ssize_t)sizeof(head) && memcmp(&head, wanted, sizeof(head)) == 0;
    if (stale && !ours)
        log_event(LOG_DEBUG, "sender.journal", "%s belongs to another installation and is ignored.", name);
    if (fd >= 0)
        close(fd);
    return ours;
}

struct text_list journal_stale_owners(const struct journal_location *location, struct arena *arena)
{
    const struct journal_file_head head = journal_make_head(location);
    const char *folder = arena_printf(arena, "%s/journal", location->data_dir);
    const char **owners = arena_array(arena, STALE_FILES_MAX, sizeof(*owners));
    size_t count = 0;
    DIR *dir = opendir(folder);
    const struct dirent *each;
    while (dir != NULL && count < STALE_FILES_MAX && (each = readdir(dir)) != NULL) {
        const char *owner = owner_in_name(arena, each->d_name);
        if (owner != NULL && is_stale_file(dirfd(dir), each->d_name, &head))
            owners[count++] = owner;
    }
    if (dir != NULL)
        closedir(dir);
    return (struct text_list){ owners, count };
}

/* One process at a time reads the stale journals of a folder. Gives -1 while another one does. */
static int lock_folder(const char *folder, struct arena *arena)
{
    int fd = open(arena_printf(arena, "%s/recovery.lock", folder), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0 && journal_lock(fd))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

bool journal_open_stale(const struct journal_location *location, const char *owner, struct arena *arena,
                        struct stale_journal *ret_stale)
{
    const char *folder = arena_printf(arena, "%s/journal", location->data_dir);
    *ret_stale = (struct stale_journal){ .owner = owner, .lock_fd = lock_folder(folder, arena) };
    if (ret_stale->lock_fd < 0)
        return false;
    find_paths(folder, arena, ret_stale);
    if (ret_stale->path_count == 0)
        close(ret_stale->lock_fd);
    return ret_stale->path_count > 0;
}

void journal_close_stale(const struct stale_journal *stale, bool remove)
{
    for (size_t i = 0; remove && i < stale->path_count; i++)
        unlink(stale->paths[i]);
    close(stale->lock_fd);
}

/* ---- The index ---- */

struct index_entry {
    int64_t brand_id;
    int64_t send_id;
    int64_t ordinal;
    uint64_t place; /* the file and the offset in it: a later record has a greater place */
};

struct journal_reader {
    const struct stale_journal *stale;
    FILE *files[STALE_FILES_MAX]; /* NULL: cannot be read */
    int64_t range_size;
    size_t passes;
    size_t pass; /* the next one */
    struct index_entry *index;
    size_t count;
    size_t room;
    size_t at; /* the first entry of the next range */
    struct journal_reader_figures figures;
};

static int compare_keys(const struct index_entry *a, const struct index_entry *b)
{
    if (a->brand_id != b->brand_id)
        return a->brand_id < b->brand_id ? -1 : 1;
    if (a->send_id != b->send_id)
        return a->send_id < b->send_id ? -1 : 1;
    return (a->ordinal > b->ordinal) - (a->ordinal < b->ordinal);
}

static bool is_less(struct journal_reader *reader, const struct index_entry *a, const struct index_entry *b)
{
    reader->figures.compares++;
    int order = compare_keys(a, b);
    return order != 0 ? order < 0 : a->place < b->place;
}

static void sift_down(struct journal_reader *reader, size_t root, size_t count)
{
    struct index_entry *index = reader->index;
    for (size_t child; (child = 2 * root + 1) < count; root = child) {
        child += child + 1 < count && is_less(reader, &index[child], &index[child + 1]);
        if (!is_less(reader, &index[root], &index[child]))
            return;
        struct index_entry moved = index[root];
        index[root] = index[child];
        index[child] = moved;
    }
}

/* Heapsort: qsort of the C library needs as much memory again. */
static void sort_index(struct journal_reader *reader)
{
    for (size_t root = reader->count / 2; root-- > 0;)
        sift_down(reader, root, reader->count);
    for (size_t last = reader->count; last-- > 1;) {
        struct index_entry greatest = reader->index[0];
        reader->index[0] = reader->index[last];
        reader->index[last] = greatest;
        sift_down(reader, 0, last);
    }
}

/* Only the last record of a recipient counts: a dot record after a reply record is of another attempt. */
static void sort_and_keep_last(struct journal_reader *reader)
{
    size_t kept = 0;
    sort_index(reader);
    for (size_t i = 0; i < reader->count; i++)
        if (i + 1 == reader->count || compare_keys(&reader->index[i], &reader->index[i + 1]) != 0)
            reader->index[kept++] = reader->index[i];
    reader->count = kept;
}

/* Room for one more. A full index first loses the records that do not count. It grows only when the ranges are spread unevenly
 * over the passes. */
static void make_index_room(struct journal_reader *reader)
{
    if (reader->count < reader->room)
        return;
    if (reader->count > 0)
        sort_and_keep_last(reader);
    if (reader->count <= reader->room / 2 && reader->room > 0)
        return;
    reader->room += reader->room > 0 ? reader->room / 2 : 1024;
    reader->index = realloc(reader->index, reader->room * sizeof(*reader->index));
    if (reader->index == NULL)
        panic(PANIC_NO_MEMORY);
    if (reader->room * sizeof(*reader->index) > reader->figures.max_bytes)
        reader->figures.max_bytes = reader->room * sizeof(*reader->index);
}

/* ---- A pass ---- */

static int64_t range_of(const struct journal_reader *reader, int64_t ordinal)
{
    return (ordinal - 1) / reader->range_size;
}

/* The pass that reads this range (a mix of splitmix64). */
static size_t pass_of(const struct journal_reader *reader, const struct journal_key *key)
{
    uint64_t mixed = ((uint64_t)key->brand_id * 31 + (uint64_t)key->send_id) * 31 + (uint64_t)range_of(reader, key->ordinal);
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94D049BB133111EB);
    return (size_t)((mixed ^ (mixed >> 31)) % reader->passes);
}

static bool is_whole(const struct journal_record *record)
{
    return journal_checksum(&record->body, record->head.size) == record->head.check;
}

static bool has_size(const struct journal_record *record)
{
    return record->head.size >= offsetof(struct journal_record_body, text) && record->head.size < sizeof(record->body);
}

static bool read_next_record(FILE *file, struct journal_record *ret_record)
{
    return fread(&ret_record->head, sizeof(ret_record->head), 1, file) == 1 && has_size(ret_record) &&
           fread(&ret_record->body, ret_record->head.size, 1, file) == 1 && is_whole(ret_record);
}

/* Other records are not written, and a checksum finds torn records only. */
static bool names_recipient(const struct journal_key *key)
{
    return key->ordinal >= 1;
}

static void index_file(struct journal_reader *reader, size_t number)
{
    struct journal_record record;
    FILE *file = reader->files[number];
    uint64_t offset = sizeof(struct journal_file_head);
    if (file == NULL || fseeko(file, (off_t)offset, SEEK_SET) != 0)
        return;
    for (; read_next_record(file, &record); offset += sizeof(record.head) + record.head.size) {
        const struct journal_key *key = &record.body.key;
        reader->figures.records += reader->pass == 0;
        if (!names_recipient(key) || pass_of(reader, key) != reader->pass)
            continue;
        make_index_room(reader);
        uint64_t place = (uint64_t)number << OFFSET_BITS | offset;
        reader->index[reader->count++] = (struct index_entry){ key->brand_id, key->send_id, key->ordinal, place };
    }
}

static void run_pass(struct journal_reader *reader)
{
    reader->count = reader->at = 0;
    for (size_t i = 0; i < reader->stale->path_count; i++)
        index_file(reader, i);
    sort_and_keep_last(reader);
    reader->pass++;
}

/* ---- The entries of a range ---- */

/* A reply with values that this version does not know counts as a dot record: the message may have arrived. */
static bool is_reply(const struct journal_record_body *body)
{
    return body->kind == JOURNAL_RECORD_REPLY && body->end <= SMTP_UNCERTAIN && body->stage <= SMTP_STAGE_FINAL;
}

static void read_entry(const struct journal_reader *reader, const struct index_entry *found, struct arena *arena,
                       struct journal_entry *ret_entry)
{
    struct journal_record record = { .head.size = 0 };
    off_t offset = (off_t)(found->place & ((UINT64_C(1) << OFFSET_BITS) - 1));
    /* It was read before. If it cannot be read again, it counts as a dot record: the message may have arrived. */
    bool is_read = pread(fileno(reader->files[found->place >> OFFSET_BITS]), &record, sizeof(record), offset) >=
                   (ssize_t)JOURNAL_RECORD_MIN_BYTES;
    bool is_known = is_read && has_size(&record) && is_whole(&record);
    struct journal_record_body *body = &record.body;
    if (!is_known)
        *body = (struct journal_record_body){ .kind = JOURNAL_RECORD_DOT };
    memset((char *)body + record.head.size, 0, is_known ? sizeof(*body) - record.head.size : 0);
    *ret_entry = (struct journal_entry){ .key = body->key, .has_reply = is_reply(body) };
    ret_entry->key.brand_id = found->brand_id;
    ret_entry->key.send_id = found->send_id;
    ret_entry->key.ordinal = found->ordinal;
    if (!ret_entry->has_reply)
        return;
    body->enhanced[sizeof(body->enhanced) - 1] = body->relay[sizeof(body->relay) - 1] = '\0';
    ret_entry->outcome.end = (enum smtp_end)body->end;
    ret_entry->outcome.stage = (enum smtp_stage)body->stage;
    ret_entry->outcome.code = body->code;
    memcpy(ret_entry->outcome.enhanced, body->enhanced, sizeof(body->enhanced));
    memcpy(ret_entry->outcome.text, body->text, sizeof(body->text));
    ret_entry->outcome.relay = arena_dup(arena, body->relay);
}

static size_t end_of_range(const struct journal_reader *reader)
{
    const struct index_entry *first = &reader->index[reader->at];
    size_t end = reader->at + 1;
    while (end < reader->count && reader->index[end].brand_id == first->brand_id && reader->index[end].send_id == first->send_id &&
           range_of(reader, reader->index[end].ordinal) == range_of(reader, first->ordinal))
        end++;
    return end;
}

bool journal_reader_next(struct journal_reader *reader, struct arena *arena, const struct journal_entry **ret_entries,
                         size_t *ret_count)
{
    while (reader->at == reader->count && reader->pass < reader->passes)
        run_pass(reader);
    if (reader->at == reader->count)
        return false;
    size_t count = end_of_range(reader) - reader->at;
    struct journal_entry *entries = arena_array(arena, count, sizeof(*entries));
    for (size_t i = 0; i < count; i++)
        read_entry(reader, &reader->index[reader->at + i], arena, &entries[i]);
    reader->at += count;
    *ret_entries = entries;
    *ret_count = count;
    return true;
}

/* ---- Creation ---- */

/* So many passes that each indexes about `index_records`, if the records have the smallest size. */
static size_t count_passes(const struct journal_reader *reader, size_t index_records)
{
    size_t bytes = 0;
    struct stat status;
    for (size_t i = 0; i < reader->stale->path_count; i++)
        if (reader->files[i] != NULL && fstat(fileno(reader->files[i]), &status) == 0)
            bytes += (size_t)status.st_size;
    return 1 + bytes / ((size_t)JOURNAL_RECORD_MIN_BYTES * index_records);
}

struct journal_reader *journal_reader_new(const struct stale_journal *stale, int64_t range_size, size_t index_records)
{
    struct journal_reader *reader = calloc(1, sizeof(*reader));
    if (reader == NULL)
        panic(PANIC_NO_MEMORY);
    if (stale->path_count > STALE_FILES_MAX)
        panic("a journal has too many files");
    reader->stale = stale;
    reader->range_size = range_size;
    for (size_t i = 0; i < stale->path_count; i++)
        reader->files[i] = fopen(stale->paths[i], "re");
    reader->passes = reader->figures.passes = count_passes(reader, index_records);
    return reader;
}

void journal_reader_free(struct journal_reader *reader)
{
    if (reader == NULL)
        return;
    for (size_t i = 0; i < STALE_FILES_MAX; i++)
        if (reader->files[i] != NULL)
            fclose(reader->files[i]);
    free(reader->index);
    free(reader);
}

struct journal_reader_figures journal_reader_figures(const struct journal_reader *reader)
{
    return reader->figures;
}

void journal_reader_cleanup(struct journal_reader **reader)
{
    journal_reader_free(*reader);
}
