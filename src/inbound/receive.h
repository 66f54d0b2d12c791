/*
 * Receiving mail: turns a message that arrived for a return path into a call of mailReports.receive. The LMTP listener, the IMAP
 * poller and posthorn bounce all receive by this file.
 */
#pragma once

#include "api/call.h"

struct inbound_mail {
    struct bytes message;
    const char *return_path; /* the envelope recipient; NULL: it is looked for in the header fields that mail systems add */
    const char *source;      /* lmtp, imap, command */
};

/* Reads a message and fills a call with it. The caller sets `on_completed` and `transport_data`, and submits it. The message may be
 * freed then; the call needs its arena only. Errors: PAYLOAD_TOO_LARGE when reading it needs too much memory. */
MUST_CHECK bool inbound_call_fill(struct call *call, struct arena *arena, const struct inbound_mail *mail, struct error *err)
    NONNULL(1, 2, 3, 4);

/* Receives a message and waits until it is recorded. `ret_answer` is the JSON of the result. Errors: PAYLOAD_TOO_LARGE;
 * SERVICE_UNAVAILABLE and INTERNAL_ERROR, after which the message can be received again. */
MUST_CHECK bool inbound_receive(struct api *api, struct arena *arena, const struct inbound_mail *mail, const char **ret_answer,
                                struct error *err) NONNULL(1, 2, 3, 4, 5);
