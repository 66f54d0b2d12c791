#include "mail/dkim_canonical.h"

#include <stdbool.h>
#include <string.h>

static bool is_blank(unsigned char byte)
{
    return byte == ' ' || byte == '\t';
}

/* Writes a run of blanks as one space, and drops line breaks, which only folds contain. Returns the end of the output. */
static unsigned char *write_relaxed(unsigned char *out, const unsigned char *at, size_t size)
{
    bool after_blank = false;
    for (size_t i = 0; i < size; i++) {
        bool blank = is_blank(at[i]);
        bool is_written = !(blank && after_blank) && at[i] != '\r' && at[i] != '\n';
        *out = blank ? ' ' : at[i];
        out += is_written;
        after_blank = blank || (after_blank && !is_written);
    }
    return out;
}

void dkim_canonical_field(struct buf *out, struct bytes field, size_t name_size)
{
    /* The output is at most as long as the field. */
    unsigned char *start = (unsigned char *)buf_room(out, field.size + 1);
    if (start == NULL)
        return;
    unsigned char *to = start;
    for (size_t i = 0; i < name_size && !is_blank(field.data[i]); i++)
        *to++ = field.data[i] >= 'A' && field.data[i] <= 'Z' ? (unsigned char)(field.data[i] + 'a' - 'A') : field.data[i];
    size_t at = name_size;
    while (at < field.size && field.data[at] != ':')
        at++;
    *to++ = ':';
    at++;
    while (at < field.size && (is_blank(field.data[at]) || field.data[at] == '\r' || field.data[at] == '\n'))
        at++;
    const unsigned char *value = to;
    if (at < field.size)
        to = write_relaxed(to, field.data + at, field.size - at);
    if (to > value && to[-1] == ' ')
        to--;
    buf_grown(out, (size_t)(to - start));
}

/* Whether a line of at least one byte is in the relaxed form already. The loop has no branches, so that it is vectorised. */
static bool line_is_relaxed(const unsigned char *line, size_t size)
{
    unsigned wrong = 0;
    for (size_t i = 0; i + 1 < size; i++)
        wrong |= (unsigned)(line[i] == '\t') | ((unsigned)(line[i] == ' ') & (unsigned)(line[i + 1] == ' '));
    return wrong == 0 && !is_blank(line[size - 1]);
}

/* As write_relaxed, but a line break other than CRLF is an ordinary byte (RFC 6376 §3.4.4). Most lines need no change except in
 * their indentation. */
static unsigned char *write_line(unsigned char *out, const unsigned char *line, size_t size)
{
    const unsigned char *start = out;
    size_t indent = 0;
    while (indent < size && is_blank(line[indent]))
        indent++;
    if (indent == size)
        return out;
    if (indent > 0)
        *out++ = ' ';
    line += indent;
    size -= indent;
    if (line_is_relaxed(line, size)) {
        memcpy(out, line, size);
        return out + size;
    }
    bool after_blank = false;
    for (size_t i = 0; i < size; i++) {
        bool blank = is_blank(line[i]);
        *out = blank ? ' ' : line[i];
        out += !(blank && after_blank);
        after_blank = blank;
    }
    return out > start && out[-1] == ' ' ? out - 1 : out;
}

/* The CRLF that ends the line at `at`; `end` when there is none. */
static const unsigned char *line_end(const unsigned char *at, const unsigned char *end)
{
    for (const unsigned char *from = at; from < end;) {
        const unsigned char *feed = memchr(from, '\n', (size_t)(end - from));
        if (feed == NULL)
            return end;
        if (feed > at && feed[-1] == '\r')
            return feed - 1;
        from = feed + 1;
    }
    return end;
}

void dkim_canonical_body(struct buf *out, struct bytes body)
{
    /* The output is at most one CRLF longer than the body, whose last line may have none. */
    unsigned char *start = (unsigned char *)buf_room(out, body.size + 2);
    if (start == NULL)
        return;
    const unsigned char *at = body.data;
    const unsigned char *end = body.data + body.size;
    unsigned char *to = start;
    unsigned char *kept = start; /* the end of the last line that is not empty */
    while (at < end) {
        const unsigned char *stop = line_end(at, end);
        const unsigned char *line = to;
        to = write_line(to, at, (size_t)(stop - at));
        bool is_empty = to == line;
        *to++ = '\r';
        *to++ = '\n';
        if (!is_empty)
            kept = to;
        at = stop < end ? stop + 2 : end;
    }
    buf_grown(out, (size_t)(kept - start));
}
