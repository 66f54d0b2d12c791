#include "cli/visible.h"

#include <string.h>
#include <unictype.h>
#include <unistd.h>
#include <unistr.h>
#include <uniwidth.h>

enum { VISIBLE_MAX_BYTES = 256 * 1024 * 1024, BEYOND_BMP = 0x10000, HIGH_SURROGATE = 0xd800, LOW_SURROGATE = 0xdc00 };

size_t character_at(const char *text, size_t left, ucs4_t *ret_point)
{
    return (size_t)u8_mbtouc(ret_point, (const uint8_t *)text, left);
}

/* Joiners shape letters and emoji. Every other invisible character can disguise text. */
static bool needs_escape(ucs4_t point)
{
    bool is_joiner = point == 0x200c || point == 0x200d;
    return uc_is_general_category_withtable(point, UC_CATEGORY_MASK_Cc | UC_CATEGORY_MASK_Zl | UC_CATEGORY_MASK_Zp) ||
           (uc_is_general_category_withtable(point, UC_CATEGORY_MASK_Cf) && !is_joiner);
}

static void append_escape(struct buf *out, ucs4_t point)
{
    if (point == '\n')
        buf_add_text(out, "\\n");
    else if (point == '\t')
        buf_add_text(out, "\\t");
    else if (point == '\r')
        buf_add_text(out, "\\r");
    else if (point < 0x100)
        buf_printf(out, "\\x%02x", (unsigned)point);
    else
        buf_printf(out, "\\u{%04x}", (unsigned)point);
}

void visible_add(struct buf *out, const char *text)
{
    size_t left = strlen(text);
    while (left > 0) {
        ucs4_t point;
        size_t size = character_at(text, left, &point);
        if (needs_escape(point))
            append_escape(out, point);
        else
            buf_add(out, text, size);
        text += size;
        left -= size;
    }
}

size_t character_columns(ucs4_t point)
{
    int width = uc_width(point, "UTF-8");
    return width > 0 ? (size_t)width : 0;
}

size_t text_columns(const char *text)
{
    size_t columns = 0;
    for (size_t left = strlen(text); left > 0;) {
        ucs4_t point;
        size_t size = character_at(text, left, &point);
        columns += character_columns(point);
        text += size;
        left -= size;
    }
    return columns;
}

const char *visible_text(struct arena *arena, const char *text)
{
    struct buf *made = buf_in_arena(arena, VISIBLE_MAX_BYTES);
    visible_add(made, text);
    return buf_text(made);
}

/* ---- JSON ---- */

/* RFC 8259 §7 */
static void append_json_escape(struct buf *out, ucs4_t point)
{
    if (point < BEYOND_BMP) {
        buf_printf(out, "\\u%04x", (unsigned)point);
        return;
    }
    unsigned rest = (unsigned)point - BEYOND_BMP;
    buf_printf(out, "\\u%04x\\u%04x", HIGH_SURROGATE + (rest >> 10), LOW_SURROGATE + (rest & 0x3ff));
}

const char *visible_json(struct arena *arena, const char *json)
{
    struct buf *made = buf_in_arena(arena, VISIBLE_MAX_BYTES);
    for (size_t left = strlen(json); left > 0;) {
        ucs4_t point;
        size_t size = character_at(json, left, &point);
        if (point != '\n' && point != '\t' && needs_escape(point))
            append_json_escape(made, point);
        else
            buf_add(made, json, size);
        json += size;
        left -= size;
    }
    return buf_text(made);
}

void print_json_text(struct arena *arena, FILE *file, const char *json)
{
    fputs(isatty(fileno(file)) == 1 ? visible_json(arena, json) : json, file);
    fputc('\n', file);
}
