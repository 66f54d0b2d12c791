/*
 * Hit spool: requests of tracked links on disk, until the database has them. The
 * folder DATA/hits holds files NAME.spool. Each process appends to a file of its
 * own, which it locks. Any process of the data folder drains the files that
 * nobody has locked: those of ended processes, and sealed ones.
 *
 * A record has a checksum. A file ends at its first damaged record, which is a
 * torn tail after a crash. An append is on the disk when it returns. A record
 * that is drained again has the same id and time, so the database stores it once.
 *
 * Thread-safe, except that one thread at a time drains.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/values.h"

enum {
    HIT_TOKEN_CHARS = 48,
    HIT_AGENT_MAX_BYTES = 512,
    HIT_ADDRESS_MAX_BYTES = 64,
    HIT_SPOOL_MAX_BYTES = 64 * 1024 * 1024, /* of a file; beyond it no hit is spooled */
};

struct spooled_hit {
    int64_t id;
    int64_t at_us;
    bool is_head;                    /* the method is HEAD, not GET */
    char token[HIT_TOKEN_CHARS + 1]; /* of the link, without the sealed target of a merged link */
    const char *agent;               /* "" when there is none */
    const char *address;             /* "" when it is unknown */
};

struct hit_spool;

/* Describes the folder; it is made with the first append. */
struct hit_spool *hit_spool_new(const char *data_dir) NONNULL(1) RETURNS_NONNULL;
void hit_spool_free(struct hit_spool *spool);

/* Appends the hits in one write and one flush. Errors: SERVICE_UNAVAILABLE when the file is full, or cannot be written. */
MUST_CHECK bool hit_spool_append(struct hit_spool *spool, const struct spooled_hit *hits, size_t count, struct error *err)
    NONNULL(1, 2, 4);

/* True when this process has appended hits that are not sealed. */
bool hit_spool_has_own(struct hit_spool *spool) NONNULL(1);

/* True when there is a file in the folder, of any process. */
bool hit_spool_has_files(struct hit_spool *spool) NONNULL(1);

/* ---- Draining ---- */

struct hit_drain;

/* Opens a file to drain: that of an ended process, a sealed one, or the file of this process, which is sealed then. NULL when there
 * is none. */
struct hit_drain *hit_drain_open(struct hit_spool *spool) NONNULL(1);

/* Reads up to `max` hits, in the arena. 0 at the end. */
size_t hit_drain_read(struct hit_drain *drain, struct arena *arena, struct spooled_hit *ret_hits, size_t max) NONNULL(1, 2, 3);

/* Closes the file, and removes it when the database has all its hits. */
void hit_drain_close(struct hit_drain *drain, bool is_drained) NONNULL(1);

/* ---- The form of records, for tests ---- */

/* Appends a record. */
void hit_record_write(struct buf *out, const struct spooled_hit *hit) NONNULL(1, 2);

/* Reads the record at the beginning of the bytes. Returns its size; 0 when there is no whole and undamaged one. */
size_t hit_record_read(struct bytes bytes, struct arena *arena, struct spooled_hit *ret_hit) NONNULL(2, 3);
