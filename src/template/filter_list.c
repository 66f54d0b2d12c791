/* List filters. A value that is not a list counts as a list with one item, nil as an empty list. */
#include "template/filter.h"
#include "template/text.h"

#include <string.h>

static const struct template_value nil = { .kind = TEMPLATE_NIL };
static const struct template_value empty_text = { .kind = TEMPLATE_STRING, .size = 0, .text = "" };

/* Allocates `count` items that the caller writes. */
static struct template_value *new_items(struct template_scratch *scratch, size_t count, struct error *err)
{
    if (count > TEMPLATE_MAX_SCRATCH_BYTES) /* before the product below */
        count = TEMPLATE_MAX_SCRATCH_BYTES;
    if (!template_scratch_work(scratch, count * sizeof(struct template_value), err))
        return NULL;
    return template_scratch_alloc(scratch, (count + 1) * sizeof(struct template_value), err);
}

static struct template_value list_value(const struct template_value *items, size_t count)
{
    return (struct template_value){ .kind = TEMPLATE_LIST, .size = count, .items = items };
}

/* Copies the value into a list that can be changed. */
static struct template_value *copy_items(struct template_scratch *scratch, const struct template_value *value, size_t *ret_count,
                                         struct error *err)
{
    bool is_list = template_is_list(value);
    *ret_count = is_list ? template_list_size(value) : value->kind != TEMPLATE_NIL;
    struct template_value *items = new_items(scratch, *ret_count, err);
    for (size_t i = 0; items != NULL && i < *ret_count; i++)
        items[i] = is_list ? template_list_item(value, i) : *value;
    return items;
}

/* ---- Text and lists ---- */

/* As in Liquid, empty parts at the end are omitted, and an empty separator splits into characters. */
bool template_filter_split(struct template_scratch *scratch, struct template_value *value, const struct template_value *arguments,
                           size_t count UNUSED, struct error *err)
{
    struct template_value separator = arguments[0];
    if (!template_to_text(scratch, value, err) || !template_to_text(scratch, &separator, err))
        return false;
    size_t parts = 1;
    const char *end = value->text + value->size;
    if (separator.size == 0)
        parts = template_text_length(value->text, value->size);
    for (const char *at = value->text; separator.size > 0; parts++) {
        at = memmem(at, (size_t)(end - at), separator.text, separator.size);
        if (at == NULL)
            break;
        at += separator.size;
    }
    struct template_value *items = new_items(scratch, parts, err);
    if (items == NULL)
        return false;
    const char *at = value->text;
    for (size_t i = 0; i < parts; i++) {
        const char *found = separator.size == 0 ? at + template_skip_characters(at, (size_t)(end - at), 1)
                                                : memmem(at, (size_t)(end - at), separator.text, separator.size);
        if (found == NULL)
            found = end;
        items[i] = template_string(at, (size_t)(found - at));
        at = found + (found < end ? separator.size : 0);
    }
    while (parts > 0 && items[parts - 1].size == 0)
        parts--;
    *value = list_value(items, parts);
    return true;
}

bool template_filter_join(struct template_scratch *scratch, struct template_value *value, const struct template_value *arguments,
                          size_t count, struct error *err)
{
    struct template_value separator = count > 0 && arguments[0].kind != TEMPLATE_NIL ? arguments[0] : template_string(" ", 1);
    if (!template_to_text(scratch, &separator, err))
        return false;
    if (!template_is_list(value))
        return template_to_text(scratch, value, err);
    struct template_value list = *value;
    return template_join(scratch, &list, separator.text, separator.size, value, err);
}

static bool whole_number(const struct template_value *value, int64_t *ret_number)
{
    static const double largest = 1e9;
    double number;
    if (!template_to_number(value, &number))
        return false;
    *ret_number = (int64_t)(number > largest ? largest : number < -largest ? -largest : number);
    return true;
}

/* slice: from, length. Selects characters of a text or items of a list. A negative `from` counts from the end. */
bool template_filter_slice(struct template_scratch *scratch, struct template_value *value, const struct template_value *arguments,
                           size_t count, struct error *err)
{
    bool is_list = template_is_list(value);
    int64_t from = 0;
    int64_t length = 1;
    if (value->kind == TEMPLATE_NIL) {
        *value = list_value(NULL, 0);
        return true;
    }
    if (!is_list && !template_to_text(scratch, value, err))
        return false;
    bool known = whole_number(&arguments[0], &from) && (count < 2 || whole_number(&arguments[1], &length));
    int64_t size = (int64_t)(is_list ? template_list_size(value) : template_text_length(value->text, value->size));
    if (from < 0)
        from += size;
    if (!known || from < 0 || length < 0 || from >= size)
        length = from = 0;
    if (length > size - from)
        length = size - from;
    if (!is_list) {
        size_t skipped = template_skip_characters(value->text, value->size, (size_t)from);
        value->text += skipped;
        value->size = template_skip_characters(value->text, value->size - skipped, (size_t)length);
        return true;
    }
    struct template_value *items = new_items(scratch, (size_t)length, err);
    if (items == NULL)
        return false;
    for (int64_t i = 0; i < length; i++)
        items[i] = template_list_item(value, (size_t)(from + i));
    *value = list_value(items, (size_t)length);
    return true;
}

bool template_filter_size(struct template_scratch *scratch UNUSED, struct template_value *value,
                          const struct template_value *arguments UNUSED, size_t count UNUSED, struct error *err UNUSED)
{
    size_t size = 0;
    if (template_is_list(value))
        size = template_list_size(value);
    else if (value->kind == TEMPLATE_STRING)
        size = template_text_length(value->text, value->size);
    *value = template_integer((int64_t)size);
    return true;
}

bool template_filter_first(struct template_scratch *scratch UNUSED, struct template_value *value,
                           const struct template_value *arguments UNUSED, size_t count UNUSED, struct error *err UNUSED)
{
    if (template_is_list(value))
        *value = template_list_size(value) > 0 ? template_list_item(value, 0) : nil;
    else if (value->kind == TEMPLATE_STRING)
        value->size = template_skip_characters(value->text, value->size, 1);
    else
        *value = empty_text;
    return true;
}

bool template_filter_last(struct template_scratch *scratch UNUSED, struct template_value *value,
                          const struct template_value *arguments UNUSED, size_t count UNUSED, struct error *err UNUSED)
{
    if (template_is_list(value)) {
        size_t size = template_list_size(value);
        *value = size > 0 ? template_list_item(value, size - 1) : nil;
    } else if (value->kind == TEMPLATE_STRING && value->size > 0) {
        size_t last = template_last_character(value->text, value->size);
        *value = template_string(value->text + last, value->size - last);
    } else {
        *value = empty_text;
    }
    return true;
}

/* ---- Lists from lists ---- */

bool template_filter_reverse(struct template_scratch *scratch, struct template_value *value,
                             const struct template_value *arguments UNUSED, size_t count UNUSED, struct error *err)
{
    size_t size;
    struct template_value *items = copy_items(scratch, value, &size, err);
    if (items == NULL)
        return false;
    for (size_t i = 0; i < size / 2; i++) {
        struct template_value first = items[i];
        items[i] = items[size - 1 - i];
        items[size - 1 - i] = first;
    }
    *value = list_value(items, size);
    return true;
}

/* Replaces the value by its member at a dotted path. */
static bool follow_member_path(struct template_scratch *scratch, struct template_value *value, const struct template_value *path,
                               struct error *err)
{
    const char *at = path->text;
    const char *end = at + path->size;
    for (;;) {
        const char *dot = memchr(at, '.', (size_t)(end - at));
        if (!template_member_work(scratch, value, err))
            return false;
        *value = template_member(value, at, (size_t)((dot != NULL ? dot : end) - at));
        if (dot == NULL)
            return true;
        at = dot + 1;
    }
}

struct sorted {
    struct template_value item;
    struct template_value by;
};

/* Nil comes last. Values that cannot be ordered keep their positions (stable sort). */
static bool goes_before(const struct template_value *left, const struct template_value *right)
{
    int order = 0;
    if (left->kind == TEMPLATE_NIL || right->kind == TEMPLATE_NIL)
        return left->kind != TEMPLATE_NIL && right->kind == TEMPLATE_NIL;
    return template_order(left, right, &order) && order < 0;
}

/* Merges the two sorted halves of `items`, using `buffer`. Equal items keep their order. */
static void merge_halves(struct sorted *items, struct sorted *buffer, size_t middle, size_t count)
{
    size_t left = 0;
    size_t right = middle;
    for (size_t i = 0; i < count; i++) {
        bool takes_right = left == middle || (right < count && goes_before(&items[right].by, &items[left].by));
        buffer[i] = takes_right ? items[right++] : items[left++];
    }
    memcpy(items, buffer, count * sizeof(*items));
}

static void merge_sort(struct sorted *items, struct sorted *buffer, size_t count)
{
    if (count < 2)
        return;
    merge_sort(items, buffer, count / 2);
    merge_sort(items + count / 2, buffer, count - count / 2);
    merge_halves(items, buffer, count / 2, count);
}

/* The bytes that a comparison of this value can read. */
static size_t text_bytes(const struct template_value *value)
{
    return value->kind == TEMPLATE_STRING ? value->size : 0;
}

bool template_filter_sort(struct template_scratch *scratch, struct template_value *value, const struct template_value *arguments,
                          size_t count, struct error *err)
{
    enum { STEPS_PER_ITEM = 16 };
    size_t size;
    struct template_value path = count > 0 ? arguments[0] : nil;
    struct template_value *items = copy_items(scratch, value, &size, err);
    if (items == NULL || !template_to_text(scratch, &path, err) ||
        !template_scratch_work(scratch, size * sizeof(struct sorted) * STEPS_PER_ITEM, err))
        return false;
    struct sorted *sorted = template_scratch_alloc(scratch, (size * 2 + 1) * sizeof(*sorted), err);
    if (sorted == NULL)
        return false;
    for (size_t i = 0; i < size; i++) {
        sorted[i] = (struct sorted){ items[i], items[i] };
        if (path.size > 0 && !follow_member_path(scratch, &sorted[i].by, &path, err))
            return false;
        if (!template_scratch_work(scratch, text_bytes(&sorted[i].by) * STEPS_PER_ITEM, err))
            return false;
    }
    merge_sort(sorted, sorted + size, size);
    for (size_t i = 0; i < size; i++)
        items[i] = sorted[i].item;
    *value = list_value(items, size);
    return true;
}

/* True for the same object, or equal texts, numbers or booleans. The items of lists are not compared. */
static bool is_duplicate(const struct template_value *left, const struct template_value *right)
{
    int64_t unused = 0; /* only lists use it, and they are handled here */
    if (left->kind == TEMPLATE_LIST || right->kind == TEMPLATE_LIST)
        return left->kind == right->kind && left->items == right->items && left->size == right->size;
    if (left->kind == TEMPLATE_JSON || right->kind == TEMPLATE_JSON)
        return left->kind == right->kind && left->json == right->json;
    return template_compare(TEMPLATE_EQUAL, left, right, &unused);
}

bool template_filter_uniq(struct template_scratch *scratch, struct template_value *value,
                          const struct template_value *arguments UNUSED, size_t count UNUSED, struct error *err)
{
    size_t size;
    size_t kept = 0;
    struct template_value *items = copy_items(scratch, value, &size, err);
    if (items == NULL)
        return false;
    for (size_t i = 0; i < size; i++) {
        size_t same = 0;
        while (same < kept && !is_duplicate(&items[same], &items[i]))
            same++;
        if (!template_scratch_work(scratch, same * (sizeof(*items) + text_bytes(&items[i])), err))
            return false;
        if (same == kept)
            items[kept++] = items[i];
    }
    *value = list_value(items, kept);
    return true;
}

bool template_filter_map(struct template_scratch *scratch, struct template_value *value, const struct template_value *arguments,
                         size_t count UNUSED, struct error *err)
{
    size_t size;
    struct template_value path = arguments[0];
    struct template_value *items = copy_items(scratch, value, &size, err);
    if (items == NULL || !template_to_text(scratch, &path, err))
        return false;
    for (size_t i = 0; i < size; i++)
        if (!follow_member_path(scratch, &items[i], &path, err))
            return false;
    *value = list_value(items, size);
    return true;
}
