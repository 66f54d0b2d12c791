/*
 * Hits: requests of tracked links and of the picture that reports opens. A hit
 * is stored at once and judged later: only the activity of people counts as an
 * open or a click.
 */
#pragma once

#include "engine/core/work.h"

enum hit_kind { HIT_OPEN, HIT_CLICK };

enum {
    HIT_LINK_OPEN = -1,   /* the picture */
    HIT_LINK_HIDDEN = -2, /* a link that no person sees */
};

enum {
    HITS_MAX_A_RECIPIENT = 200, /* of a send; further ones are not stored */
    HITS_LATE_S = 2,            /* a hit is stored within this time */
    HITS_KEEP_ADDRESS_DAYS = 7,
};

struct hit {
    int64_t id; /* random: a hit that is stored again has the same id and time, and is stored once. 0: it is stored each time */
    int64_t brand_id;
    int64_t send_id;
    int64_t ordinal; /* ordinal of the recipient in the send */
    enum hit_kind kind;
    int64_t link;        /* number of the link in the version, HIT_LINK_OPEN or HIT_LINK_HIDDEN */
    const char *method;  /* GET, HEAD or POST */
    const char *agent;   /* the header User-Agent; "" when there is none. It is not stored */
    const char *address; /* the client's address; NULL: unknown. It is stored truncated */
    const char *url;     /* where the link of a click leads; NULL: an open */
    int64_t at_us;
};

/* Adds the statements that store hits to the batch, which runs in one transaction, and enqueues the job that judges them. The hits
 * may belong to different brands. The classes of program and network, and the operator's word and range that were found, are stored
 * in place of the agent. The connection is idle. */
void hits_add(const struct work *work, struct db_batch *batch, const struct hit *hits, size_t count) NONNULL(1, 2, 3);
