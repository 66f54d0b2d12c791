#include "engine/fields/field_registry.h"

#include "base/clock.h"
#include "base/json_read.h"
#include "base/text.h"
#include "catalogue/integrations.h"
#include "sql/fields.h"

#include <string.h>
#include <unictype.h>
#include <unistr.h>

/* Enough for the merged rows of a batch: FIELDS_MAX_PER_BRAND values of FIELD_TEXT_MAX_CHARS with every character escaped, their
 * names, and all names that the largest body can clear. */
enum { VALUES_JSON_MAX_BYTES = 16 * 1024 * 1024 };

static const struct {
    const char *name;
    const char *holds;
} types[] = {
    [FIELD_NONE] = { "", "nothing" },           [FIELD_STRING] = { "string", "a string" },
    [FIELD_NUMBER] = { "number", "a number" },  [FIELD_DATE] = { "date", "a date (ISO 8601 or Unix seconds)" },
    [FIELD_BOOL] = { "bool", "true or false" },
};

static const char *const reserved_names[] = {
    "email", "firstName", "lastName", "userId", "source", "subscribed", "subscriptionGroups",
};

/* A filter takes these names for built-in fields, so it could not find a custom field with such a name (D-147). */
static const char *const filter_names[] = { "createdAt", "updatedAt", "id", "audience" };

enum field_type field_type_from_name(const char *name)
{
    for (enum field_type type = FIELD_STRING; type <= FIELD_BOOL; type++)
        if (strcmp(types[type].name, name) == 0)
            return type;
    return FIELD_NONE;
}

const char *field_type_holds(enum field_type type)
{
    return types[type].holds;
}

/* ---- Names ---- */

static bool is_lower(char byte)
{
    return byte >= 'a' && byte <= 'z';
}

static bool is_upper(char byte)
{
    return byte >= 'A' && byte <= 'Z';
}

/* True for words such as FAVORITE or ID2, where a capital does not begin a new word. */
static bool is_all_capitals(const char *word, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (is_lower(word[i]) || (unsigned char)word[i] >= 0x80)
            return false;
    return true;
}

/* The first word keeps its capitals if it begins with a digit: "2024 q1" becomes 2024Q1, which must stay unchanged when it is
 * normalized again. */
static void add_word(char *name, size_t at, const char *word, size_t size)
{
    bool begins_with_digit = at == 0 && size > 0 && word[0] >= '0' && word[0] <= '9';
    bool lowers = is_all_capitals(word, size) && !begins_with_digit;
    for (size_t i = 0; i < size; i++)
        name[at + i] = (char)(lowers && is_upper(word[i]) ? word[i] + ('a' - 'A') : word[i]);
    if (at == 0 && is_upper(name[0]))
        name[0] = (char)(name[0] + ('a' - 'A'));
    if (at > 0 && is_lower(name[at]))
        name[at] = (char)(name[at] - ('a' - 'A'));
}

static char *camel_case(struct arena *arena, const char *given)
{
    static const char separators[] = " _-";
    char *name = arena_alloc(arena, strlen(given) + 1);
    size_t size = 0;
    for (const char *at = given; *at != '\0';) {
        at += strspn(at, separators);
        size_t word_size = strcspn(at, separators);
        add_word(name, size, at, word_size);
        size += word_size;
        at += word_size;
    }
    name[size] = '\0';
    return name;
}

static bool is_letters_and_digits(const char *name)
{
    const uint8_t *at = (const uint8_t *)name;
    for (ucs4_t point; (at = u8_next(&point, at)) != NULL;)
        if (!uc_is_alnum(point))
            return false;
    return true;
}

static bool is_among(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

bool field_name_is_core(const char *name)
{
    return is_among(name, reserved_names, ARRAY_COUNT(reserved_names));
}

bool field_name_is_built_in(const char *name)
{
    return field_name_is_core(name) || is_among(name, filter_names, ARRAY_COUNT(filter_names));
}

/* A name that an integration declares stays as it is: payments_customer_id. */
static bool is_field_of_mapping(const struct integration_mapping *mapping, const char *name, const char *column)
{
    for (size_t i = 0; i < mapping->field_count; i++)
        if (strcmp(mapping->fields[i].key, name) == 0)
            return true;
    return mapping->columns != NULL && column[strspn(column, "abcdefghijklmnopqrstuvwxyz0123456789_")] == '\0';
}

static bool is_integration_field(const char *name)
{
    for (size_t i = 0; i < integration_provider_count; i++) {
        const struct integration_provider *provider = &integration_providers[i];
        size_t size = strlen(provider->key);
        if (strncmp(name, provider->key, size) != 0 || name[size] != '_' || name[size + 1] == '\0')
            continue;
        for (size_t event = 0; event < provider->event_count; event++)
            if (is_field_of_mapping(provider->events[event].mapping, name, name + size + 1))
                return true;
    }
    return false;
}

bool field_name_normalize(struct arena *arena, const char *given, const char **ret_name, struct error *err)
{
    if (utf8_length(given) > FIELD_NAME_MAX_CHARS)
        return fail(err, ERR_INVALID_REQUEST, NULL, "A field name can have at most %d characters.", FIELD_NAME_MAX_CHARS);
    *ret_name = given;
    if (is_integration_field(given))
        return true;
    const char *name = camel_case(arena, given);
    if (name[0] == '\0' || !is_letters_and_digits(name))
        return fail(err, ERR_INVALID_REQUEST, NULL,
                    "A field name must consist of letters and digits, with spaces, - or _ between words.");
    *ret_name = name;
    if (field_name_is_core(name))
        return fail(err, ERR_INVALID_REQUEST, NULL, "%s is a core field and cannot be a custom field.", name);
    if (field_name_is_built_in(name))
        return fail(err, ERR_INVALID_REQUEST, NULL, "%s is a built-in field and cannot be a custom field; use another name.", name);
    return true;
}

/* ---- Values ---- */

/* A calendar date without a time: 2026-11-21. */
static bool is_calendar_date(const char *text)
{
    enum { DATE_CHARS = 10 };
    char midnight[DATE_CHARS + sizeof("T00:00:00Z")];
    int64_t ignored;
    if (strlen(text) != DATE_CHARS)
        return false;
    snprintf(midnight, sizeof(midnight), "%sT00:00:00Z", text);
    return clock_parse_iso(midnight, &ignored);
}

/* A whole day has no time zone and is stored unchanged. A time is stored in UTC. Both forms sort by time when sorted as text. */
static bool write_field_date(const json_t *value, struct json_writer *json)
{
    static const double max_unix_seconds = 253402300799; /* the end of year 9999 */
    int64_t time_us = 0;
    if (json_is_string(value) && is_calendar_date(json_string_value(value))) {
        json_text(json, json_string_value(value));
        return true;
    }
    if (json_is_number(value) && json_number_value(value) >= 0 && json_number_value(value) <= max_unix_seconds)
        time_us = (int64_t)(json_number_value(value) * (double)US_PER_S);
    else if (!json_is_string(value) || !clock_parse_iso(json_string_value(value), &time_us))
        return false;
    char text[CLOCK_ISO_CHARS + 1];
    clock_format_iso(time_us, text);
    json_text(json, text);
    return true;
}

static bool write_field_number(const json_t *value, struct json_writer *json)
{
    if (json_is_integer(value))
        json_int(json, json_integer_value(value));
    else if (json_is_real(value))
        json_number(json, json_real_value(value));
    return json_is_number(value);
}

bool field_value_write(const json_t *value, enum field_type type, struct json_writer *json)
{
    switch (type) {
    case FIELD_STRING:
        if (json_is_string(value))
            json_text(json, json_string_value(value));
        return json_is_string(value);
    case FIELD_NUMBER:
        return write_field_number(value, json);
    case FIELD_DATE:
        return write_field_date(value, json);
    case FIELD_BOOL:
        if (json_is_boolean(value))
            json_bool(json, json_is_true(value));
        return json_is_boolean(value);
    case FIELD_NONE:
        break;
    }
    return false;
}

/* The type of a field whose first value is `value`. */
static enum field_type inferred_type(const json_t *value)
{
    if (json_is_boolean(value))
        return FIELD_BOOL;
    if (json_is_number(value))
        return FIELD_NUMBER;
    if (!json_is_string(value))
        return FIELD_NONE;
    int64_t ignored;
    const char *text = json_string_value(value);
    return is_calendar_date(text) || clock_parse_iso(text, &ignored) ? FIELD_DATE : FIELD_STRING;
}

/* ---- The registry ---- */

struct field_registry field_registry_new(struct arena *arena)
{
    return (struct field_registry){
        .arena = arena,
        .types = json_in_arena(arena, json_object()),
        .renamed = json_in_arena(arena, json_object()),
    };
}

static bool name_in_param(struct error *err, const char *given)
{
    return error_set_param(err, "customFields.%s", given);
}

static bool check_field_value(const json_t *value, enum field_type type, struct error *err)
{
    if (type == FIELD_NONE)
        return fail(err, ERR_INVALID_REQUEST, NULL, "The value of a custom field must be a string, a number, a boolean or null.");
    if (type == FIELD_STRING && utf8_length(json_string_value(value)) > FIELD_TEXT_MAX_CHARS)
        return fail(err, ERR_INVALID_REQUEST, NULL, "The text of a custom field can have at most %d characters.",
                    FIELD_TEXT_MAX_CHARS);
    return true;
}

static bool read_field_value(struct field_registry *registry, const char *given, const json_t *value,
                             struct custom_value *ret_value, struct error *err)
{
    ret_value->value = value;
    if (!field_name_normalize(registry->arena, given, &ret_value->name, err))
        return false;
    if (strcmp(given, ret_value->name) != 0 && json_object_get(registry->renamed, given) == NULL)
        json_object_set_new(registry->renamed, given, json_string(ret_value->name));
    /* Clearing a field needs no definition. */
    if (json_is_null(value))
        return true;
    enum field_type type = inferred_type(value);
    if (!check_field_value(value, type, err))
        return false;
    if (json_object_get(registry->types, ret_value->name) == NULL)
        json_object_set_new(registry->types, ret_value->name, json_integer(type));
    return true;
}

bool field_registry_read(struct field_registry *registry, const json_t *object, struct custom_values *ret_values, struct error *err)
{
    struct custom_value *items = arena_array(registry->arena, json_object_size(object), sizeof(*items));
    size_t count = 0;
    const char *given;
    json_t *value;
    json_object_foreach (json_for_iteration(object), given, value)
        if (!read_field_value(registry, given, value, &items[count++], err))
            return name_in_param(err, given);
    *ret_values = (struct custom_values){ .items = items, .count = count };
    return true;
}

size_t field_registry_query(const struct field_registry *registry, const struct work *work, struct db_batch *batch)
{
    size_t count = json_object_size(registry->types);
    if (count == 0)
        return 0;
    const char **names = arena_array(registry->arena, count, sizeof(*names));
    const char **type_names = arena_array(registry->arena, count, sizeof(*type_names));
    size_t at = 0;
    const char *name;
    json_t *type;
    json_object_foreach (registry->types, name, type) {
        names[at] = name;
        type_names[at++] = types[json_integer_value(type)].name;
    }
    struct contact_fields_define_params define = {
        .brand_id = work->brand_id,
        .names = { names, count },
        .types = { type_names, count },
        .max_fields = FIELDS_MAX_PER_BRAND,
        .now = work->now_us,
    };
    struct contact_fields_find_params find = { .brand_id = work->brand_id, .names = { names, count } };
    size_t index = db_batch_add(batch, &contact_fields_define_statement, &define);
    db_batch_add(batch, &contact_fields_find_statement, &find);
    return index;
}

static void note_created(struct field_registry *registry, const struct db_rows *rows)
{
    const struct contact_fields_define_row *created = rows->rows;
    const char **names = arena_array(registry->arena, rows->count, sizeof(*names));
    for (size_t i = 0; i < rows->count; i++)
        names[i] = created[i].name;
    registry->created = (struct text_list){ .items = names, .count = rows->count };
}

bool field_registry_load(struct field_registry *registry, const struct db_batch *batch, size_t index)
{
    if (json_object_size(registry->types) == 0)
        return false;
    note_created(registry, db_batch_rows(batch, index));
    const struct db_rows *rows = db_batch_rows(batch, index + 1);
    const struct contact_fields_find_row *found = rows->rows;
    json_t *loaded = json_in_arena(registry->arena, json_object());
    /* The statement can also return fields of other changes. */
    for (size_t i = 0; i < rows->count; i++)
        if (json_object_get(registry->types, found[i].name) != NULL)
            json_object_set_new(loaded, found[i].name,
                                json_integer(found[i].is_leaving ? FIELD_NONE : field_type_from_name(found[i].type)));
    bool differs = !json_equal(loaded, registry->types);
    registry->types = loaded;
    return differs;
}

bool field_refuse_leaving(const char *param, struct error *err)
{
    return fail(err, ERR_INVALID_REQUEST, param, "This field is being deleted. Write it when its deletion has ended.");
}

static enum field_type registered_type(const struct field_registry *registry, const char *name)
{
    return (enum field_type)json_get_int(registry->types, name, FIELD_NONE);
}

static bool value_fits(const struct field_registry *registry, const struct custom_value *value, struct json_writer *scratch)
{
    return json_is_null(value->value) || field_value_write(value->value, registered_type(registry, value->name), scratch);
}

bool field_registry_check(const struct field_registry *registry, const struct custom_values *values, struct error *err)
{
    BUF_SCOPE out;
    buf_init(&out, VALUES_JSON_MAX_BYTES);
    for (size_t i = 0; i < values->count; i++) {
        const struct custom_value *value = &values->items[i];
        struct json_writer scratch;
        buf_clear(&out);
        json_writer_init(&scratch, &out);
        if (value_fits(registry, value, &scratch))
            continue;
        enum field_type type = registered_type(registry, value->name);
        if (type == FIELD_NONE && json_object_get(registry->types, value->name) != NULL)
            (void)field_refuse_leaving(NULL, err);
        else if (type == FIELD_NONE)
            fail(err, ERR_INVALID_REQUEST, NULL, "A brand can have at most %d custom fields.", FIELDS_MAX_PER_BRAND);
        else
            fail(err, ERR_FIELD_TYPE_MISMATCH, NULL, "The value of this field must be %s.", field_type_holds(type));
        return name_in_param(err, value->name);
    }
    return true;
}

const char *field_registry_json(const struct field_registry *registry, const struct custom_values *values)
{
    if (values->count == 0)
        return "{}";
    struct buf *out = buf_in_arena(registry->arena, VALUES_JSON_MAX_BYTES);
    struct json_writer json;
    json_writer_init(&json, out);
    json_object_begin(&json);
    /* jsonb keeps the last of duplicate names. */
    for (size_t i = 0; i < values->count; i++) {
        const struct custom_value *value = &values->items[i];
        json_key(&json, value->name);
        if (json_is_null(value->value) || !field_value_write(value->value, registered_type(registry, value->name), &json))
            json_null_value(&json);
    }
    json_object_end(&json);
    return buf_text(out);
}

static void write_renamed(const char *given, const char *name, struct json_writer *json)
{
    json_object_begin(json);
    json_member_text(json, "code", "FIELD_NAME_NORMALIZED");
    json_member_text(json, "field", name);
    json_member_text(json, "message", "The field name was changed to camelCase.");
    json_member_text(json, "original", given);
    json_member_text(json, "normalized", name);
    json_object_end(json);
}

void field_registry_write_warnings(const struct field_registry *registry, struct json_writer *json)
{
    const char *given;
    json_t *name;
    json_object_foreach (registry->renamed, given, name)
        write_renamed(given, json_string_value(name), json);
}

void field_write_renamed(const char *given, const char *name, struct json_writer *json)
{
    if (strcmp(given, name) == 0)
        return;
    json_key(json, "warnings");
    json_array_begin(json);
    write_renamed(given, name, json);
    json_array_end(json);
}
