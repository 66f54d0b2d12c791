/*
 * Tool call: turns the name and arguments of a tool into a call of operations.
 * The tool's arguments choose the candidates, and the tool adds fixed and
 * default arguments. Other names of an argument are accepted, unless the tool is
 * destructive. The MCP server, the command line and the embedding API
 * share it, so a tool behaves the same everywhere.
 */
#pragma once

#include "api/call.h"

/* Finds the tool with this name; NULL when there is none or none of its operations is built. */
const struct tool *tool_find(const char *name) NONNULL(1);

/* Turns the arguments of a tool into candidates, input and idempotency key of `call`. The transport has set the call's arena and
 * credentials. `arguments` (NULL: none) is modified; it must be an object. An error in it is kept in the call and reported at its
 * place in the order of checks. */
void tool_prepare(const struct tool *tool, json_t *arguments, struct call *call) NONNULL(1, 3);

/* The operation with this id as the only candidate; NULL when there is none. */
const struct operation *const *operation_candidates(struct arena *arena, const char *id) NONNULL(1, 2);
