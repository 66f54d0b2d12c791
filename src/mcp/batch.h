/*
 * Batches: several JSON-RPC messages in one array. Only version 2025-03-26 has
 * them. The answers are collected into one array. A batch lives in the arena of
 * its transport. Its requests have arenas of their own, because several threads
 * may answer them at once.
 */
#pragma once

#include "mcp/core.h"

struct mcp_batch;

struct mcp_batch_callbacks {
    /* Sets what the transport provides: its name, peer, credentials, guard. */
    void (*fill)(void *data, struct mcp_request *request);

    /* Sends a message that precedes the answers. */
    void (*send)(void *data, const char *message, size_t size);

    /* All requests are answered. `out` is the array, empty when there was nothing to answer. */
    void (*on_completed)(void *data, struct buf *out);
};

/* Reads and prepares every message of `messages`, a non-empty array of at most MCP_BATCH_MAX_MESSAGES. */
struct mcp_batch *mcp_batch_new(struct mcp_server *server, struct arena *arena, const json_t *messages,
                                const struct mcp_batch_callbacks *callbacks, void *callback_data)
    NONNULL(1, 2, 3, 4) RETURNS_NONNULL;

/* True when one of its requests may be answered after mcp_batch_run has returned. */
bool mcp_batch_is_deferred(const struct mcp_batch *batch) NONNULL(1) PURE;

void mcp_batch_run(struct mcp_batch *batch) NONNULL(1);
