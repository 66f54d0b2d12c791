#include "template/value.h"

#include "template/text.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Integers up to 2^53 are exact in a double. */
static const double exact_integer_max = 9007199254740992.0;

enum { MAX_LIST_DEPTH = 64 }; /* nested lists; JSON input is not nested deeper */

void *template_scratch_alloc(struct template_scratch *scratch, size_t size, struct error *err)
{
    if (size > scratch->left_bytes) {
        fail(err, ERR_INVALID_REQUEST, NULL, "The filters of this template produce more than %d bytes for one recipient.",
             TEMPLATE_MAX_SCRATCH_BYTES);
        return NULL;
    }
    scratch->left_bytes -= size;
    return arena_alloc(scratch->arena, size);
}

bool template_scratch_work(struct template_scratch *scratch, size_t bytes, struct error *err)
{
    enum { BYTES_OF_ONE_OPERATION = 64 };
    scratch->left_operations -= 1 + (int64_t)(bytes / BYTES_OF_ONE_OPERATION);
    if (scratch->left_operations >= 0)
        return true;
    return fail(err, ERR_INVALID_REQUEST, NULL, "This template takes more than %d steps for one recipient.",
                TEMPLATE_MAX_OPERATIONS);
}

/* ---- Making values ---- */

struct template_value template_number(double number)
{
    if (!isfinite(number))
        return (struct template_value){ .kind = TEMPLATE_NIL };
    if (fabs(number) < exact_integer_max && trunc(number) == number)
        return template_integer((int64_t)number);
    return (struct template_value){ .kind = TEMPLATE_NUMBER, .number = number };
}

struct template_value template_value_of_json(const struct json_t *json)
{
    struct template_value value = { .kind = TEMPLATE_NIL };
    if (json == NULL)
        return value;
    switch (json_typeof(json)) {
    case JSON_STRING:
        return template_string(json_string_value(json), json_string_length(json));
    case JSON_INTEGER:
        return template_integer(json_integer_value(json));
    case JSON_REAL:
        return template_number(json_real_value(json));
    case JSON_TRUE:
    case JSON_FALSE:
        return template_bool(json_is_true(json));
    case JSON_ARRAY:
    case JSON_OBJECT:
        value.kind = TEMPLATE_JSON;
        value.json = json;
        return value;
    case JSON_NULL:
        break;
    }
    return value;
}

/* ---- Lists ---- */

bool template_is_list(const struct template_value *value)
{
    return value->kind == TEMPLATE_LIST || (value->kind == TEMPLATE_JSON && json_is_array(value->json));
}

bool template_is_object(const struct template_value *value)
{
    return value->kind == TEMPLATE_JSON && json_is_object(value->json);
}

size_t template_list_size(const struct template_value *list)
{
    return list->kind == TEMPLATE_LIST ? list->size : json_array_size(list->json);
}

struct template_value template_list_item(const struct template_value *list, size_t index)
{
    if (list->kind == TEMPLATE_LIST)
        return list->items[index];
    return template_value_of_json(json_array_get(list->json, index));
}

static bool object_items(struct template_scratch *scratch, const json_t *object, struct template_value *ret_list, struct error *err)
{
    size_t count = json_object_size(object);
    struct template_value *pairs = template_scratch_alloc(scratch, count * 3 * sizeof(*pairs), err);
    if (pairs == NULL)
        return false;
    struct template_value *next = pairs + count; /* after the pairs: the names and values */
    size_t i = 0;
    const char *name;
    json_t *member;
    json_object_foreach ((json_t *)(uintptr_t)object, name, member) {
        next[0] = template_string(name, strlen(name));
        next[1] = template_value_of_json(member);
        pairs[i++] = (struct template_value){ .kind = TEMPLATE_LIST, .size = 2, .items = next };
        next += 2;
    }
    *ret_list = (struct template_value){ .kind = TEMPLATE_LIST, .size = count, .items = pairs };
    return true;
}

bool template_to_items(struct template_scratch *scratch, const struct template_value *value, struct template_value *ret_list,
                       struct error *err)
{
    *ret_list = (struct template_value){ .kind = TEMPLATE_LIST, .size = 0 };
    if (template_is_list(value)) {
        *ret_list = *value;
        return true;
    }
    if (template_is_object(value))
        return object_items(scratch, value->json, ret_list, err);
    if (value->kind != TEMPLATE_STRING || value->size == 0)
        return true;
    struct template_value *item = template_scratch_alloc(scratch, sizeof(*item), err);
    if (item == NULL)
        return false;
    *item = *value;
    *ret_list = (struct template_value){ .kind = TEMPLATE_LIST, .size = 1, .items = item };
    return true;
}

/* ---- Numbers ---- */

static bool is_blank_byte(char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/* Parses a decimal number with an optional exponent and white space around it; empty text is 0 (ECMA-262 StringToNumber). */
static bool text_to_number(const char *text, size_t size, double *ret_number)
{
    enum { LONGEST = 400 };
    while (size > 0 && is_blank_byte(text[0])) {
        text++;
        size--;
    }
    while (size > 0 && is_blank_byte(text[size - 1]))
        size--;
    char copy[LONGEST + 1];
    if (size > LONGEST)
        return false;
    for (size_t i = 0; i < size; i++)
        if (memchr("0123456789+-.eE", text[i], 15) == NULL)
            return false;
    memcpy(copy, text, size);
    copy[size] = '\0';
    char *end = copy;
    *ret_number = size == 0 ? 0 : strtod(copy, &end);
    return end == copy + size && (size == 0 || isfinite(*ret_number));
}

bool template_to_number(const struct template_value *value, double *ret_number)
{
    switch (value->kind) {
    case TEMPLATE_INTEGER:
        *ret_number = (double)value->integer;
        return true;
    case TEMPLATE_NUMBER:
        *ret_number = value->number;
        return true;
    case TEMPLATE_BOOL:
        *ret_number = value->truth;
        return true;
    case TEMPLATE_STRING:
        return text_to_number(value->text, value->size, ret_number);
    case TEMPLATE_NIL:
    case TEMPLATE_LIST:
    case TEMPLATE_JSON:
    case TEMPLATE_EMPTY:
    case TEMPLATE_BLANK:
        break;
    }
    return false;
}

/* ---- Comparing ---- */

bool template_holds(const struct template_value *value)
{
    return value->kind != TEMPLATE_NIL && (value->kind != TEMPLATE_BOOL || value->truth);
}

size_t template_white_space_size(const char *text, size_t size)
{
    if (size >= 1 && is_blank_byte(text[0]))
        return 1;
    if (size >= 2 && memcmp(text, "\xC2\xA0", 2) == 0)
        return 2;
    static const char wide[][4] = { "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005", "\u2006", "\u2007",
                                    "\u2008", "\u2009", "\u200A", "\u2028", "\u2029", "\u202F", "\u205F", "\u3000", "\uFEFF" };
    for (size_t i = 0; size >= 3 && i < ARRAY_COUNT(wide); i++)
        if (memcmp(text, wide[i], 3) == 0)
            return 3;
    return 0;
}

static bool is_blank_text(const char *text, size_t size)
{
    while (size > 0) {
        size_t blank = template_white_space_size(text, size);
        if (blank == 0)
            return false;
        text += blank;
        size -= blank;
    }
    return true;
}

static bool is_empty_value(const struct template_value *value)
{
    if (value->kind == TEMPLATE_STRING)
        return value->size == 0;
    if (template_is_list(value))
        return template_list_size(value) == 0;
    return template_is_object(value) && json_object_size(value->json) == 0;
}

static bool is_blank_value(const struct template_value *value)
{
    if (value->kind == TEMPLATE_STRING)
        return is_blank_text(value->text, value->size);
    return !template_holds(value) || is_empty_value(value);
}

static bool is_number(const struct template_value *value)
{
    return value->kind == TEMPLATE_INTEGER || value->kind == TEMPLATE_NUMBER;
}

static int number_order(const struct template_value *left, const struct template_value *right)
{
    if (left->kind == TEMPLATE_INTEGER && right->kind == TEMPLATE_INTEGER)
        return (left->integer > right->integer) - (left->integer < right->integer);
    double a = 0;
    double b = 0;
    (void)template_to_number(left, &a);
    (void)template_to_number(right, &b);
    return (a > b) - (a < b);
}

static bool is_equal(const struct template_value *left, const struct template_value *right, int depth, int64_t *left_operations);

static bool lists_are_equal(const struct template_value *left, const struct template_value *right, int depth,
                            int64_t *left_operations)
{
    size_t size = template_list_size(left);
    if (template_list_size(right) != size || depth == MAX_LIST_DEPTH)
        return false;
    for (size_t i = 0; i < size; i++) {
        struct template_value a = template_list_item(left, i);
        struct template_value b = template_list_item(right, i);
        *left_operations -= 1;
        if (*left_operations < 0 || !is_equal(&a, &b, depth + 1, left_operations))
            return false;
    }
    return true;
}

static bool is_equal(const struct template_value *left, const struct template_value *right, int depth, int64_t *left_operations)
{
    if (left->kind == TEMPLATE_EMPTY)
        return is_empty_value(right);
    if (left->kind == TEMPLATE_BLANK)
        return is_blank_value(right);
    if (right->kind == TEMPLATE_EMPTY)
        return is_empty_value(left);
    if (right->kind == TEMPLATE_BLANK)
        return left->kind != TEMPLATE_NIL ? is_blank_value(left) : true;
    if (is_number(left) && is_number(right))
        return number_order(left, right) == 0;
    if (template_is_list(left) && template_is_list(right))
        return lists_are_equal(left, right, depth, left_operations);
    if (left->kind != right->kind)
        return false;
    switch (left->kind) {
    case TEMPLATE_NIL:
        return true;
    case TEMPLATE_BOOL:
        return left->truth == right->truth;
    case TEMPLATE_STRING:
        return left->size == right->size && memcmp(left->text, right->text, left->size) == 0;
    case TEMPLATE_JSON:
        return left->json == right->json;
    case TEMPLATE_INTEGER:
    case TEMPLATE_NUMBER:
    case TEMPLATE_LIST:
    case TEMPLATE_EMPTY:
    case TEMPLATE_BLANK:
        break;
    }
    return false;
}

bool template_order(const struct template_value *left, const struct template_value *right, int *ret_order)
{
    if (left->kind == TEMPLATE_STRING && right->kind == TEMPLATE_STRING) {
        size_t shorter = left->size < right->size ? left->size : right->size;
        int order = memcmp(left->text, right->text, shorter);
        if (order == 0)
            order = (left->size > right->size) - (left->size < right->size);
        *ret_order = (order > 0) - (order < 0);
        return true;
    }
    double ignored;
    if (is_number(left) && is_number(right)) {
        *ret_order = number_order(left, right);
        return true;
    }
    if (!template_to_number(left, &ignored) || !template_to_number(right, &ignored))
        return false;
    *ret_order = number_order(left, right);
    return true;
}

static bool list_contains(const struct template_value *list, const struct template_value *item, int64_t *left_operations)
{
    for (size_t i = 0; i < template_list_size(list); i++) {
        struct template_value candidate = template_list_item(list, i);
        if (is_equal(&candidate, item, 0, left_operations))
            return true;
    }
    return false;
}

static bool contains(const struct template_value *left, const struct template_value *right, int64_t *left_operations)
{
    if (template_is_list(left))
        return list_contains(left, right, left_operations);
    char buffer[TEMPLATE_NUMBER_TEXT_BYTES];
    const char *text;
    size_t size;
    if (left->kind != TEMPLATE_STRING || !template_scalar_text(right, buffer, &text, &size))
        return false;
    return size == 0 || memmem(left->text, left->size, text, size) != NULL;
}

bool template_compare(enum template_comparison comparison, const struct template_value *left, const struct template_value *right,
                      int64_t *left_operations)
{
    int order = 0;
    switch (comparison) {
    case TEMPLATE_EQUAL:
        return is_equal(left, right, 0, left_operations);
    case TEMPLATE_UNEQUAL:
        return !is_equal(left, right, 0, left_operations);
    case TEMPLATE_LESS:
        return template_order(left, right, &order) && order < 0;
    case TEMPLATE_GREATER:
        return template_order(left, right, &order) && order > 0;
    case TEMPLATE_AT_MOST:
        return template_order(left, right, &order) && order <= 0;
    case TEMPLATE_AT_LEAST:
        return template_order(left, right, &order) && order >= 0;
    case TEMPLATE_CONTAINS:
        return contains(left, right, left_operations);
    case TEMPLATE_COMPARISON_COUNT:
        break;
    }
    return false;
}

/* ---- Members ---- */

static bool member_name_equals(const char *name, size_t size, const char *expected)
{
    return size == strlen(expected) && memcmp(name, expected, size) == 0;
}

static struct template_value list_member(const struct template_value *list, const char *name, size_t size)
{
    size_t count = template_list_size(list);
    if (member_name_equals(name, size, "size"))
        return template_integer((int64_t)count);
    if (member_name_equals(name, size, "first") && count > 0)
        return template_list_item(list, 0);
    if (member_name_equals(name, size, "last") && count > 0)
        return template_list_item(list, count - 1);
    return (struct template_value){ .kind = TEMPLATE_NIL };
}

bool template_member_work(struct template_scratch *scratch, const struct template_value *value, struct error *err)
{
    return value->kind != TEMPLATE_STRING || template_scratch_work(scratch, value->size, err);
}

struct template_value template_member(const struct template_value *value, const char *name, size_t size)
{
    if (template_is_list(value))
        return list_member(value, name, size);
    if (template_is_object(value)) {
        json_t *member = json_object_getn(value->json, name, size);
        if (member == NULL && member_name_equals(name, size, "size"))
            return template_integer((int64_t)json_object_size(value->json));
        return template_value_of_json(member);
    }
    if (value->kind == TEMPLATE_STRING && member_name_equals(name, size, "size"))
        return template_integer((int64_t)template_text_length(value->text, value->size));
    return (struct template_value){ .kind = TEMPLATE_NIL };
}

struct template_value template_index(const struct template_value *value, const struct template_value *key)
{
    if (template_is_list(value) && key->kind == TEMPLATE_INTEGER) {
        int64_t count = (int64_t)template_list_size(value);
        int64_t index = key->integer < 0 ? key->integer + count : key->integer;
        if (index >= 0 && index < count)
            return template_list_item(value, (size_t)index);
        return (struct template_value){ .kind = TEMPLATE_NIL };
    }
    char buffer[TEMPLATE_NUMBER_TEXT_BYTES];
    const char *name;
    size_t size;
    if (!template_scalar_text(key, buffer, &name, &size))
        return (struct template_value){ .kind = TEMPLATE_NIL };
    return template_member(value, name, size);
}

size_t template_root_size(const char *path)
{
    return strcspn(path, ".[");
}

/* Follows one step in brackets; `ret_next` is the text after it. */
static struct template_value follow_bracket(const struct template_value *value, const char *bracket, const char **ret_next)
{
    if (bracket[1] == '"') {
        const char *name = bracket + 2;
        const char *close = strstr(name, "\"]");
        *ret_next = close != NULL ? close + 2 : name + strlen(name);
        return template_member(value, name, close != NULL ? (size_t)(close - name) : 0);
    }
    char *close;
    struct template_value key = template_integer(strtoll(bracket + 1, &close, 10));
    *ret_next = *close == ']' ? close + 1 : close + strlen(close);
    if (close == bracket + 1) /* [] means any item */
        return (struct template_value){ .kind = TEMPLATE_NIL };
    return template_index(value, &key);
}

struct template_value template_follow(struct template_value value, const char *path)
{
    while (*path != '\0' && value.kind != TEMPLATE_NIL) {
        if (*path == '[') {
            value = follow_bracket(&value, path, &path);
            continue;
        }
        path += *path == '.';
        size_t size = template_root_size(path);
        value = template_member(&value, path, size);
        path += size;
    }
    return value;
}
