#include "engine/sends/slots.h"

#include "base/text.h"

#include <string.h>

static const struct {
    const char *path;
    enum slot_kind kind;
} known_slots[] = {
    { "email", SLOT_EMAIL },    { "firstName", SLOT_FIRST_NAME },  { "lastName", SLOT_LAST_NAME },
    { "userId", SLOT_USER_ID }, { "brand.name", SLOT_BRAND_NAME }, { "unsubscribeUrl", SLOT_UNSUBSCRIBE_URL },
};

static const char *without_prefix(const char *path, const char *prefix)
{
    return text_starts_with(path, prefix) ? path + strlen(prefix) : path;
}

static size_t field_place(struct arena *arena, struct slot_fields *fields, const char *name)
{
    for (size_t i = 0; i < fields->count; i++)
        if (strcmp(fields->names[i], name) == 0)
            return i;
    if (fields->count == fields->capacity) {
        size_t capacity = fields->capacity > 0 ? fields->capacity * 2 : 16;
        const char **names = arena_array(arena, capacity, sizeof(*names));
        if (fields->count > 0)
            memcpy(names, fields->names, fields->count * sizeof(*names));
        fields->names = names;
        fields->capacity = capacity;
    }
    fields->names[fields->count] = name;
    return fields->count++;
}

static struct slot resolve(struct arena *arena, const char *path, struct slot_fields *fields)
{
    const char *name = without_prefix(path, "contact.");
    for (size_t i = 0; i < ARRAY_COUNT(known_slots); i++)
        if (strcmp(known_slots[i].path, name) == 0)
            return (struct slot){ .kind = known_slots[i].kind };
    return (struct slot){ .kind = SLOT_FIELD, .field = field_place(arena, fields, without_prefix(name, "customFields.")) };
}

struct slot *slots_resolve(struct arena *arena, const struct template *template, struct slot_fields *fields)
{
    size_t count = template_path_count(template);
    struct slot *slots = arena_array(arena, count, sizeof(*slots));
    for (size_t i = 0; i < count; i++)
        slots[i] = resolve(arena, template_path(template, i), fields);
    return slots;
}

const char *slot_value(const struct slot *slot, const struct slot_values *values)
{
    switch (slot->kind) {
    case SLOT_EMAIL:
        return values->email;
    case SLOT_FIRST_NAME:
        return values->first_name;
    case SLOT_LAST_NAME:
        return values->last_name;
    case SLOT_USER_ID:
        return values->user_id;
    case SLOT_BRAND_NAME:
        return values->brand_name;
    case SLOT_UNSUBSCRIBE_URL:
        return values->unsubscribe_url;
    case SLOT_FIELD:
        return slot->field < values->fields.count ? values->fields.items[slot->field] : NULL;
    }
    return NULL;
}
