/* Conversion of values to text: numbers as in ECMAScript, lists as their concatenated items. */
#include "template/value.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TEXT_DEPTH = 64 }; /* nested lists; JSON input is not nested deeper */

/* The shortest digits that parse to the same number, without the decimal point; `ret_point` is its position. */
static size_t shortest_digits(double number, char ret_digits[TEMPLATE_NUMBER_TEXT_BYTES], int *ret_point)
{
    char text[TEMPLATE_NUMBER_TEXT_BYTES];
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*e", digits - 1, number);
        if (strtod(text, NULL) == number)
            break;
    }
    size_t size = 0;
    const char *at = text;
    for (; *at != 'e' && *at != '\0'; at++)
        if (*at != '.')
            ret_digits[size++] = *at;
    *ret_point = *at == 'e' ? (int)strtol(at + 1, NULL, 10) + 1 : 1;
    return size;
}

/* ECMA-262 §6.1.6.1.20 */
size_t template_number_text(double number, char ret_text[TEMPLATE_NUMBER_TEXT_BYTES])
{
    char digits[TEMPLATE_NUMBER_TEXT_BYTES];
    int point;
    if (number == 0) {
        ret_text[0] = '0';
        return 1;
    }
    int count = (int)shortest_digits(fabs(number), digits, &point);
    const char *sign = number < 0 ? "-" : "";
    int size;
    if (point > 21 || point < -5) {
        char sign_of_exponent = point > 0 ? '+' : '-';
        const char *dot = count > 1 ? "." : "";
        size = snprintf(ret_text, TEMPLATE_NUMBER_TEXT_BYTES, "%s%c%s%.*se%c%d", sign, digits[0], dot, count - 1, digits + 1,
                        sign_of_exponent, abs(point - 1));
    } else if (point <= 0) {
        size = snprintf(ret_text, TEMPLATE_NUMBER_TEXT_BYTES, "%s0.%.*s%.*s", sign, -point, "00000", count, digits);
    } else if (count <= point) {
        size = snprintf(ret_text, TEMPLATE_NUMBER_TEXT_BYTES, "%s%.*s%.*s", sign, count, digits, point - count,
                        "00000000000000000000");
    } else {
        size = snprintf(ret_text, TEMPLATE_NUMBER_TEXT_BYTES, "%s%.*s.%.*s", sign, point, digits, count - point, digits + point);
    }
    return (size_t)size;
}

bool template_scalar_text(const struct template_value *value, char buffer[TEMPLATE_NUMBER_TEXT_BYTES], const char **ret_text,
                          size_t *ret_size)
{
    *ret_text = buffer;
    switch (value->kind) {
    case TEMPLATE_STRING:
        *ret_text = value->text;
        *ret_size = value->size;
        return true;
    case TEMPLATE_INTEGER:
        *ret_size = (size_t)snprintf(buffer, TEMPLATE_NUMBER_TEXT_BYTES, "%lld", (long long)value->integer);
        return true;
    case TEMPLATE_NUMBER:
        *ret_size = template_number_text(value->number, buffer);
        return true;
    case TEMPLATE_BOOL:
        *ret_text = value->truth ? "true" : "false";
        *ret_size = strlen(*ret_text);
        return true;
    case TEMPLATE_NIL:
    case TEMPLATE_LIST:
    case TEMPLATE_JSON:
    case TEMPLATE_EMPTY:
    case TEMPLATE_BLANK:
        break;
    }
    *ret_text = "";
    *ret_size = 0;
    return false;
}

/* Joins texts in two passes: the first counts bytes, the second writes. */
struct joiner {
    char *out; /* NULL: only count */
    size_t size;
    size_t items;
    const char *separator;
    size_t separator_size;
    const char *inner_separator; /* separator of nested lists */
};

static void join_bytes(struct joiner *joiner, const char *text, size_t size)
{
    if (joiner->out != NULL && size > 0)
        memcpy(joiner->out + joiner->size, text, size);
    joiner->size += size;
}

static void join_items(struct joiner *joiner, const struct template_value *list, int depth)
{
    const char *separator = depth == 0 ? joiner->separator : joiner->inner_separator;
    size_t separator_size = depth == 0 ? joiner->separator_size : strlen(separator);
    for (size_t i = 0; i < template_list_size(list); i++) {
        struct template_value item = template_list_item(list, i);
        joiner->items++;
        char buffer[TEMPLATE_NUMBER_TEXT_BYTES];
        const char *text;
        size_t size;
        if (i > 0)
            join_bytes(joiner, separator, separator_size);
        if (template_is_list(&item) && depth < MAX_TEXT_DEPTH)
            join_items(joiner, &item, depth + 1);
        else if (template_scalar_text(&item, buffer, &text, &size))
            join_bytes(joiner, text, size);
    }
}

static bool join_list(struct template_scratch *scratch, const struct template_value *list, struct joiner joiner,
                      struct template_value *ret_text, struct error *err)
{
    join_items(&joiner, list, 0);
    if (!template_scratch_work(scratch, joiner.size + joiner.items * sizeof(struct template_value), err))
        return false;
    char *buffer = template_scratch_alloc(scratch, joiner.size + 1, err);
    if (buffer == NULL)
        return false;
    joiner.out = buffer;
    joiner.size = 0;
    join_items(&joiner, list, 0);
    *ret_text = template_string(buffer, joiner.size);
    return true;
}

bool template_join(struct template_scratch *scratch, const struct template_value *list, const char *separator,
                   size_t separator_size, struct template_value *ret_text, struct error *err)
{
    struct joiner joiner = { .separator = separator, .separator_size = separator_size, .inner_separator = "," };
    return join_list(scratch, list, joiner, ret_text, err);
}

bool template_to_text(struct template_scratch *scratch, struct template_value *value, struct error *err)
{
    if (value->kind == TEMPLATE_STRING)
        return true;
    if (template_is_list(value)) {
        struct template_value list = *value;
        return join_list(scratch, &list, (struct joiner){ .separator = "", .inner_separator = "" }, value, err);
    }
    char buffer[TEMPLATE_NUMBER_TEXT_BYTES];
    const char *text;
    size_t size;
    bool is_text = template_scalar_text(value, buffer, &text, &size);
    if (!is_text || text != buffer) {
        *value = template_string(text, size);
        return true;
    }
    char *kept = template_scratch_alloc(scratch, TEMPLATE_NUMBER_TEXT_BYTES, err);
    if (kept == NULL)
        return false;
    memcpy(kept, buffer, size);
    *value = template_string(kept, size);
    return true;
}
