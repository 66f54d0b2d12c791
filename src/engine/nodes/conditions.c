#include "engine/nodes/conditions.h"

#include "base/json_read.h"
#include "base/text.h"
#include "engine/filters/filter_match.h"

#include <string.h>

static const char payload_prefix[] = "payload.";
static const char contact_prefix[] = "contact.";
static const char custom_prefix[] = "customFields.";

/* The members of a contact that are not custom fields. */
static const struct {
    const char *name;
    enum field_type type;
    bool is_address;
} core_fields[] = {
    { "email", FIELD_STRING, true },    { "firstName", FIELD_STRING, false }, { "lastName", FIELD_STRING, false },
    { "userId", FIELD_STRING, false },  { "source", FIELD_STRING, false },    { "subscribed", FIELD_BOOL, false },
    { "createdAt", FIELD_DATE, false }, { "updatedAt", FIELD_DATE, false },
};

/* The index in core_fields; their number: another field. */
static size_t core_index(const char *name)
{
    size_t i = 0;
    while (i < ARRAY_COUNT(core_fields) && strcmp(core_fields[i].name, name) != 0)
        i++;
    return i;
}

/* ---- Values of fields ---- */

bool condition_field_reads_payload(const char *field)
{
    return !text_starts_with(field, contact_prefix);
}

bool condition_field_reads_contact(const char *field)
{
    return !text_starts_with(field, payload_prefix);
}

/* The value behind a dotted path; a number selects an item of a list. */
static const json_t *follow(const json_t *value, const char *path)
{
    while (value != NULL && *path != '\0') {
        char name[256 + 1];
        size_t size = strcspn(path, ".");
        int64_t index;
        if (size >= sizeof(name))
            return NULL;
        memcpy(name, path, size);
        name[size] = '\0';
        if (json_is_array(value))
            value = int64_parse(name, &index) && index >= 0 ? json_array_get(value, (size_t)index) : NULL;
        else
            value = json_object_get(value, name);
        path += size + (path[size] == '.' ? 1 : 0);
    }
    return value;
}

static const json_t *contact_value(const json_t *contact, const char *path)
{
    if (core_index(path) < ARRAY_COUNT(core_fields))
        return json_object_get(contact, path);
    if (text_starts_with(path, custom_prefix))
        path += strlen(custom_prefix);
    return follow(json_object_get(contact, "customFields"), path);
}

static bool payload_has(const json_t *payload, const char *field)
{
    const char *name;
    json_t *ignored;
    size_t size = strcspn(field, ".");
    json_object_foreach (json_for_iteration(payload), name, ignored) {
        if (strlen(name) == size && strncmp(name, field, size) == 0)
            return true;
    }
    return false;
}

const json_t *condition_field_value(const struct step_facts *facts, const char *field)
{
    if (text_starts_with(field, payload_prefix))
        return follow(facts->payload, field + strlen(payload_prefix));
    if (text_starts_with(field, contact_prefix))
        return contact_value(facts->contact, field + strlen(contact_prefix));
    return payload_has(facts->payload, field) ? follow(facts->payload, field) : contact_value(facts->contact, field);
}

/* ---- Conditions ---- */

static enum field_type declared_type(enum condition_type type)
{
    static const enum field_type types[] = {
        [CONDITION_TYPE_NONE] = FIELD_NONE, [CONDITION_TYPE_STRING] = FIELD_STRING, [CONDITION_TYPE_NUMBER] = FIELD_NUMBER,
        [CONDITION_TYPE_DATE] = FIELD_DATE, [CONDITION_TYPE_BOOL] = FIELD_BOOL,
    };
    return types[type];
}

/* A core field of the contact has its own type. */
static struct match_condition match_of(const struct condition *condition, const char *path)
{
    struct match_condition match = {
        .path = path,
        .type = declared_type(condition->type),
        .operator_name = condition->operator,
        .value = condition->value,
    };
    if (!text_starts_with(condition->field, contact_prefix))
        return match;
    size_t core = core_index(condition->field + strlen(contact_prefix));
    if (core < ARRAY_COUNT(core_fields)) {
        match.type = core_fields[core].type;
        match.is_address = core_fields[core].is_address;
    }
    return match;
}

static bool check_field(const char *field, const char *path, struct error *err)
{
    static const char *const other_subjects[] = { "audience", "activity.", "subscriptionGroups." };
    bool is_empty = text_equal(field, payload_prefix) || text_equal(field, contact_prefix) || field[0] == '.' ||
                    strstr(field, "..") != NULL || field[strlen(field) - 1] == '.';
    if (is_empty)
        return fail(err, ERR_INVALID_REQUEST, path, "A field is payload.NAME, contact.NAME or NAME.");
    for (size_t i = 0; i < ARRAY_COUNT(other_subjects) && text_starts_with(field, contact_prefix); i++)
        if (text_starts_with(field + strlen(contact_prefix), other_subjects[i]))
            return fail(err, ERR_INVALID_REQUEST, path,
                        "A condition of an automation compares fields of the payload and of the contact only.");
    return true;
}

bool conditions_check(struct arena *arena, const struct condition *conditions, size_t count, const char *path, struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        const char *condition_path = arena_printf(arena, "%s.%zu", path, i);
        const struct match_condition match = match_of(&conditions[i], condition_path);
        if (!check_field(conditions[i].field, arena_printf(arena, "%s.field", condition_path), err) ||
            !match_check(arena, &match, err))
            return false;
    }
    return true;
}

bool conditions_joined(enum condition_logic logic, const bool *each, size_t count)
{
    bool is_or = logic == CONDITION_LOGIC_OR;
    for (size_t i = 0; i < count; i++)
        if (each[i] == is_or)
            return is_or;
    return !is_or;
}

const struct match_parts *const *conditions_prepare(struct arena *arena, const struct condition *conditions, size_t count)
{
    const struct match_parts **parts = arena_array(arena, count, sizeof(*parts));
    for (size_t i = 0; i < count; i++) {
        const struct match_condition match = match_of(&conditions[i], "");
        parts[i] = match_prepare(arena, &match);
    }
    return parts;
}

/* A text is compared with each text of the condition. Before that its case is changed, which takes as long as many comparisons.
 * Each value of a condition takes some time, whatever the field has: numbers and addresses are read again. */
static int64_t bytes_to_compare(const struct condition *condition, const json_t *actual)
{
    enum { COMPARISONS_OF_A_CHANGE = 64, BYTES_OF_A_VALUE = 256 };
    size_t values = json_is_array(condition->value) ? json_array_size(condition->value) : 1;
    return (int64_t)(json_string_length(actual) * (values + COMPARISONS_OF_A_CHANGE) + (values + 1) * BYTES_OF_A_VALUE);
}

static bool holds(struct arena *arena, const struct step_in *in, const struct condition_list *list, size_t i,
                  struct match_clock *clock)
{
    struct match_condition match = match_of(&list->items[i], "");
    match.parts = list->parts[i];
    if (clock->zone == NULL && match_needs_zone(&match))
        clock->zone = template_zone_load(arena, in->time_zone);
    const json_t *actual = condition_field_value(in->facts, list->items[i].field);
    if (in->compared_bytes != NULL)
        *in->compared_bytes += bytes_to_compare(&list->items[i], actual);
    return match_holds(arena, &match, actual, clock);
}

bool conditions_hold(struct arena *arena, const struct step_in *in, const struct condition_list *list, bool *ret_each,
                     size_t *ret_seen)
{
    struct match_clock clock = { .now_us = in->now_us };
    bool is_or = list->logic == CONDITION_LOGIC_OR;
    for (*ret_seen = 0; *ret_seen < list->count;) {
        size_t i = (*ret_seen)++;
        ret_each[i] = holds(arena, in, list, i, &clock);
        if (ret_each[i] == is_or)
            return is_or;
    }
    return !is_or;
}
