/*
 * Asset store: the bytes of hosted images (content-addressed storage). The name
 * of an object is the SHA-256 of its bytes. An object never changes, so equal
 * bytes are stored once, copies can be cached without expiry, and storing an
 * object again only renews its time.
 *
 * A store is a table of operations, so that another implementation (such as a
 * network object store) can replace the folder. Thread-safe.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "crypto/keys.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum asset_type { ASSET_JPEG, ASSET_PNG, ASSET_GIF, ASSET_WEBP, ASSET_AVIF };

/* The name of a type in the database. */
const char *asset_type_name(enum asset_type type) RETURNS_NONNULL PURE;

/* The type with this name in the database; the name must be valid. */
enum asset_type asset_type_named(const char *name) NONNULL(1) PURE;

/* The name of an object in a store and in its public URL: 52 digits of lower-case base32, a dot and an extension. A name of this
 * form cannot leave a folder (path traversal). */
enum { ASSET_NAME_BYTES = 52 + 1 + 4 + 1 };

struct asset_name {
    char text[ASSET_NAME_BYTES];
};

struct asset_name asset_name_of(const unsigned char hash[SECRET_HASH_BYTES], enum asset_type type) NONNULL(1);

/* The hash in a name. */
void asset_name_hash(const struct asset_name *name, unsigned char ret_hash[SECRET_HASH_BYTES]) NONNULL(1);

/* Parses a name and its type. False when `text` is not a name. */
bool asset_name_read(const char *text, struct asset_name *ret_name, enum asset_type *ret_type) NONNULL(1, 2, 3);

struct asset_store;

/* Bytes opened for reading; `fd` belongs to the caller. */
struct asset_file {
    int fd;
    int64_t bytes;
};

struct asset_store_operations {
    /* Stores all bytes or none, durably. An object that exists counts as stored now. Errors: SERVICE_UNAVAILABLE. */
    bool (*put)(struct asset_store *store, const struct asset_name *name, const void *bytes, size_t size, struct error *err);
    /* `ret_found` is false when the object does not exist. Errors: SERVICE_UNAVAILABLE. */
    bool (*open)(struct asset_store *store, const struct asset_name *name, struct asset_file *ret_file, bool *ret_found,
                 struct error *err);
    bool (*exists)(struct asset_store *store, const struct asset_name *name, bool *ret_exists, struct error *err);
    /* Removes an object that was not stored since a time of the wall clock, in seconds; so none is lost that is being stored again.
     * A missing object counts as removed. Errors: SERVICE_UNAVAILABLE. */
    bool (*remove)(struct asset_store *store, const struct asset_name *name, int64_t since_s, bool *ret_removed, struct error *err);
    void (*close)(struct asset_store *store);
};

/* The first member of every implementation. */
struct asset_store {
    const struct asset_store_operations *operations;
};

MUST_CHECK bool asset_put(struct asset_store *store, const struct asset_name *name, const void *bytes, size_t size,
                          struct error *err) NONNULL(1, 2, 3, 5);
MUST_CHECK bool asset_open(struct asset_store *store, const struct asset_name *name, struct asset_file *ret_file, bool *ret_found,
                           struct error *err) NONNULL(1, 2, 3, 4, 5);
MUST_CHECK bool asset_exists(struct asset_store *store, const struct asset_name *name, bool *ret_exists, struct error *err)
    NONNULL(1, 2, 3, 4);
MUST_CHECK bool asset_remove(struct asset_store *store, const struct asset_name *name, int64_t since_s, bool *ret_removed,
                             struct error *err) NONNULL(1, 2, 4, 5);

/* NULL is allowed. */
void asset_store_free(struct asset_store *store);

/* The store of an installation in the folder assets/ of its data folder, as ab/cdef….png. The first use makes the folder. A file
 * is written under a temporary name, synced and renamed, so that a killed process leaves no incomplete file. Processes on several
 * machines need one shared folder. */
struct asset_store *asset_folder_new(const char *data_dir) NONNULL(1) RETURNS_NONNULL;
