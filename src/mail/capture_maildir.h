/*
 * Outbox: the capture outbox, a Maildir (https://cr.yp.to/proto/maildir.html)
 * into which the messages of the sandbox domain are delivered instead of being
 * sent. Any mail reader can open it.
 *
 * It is bounded in messages and bytes; when it is full, delivery is refused
 * until somebody deletes mail. A message is written to tmp/ and renamed into
 * new/, so a reader never sees half of it. The file name comes from the
 * message's own stable id: delivering the same message again after a crash
 * replaces the file in new/ instead of doubling it, and does nothing if a
 * reader has moved it to cur/ unread or seen (flags "" or "S").
 *
 * One process delivers into a folder at a time; within it any thread may.
 */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum capture_maildir_sync {
    CAPTURE_MAILDIR_SYNC_NONE,    /* survives a crash of the process, not of the machine */
    CAPTURE_MAILDIR_SYNC_DURABLE, /* file and folder are on disk when deliver returns */
};

enum { CAPTURE_MAILDIR_NAME_MAX_BYTES = 200 };

struct capture_maildir_bounds {
    uint64_t max_messages;
    uint64_t max_bytes;
};

struct capture_maildir_usage {
    uint64_t messages;
    uint64_t bytes;
};

struct capture_maildir;

/* Opens the Maildir at `path`, making it (mode 0700) where it does not exist, and removes what an earlier process left
 * in tmp/. Errors: SERVICE_UNAVAILABLE when the folder cannot be used. */
MUST_CHECK bool capture_maildir_open(const char *path, struct capture_maildir_bounds bounds, enum capture_maildir_sync sync,
                                     struct capture_maildir **ret_outbox, struct error *err) NONNULL(1, 4, 5);

void capture_maildir_close(struct capture_maildir *outbox);

/* Delivers a message. `name` is its stable id: letters, digits, '_', '-', '.', '@', not beginning with a dot.
 * Errors: SERVICE_UNAVAILABLE when the outbox is full or the disk fails, INTERNAL_ERROR for a bad name. */
MUST_CHECK bool capture_maildir_deliver(struct capture_maildir *outbox, const char *name, const void *bytes, size_t size,
                                        struct error *err) NONNULL(1, 2, 3, 5);

/* What lies in new/ and cur/, counted anew. */
MUST_CHECK bool capture_maildir_measure(struct capture_maildir *outbox, struct capture_maildir_usage *ret_usage, struct error *err)
    NONNULL(1, 2, 3);
