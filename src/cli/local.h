/*
 * The local installation as a command reaches it: linked, as its owner, with a
 * progress bar while work goes on and an interrupt that stops it.
 */
#pragma once

#include "cli/commands.h"
#include "cli/progress.h"

#include "posthorn.h"

struct local {
    struct posthorn *posthorn;
    struct progress_bar bar;
    const char *idempotency_key;
};

void local_open(struct local *local, const struct process *process, const struct options *options) NONNULL(1, 2, 3);

/* Calls an operation or a tool with the text of its arguments (NULL: none) and waits for its end: of the call, and with
 * `waits` of what it tells about. Never NULL; ended with posthorn_reply_free. */
struct posthorn_reply *local_call(struct local *local, const char *name, const char *arguments, bool waits) NONNULL(1, 2);

void local_close(struct local *local) NONNULL(1);
