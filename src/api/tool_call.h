/*
 * A tool call as a call of operations: which candidates the tool's argument
 * names, which arguments it fixes or defaults. Shared by the agent protocol,
 * the command line and the embedding API, so that a tool means the same
 * everywhere.
 */
#pragma once

#include "api/call.h"

/* The tool of this name; NULL when there is none or none of its operations is built. */
const struct tool *tool_find(const char *name) NONNULL(1);

/* Turns the arguments of a tool into candidates, input and idempotency key of `call`, whose arena and credentials the
 * door has set. `arguments` (NULL: none) is changed; it must be an object. What is wrong with it is kept in the call and
 * reported at its place in the order of checks. */
void tool_prepare(const struct tool *tool, json_t *arguments, struct call *call) NONNULL(1, 3);

/* The operation of this id as the only candidate; NULL when there is none. */
const struct operation *const *operation_candidates(struct arena *arena, const char *id) NONNULL(1, 2);
