/*
 * Import source: the bytes of an import, from a file below the import root, or
 * from the text of the request, which is stored in the import's row.
 *
 * A file is opened with openat2, which follows no symbolic link and prevents
 * path traversal out of the root. Its identity (device, inode, time, size) is
 * compared with that at the time of the request, so that a round never continues
 * in another file. A source belongs to one thread.
 */
#pragma once

#include "engine/core/work.h"

/* The identity of a file when the import was requested. */
struct import_file {
    int64_t device;
    int64_t inode;
    int64_t modified_ns;
    int64_t size_bytes;
};

struct import_source {
    const struct work *work;
    int64_t import_id;
    int fd;           /* -1: a text */
    const char *text; /* a text that is not stored; NULL: the text in the row */
    struct import_file file;
    const char *path;
};

/* Makes a path relative to the root. An absolute path must be below the root. Errors: INVALID_REQUEST with param "path". */
MUST_CHECK bool import_path_relative(struct arena *arena, const char *root, const char *path, const char **ret_path,
                                     struct error *err) NONNULL(1, 2, 3, 4, 5);

/* Reads the identity of a file below the root. Errors: INVALID_REQUEST with param "path", with the reason. */
MUST_CHECK bool import_file_look(const char *root, const char *path, struct import_file *ret_file, struct error *err)
    NONNULL(1, 2, 3, 4);

/* Opens the file of an import. Errors: INVALID_REQUEST with param "path", also when the file has changed. */
MUST_CHECK bool import_source_open_file(struct import_source *source, const char *root, const char *path,
                                        const struct import_file *expected, struct error *err) NONNULL(1, 2, 3, 4, 5);

/* Opens the text in the row of the import, `size_bytes` long. */
void import_source_open_text(struct import_source *source, int64_t size_bytes) NONNULL(1);

/* Opens a text that is not stored, for a preview. The source borrows it. */
void import_source_open_given(struct import_source *source, const char *text) NONNULL(1, 2);

/* Reads up to `size` bytes at an offset; fewer only at the end. A stored text is returned in `arena`, a file's bytes in `buffer`.
 * Errors: INVALID_REQUEST when the file became shorter, and those of the database. */
MUST_CHECK bool import_source_read(const struct import_source *source, struct arena *arena, int64_t offset, unsigned char *buffer,
                                   size_t size, struct bytes *ret_bytes, struct error *err) NONNULL(1, 2, 4, 6, 7);

/* Checks that the file has not changed; always true for a stored text. */
MUST_CHECK bool import_source_is_unchanged(const struct import_source *source, struct error *err) NONNULL(1, 2);

void import_source_close(struct import_source *source) NONNULL(1);
#define IMPORT_SOURCE_SCOPE CLEANUP(import_source_close) struct import_source
