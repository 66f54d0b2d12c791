/*
 * HTML context of a placeholder, for contextual escaping (XSS): an incremental
 * scanner that tokenises HTML like a browser (WHATWG HTML §13.2.5), as far as
 * needed to choose the escape of a placeholder.
 *
 * The compiler feeds the literal parts of a template in order. Between them it
 * asks for the escape of each placeholder, and copies and joins scanner states
 * where branches begin and end. The input is sanitised HTML from a serialiser:
 * no scripts, quoted attributes. A placeholder without a safe escape is refused.
 * The content of conditional comments (<!--[if mso]> … <![endif]-->) is scanned,
 * because Word reads it as HTML.
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
    char text[HTML_NAME_MAX]; /* lower case, NUL-terminated, truncated */
    size_t size;              /* before truncation */
};

struct html_scanner {
    enum html_state state;
    struct html_name tag;
    struct html_name attribute;
    bool is_end_tag;
    bool in_conditional;
    size_t dashes;  /* consecutive dashes so far, to find "-->" */
    size_t matched; /* bytes of "</tag" or "<!--" matched so far */

    char quote;                         /* quote of the attribute value; 0 when unquoted */
    char url_head[HTML_URL_HEAD_BYTES]; /* the value's first bytes in lower case, NUL-terminated */
    size_t value_bytes;                 /* bytes of the value so far, without leading white space */
    bool value_has_query;
    bool value_is_ambiguous; /* branches left the URL in different states: no placeholder can follow in it */

    long open_elements; /* start tags minus end tags, without void elements and conditional comments */
};

void html_scanner_init(struct html_scanner *scanner) NONNULL(1);

/* Scans literal text. */
void html_scan(struct html_scanner *scanner, const char *text, size_t size) NONNULL(1, 2);

/* Checks that a tag such as {% if %} is allowed here. If not, `ret_refusal` describes the context. */
MUST_CHECK bool html_scan_tag(const struct html_scanner *scanner, const char **ret_refusal) NONNULL(1, 2);

/* Joins the end states of two branches into `scanner`. False when they differ, so that the following HTML would have two
 * contexts; then `ret_refusal` describes the difference. */
MUST_CHECK bool html_scan_join(struct html_scanner *scanner, const struct html_scanner *branch, const char **ret_refusal)
    NONNULL(1, 2, 3);

/* True in the text of an element or of the document, outside of comments. */
bool html_scan_is_text(const struct html_scanner *scanner) NONNULL(1) PURE;

/* True inside the address of a link: the quoted href of a, area or an Office shape (v:roundrect). */
bool html_scan_is_link(const struct html_scanner *scanner) NONNULL(1) PURE;

/* Chooses the escape of a placeholder here, and continues after it. False when no placeholder is allowed here; then
 * `ret_refusal` describes the context ("inside a style attribute"). */
MUST_CHECK bool html_scan_placeholder(struct html_scanner *scanner, enum template_escape *ret_escape, const char **ret_refusal)
    NONNULL(1, 2, 3);
