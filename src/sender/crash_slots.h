/*
 * Crash slots: a file that says what each thread of the sender works on. A thread
 * fills its slot before it reads or composes data of callers, and empties it
 * afterwards. The file is mapped into memory, so that a slot costs no system call
 * and outlives a killed process.
 *
 * Recovery reads the slots of an ended process. Work that was in a slot at
 * CRASHES_MAX ends of a process gets the result `failed` and is not tried again
 * (recovery.c).
 *
 * The file is DATA/journal/OWNER.slots. It is removed with the journal. A slot
 * belongs to one thread.
 */
#pragma once

#include "base/arena.h"
#include "base/compiler.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CRASH_SLOTS_MAX = 96, CRASHES_MAX = 3 };

enum crash_slot_kind {
    CRASH_SLOT_EMPTY,
    CRASH_SLOT_RECIPIENT, /* the message of recipient `ordinal` is composed */
    CRASH_SLOT_RANGE,     /* the recipients of the range that has `ordinal` are read */
};

struct crash_slot {
    atomic_int kind; /* written last */
    int64_t brand_id;
    int64_t send_id;
    int64_t ordinal;
};

struct crash_slots;

/* The slots of this process. When the file cannot be made, the slots are in memory only, and a crash is not counted. */
struct crash_slots *crash_slots_open(const char *data_dir, const char *owner) NONNULL(1, 2) RETURNS_NONNULL;
/* Unmaps the slots. With `remove` the file is removed. NULL is allowed. */
void crash_slots_close(struct crash_slots *slots, bool remove);

/* Slot `number`, below CRASH_SLOTS_MAX. */
struct crash_slot *crash_slot_of(struct crash_slots *slots, size_t number) NONNULL(1) RETURNS_NONNULL;

void crash_slot_fill(struct crash_slot *slot, enum crash_slot_kind kind, int64_t brand_id, int64_t send_id, int64_t ordinal)
    NONNULL(1);
void crash_slot_empty(struct crash_slot *slot) NONNULL(1);

/* Reads the filled slots of an ended process, in the arena; none when the file cannot be read. */
size_t crash_slots_read(const char *data_dir, const char *owner, struct arena *arena, const struct crash_slot **ret_slots)
    NONNULL(1, 2, 3, 4);
/* Removes the file of an ended process. */
void crash_slots_remove(const char *data_dir, const char *owner) NONNULL(1, 2);
