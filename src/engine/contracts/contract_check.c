/*
 * Checks payloads against a contract. The payload is measured first, so the cost
 * is bounded by its size: each member is looked up by key, and a level is only
 * searched for missing fields when some are missing. The findings are bounded
 * too; further ones are dropped.
 */
#include "engine/contracts/contract.h"

#include "base/clock.h"
#include "base/json_read.h"
#include "base/text.h"
#include "engine/payloads/payloads.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Scalars ---- */

/* A date-time with seconds and a zone, in the form that a pattern of the exports describes. */
static bool is_timestamp(const json_t *value)
{
    const char *text = json_string_value(value);
    int64_t ignored;
    return text != NULL && clock_parse_iso(text, &ignored) && text[10] == 'T' && strchr(text, 'z') == NULL;
}

static bool is_whole(const json_t *value)
{
    return json_is_integer(value) || (json_is_real(value) && floor(json_real_value(value)) == json_real_value(value));
}

static bool is_among(const struct text_list *texts, const json_t *value)
{
    for (size_t i = 0; json_is_string(value) && i < texts->count; i++)
        if (strcmp(texts->items[i], json_string_value(value)) == 0)
            return true;
    return false;
}

bool contract_scalar_fits(enum contract_type type, const struct text_list *enum_values, const json_t *value)
{
    switch (type) {
    case CONTRACT_STRING:
        return json_is_string(value);
    case CONTRACT_INT:
        return is_whole(value);
    case CONTRACT_FLOAT:
        return json_is_number(value);
    case CONTRACT_BOOLEAN:
        return json_is_boolean(value);
    case CONTRACT_DATE:
        return is_timestamp(value);
    case CONTRACT_ENUM:
        return is_among(enum_values, value);
    case CONTRACT_OBJECT:
    case CONTRACT_ARRAY:
    case CONTRACT_UNKNOWN:
        break;
    }
    return false;
}

static const char *json_type_name(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "object";
    case JSON_ARRAY:
        return "array";
    case JSON_STRING:
        return "string";
    case JSON_INTEGER:
        return "int";
    case JSON_REAL:
        return "float";
    case JSON_TRUE:
    case JSON_FALSE:
        return "boolean";
    case JSON_NULL:
        break;
    }
    return "null";
}

/* ---- Size ---- */

struct payload_size {
    size_t keys;
    unsigned depth;
};

static void measure_payload(const json_t *value, unsigned depth, struct payload_size *size)
{
    size_t index;
    const char *key;
    json_t *item;
    if (!json_is_object(value) && !json_is_array(value))
        return;
    if (depth > size->depth)
        size->depth = depth;
    if (depth > PAYLOAD_MAX_DEPTH) /* refused as it is; the rest does not matter */
        return;
    size->keys += json_object_size(value);
    json_object_foreach (json_for_iteration(value), key, item)
        measure_payload(item, depth + 1, size);
    json_array_foreach (value, index, item)
        measure_payload(item, depth + 1, size);
}

const char *contract_payload_fault(const struct work *work, const json_t *payload)
{
    struct payload_size size = { 0 };
    measure_payload(payload, 1, &size);
    if (size.depth > PAYLOAD_MAX_DEPTH)
        return arena_printf(work->arena, "The payload can be nested %d levels deep.", PAYLOAD_MAX_DEPTH);
    if (size.keys > PAYLOAD_MAX_KEYS)
        return arena_printf(work->arena, "The payload can have at most %d members with all levels; it has %zu.", PAYLOAD_MAX_KEYS,
                            size.keys);
    size_t bytes = json_dumpb(payload, NULL, 0, JSON_COMPACT);
    if (bytes > PAYLOAD_MAX_BYTES)
        return arena_printf(work->arena, "The payload can have at most %d bytes; it has %zu.", PAYLOAD_MAX_BYTES, bytes);
    return NULL;
}

/* ---- Findings ---- */

struct findings {
    struct contract_finding items[CONTRACT_FINDINGS_MAX];
    size_t count;
};

/* The keys that lead to a member, outermost last. A path becomes text only for a finding. */
struct place {
    const struct place *parent; /* NULL: the payload itself */
    const char *key;            /* NULL: an item of an array */
    size_t index;
};

struct checker {
    const struct work *work;
    enum contract_enforcement enforcement;
    struct findings *errors;
    struct findings *warnings;
    const char **pruned; /* room for PAYLOAD_MAX_KEYS */
    size_t pruned_count;
};

static const char *place_text(const struct checker *checker, const struct place *place)
{
    struct arena *arena = checker->work->arena;
    if (place->parent == NULL)
        return "";
    const char *parent = place_text(checker, place->parent);
    const char *dot = parent[0] != '\0' ? "." : "";
    if (place->key == NULL)
        return arena_printf(arena, "%s%s%zu", parent, dot, place->index);
    return arena_printf(arena, "%s%s%s", parent, dot, text_visible(arena, place->key, CONTRACT_KEY_MAX_CHARS));
}

/* Returns the finding for further members; NULL when there are enough. */
static struct contract_finding *add_finding(const struct checker *checker, struct findings *findings, const char *code,
                                            const struct place *place)
{
    if (findings->count == CONTRACT_FINDINGS_MAX)
        return NULL;
    struct contract_finding *finding = &findings->items[findings->count++];
    *finding = (struct contract_finding){ .code = code, .field = place_text(checker, place) };
    return finding;
}

/* A phrase for the values of a type: "a whole number". */
static const char *values_of_type(enum contract_type type)
{
    static const char *const phrases[] = {
        [CONTRACT_STRING] = "a text",
        [CONTRACT_INT] = "a whole number",
        [CONTRACT_FLOAT] = "a number",
        [CONTRACT_BOOLEAN] = "true or false",
        [CONTRACT_DATE] = "a date-time with a zone, such as 2026-11-21T09:30:00Z",
        [CONTRACT_ENUM] = "one of the declared values",
        [CONTRACT_OBJECT] = "an object",
        [CONTRACT_ARRAY] = "a list",
        [CONTRACT_UNKNOWN] = "a value",
    };
    return phrases[type];
}

/* The first values of an enum, for a message. */
static const char *enum_phrase(const struct checker *checker, const struct text_list *values)
{
    enum { NAMED_VALUES = 10 };
    struct buf *text = buf_in_arena(checker->work->arena, NAMED_VALUES * CONTRACT_ENUM_MAX_CHARS * 4 + 100);
    buf_add_text(text, "one of ");
    for (size_t i = 0; i < values->count && i < NAMED_VALUES; i++)
        buf_printf(text, "%s%s", i > 0 ? ", " : "", values->items[i]);
    if (values->count > NAMED_VALUES)
        buf_add_text(text, " and others of the contract");
    return buf_text(text);
}

static void add_invalid_type(const struct checker *checker, const struct place *place, enum contract_type expected,
                             const struct text_list *enum_values, const json_t *value)
{
    struct contract_finding *finding = add_finding(checker, checker->errors, "invalid_type", place);
    if (finding == NULL)
        return;
    bool is_enum = expected == CONTRACT_ENUM && enum_values != NULL;
    finding->expected_type = contract_type_name(expected);
    finding->actual_type = json_type_name(value);
    finding->message = arena_printf(checker->work->arena, "%s must be %s.", finding->field,
                                    is_enum ? enum_phrase(checker, enum_values) : values_of_type(expected));
}

static void add_missing(const struct checker *checker, const struct place *place, enum contract_type expected)
{
    struct contract_finding *finding = add_finding(checker, checker->errors, "missing_required", place);
    if (finding == NULL)
        return;
    finding->expected_type = contract_type_name(expected);
    finding->message = arena_printf(checker->work->arena, "%s is required.", finding->field);
}

static void add_unexpected(struct checker *checker, const struct place *place)
{
    static const char *const ends[] = {
        [CONTRACT_OFF] = "it is accepted, because the enforcement is off",
        [CONTRACT_PRUNE] = "it is dropped, because the enforcement is prune",
        [CONTRACT_STRICT] = "the enforcement strict refuses it",
    };
    struct findings *findings = checker->enforcement == CONTRACT_STRICT ? checker->errors : checker->warnings;
    struct contract_finding *finding = add_finding(checker, findings, "unexpected_key", place);
    if (finding != NULL)
        finding->message = arena_printf(checker->work->arena, "%s is not declared in the contract; %s.", finding->field,
                                        ends[checker->enforcement]);
    if (checker->enforcement == CONTRACT_PRUNE)
        checker->pruned[checker->pruned_count++] = place_text(checker, place);
}

/* ---- Members ---- */

struct fields {
    const struct contract_field *items;
    const struct contract_field *const *by_key;
    size_t count;
};

static struct fields children_of(const struct contract_field *field)
{
    return (struct fields){ field->children, field->children_by_key, field->child_count };
}

static int compare_key(const void *key, const void *field)
{
    return strcmp(key, (*(const struct contract_field *const *)field)->key);
}

static const struct contract_field *find_field(struct fields fields, const char *key)
{
    const struct contract_field *const *found =
        fields.count == 0 ? NULL : bsearch(key, fields.by_key, fields.count, sizeof(*fields.by_key), compare_key);
    return found == NULL ? NULL : *found;
}

static void check_object(struct checker *checker, struct fields fields, const json_t *object, const struct place *place);

static void check_item(struct checker *checker, const struct contract_field *field, const json_t *item, const struct place *place)
{
    if (field->item_type == CONTRACT_UNKNOWN && json_is_object(item))
        check_object(checker, children_of(field), item, place);
    else if (field->item_type == CONTRACT_UNKNOWN)
        add_invalid_type(checker, place, CONTRACT_OBJECT, NULL, item);
    else if (!contract_scalar_fits(field->item_type, &field->enum_values, item))
        add_invalid_type(checker, place, field->item_type, &field->enum_values, item);
}

static void check_array(struct checker *checker, const struct contract_field *field, const json_t *array, const struct place *place)
{
    size_t index;
    const json_t *item;
    json_array_foreach (array, index, item) {
        struct place at = { .parent = place, .index = index };
        check_item(checker, field, item, &at);
    }
}

/* Checks a value that is present. */
static void check_value(struct checker *checker, const struct contract_field *field, const json_t *value, const struct place *place)
{
    enum contract_type type = field->type == CONTRACT_UNKNOWN ? field->container : field->type;
    bool fits = type == CONTRACT_OBJECT  ? json_is_object(value)
                : type == CONTRACT_ARRAY ? json_is_array(value)
                                         : contract_scalar_fits(type, &field->enum_values, value);
    if (!fits)
        add_invalid_type(checker, place, type, &field->enum_values, value);
    else if (field->type == CONTRACT_OBJECT)
        check_object(checker, children_of(field), value, place);
    else if (field->type == CONTRACT_ARRAY)
        check_array(checker, field, value, place);
}

static bool is_absent(const json_t *value)
{
    return value == NULL || json_is_null(value);
}

static void add_all_missing(const struct checker *checker, struct fields fields, const json_t *object, const struct place *place)
{
    for (size_t i = 0; i < fields.count; i++) {
        struct place at = { .parent = place, .key = fields.items[i].key };
        if (fields.items[i].is_required && is_absent(json_object_get(object, at.key)))
            add_missing(checker, &at, fields.items[i].type);
    }
}

static size_t required_count(struct fields fields)
{
    size_t count = 0;
    for (size_t i = 0; i < fields.count; i++)
        count += fields.items[i].is_required;
    return count;
}

static void check_object(struct checker *checker, struct fields fields, const json_t *object, const struct place *place)
{
    size_t required = 0;
    const char *key;
    json_t *value;
    json_object_foreach (json_for_iteration(object), key, value) {
        struct place at = { .parent = place, .key = key };
        const struct contract_field *field = find_field(fields, key);
        if (field == NULL) {
            add_unexpected(checker, &at);
        } else if (!is_absent(value)) {
            required += field->is_required;
            check_value(checker, field, value, &at);
        }
    }
    if (required < required_count(fields) && checker->errors->count < CONTRACT_FINDINGS_MAX)
        add_all_missing(checker, fields, object, place);
}

/* ---- Pruning and fallbacks. Nothing here allocates in the arena, so a bound of the arena cannot leave a tree behind. ---- */

static json_t *pruned_object(struct fields fields, const json_t *object);

static json_t *pruned_array(const struct contract_field *field, const json_t *array)
{
    json_t *kept = json_array();
    size_t index;
    json_t *item;
    json_array_foreach (array, index, item)
        if (json_is_object(item))
            json_array_append_new(kept, pruned_object(children_of(field), item));
        else
            json_array_append(kept, item);
    return kept;
}

/* A new object with the declared members only. */
static json_t *pruned_object(struct fields fields, const json_t *object)
{
    json_t *kept = json_object();
    const char *key;
    json_t *value;
    json_object_foreach (json_for_iteration(object), key, value) {
        const struct contract_field *field = find_field(fields, key);
        if (field == NULL)
            continue;
        if (field->type == CONTRACT_OBJECT && json_is_object(value))
            json_object_set_new(kept, key, pruned_object(children_of(field), value));
        else if (field->type == CONTRACT_ARRAY && field->child_count > 0 && json_is_array(value))
            json_object_set_new(kept, key, pruned_array(field, value));
        else
            json_object_set(kept, key, value);
    }
    return kept;
}

/* The fallbacks of the fields that the object lacks, also of those inside of objects that it lacks; `object` NULL: it lacks all.
 * Only fields outside of arrays have fallbacks, so each field is visited once. */
static json_t *missing_fallbacks(struct fields fields, const json_t *object)
{
    json_t *fallbacks = json_object();
    for (size_t i = 0; i < fields.count; i++) {
        const struct contract_field *field = &fields.items[i];
        const json_t *value = json_object_get(object, field->key);
        if (is_absent(value) && field->fallback != NULL)
            json_object_set(fallbacks, field->key, json_for_iteration(field->fallback));
        if (field->type != CONTRACT_OBJECT || (!is_absent(value) && !json_is_object(value)))
            continue;
        json_t *nested = missing_fallbacks(children_of(field), value);
        if (json_object_size(nested) > 0)
            json_object_set(fallbacks, field->key, nested);
        json_decref(nested);
    }
    return fallbacks;
}

/* ---- The payload ---- */

static void fail_whole(const struct checker *checker, const char *code, const char *message)
{
    struct place whole = { .parent = NULL };
    struct contract_finding *finding = add_finding(checker, checker->errors, code, &whole);
    if (finding != NULL)
        finding->message = message;
}

/* Returns false when the payload cannot be used at all. */
static bool check_payload(struct checker *checker, struct fields fields, const json_t *payload)
{
    struct place whole = { .parent = NULL };
    if (!json_is_object(payload)) {
        fail_whole(checker, "payload_not_object", "The payload must be an object.");
        checker->errors->items[0].expected_type = "object";
        checker->errors->items[0].actual_type = json_type_name(payload);
        return false;
    }
    const char *fault = contract_payload_fault(checker->work, payload);
    if (fault != NULL) {
        fail_whole(checker, "payload_too_large", fault);
        return false;
    }
    checker->pruned = arena_array(checker->work->arena, PAYLOAD_MAX_KEYS, sizeof(*checker->pruned));
    check_object(checker, fields, payload, &whole);
    return true;
}

void contract_check(const struct work *work, const struct contract *contract, const json_t *payload,
                    struct contract_check *ret_check)
{
    struct fields fields = { contract->fields, contract->fields_by_key, contract->count };
    struct checker checker = {
        .work = work,
        .enforcement = contract->enforcement,
        .errors = arena_alloc(work->arena, sizeof(struct findings)),
        .warnings = arena_alloc(work->arena, sizeof(struct findings)),
    };
    bool is_usable = check_payload(&checker, fields, payload);
    *ret_check = (struct contract_check){
        .errors = checker.errors->items,
        .error_count = checker.errors->count,
        .warnings = checker.warnings->items,
        .warning_count = checker.warnings->count,
        .fallbacks = json_in_arena(work->arena, missing_fallbacks(fields, is_usable ? payload : NULL)),
        .pruned = { checker.pruned, checker.pruned_count },
    };
    if (is_usable)
        ret_check->payload = checker.pruned_count == 0 ? payload : json_in_arena(work->arena, pruned_object(fields, payload));
}

/* ---- Merging ---- */

static json_t *merge_fallbacks(const json_t *payload, const json_t *fallbacks)
{
    json_t *merged = json_copy(json_for_iteration(payload));
    const char *key;
    json_t *fallback;
    json_object_foreach (json_for_iteration(fallbacks), key, fallback) {
        json_t *value = json_object_get(payload, key);
        if (value == NULL || json_is_null(value))
            json_object_set(merged, key, fallback);
        else if (json_is_object(value) && json_is_object(fallback))
            json_object_set_new(merged, key, merge_fallbacks(value, fallback));
    }
    return merged;
}

const json_t *contract_merge_fallbacks(const struct work *work, const json_t *payload, const json_t *fallbacks)
{
    return json_in_arena(work->arena, merge_fallbacks(payload, fallbacks));
}
