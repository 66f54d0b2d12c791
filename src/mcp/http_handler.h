/*
 * HTTP handler of one MCP request, private to src/mcp: it takes the events of a
 * stream until the stream ends. Reference-counted.
 */
#pragma once

#include "mcp/core.h"

void mcp_http_handler_ref(struct mcp_http_handler *handler) NONNULL(1);
void mcp_http_handler_unref(struct mcp_http_handler *handler) NONNULL(1);

/* Sends complete events in wire format; does nothing when the client has disconnected. */
void mcp_http_handler_send_bytes(struct mcp_http_handler *handler, const char *bytes, size_t size) NONNULL(1, 2);

/* Ends the event stream; does nothing when it has ended or the client has disconnected. */
void mcp_http_handler_end_stream(struct mcp_http_handler *handler) NONNULL(1);
