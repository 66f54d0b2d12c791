/*
 * Template: personalised text, compiled once and evaluated for each recipient.
 *
 * A template is text with slots and tags, a subset of Liquid (docs: the table
 * of tests/third_party/template_liquid.mjs names every difference):
 *
 *     {% if items %}Hi {{ firstName | default: 'there' | capitalize }}{% endif %}
 *
 * Tags: if elsif else unless, case when, for (offset, limit, reversed, else)
 * break continue, assign, capture, comment, raw; {{- and -}}, {%- and -%} take
 * white space away. Filters stand in template_filter.c. Nothing is included and
 * nothing is read but values.
 *
 * How a slot is escaped is decided when the template is compiled, from where it
 * stands: in the text of an HTML element, in a quoted attribute, in a URL, in a
 * header line, in plain text. Where no escape is safe (style, script, comments,
 * unquoted attributes) compiling fails. Nobody can switch escaping off. So that
 * the place of a slot does not depend on values, the branches of a tag must end
 * in the same place of the HTML, with as many elements open.
 *
 * The result of compiling is a blob: bytes without pointers that are stored
 * with the design version. template_load checks every byte it will rely on, so
 * a damaged blob is an error and never a crash; the loaded view points into the
 * blob, which must outlive it. A loaded template is read-only and may be
 * evaluated by any number of threads at once. template_format.h has the bytecode.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/values.h"

#include <stdbool.h>

struct json_t;
struct template_zone;

enum {
    TEMPLATE_MAX_SOURCE_BYTES = 512 * 1024,
    TEMPLATE_MAX_OUTPUT_BYTES = 512 * 1024,
    TEMPLATE_MAX_SLOTS = 10000,
    TEMPLATE_MAX_PATHS = 1000,
    TEMPLATE_MAX_PATH_BYTES = 256,
    TEMPLATE_MAX_EXPRESSION_BYTES = 1024,
    TEMPLATE_MAX_DEPTH = 8, /* tags inside tags */
    /* Of one evaluation: */
    TEMPLATE_MAX_SCRATCH_BYTES = 1024 * 1024, /* what filters, ranges and captures may produce */
    TEMPLATE_MAX_ITERATIONS = 1000,           /* of all its loops together */
    TEMPLATE_MAX_OPERATIONS = 1000 * 1000,
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

/* A checked view of a blob. The members are the business of template_load.c and template_run.c. */
struct template
{
    enum template_kind kind;
    unsigned version;
    const unsigned char *instructions;
    const unsigned char *strings;
    const unsigned char *paths;
    const char *pool;
    uint32_t instruction_count;
    uint32_t string_count;
    uint32_t path_count;
    uint32_t pool_bytes;
    uint32_t variable_count;
};

/* Checks a blob and gives its view. Errors: INTERNAL_ERROR when it is damaged or of an unknown version. */
MUST_CHECK bool template_load(struct bytes blob, struct template *ret_template, struct error *err) NONNULL(2, 3);

/* The paths of a template, each once: names and list indexes, as in payload.items[0].name or contact["first name"].
 * Those that are listed are what the template needs to know; an item of a list is named payload.items[].price.
 * The others are names that the template assigns itself, on some of its ways only. */
size_t template_path_count(const struct template *template) NONNULL(1) PURE;
const char *template_path(const struct template *template, size_t index) NONNULL(1) RETURNS_NONNULL PURE;
bool template_path_is_listed(const struct template *template, size_t index) NONNULL(1) PURE;

enum template_value_kind {
    TEMPLATE_NIL,
    TEMPLATE_BOOL,
    TEMPLATE_STRING,
    TEMPLATE_INTEGER,
    TEMPLATE_NUMBER, /* finite */
    TEMPLATE_LIST,
    TEMPLATE_JSON,  /* an array or an object of a JSON tree */
    TEMPLATE_EMPTY, /* the words empty and blank, to compare with */
    TEMPLATE_BLANK,
};

/* A value. What it points to is alive until the evaluation ends. */
struct template_value {
    enum template_value_kind kind;
    bool truth;  /* of TEMPLATE_BOOL */
    size_t size; /* of TEMPLATE_STRING in bytes, of TEMPLATE_LIST in items */
    union {
        const char *text; /* valid UTF-8 */
        int64_t integer;
        double number;
        const struct template_value *items;
        const struct json_t *json;
    };
};

/* How dates and money are written. Zeros are legal: English, US dollars, UTC, at the beginning of 1970. */
struct template_setting {
    const char *locale;               /* en, de-AT …; NULL or unknown: en */
    const char *currency;             /* ISO 4217; NULL: USD */
    const char *zone_name;            /* of `zone`, for %Z; NULL: UTC */
    const struct template_zone *zone; /* NULL: UTC */
    int64_t now_us;                   /* the date that 'now' names */
};

/* Where values come from. `index` is that of template_path, so a sender resolves names once a campaign and
 * answers each recipient from an array. `value` is NIL at the call and stays so for what is not known. */
struct template_lookup {
    void (*value)(const void *context, size_t index, const char *path, struct template_value *value);
    const void *context;
    const struct template_setting *setting; /* NULL: zeros */
};

/* Appends the evaluated template to `out`, which is left unchanged on failure. Allocates nothing but the growth of
 * `out`, and for what filters and captures make from `scratch`, which the caller resets between evaluations.
 * Errors: INVALID_REQUEST when the result passes TEMPLATE_MAX_OUTPUT_BYTES or the bound of `out`, or a bound of
 * evaluations is passed. */
MUST_CHECK bool template_evaluate(const struct template *template, struct template_lookup lookup, struct arena *scratch,
                                  struct buf *out, struct error *err) NONNULL(1, 3, 4, 5);
