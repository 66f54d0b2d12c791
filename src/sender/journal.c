#include "sender/journal.h"

#include "base/log.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OWNER_MAX_BYTES = 64, PATH_BYTES = 4096, FILES_MAX = 64, RELAY_MAX_BYTES = 128 };

struct file_head {
    char magic[8];
    uint64_t installation;
};
static const char magic[8] = "PHJRNL3\n";
static const char suffix[] = ".journal";

struct journal_output {
    int64_t number;
    int fd;
};

struct journal {
    pthread_mutex_t mutex;
    char folder[PATH_BYTES];
    char owner[OWNER_MAX_BYTES];
    struct file_head head;
    struct journal_output files[FILES_MAX]; /* oldest first; the last one is the current file */
    size_t count;
    off_t size;   /* of the current file */
    bool is_torn; /* the current file ends with a part of a record, so nothing may be appended */
};

struct record_head {
    uint32_t size; /* of the body */
    uint32_t check;
};

enum record_kind { RECORD_DOT = 1, RECORD_REPLY = 2 };

struct record_body {
    struct journal_key key;
    uint8_t kind;
    uint8_t end;
    uint8_t stage;
    uint8_t unused;
    int32_t code;
    char enhanced[12];
    char relay[RELAY_MAX_BYTES];
    char text[SMTP_TEXT_MAX_BYTES]; /* the last member: only its used bytes are written */
};

static uint32_t checksum(const void *bytes, size_t size)
{
    uint32_t hash = 2166136261U; /* FNV-1a: finds torn records, not forged ones */
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * 16777619U;
    return hash;
}

/* An open-file-description lock, which ends with its process. False when another process has it. */
static bool lock_journal_file(int fd)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

/* ---- Writing ---- */

static void file_path(const struct journal *journal, int64_t number, char ret_path[PATH_BYTES])
{
    snprintf(ret_path, PATH_BYTES, "%.3900s/%s.%lld%s", journal->folder, journal->owner, (long long)number, suffix);
}

/* The file is locked before it gets its name, so that no other process finds it stale. */
static bool start_file(struct journal *journal, int64_t number, struct error *err)
{
    char path[PATH_BYTES];
    char draft[PATH_BYTES];
    file_path(journal, number, path);
    snprintf(draft, sizeof(draft), "%.3900s/%s.draft", journal->folder, journal->owner);
    int fd = open(draft, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    bool done = fd >= 0 && lock_journal_file(fd) &&
                write(fd, &journal->head, sizeof(journal->head)) == (ssize_t)sizeof(journal->head) && rename(draft, path) == 0;
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

static struct file_head make_file_head(const struct journal_location *location)
{
    struct file_head head = { .installation = location->installation };
    memcpy(head.magic, magic, sizeof(magic));
    return head;
}

bool journal_open(const struct journal_location *location, const char *owner, struct journal **ret_journal, struct error *err)
{
    struct journal *journal = calloc(1, sizeof(*journal));
    if (journal == NULL)
        abort();
    pthread_mutex_init(&journal->mutex, NULL);
    snprintf(journal->folder, sizeof(journal->folder), "%.3800s/journal", location->data_dir);
    journal->head = make_file_head(location);
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
        char path[PATH_BYTES];
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

/* Appends with one write. A partial write is cut off again, since records behind it could not be read. */
static bool append_bytes(struct journal *journal, const void *bytes, size_t size)
{
    int fd = journal->files[journal->count - 1].fd;
    ssize_t written = write(fd, bytes, size);
    if (written == (ssize_t)size) {
        journal->size += written;
        return true;
    }
    journal->is_torn = written > 0 && ftruncate(fd, journal->size) != 0;
    return false;
}

static bool append_record(struct journal *journal, struct record_body *body, int64_t *ret_file)
{
    size_t size = offsetof(struct record_body, text) + strlen(body->text);
    struct {
        struct record_head head;
        struct record_body body;
    } record = { .head = { (uint32_t)size, checksum(body, size) } };
    memcpy(&record.body, body, size);
    pthread_mutex_lock(&journal->mutex);
    struct error ignored = { .code = ERR_NONE };
    if ((journal->size > JOURNAL_FILE_BYTES || journal->is_torn) && journal->count < FILES_MAX &&
        !start_file(journal, journal->files[journal->count - 1].number + 1, &ignored))
        log_event(LOG_WARNING, "sender.journal", "No next journal file can be started. Records go to the current one.");
    bool done = !journal->is_torn && append_bytes(journal, &record, sizeof(record.head) + size);
    *ret_file = journal->files[journal->count - 1].number;
    pthread_mutex_unlock(&journal->mutex);
    return done;
}

bool journal_add_dot(struct journal *journal, const struct journal_key *key, int64_t *ret_file)
{
    struct record_body body = { .key = *key, .kind = RECORD_DOT };
    return append_record(journal, &body, ret_file);
}

bool journal_add_reply(struct journal *journal, const struct journal_key *key, const struct smtp_outcome *outcome,
                       int64_t *ret_file)
{
    struct record_body body = {
        .key = *key,
        .kind = RECORD_REPLY,
        .end = (uint8_t)outcome->end,
        .stage = (uint8_t)outcome->stage,
        .code = outcome->code,
    };
    snprintf(body.enhanced, sizeof(body.enhanced), "%s", outcome->enhanced);
    snprintf(body.relay, sizeof(body.relay), "%s", outcome->relay != NULL ? outcome->relay : "");
    snprintf(body.text, sizeof(body.text), "%s", outcome->text);
    return append_record(journal, &body, ret_file);
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

/* ---- Reading the records of a file ---- */

struct entry_list {
    struct journal_entry *entries;
    size_t count;
    size_t room;
};

static struct journal_entry *append_entry(struct arena *arena, struct entry_list *list)
{
    if (list->count == list->room) {
        size_t room = list->room > 0 ? 2 * list->room : 1024;
        struct journal_entry *entries = arena_array(arena, room, sizeof(*entries));
        if (list->count > 0)
            memcpy(entries, list->entries, list->count * sizeof(*entries));
        list->entries = entries;
        list->room = room;
    }
    return &list->entries[list->count++];
}

static bool read_record(FILE *file, struct record_body *ret_body)
{
    struct record_head head;
    if (fread(&head, sizeof(head), 1, file) != 1)
        return false;
    memset(ret_body, 0, sizeof(*ret_body));
    if (head.size < offsetof(struct record_body, text) || head.size >= sizeof(*ret_body))
        return false;
    if (fread(ret_body, head.size, 1, file) != 1 || checksum(ret_body, head.size) != head.check)
        return false;
    ret_body->enhanced[sizeof(ret_body->enhanced) - 1] = '\0';
    ret_body->relay[sizeof(ret_body->relay) - 1] = '\0';
    return true;
}

static void read_journal_file(struct arena *arena, const char *path, struct entry_list *list)
{
    struct file_head head;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return;
    bool known = fread(&head, sizeof(head), 1, file) == 1;
    struct record_body body;
    while (known && read_record(file, &body)) {
        struct journal_entry *entry = append_entry(arena, list);
        *entry = (struct journal_entry){ .key = body.key, .has_reply = body.kind == RECORD_REPLY };
        if (!entry->has_reply)
            continue;
        entry->outcome.end = (enum smtp_end)body.end;
        entry->outcome.stage = (enum smtp_stage)body.stage;
        entry->outcome.code = body.code;
        memcpy(entry->outcome.enhanced, body.enhanced, sizeof(body.enhanced));
        memcpy(entry->outcome.text, body.text, sizeof(body.text));
        entry->outcome.relay = arena_dup(arena, body.relay);
    }
    fclose(file);
}

static int compare_keys(const struct journal_key *a, const struct journal_key *b)
{
    int64_t left[] = { a->brand_id, a->send_id, a->ordinal };
    int64_t right[] = { b->brand_id, b->send_id, b->ordinal };
    for (size_t i = 0; i < ARRAY_COUNT(left); i++)
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    return 0;
}

struct numbered_entry {
    struct journal_entry entry;
    size_t number; /* its position in the files */
};

static int compare_numbered(const void *a, const void *b)
{
    const struct numbered_entry *left = a;
    const struct numbered_entry *right = b;
    int order = compare_keys(&left->entry.key, &right->entry.key);
    return order != 0 ? order : (left->number > right->number) - (left->number < right->number);
}

/* Only the last record of a recipient counts: a dot record after a reply record is of another attempt. */
static void keep_last_entries(struct arena *arena, struct entry_list *list)
{
    struct numbered_entry *all = arena_array(arena, list->count + 1, sizeof(*all));
    for (size_t i = 0; i < list->count; i++)
        all[i] = (struct numbered_entry){ list->entries[i], i };
    qsort(all, list->count, sizeof(*all), compare_numbered);
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++)
        if (i + 1 == list->count || compare_keys(&all[i].entry.key, &all[i + 1].entry.key) != 0)
            list->entries[kept++] = all[i].entry;
    list->count = kept;
}

/* ---- Finding a stale journal ---- */

/* The owner in a file name OWNER.N.journal; NULL for other names. */
static const char *owner_in_name(struct arena *arena, const char *name)
{
    size_t size = strlen(name);
    if (size <= strlen(suffix) || strcmp(name + size - strlen(suffix), suffix) != 0)
        return NULL;
    char *owner = arena_dup(arena, name);
    owner[size - strlen(suffix)] = '\0';
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
    const char **paths = arena_array(arena, FILES_MAX, sizeof(*paths));
    DIR *dir = opendir(folder);
    const struct dirent *each;
    while (dir != NULL && (each = readdir(dir)) != NULL && stale->path_count < FILES_MAX) {
        const char *owner = owner_in_name(arena, each->d_name);
        if (owner != NULL && strcmp(owner, stale->owner) == 0)
            paths[stale->path_count++] = arena_printf(arena, "%s/%s", folder, each->d_name);
    }
    if (dir != NULL)
        closedir(dir);
    qsort(paths, stale->path_count, sizeof(*paths), compare_file_numbers);
    stale->paths = paths;
}

/* A file that can be locked has no living owner. Owner names are unique, so the owner does not return. */
static bool is_stale_file(int folder_fd, const char *name, const struct file_head *wanted)
{
    struct file_head head;
    int fd = openat(folder_fd, name, O_RDWR | O_CLOEXEC);
    bool stale = fd >= 0 && lock_journal_file(fd);
    bool ours = stale && pread(fd, &head, sizeof(head), 0) == (ssize_t)sizeof(head) && memcmp(&head, wanted, sizeof(head)) == 0;
    if (stale && !ours)
        log_event(LOG_DEBUG, "sender.journal", "%s belongs to another installation and is ignored.", name);
    if (fd >= 0)
        close(fd);
    return ours;
}

static const char *find_stale_owner(const char *folder, const struct file_head *head, struct arena *arena)
{
    const char *found = NULL;
    DIR *dir = opendir(folder);
    const struct dirent *each;
    while (dir != NULL && found == NULL && (each = readdir(dir)) != NULL) {
        const char *owner = owner_in_name(arena, each->d_name);
        if (owner != NULL && is_stale_file(dirfd(dir), each->d_name, head))
            found = owner;
    }
    if (dir != NULL)
        closedir(dir);
    return found;
}

/* One process at a time reads the stale journals of a folder. Gives -1 while another one does. */
static int lock_folder(const char *folder, struct arena *arena)
{
    int fd = open(arena_printf(arena, "%s/recovery.lock", folder), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0 && lock_journal_file(fd))
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

bool journal_find_stale(const struct journal_location *location, struct arena *arena, struct stale_journal *ret_stale)
{
    const struct file_head head = make_file_head(location);
    const char *folder = arena_printf(arena, "%s/journal", location->data_dir);
    *ret_stale = (struct stale_journal){ .lock_fd = lock_folder(folder, arena) };
    if (ret_stale->lock_fd < 0)
        return false;
    ret_stale->owner = find_stale_owner(folder, &head, arena);
    if (ret_stale->owner == NULL) {
        close(ret_stale->lock_fd);
        return false;
    }
    find_paths(folder, arena, ret_stale);
    struct entry_list list = { .count = 0 };
    for (size_t i = 0; i < ret_stale->path_count; i++)
        read_journal_file(arena, ret_stale->paths[i], &list);
    keep_last_entries(arena, &list);
    ret_stale->entries = list.entries;
    ret_stale->count = list.count;
    return true;
}

void journal_close_stale(const struct stale_journal *stale, bool remove)
{
    for (size_t i = 0; remove && i < stale->path_count; i++)
        unlink(stale->paths[i]);
    close(stale->lock_fd);
}
