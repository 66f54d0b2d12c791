#include "sender/crash_slots.h"

#include "base/log.h"
#include "base/panic.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PATH_BYTES = 4096 };

struct crash_slots {
    char path[PATH_BYTES];
    struct crash_slot *items;
};

static const size_t file_bytes = CRASH_SLOTS_MAX * sizeof(struct crash_slot);

static void slots_path(const char *data_dir, const char *owner, char ret_path[PATH_BYTES])
{
    snprintf(ret_path, PATH_BYTES, "%.3800s/journal/%.200s.slots", data_dir, owner);
}

/* Space is allocated at once: a write to a mapped page of a full disk would be a signal. */
static struct crash_slot *map_file(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    void *items = MAP_FAILED;
    if (fd >= 0 && posix_fallocate(fd, 0, (off_t)file_bytes) == 0)
        items = mmap(NULL, file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    return items != MAP_FAILED ? items : NULL;
}

struct crash_slots *crash_slots_open(const char *data_dir, const char *owner)
{
    struct crash_slots *slots = calloc(1, sizeof(*slots));
    if (slots == NULL)
        panic(PANIC_NO_MEMORY);
    slots_path(data_dir, owner, slots->path);
    slots->items = map_file(slots->path);
    if (slots->items != NULL)
        return slots;
    log_event(LOG_WARNING, "sender.slots", "%s cannot be written. Messages that end the process are not counted.", slots->path);
    slots->items = mmap(NULL, file_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (slots->items == MAP_FAILED)
        panic(PANIC_NO_MEMORY);
    return slots;
}

void crash_slots_close(struct crash_slots *slots, bool remove)
{
    if (slots == NULL)
        return;
    munmap(slots->items, file_bytes);
    if (remove)
        unlink(slots->path);
    free(slots);
}

struct crash_slot *crash_slot_of(struct crash_slots *slots, size_t number)
{
    if (number >= CRASH_SLOTS_MAX)
        panic("a thread has no crash slot");
    return &slots->items[number];
}

void crash_slot_fill(struct crash_slot *slot, enum crash_slot_kind kind, int64_t brand_id, int64_t send_id, int64_t ordinal)
{
    slot->brand_id = brand_id;
    slot->send_id = send_id;
    slot->ordinal = ordinal;
    atomic_store_explicit(&slot->kind, (int)kind, memory_order_release);
}

void crash_slot_empty(struct crash_slot *slot)
{
    atomic_store_explicit(&slot->kind, CRASH_SLOT_EMPTY, memory_order_release);
}

size_t crash_slots_read(const char *data_dir, const char *owner, struct arena *arena, const struct crash_slot **ret_slots)
{
    char path[PATH_BYTES];
    struct crash_slot *items = arena_array(arena, CRASH_SLOTS_MAX, sizeof(*items));
    slots_path(data_dir, owner, path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd >= 0 ? read(fd, items, file_bytes) : 0;
    if (fd >= 0)
        close(fd);
    size_t count = 0;
    for (size_t i = 0; size == (ssize_t)file_bytes && i < CRASH_SLOTS_MAX; i++)
        if (items[i].kind == CRASH_SLOT_RECIPIENT || items[i].kind == CRASH_SLOT_RANGE)
            memmove(&items[count++], &items[i], sizeof(*items));
    *ret_slots = items;
    return count;
}

void crash_slots_remove(const char *data_dir, const char *owner)
{
    char path[PATH_BYTES];
    slots_path(data_dir, owner, path);
    unlink(path);
}
