/*
 * From a command line to the arguments of its operation: texts become values
 * by their declarations, files and standard input are read, and the operation
 * that is meant among those of the route is found as a server finds it.
 */
#pragma once

#include "cli/command_line.h"

#include <jansson.h>

struct arguments {
    const struct operation *op; /* the one that is meant */
    json_t *path;
    json_t *query;
    json_t *body;
    bool has_body; /* one was given as a whole, or by flags */
};

/* `body` is the text of --body, NULL when there was none. Errors: INVALID_REQUEST with a sentence for the user. */
MUST_CHECK bool arguments_make(struct arena *arena, const struct command_line *line, const char *body,
                               struct arguments *ret_arguments, struct error *err) NONNULL(1, 2, 4, 5);

/* All in one object, as tools and the embedding API take them. */
const json_t *arguments_flat(struct arena *arena, const struct arguments *arguments) NONNULL(1, 2) RETURNS_NONNULL;

/* The object of a place that an argument stands in. */
json_t *arguments_place(const struct arguments *arguments, enum arg_place place) NONNULL(1);

/* The argument of this name; NULL when the operation has none. */
const struct arg_field *operation_field(const struct operation *op, const char *name) NONNULL(1, 2);
