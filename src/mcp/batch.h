/*
 * Batches: several messages in one array, which of all versions only
 * 2025-03-26 knows. The answers are collected into one array. A batch lives in
 * the arena of its transport; its requests have arenas of their own, because
 * they may be answered on several threads at once.
 */
#pragma once

#include "mcp/core.h"

struct mcp_batch;

struct mcp_batch_host {
    /* Fills what the transport knows: door, peer, credentials, guard. */
    void (*fill)(void *data, struct mcp_request *request);

    /* A message that comes before the answers. */
    void (*send)(void *data, const char *message, size_t size);

    /* All are answered; `out` is the array, empty when there was nothing to answer. */
    void (*done)(void *data, struct buf *out);
};

/* Reads and prepares every message of `messages`, a non-empty array of at most MCP_BATCH_MAX_MESSAGES. */
struct mcp_batch *mcp_batch_new(struct mcp_server *server, struct arena *arena, const json_t *messages,
                                const struct mcp_batch_host *host, void *host_data) NONNULL(1, 2, 3, 4) RETURNS_NONNULL;

/* Whether one of its requests may be answered after mcp_batch_run has returned. */
bool mcp_batch_is_deferred(const struct mcp_batch *batch) NONNULL(1) PURE;

void mcp_batch_run(struct mcp_batch *batch) NONNULL(1);
