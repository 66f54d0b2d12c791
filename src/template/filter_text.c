/* Text filters. Another value is converted to text first, as a placeholder would show it. */
#include "template/filter.h"

#include "template/text.h"

#include <stdlib.h>
#include <string.h>
#include <unicase.h>
#include <unistr.h>

/* ---- Letters ---- */

/* In UTF-8, case mapping makes a character at most three times as long (Unicode SpecialCasing.txt: U+0390 is the worst case). */
enum { CASE_GROWTH = 3 };

typedef uint8_t *case_map(const uint8_t *text, size_t size, const char *language, uninorm_t form, uint8_t *buffer,
                          size_t *buffer_size);

/* Maps `size` bytes into `buffer`, which is CASE_GROWTH times as large. Returns the bytes written. */
static size_t map_case(case_map *map, const char *text, size_t size, char *buffer)
{
    size_t written = size * CASE_GROWTH;
    if (size == 0)
        return 0;
    uint8_t *result = map((const uint8_t *)text, size, NULL, NULL, (uint8_t *)buffer, &written);
    if ((char *)result == buffer) /* the result always fits, so the library uses the buffer */
        return written;
    memcpy(buffer, text, size); /* not UTF-8 */
    return size;
}

/* `first` maps the first character, `rest` the others. */
static bool apply_case(struct template_scratch *scratch, struct template_value *value, case_map *first, case_map *rest,
                       struct error *err)
{
    if (!template_to_text(scratch, value, err))
        return false;
    if (value->size == 0)
        return true;
    if (value->size > TEMPLATE_MAX_SCRATCH_BYTES) /* before the product below */
        return template_scratch_alloc(scratch, value->size, err) != NULL;
    char *buffer = template_scratch_alloc(scratch, value->size * CASE_GROWTH, err);
    if (buffer == NULL)
        return false;
    int head = u8_mblen((const uint8_t *)value->text, value->size);
    size_t head_size = head > 0 ? (size_t)head : 1;
    if (first == rest)
        head_size = value->size;
    size_t size = map_case(first, value->text, head_size, buffer);
    size += map_case(rest, value->text + head_size, value->size - head_size, buffer + size);
    *value = template_string(buffer, size);
    return true;
}

bool template_filter_upcase(struct template_scratch *scratch, struct template_value *value,
                            const struct template_value *arguments UNUSED, size_t count UNUSED, struct error *err)
{
    return apply_case(scratch, value, u8_toupper, u8_toupper, err);
}

bool template_filter_downcase(struct template_scratch *scratch, struct template_value *value,
                              const struct template_value *arguments UNUSED, size_t count UNUSED, struct error *err)
{
    return apply_case(scratch, value, u8_tolower, u8_tolower, err);
}

bool template_filter_capitalize(struct template_scratch *scratch, struct template_value *value,
                                const struct template_value *arguments UNUSED, size_t count UNUSED, struct error *err)
{
    return apply_case(scratch, value, u8_toupper, u8_tolower, err);
}

/* ---- Escapes ---- */

/* Values are escaped when they are emitted, so escape_once only decodes existing escapes. */
bool template_filter_escape_once(struct template_scratch *scratch, struct template_value *value,
                                 const struct template_value *arguments UNUSED, size_t count UNUSED, struct error *err)
{
    static const struct {
        const char *text;
        char byte;
    } references[] = { { "&amp;", '&' }, { "&lt;", '<' }, { "&gt;", '>' }, { "&#34;", '"' }, { "&#39;", '\'' } };
    char *buffer = NULL;
    if (!template_to_text(scratch, value, err) || (buffer = template_scratch_alloc(scratch, value->size + 1, err)) == NULL)
        return false;
    size_t written = 0;
    for (size_t i = 0; i < value->size;) {
        size_t taken = 1;
        buffer[written] = value->text[i];
        for (size_t r = 0; value->text[i] == '&' && r < ARRAY_COUNT(references); r++) {
            size_t size = strlen(references[r].text);
            if (value->size - i < size || memcmp(value->text + i, references[r].text, size) != 0)
                continue;
            buffer[written] = references[r].byte;
            taken = size;
        }
        written++;
        i += taken;
    }
    *value = template_string(buffer, written);
    return true;
}

/* Like encodeURIComponent of ECMAScript, with '+' for spaces. */
bool template_filter_url_encode(struct template_scratch *scratch, struct template_value *value,
                                const struct template_value *arguments UNUSED, size_t count UNUSED, struct error *err)
{
    enum { GROWTH = 3 };
    static const char hex[] = "0123456789ABCDEF";
    char *buffer = NULL;
    if (!template_to_text(scratch, value, err) || (buffer = template_scratch_alloc(scratch, value->size * GROWTH + 1, err)) == NULL)
        return false;
    size_t written = 0;
    for (size_t i = 0; i < value->size; i++) {
        unsigned char byte = (unsigned char)value->text[i];
        bool stays = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
                     memchr("-_.!~*'()", byte, 9) != NULL;
        if (stays || byte == ' ') {
            buffer[written++] = stays ? (char)byte : '+';
            continue;
        }
        buffer[written++] = '%';
        buffer[written++] = hex[byte >> 4];
        buffer[written++] = hex[byte & 0xF];
    }
    *value = template_string(buffer, written);
    return true;
}

/* ---- Removing ---- */

static void strip_left(struct template_value *value)
{
    for (size_t blank = 1; value->size > 0 && blank > 0;) {
        blank = template_white_space_size(value->text, value->size);
        value->text += blank;
        value->size -= blank;
    }
}

static void strip_right(struct template_value *value)
{
    while (value->size > 0) {
        size_t last = template_last_character(value->text, value->size);
        if (template_white_space_size(value->text + last, value->size - last) == 0)
            return;
        value->size = last;
    }
}

bool template_filter_strip(struct template_scratch *scratch, struct template_value *value,
                           const struct template_value *arguments UNUSED, size_t count UNUSED, struct error *err)
{
    if (!template_to_text(scratch, value, err))
        return false;
    strip_left(value);
    strip_right(value);
    return true;
}

bool template_filter_lstrip(struct template_scratch *scratch, struct template_value *value,
                            const struct template_value *arguments UNUSED, size_t count UNUSED, struct error *err)
{
    if (!template_to_text(scratch, value, err))
        return false;
    strip_left(value);
    return true;
}

bool template_filter_rstrip(struct template_scratch *scratch, struct template_value *value,
                            const struct template_value *arguments UNUSED, size_t count UNUSED, struct error *err)
{
    if (!template_to_text(scratch, value, err))
        return false;
    strip_right(value);
    return true;
}

bool template_filter_strip_newlines(struct template_scratch *scratch, struct template_value *value,
                                    const struct template_value *arguments UNUSED, size_t count UNUSED, struct error *err)
{
    char *buffer = NULL;
    if (!template_to_text(scratch, value, err) || (buffer = template_scratch_alloc(scratch, value->size + 1, err)) == NULL)
        return false;
    size_t written = 0;
    for (size_t i = 0; i < value->size; i++) {
        bool is_pair = value->text[i] == '\r' && i + 1 < value->size && value->text[i + 1] == '\n';
        if (!is_pair && value->text[i] != '\n')
            buffer[written++] = value->text[i];
    }
    *value = template_string(buffer, written);
    return true;
}

/* The position after the script, style sheet, comment or tag at `at`; NULL when its end is missing. `ret_searched` is the number
 * of bytes searched: each unclosed script is searched to the end of the text. */
static const char *skip_markup(const char *at, const char *end, size_t *ret_searched)
{
    static const struct {
        const char *opens;
        const char *closes;
    } markup[] = { { "<script", "</script>" }, { "<style", "</style>" }, { "<!--", "-->" }, { "<", ">" } };
    *ret_searched = 0;
    for (size_t i = 0; i < ARRAY_COUNT(markup); i++) {
        size_t opens = strlen(markup[i].opens);
        size_t closes = strlen(markup[i].closes);
        if ((size_t)(end - at) < opens || memcmp(at, markup[i].opens, opens) != 0)
            continue;
        const char *found = memmem(at + opens, (size_t)(end - at) - opens, markup[i].closes, closes);
        *ret_searched += (size_t)((found != NULL ? found : end) - at);
        if (found != NULL)
            return found + closes;
    }
    return NULL;
}

bool template_filter_strip_html(struct template_scratch *scratch, struct template_value *value,
                                const struct template_value *arguments UNUSED, size_t count UNUSED, struct error *err)
{
    char *buffer = NULL;
    if (!template_to_text(scratch, value, err) || (buffer = template_scratch_alloc(scratch, value->size + 1, err)) == NULL)
        return false;
    const char *at = value->text;
    const char *end = at + value->size;
    size_t written = 0;
    while (at < end) {
        const char *tag = memchr(at, '<', (size_t)(end - at));
        size_t searched = 0;
        const char *after = tag != NULL ? skip_markup(tag, end, &searched) : NULL;
        size_t kept = (size_t)((after != NULL ? tag : end) - at);
        if (!template_scratch_work(scratch, kept + searched, err))
            return false;
        memcpy(buffer + written, at, kept);
        written += kept;
        at = after != NULL ? after : end;
    }
    *value = template_string(buffer, written);
    return true;
}

/* ---- Shortening ---- */

static int64_t whole_argument(const struct template_value *arguments, size_t count, size_t index, int64_t otherwise)
{
    enum { LARGEST = 1000 * 1000 * 1000 };
    double number;
    if (count <= index || !template_to_number(&arguments[index], &number) || number != number)
        return otherwise;
    if (number > LARGEST)
        return LARGEST;
    return number < -LARGEST ? -LARGEST : (int64_t)number;
}

/* The text that replaces the removed part: an ellipsis, or the argument. */
static bool ellipsis(struct template_scratch *scratch, const struct template_value *arguments, size_t count,
                     struct template_value *ret_text, struct error *err)
{
    *ret_text = count > 1 ? arguments[1] : template_string("...", 3);
    return template_to_text(scratch, ret_text, err);
}

static bool append_text(struct template_scratch *scratch, struct template_value *value, const char *text, size_t size,
                        struct error *err)
{
    char *buffer = template_scratch_alloc(scratch, value->size + size + 1, err);
    if (buffer == NULL)
        return false;
    memcpy(buffer, value->text, value->size);
    memcpy(buffer + value->size, text, size);
    *value = template_string(buffer, value->size + size);
    return true;
}

bool template_filter_truncate(struct template_scratch *scratch, struct template_value *value,
                              const struct template_value *arguments, size_t count, struct error *err)
{
    enum { DEFAULT_LENGTH = 50 };
    struct template_value text = *value;
    struct template_value more;
    if (!template_to_text(scratch, &text, err) || !ellipsis(scratch, arguments, count, &more, err))
        return false;
    int64_t length = whole_argument(arguments, count, 0, DEFAULT_LENGTH);
    if ((int64_t)template_text_length(text.text, text.size) <= length)
        return true;
    int64_t kept = length - (int64_t)template_text_length(more.text, more.size);
    text.size = template_skip_characters(text.text, text.size, kept > 0 ? (size_t)kept : 0);
    *value = text;
    return append_text(scratch, value, more.text, more.size, err);
}

/* As in Liquid, the result has single spaces between words, and an ellipsis only if words were removed. */
bool template_filter_truncatewords(struct template_scratch *scratch, struct template_value *value,
                                   const struct template_value *arguments, size_t count, struct error *err)
{
    enum { DEFAULT_WORDS = 15 };
    struct template_value more;
    char *buffer = NULL;
    if (!template_to_text(scratch, value, err) || !ellipsis(scratch, arguments, count, &more, err) ||
        (buffer = template_scratch_alloc(scratch, value->size + 1, err)) == NULL)
        return false;
    int64_t words = whole_argument(arguments, count, 0, DEFAULT_WORDS);
    if (words < 1)
        words = 1;
    struct template_value rest = *value;
    size_t written = 0;
    strip_right(&rest);
    strip_left(&rest);
    for (; words > 0 && rest.size > 0; words--) {
        if (written > 0)
            buffer[written++] = ' ';
        while (rest.size > 0 && template_white_space_size(rest.text, rest.size) == 0) {
            buffer[written++] = *rest.text++;
            rest.size--;
        }
        strip_left(&rest);
    }
    *value = template_string(buffer, written);
    return rest.size == 0 || append_text(scratch, value, more.text, more.size, err);
}

/* ---- Concatenating and replacing ---- */

bool template_filter_append(struct template_scratch *scratch, struct template_value *value, const struct template_value *arguments,
                            size_t count UNUSED, struct error *err)
{
    struct template_value tail = arguments[0];
    return template_to_text(scratch, value, err) && template_to_text(scratch, &tail, err) &&
           append_text(scratch, value, tail.text, tail.size, err);
}

bool template_filter_prepend(struct template_scratch *scratch, struct template_value *value, const struct template_value *arguments,
                             size_t count UNUSED, struct error *err)
{
    struct template_value tail = *value;
    *value = arguments[0];
    return template_to_text(scratch, value, err) && template_to_text(scratch, &tail, err) &&
           append_text(scratch, value, tail.text, tail.size, err);
}

static size_t count_matches(const struct template_value *value, const struct template_value *pattern)
{
    size_t matches = 0;
    const char *end = value->text + value->size;
    for (const char *at = value->text; at <= end; matches++) {
        const char *found = memmem(at, (size_t)(end - at), pattern->text, pattern->size);
        if (found == NULL)
            break;
        at = found + pattern->size;
    }
    return matches;
}

/* An empty pattern matches between every two characters. */
static bool interleave(struct template_scratch *scratch, struct template_value *value, const struct template_value *between,
                       struct error *err)
{
    size_t length = template_text_length(value->text, value->size);
    size_t size = value->size + (length > 0 ? (length - 1) * between->size : 0);
    char *buffer = size <= TEMPLATE_MAX_SCRATCH_BYTES ? template_scratch_alloc(scratch, size + 1, err) : NULL;
    if (buffer == NULL)
        return size <= TEMPLATE_MAX_SCRATCH_BYTES ? false : template_scratch_alloc(scratch, size, err) != NULL;
    size_t written = 0;
    for (size_t i = 0; i < value->size;) {
        size_t character = template_skip_characters(value->text + i, value->size - i, 1);
        if (i > 0) {
            memcpy(buffer + written, between->text, between->size);
            written += between->size;
        }
        memcpy(buffer + written, value->text + i, character);
        written += character;
        i += character;
    }
    *value = template_string(buffer, written);
    return true;
}

static bool replace(struct template_scratch *scratch, struct template_value *value, struct template_value pattern,
                    struct template_value replacement, struct error *err)
{
    if (!template_to_text(scratch, value, err) || !template_to_text(scratch, &pattern, err) ||
        !template_to_text(scratch, &replacement, err))
        return false;
    if (pattern.size == 0)
        return interleave(scratch, value, &replacement, err);
    size_t matches = count_matches(value, &pattern);
    if (matches == 0)
        return true;
    if (replacement.size > TEMPLATE_MAX_SCRATCH_BYTES || matches > TEMPLATE_MAX_SCRATCH_BYTES) /* before the product below */
        return template_scratch_alloc(scratch, (size_t)TEMPLATE_MAX_SCRATCH_BYTES + 1, err) != NULL;
    size_t size = value->size - matches * pattern.size + matches * replacement.size;
    char *buffer = template_scratch_alloc(scratch, size + 1, err);
    if (buffer == NULL)
        return false;
    const char *at = value->text;
    const char *end = at + value->size;
    char *out = buffer;
    for (size_t i = 0; i < matches; i++) {
        const char *found = memmem(at, (size_t)(end - at), pattern.text, pattern.size);
        memcpy(out, at, (size_t)(found - at));
        out += found - at;
        memcpy(out, replacement.text, replacement.size);
        out += replacement.size;
        at = found + pattern.size;
    }
    memcpy(out, at, (size_t)(end - at));
    *value = template_string(buffer, size);
    return true;
}

bool template_filter_replace(struct template_scratch *scratch, struct template_value *value, const struct template_value *arguments,
                             size_t count UNUSED, struct error *err)
{
    return replace(scratch, value, arguments[0], arguments[1], err);
}

bool template_filter_remove(struct template_scratch *scratch, struct template_value *value, const struct template_value *arguments,
                            size_t count UNUSED, struct error *err)
{
    return replace(scratch, value, arguments[0], template_string("", 0), err);
}
