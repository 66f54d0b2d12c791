#include "designer/brief_text.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/text.h"
#include "designer/brief_dates.h"
#include "designer/texts.h"
#include "template/template.h"

#include <ctype.h>
#include <string.h>

enum { TEXT_MAX_BYTES = 256 * 1024, SHORT_NUMBER_DIGITS = 2, BROKEN_TAG_MAX_BYTES = 60, ABBREVIATION_MAX = 6 };

static const char ellipsis[] = "…";

bool is_word_part(char byte)
{
    return isalnum((unsigned char)byte) || (unsigned char)byte >= 0x80;
}

const char *line_of(struct arena *arena, const char *text, size_t size)
{
    char *line = arena_alloc(arena, size + 1);
    size_t used = 0;
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)text[i];
        bool is_space = byte <= ' ' || byte == 127;
        if (!is_space)
            line[used++] = (char)byte;
        else if (used > 0 && line[used - 1] != ' ')
            line[used++] = ' ';
    }
    while (used > 0 && line[used - 1] == ' ')
        used--;
    line[used] = '\0';
    return line;
}

/* The bytes of the first `count` characters. */
static size_t bytes_of(const char *text, size_t count)
{
    size_t at = 0;
    while (text[at] != '\0' && count > 0) {
        at++;
        while (((unsigned char)text[at] & 0xC0) == 0x80)
            at++;
        count--;
    }
    return at;
}

const char *cut_line(struct arena *arena, const char *text, size_t max_points)
{
    if (utf8_length(text) <= max_points)
        return text;
    size_t most = bytes_of(text, max_points - 1);
    size_t size = most;
    while (size > most / 2 && text[size] != ' ')
        size--;
    size = size > most / 2 ? size : most;
    while (size > 0 && strchr(" ,;:-", text[size - 1]) != NULL)
        size--;
    return arena_printf(arena, "%.*s%s", (int)size, text, ellipsis);
}

const char *capital(struct arena *arena, const char *text)
{
    char *copy = arena_dup(arena, text);
    unsigned char *byte = (unsigned char *)copy;
    if (islower(byte[0]))
        byte[0] = (unsigned char)toupper(byte[0]);
    else if (byte[0] == 0xC3 && byte[1] >= 0xA0 && byte[1] <= 0xBE && byte[1] != 0xB7)
        byte[1] = (unsigned char)(byte[1] - 0x20);
    return copy;
}

/* ---- Templates ---- */

static bool compiles(struct arena *arena, const char *text)
{
    struct bytes blob;
    struct error err = { .code = ERR_NONE };
    if (strstr(text, "{{") == NULL && strstr(text, "{%") == NULL)
        return true;
    return template_compile(arena, TEMPLATE_TEXT, text, strlen(text), &blob, &err);
}

/* The bytes of a merge tag; without its end, those of its mark. */
static size_t tag_size(const char *text)
{
    size_t size = merge_tag_size(text);
    return size > 0 ? size : 2;
}

static bool is_tag(const char *text)
{
    return text[0] == '{' && (text[1] == '{' || text[1] == '%');
}

/* A tag that is opened and not closed, up to a single brace near it. */
static size_t broken_tag_size(const char *text)
{
    size_t size = 2 + strcspn(text + 2, "{}\n");
    bool is_near = text[size] == '}' && size < BROKEN_TAG_MAX_BYTES;
    return is_near ? size + 1 : 2;
}

/* Keeps the outputs that compile alone, when wanted. */
static const char *filter_tags(struct arena *arena, const char *text, bool keeps_outputs)
{
    struct buf *kept = buf_in_arena(arena, TEXT_MAX_BYTES);
    while (*text != '\0') {
        if (!is_tag(text)) {
            buf_add_char(kept, *text++);
            continue;
        }
        size_t size = tag_size(text) > 2 ? tag_size(text) : broken_tag_size(text);
        const char *tag = arena_dup_bytes(arena, text, size);
        if (keeps_outputs && tag[1] == '{' && size > 2 && compiles(arena, tag))
            buf_add_text(kept, tag);
        else if (kept->size > 0 && kept->data[kept->size - 1] == ' ' && strchr(",.!?", text[size]) != NULL)
            kept->size--; /* "Hello {{ name }, …" leaves "Hello, …" */
        text += size;
    }
    return arena_dup(arena, buf_text(kept));
}

const char *without_tags(struct arena *arena, const char *text)
{
    if (strchr(text, '{') == NULL)
        return text;
    return filter_tags(arena, filter_tags(arena, text, false), false);
}

const char *safe_template(struct arena *arena, const char *text, bool *changed)
{
    if (compiles(arena, text))
        return text;
    *changed = true;
    const char *kept = filter_tags(arena, text, true);
    return compiles(arena, kept) ? kept : without_tags(arena, text);
}

/* ---- Sentences and phrases ---- */

/* "31. Mai", "1. FC", "e.g." and "St. Pauli" end no sentence. */
static bool is_inner_dot(const char *text, size_t at)
{
    size_t number = 0;
    while (number < at && isdigit((unsigned char)text[at - 1 - number]))
        number++;
    const char *next = text + at + 1;
    next += strspn(next, " ");
    if (strncmp(next, "http", 4) == 0)
        return false;
    if (number > 0 && number <= SHORT_NUMBER_DIGITS) {
        char lower[12] = { 0 };
        for (size_t i = 0; i < sizeof(lower) - 1 && next[i] != '\0'; i++)
            lower[i] = (char)tolower((unsigned char)next[i]);
        return islower((unsigned char)*next) || (strlen(lower) >= 3 && starts_with_month(lower)) || strncmp(lower, "mär", 4) == 0 ||
               strncmp(lower, "dez", 3) == 0;
    }
    size_t word = 0;
    while (word < at && is_word_part(text[at - 1 - word]))
        word++;
    return (islower((unsigned char)*next) && word < ABBREVIATION_MAX) || (word == 1 && number == 0) ||
           (at >= 2 && word == 2 && strncmp(text + at - 2, "St", 2) == 0);
}

size_t sentence_size(const char *text)
{
    for (size_t at = 0; text[at] != '\0'; at++) {
        if (is_tag(text + at)) {
            at += tag_size(text + at) - 1;
            continue;
        }
        bool is_wide = strncmp(text + at, "。", 3) == 0 || strncmp(text + at, "؟", 2) == 0;
        size_t mark = is_wide ? strcspn(text + at, " \n") : 1;
        bool is_end = strchr(".!?", text[at]) != NULL && strchr(" \n", text[at + 1]) != NULL && text[at + 1] != '\0';
        if (is_wide && text[at] == '\xe3')
            return at + 3 + strspn(text + at + 3, " \n");
        if ((is_end && !(text[at] == '.' && is_inner_dot(text, at))) || (is_wide && text[at] == '\xd8'))
            return at + mark + strspn(text + at + mark, " \n");
    }
    return strlen(text);
}

size_t quote_open(const char *text, const char **ret_close)
{
    static const char *const marks[][2] = {
        { "\"", "\"" }, { "“", "”" }, { "„", "“" },   { "«", "»" }, { "»", "«" },
        { "‘", "’" },   { "‚", "‘" }, { "「", "」" }, { "`", "`" },
    };
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
        if (text_starts_with(text, marks[i][0])) {
            *ret_close = marks[i][1];
            return strlen(marks[i][0]);
        }
    return 0;
}

const char *find_phrase(const char *text, const char *phrases, size_t *ret_size)
{
    const char *first = NULL;
    while (*phrases != '\0') {
        size_t size = strcspn(phrases, "|");
        const char *at = memmem(text, strlen(text), phrases, size);
        while (at != NULL && at > text && is_word_part(at[-1]) && is_word_part(*phrases))
            at = memmem(at + 1, strlen(at + 1), phrases, size);
        if (at != NULL && (first == NULL || at < first)) {
            first = at;
            *ret_size = size;
        }
        phrases += size + (phrases[size] == '|');
    }
    return first;
}

/* ---- Prices and addresses ---- */

static size_t currency_size(const char *text)
{
    static const char *const marks[] = { "€", "$", "£", "¥", "₹", "CHF", "EUR", "USD", "GBP", "zł", "kr" };
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
        if (text_starts_with(text, marks[i]) && !isalpha((unsigned char)text[strlen(marks[i])]))
            return strlen(marks[i]);
    return 0;
}

static size_t amount_size(const char *text)
{
    size_t size = strspn(text, "0123456789.,");
    while (size > 0 && strchr(".,", text[size - 1]) != NULL)
        size--;
    return isdigit((unsigned char)*text) ? size : 0;
}

static size_t gap_size(const char *text)
{
    return *text == ' ' ? 1 : text_starts_with(text, "\u00a0") ? 2 : 0;
}

static size_t price_size(const char *text)
{
    size_t mark = currency_size(text);
    if (mark > 0) {
        size_t gap = gap_size(text + mark);
        size_t amount = amount_size(text + mark + gap);
        return amount > 0 ? mark + gap + amount : 0;
    }
    size_t amount = amount_size(text);
    size_t gap = gap_size(text + amount);
    mark = amount > 0 ? currency_size(text + amount + gap) : 0;
    return mark > 0 ? amount + gap + mark : 0;
}

const char *find_price(const char *text, size_t *ret_size)
{
    for (const char *at = text; *at != '\0'; at++) {
        bool is_inside =
            at > text && (isalnum((unsigned char)at[-1]) || strchr(".,", at[-1]) != NULL) && isdigit((unsigned char)*at);
        *ret_size = is_inside ? 0 : price_size(at);
        if (*ret_size > 0)
            return at;
    }
    return NULL;
}

const char *find_address(const char *text, size_t *ret_size)
{
    const char *secure = strstr(text, "https://");
    const char *open = strstr(text, "http://");
    const char *at = secure == NULL || (open != NULL && open < secure) ? open : secure;
    if (at == NULL)
        return NULL;
    size_t size = 0;
    while ((unsigned char)at[size] > ' ' && strchr("\"<>\\`()[]{}|", at[size]) == NULL && !text_starts_with(at + size, "“") &&
           !text_starts_with(at + size, "”") && !text_starts_with(at + size, "»"))
        size++;
    while (size > 0 && strchr(".,;:!?'", at[size - 1]) != NULL)
        size--;
    *ret_size = size;
    return size > strlen("https://") ? at : NULL;
}

const char *link_addresses(struct arena *arena, const char *text)
{
    size_t size;
    struct buf *out = buf_in_arena(arena, TEXT_MAX_BYTES);
    for (const char *at = find_address(text, &size); at != NULL; at = find_address(text, &size)) {
        bool is_link = at > text && strchr("([{\"'", at[-1]) != NULL;
        const char *label = strstr(at, "://") + 3;
        buf_add(out, text, (size_t)(at - text));
        if (is_link)
            buf_add(out, at, size);
        else
            buf_printf(out, "[%.*s](%.*s)", (int)(at + size - label), label, (int)size, at);
        text = at + size;
    }
    buf_add_text(out, text);
    return arena_dup(arena, buf_text(out));
}
