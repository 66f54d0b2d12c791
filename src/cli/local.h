/*
 * Local installation: calls the linked service as its owner, with a progress
 * bar, and cancels the call at an interrupt.
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

/* Calls an operation or a tool with its arguments as JSON text (NULL: none), and waits until the call is complete; with `waits`
 * also until the work it reports on has ended. Never NULL; free it with posthorn_reply_free. */
struct posthorn_reply *local_call(struct local *local, const char *name, const char *arguments, bool waits) NONNULL(1, 2);

void local_close(struct local *local) NONNULL(1);
