#include "engine/compose/preheader.h"

#include "base/buf.h"
#include "template/context.h"
#include "template/template.h"

#include <ctype.h>
#include <string.h>

/* Pairs of an invisible character and a space. They fill the longest preview that a mail client shows. */
enum { FILLER_PAIRS = 100, STYLE_MAX_BYTES = 1024 };

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

/* ---- The preheader of the design ---- */

/* Visible characters before which a hidden element is a preheader, as in src/render/sidecar/html/text.mjs. */
enum { PREHEADER_WITHIN_CHARS = 120 };

/* A position in the HTML of a body. */
struct html_walk {
    struct html_scanner scanner;
    const char *at;
    size_t visible_chars; /* characters of text so far */
};

struct tag {
    const char *start; /* '<' */
    const char *end;   /* after '>' */
};

static bool is_plain_text(const struct html_scanner *scanner)
{
    return scanner->state == HTML_TEXT && !scanner->in_conditional;
}

static size_t count_visible(const char *from, const char *end)
{
    size_t count = 0;
    for (; from < end; from++)
        count += strchr(" \t\r\n", *from) == NULL;
    return count;
}

/* Walks to the end of the next tag outside of comments. False when there is none. */
static bool next_tag(struct html_walk *walk, struct tag *ret_tag)
{
    const char *start = NULL;
    for (const char *end = strchr(walk->at, '>'); end != NULL; end = strchr(walk->at, '>')) {
        const char *from = walk->at;
        if (is_plain_text(&walk->scanner)) {
            start = memchr(from, '<', (size_t)(end - from));
            walk->visible_chars += count_visible(from, start != NULL ? start : end);
        }
        html_scan(&walk->scanner, from, (size_t)(end + 1 - from));
        walk->at = end + 1;
        if (start != NULL && start[1] != '!' && is_plain_text(&walk->scanner)) {
            *ret_tag = (struct tag){ start, end + 1 };
            return true;
        }
    }
    return false;
}

/* True for a start tag whose style hides its element. The HTML was written by a serialiser, so attributes have double quotes. */
static bool hides_element(const struct tag *tag)
{
    static const char *const hidden[] = { "display:none", "visibility:hidden", "max-height:0", "opacity:0" };
    static const char attribute[] = " style=\"";
    const char *style = memmem(tag->start, (size_t)(tag->end - tag->start), attribute, strlen(attribute));
    char compact[STYLE_MAX_BYTES];
    size_t size = 0;
    if (style == NULL)
        return false;
    for (style += strlen(attribute); *style != '"' && size + 1 < sizeof(compact); style++)
        if (strchr(" \t\r\n", *style) == NULL)
            compact[size++] = (char)tolower((unsigned char)*style);
    compact[size] = '\0';
    for (size_t i = 0; i < ARRAY_COUNT(hidden); i++) {
        const char *found = strstr(compact, hidden[i]);
        char after = found != NULL ? found[strlen(hidden[i])] : '1';
        if (after != '.' && (after < '0' || after > '9'))
            return true;
    }
    return false;
}

/* A preheader is text. A hidden element with a picture, a link or a table is shown by a style sheet on some devices. */
static bool is_layout(const struct html_scanner *scanner)
{
    static const char *const names[] = { "img", "a", "table", "input" };
    for (size_t i = 0; i < ARRAY_COUNT(names); i++)
        if (strcmp(scanner->tag.text, names[i]) == 0)
            return true;
    return false;
}

/* Finds the end of the element that has just begun. False when it is not a preheader, or does not end. */
static bool find_end(struct html_walk *walk, const char **ret_end)
{
    const long depth = walk->scanner.open_elements;
    const struct html_name name = walk->scanner.tag;
    struct tag tag;
    while (next_tag(walk, &tag)) {
        if (walk->scanner.open_elements < depth) {
            *ret_end = tag.end;
            return strcmp(walk->scanner.tag.text, name.text) == 0;
        }
        if (is_layout(&walk->scanner))
            return false;
    }
    return false;
}

/* Finds the first hidden element of a body, unless visible text comes before it. */
static bool find_preheader(const char *body, struct tag *ret_element)
{
    struct html_walk walk = { .at = body };
    html_scanner_init(&walk.scanner);
    for (;;) {
        const long depth = walk.scanner.open_elements;
        if (!next_tag(&walk, ret_element) || walk.visible_chars > PREHEADER_WITHIN_CHARS)
            return false;
        bool begins = walk.scanner.open_elements > depth;
        if (begins && hides_element(ret_element) && find_end(&walk, &ret_element->end))
            return true;
    }
}

/* Copies the {% tags %} of an element, so that the tags of the design stay in pairs. */
static void add_template_tags(struct buf *out, const struct tag *element)
{
    for (const char *at = element->start; at < element->end;) {
        const char *open = memmem(at, (size_t)(element->end - at), "{%", 2);
        const char *close = open != NULL ? memmem(open, (size_t)(element->end - open), "%}", 2) : NULL;
        if (close == NULL)
            return;
        buf_add(out, open, (size_t)(close + 2 - open));
        at = close + 2;
    }
}

/* Copies a body without the design's own preheader. */
static void add_body(struct buf *out, const char *body)
{
    struct tag preheader;
    if (find_preheader(body, &preheader)) {
        buf_add(out, body, (size_t)(preheader.start - body));
        add_template_tags(out, &preheader);
        body = preheader.end;
    }
    buf_add_text(out, body);
}

/* ---- The new preheader ---- */

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
    add_body(out, body);
    return arena_dup(arena, buf_text(out));
}
