/*
 * Exchanges as the other files of this room see them: something that takes the
 * events of a stream until it is ended. Counted by hold and drop.
 */
#pragma once

#include "mcp/core.h"

void mcp_http_handler_hold(struct mcp_http_handler *exchange) NONNULL(1);
void mcp_http_handler_drop(struct mcp_http_handler *exchange) NONNULL(1);

/* Whole events in their form on the wire; nothing when the client is gone. */
void mcp_http_handler_send_bytes(struct mcp_http_handler *exchange, const char *bytes, size_t size) NONNULL(1, 2);

/* Ends the answer as a stream. Nothing when it was ended or the client is gone. */
void mcp_http_handler_end_stream(struct mcp_http_handler *exchange) NONNULL(1);
