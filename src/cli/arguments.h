/*
 * Arguments: turns a command line into the arguments of its operation. Texts
 * become values by their declarations, files and standard input are read, and
 * the operation is chosen among the candidates of the route, as a server does.
 */
#pragma once

#include "cli/command_line.h"

#include <jansson.h>

struct arguments {
    const struct operation *op; /* the chosen one */
    json_t *path;
    json_t *query;
    json_t *body;
    bool has_body; /* a body was given, by --body or by flags */
};

/* Reads the arguments. `body` is the text of --body, NULL when absent. Errors: INVALID_REQUEST with a sentence for the user. */
MUST_CHECK bool arguments_make(struct arena *arena, const struct command_line *line, const char *body,
                               struct arguments *ret_arguments, struct error *err) NONNULL(1, 2, 4, 5);

/* All arguments in one object, as tools and the embedding API take them. */
const json_t *arguments_flat(struct arena *arena, const struct arguments *arguments) NONNULL(1, 2) RETURNS_NONNULL;

/* The object that holds the arguments of a place. */
json_t *arguments_place(const struct arguments *arguments, enum arg_place place) NONNULL(1);

/* The argument of this name; NULL when the operation has none. */
const struct arg_field *operation_field(const struct operation *op, const char *name) NONNULL(1, 2);
