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

/* Reads a message: the arguments of its call, without a return path that only the envelope has. It may take a second, so a thread
 * that serves others leaves it to a call (`read_input`). Errors: PAYLOAD_TOO_LARGE when reading it needs too much memory. */
MUST_CHECK bool inbound_read(struct arena *arena, const struct inbound_mail *mail, json_t **ret_arguments, struct error *err)
    NONNULL(1, 2, 3, 4);

/* Fills a call of mailReports.receive whose input is still to be set. The caller sets `on_completed` and `transport_data`, and
 * submits it. */
void inbound_call_fill(struct call *call, struct arena *arena, const struct inbound_mail *mail) NONNULL(1, 2, 3);

/* The arguments for a recipient, of those that were read once for all. */
json_t *inbound_arguments_for(struct arena *arena, json_t *arguments, const char *return_path) NONNULL(1, 2, 3) RETURNS_NONNULL;

/* Receives a message and waits until it is recorded. `ret_answer` is the JSON of the result. Errors: PAYLOAD_TOO_LARGE;
 * SERVICE_UNAVAILABLE and INTERNAL_ERROR, after which the message can be received again. */
MUST_CHECK bool inbound_receive(struct api *api, struct arena *arena, const struct inbound_mail *mail, const char **ret_answer,
                                struct error *err) NONNULL(1, 2, 3, 4, 5);
