/*
 * Template engine: personalised text, compiled once to bytecode and evaluated for
 * each recipient.
 *
 * A template is text with placeholders and tags, in a subset of Liquid (the table
 * of tests/third_party/template_liquid.mjs lists every difference):
 *
 *     {% if items %}Hi {{ firstName | default: 'there' | capitalize }}{% endif %}
 *
 * Tags: if elsif else unless, case when, for (offset, limit, reversed, else)
 * break continue, assign, capture, comment, raw; {{- and -}}, {%- and -%} trim
 * white space. filter.c lists the filters. A template cannot include other
 * templates, and reads only values.
 *
 * The escape of a placeholder is chosen at compile time from its context: the
 * text of an HTML element, a quoted attribute, a URL, a header line, plain text.
 * Compilation fails where no escape is safe (style, script, comments, unquoted
 * attributes). Escaping cannot be turned off. The branches of a tag must end in
 * the same HTML context with the same number of open elements, so that the
 * context of a placeholder does not depend on values.
 *
 * The result of compilation is a blob: bytes without pointers, stored with the
 * design version. template_load verifies the blob, so a damaged blob is an error
 * and never a crash. The loaded view points into the blob, which must outlive it.
 * A loaded template is read-only; any number of threads can evaluate it. format.h
 * describes the bytecode.
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
    TEMPLATE_MAX_PLACEHOLDERS = 10000,
    TEMPLATE_MAX_PATHS = 1000,
    TEMPLATE_MAX_PATH_BYTES = 256,
    TEMPLATE_MAX_EXPRESSION_BYTES = 1024,
    TEMPLATE_MAX_DEPTH = 8, /* nested tags */
    /* Limits of one evaluation: */
    TEMPLATE_MAX_SCRATCH_BYTES = 1024 * 1024, /* results of filters, ranges and captures */
    TEMPLATE_MAX_ITERATIONS = 1000,           /* of all loops together */
    TEMPLATE_MAX_OPERATIONS = 1000 * 1000,
};

/* The kind of text, which determines the escape. The numbers are stored in blobs. */
enum template_kind {
    TEMPLATE_HTML = 1,   /* a document serialised by parse5 */
    TEMPLATE_TEXT = 2,   /* plain text: values are inserted unchanged */
    TEMPLATE_HEADER = 3, /* a subject or display name: line breaks and control characters in values become spaces */
};

/* Compiles `source` (UTF-8) into a blob in the arena.
 * Errors: INVALID_REQUEST with an empty param (the caller adds a prefix); the message has line, column and expression. */
MUST_CHECK bool template_compile(struct arena *arena, enum template_kind kind, const char *source, size_t size,
                                 struct bytes *ret_blob, struct error *err) NONNULL(1, 3, 5, 6);

/* ---- Links ---- */

enum { TEMPLATE_LINK_MAX_BYTES = 2000, TEMPLATE_MAX_LINKS = 1000, TEMPLATE_LINKS_MAX_BYTES = 128 * 1024 };

/* A link that leads to the web (http, https). */
struct template_link {
    const char *target;       /* ASCII: other characters are percent-encoded; of a merged link the source with its placeholders */
    enum template_kind where; /* HTML or text */
    bool is_merged;           /* the target depends on the recipient */
};

/* The links of the texts of a message. Their indexes are the numbers of the links. */
struct template_links {
    struct template_link *items;
    size_t count;
    size_t capacity;
    size_t bytes; /* of all targets */
};

/* Compiles as template_compile, and numbers the links of HTML or plain text in the order of the source, after those that `links`
 * has already. Not numbered: links that are not of the web, the unsubscribe link, links in captured text and in stylesheets, and
 * links beyond the bounds. */
MUST_CHECK bool template_compile_links(struct arena *arena, enum template_kind kind, const char *source, size_t size,
                                       struct template_links *links, struct bytes *ret_blob, struct error *err)
    NONNULL(1, 3, 5, 6, 7);

/* The target of a link to the web, with other characters than ASCII percent-encoded. NULL when the text is no such link, or is
 * longer than TEMPLATE_LINK_MAX_BYTES. */
const char *template_link_target(struct arena *arena, const char *text, size_t size) NONNULL(1, 2);

/* Decodes the character references that a serialiser wrote into `ret_text` of at least `size` bytes; returns the decoded size. */
size_t template_decode_html(const char *text, size_t size, char *ret_text) NONNULL(1, 3);

/* A verified view of a blob. The members are private to load.c and run.c. */
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

/* Verifies a blob and returns its view. Errors: INTERNAL_ERROR when it is damaged or of an unknown version. */
MUST_CHECK bool template_load(struct bytes blob, struct template *ret_template, struct error *err) NONNULL(2, 3);

/* The paths of a template, without duplicates: names and list indexes, as in payload.items[0].name or contact["first name"].
 * The template reads the listed paths; a member of a list's items is listed as payload.items[].price. The other paths are
 * fallbacks for variables that are not assigned in every branch. */
size_t template_path_count(const struct template *template) NONNULL(1) PURE;
const char *template_path(const struct template *template, size_t index) NONNULL(1) RETURNS_NONNULL PURE;
bool template_path_is_listed(const struct template *template, size_t index) NONNULL(1) PURE;

/* The text that every placeholder of this path shows in place of an empty value (its filter `default` with a text); NULL when one
 * of them has none. It points into the blob. Costs a pass over the instructions. */
const char *template_path_default(const struct template *template, size_t index) NONNULL(1) PURE;

enum template_value_kind {
    TEMPLATE_NIL,
    TEMPLATE_BOOL,
    TEMPLATE_STRING,
    TEMPLATE_INTEGER,
    TEMPLATE_NUMBER, /* finite */
    TEMPLATE_LIST,
    TEMPLATE_JSON,  /* an array or an object of a JSON tree */
    TEMPLATE_EMPTY, /* the literals empty and blank, for comparisons */
    TEMPLATE_BLANK,
};

/* A value. Its memory is valid until the evaluation ends. */
struct template_value {
    enum template_value_kind kind;
    bool truth;  /* for TEMPLATE_BOOL */
    size_t size; /* TEMPLATE_STRING: bytes; TEMPLATE_LIST: items */
    union {
        const char *text; /* valid UTF-8 */
        int64_t integer;
        double number;
        const struct template_value *items;
        const struct json_t *json;
    };
};

/* The format of dates and money. Zeros are valid: English, US dollars, UTC, the beginning of 1970. */
struct template_setting {
    const char *locale;               /* en, de-AT …; NULL or unknown: en */
    const char *currency;             /* ISO 4217; NULL: the currency of the locale */
    const char *zone_name;            /* name of `zone`, for %Z; NULL: UTC */
    const struct template_zone *zone; /* NULL: UTC */
    int64_t now_us;                   /* the value of 'now' */
};

/* The callback for values. `index` is that of template_path, so that a sender resolves names once per campaign and
 * looks up the values of each recipient in an array. `value` is NIL at the call; leave it for an unknown path. */
struct template_lookup {
    void (*value)(const void *context, size_t index, const char *path, struct template_value *value);
    const void *context;
    const struct template_setting *setting; /* NULL: zeros */
    /* The text to write for the address of a link. `text` is the address as it would be written, escaped for its place. The result
     * lives until the next call; without data the address stays. NULL: all addresses stay. */
    struct bytes (*link)(const void *context, unsigned number, bool is_merged, const char *text, size_t size);
};

/* Appends the evaluated template to `out`, which stays unchanged on failure. Only the growth of `out` allocates memory;
 * results of filters and captures use `scratch`, which the caller resets between evaluations.
 * Errors: INVALID_REQUEST when the result exceeds TEMPLATE_MAX_OUTPUT_BYTES or the limit of `out`, or the evaluation
 * exceeds another limit. */
MUST_CHECK bool template_evaluate(const struct template *template, struct template_lookup lookup, struct arena *scratch,
                                  struct buf *out, struct error *err) NONNULL(1, 3, 4, 5);
