/*
 * Slot file: names the runs that a stepper has in its transaction, so that it is
 * known what a process worked on when it ended. The file is mapped into memory: a
 * slot costs no system call and outlives a killed process.
 *
 * The file is DATA/journal/OWNER.steps, locked by its process. A file without a
 * lock belonged to a process that has ended. Its runs become suspect
 * (suspect_runs.h). A process that ends in order removes its file.
 *
 * One thread uses a slot file.
 */
#pragma once

#include "engine/runs/step_batch.h"

struct slot_file;

/* The slot of this process. `database` identifies the database of the runs. When the file cannot be made, the slot is in memory
 * only, and a crash is not counted. */
struct slot_file *slot_file_open(const char *data_dir, const char *owner, int64_t database) NONNULL(1, 2) RETURNS_NONNULL;
struct step_slot *slot_file_slot(struct slot_file *file) NONNULL(1) RETURNS_NONNULL;
/* Removes the file. NULL is allowed. */
void slot_file_close(struct slot_file *file);

/* No transaction is under way. */
void step_slot_empty(struct step_slot *slot) NONNULL(1);

/* The runs of a process that has ended. */
struct stale_slot {
    char *path;
    int fd; /* holds the lock of the file */
    struct step_slot slot;
};

/* Finds the file of an ended process with the same database; false when there is none. */
bool stale_slot_find(const char *data_dir, int64_t database, struct arena *arena, struct stale_slot **ret_stale) NONNULL(1, 3, 4);
/* Releases the file; `remove` removes it. */
void stale_slot_close(struct stale_slot *stale, bool remove) NONNULL(1);
