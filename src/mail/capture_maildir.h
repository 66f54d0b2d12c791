/*
 * Capture Maildir: the capture outbox (https://cr.yp.to/proto/maildir.html).
 * Messages of the sandbox domain are delivered into it instead of being sent.
 * Any mail reader can open it.
 *
 * Its messages and bytes are bounded, and so is the share of each owner
 * (capture_quota.h). A delivery beyond a bound is refused until mail is deleted.
 *
 * A message is written to tmp/ and renamed into new/, so a reader never sees a
 * partial message. Delivery is idempotent, because the file name is the stable
 * id of the message, an '@' and its owner: a second delivery after a crash
 * replaces the file in new/, and does nothing if a reader has moved it to cur/
 * unread or seen (flags "" or "S").
 *
 * One process delivers into a folder at a time, from any of its threads.
 */
#pragma once

#include "base/error.h"
#include "base/values.h"
#include "mail/capture_quota.h"

#include <stddef.h>
#include <stdint.h>

enum capture_maildir_sync {
    CAPTURE_MAILDIR_SYNC_NONE,    /* a message survives a crash of the process, not of the machine */
    CAPTURE_MAILDIR_SYNC_DURABLE, /* file and folder are on disk when deliver returns */
};

enum { CAPTURE_MAILDIR_NAME_MAX_BYTES = 200 }; /* of id and owner together */

struct capture_maildir;

/* Opens the Maildir at `path`. Creates it (mode 0700) if it does not exist, and removes the files of an earlier process
 * in tmp/. Errors: SERVICE_UNAVAILABLE when the folder cannot be used. */
MUST_CHECK bool capture_maildir_open(const char *path, struct capture_amount bound, enum capture_maildir_sync sync,
                                     struct capture_maildir **ret_maildir, struct error *err) NONNULL(1, 4, 5);

void capture_maildir_close(struct capture_maildir *maildir);

/* A message and its stable id. Texts: letters, digits, '_', '-', '.'; an id does not begin with a dot. */
struct captured_message {
    const char *id;
    const char *owner; /* an organization; NULL: a message of no owner */
    struct bytes text;
};

/* Delivers a message. Errors: SERVICE_UNAVAILABLE when the disk fails, or with ret_is_full when there is no room for it;
 * INTERNAL_ERROR for a bad id or owner. */
MUST_CHECK bool capture_maildir_deliver(struct capture_maildir *maildir, const struct captured_message *message, bool *ret_is_full,
                                        struct error *err) NONNULL(1, 2, 3, 4);

/* Counts the messages and bytes in new/ and cur/. */
MUST_CHECK bool capture_maildir_measure(struct capture_maildir *maildir, struct capture_amount *ret_usage, struct error *err)
    NONNULL(1, 2, 3);
