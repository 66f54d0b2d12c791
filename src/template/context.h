/*
 * The context of a slot: an incremental scanner that follows HTML as a browser
 * tokenises it (WHATWG HTML §13.2.5), just far enough to say where a slot
 * stands and how its value is made harmless there.
 *
 * The literal parts of a template are fed in order; between them the compiler
 * asks for each slot, and copies and joins states where branches begin and end. What is scanned is sanitised HTML from a
 * serialiser: no scripts, attributes quoted. Where no escape is safe the slot is refused. Conditional comments (<!--[if mso]> …
 * <![endif]-->) are followed inside, because Word reads their content as HTML.
 */
#pragma once

#include "base/compiler.h"
#include "template/format.h"

#include <stdbool.h>
#include <stddef.h>

enum html_state {
    HTML_TEXT,
    HTML_TAG_OPEN,
    HTML_END_TAG_OPEN,
    HTML_TAG_NAME,
    HTML_BEFORE_ATTRIBUTE,
    HTML_ATTRIBUTE_NAME,
    HTML_AFTER_ATTRIBUTE_NAME,
    HTML_BEFORE_VALUE,
    HTML_VALUE,
    HTML_MARKUP,   /* "<!" seen */
    HTML_BOGUS,    /* to the next '>': doctype, <![endif]>, <?xml */
    HTML_COMMENT,  /* to the next "-->" */
    HTML_RAW_TEXT, /* style, script …: to the matching end tag */
    HTML_TITLE,    /* title and textarea: text, to the matching end tag */
};

enum { HTML_NAME_MAX = 16, HTML_URL_HEAD_BYTES = 8 };

struct html_name {
    char text[HTML_NAME_MAX]; /* lower case, NUL-terminated, cut */
    size_t size;              /* uncut */
};

struct html_scanner {
    enum html_state state;
    struct html_name tag;
    struct html_name attribute;
    bool is_end_tag;
    bool in_conditional;
    size_t dashes;  /* seen in a row, to find "-->" */
    size_t matched; /* bytes of "</tag" or "<!--" matched so far */

    char quote;                         /* of the attribute value, 0 when unquoted */
    char url_head[HTML_URL_HEAD_BYTES]; /* the value's first bytes in lower case, NUL-terminated */
    size_t value_bytes;                 /* of the value so far, without blanks at its start */
    bool value_has_query;
    bool value_is_ambiguous; /* branches left the URL in different states: no slot may follow in it */

    long open_elements; /* start tags less end tags, without void elements and what only Word reads */
};

void html_scanner_init(struct html_scanner *scanner) NONNULL(1);

/* Follows literal text. */
void html_scan(struct html_scanner *scanner, const char *text, size_t size) NONNULL(1, 2);

/* Whether a tag such as {% if %} may stand here. False when not: then `ret_refusal` says where it is. */
MUST_CHECK bool html_scan_tag(const struct html_scanner *scanner, const char **ret_refusal) NONNULL(1, 2);

/* Joins the state in which a branch ended into `scanner`, in which another one did. False when what follows would stand
 * in different places; then `ret_refusal` says how they differ. */
MUST_CHECK bool html_scan_join(struct html_scanner *scanner, const struct html_scanner *branch, const char **ret_refusal)
    NONNULL(1, 2, 3);

/* Whether this is the text of an element or of the document, in no comment. */
bool html_scan_is_text(const struct html_scanner *scanner) NONNULL(1) PURE;

/* Says how a slot at this place is escaped, and goes on behind it. False when a slot cannot stand here:
 * then `ret_refusal` says where it is ("inside a style attribute"). */
MUST_CHECK bool html_scan_slot(struct html_scanner *scanner, enum template_escape *ret_escape, const char **ret_refusal)
    NONNULL(1, 2, 3);
