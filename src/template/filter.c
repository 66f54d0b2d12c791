#include "template/filter.h"

#include "base/panic.h"

#include <string.h>

/* Liquid: the argument replaces nil, false, empty text and empty lists. With allow_false, false is kept. */
static bool apply_default(struct template_scratch *scratch UNUSED, struct template_value *value,
                          const struct template_value *arguments, size_t count, struct error *err UNUSED)
{
    bool keeps_false = count == 2 && template_holds(&arguments[1]) && value->kind == TEMPLATE_BOOL;
    bool is_empty = (value->kind == TEMPLATE_STRING && value->size == 0) || value->kind == TEMPLATE_EMPTY ||
                    value->kind == TEMPLATE_BLANK || (template_is_list(value) && template_list_size(value) == 0);
    if (!keeps_false && (is_empty || !template_holds(value)))
        *value = arguments[0];
    return true;
}

/* Does nothing: every value is escaped once, when it is emitted. */
static bool apply_nothing(struct template_scratch *scratch UNUSED, struct template_value *value UNUSED,
                          const struct template_value *arguments UNUSED, size_t count UNUSED, struct error *err UNUSED)
{
    return true;
}

static const struct template_filter_info filters[TEMPLATE_FILTER_COUNT] = {
    [TEMPLATE_FILTER_DEFAULT] = { "default", 1, 2, apply_default, "default: 'text'" },
    [TEMPLATE_FILTER_ESCAPE] = { "escape", 0, 0, apply_nothing, NULL },
    [TEMPLATE_FILTER_UPCASE] = { "upcase", 0, 0, template_filter_upcase, NULL },
    [TEMPLATE_FILTER_DOWNCASE] = { "downcase", 0, 0, template_filter_downcase, NULL },
    [TEMPLATE_FILTER_CAPITALIZE] = { "capitalize", 0, 0, template_filter_capitalize, NULL },
    [TEMPLATE_FILTER_ESCAPE_ONCE] = { "escape_once", 0, 0, template_filter_escape_once, NULL },
    [TEMPLATE_FILTER_NEWLINE_TO_BR] = { "newline_to_br", 0, 0, apply_nothing, NULL },
    [TEMPLATE_FILTER_URL_ENCODE] = { "url_encode", 0, 0, template_filter_url_encode, NULL },
    [TEMPLATE_FILTER_STRIP] = { "strip", 0, 0, template_filter_strip, NULL },
    [TEMPLATE_FILTER_LSTRIP] = { "lstrip", 0, 0, template_filter_lstrip, NULL },
    [TEMPLATE_FILTER_RSTRIP] = { "rstrip", 0, 0, template_filter_rstrip, NULL },
    [TEMPLATE_FILTER_STRIP_HTML] = { "strip_html", 0, 0, template_filter_strip_html, NULL },
    [TEMPLATE_FILTER_STRIP_NEWLINES] = { "strip_newlines", 0, 0, template_filter_strip_newlines, NULL },
    [TEMPLATE_FILTER_TRUNCATE] = { "truncate", 0, 2, template_filter_truncate, "truncate: 20" },
    [TEMPLATE_FILTER_TRUNCATEWORDS] = { "truncatewords", 0, 2, template_filter_truncatewords, "truncatewords: 5" },
    [TEMPLATE_FILTER_APPEND] = { "append", 1, 1, template_filter_append, "append: '!'" },
    [TEMPLATE_FILTER_PREPEND] = { "prepend", 1, 1, template_filter_prepend, "prepend: 'No. '" },
    [TEMPLATE_FILTER_REPLACE] = { "replace", 2, 2, template_filter_replace, "replace: 'old', 'new'" },
    [TEMPLATE_FILTER_REMOVE] = { "remove", 1, 1, template_filter_remove, "remove: 'text'" },
    [TEMPLATE_FILTER_SPLIT] = { "split", 1, 1, template_filter_split, "split: ','" },
    [TEMPLATE_FILTER_SLICE] = { "slice", 1, 2, template_filter_slice, "slice: 0, 3" },
    [TEMPLATE_FILTER_SIZE] = { "size", 0, 0, template_filter_size, NULL },
    [TEMPLATE_FILTER_FIRST] = { "first", 0, 0, template_filter_first, NULL },
    [TEMPLATE_FILTER_LAST] = { "last", 0, 0, template_filter_last, NULL },
    [TEMPLATE_FILTER_JOIN] = { "join", 0, 1, template_filter_join, "join: ', '" },
    [TEMPLATE_FILTER_REVERSE] = { "reverse", 0, 0, template_filter_reverse, NULL },
    [TEMPLATE_FILTER_SORT] = { "sort", 0, 1, template_filter_sort, "sort: 'price'" },
    [TEMPLATE_FILTER_UNIQ] = { "uniq", 0, 0, template_filter_uniq, NULL },
    [TEMPLATE_FILTER_MAP] = { "map", 1, 1, template_filter_map, "map: 'name'" },
    [TEMPLATE_FILTER_ABS] = { "abs", 0, 0, template_filter_abs, NULL },
    [TEMPLATE_FILTER_CEIL] = { "ceil", 0, 0, template_filter_ceil, NULL },
    [TEMPLATE_FILTER_FLOOR] = { "floor", 0, 0, template_filter_floor, NULL },
    [TEMPLATE_FILTER_ROUND] = { "round", 0, 1, template_filter_round, "round: 2" },
    [TEMPLATE_FILTER_PLUS] = { "plus", 1, 1, template_filter_plus, "plus: 1" },
    [TEMPLATE_FILTER_MINUS] = { "minus", 1, 1, template_filter_minus, "minus: 1" },
    [TEMPLATE_FILTER_TIMES] = { "times", 1, 1, template_filter_times, "times: 2" },
    [TEMPLATE_FILTER_DIVIDED_BY] = { "divided_by", 1, 1, template_filter_divided_by, "divided_by: 2" },
    [TEMPLATE_FILTER_MODULO] = { "modulo", 1, 1, template_filter_modulo, "modulo: 2" },
    [TEMPLATE_FILTER_AT_LEAST] = { "at_least", 1, 1, template_filter_at_least, "at_least: 1" },
    [TEMPLATE_FILTER_AT_MOST] = { "at_most", 1, 1, template_filter_at_most, "at_most: 10" },
    [TEMPLATE_FILTER_DATE] = { "date", 0, 1, template_filter_date, "date: '%-d %B %Y'" },
    [TEMPLATE_FILTER_MONEY] = { "money", 0, 1, template_filter_money, "money: 'EUR'" },
};

const struct template_filter_info *template_filter_info(unsigned filter)
{
    if (filter >= TEMPLATE_FILTER_COUNT)
        panic("a compiled template names an unknown filter");
    return &filters[filter];
}

unsigned template_filter_find(const char *name, size_t size)
{
    for (unsigned filter = 0; filter < TEMPLATE_FILTER_COUNT; filter++)
        if (strlen(filters[filter].name) == size && memcmp(filters[filter].name, name, size) == 0)
            return filter;
    return TEMPLATE_FILTER_COUNT;
}

enum { LONGEST_FILTER_NAME = 16 };

/* The edit distance (Levenshtein) of two words. */
static unsigned filter_name_distance(const char *left, size_t left_size, const char *right, size_t right_size)
{
    unsigned row[LONGEST_FILTER_NAME + 1];
    for (unsigned j = 0; j <= right_size; j++)
        row[j] = j;
    for (size_t i = 1; i <= left_size; i++) {
        unsigned diagonal = row[0];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= right_size; j++) {
            unsigned change = diagonal + (left[i - 1] != right[j - 1]);
            unsigned step = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            diagonal = row[j];
            row[j] = change < step ? change : step;
        }
    }
    return row[right_size];
}

const char *template_filter_similar(const char *name, size_t size)
{
    enum { NEAR_ENOUGH = 2 };
    const char *nearest = NULL;
    unsigned least = NEAR_ENOUGH + 1;
    for (unsigned filter = 0; filter < TEMPLATE_FILTER_COUNT && size <= LONGEST_FILTER_NAME + NEAR_ENOUGH; filter++) {
        size_t own = strlen(filters[filter].name);
        unsigned steps = filter_name_distance(name, size, filters[filter].name, own);
        if (steps < least && steps * 3 <= own + 1) { /* a short name allows fewer differences */
            least = steps;
            nearest = filters[filter].name;
        }
    }
    return nearest;
}
