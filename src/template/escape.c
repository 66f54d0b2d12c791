#include "template/escape.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

static const char *html_entity(char byte)
{
    switch (byte) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&#34;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

static void add_html(struct buf *out, const char *text, size_t size)
{
    size_t run = 0; /* start of the bytes to add unchanged */
    for (size_t i = 0; i < size; i++) {
        const char *entity = html_entity(text[i]);
        if (entity == NULL)
            continue;
        buf_add(out, text + run, i - run);
        buf_add_text(out, entity);
        run = i + 1;
    }
    buf_add(out, text + run, size - run);
}

/* Escapes the value and replaces line breaks, so that <br /> is the only markup. */
static void add_breaks(struct buf *out, const char *text, size_t size)
{
    const char *end = text + size;
    for (;;) {
        const char *line = memchr(text, '\n', (size_t)(end - text));
        if (line == NULL)
            break;
        bool is_pair = line > text && line[-1] == '\r';
        add_html(out, text, (size_t)(line - text) - is_pair);
        buf_add_text(out, "<br />\n");
        text = line + 1;
    }
    add_html(out, text, (size_t)(end - text));
}

/* Bytes of a control character or line separator at `text`: C0, DEL, C1, U+2028, U+2029. 0 when there is none. */
static size_t control_size(const unsigned char *text, size_t size)
{
    if (text[0] < 0x20 || text[0] == 0x7F)
        return 1;
    if (size >= 2 && text[0] == 0xC2 && text[1] >= 0x80 && text[1] <= 0x9F)
        return 2;
    if (size >= 3 && text[0] == 0xE2 && text[1] == 0x80 && (text[2] == 0xA8 || text[2] == 0xA9))
        return 3;
    return 0;
}

static void add_header_text(struct buf *out, const char *text, size_t size)
{
    size_t run = 0;
    size_t i = 0;
    while (i < size) {
        size_t control = control_size((const unsigned char *)text + i, size - i);
        if (control == 0) {
            i++;
            continue;
        }
        buf_add(out, text + run, i - run);
        buf_add_char(out, ' ');
        i += control;
        run = i;
    }
    buf_add(out, text + run, size - run);
}

static bool is_unreserved(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
           (byte != '\0' && strchr("-._~", byte) != NULL);
}

/* Percent-encodes all characters except the unreserved ones and those of `kept`, which are escaped for HTML. */
static void add_percent(struct buf *out, const char *text, size_t size, const char *kept)
{
    static const char hex[] = "0123456789ABCDEF";
    for (size_t i = 0; i < size; i++) {
        char byte = text[i];
        if (is_unreserved(byte)) {
            buf_add_char(out, byte);
        } else if (byte != '\0' && strchr(kept, byte) != NULL) {
            add_html(out, &byte, 1);
        } else {
            unsigned value = (unsigned char)byte;
            const char encoded[3] = { '%', hex[value >> 4], hex[value & 0xF] };
            buf_add(out, encoded, sizeof(encoded));
        }
    }
}

/* True for a URL without a scheme, or with a safe one. */
static bool url_scheme_is_safe(const char *text, size_t size)
{
    static const char *const safe[] = { "http", "https", "mailto", "tel" };
    size_t end = 0;
    while (end < size && memchr(":/?#", text[end], 4) == NULL)
        end++;
    if (end == size || text[end] != ':')
        return true;
    for (size_t i = 0; i < ARRAY_COUNT(safe); i++)
        if (end == strlen(safe[i]) && strncasecmp(text, safe[i], end) == 0)
            return true;
    return false;
}

static void add_url(struct buf *out, const char *text, size_t size)
{
    /* Browsers remove white space and controls from both ends of a URL. */
    while (size > 0 && (unsigned char)text[0] <= ' ') {
        text++;
        size--;
    }
    while (size > 0 && (unsigned char)text[size - 1] <= ' ')
        size--;
    if (url_scheme_is_safe(text, size))
        add_percent(out, text, size, ":/?#[]@!$&'()*+,;=%");
    else
        buf_add_char(out, '#');
}

void template_escape_add(struct buf *out, enum template_escape escape, const char *text, size_t size)
{
    switch (escape) {
    case TEMPLATE_ESCAPE_NONE:
        buf_add(out, text, size);
        break;
    case TEMPLATE_ESCAPE_HEADER:
        add_header_text(out, text, size);
        break;
    case TEMPLATE_ESCAPE_HTML:
        add_html(out, text, size);
        break;
    case TEMPLATE_ESCAPE_URL_START:
        add_url(out, text, size);
        break;
    case TEMPLATE_ESCAPE_URL_PART:
        add_percent(out, text, size, "");
        break;
    case TEMPLATE_ESCAPE_URL_OPAQUE:
        add_percent(out, text, size, "+@");
        break;
    case TEMPLATE_ESCAPE_HTML_BREAKS:
        add_breaks(out, text, size);
        break;
    case TEMPLATE_ESCAPE_COUNT:
        break;
    }
}
