#include "mail/mime_reader.h"

#include "base/text.h"

#include <string.h>
#include <strings.h>

/* ---- Header fields ---- */

struct field {
    const char *name;
    size_t name_size;
    const char *value;
    size_t value_size;
};

static struct bytes range(const char *from, const char *end)
{
    return (struct bytes){ (const unsigned char *)from, (size_t)(end - from) };
}

/* The end of the line at `at`, behind its line feed. */
static const char *after_line(const char *at, const char *end)
{
    const char *feed = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
    return feed != NULL ? feed + 1 : end;
}

/* Whether a line continues a field: it is folded (RFC 5322 §2.2.3), or it has no colon and so is no field of its own. */
static bool continues_field(const char *line, const char *end)
{
    return *line == ' ' || *line == '\t' || memchr(line, ':', (size_t)(after_line(line, end) - line)) == NULL;
}

static const char *after_field(const char *at, const char *end)
{
    do
        at = after_line(at, end);
    while (at < end && continues_field(at, end));
    return at;
}

/* Reads the field at *at and moves behind it; false at the end. The name of a line without a colon is empty. */
static bool next_field(const char **at, const char *end, struct field *ret_field)
{
    if (*at >= end)
        return false;
    const char *line = *at;
    const char *line_end = after_line(line, end);
    const char *next = after_field(line, end);
    const char *colon = memchr(line, ':', (size_t)(line_end - line));
    const char *name_end = colon != NULL ? colon : line;
    while (name_end > line && (name_end[-1] == ' ' || name_end[-1] == '\t'))
        name_end--;
    const char *value = colon != NULL ? colon + 1 : line_end;
    *ret_field = (struct field){ line, (size_t)(name_end - line), value, (size_t)(next - value) };
    *at = next;
    return true;
}

/* Line ends, blanks and other control characters in a row become one space. */
static char *unfold(struct arena *arena, const char *value, size_t size)
{
    if (size > MIME_VALUE_MAX_BYTES)
        size = MIME_VALUE_MAX_BYTES;
    char *text = arena_alloc(arena, size + 1);
    size_t count = 0;
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)value[i];
        bool is_blank = byte <= ' ' || byte == 0x7f;
        if (!is_blank)
            text[count++] = (char)byte;
        else if (count > 0 && text[count - 1] != ' ')
            text[count++] = ' ';
    }
    count -= count > 0 && text[count - 1] == ' ';
    text[count] = '\0';
    utf8_drop_malformed(text);
    return text;
}

char *mime_next_header(struct arena *arena, struct bytes *headers, const char *name)
{
    const char *at = (const char *)headers->data;
    const char *end = at + headers->size;
    size_t size = strlen(name);
    struct field field;
    while (next_field(&at, end, &field)) {
        *headers = (struct bytes){ (const unsigned char *)at, (size_t)(end - at) };
        if (field.name_size == size && strncasecmp(field.name, name, size) == 0)
            return unfold(arena, field.value, field.value_size);
    }
    return NULL;
}

char *mime_header(struct arena *arena, struct bytes headers, const char *name)
{
    return mime_next_header(arena, &headers, name);
}

static bool is_blank_line(const char *line, const char *end)
{
    return line < end && (*line == '\n' || (*line == '\r' && line + 1 < end && line[1] == '\n'));
}

struct bytes mime_header_block(struct bytes message, struct bytes *ret_body)
{
    const char *start = (const char *)message.data;
    const char *end = start + message.size;
    if (message.size > 5 && memcmp(start, "From ", 5) == 0) /* the separator line of an mbox */
        start = after_line(start, end);
    const char *at = start;
    while (at < end && !is_blank_line(at, end))
        at = after_line(at, end);
    struct bytes headers = range(start, at);
    if (headers.size > MIME_HEADERS_MAX_BYTES)
        headers.size = MIME_HEADERS_MAX_BYTES;
    if (ret_body != NULL)
        *ret_body = range(after_line(at, end), end);
    return headers;
}

/* ---- Parameters ---- */

static const char *skip_blanks(const char *at)
{
    return at + strspn(at, " \t");
}

/* Reads a value, quoted or not, and moves behind it. */
static char *read_parameter_value(struct arena *arena, const char **at)
{
    const char *from = *at;
    char *value = arena_alloc(arena, strlen(from) + 1);
    size_t size = 0;
    if (*from != '"') {
        size = strcspn(from, "; \t");
        memcpy(value, from, size);
        *at = from + size;
        return value;
    }
    for (from++; *from != '\0' && *from != '"'; from++) {
        from += *from == '\\' && from[1] != '\0';
        value[size++] = *from;
    }
    *at = from + (*from == '"');
    return value;
}

char *mime_parameter(struct arena *arena, const char *value, const char *name)
{
    size_t size = strlen(name);
    for (const char *at = strchr(value, ';'); at != NULL && *at != '\0';) {
        at = skip_blanks(at + 1);
        size_t name_size = strcspn(at, "=; \t");
        bool is_wanted = name_size == size && strncasecmp(at, name, size) == 0;
        at = skip_blanks(at + name_size);
        if (*at == '=') {
            at = skip_blanks(at + 1);
            if (is_wanted)
                return read_parameter_value(arena, &at);
            /* A quoted value may contain semicolons. */
            if (*at == '"') {
                for (at++; *at != '\0' && *at != '"'; at++)
                    at += *at == '\\' && at[1] != '\0';
            }
        }
        at = strchr(at, ';');
    }
    return NULL;
}

/* ---- Transfer encodings ---- */

static int base64_digit(unsigned char byte)
{
    if (byte >= 'A' && byte <= 'Z')
        return byte - 'A';
    if (byte >= 'a' && byte <= 'z')
        return byte - 'a' + 26;
    if (byte >= '0' && byte <= '9')
        return byte - '0' + 52;
    return byte == '+' ? 62 : byte == '/' ? 63 : -1;
}

/* Bytes outside of the alphabet are skipped (RFC 2045 §6.8). */
static size_t decode_base64(const unsigned char *from, size_t size, unsigned char *to, size_t max_bytes)
{
    size_t count = 0;
    uint32_t bits = 0;
    int bit_count = 0;
    for (size_t i = 0; i < size && from[i] != '=' && count < max_bytes; i++) {
        int digit = base64_digit(from[i]);
        if (digit < 0)
            continue;
        bits = (bits << 6 | (uint32_t)digit) & 0xffffff;
        bit_count += 6;
        if (bit_count >= 8) {
            bit_count -= 8;
            to[count++] = (unsigned char)(bits >> bit_count);
        }
    }
    return count;
}

/* The size of a soft line break at an equals sign; 0 when there is none. */
static size_t soft_break(const unsigned char *from, size_t left)
{
    if (left > 1 && from[1] == '\n')
        return 2;
    return left > 2 && from[1] == '\r' && from[2] == '\n' ? 3 : 0;
}

static size_t decode_quoted(const unsigned char *from, size_t size, unsigned char *to, size_t max_bytes, bool is_word)
{
    size_t count = 0;
    for (size_t i = 0; i < size && count < max_bytes;) {
        size_t left = size - i;
        size_t skipped = from[i] == '=' ? soft_break(from + i, left) : 0;
        if (skipped > 0) {
            i += skipped;
        } else if (from[i] == '=' && left > 2 && hex_digit((char)from[i + 1]) >= 0 && hex_digit((char)from[i + 2]) >= 0) {
            to[count++] = (unsigned char)(hex_digit((char)from[i + 1]) << 4 | hex_digit((char)from[i + 2]));
            i += 3;
        } else {
            to[count++] = is_word && from[i] == '_' ? ' ' : from[i];
            i++;
        }
    }
    return count;
}

struct bytes mime_body(struct arena *arena, const struct mime_part *part, size_t max_bytes)
{
    const char *encoding = mime_header(arena, part->headers, "Content-Transfer-Encoding");
    bool is_base64 = encoding != NULL && strcasecmp(encoding, "base64") == 0;
    bool is_quoted = encoding != NULL && strcasecmp(encoding, "quoted-printable") == 0;
    struct bytes body = part->body;
    if (!is_base64 && !is_quoted) {
        body.size = body.size < max_bytes ? body.size : max_bytes;
        return body;
    }
    size_t room = body.size < max_bytes ? body.size : max_bytes;
    unsigned char *decoded = arena_alloc(arena, room + 1);
    size_t size =
        is_base64 ? decode_base64(body.data, body.size, decoded, room) : decode_quoted(body.data, body.size, decoded, room, false);
    return (struct bytes){ decoded, size };
}

/* ---- Encoded words ---- */

struct encoded_word {
    const char *charset;
    size_t charset_size;
    char encoding;
    const char *text;
    size_t text_size;
};

/* Reads =?CHARSET?ENCODING?TEXT?= and returns its size; 0 when there is none here. */
static size_t read_encoded_word(const char *at, struct encoded_word *ret_word)
{
    const char *charset = at + 2;
    size_t charset_size = strcspn(charset, "? ");
    const char *encoding = charset + charset_size;
    if (encoding[0] != '?' || encoding[1] == '\0' || encoding[2] != '?')
        return 0;
    const char *text = encoding + 3;
    size_t text_size = strcspn(text, "? ");
    if (text[text_size] != '?' || text[text_size + 1] != '=')
        return 0;
    *ret_word = (struct encoded_word){ charset, charset_size, encoding[1], text, text_size };
    return (size_t)(text + text_size + 2 - at);
}

static bool has_charset(const struct encoded_word *word, const char *charset)
{
    return word->charset_size == strlen(charset) && strncasecmp(word->charset, charset, word->charset_size) == 0;
}

static size_t add_latin1(char *to, const unsigned char *from, size_t size)
{
    size_t count = 0;
    for (size_t i = 0; i < size; i++) {
        if (from[i] >= 0x80)
            to[count++] = (char)(0xc0 | from[i] >> 6);
        to[count++] = (char)(from[i] >= 0x80 ? 0x80 | (from[i] & 0x3f) : from[i]);
    }
    return count;
}

/* Writes the decoded word, which has at most twice the bytes of its text; 0 when its charset is unknown. */
static size_t add_encoded_word(struct arena *arena, const struct encoded_word *word, char *to)
{
    bool is_latin1 = has_charset(word, "iso-8859-1") || has_charset(word, "iso-8859-15") || has_charset(word, "windows-1252");
    bool is_unicode = has_charset(word, "utf-8") || has_charset(word, "us-ascii") || has_charset(word, "iso-2022-jp");
    unsigned char *bytes = arena_alloc(arena, word->text_size + 1);
    const unsigned char *text = (const unsigned char *)word->text;
    if (!is_latin1 && !is_unicode)
        return 0;
    size_t size = word->encoding == 'B' || word->encoding == 'b'
                      ? decode_base64(text, word->text_size, bytes, word->text_size)
                      : decode_quoted(text, word->text_size, bytes, word->text_size, true);
    if (is_latin1)
        return add_latin1(to, bytes, size);
    memcpy(to, bytes, size);
    return size;
}

char *mime_decode_words(struct arena *arena, const char *value)
{
    char *text = arena_alloc(arena, 2 * strlen(value) + 1);
    size_t count = 0;
    while (*value != '\0') {
        struct encoded_word word;
        size_t size = value[0] == '=' && value[1] == '?' ? read_encoded_word(value, &word) : 0;
        size_t added = size > 0 ? add_encoded_word(arena, &word, text + count) : 0;
        count += added;
        if (added > 0) {
            value += size;
            /* Blanks between two encoded words are no part of the text (RFC 2047 §6.2). */
            if (strncmp(skip_blanks(value), "=?", 2) == 0)
                value = skip_blanks(value);
        } else {
            text[count++] = *value++;
        }
    }
    return unfold(arena, text, count);
}

/* ---- Parts ---- */

struct mime_splitter {
    struct arena *arena;
    struct mime_part *parts;
    size_t count;
};

static const char *lower_type(struct arena *arena, const char *value)
{
    size_t size = strcspn(value, "; \t");
    return text_lower(arena, arena_dup_bytes(arena, value, size));
}

/* Whether the line at `line` is the delimiter. `ret_is_last`: the one that ends the parts. */
static bool is_delimiter(const char *line, const char *end, const char *delimiter, size_t size, bool *ret_is_last)
{
    if ((size_t)(end - line) < size || memcmp(line, delimiter, size) != 0)
        return false;
    const char *at = line + size;
    *ret_is_last = end - at >= 2 && at[0] == '-' && at[1] == '-';
    at += *ret_is_last ? 2 : 0;
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\r'))
        at++;
    return at == end || *at == '\n';
}

/* The next delimiter line from `at` on; NULL when there is none. */
static const char *find_delimiter(const char *at, const char *end, const char *delimiter, bool *ret_is_last)
{
    size_t size = strlen(delimiter);
    const char *start = at;
    while (at < end && (at = memmem(at, (size_t)(end - at), delimiter, size)) != NULL) {
        if ((at == start || at[-1] == '\n') && is_delimiter(at, end, delimiter, size, ret_is_last))
            return at;
        at += size;
    }
    return NULL;
}

/* The line end in front of a delimiter belongs to the delimiter (RFC 2046 §5.1.1). */
static const char *without_line_end(const char *start, const char *end)
{
    if (end > start && end[-1] == '\n')
        end--;
    if (end > start && end[-1] == '\r')
        end--;
    return end;
}

static void split_entity(struct mime_splitter *splitter, struct bytes entity, int depth, const char *default_type);

static void split_children(struct mime_splitter *splitter, struct bytes body, const char *boundary, int depth,
                           const char *default_type)
{
    const char *end = (const char *)body.data + body.size;
    const char *delimiter = arena_printf(splitter->arena, "--%s", boundary);
    bool is_last = false;
    const char *at = find_delimiter((const char *)body.data, end, delimiter, &is_last);
    while (at != NULL && !is_last && splitter->count < MIME_MAX_PARTS) {
        const char *start = after_line(at, end);
        const char *next = find_delimiter(start, end, delimiter, &is_last);
        split_entity(splitter, range(start, next != NULL ? without_line_end(start, next) : end), depth, default_type);
        at = next;
    }
}

static void split_entity(struct mime_splitter *splitter, struct bytes entity, int depth, const char *default_type)
{
    if (splitter->count >= MIME_MAX_PARTS)
        return;
    struct mime_part *part = &splitter->parts[splitter->count++];
    part->headers = mime_header_block(entity, &part->body);
    part->depth = depth;
    const char *content_type = mime_header(splitter->arena, part->headers, "Content-Type");
    part->type = content_type != NULL ? lower_type(splitter->arena, content_type) : default_type;
    if (!text_starts_with(part->type, "multipart/") || depth >= MIME_MAX_DEPTH)
        return;
    const char *boundary = mime_parameter(splitter->arena, content_type, "boundary");
    bool is_digest = strcmp(part->type, "multipart/digest") == 0;
    if (boundary != NULL && boundary[0] != '\0')
        split_children(splitter, part->body, boundary, depth + 1, is_digest ? "message/rfc822" : "text/plain");
}

struct mime_parts mime_read(struct arena *arena, struct bytes message)
{
    struct mime_splitter splitter = { .arena = arena, .parts = arena_array(arena, MIME_MAX_PARTS, sizeof(struct mime_part)) };
    if (message.size > MIME_MESSAGE_MAX_BYTES)
        message.size = MIME_MESSAGE_MAX_BYTES;
    split_entity(&splitter, message, 0, "text/plain");
    return (struct mime_parts){ splitter.parts, splitter.count };
}
