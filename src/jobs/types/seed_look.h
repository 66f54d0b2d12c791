/*
 * A look into a seed mailbox: finds the folder in which a message arrived, by its
 * Message-ID, and reads its header. INBOX comes first, then the folders for spam
 * (RFC 6154, or by their names), then the others.
 *
 * The server is not trusted. Time, folders and bytes are bounded; a mailbox whose
 * answers end early, never end or make no sense is unread. For src/jobs/types
 * only. A look uses no arena and no database, so it may run on any thread.
 */
#pragma once

#include "base/buf.h"
#include "net/imap_address.h"

enum {
    SEED_LOOK_MS = 20 * 1000, /* a look */
    SEED_FOLDERS_MAX = 40,    /* that are searched */
    SEED_FOLDER_MAX_BYTES = 300,
    SEED_HEADER_MAX_BYTES = 256 * 1024,
};

enum seed_found { SEED_UNREAD, SEED_ABSENT, SEED_IN_INBOX, SEED_IN_SPAM };

struct seed_look {
    struct imap_address address;
    const char *message_id; /* without angle brackets, borrowed */

    enum seed_found found;
    char folder[SEED_FOLDER_MAX_BYTES + 1]; /* as the server names it */
    struct buf header;                      /* of the message that was found */
    const char *problem;                    /* SEED_UNREAD: why, a constant text */
};

/* Looks, in at most `total_ms`. seed_look_done frees what it has read, the address too. */
void seed_look_run(struct seed_look *look, int64_t total_ms) NONNULL(1);
void seed_look_done(struct seed_look *look) NONNULL(1);
