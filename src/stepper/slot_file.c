#include "stepper/slot_file.h"

#include "base/log.h"
#include "base/panic.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };
static const char suffix[] = ".steps";

/* The contents of the file. */
struct slot_record {
    int64_t database;
    struct step_slot slot;
};

struct slot_file {
    char path[PATH_BYTES];
    int fd; /* holds the lock; -1: in memory only */
    struct slot_record *record;
};

/* ---- The own file ---- */

/* The space is allocated at once: a write to a mapped page of a full disk would be a signal. */
static struct slot_record *map_record(struct slot_file *file)
{
    void *record = MAP_FAILED;
    file->fd = open(file->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file->fd < 0)
        return NULL;
    /* Another stepper that looks at the file has the lock for a moment only. */
    if (flock(file->fd, LOCK_EX) == 0 && posix_fallocate(file->fd, 0, (off_t)sizeof(struct slot_record)) == 0)
        record = mmap(NULL, sizeof(struct slot_record), PROT_READ | PROT_WRITE, MAP_SHARED, file->fd, 0);
    if (record != MAP_FAILED)
        return record;
    unlink(file->path);
    close(file->fd);
    file->fd = -1;
    return NULL;
}

struct slot_file *slot_file_open(const char *data_dir, const char *owner, int64_t database)
{
    struct slot_file *file = calloc(1, sizeof(*file));
    if (file == NULL)
        panic(PANIC_NO_MEMORY);
    snprintf(file->path, sizeof(file->path), "%.3800s/journal/%.200s%s", data_dir, owner, suffix);
    file->record = map_record(file);
    if (file->record == NULL) {
        log_event(LOG_WARNING, "stepper.slot", "%s cannot be written. Runs that end the process are not counted.", file->path);
        file->record = mmap(NULL, sizeof(*file->record), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (file->record == MAP_FAILED)
            panic(PANIC_NO_MEMORY);
    }
    file->record->database = database;
    return file;
}

struct step_slot *slot_file_slot(struct slot_file *file)
{
    return &file->record->slot;
}

void slot_file_close(struct slot_file *file)
{
    if (file == NULL)
        return;
    munmap(file->record, sizeof(*file->record));
    if (file->fd >= 0) {
        unlink(file->path);
        close(file->fd);
    }
    free(file);
}

void step_slot_empty(struct step_slot *slot)
{
    atomic_store_explicit(&slot->count, 0, memory_order_release);
}

/* ---- Files of ended processes ---- */

static bool has_suffix(const char *name)
{
    size_t size = strlen(name);
    return size > strlen(suffix) && strcmp(name + size - strlen(suffix), suffix) == 0;
}

static bool is_record(const struct slot_record *record, ssize_t size, int64_t database)
{
    return size == (ssize_t)sizeof(*record) && record->database == database && record->slot.count >= 0 &&
           record->slot.count <= STEP_BATCH_MAX;
}

/* Opens a file that no process holds. */
static bool open_stale(const char *path, int64_t database, struct arena *arena, struct stale_slot **ret_stale)
{
    struct slot_record *record = arena_alloc(arena, sizeof(*record));
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return false;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 || !is_record(record, read(fd, record, sizeof(*record)), database)) {
        close(fd);
        return false;
    }
    struct stale_slot *stale = arena_alloc(arena, sizeof(*stale));
    stale->path = arena_dup(arena, path);
    stale->fd = fd;
    memcpy(&stale->slot, &record->slot, sizeof(stale->slot));
    *ret_stale = stale;
    return true;
}

bool stale_slot_find(const char *data_dir, int64_t database, struct arena *arena, struct stale_slot **ret_stale)
{
    const char *folder = arena_printf(arena, "%s/journal", data_dir);
    DIR *dir = opendir(folder);
    const struct dirent *each;
    bool found = false;
    while (dir != NULL && !found && (each = readdir(dir)) != NULL)
        found =
            has_suffix(each->d_name) && open_stale(arena_printf(arena, "%s/%s", folder, each->d_name), database, arena, ret_stale);
    if (dir != NULL)
        closedir(dir);
    return found;
}

void stale_slot_close(struct stale_slot *stale, bool remove)
{
    if (remove)
        unlink(stale->path);
    close(stale->fd);
}
