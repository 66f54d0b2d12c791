/*
 * The answer of an operation on its way to the terminal: as a table, as JSON or
 * as a line a row; whole, or the rows of page after page.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "cli/table.h"

#include <jansson.h>

enum output_format { OUTPUT_TABLE, OUTPUT_JSON, OUTPUT_JSON_LINES };

struct output {
    enum output_format format;
    const char *const *fields; /* NULL: all */
    bool is_terminal;
    struct table table;
    bool has_begun;
    size_t rows;
};

/* Errors: INVALID_REQUEST (no such format). */
MUST_CHECK bool output_begin(struct arena *arena, const char *format, const char *fields, struct output *ret_output,
                             struct error *err) NONNULL(1, 4, 5);

/* One whole answer. `text` is it as it came. */
void output_answer(struct output *output, struct arena *arena, const json_t *answer, const char *text) NONNULL(1, 2, 3, 4);

/* The rows of one page of a list that is followed; then, at its end, where it stopped: a cursor, or NULL behind the last. */
void output_rows(struct output *output, struct arena *arena, const json_t *rows) NONNULL(1, 2, 3);
void output_end(struct output *output, const char *cursor) NONNULL(1);

/* An error, on standard error: the envelope, or sentences. */
void output_error(const struct output *output, const char *command, const char *envelope) NONNULL(1, 2, 3);

/* Whether everything written so far has arrived; *ret_left tells that its reader has gone. */
MUST_CHECK bool output_flush(bool *ret_left) NONNULL(1);
