/* Values of command line arguments: converted by the kind of the argument; @FILE and - for long texts and JSON. */
#pragma once

#include "api/catalogue.h"
#include "base/arena.h"
#include "base/error.h"

/* The inputs of one command; standard input can be read once. */
struct value_source {
    struct arena *arena;
    size_t max_bytes;
    bool took_input;
};

/* Reads the text of `given`: @FILE, - or the text itself (@@ starts a text with @). Errors: INVALID_REQUEST. */
MUST_CHECK bool value_text(struct value_source *source, const char *flag, const char *given, const char **ret_text,
                           struct error *err) NONNULL(1, 2, 3, 4, 5);

/* Reads any JSON value. `flag` is used in messages. */
MUST_CHECK bool value_json(struct value_source *source, const char *flag, const char *given, const json_t **ret_json,
                           struct error *err) NONNULL(1, 2, 3, 4, 5);

/* Makes the value of an argument. `earlier` is the value of an earlier flag of the same name (NULL: none), which lists extend.
 * Returns a new reference. */
MUST_CHECK bool value_make(struct value_source *source, const struct arg_field *field, const char *flag, const char *given,
                           json_t *earlier, json_t **ret_json, struct error *err) NONNULL(1, 2, 3, 4, 6, 7);
