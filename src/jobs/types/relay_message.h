/*
 * Relaying one message in a job: it is signed with the keys of its domain and
 * given to a relay while the job waits. For src/jobs/types only.
 */
#pragma once

#include "jobs/jobs.h"

struct relayed_message {
    int64_t domain_id;
    int64_t domain_brand_id; /* the brand that owns the domain */
    const char *from_address;
    const char *to;
    const char *reply_to;    /* NULL: none */
    const char *return_path; /* to which other mail systems report; NULL: the sender's address */
    struct bytes message;
};

/* Delivers it. For execute, in a process with a relay. `ret_is_uncertain` and errors are those of sender_deliver. */
MUST_CHECK bool relay_message(struct job *job, const struct relayed_message *message, bool *ret_is_uncertain, struct error *err)
    NONNULL(1, 2, 4);
