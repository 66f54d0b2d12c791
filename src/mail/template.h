/*
 * Template: personalised text, compiled once and evaluated for each recipient.
 *
 * A template is text with slots, a subset of Liquid:
 *
 *     {{ firstName | default: 'there' | capitalize }}
 *
 * A slot is a dotted path, a quoted text or a number, followed by filters:
 * default, escape, upcase, downcase, capitalize. How a slot is escaped is
 * decided when the template is compiled, from where it stands: in the text of
 * an HTML element, in a quoted attribute, in a URL, in a header line, in plain
 * text. Where no escape is safe (style, script, comments, unquoted attributes)
 * compiling fails. Nobody can switch escaping off.
 *
 * The result of compiling is a blob: bytes without pointers that are stored
 * with the design version. template_load checks every byte it will rely on, so
 * a damaged blob is an error and never a crash; the loaded view points into the
 * blob, which must outlive it. A loaded template is read-only and may be
 * evaluated by any number of threads at once.
 *
 * Bytecode: a stack machine with instructions of one fixed size (see
 * template_format.h), so that conditions, loops and assignments of Liquid are
 * further instructions and not another design.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/values.h"

#include <stdbool.h>

enum {
    TEMPLATE_MAX_SOURCE_BYTES = 512 * 1024,
    TEMPLATE_MAX_OUTPUT_BYTES = 512 * 1024,
    TEMPLATE_MAX_SLOTS = 10000,
    TEMPLATE_MAX_PATHS = 1000,
    TEMPLATE_MAX_PATH_BYTES = 256,
    TEMPLATE_MAX_EXPRESSION_BYTES = 1024,
    TEMPLATE_MAX_SCRATCH_BYTES = 1024 * 1024, /* what the filters of one evaluation may produce */
};

/* What the text is; it decides the escape. The numbers are stored in blobs. */
enum template_kind {
    TEMPLATE_HTML = 1,   /* a document as parse5 serialises it */
    TEMPLATE_TEXT = 2,   /* plain text: slots are inserted as they are */
    TEMPLATE_HEADER = 3, /* a subject or display name: line breaks and controls in values become spaces */
};

/* Compiles `source` (UTF-8) into a blob in the arena.
 * Errors: INVALID_REQUEST with an empty param (the caller prefixes it), the message naming line, column and expression. */
MUST_CHECK bool template_compile(struct arena *arena, enum template_kind kind, const char *source, size_t size,
                                 struct bytes *ret_blob, struct error *err) NONNULL(1, 3, 5, 6);

/* A checked view of a blob. The members are the business of template_run.c. */
struct template
{
    enum template_kind kind;
    const unsigned char *instructions;
    const unsigned char *strings;
    const unsigned char *paths;
    const char *pool;
    uint32_t instruction_count;
    uint32_t string_count;
    uint32_t path_count;
    uint32_t pool_bytes;
};

/* Checks a blob and gives its view. Errors: INTERNAL_ERROR when it is damaged or of another version. */
MUST_CHECK bool template_load(struct bytes blob, struct template *ret_template, struct error *err) NONNULL(2, 3);

/* The paths that the slots name, each once, in order of appearance. */
size_t template_path_count(const struct template *template) NONNULL(1) PURE;
const char *template_path(const struct template *template, size_t index) NONNULL(1) RETURNS_NONNULL PURE;

/* A value of a path. Numbers and dates come as the text to be shown. */
enum template_value_kind { TEMPLATE_NIL, TEMPLATE_BOOL, TEMPLATE_STRING };
struct template_value {
    enum template_value_kind kind;
    bool truth;       /* of TEMPLATE_BOOL */
    const char *text; /* of TEMPLATE_STRING: valid UTF-8, alive until the evaluation ends */
    size_t size;
};

/* Where values come from. `index` is that of template_path, so a sender resolves names once a campaign and
 * answers each recipient from an array. `value` is NIL at the call and stays so for what is not known. */
struct template_lookup {
    void (*value)(const void *context, size_t index, const char *path, struct template_value *value);
    const void *context;
};

/* Appends the evaluated template to `out`, which is left unchanged on failure. Allocates nothing but the growth of
 * `out`, and for case filters from `scratch`, which the caller resets between evaluations.
 * Errors: INVALID_REQUEST when the result passes TEMPLATE_MAX_OUTPUT_BYTES or the bound of `out`, or the filters
 * pass TEMPLATE_MAX_SCRATCH_BYTES. */
MUST_CHECK bool template_evaluate(const struct template *template, struct template_lookup lookup, struct arena *scratch,
                                  struct buf *out, struct error *err) NONNULL(1, 3, 4, 5);
