/*
 * Private to sender: the file DATA/generation.json of the restore guard
 * (restore_guard.h). It names the installation, the folder and its generation.
 * It also holds its own inode number: a copy of the file has another one, so a
 * folder that was copied or restored is told from the original.
 *
 * The caller holds the lock of the folder between reading and writing. A file is
 * replaced as a whole; a file that cannot be parsed counts as absent.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"

struct generation_file {
    bool is_original; /* the file is there and is not a copy; the other members are set only then */
    const char *installation;
    int64_t folder;
    int64_t generation;
};

/* Opens the data folder and locks it against other processes of this machine. Closing the descriptor ends the lock.
 * Errors: SERVICE_UNAVAILABLE. */
MUST_CHECK bool generation_folder_lock(const char *data_dir, int *ret_fd, struct error *err) NONNULL(1, 2, 3);

/* Reads the file. Errors: SERVICE_UNAVAILABLE when a file is there and cannot be read. */
MUST_CHECK bool generation_file_read(struct arena *arena, int folder_fd, struct generation_file *ret_file, struct error *err)
    NONNULL(1, 3, 4);

/* Replaces the file and waits until it is on the disk. Errors: SERVICE_UNAVAILABLE. */
MUST_CHECK bool generation_file_write(int folder_fd, const struct generation_file *file, struct error *err) NONNULL(2, 3);
