/*
 * MCP client of the command line: tools of a running server over HTTP (MCP
 * 2026-07-28, stateless), one request per call.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"

#include <jansson.h>

struct remote {
    const char *url;   /* the server's address; /mcp is appended */
    const char *key;   /* NULL: none */
    const char *brand; /* X-Brand-Id, NULL: none */
};

/* Calls a tool. `ret_answer` is the JSON text of its result, or the error envelope when *ret_ok is false. Errors:
 * SERVICE_UNAVAILABLE (no answer), INVALID_REQUEST (the server refused the request). */
MUST_CHECK bool remote_call_tool(const struct remote *remote, struct arena *arena, const char *tool, const json_t *arguments,
                                 bool *ret_ok, const char **ret_answer, struct error *err) NONNULL(1, 2, 3, 5, 6, 7);

/* Lists the server's tools. */
MUST_CHECK bool remote_list_tools(const struct remote *remote, struct arena *arena, const json_t **ret_tools, struct error *err)
    NONNULL(1, 2, 3, 4);
