/*
 * Fields are inferred from all values that the example has at one place: the
 * members of the objects of a list count together. Each value is looked at once
 * for each level above it, and the levels are bounded.
 */
#include "engine/contracts/contract_infer.h"

#include "base/json_read.h"
#include "base/text.h"
#include "engine/payloads/payloads.h"

#include <string.h>

struct drafting {
    const struct work *work;
    struct contract_issue *issues; /* room for one a key and level, and one for the address */
    size_t issue_count;
};

/* Several issues of one place are reported once each. */
enum { ISSUES_MAX = PAYLOAD_MAX_KEYS * 2 + 1 };

static void add_issue(struct drafting *drafting, const char *path, const char *message)
{
    if (drafting->issue_count < ISSUES_MAX)
        drafting->issues[drafting->issue_count++] = (struct contract_issue){ .path = path, .message = message };
}

/* ---- Types ---- */

static const struct text_list no_values = { .items = NULL, .count = 0 };

/* The type of one scalar; CONTRACT_UNKNOWN for null. */
static enum contract_type scalar_type(const json_t *value)
{
    static const enum contract_type narrow_first[] = { CONTRACT_BOOLEAN, CONTRACT_INT, CONTRACT_FLOAT, CONTRACT_DATE,
                                                       CONTRACT_STRING };
    if (json_is_object(value))
        return CONTRACT_OBJECT;
    if (json_is_array(value))
        return CONTRACT_ARRAY;
    if (json_is_real(value)) /* 12.0 was written with a fraction */
        return CONTRACT_FLOAT;
    for (size_t i = 0; i < ARRAY_COUNT(narrow_first); i++)
        if (contract_scalar_fits(narrow_first[i], &no_values, value))
            return narrow_first[i];
    return CONTRACT_UNKNOWN;
}

/* The type that has the values of both; CONTRACT_UNKNOWN when there is none. */
static enum contract_type common_type(enum contract_type one, enum contract_type other)
{
    if (one == other)
        return one;
    if ((one == CONTRACT_INT && other == CONTRACT_FLOAT) || (one == CONTRACT_FLOAT && other == CONTRACT_INT))
        return CONTRACT_FLOAT;
    if ((one == CONTRACT_DATE && other == CONTRACT_STRING) || (one == CONTRACT_STRING && other == CONTRACT_DATE))
        return CONTRACT_STRING;
    return CONTRACT_UNKNOWN;
}

/* The type of all values of one place, nulls aside. Adds an issue for nulls and for types that do not go together. */
static enum contract_type type_of_values(struct drafting *drafting, const json_t *values, const char *path)
{
    enum contract_type type = CONTRACT_UNKNOWN;
    bool is_mixed = false;
    size_t nulls = 0;
    size_t index;
    const json_t *value;
    json_array_foreach (values, index, value) {
        enum contract_type next = scalar_type(value);
        nulls += next == CONTRACT_UNKNOWN;
        if (next == CONTRACT_UNKNOWN || is_mixed)
            continue;
        type = index == nulls ? next : common_type(type, next);
        is_mixed = type == CONTRACT_UNKNOWN;
    }
    if (is_mixed)
        add_issue(drafting, path, "The values have different types. Add the field with the type that it shall have.");
    else if (nulls == json_array_size(values))
        add_issue(drafting, path, "null has no type. Add the field with its type.");
    else if (nulls > 0)
        add_issue(drafting, path, "Some values are null. Make the field not required.");
    return type;
}

/* ---- Fields ---- */

struct level_draft {
    struct contract_field *fields;
    size_t count;
};

static struct level_draft infer_level(struct drafting *drafting, const json_t *objects, const char *path, unsigned depth);

/* All items of several lists. */
static const json_t *items_of(const struct drafting *drafting, const json_t *lists)
{
    json_t *items = json_in_arena(drafting->work->arena, json_array());
    size_t index;
    json_t *list;
    json_array_foreach (lists, index, list)
        if (json_is_array(list))
            json_array_extend(items, list);
    return items;
}

static bool infer_children(struct drafting *drafting, const json_t *objects, const char *path, unsigned depth,
                           struct contract_field *field)
{
    struct level_draft level = infer_level(drafting, objects, path, depth + 1);
    field->children = level.fields;
    field->child_count = level.count;
    if (level.count == 0)
        add_issue(drafting, path, "The object has no fields of a known type. Add its children.");
    return level.count > 0;
}

static bool infer_items(struct drafting *drafting, const json_t *lists, const char *path, unsigned depth,
                        struct contract_field *field)
{
    const json_t *items = items_of(drafting, lists);
    if (json_array_size(items) == 0) {
        add_issue(drafting, path, "An empty list has no type. Add the field with itemType or children.");
        return false;
    }
    enum contract_type type = type_of_values(drafting, items, path);
    if (type == CONTRACT_ARRAY)
        add_issue(drafting, path, "A list of lists cannot be declared. Use a list of objects.");
    if (type == CONTRACT_OBJECT)
        return infer_children(drafting, items, path, depth, field);
    field->item_type = type;
    return type < CONTRACT_OBJECT;
}

/* False when the field has no type and is left out. */
static bool infer_field(struct drafting *drafting, const char *key, const json_t *values, const char *path, unsigned depth,
                        struct contract_field *field)
{
    *field = (struct contract_field){ .key = key, .is_required = true, .item_type = CONTRACT_UNKNOWN };
    field->type = type_of_values(drafting, values, path);
    if (field->type == CONTRACT_OBJECT)
        return infer_children(drafting, values, path, depth, field);
    if (field->type == CONTRACT_ARRAY)
        return infer_items(drafting, values, path, depth, field);
    return field->type != CONTRACT_UNKNOWN;
}

static bool key_can_be_declared(struct drafting *drafting, const char *key, const char *path)
{
    if (contract_key_fits(key))
        return true;
    add_issue(drafting, path, "A contract cannot declare this key.");
    return false;
}

/* The values of each key of all objects. */
static const json_t *values_by_key(const struct drafting *drafting, const json_t *objects)
{
    json_t *groups = json_in_arena(drafting->work->arena, json_object());
    size_t index;
    const json_t *object;
    json_array_foreach (objects, index, object) {
        const char *key;
        json_t *value;
        json_object_foreach (json_for_iteration(object), key, value) {
            if (json_object_get(groups, key) == NULL)
                json_object_set_new(groups, key, json_array());
            json_array_append(json_object_get(groups, key), value);
        }
    }
    return groups;
}

static size_t object_count(const json_t *values)
{
    size_t count = 0;
    size_t index;
    const json_t *value;
    json_array_foreach (values, index, value)
        count += json_is_object(value);
    return count;
}

static struct level_draft infer_level(struct drafting *drafting, const json_t *objects, const char *path, unsigned depth)
{
    struct arena *arena = drafting->work->arena;
    const json_t *groups = values_by_key(drafting, objects);
    struct level_draft level = { .fields = arena_array(arena, json_object_size(groups), sizeof(*level.fields)) };
    size_t total = object_count(objects);
    const char *key;
    json_t *values;
    json_object_foreach (json_for_iteration(groups), key, values) {
        const char *shown = text_visible(arena, key, CONTRACT_KEY_MAX_CHARS);
        const char *at = arena_printf(arena, "%s%s%s", path, path[0] != '\0' ? "." : "", shown);
        if (!key_can_be_declared(drafting, key, at) || !infer_field(drafting, key, values, at, depth, &level.fields[level.count]))
            continue;
        level.count++;
        if (json_array_size(values) < total)
            add_issue(drafting, at, "Some objects of the list lack the field. Make it not required.");
    }
    return level;
}

static void check_address(struct drafting *drafting, const json_t *example)
{
    if (!json_is_string(json_object_get(example, "email")))
        add_issue(drafting, "email", "A contract needs the required text email, the address of the contact. Add it.");
}

bool contract_infer(const struct work *work, const json_t *example, struct contract_draft *ret_draft, struct error *err)
{
    const char *fault = contract_payload_fault(work, example);
    if (fault != NULL)
        return fail(err, ERR_INVALID_REQUEST, "example", "%s", fault);
    struct drafting drafting = { .work = work, .issues = arena_array(work->arena, ISSUES_MAX, sizeof(*drafting.issues)) };
    json_t *objects = json_in_arena(work->arena, json_array());
    json_array_append(objects, json_for_iteration(example));
    struct level_draft level = infer_level(&drafting, objects, "", 1);
    check_address(&drafting, example);
    *ret_draft = (struct contract_draft){
        .contract = { .fields = level.fields, .count = level.count },
        .issues = drafting.issues,
        .issue_count = drafting.issue_count,
    };
    return true;
}
