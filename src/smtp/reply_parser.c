#include "smtp/reply_parser.h"

#include "base/buf.h"

#include <stdio.h>
#include <string.h>

enum { CODE_CHARS = 3 };

void smtp_reply_parser_init(struct smtp_reply_parser *parser)
{
    parser->size = 0;
    parser->lines = 0;
}

void smtp_reply_describe(const struct smtp_reply *reply, const char *what, char *ret_text, size_t text_bytes)
{
    BUF_SCOPE text;
    buf_init(&text, text_bytes + sizeof(reply->text));
    buf_printf(&text, "%s: %d ", what, reply->code);
    if (reply->enhanced[0] != '\0')
        buf_printf(&text, "%s ", reply->enhanced);
    buf_add_text(&text, reply->text);
    snprintf(ret_text, text_bytes, "%s", buf_text(&text));
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/* The code at the start of a line; 0 when there is none from 200 to 599. */
static int read_code(const char *line, size_t size)
{
    if (size < CODE_CHARS || line[0] < '2' || line[0] > '5' || !is_digit(line[1]) || !is_digit(line[2]))
        return 0;
    return (line[0] - '0') * 100 + (line[1] - '0') * 10 + (line[2] - '0');
}

/* How many characters at the start are digits, at most three (RFC 3463 §2). */
static size_t digits(const char *text, size_t size)
{
    size_t count = 0;
    while (count < 3 && count < size && is_digit(text[count]))
        count++;
    return count;
}

/* The size of an enhanced code of this class (RFC 2034 §4) at the start of a text; 0 when there is none. */
static size_t enhanced_size(char class, const char *text, size_t size)
{
    if (size < 5 || text[0] != class || text[1] != '.')
        return 0;
    size_t subject = digits(text + 2, size - 2);
    size_t at = 2 + subject;
    if (subject == 0 || at >= size || text[at] != '.')
        return 0;
    size_t detail = digits(text + at + 1, size - at - 1);
    size_t end = at + 1 + detail;
    bool ends = end == size || text[end] == ' ';
    return detail > 0 && ends ? end : 0;
}

static void reply_add_text(struct smtp_reply_parser *parser, const char *text, size_t size)
{
    struct smtp_reply *reply = &parser->reply;
    size_t room = sizeof(reply->text) - 1 - parser->text_size;
    if (parser->text_size > 0 && size > 0 && room > 0) {
        reply->text[parser->text_size++] = ' ';
        room--;
    }
    size_t count = size < room ? size : room;
    for (size_t i = 0; i < count; i++)
        reply->text[parser->text_size + i] = (char)(text[i] >= ' ' && text[i] <= '~' ? text[i] : '?');
    parser->text_size += count;
    reply->text[parser->text_size] = '\0';
}

/* `line` has no line end. */
static enum smtp_parse_state read_reply_line(struct smtp_reply_parser *parser, const char *line, size_t size)
{
    struct smtp_reply *reply = &parser->reply;
    int code = read_code(line, size);
    bool goes_on = size > CODE_CHARS && line[CODE_CHARS] == '-';
    bool is_first = parser->lines == 0;
    if (code == 0 || (size > CODE_CHARS && !goes_on && line[CODE_CHARS] != ' '))
        return SMTP_REPLY_MALFORMED;
    if ((!is_first && code != reply->code) || ++parser->lines > SMTP_REPLY_MAX_LINES)
        return SMTP_REPLY_MALFORMED;
    if (is_first) {
        reply->code = code;
        reply->enhanced[0] = reply->text[0] = '\0';
        parser->text_size = 0;
    }
    const char *text = line + (size > CODE_CHARS ? CODE_CHARS + 1 : size);
    size_t text_size = (size_t)(line + size - text);
    size_t enhanced = enhanced_size(line[0], text, text_size);
    if (enhanced > 0 && reply->enhanced[0] == '\0')
        snprintf(reply->enhanced, sizeof(reply->enhanced), "%.*s", (int)enhanced, text);
    if (enhanced > 0) {
        size_t skipped = enhanced + (enhanced < text_size);
        text += skipped;
        text_size -= skipped;
    }
    reply_add_text(parser, text, text_size);
    if (goes_on)
        return SMTP_REPLY_INCOMPLETE;
    parser->lines = 0;
    return SMTP_REPLY_READY;
}

/* Appends bytes to the incomplete line. */
static enum smtp_parse_state keep_partial_line(struct smtp_reply_parser *parser, const char *bytes, size_t size)
{
    if (size > sizeof(parser->line) - parser->size)
        return SMTP_REPLY_MALFORMED;
    memcpy(parser->line + parser->size, bytes, size);
    parser->size += size;
    return SMTP_REPLY_INCOMPLETE;
}

enum smtp_parse_state smtp_reply_parse(struct smtp_reply_parser *parser, const char **bytes, size_t *size)
{
    enum smtp_parse_state state = SMTP_REPLY_INCOMPLETE;
    while (state == SMTP_REPLY_INCOMPLETE && *size > 0) {
        const char *line = *bytes;
        const char *end = memchr(line, '\n', *size);
        size_t taken = end != NULL ? (size_t)(end - line) + 1 : *size;
        size_t line_size = taken;
        *bytes += taken;
        *size -= taken;
        if (end == NULL || parser->size > 0) {
            if (keep_partial_line(parser, line, taken) == SMTP_REPLY_MALFORMED)
                return SMTP_REPLY_MALFORMED;
            if (end == NULL)
                return SMTP_REPLY_INCOMPLETE;
            line = parser->line;
            line_size = parser->size;
            parser->size = 0;
        }
        if (line_size > SMTP_REPLY_LINE_MAX_BYTES)
            return SMTP_REPLY_MALFORMED;
        line_size--;
        if (line_size > 0 && line[line_size - 1] == '\r')
            line_size--;
        state = read_reply_line(parser, line, line_size);
    }
    return state;
}
