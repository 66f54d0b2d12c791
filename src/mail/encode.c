#include "mail/encode.h"

#include <assert.h>
#include <endian.h>
#include <stdint.h>
#include <string.h>

static bool is_blank(unsigned char byte)
{
    return byte == ' ' || byte == '\t';
}

/* Printable ASCII and blanks. */
static bool is_plain(unsigned char byte)
{
    return (byte >= 0x20 && byte < 0x7F) || byte == '\t';
}

#define EACH_BYTE(value) (UINT64_C(0x0101010101010101) * (value))

static uint64_t zero_bytes(uint64_t word)
{
    return (word - EACH_BYTE(0x01)) & ~word & EACH_BYTE(0x80);
}

static uint64_t load_word(const char *text)
{
    uint64_t word;
    memcpy(&word, text, sizeof(word));
    return le64toh(word);
}

/* The number of leading bytes, of eight, that quoted-printable leaves unchanged: printable, not '='. The borrow of the
 * subtraction may mark wrong bytes behind the first marked one, but never before it. */
static size_t literals_of_word(uint64_t word)
{
    uint64_t below_blank = (word - EACH_BYTE(0x20)) & ~word;
    uint64_t special = zero_bytes(word ^ EACH_BYTE('=')) | zero_bytes(word ^ EACH_BYTE(0x7F));
    uint64_t others = (word | below_blank | special) & EACH_BYTE(0x80);
    return others != 0 ? (size_t)__builtin_ctzll(others) / 8 : sizeof(word);
}

/* Whether quoted-printable leaves the byte unchanged. */
static bool is_literal(unsigned char byte)
{
    return is_plain(byte) && byte != '=';
}

static size_t literal_run(const char *text, size_t size)
{
    size_t run = 0;
    while (run + sizeof(uint64_t) <= size) {
        size_t literals = literals_of_word(load_word(text + run));
        run += literals;
        if (literals < sizeof(uint64_t) && !is_literal((unsigned char)text[run++])) /* a tab is one */
            return run - 1;
    }
    while (run < size && is_literal((unsigned char)text[run]))
        run++;
    return run;
}

/* Copies the leading bytes that quoted-printable leaves unchanged, `most` at most, and returns their number. It may write up to one
 * word behind them. It may read one word behind them too, but never more than `readable` bytes. */
static size_t copy_literals(char *to, const char *text, size_t most, size_t readable)
{
    size_t run = 0;
    while (run < most && run + sizeof(uint64_t) <= readable) {
        memcpy(to + run, text + run, sizeof(uint64_t));
        size_t literals = literals_of_word(load_word(text + run));
        run += literals;
        if (literals < sizeof(uint64_t) && run < most && !is_literal((unsigned char)text[run++]))
            return run - 1;
    }
    for (; run < most && is_literal((unsigned char)text[run]); run++)
        to[run] = text[run];
    return run < most ? run : most;
}

/* Counts the bytes above ASCII. */
static size_t count_high(const char *text, size_t size)
{
    enum { WORDS = 31, BLOCK_BYTES = WORDS * 8 }; /* so that the sum of all eight counters fits a byte */
    size_t high = 0;
    size_t i = 0;
    for (; i + BLOCK_BYTES <= size; i += BLOCK_BYTES) {
        uint64_t counters = 0;
        for (size_t word = 0; word < WORDS; word++)
            counters += load_word(text + i + word * 8) >> 7 & EACH_BYTE(0x01);
        high += (counters * EACH_BYTE(0x01)) >> 56;
    }
    for (; i < size; i++)
        high += (unsigned char)text[i] >= 0x80;
    return high;
}

/* The number of bytes before the first CR or LF. Both are searched in one window after the other: a search for LF in the whole
 * rest would take quadratic time in a text of lone CRs. */
static size_t length_of_line(const char *text, size_t size)
{
    enum { WINDOW_BYTES = 512 };
    for (size_t at = 0; at < size; at += WINDOW_BYTES) {
        size_t window = size - at < WINDOW_BYTES ? size - at : WINDOW_BYTES;
        const char *line_feed = memchr(text + at, '\n', window);
        size_t before = line_feed != NULL ? (size_t)(line_feed - (text + at)) : window;
        const char *carriage_return = memchr(text + at, '\r', before);
        if (line_feed != NULL || carriage_return != NULL)
            return (size_t)((carriage_return != NULL ? carriage_return : line_feed) - text);
    }
    return size;
}

/* The size of the line at `text` without its break; `ret_break` is the size of the break, 0 at the end. */
static size_t line_size(const char *text, size_t size, size_t *ret_break)
{
    size_t length = length_of_line(text, size);
    *ret_break = 0;
    if (length < size)
        *ret_break = text[length] == '\r' && length + 1 < size && text[length + 1] == '\n' ? 2 : 1;
    return length;
}

/* Whether mail servers or mailboxes may change the line: a leading dot (RFC 5321 §4.5.2) or "From " (mbox). */
static bool line_is_fragile(const char *text, size_t size)
{
    return size > 0 && (text[0] == '.' || (size >= 5 && memcmp(text, "From ", 5) == 0));
}

const char *body_encoding_name(enum body_encoding encoding)
{
    switch (encoding) {
    case BODY_7BIT:
        return "7bit";
    case BODY_QUOTED_PRINTABLE:
        return "quoted-printable";
    case BODY_BASE64:
        return "base64";
    }
    return "";
}

static bool all_plain(const char *text, size_t size)
{
    for (size_t i = literal_run(text, size); i < size; i += literal_run(text + i, size - i)) {
        if (!is_plain((unsigned char)text[i]))
            return false;
        i++; /* '=', which is plain and not literal */
    }
    return true;
}

static bool fits_7bit(const char *text, size_t size, const char *boundary)
{
    if (memmem(text, size, boundary, strlen(boundary)) != NULL)
        return false;
    size_t at = 0;
    while (at < size) {
        size_t line_break;
        size_t length = line_size(text + at, size - at, &line_break);
        bool ends_blank = length > 0 && is_blank((unsigned char)text[at + length - 1]);
        if (length > ENCODE_LINE_MAX_BYTES || ends_blank || line_is_fragile(text + at, length) || !all_plain(text + at, length))
            return false;
        at += length + line_break;
    }
    return true;
}

enum body_encoding body_encoding_choose(const char *text, size_t size, const char *boundary)
{
    size_t high = count_high(text, size);
    if (high == 0)
        return fits_7bit(text, size, boundary) ? BODY_7BIT : BODY_QUOTED_PRINTABLE;
    /* Quoted-printable makes three bytes of one, base64 four of three: equal at one byte in six. */
    return high > size / 6 ? BODY_BASE64 : BODY_QUOTED_PRINTABLE;
}

static void encode_7bit(struct buf *out, const char *text, size_t size)
{
    size_t at = 0;
    while (at < size) {
        size_t line_break;
        size_t length = line_size(text + at, size - at, &line_break);
        buf_add(out, text + at, length);
        if (line_break > 0)
            buf_add(out, "\r\n", 2);
        at += length + line_break;
    }
}

/* One column is kept for the '=' of a soft break. */
enum { QP_COLUMNS = ENCODE_LINE_MAX_BYTES - 1, QP_GROWTH = 4 };

static char *put_hex(char *at, char byte)
{
    static const char digits[] = "0123456789ABCDEF";
    *at++ = '=';
    *at++ = digits[(unsigned char)byte >> 4];
    *at++ = digits[(unsigned char)byte & 0xF];
    return at;
}

static char *put_soft_break(char *at)
{
    memcpy(at, "=\r\n", 3);
    return at + 3;
}

/* Writes one line, without its break, at `at`, and returns the end. `at` has room for QP_GROWTH * `size` bytes, one soft break and
 * one word. `readable` bytes can be read from the start of the line: the rest of the text, which copy_literals may read. */
static char *quoted_printable_line(char *at, const char *line, size_t size, size_t readable)
{
    /* A mail server may remove a blank at the end of a line (RFC 2045 §6.7 rule 3). */
    size_t literal_end = size > 0 && is_blank((unsigned char)line[size - 1]) ? size - 1 : size;
    size_t column = 0;
    size_t i = 0;
    while (i < size) {
        if (column >= QP_COLUMNS) {
            at = put_soft_break(at);
            column = 0;
        }
        if (column > 0 || !line_is_fragile(line + i, size - i)) {
            size_t most = literal_end - i < QP_COLUMNS - column ? literal_end - i : QP_COLUMNS - column;
            size_t run = copy_literals(at, line + i, most, readable - i);
            at += run;
            i += run;
            column += run;
            if (i == size || column >= QP_COLUMNS)
                continue;
        }
        if (column + 3 > QP_COLUMNS) {
            at = put_soft_break(at);
            column = 0;
        }
        at = put_hex(at, line[i++]);
        column += 3;
    }
    return at;
}

static void encode_quoted_printable(struct buf *out, const char *text, size_t size)
{
    size_t at = 0;
    while (at < size) {
        size_t line_break;
        size_t length = line_size(text + at, size - at, &line_break);
        char *room = buf_room(out, length * QP_GROWTH + sizeof("=\r\n\r\n") + sizeof(uint64_t));
        if (room == NULL)
            return;
        char *end = quoted_printable_line(room, text + at, length, size - at);
        if (line_break > 0) {
            memcpy(end, "\r\n", 2);
            end += 2;
        }
        buf_grown(out, (size_t)(end - room));
        at += length + line_break;
    }
}

enum { BASE64_LINE_INPUT = 57 }; /* gives 76 characters */

/* Writes the base64 of `size` bytes and returns the end (RFC 4648 §4). */
static char *put_base64(char *at, const unsigned char *bytes, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        size_t left = size - i;
        uint32_t group = (uint32_t)bytes[i] << 16;
        group |= left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0;
        group |= left > 2 ? (uint32_t)bytes[i + 2] : 0;
        *at++ = digits[group >> 18];
        *at++ = digits[group >> 12 & 0x3F];
        *at++ = left > 1 ? digits[group >> 6 & 0x3F] : '=';
        *at++ = left > 2 ? digits[group & 0x3F] : '=';
    }
    return at;
}

struct base64_line {
    unsigned char bytes[BASE64_LINE_INPUT];
    size_t size;
    bool wrote; /* a line was written: the next one needs a break before it */
};

static void base64_flush(struct buf *out, struct base64_line *line)
{
    char text[ENCODE_LINE_MAX_BYTES];
    if (line->size == 0)
        return;
    if (line->wrote)
        buf_add(out, "\r\n", 2);
    char *end = put_base64(text, line->bytes, line->size);
    buf_add(out, text, (size_t)(end - text));
    line->wrote = true;
    line->size = 0;
}

static void base64_add(struct buf *out, struct base64_line *line, const char *text, size_t size)
{
    while (size > 0) {
        size_t free_bytes = sizeof(line->bytes) - line->size;
        size_t taken = size < free_bytes ? size : free_bytes;
        memcpy(line->bytes + line->size, text, taken);
        line->size += taken;
        text += taken;
        size -= taken;
        if (line->size == sizeof(line->bytes))
            base64_flush(out, line);
    }
}

static void encode_base64(struct buf *out, const char *text, size_t size)
{
    struct base64_line line = { .size = 0 };
    size_t at = 0;
    while (at < size) {
        size_t line_break;
        size_t length = line_size(text + at, size - at, &line_break);
        base64_add(out, &line, text + at, length);
        if (line_break > 0)
            base64_add(out, &line, "\r\n", 2);
        at += length + line_break;
    }
    base64_flush(out, &line);
}

void body_encode(struct buf *out, enum body_encoding encoding, const char *text, size_t size)
{
    switch (encoding) {
    case BODY_7BIT:
        encode_7bit(out, text, size);
        break;
    case BODY_QUOTED_PRINTABLE:
        encode_quoted_printable(out, text, size);
        break;
    case BODY_BASE64:
        encode_base64(out, text, size);
        break;
    }
}

/* Whether a Q word leaves the byte unchanged in any position, also in a phrase (RFC 2047 §5 rule 3). */
static bool is_q_literal(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
           (byte != '\0' && strchr("!*+-/", byte) != NULL);
}

static size_t q_size(const char *text, size_t size)
{
    size_t result = 0;
    for (size_t i = 0; i < size; i++)
        result += is_q_literal(text[i]) || text[i] == ' ' ? 1 : 3;
    return result;
}

static size_t b_size(const char *text UNUSED, size_t size)
{
    return (size + 2) / 3 * 4;
}

static char *put_q(char *at, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (text[i] == ' ')
            *at++ = '_';
        else if (is_q_literal(text[i]))
            *at++ = text[i];
        else
            at = put_hex(at, text[i]);
    }
    return at;
}

static char *put_b(char *at, const char *text, size_t size)
{
    return put_base64(at, (const unsigned char *)text, size);
}

struct word_kind {
    const char *opening;
    size_t (*size)(const char *text, size_t size);
    char *(*put)(char *at, const char *text, size_t size);
};

enum { CHARACTER_MAX_BYTES = 4 /* RFC 3629 §3 */, WORD_FRAME_BYTES = 12 };
static_assert(ENCODE_WORD_MAX_BYTES >= WORD_FRAME_BYTES + 3 * CHARACTER_MAX_BYTES, "any character fits into a word of its own");

/* The bytes of the first character. Malformed UTF-8 is cut after as many bytes as a character can have, so that every piece fits
 * into a word. */
static size_t character_size(const char *text, size_t size)
{
    size_t next = 1;
    while (next < size && next < CHARACTER_MAX_BYTES && ((unsigned char)text[next] & 0xC0) == 0x80)
        next++;
    return next;
}

/* The number of bytes of `text`, in whole characters, that encode to at most `room` bytes. */
static size_t word_take(const struct word_kind *kind, const char *text, size_t size, size_t room)
{
    size_t taken = 0;
    while (taken < size) {
        size_t next = taken + character_size(text + taken, size - taken);
        if (kind->size(text, next) > room)
            break;
        taken = next;
    }
    return taken;
}

size_t encoded_words_add(struct buf *out, size_t column, const char *text, size_t size)
{
    static const struct word_kind q = { "=?utf-8?Q?", q_size, put_q };
    static const struct word_kind b = { "=?utf-8?B?", b_size, put_b };
    const struct word_kind *kind = q_size(text, size) <= b_size(text, size) ? &q : &b;
    const size_t frame = strlen(kind->opening) + strlen("?=");
    size_t at = 0;
    while (at < size) {
        size_t line_left = column < ENCODE_WORD_LINE_MAX_BYTES ? ENCODE_WORD_LINE_MAX_BYTES - column : 0;
        size_t most = line_left < ENCODE_WORD_MAX_BYTES ? line_left : ENCODE_WORD_MAX_BYTES;
        size_t taken = most > frame ? word_take(kind, text + at, size - at, most - frame) : 0;
        if (taken == 0) { /* a blank between two encoded words is not part of the text */
            buf_add_text(out, "\r\n ");
            column = 1;
            continue;
        }
        char word[ENCODE_WORD_MAX_BYTES];
        char *end = kind->put(word, text + at, taken);
        buf_add_text(out, kind->opening);
        buf_add(out, word, (size_t)(end - word));
        buf_add_text(out, "?=");
        column += frame + (size_t)(end - word);
        at += taken;
        if (at < size) {
            buf_add_text(out, "\r\n ");
            column = 1;
        }
    }
    return column;
}
