#include "engine/integrations/adapter.h"

#include "base/clock.h"
#include "base/json_read.h"
#include "base/json_write.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PART_MAX_BYTES = 100, NUMBER_MAX_CHARS = 40 };

static const int64_t last_date_ms = INT64_C(253402300799999); /* the year 9999 */

/* ---- Paths ---- */

/* Copies up to one of `ends`, and returns the place behind. Paths are declared, so their parts are short. */
static const char *copy_part(const char *at, const char *ends, char part[PART_MAX_BYTES])
{
    size_t size = strcspn(at, ends);
    size_t kept = size < PART_MAX_BYTES ? size : PART_MAX_BYTES - 1;
    memcpy(part, at, kept);
    part[kept] = '\0';
    return at + size;
}

static const json_t *find_item(const json_t *list, const char *name, const char *text)
{
    size_t i;
    const json_t *item;
    json_array_foreach (list, i, item) {
        const json_t *member = json_object_get(item, name);
        if (text != NULL ? text_equal(json_string_value(member), text) : json_is_true(member))
            return item;
    }
    return NULL;
}

/* `selector` is what stands in [ ]. */
static const json_t *select_item(const json_t *body, const json_t *list, const char *selector)
{
    char name[PART_MAX_BYTES];
    int64_t number;
    if (int64_parse(selector, &number))
        return number >= 0 ? json_array_get(list, (size_t)number) : NULL;
    const char *behind = copy_part(selector, "=", name);
    if (*behind == '\0')
        return find_item(list, name, NULL);
    const char *text = json_string_value(adapter_find(body, behind + 1));
    return text != NULL ? find_item(list, name, text) : NULL;
}

const json_t *adapter_find(const json_t *body, const char *path)
{
    const json_t *value = body;
    for (const char *at = path; *at != '\0' && value != NULL;) {
        char part[PART_MAX_BYTES];
        if (*at == '[') {
            at = copy_part(at + 1, "]", part);
            value = select_item(body, value, part);
            at += *at == ']';
        } else {
            at = copy_part(at, ".[", part);
            value = json_object_get(value, part);
        }
        at += *at == '.';
    }
    return json_is_null(value) ? NULL : value;
}

/* ---- Values ---- */

/* A text, or the digits of an id that is a number. */
static const char *read_text(struct arena *arena, const json_t *value)
{
    if (json_is_integer(value))
        return arena_printf(arena, "%lld", (long long)json_integer_value(value));
    if (json_is_real(value)) {
        char *digits = arena_alloc(arena, JSON_NUMBER_MAX_CHARS + 1);
        digits[json_digits(json_real_value(value), digits)] = '\0';
        return digits;
    }
    if (json_is_boolean(value))
        return json_is_true(value) ? "true" : "false";
    const char *text = json_is_string(value) ? text_visible(arena, json_string_value(value), INTEGRATION_TEXT_MAX_CHARS) : NULL;
    return text != NULL && *text != '\0' ? text : NULL;
}

static json_t *make_text(struct arena *arena, const json_t *value)
{
    const char *text = read_text(arena, value);
    return text != NULL ? json_string(text) : NULL;
}

static json_t *make_int(const json_t *value)
{
    int64_t number;
    if (json_is_integer(value))
        return json_integer(json_integer_value(value));
    return json_is_string(value) && int64_parse(json_string_value(value), &number) ? json_integer(number) : NULL;
}

/* Some providers write amounts as texts. */
static json_t *make_float(const json_t *value)
{
    const char *text = json_string_value(value);
    if (json_is_number(value))
        return json_real(json_number_value(value));
    if (text == NULL || *text == '\0' || strlen(text) > NUMBER_MAX_CHARS || strspn(text, "-.0123456789") != strlen(text))
        return NULL;
    char *end;
    double number = strtod(text, &end);
    return *end == '\0' && isfinite(number) ? json_real(number) : NULL;
}

/* An ISO 8601 time, or milliseconds since the epoch. */
static json_t *make_date(struct arena *arena, const json_t *value)
{
    int64_t time_us;
    int64_t ms = json_integer_value(value);
    if (json_is_integer(value))
        return ms >= 0 && ms <= last_date_ms ? json_string(clock_iso(arena, ms * US_PER_MS)) : NULL;
    return json_is_string(value) && clock_parse_iso(json_string_value(value), &time_us) ? json_string(clock_iso(arena, time_us))
                                                                                        : NULL;
}

/* A value of the declared type; NULL: it has another. */
static json_t *make_value(struct arena *arena, const char *type, const json_t *value)
{
    if (value == NULL)
        return NULL;
    if (strcmp(type, "int") == 0)
        return make_int(value);
    if (strcmp(type, "float") == 0)
        return make_float(value);
    if (strcmp(type, "boolean") == 0)
        return json_is_boolean(value) ? json_boolean(json_is_true(value)) : NULL;
    return strcmp(type, "date") == 0 ? make_date(arena, value) : make_text(arena, value);
}

/* ---- Events ---- */

static const char *find_email(const json_t *body, const struct integration_mapping *mapping)
{
    for (const char *const *path = mapping->emails; *path != NULL; path++) {
        const char *email = json_string_value(adapter_find(body, *path));
        if (email != NULL && *email != '\0' && strlen(email) <= INTEGRATION_EMAIL_MAX_BYTES)
            return email;
    }
    return NULL;
}

static bool list_has(const struct text_list *list, const char *text)
{
    for (size_t i = 0; i < list->count; i++)
        if (text_equal(list->items[i], text))
            return true;
    return false;
}

const char *adapter_trigger_event(struct arena *arena, const struct integration_event *event, const char *table)
{
    return table != NULL ? arena_printf(arena, "%s %s", event->name, table) : event->name;
}

static const char *text_from(const struct proof_request *request, const json_t *body, const char *header, const char *path)
{
    if (header != NULL)
        return proof_header(request, header);
    return path != NULL ? json_string_value(adapter_find(body, path)) : NULL;
}

static const struct integration_event *find_event(const struct proof_request *request, const json_t *body)
{
    const struct integration_provider *provider = request->provider;
    const char *name = text_from(request, body, provider->event_header, provider->event_path);
    for (size_t i = 0; i < provider->event_count; i++)
        if (text_equal(provider->events[i].name, name))
            return &provider->events[i];
    return NULL;
}

static json_t *make_payload(struct arena *arena, const struct integration_provider *provider,
                            const struct integration_mapping *mapping, const struct integration_settings *settings,
                            const json_t *body)
{
    json_t *payload = json_in_arena(arena, json_object());
    for (size_t i = 0; i < mapping->field_count; i++) {
        const struct integration_field *field = &mapping->fields[i];
        json_t *value = make_value(arena, field->type, adapter_find(body, field->path));
        if (value != NULL)
            json_object_set_new(payload, field->key, value);
    }
    const json_t *row = mapping->columns != NULL ? adapter_find(body, mapping->columns) : NULL;
    for (size_t i = 0; row != NULL && i < settings->columns.count; i++) {
        const char *column = settings->columns.items[i];
        json_t *value = make_text(arena, json_object_get(row, column));
        if (value != NULL)
            json_object_set_new(payload, arena_printf(arena, "%s_%s", provider->key, column), value);
    }
    return payload;
}

void adapter_read(struct arena *arena, const struct proof_request *request, const struct integration_settings *settings,
                  const json_t *body, const char *signed_id, struct integration_notice *ret_notice)
{
    const struct integration_provider *provider = request->provider;
    const char *table = provider->table_path != NULL ? json_string_value(adapter_find(body, provider->table_path)) : NULL;
    *ret_notice = (struct integration_notice){ .event = find_event(request, body) };
    if (ret_notice->event == NULL || (provider->table_path != NULL && !list_has(&settings->tables, table))) {
        ret_notice->event = NULL;
        return;
    }
    const struct integration_mapping *mapping = ret_notice->event->mapping;
    const char *id = signed_id != NULL ? signed_id : text_from(request, body, provider->id_header, provider->id_path);
    const json_t *person = mapping->person != NULL ? adapter_find(body, mapping->person) : NULL;
    ret_notice->trigger_event = adapter_trigger_event(arena, ret_notice->event, table);
    ret_notice->id = id != NULL && *id != '\0' ? id : NULL;
    ret_notice->email = find_email(body, mapping);
    ret_notice->person = json_is_string(person) || json_is_integer(person) ? read_text(arena, person) : NULL;
    ret_notice->payload = make_payload(arena, provider, mapping, settings, body);
}
