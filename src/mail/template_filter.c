#include "mail/template_filter.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unicase.h>
#include <unistr.h>

void template_value_as_text(struct template_value *value)
{
    const char *text = "";
    switch (value->kind) {
    case TEMPLATE_STRING:
        return;
    case TEMPLATE_BOOL:
        text = value->truth ? "true" : "false";
        break;
    case TEMPLATE_NIL:
        break;
    }
    *value = (struct template_value){ .kind = TEMPLATE_STRING, .text = text, .size = strlen(text) };
}

/* Liquid: the argument stands in for nil, false and empty text. */
static bool apply_default(struct template_scratch *scratch UNUSED, struct template_value *value,
                          const struct template_value *arguments, size_t count UNUSED, struct error *err UNUSED)
{
    bool is_missing = value->kind == TEMPLATE_NIL || (value->kind == TEMPLATE_BOOL && !value->truth) ||
                      (value->kind == TEMPLATE_STRING && value->size == 0);
    if (is_missing)
        *value = arguments[0];
    return true;
}

/* Escaping is always on and happens once, when the value is emitted. */
static bool apply_escape(struct template_scratch *scratch UNUSED, struct template_value *value UNUSED,
                         const struct template_value *arguments UNUSED, size_t count UNUSED, struct error *err UNUSED)
{
    return true;
}

static char *scratch_room(struct template_scratch *scratch, size_t size, struct error *err)
{
    if (size > scratch->left_bytes) {
        fail(err, ERR_INVALID_REQUEST, NULL, "The filters of this template produce more than %d bytes for one recipient.",
             TEMPLATE_MAX_SCRATCH_BYTES);
        return NULL;
    }
    scratch->left_bytes -= size;
    return arena_alloc(scratch->arena, size);
}

/* In UTF-8 no character grows to more than three times its bytes (Unicode SpecialCasing.txt: U+0390 is the worst). */
enum { CASE_GROWTH = 3 };

typedef uint8_t *case_map(const uint8_t *text, size_t size, const char *language, uninorm_t form, uint8_t *room, size_t *room_size);

/* Maps `size` bytes into `room` of CASE_GROWTH times that. Gives the bytes written. */
static size_t map_case(case_map *map, const char *text, size_t size, char *room)
{
    size_t written = size * CASE_GROWTH;
    if (size == 0)
        return 0;
    uint8_t *result = map((const uint8_t *)text, size, NULL, NULL, (uint8_t *)room, &written);
    if ((char *)result != room) /* it always fits, and the library then uses the room */
        abort();
    return written;
}

/* `first` maps the first character, `rest` the others. */
static bool apply_case(struct template_scratch *scratch, struct template_value *value, case_map *first, case_map *rest,
                       struct error *err)
{
    template_value_as_text(value);
    if (value->size == 0)
        return true;
    if (value->size > TEMPLATE_MAX_SCRATCH_BYTES) /* before the product below */
        return scratch_room(scratch, value->size, err) != NULL;
    char *room = scratch_room(scratch, value->size * CASE_GROWTH, err);
    if (room == NULL)
        return false;
    int head = u8_mblen((const uint8_t *)value->text, value->size);
    size_t head_size = head > 0 ? (size_t)head : 1;
    if (first == rest)
        head_size = value->size;
    size_t size = map_case(first, value->text, head_size, room);
    size += map_case(rest, value->text + head_size, value->size - head_size, room + size);
    value->text = room;
    value->size = size;
    return true;
}

static bool apply_upcase(struct template_scratch *scratch, struct template_value *value,
                         const struct template_value *arguments UNUSED, size_t count UNUSED, struct error *err)
{
    return apply_case(scratch, value, u8_toupper, u8_toupper, err);
}

static bool apply_downcase(struct template_scratch *scratch, struct template_value *value,
                           const struct template_value *arguments UNUSED, size_t count UNUSED, struct error *err)
{
    return apply_case(scratch, value, u8_tolower, u8_tolower, err);
}

static bool apply_capitalize(struct template_scratch *scratch, struct template_value *value,
                             const struct template_value *arguments UNUSED, size_t count UNUSED, struct error *err)
{
    return apply_case(scratch, value, u8_toupper, u8_tolower, err);
}

static const struct template_filter_info filters[TEMPLATE_FILTER_COUNT] = {
    [TEMPLATE_FILTER_DEFAULT] = { "default", 1, 1, apply_default },
    [TEMPLATE_FILTER_ESCAPE] = { "escape", 0, 0, apply_escape },
    [TEMPLATE_FILTER_UPCASE] = { "upcase", 0, 0, apply_upcase },
    [TEMPLATE_FILTER_DOWNCASE] = { "downcase", 0, 0, apply_downcase },
    [TEMPLATE_FILTER_CAPITALIZE] = { "capitalize", 0, 0, apply_capitalize },
};

const struct template_filter_info *template_filter_info(unsigned filter)
{
    assert(filter < TEMPLATE_FILTER_COUNT);
    return &filters[filter];
}

unsigned template_filter_find(const char *name, size_t size)
{
    for (unsigned filter = 0; filter < TEMPLATE_FILTER_COUNT; filter++)
        if (strlen(filters[filter].name) == size && memcmp(filters[filter].name, name, size) == 0)
            return filter;
    return TEMPLATE_FILTER_COUNT;
}
