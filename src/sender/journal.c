#include "base/log.h"
#include "base/panic.h"
#include "base/text.h"
#include "sender/journal_format.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OWNER_MAX_BYTES = 64 };

static const char magic[8] = "PHJRNL3\n";
const char journal_suffix[] = ".journal";

struct journal_output {
    int64_t number;
    int fd;
};

struct journal {
    pthread_mutex_t mutex;
    char folder[JOURNAL_PATH_BYTES];
    char owner[OWNER_MAX_BYTES];
    struct journal_file_head head;
    struct journal_output files[JOURNAL_FILES_MAX]; /* oldest first; the last one is the current file */
    size_t count;
    off_t size;   /* of the current file */
    bool is_torn; /* the current file ends with a part of a record, so nothing may be appended */
};

/* ---- The format ---- */

uint32_t journal_checksum(const void *bytes, size_t size)
{
    uint32_t hash = 2166136261U;
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * 16777619U;
    return hash;
}

struct journal_file_head journal_make_head(const struct journal_location *location)
{
    struct journal_file_head head = { .installation = location->installation };
    memcpy(head.magic, magic, sizeof(magic));
    return head;
}

bool journal_lock(int fd)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

bool journal_is_locked(int fd)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    return fcntl(fd, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

/* ---- Files ---- */

static void file_path(const struct journal *journal, int64_t number, char ret_path[JOURNAL_PATH_BYTES])
{
    snprintf(ret_path, JOURNAL_PATH_BYTES, "%.3900s/%s.%lld%s", journal->folder, journal->owner, (long long)number, journal_suffix);
}

/* The file is locked before it gets its name, so that no other process finds it stale. */
static bool start_file(struct journal *journal, int64_t number, struct error *err)
{
    char path[JOURNAL_PATH_BYTES];
    char draft[JOURNAL_PATH_BYTES];
    file_path(journal, number, path);
    snprintf(draft, sizeof(draft), "%.3900s/%s.draft", journal->folder, journal->owner);
    int fd = open(draft, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    bool done = fd >= 0 && journal_lock(fd) && write(fd, &journal->head, sizeof(journal->head)) == (ssize_t)sizeof(journal->head) &&
                rename(draft, path) == 0;
    if (!done) {
        int why = errno;
        if (fd >= 0)
            close(fd);
        return fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "The journal of the sender cannot be written.") ||
               error_because(err, "%s: %s", path, strerror(why));
    }
    journal->files[journal->count++] = (struct journal_output){ number, fd };
    journal->is_torn = false;
    journal->size = sizeof(journal->head);
    return true;
}

bool journal_open(const struct journal_location *location, const char *owner, struct journal **ret_journal, struct error *err)
{
    struct journal *journal = calloc(1, sizeof(*journal));
    if (journal == NULL)
        panic(PANIC_NO_MEMORY);
    pthread_mutex_init(&journal->mutex, NULL);
    snprintf(journal->folder, sizeof(journal->folder), "%.3800s/journal", location->data_dir);
    journal->head = journal_make_head(location);
    snprintf(journal->owner, sizeof(journal->owner), "%s", owner);
    /* A failure is only logged here: start_file then fails, too. */
    if (mkdir(journal->folder, 0700) != 0 && errno != EEXIST)
        log_event(LOG_ERROR, "sender.journal", "%s: %s", journal->folder, strerror(errno));
    if (start_file(journal, 1, err)) {
        *ret_journal = journal;
        return true;
    }
    journal_close(journal);
    return false;
}

static void close_files(struct journal *journal, size_t count, bool remove)
{
    for (size_t i = 0; i < count; i++) {
        char path[JOURNAL_PATH_BYTES];
        file_path(journal, journal->files[i].number, path);
        if (remove)
            unlink(path);
        close(journal->files[i].fd);
    }
    memmove(journal->files, journal->files + count, (journal->count - count) * sizeof(journal->files[0]));
    journal->count -= count;
}

static void close_journal(struct journal *journal, bool remove)
{
    if (journal == NULL)
        return;
    close_files(journal, journal->count, remove);
    pthread_mutex_destroy(&journal->mutex);
    free(journal);
}

void journal_remove(struct journal *journal)
{
    close_journal(journal, true);
}

void journal_close(struct journal *journal)
{
    close_journal(journal, false);
}

/* ---- Records ---- */

/* Appends with one write. A partial write is cut off again, since records behind it could not be read. */
static bool append_bytes(struct journal *journal, const void *bytes, size_t size, struct journal_mark *mark)
{
    const struct journal_output *current = &journal->files[journal->count - 1];
    /* A thread that reads marks without the mutex must not miss a record: a first record is marked before it is written, a later
     * one when it is written. */
    bool is_first = atomic_load(&mark->file) == 0;
    if (is_first)
        atomic_store(&mark->file, current->number);
    ssize_t written = write(current->fd, bytes, size);
    if (written != (ssize_t)size) {
        journal->is_torn = written > 0 && ftruncate(current->fd, journal->size) != 0;
        if (is_first)
            atomic_store(&mark->file, 0);
        return false;
    }
    atomic_store(&mark->file, current->number);
    mark->offset = journal->size;
    journal->size += written;
    return true;
}

/* Starts the next file when the current one is full. False when the journal is at its bound: the reply records of messages whose
 * dot record is there still have room. */
static bool make_room(struct journal *journal, bool is_reply)
{
    struct error ignored = { .code = ERR_NONE };
    if (journal->size <= JOURNAL_FILE_BYTES && !journal->is_torn)
        return true;
    if (journal->count == JOURNAL_FILES_MAX)
        return is_reply && !journal->is_torn;
    if (!start_file(journal, journal->files[journal->count - 1].number + 1, &ignored))
        log_event(LOG_WARNING, "sender.journal", "No next journal file can be started. Records go to the current one.");
    return !journal->is_torn;
}

static bool append_record(struct journal *journal, const struct journal_record_body *body, struct journal_mark *mark)
{
    size_t size = offsetof(struct journal_record_body, text) + strlen(body->text);
    struct journal_record record = { .head = { (uint32_t)size, journal_checksum(body, size) } };
    memcpy(&record.body, body, size);
    pthread_mutex_lock(&journal->mutex);
    bool done =
        make_room(journal, body->kind == JOURNAL_RECORD_REPLY) && append_bytes(journal, &record, sizeof(record.head) + size, mark);
    pthread_mutex_unlock(&journal->mutex);
    return done;
}

bool journal_add_dot(struct journal *journal, const struct journal_key *key, struct journal_mark *mark)
{
    struct journal_record_body body = { .key = *key, .kind = JOURNAL_RECORD_DOT };
    return append_record(journal, &body, mark);
}

bool journal_add_reply(struct journal *journal, const struct journal_key *key, const struct smtp_outcome *outcome,
                       struct journal_mark *mark)
{
    struct journal_record_body body = {
        .key = *key,
        .kind = JOURNAL_RECORD_REPLY,
        .end = (uint8_t)outcome->end,
        .stage = (uint8_t)outcome->stage,
        .code = outcome->code,
    };
    snprintf(body.enhanced, sizeof(body.enhanced), "%s", outcome->enhanced);
    snprintf(body.relay, sizeof(body.relay), "%s", outcome->relay != NULL ? outcome->relay : "");
    snprintf(body.text, sizeof(body.text), "%s", outcome->text);
    if (!append_record(journal, &body, mark))
        return false;
    if (outcome->end == SMTP_NOT_SENT)
        journal_forget(mark);
    return true;
}

/* ---- Marks ---- */

int64_t journal_mark_file(const struct journal_mark *mark)
{
    return atomic_load(&mark->file);
}

void journal_forget(struct journal_mark *mark)
{
    atomic_store(&mark->file, 0);
}

static int fd_of_file(const struct journal *journal, int64_t number)
{
    for (size_t i = 0; i < journal->count; i++)
        if (journal->files[i].number == number)
            return journal->files[i].fd;
    return -1;
}

static bool read_marked(const struct journal *journal, const struct journal_mark *mark, struct journal_record *ret_record)
{
    int fd = fd_of_file(journal, atomic_load(&mark->file));
    struct journal_record_head *head = &ret_record->head;
    return fd >= 0 && pread(fd, head, sizeof(*head), mark->offset) == (ssize_t)sizeof(*head) &&
           head->size <= sizeof(ret_record->body) &&
           pread(fd, &ret_record->body, head->size, mark->offset + (off_t)sizeof(*head)) == (ssize_t)head->size;
}

void journal_carry(struct journal *journal, struct journal_mark *mark)
{
    struct journal_record record;
    pthread_mutex_lock(&journal->mutex);
    int64_t file = atomic_load(&mark->file);
    bool is_old = file != 0 && file != journal->files[journal->count - 1].number;
    if (is_old && read_marked(journal, mark, &record) && make_room(journal, true))
        (void)append_bytes(journal, &record, sizeof(record.head) + record.head.size, mark); /* else it stays where it is */
    pthread_mutex_unlock(&journal->mutex);
}

int64_t journal_current_file(struct journal *journal)
{
    pthread_mutex_lock(&journal->mutex);
    int64_t number = journal->files[journal->count - 1].number;
    pthread_mutex_unlock(&journal->mutex);
    return number;
}

void journal_remove_before(struct journal *journal, int64_t file)
{
    pthread_mutex_lock(&journal->mutex);
    size_t count = 0;
    while (count + 1 < journal->count && journal->files[count].number < file)
        count++;
    close_files(journal, count, true);
    pthread_mutex_unlock(&journal->mutex);
}
