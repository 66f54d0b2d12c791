#include "designer/html_parts.h"

#include "base/buf.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { PARTS_FIRST = 64, REFERENCE_MAX_BYTES = 10, LAST_POINT = 0x10ffff };

struct parts_reader {
    struct arena *arena;
    struct html_parts *parts;
    struct buf *text;      /* the text that is being read */
    struct buf *link_text; /* of the open link */
    const char *href;      /* of the open link; NULL: none is open */
};

/* A tag of the source: its name, and its end behind `>`. */
struct html_tag {
    const char *name;
    size_t name_size;
    const char *end;
    bool closes;
};

static void add_part(struct parts_reader *reader, struct html_part_list *list, const char *text, const char *address)
{
    if (list->count == list->room) {
        list->room = list->room > 0 ? list->room * 2 : PARTS_FIRST;
        struct html_part *items = arena_array(reader->arena, list->room, sizeof(*items));
        if (list->count > 0)
            memcpy(items, list->items, list->count * sizeof(*items));
        list->items = items;
    }
    list->items[list->count++] = (struct html_part){ .text = text, .address = address };
}

/* ---- Texts ---- */

/* Appends a character as a reader sees it. */
static void add_seen(struct buf *out, const char *at, size_t size)
{
    static const char no_break_space[] = "\xc2\xa0";
    static const char soft_hyphen[] = "\xc2\xad";
    static const char zero_width_space[] = "\xe2\x80\x8b";
    bool is_space = (size == 1 && strchr(" \t\r\n\f", *at) != NULL) || (size == 2 && memcmp(at, no_break_space, 2) == 0);
    bool is_left_out = (size == 2 && memcmp(at, soft_hyphen, 2) == 0) || (size == 3 && memcmp(at, zero_width_space, 3) == 0);
    if (is_space && (out->size == 0 || out->data[out->size - 1] == ' '))
        return;
    if (is_space)
        buf_add_text(out, " ");
    else if (!is_left_out)
        buf_add(out, at, size);
}

static size_t write_utf8(unsigned long point, char out[4])
{
    if (point < 0x80) {
        out[0] = (char)point;
        return 1;
    }
    size_t size = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    static const unsigned char leads[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
    for (size_t i = size - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (point & 0x3f));
        point >>= 6;
    }
    out[0] = (char)(leads[size] | point);
    return size;
}

/* The character of a numeric reference such as &#39; 0: none. Digits only: strtoul would take spaces, signs and a second 0x too. */
static unsigned long numeric_point(const char *at)
{
    bool is_hex = at[2] == 'x' || at[2] == 'X';
    const char *digits = at + (is_hex ? 3 : 2);
    size_t size = strspn(digits, is_hex ? "0123456789abcdefABCDEF" : "0123456789");
    unsigned long point = size > 0 && digits[size] == ';' ? strtoul(digits, NULL, is_hex ? 16 : 10) : 0;
    bool is_character = point > 0 && point <= LAST_POINT && (point < 0xd800 || point > 0xdfff);
    return is_character ? point : 0;
}

/* The bytes of a reference before its `;`. Of a longer text, which is no reference, one byte more than a reference can have. */
static size_t reference_size(const char *at)
{
    size_t size = 0;
    while (size <= REFERENCE_MAX_BYTES && at[size] != '\0' && at[size] != ';' && at[size] != ' ')
        size++;
    return size;
}

/* Decodes the reference at `at`; returns its bytes in the source, 0 when it is none. */
static size_t decode_reference(const char *at, char out[4], size_t *ret_size)
{
    static const struct {
        const char *name;
        const char *value;
    } names[] = { { "&amp;", "&" }, { "&lt;", "<" }, { "&gt;", ">" }, { "&quot;", "\"" }, { "&nbsp;", "\xc2\xa0" } };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (!text_starts_with(at, names[i].name))
            continue;
        *ret_size = strlen(names[i].value);
        memcpy(out, names[i].value, *ret_size);
        return strlen(names[i].name);
    }
    size_t size = reference_size(at);
    unsigned long point = at[1] == '#' && size <= REFERENCE_MAX_BYTES ? numeric_point(at) : 0;
    *ret_size = point != 0 ? write_utf8(point, out) : 0;
    return point != 0 ? size + 1 : 0;
}

static size_t character_size(const char *at)
{
    size_t size = 1;
    while (((unsigned char)at[size] & 0xc0) == 0x80)
        size++;
    return size;
}

/* Appends the character at `at` to a text; returns its bytes in the source. */
static size_t add_character(struct buf *out, const char *at)
{
    char decoded[4];
    size_t size;
    size_t reference = *at == '&' ? decode_reference(at, decoded, &size) : 0;
    if (reference > 0) {
        add_seen(out, decoded, size);
        return reference;
    }
    size = character_size(at);
    add_seen(out, at, size);
    return size;
}

/* What a buffer has, without the space at its end; the buffer is empty then. */
static const char *take_text(struct parts_reader *reader, struct buf *text)
{
    size_t size = text->size > 0 && text->data[text->size - 1] == ' ' ? text->size - 1 : text->size;
    const char *taken = arena_dup_bytes(reader->arena, size > 0 ? text->data : "", size);
    buf_clear(text);
    return taken;
}

static void end_text(struct parts_reader *reader)
{
    const char *text = take_text(reader, reader->text);
    if (*text != '\0')
        add_part(reader, &reader->parts->texts, text, NULL);
}

/* ---- Tags ---- */

static bool is_named(const struct html_tag *tag, const char *name)
{
    return strlen(name) == tag->name_size && strncasecmp(tag->name, name, tag->name_size) == 0;
}

/* Whether a text goes on behind this tag. */
static bool is_inline(const struct html_tag *tag)
{
    static const char *const names[] = { "a",      "abbr",   "b",   "bdi", "bdo",  "big", "cite", "code", "del",   "em",
                                         "font",   "i",      "ins", "kbd", "mark", "q",   "s",    "samp", "small", "span",
                                         "strike", "strong", "sub", "sup", "tt",   "u",   "var",  "wbr",  "br" };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (is_named(tag, names[i]))
            return true;
    return false;
}

/* The value of an attribute as a reader sees it; NULL: the tag has none. */
static const char *attribute_of(struct parts_reader *reader, const struct html_tag *tag, const char *name)
{
    const char *start = arena_printf(reader->arena, " %s=\"", name);
    const char *at = memmem(tag->name, (size_t)(tag->end - tag->name), start, strlen(start));
    const char *end = at != NULL ? strchr(at + strlen(start), '"') : NULL;
    if (end == NULL)
        return NULL;
    struct buf *value = buf_in_arena(reader->arena, (size_t)(end - at) + 1);
    for (at += strlen(start); at < end;)
        at += add_character(value, at);
    return take_text(reader, value);
}

static void end_link(struct parts_reader *reader)
{
    if (reader->href != NULL)
        add_part(reader, &reader->parts->links, take_text(reader, reader->link_text), reader->href);
    reader->href = NULL;
}

static void read_image(struct parts_reader *reader, const struct html_tag *tag)
{
    const char *src = attribute_of(reader, tag, "src");
    const char *alt = attribute_of(reader, tag, "alt");
    if (src != NULL)
        add_part(reader, &reader->parts->images, alt != NULL ? alt : "", src);
}

static void read_known_tag(struct parts_reader *reader, const struct html_tag *tag)
{
    if (!is_inline(tag))
        end_text(reader);
    if (is_named(tag, "br"))
        add_seen(reader->text, " ", 1);
    if (is_named(tag, "img"))
        read_image(reader, tag);
    if (!is_named(tag, "a"))
        return;
    end_link(reader);
    if (!tag->closes)
        reader->href = attribute_of(reader, tag, "href");
}

/* The end behind `mark`, or the end of the text. */
static const char *behind(const char *at, const char *mark)
{
    const char *found = strcasestr(at, mark);
    return found != NULL ? found + strlen(mark) : at + strlen(at);
}

/* Reads what begins with `<`; returns its end. */
static const char *read_markup(struct parts_reader *reader, const char *at)
{
    if (text_starts_with(at, "<!--"))
        return behind(at + 4, "-->");
    const char *end = behind(at, ">");
    struct html_tag tag = { .name = at + 1, .end = end, .closes = at[1] == '/' };
    tag.name += tag.closes ? 1 : 0;
    tag.name_size = strcspn(tag.name, " \t\r\n/>");
    read_known_tag(reader, &tag);
    return is_named(&tag, "style") && !tag.closes ? behind(end, "</style>") : end;
}

static bool begins_markup(const char *at)
{
    return *at == '<' && (at[1] == '!' || at[1] == '/' || (at[1] >= 'a' && at[1] <= 'z') || (at[1] >= 'A' && at[1] <= 'Z'));
}

static size_t read_character(struct parts_reader *reader, const char *at)
{
    if (reader->href != NULL)
        add_character(reader->link_text, at);
    return add_character(reader->text, at);
}

const struct html_parts *html_parts_read(struct arena *arena, const char *html)
{
    size_t size = strlen(html) + 1;
    struct html_parts *parts = arena_alloc(arena, sizeof(*parts));
    *parts = (struct html_parts){ .texts = { .count = 0 } };
    struct parts_reader reader = {
        .arena = arena, .parts = parts, .text = buf_in_arena(arena, size), .link_text = buf_in_arena(arena, size)
    };
    for (const char *at = html; *at != '\0';) {
        if (begins_markup(at))
            at = read_markup(&reader, at);
        else
            at += read_character(&reader, at);
    }
    end_link(&reader);
    end_text(&reader);
    return parts;
}
