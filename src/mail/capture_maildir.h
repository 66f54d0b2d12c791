/*
 * Capture Maildir: the capture outbox (https://cr.yp.to/proto/maildir.html).
 * Messages of the sandbox domain are delivered into it instead of being sent.
 * Any mail reader can open it.
 *
 * Its messages and bytes are bounded; a full Maildir refuses delivery until mail
 * is deleted. A message is written to tmp/ and renamed into new/, so a reader
 * never sees a partial message. Delivery is idempotent, because the file name is
 * the stable id of the message: a second delivery after a crash replaces the
 * file in new/, and does nothing if a reader has moved it to cur/ unread or seen
 * (flags "" or "S").
 *
 * One process delivers into a folder at a time, from any of its threads.
 */
#pragma once

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum capture_maildir_sync {
    CAPTURE_MAILDIR_SYNC_NONE,    /* a message survives a crash of the process, not of the machine */
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

/* Opens the Maildir at `path`. Creates it (mode 0700) if it does not exist, and removes the files of an earlier process
 * in tmp/. Errors: SERVICE_UNAVAILABLE when the folder cannot be used. */
MUST_CHECK bool capture_maildir_open(const char *path, struct capture_maildir_bounds bounds, enum capture_maildir_sync sync,
                                     struct capture_maildir **ret_maildir, struct error *err) NONNULL(1, 4, 5);

void capture_maildir_close(struct capture_maildir *maildir);

/* Delivers a message. `name` is its stable id: letters, digits, '_', '-', '.', '@', not beginning with a dot.
 * Errors: SERVICE_UNAVAILABLE when the Maildir is full or the disk fails, INTERNAL_ERROR for a bad name. */
MUST_CHECK bool capture_maildir_deliver(struct capture_maildir *maildir, const char *name, const void *bytes, size_t size,
                                        struct error *err) NONNULL(1, 2, 3, 5);

/* Counts the messages and bytes in new/ and cur/. */
MUST_CHECK bool capture_maildir_measure(struct capture_maildir *maildir, struct capture_maildir_usage *ret_usage, struct error *err)
    NONNULL(1, 2, 3);
