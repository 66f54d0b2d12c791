/*
 * Error: one struct carries a failure from the function that detects it up to the
 * code that renders it.
 *
 * The public part (code, param, message, suggestion, details) becomes the REST
 * envelope or the tool error result. The private part (cause, SQLSTATE, file, line) is only
 * logged and never returned to a caller. A function writes an error once, and not
 * at all on success. The caller owns the struct; nothing in it needs to be freed.
 *
 * The codes come from schemas/errors.json.
 */
#pragma once

#include "base/compiler.h"
#include "catalogue/error_codes.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    ERROR_PARAM_MAX_BYTES = 128,
    ERROR_MESSAGE_MAX_BYTES = 512,
    ERROR_SUGGESTION_MAX_BYTES = 320,
    ERROR_CAUSE_MAX_BYTES = 512,
    ERROR_ADVICE_MAX = 2,
};

struct error {
    enum error_code code;                  /* ERR_NONE until failed */
    char param[ERROR_PARAM_MAX_BYTES];     /* dotted path of the failing field, or "" */
    char message[ERROR_MESSAGE_MAX_BYTES]; /* one safe sentence for the caller */
    char suggestion[ERROR_SUGGESTION_MAX_BYTES]; /* one sentence on what to do next, or "": that of the code */
    enum error_code advice[ERROR_ADVICE_MAX];    /* codes with the suggestions for an assistant; ERR_NONE: of `code` */
    const char *details_json;              /* JSON object text that outlives the error, or NULL */
    int64_t retry_after_s;                 /* seconds, 0 when unknown */

    char sqlstate[6]; /* private from here on: logged, never shown */
    char cause[ERROR_CAUSE_MAX_BYTES];
    const char *file;
    int line;
};

/* One row of the registry generated from schemas/errors.json. A suggestion says what to do next with what its reader has: routes
 * and headers, commands and options, or tools and arguments. */
struct error_info {
    const char *name; /* the code in responses */
    int http_status;  /* 0 for codes that only the agent protocol uses */
    const char *type;
    const char *suggestion;             /* for programs, over REST */
    const char *command_suggestion;     /* for the command line */
    const char *tool_suggestion;        /* for assistants that see all of `suggested_tools` */
    const char *plain_suggestion;       /* for other assistants; it names no tool */
    const char *const *suggested_tools; /* the tools that tool_suggestion names, NULL-terminated */
    bool retryable;
};

/* Records a failure and has the value false, for `return fail(err, …)`. It is a macro so that static analysers see the value.
 * `param` may be NULL. Strings are copied, truncated at their bound and kept valid UTF-8. */
#define fail(err, code, param, ...)                                                                                                \
    __extension__({                                                                                                                \
        error_fail((err), (code), (param), __FILE__, __LINE__, __VA_ARGS__);                                                       \
        false;                                                                                                                     \
    })
void error_fail(struct error *err, enum error_code code, const char *param, const char *file, int line, const char *format, ...)
    NONNULL(1, 4, 6) PRINTF_LIKE(6, 7);

/* Adds the private cause to an error that was just recorded. Returns false. */
bool error_because(struct error *err, const char *format, ...) NONNULL(1, 2) PRINTF_LIKE(2, 3);

/* Of the details of one error. A job drops larger ones. */
enum { ERROR_DETAILS_MAX_BYTES = 4 * 1024 * 1024 };

/* Attaches the `details` object; `details_json` must live as long as the error. Returns false. */
bool error_with_details(struct error *err, const char *details_json) NONNULL(1, 2);

/* Sets the sentence that takes the place of the code's suggestion. It is truncated at its bound and kept valid UTF-8. It names
 * arguments and values only, because every transport shows it. Returns false. */
bool error_suggest(struct error *err, const char *format, ...) NONNULL(1, 2) PRINTF_LIKE(2, 3);

/* Gives an assistant the suggestions of one or two other codes (`second` may be ERR_NONE), which name the tools that list the right
 * values. Other readers get the suggestion of the error's own code, and error_suggest comes first. Returns false. */
bool error_advise(struct error *err, enum error_code first, enum error_code second) NONNULL(1);

/* Sets the param. It is truncated at its bound and kept valid UTF-8, so it may contain names that a caller gave. Returns false. */
bool error_set_param(struct error *err, const char *format, ...) NONNULL(1, 2) PRINTF_LIKE(2, 3);

/* Prefixes the param with the path of its container: "filters.0" + "field". */
void error_param_prefix(struct error *err, const char *prefix) NONNULL(1, 2);

/* Resets the struct for a retry of the same work. */
void error_clear(struct error *err) NONNULL(1);

/* The registry row of a code. */
const struct error_info *error_info(enum error_code code) RETURNS_NONNULL;

/* The code with this name; `otherwise` when there is none. */
enum error_code error_code_from_name(const char *name, enum error_code otherwise) PURE;
