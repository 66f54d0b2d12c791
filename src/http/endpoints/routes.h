/*
 * Routes: finds the operations that the path and method of a request may mean.
 *
 * The table is a trie over the segments of routes[]. A static segment takes
 * precedence over a parameter. The path is matched before the method, so a
 * known path with another method gets 405 and the allowed methods. Created at
 * start, constant afterwards; any thread may match.
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

/* Creates the table from `count` rows of the catalogue. Aborts on two equal routes: the generator refuses them. */
struct route_table *route_table_new(struct arena *arena, const struct route *rows, size_t count) NONNULL(1, 2) RETURNS_NONNULL;

/* Matches a path as sent. It is split into segments first, then each is percent-decoded once. Parameters live in `arena`. HEAD
 * means GET. A path with a malformed escape is unknown. */
struct route_match route_match(const struct route_table *table, struct arena *arena, const char *method, const char *path,
                               size_t path_size) NONNULL(1, 2, 3, 4);
