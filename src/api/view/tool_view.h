/*
 * Tool view: the part of an operation's result that a tool shows. Models pay for
 * every character, so the answer of a tool that takes `detail` leaves out empty
 * and technical members, groups long lists of faulty rows by code, shows the
 * first items of lists that obey `limit`, and a window of its long member. REST
 * and calls of an operation show the whole result.
 *
 * The tables are generated from `view` of the shapes and `long` of the tools
 * (schemas/README.md). Results are allocated in the arena of the call.
 */
#pragma once

#include "api/call.h"

enum {
    VIEW_DEFAULT_LIMIT = 10, /* items of a list that obeys limit */
    VIEW_MAX_LIMIT = 100,
    VIEW_SHOWN_ROWS = 10, /* a list with more faulty rows is grouped; also the samples of a group */
};

/* Removes the arguments of the view from `arguments` and fills call->view. The candidates of the call are chosen. A window adds the
 * long member to the argument include. Errors: INVALID_REQUEST, with the argument as param. */
MUST_CHECK bool tool_view_take(const struct tool *tool, json_t *arguments, struct call *call, struct error *err)
    NONNULL(1, 2, 3, 4);

/* Makes the body that the tool shows of a successful call: the reply's own body when the view leaves nothing out. A window has at
 * most as many characters as fit into `budget_chars` with the rest of the body.
 * Errors: INVALID_REQUEST when a window begins behind the end of the text. */
MUST_CHECK bool tool_view_body(const struct tool *tool, const struct call *call, size_t budget_chars, const struct buf **ret_body,
                               struct error *err) NONNULL(1, 2, 4, 5);

/* The characters of a text in UTF-8. */
size_t tool_view_chars(const char *text, size_t size) NONNULL(1) PURE;

/* The characters of the long member in a body, as JSON with its escapes; 0 when the body does not contain it. */
size_t tool_view_long_chars(const struct tool *tool, const struct buf *body) NONNULL(1, 2) PURE;
