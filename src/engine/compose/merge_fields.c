#include "engine/compose/merge_fields.h"

#include "base/json_read.h"
#include "base/text.h"
#include "template/value.h"
#include "template/zone.h"

#include <string.h>

enum { FIELD_JSON_MAX_BYTES = 1024 * 1024 };

static const struct template_value nil = { .kind = TEMPLATE_NIL };

/* ---- Resolving ---- */

static bool path_name_equals(const char *name, size_t size, const char *expected)
{
    return strlen(expected) == size && memcmp(name, expected, size) == 0;
}

/* Reads the next name of a path: `.name`, `["name"]`, or the first name. Returns its size, 0 when there is none. `ret_rest` is
 * the path after it. */
static size_t next_name(const char *path, const char **ret_name, const char **ret_rest)
{
    if (path[0] == '[' && path[1] == '"') {
        const char *close = strstr(path + 2, "\"]");
        *ret_name = path + 2;
        *ret_rest = close != NULL ? close + 2 : path;
        return close != NULL ? (size_t)(close - path) - 2 : 0;
    }
    *ret_name = path + (path[0] == '.');
    size_t size = template_root_size(*ret_name);
    *ret_rest = *ret_name + size;
    return size;
}

static size_t custom_field_index(struct arena *arena, struct merge_custom_fields *fields, const char *name)
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

static struct merge_field resolve_custom_field(struct arena *arena, const char *path, struct merge_custom_fields *fields)
{
    const char *name;
    const char *rest;
    size_t size = next_name(path, &name, &rest);
    if (*path == '\0') /* all custom fields */
        return (struct merge_field){ .kind = MERGE_CUSTOM_FIELDS, .field = custom_field_index(arena, fields, ""), .rest = path };
    if (size == 0) /* [0], [] */
        return (struct merge_field){ .kind = MERGE_NIL, .rest = path };
    return (struct merge_field){ .kind = MERGE_FIELD,
                                 .field = custom_field_index(arena, fields, arena_dup_bytes(arena, name, size)),
                                 .rest = rest };
}

/* Resolves a path inside the contact. */
static struct merge_field resolve_contact(struct arena *arena, const char *path, struct merge_custom_fields *fields)
{
    static const struct {
        const char *name;
        enum merge_field_kind kind;
    } known[] = {
        { "email", MERGE_EMAIL }, { "firstName", MERGE_FIRST_NAME }, { "lastName", MERGE_LAST_NAME }, { "userId", MERGE_USER_ID }
    };
    const char *name;
    const char *rest;
    size_t size = next_name(path, &name, &rest);
    if (*path == '\0')
        return (struct merge_field){ .kind = MERGE_CONTACT, .field = custom_field_index(arena, fields, ""), .rest = path };
    for (size_t i = 0; i < ARRAY_COUNT(known); i++)
        if (path_name_equals(name, size, known[i].name))
            return (struct merge_field){ .kind = known[i].kind, .rest = rest };
    return resolve_custom_field(arena, path_name_equals(name, size, "customFields") ? rest : path, fields);
}

static struct merge_field resolve_path(struct arena *arena, const char *path, struct merge_custom_fields *fields)
{
    static const struct {
        const char *name;
        enum merge_field_kind kind;
    } roots[] = { { "payload", MERGE_PAYLOAD }, { "brand", MERGE_BRAND }, { "unsubscribeUrl", MERGE_UNSUBSCRIBE_URL } };
    size_t size = template_root_size(path);
    for (size_t i = 0; i < ARRAY_COUNT(roots); i++)
        if (path_name_equals(path, size, roots[i].name))
            return (struct merge_field){ .kind = roots[i].kind, .rest = path + size };
    if (path_name_equals(path, size, "contact"))
        return resolve_contact(arena, path + size, fields);
    if (path_name_equals(path, size, "customFields"))
        return resolve_custom_field(arena, path + size, fields);
    struct merge_field merge_field = resolve_contact(arena, path, fields);
    merge_field.bare = path;
    merge_field.bare_size = size;
    return merge_field;
}

struct merge_field *merge_fields_resolve(struct arena *arena, const struct template *template, struct merge_custom_fields *fields)
{
    size_t count = template_path_count(template);
    struct merge_field *merge_fields = arena_array(arena, count, sizeof(*merge_fields));
    for (size_t i = 0; i < count; i++)
        merge_fields[i] = resolve_path(arena, template_path(template, i), fields);
    return merge_fields;
}

/* ---- Values ---- */

static struct template_value merge_text_value(const char *text)
{
    return text != NULL ? template_string(text, strlen(text)) : nil;
}

static struct template_value number_field(const char *text)
{
    int64_t whole;
    double number = 0;
    if (int64_parse(text, &whole))
        return template_integer(whole);
    struct template_value written = merge_text_value(text);
    return template_to_number(&written, &number) ? template_number(number) : nil;
}

/* The JSON value of a custom field, parsed once per message. NULL when the text is not valid JSON. */
static const json_t *parsed_custom_field(const struct merge_field *merge_field, const struct merge_values *values)
{
    struct error ignored = { .code = ERR_NONE };
    const struct json_bounds bounds = { .max_bytes = FIELD_JSON_MAX_BYTES, .from_jsonb = true };
    const char *text = values->fields.items[merge_field->field] + 1;
    const json_t **parsed = &values->parsed[merge_field->field];
    if (*parsed == NULL && !json_read(values->arena, text, strlen(text), bounds, parsed, &ignored))
        *parsed = NULL;
    return *parsed;
}

static struct template_value custom_field_value(const struct merge_field *merge_field, const struct merge_values *values)
{
    const char *typed = merge_field->field < values->fields.count ? values->fields.items[merge_field->field] : NULL;
    if (typed == NULL)
        return nil;
    switch (typed[0]) {
    case 's':
        return merge_text_value(typed + 1);
    case 'n':
        return number_field(typed + 1);
    case 'b':
        return template_bool(strcmp(typed + 1, "true") == 0);
    case 'j':
        return template_value_of_json(parsed_custom_field(merge_field, values));
    default:
        return nil;
    }
}

/* The whole contact as an object: customFields, each custom field, and the built-in members, which take precedence. */
static const json_t *make_contact(const struct merge_field *merge_field, const struct merge_values *values)
{
    const struct {
        const char *name;
        const char *value;
    } members[] = { { "email", values->email },
                    { "firstName", values->first_name },
                    { "lastName", values->last_name },
                    { "userId", values->user_id } };
    json_t *contact = json_in_arena(values->arena, json_object());
    struct template_value fields = custom_field_value(merge_field, values);
    if (template_is_object(&fields)) {
        json_object_update(contact, json_for_iteration(fields.json));
        json_object_set(contact, "customFields", json_for_iteration(fields.json));
    }
    for (size_t i = 0; i < ARRAY_COUNT(members); i++) {
        if (members[i].value != NULL)
            json_object_set_new(contact, members[i].name, json_string(members[i].value));
        else
            json_object_del(contact, members[i].name);
    }
    return contact;
}

static struct template_value contact_value(const struct merge_field *merge_field, const struct merge_values *values)
{
    const json_t **contact = &values->parsed[values->fields.count];
    if (*contact == NULL)
        *contact = make_contact(merge_field, values);
    return template_value_of_json(*contact);
}

static struct template_value root_value(const struct merge_field *merge_field, const struct merge_values *values)
{
    switch (merge_field->kind) {
    case MERGE_NIL:
        break;
    case MERGE_EMAIL:
        return merge_text_value(values->email);
    case MERGE_FIRST_NAME:
        return merge_text_value(values->first_name);
    case MERGE_LAST_NAME:
        return merge_text_value(values->last_name);
    case MERGE_USER_ID:
        return merge_text_value(values->user_id);
    case MERGE_FIELD:
    case MERGE_CUSTOM_FIELDS:
        return custom_field_value(merge_field, values);
    case MERGE_CONTACT:
        return contact_value(merge_field, values);
    case MERGE_BRAND:
        return template_value_of_json(values->brand);
    case MERGE_PAYLOAD:
        return template_value_of_json(values->payload);
    case MERGE_UNSUBSCRIBE_URL:
        return merge_text_value(values->unsubscribe_url);
    }
    return nil;
}

struct template_value merge_value(const struct merge_field *merge_field, const struct merge_values *values)
{
    if (merge_field->bare != NULL && values->payload != NULL &&
        json_object_getn(values->payload, merge_field->bare, merge_field->bare_size) != NULL)
        return template_follow(template_value_of_json(values->payload), merge_field->bare);
    struct template_value value = root_value(merge_field, values);
    return merge_field->rest[0] != '\0' ? template_follow(value, merge_field->rest) : value;
}

struct template_setting merge_fields_setting(struct arena *arena, const json_t *brand, int64_t now_us)
{
    const char *zone = json_get_text(brand, "timeZone");
    return (struct template_setting){
        .locale = json_get_text(brand, "locale"),
        .currency = json_get_text(brand, "currency"),
        .zone_name = zone,
        .zone = zone != NULL ? template_zone_load(arena, zone) : NULL,
        .now_us = now_us,
    };
}
