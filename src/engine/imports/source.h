/*
 * Where the bytes of an import come from: a file beneath the
 * import root, or the text that came with the call and lies in its row.
 *
 * A file is opened without following any symbolic link and without leaving the
 * root (openat2), and it is held against what it was when the import was asked
 * for, so that a round of work never goes on in another file. A source belongs
 * to one thread.
 */
#pragma once

#include "engine/core/work.h"

/* What a file was when it was named. */
struct import_file {
    int64_t device;
    int64_t inode;
    int64_t modified_ns;
    int64_t size_bytes;
};

struct import_source {
    const struct work *work;
    int64_t import_id;
    int fd; /* -1: the text in the row */
    struct import_file file;
    const char *path;
};

/* A path as it is kept: relative to the root. Absolute ones are taken when they lie beneath it.
 * Errors: INVALID_REQUEST with param "path". */
MUST_CHECK bool import_path_relative(struct arena *arena, const char *root, const char *path, const char **ret_path,
                                     struct error *err) NONNULL(1, 2, 3, 4, 5);

/* Looks at a file beneath the root. Errors: INVALID_REQUEST with param "path", saying why it cannot be read. */
MUST_CHECK bool import_file_look(const char *root, const char *path, struct import_file *ret_file, struct error *err)
    NONNULL(1, 2, 3, 4);

/* Opens the file of an import again. Errors: INVALID_REQUEST with param "path", also when it is not what it was. */
MUST_CHECK bool import_source_open_file(struct import_source *source, const char *root, const char *path,
                                        const struct import_file *expected, struct error *err) NONNULL(1, 2, 3, 4, 5);

/* The text in the row of the import, `size_bytes` long. */
void import_source_open_text(struct import_source *source, int64_t size_bytes) NONNULL(1);

/* Reads up to `size` bytes at an offset; fewer only at the end. Texts are in `arena`, files in `room`.
 * Errors: INVALID_REQUEST when the file became shorter, and those of the database. */
MUST_CHECK bool import_source_read(const struct import_source *source, struct arena *arena, int64_t offset, unsigned char *room,
                                   size_t size, struct bytes *ret_bytes, struct error *err) NONNULL(1, 2, 4, 6, 7);

/* Whether the file is still what it was; true for texts. */
MUST_CHECK bool import_source_is_unchanged(const struct import_source *source, struct error *err) NONNULL(1, 2);

void import_source_close(struct import_source *source) NONNULL(1);
#define IMPORT_SOURCE_SCOPE CLEANUP(import_source_close) struct import_source
