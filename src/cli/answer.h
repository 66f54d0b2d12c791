/*
 * Command output: prints the answer of an operation as a table, as JSON or as
 * JSON lines; complete, or the rows page by page.
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

/* Errors: INVALID_REQUEST (an unknown format). */
MUST_CHECK bool output_begin(struct arena *arena, const char *format, const char *fields, struct output *ret_output,
                             struct error *err) NONNULL(1, 4, 5);

/* Prints one complete answer. `text` is the answer as received. */
void output_answer(struct output *output, struct arena *arena, const json_t *answer, const char *text) NONNULL(1, 2, 3, 4);

/* Prints the rows of one page of a list. output_end follows the last page; `cursor` is the place where the list stopped, NULL at
 * its end. */
void output_rows(struct output *output, struct arena *arena, const json_t *rows) NONNULL(1, 2, 3);
void output_end(struct output *output, const char *cursor) NONNULL(1);

/* Prints an error on standard error: as the envelope, or as sentences. */
void output_error(const struct output *output, const char *command, const char *envelope) NONNULL(1, 2, 3);

/* True when everything was written. *ret_left is set when the reader of the output has exited. */
MUST_CHECK bool output_flush(bool *ret_left) NONNULL(1);
