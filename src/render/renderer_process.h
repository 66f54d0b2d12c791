/*
 * Renderer process: one sidecar process, and the exchange of a request and its
 * reply with it. The first request starts the process; renderer.h says what ends
 * it. One caller uses it at a time: renderer_pool.h gives it to one. Private to
 * src/render.
 */
#pragma once

#include "base/buf.h"
#include "render/renderer.h"

struct renderer_process;

/* Does not start the process. The configuration outlives it. */
struct renderer_process *renderer_process_new(const struct renderer_config *config) NONNULL(1) RETURNS_NONNULL;

/* Ends the process, if it runs. */
void renderer_process_free(struct renderer_process *process) NONNULL(1);

/* Ends the process, if it runs. The next request starts a new one. */
void renderer_process_stop(struct renderer_process *process) NONNULL(1);

/* Sends a request line with this id and reads the reply, until the deadline. */
MUST_CHECK bool renderer_process_exchange(struct renderer_process *process, struct arena *arena, const struct buf *request,
                                          int64_t id, int64_t deadline_us, const json_t **ret_result, struct error *err)
    NONNULL(1, 2, 3, 6, 7);
