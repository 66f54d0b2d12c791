/*
 * Renderer pool: the processes that serve requests of one kind. A request waits
 * until it is its turn to use one (renderer_turns.h). Any thread may call. Private
 * to src/render.
 */
#pragma once

#include "base/buf.h"
#include "render/renderer.h"

struct renderer_pool;

/* Starts no process. The configuration outlives the pool. */
struct renderer_pool *renderer_pool_new(const struct renderer_config *config) NONNULL(1) RETURNS_NONNULL;

/* Ends the processes that run. No request is running. */
void renderer_pool_free(struct renderer_pool *pool) NONNULL(1);

/* Ends each process that has had no request for the idle time of the configuration; the first `kept` processes stay. */
void renderer_pool_end_idle(struct renderer_pool *pool, int kept) NONNULL(1);

/* Waits for a process, sends it a request line with this id and reads the reply, until the deadline. */
MUST_CHECK bool renderer_pool_exchange(struct renderer_pool *pool, int64_t organization_id, struct arena *arena,
                                       const struct buf *request, int64_t id, int64_t deadline_us, const json_t **ret_result,
                                       struct error *err) NONNULL(1, 3, 4, 7, 8);
