#include "engine/triggers/fire_contact.h"

#include "base/json_read.h"
#include "base/text.h"
#include "engine/payloads/payloads.h"
#include "sql/fields.h"

#include <string.h>

/* As the operation contacts.save declares them. */
enum { NAME_MAX_CHARS = 200, SOURCE_MAX_CHARS = 100, VALUE_MAX_BYTES = 128 * 1024 };

static bool is_scalar(const json_t *value)
{
    return json_is_string(value) || json_is_number(value) || json_is_boolean(value);
}

/* ---- Warnings ---- */

static void add_warning(struct fire_contact *contact, struct fire_warning warning)
{
    contact->warnings[contact->warning_count++] = warning;
}

static const char *scalar_type(const json_t *value)
{
    return json_is_string(value) ? "string" : json_is_number(value) ? "number" : "bool";
}

static void warn_mismatch(struct fire_contact *contact, const char *key, const char *expected, const json_t *value)
{
    const char *actual = scalar_type(value);
    add_warning(contact, (struct fire_warning){
                             .code = "FIELD_TYPE_MISMATCH",
                             .field = key,
                             .message = arena_printf(contact->work->arena,
                                                     "The contact's field %s takes %s; the value was not saved.", key, expected),
                             .expected_type = expected,
                             .actual_type = actual,
                         });
}

static void warn_not_stored(struct fire_contact *contact, const char *key, const char *reason)
{
    add_warning(contact, (struct fire_warning){ .code = "FIELD_NOT_STORED", .field = key, .message = reason });
}

static void warn_renamed(struct fire_contact *contact, const char *key, const char *name)
{
    add_warning(contact, (struct fire_warning){
                             .code = "FIELD_NAME_NORMALIZED",
                             .field = key,
                             .message = arena_printf(contact->work->arena, "The contact's field of %s is named %s.", key, name),
                         });
}

/* ---- Core columns ---- */

static bool take_core_text(struct fire_contact *contact, const char *key, const json_t *value, size_t max_chars,
                           const char **ret_text)
{
    if (!json_is_string(value)) {
        warn_mismatch(contact, key, "string", value);
        return false;
    }
    *ret_text = json_string_value(value);
    if (utf8_length(*ret_text) <= max_chars)
        return true;
    warn_not_stored(contact, key,
                    arena_printf(contact->work->arena, "The contact's field %s can have at most %zu characters.", key, max_chars));
    return false;
}

static void set_core(struct fire_contact *contact, const char *key, const char *name, const json_t *value)
{
    struct contact_change *change = &contact->change;
    struct opt_text text = { .set = true };
    if (strcmp(name, "subscribed") == 0) {
        if (json_is_boolean(value))
            change->subscribed = (struct opt_bool){ .set = true, .value = json_is_true(value) };
        else
            warn_mismatch(contact, key, "bool", value);
    } else if (strcmp(name, "source") == 0) {
        if (take_core_text(contact, key, value, SOURCE_MAX_CHARS, &text.value) && text.value[0] != '\0')
            change->source = text.value;
    } else if (strcmp(name, "subscriptionGroups") == 0) {
        warn_mismatch(contact, key, "object", value);
    } else if (take_core_text(contact, key, value, NAME_MAX_CHARS, &text.value)) {
        struct opt_text *column = strcmp(name, "firstName") == 0  ? &change->first_name
                                  : strcmp(name, "lastName") == 0 ? &change->last_name
                                                                  : &change->user_id;
        *column = text;
    }
}

/* ---- Custom fields ---- */

static enum field_type declared_type(enum contract_type type)
{
    switch (type) {
    case CONTRACT_STRING:
    case CONTRACT_ENUM:
        return FIELD_STRING;
    case CONTRACT_INT:
    case CONTRACT_FLOAT:
        return FIELD_NUMBER;
    case CONTRACT_BOOLEAN:
        return FIELD_BOOL;
    case CONTRACT_DATE:
        return FIELD_DATE;
    case CONTRACT_OBJECT:
    case CONTRACT_ARRAY:
    case CONTRACT_UNKNOWN:
        break;
    }
    return FIELD_NONE;
}

static const char *field_type_word(enum field_type type)
{
    static const char *const words[] = {
        [FIELD_NONE] = "", [FIELD_STRING] = "string", [FIELD_NUMBER] = "number", [FIELD_DATE] = "date", [FIELD_BOOL] = "bool",
    };
    return words[type];
}

/* Whether the value fits a field of this type; otherwise it gets a warning. */
static bool fits_field(struct fire_contact *contact, const char *key, const json_t *value, enum field_type type)
{
    BUF_SCOPE scratch;
    struct json_writer json;
    buf_init(&scratch, VALUE_MAX_BYTES);
    json_writer_init(&json, &scratch);
    if (!field_value_write(value, type, &json)) {
        warn_mismatch(contact, key, field_type_word(type), value);
        return false;
    }
    if (type != FIELD_STRING || utf8_length(json_string_value(value)) <= FIELD_TEXT_MAX_CHARS)
        return true;
    warn_not_stored(
        contact, key,
        arena_printf(contact->work->arena, "The text of a custom field can have at most %d characters.", FIELD_TEXT_MAX_CHARS));
    return false;
}

/* ---- Fields of the contract ---- */

/* Whether a declared field has a value for a custom field. Core columns are set here. */
static bool find_custom(struct fire_contact *contact, const struct contract_field *field, struct declared_value *ret_value)
{
    const json_t *value = json_object_get(contact->payload, field->key);
    struct error naming = { .code = ERR_NONE };
    const char *name = NULL;
    if (strcmp(field->key, "email") == 0 || !is_scalar(value))
        return false;
    bool is_custom = field_name_normalize(contact->work->arena, field->key, &name, &naming);
    if (!is_custom && (name == NULL || !field_name_is_core(name) || strcmp(name, "email") == 0)) {
        warn_not_stored(contact, field->key, arena_dup(contact->work->arena, naming.message));
        return false;
    }
    if (strcmp(name, field->key) != 0)
        warn_renamed(contact, field->key, name);
    if (!is_custom)
        set_core(contact, field->key, name, value);
    *ret_value = (struct declared_value){ field, value, name };
    return is_custom;
}

static void set_custom(struct fire_contact *contact, const struct declared_value *given)
{
    enum field_type type = (enum field_type)json_get_int(contact->known.types, given->name, FIELD_NONE);
    if (type == FIELD_NONE && json_object_get(contact->known.types, given->name) != NULL)
        warn_not_stored(contact, given->field->key, "This field is being deleted.");
    else if (type == FIELD_NONE)
        warn_not_stored(contact, given->field->key,
                        arena_printf(contact->work->arena, "A brand can have at most %d custom fields.", FIELDS_MAX_PER_BRAND));
    else if (fits_field(contact, given->field->key, given->value, type))
        json_object_set(contact->custom, given->name, json_for_iteration(given->value));
}

/* ---- The seam ---- */

struct text_list fire_field_names(const struct work *work, const json_t *payload)
{
    size_t count = 0;
    const char *key;
    json_t *value;
    if (json_object_size(payload) > PAYLOAD_MAX_KEYS) /* it will be refused */
        payload = NULL;
    const char **names = arena_array(work->arena, json_object_size(payload), sizeof(*names));
    json_object_foreach (json_for_iteration(payload), key, value) {
        struct error ignored = { .code = ERR_NONE };
        if (is_scalar(value) && field_name_normalize(work->arena, key, &names[count], &ignored))
            count++;
    }
    return (struct text_list){ .items = names, .count = count };
}

void fire_contact_begin(struct fire_contact *contact, const struct work *work, const struct contract *contract,
                        const struct fire_payload *payload)
{
    enum { WARNINGS_OF_A_FIELD = 2 };
    *contact = (struct fire_contact){
        .work = work,
        .contract = contract,
        .payload = payload->object,
        .known = field_registry_new(work->arena),
        .custom = json_in_arena(work->arena, json_object()),
        .change = { .email = payload->address.mailbox },
        .warnings =
            arena_array(work->arena, payload->warning_count + WARNINGS_OF_A_FIELD * contract->count, sizeof(struct fire_warning)),
    };
    contact->change.custom_fields = contact->custom;
    for (size_t i = 0; i < payload->warning_count; i++) {
        const struct contract_finding *finding = &payload->warnings[i];
        add_warning(contact, (struct fire_warning){ finding->code, finding->field, finding->message, finding->expected_type,
                                                    finding->actual_type });
    }
}

void fire_contact_read(struct fire_contact *contact, const struct db_rows *found, struct field_registry *missing)
{
    const struct contract *contract = contact->contract;
    const struct contact_fields_find_row *fields = found->rows;
    for (size_t i = 0; i < found->count; i++)
        json_object_set_new(contact->known.types, fields[i].name,
                            json_integer(fields[i].is_leaving ? FIELD_NONE : field_type_from_name(fields[i].type)));
    contact->values = arena_array(contact->work->arena, contract->count, sizeof(*contact->values));
    for (size_t i = 0; i < contract->count; i++) {
        struct declared_value *value = &contact->values[contact->value_count];
        if (!find_custom(contact, &contract->fields[i], value))
            continue;
        contact->value_count++;
        if (json_object_get(contact->known.types, value->name) == NULL && json_object_get(missing->types, value->name) == NULL)
            json_object_set_new(missing->types, value->name, json_integer(declared_type(value->field->type)));
    }
}

void fire_contact_fill(struct fire_contact *contact, const struct field_registry *defined)
{
    json_object_update(contact->known.types, defined->types);
    for (size_t i = 0; i < contact->value_count; i++)
        set_custom(contact, &contact->values[i]);
}
