#include "engine/compose/preheader.h"

#include "base/buf.h"
#include "template/context.h"
#include "template/template.h"

#include <string.h>

/* Pairs of an invisible character and a space. They fill the longest preview that a mail client shows. */
enum { FILLER_PAIRS = 100 };

static const char opening[] =
    "<div style=\"display:none;font-size:1px;line-height:1px;max-height:0;max-width:0;opacity:0;overflow:hidden;mso-hide:all\">";
static const char filler[] = "&zwnj;&nbsp;";
static const char closing[] = "</div>";

/* The text after the '>' of the body tag; NULL without one. */
static const char *find_body(const char *html)
{
    struct html_scanner scanner;
    html_scanner_init(&scanner);
    for (const char *end = strchr(html, '>'), *at = html; end != NULL; at = end + 1, end = strchr(at, '>')) {
        html_scan(&scanner, at, (size_t)(end + 1 - at));
        if (scanner.state == HTML_TEXT && !scanner.in_conditional && !scanner.is_end_tag && strcmp(scanner.tag.text, "body") == 0)
            return end + 1;
    }
    return NULL;
}

/* Escapes text for an element. Quotes stay, because placeholders contain them. */
static void add_as_text(struct buf *out, const char *text)
{
    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '<')
            buf_add_text(out, "&lt;");
        else if (*at == '>')
            buf_add_text(out, "&gt;");
        else if (*at == '&')
            buf_add_text(out, "&amp;");
        else
            buf_add_char(out, *at);
    }
}

char *email_html_with_preview(struct arena *arena, const char *html, const char *preview_text)
{
    const char *body = find_body(html);
    if (body == NULL)
        return arena_dup(arena, html);
    struct buf *out = buf_in_arena(arena, (size_t)TEMPLATE_MAX_SOURCE_BYTES * 2);
    buf_add(out, html, (size_t)(body - html));
    buf_add_text(out, opening);
    add_as_text(out, preview_text);
    for (int i = 0; i < FILLER_PAIRS; i++)
        buf_add_text(out, filler);
    buf_add_text(out, closing);
    buf_add_text(out, body);
    return arena_dup(arena, buf_text(out));
}
