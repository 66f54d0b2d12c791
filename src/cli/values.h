/* Values on the command line: text by the kind of its argument, @FILE and - where texts and JSON are long. */
#pragma once

#include "api/catalogue.h"
#include "base/arena.h"
#include "base/error.h"

/* What is read for one command: standard input can be read once. */
struct value_source {
    struct arena *arena;
    size_t max_bytes;
    bool took_input;
};

/* The text that `given` stands for: @FILE, - or itself (@@ begins a text with @). Errors: INVALID_REQUEST. */
MUST_CHECK bool value_text(struct value_source *source, const char *flag, const char *given, const char **ret_text,
                           struct error *err) NONNULL(1, 2, 3, 4, 5);

/* Any JSON value. `flag` names it in messages. */
MUST_CHECK bool value_json(struct value_source *source, const char *flag, const char *given, const json_t **ret_json,
                           struct error *err) NONNULL(1, 2, 3, 4, 5);

/* The value of an argument. `earlier` is what its flag gave before (NULL: nothing), which lists add to. A new reference. */
MUST_CHECK bool value_make(struct value_source *source, const struct arg_field *field, const char *flag, const char *given,
                           json_t *earlier, json_t **ret_json, struct error *err) NONNULL(1, 2, 3, 4, 6, 7);
