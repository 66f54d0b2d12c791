/*
 * Routes: from the path and method of a request to the operations it may mean.
 *
 * A trie over the segments of routes[]: a static segment beats a parameter, and
 * the path is settled before the method is looked at, so that a known path with
 * another method is 405 and says what is allowed. Built at start, constant
 * afterwards, any thread may match.
 */
#pragma once

#include "api/call.h"
#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>

struct route_table;

enum { ROUTE_MAX_PARAMETERS = 8 };

struct route_match {
    bool path_known;
    const struct route *route; /* NULL: the path has no such method */
    const char *allow;         /* the methods of the path, "GET, HEAD, OPTIONS, POST" */
    struct name_value_list parameters;
};

/* From `count` rows of the catalogue. Aborts on two equal routes: the generator refuses them. */
struct route_table *route_table_new(struct arena *arena, const struct route *rows, size_t count) NONNULL(1, 2) RETURNS_NONNULL;

/* Matches a path as sent. Segments are percent-decoded once, after they were cut apart; parameters live in `arena`.
 * HEAD means GET. A path with a malformed escape is unknown. */
struct route_match route_match(const struct route_table *table, struct arena *arena, const char *method, const char *path,
                               size_t path_size) NONNULL(1, 2, 3, 4);
