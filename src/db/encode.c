#include "db/codec.h"
#include "db/wire.h"

/* MaxAllocSize of the server. */
enum { MAX_VALUE_BYTES = 1 << 30 };

/* From the server's pg_type.dat. */
static const struct {
    const char *name;
    Oid oid;
    Oid element_oid;
} types[] = {
    [DB_BIGINT] = { "bigint", 20, 0 },
    [DB_INTEGER] = { "integer", 23, 0 },
    [DB_FLOAT] = { "float8", 701, 0 },
    [DB_BOOLEAN] = { "boolean", 16, 0 },
    [DB_TEXT] = { "text", 25, 0 },
    [DB_JSONB] = { "jsonb", 3802, 0 },
    [DB_BYTEA] = { "bytea", 17, 0 },
    [DB_TIMESTAMPTZ] = { "timestamptz", 1184, 0 },
    [DB_BIGINT_ARRAY] = { "bigint[]", 1016, 20 },
    [DB_TIMESTAMPTZ_ARRAY] = { "timestamptz[]", 1185, 1184 },
    [DB_TEXT_ARRAY] = { "text[]", 1009, 25 },
    [DB_JSONB_ARRAY] = { "jsonb[]", 3807, 3802 },
    [DB_BOOLEAN_ARRAY] = { "boolean[]", 1000, 16 },
};

Oid db_type_oid(enum db_type type)
{
    return types[type].oid;
}

Oid db_element_oid(enum db_type type)
{
    return types[type].element_oid;
}

const char *db_type_name(enum db_type type)
{
    return types[type].name;
}

/* The output of one parameter. `scalar` has room for a scalar of 8 bytes. */
struct param_slot {
    const char **value;
    int *length;
    int *format;
    char *scalar;
};

static void set_scalar(struct param_slot *slot, int size)
{
    *slot->value = slot->scalar;
    *slot->length = size;
}

/* An element of a list of any type, as bytes. */
struct element {
    const char *bytes; /* NULL: SQL NULL */
    size_t size;
    char scalar[8];
};

static size_t list_count(enum db_type type, const void *member)
{
    if (type == DB_TEXT_ARRAY || type == DB_JSONB_ARRAY)
        return ((const struct text_list *)member)->count;
    if (type == DB_BOOLEAN_ARRAY)
        return ((const struct bool_list *)member)->count;
    return ((const struct int_list *)member)->count;
}

static bool list_is_null(enum db_type type, const void *member)
{
    if (type == DB_TEXT_ARRAY || type == DB_JSONB_ARRAY)
        return ((const struct text_list *)member)->items == NULL;
    if (type == DB_BOOLEAN_ARRAY)
        return ((const struct bool_list *)member)->items == NULL;
    return ((const struct int_list *)member)->items == NULL;
}

static void list_element(enum db_type type, const void *member, size_t index, struct element *ret_element)
{
    if (type == DB_TEXT_ARRAY || type == DB_JSONB_ARRAY) {
        ret_element->bytes = ((const struct text_list *)member)->items[index];
        ret_element->size = ret_element->bytes != NULL ? strlen(ret_element->bytes) : 0;
        return;
    }
    ret_element->bytes = ret_element->scalar;
    if (type == DB_BOOLEAN_ARRAY) {
        ret_element->scalar[0] = ((const struct bool_list *)member)->items[index] ? 1 : 0;
        ret_element->size = 1;
        return;
    }
    int64_t value = ((const struct int_list *)member)->items[index];
    wire_put_i64(ret_element->scalar, type == DB_TIMESTAMPTZ_ARRAY ? wire_time_to_server(value) : value);
    ret_element->size = sizeof(int64_t);
}

static size_t list_wire_bytes(enum db_type type, const void *member, size_t count, bool *ret_has_null)
{
    size_t total = WIRE_ARRAY_HEADER_BYTES;
    *ret_has_null = false;
    if (count == 0)
        return total;
    total += WIRE_ARRAY_DIMENSION_BYTES;
    for (size_t i = 0; i < count; i++) {
        struct element element;
        list_element(type, member, i, &element);
        total += sizeof(int32_t) + element.size;
        if (element.bytes == NULL)
            *ret_has_null = true;
        else if (type == DB_JSONB_ARRAY)
            total++;
    }
    return total;
}

/* The array format of array_recv in the server's arrayfuncs.c: an empty array has no dimension. */
static bool encode_list(struct arena *arena, const struct db_field *field, const void *member, struct param_slot *slot,
                        struct error *err)
{
    size_t count = list_count(field->type, member);
    bool has_null;
    size_t size = list_wire_bytes(field->type, member, count, &has_null);
    if (size > MAX_VALUE_BYTES)
        return fail(err, ERR_PAYLOAD_TOO_LARGE, field->name, "The list is too large.");

    char *wire = arena_alloc(arena, size);
    *slot->value = wire;
    *slot->length = (int)size;
    wire_put_u32(wire, count > 0 ? 1 : 0);
    wire_put_u32(wire + 4, has_null ? 1 : 0);
    wire_put_u32(wire + 8, db_element_oid(field->type));
    if (count == 0)
        return true;
    wire_put_u32(wire + 12, (uint32_t)count);
    wire_put_u32(wire + 16, 1);

    char *at = wire + WIRE_ARRAY_HEADER_BYTES + WIRE_ARRAY_DIMENSION_BYTES;
    for (size_t i = 0; i < count; i++) {
        struct element element;
        list_element(field->type, member, i, &element);
        if (element.bytes == NULL) {
            wire_put_u32(at, UINT32_MAX);
            at += sizeof(uint32_t);
            continue;
        }
        size_t version_bytes = field->type == DB_JSONB_ARRAY ? 1 : 0;
        wire_put_u32(at, (uint32_t)(element.size + version_bytes));
        at += sizeof(uint32_t);
        if (version_bytes > 0)
            *at++ = WIRE_JSONB_VERSION;
        memcpy(at, element.bytes, element.size);
        at += element.size;
    }
    return true;
}

static bool fail_missing(const struct db_field *field, struct error *err)
{
    fail(err, ERR_INTERNAL_ERROR, NULL, "An unexpected error happened.");
    return error_because(err, "no value for the parameter %s", field->name);
}

static bool encode_integer(const struct db_field *field, int64_t value, struct param_slot *slot, struct error *err)
{
    if (field->type == DB_INTEGER) {
        if (value < INT32_MIN || value > INT32_MAX)
            return fail(err, ERR_INVALID_REQUEST, field->name, "The number is out of range.");
        wire_put_u32(slot->scalar, (uint32_t)value);
        set_scalar(slot, sizeof(int32_t));
        return true;
    }
    wire_put_i64(slot->scalar, field->type == DB_TIMESTAMPTZ ? wire_time_to_server(value) : value);
    set_scalar(slot, sizeof(int64_t));
    return true;
}

static void encode_float(double value, struct param_slot *slot)
{
    int64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    wire_put_i64(slot->scalar, bits);
    set_scalar(slot, sizeof(bits));
}

static void encode_bool(bool value, struct param_slot *slot)
{
    slot->scalar[0] = value ? 1 : 0;
    set_scalar(slot, 1);
}

/* Encodes one member; leaves the value NULL for SQL NULL. */
static bool encode_field(struct arena *arena, const struct db_field *field, const void *member, struct param_slot *slot,
                         struct error *err)
{
    *slot->format = WIRE_BINARY;
    switch (field->type) {
    case DB_BIGINT:
    case DB_INTEGER:
    case DB_TIMESTAMPTZ: {
        if (!field->nullable)
            return encode_integer(field, *(const int64_t *)member, slot, err);
        const struct opt_int *value = member;
        return !value->set || encode_integer(field, value->value, slot, err);
    }
    case DB_FLOAT: {
        const struct opt_number *value = member;
        if (!field->nullable)
            encode_float(*(const double *)member, slot);
        else if (value->set)
            encode_float(value->value, slot);
        return true;
    }
    case DB_BOOLEAN: {
        const struct opt_bool *value = member;
        if (!field->nullable)
            encode_bool(*(const bool *)member, slot);
        else if (value->set)
            encode_bool(value->value, slot);
        return true;
    }
    case DB_TEXT:
    case DB_JSONB:
        *slot->format = WIRE_TEXT;
        *slot->value = *(const char *const *)member;
        return *slot->value != NULL || field->nullable || fail_missing(field, err);
    case DB_BYTEA: {
        const struct bytes *value = member;
        if (value->data == NULL && (field->nullable || value->size > 0))
            return field->nullable || fail_missing(field, err);
        if (value->size > MAX_VALUE_BYTES)
            return fail(err, ERR_PAYLOAD_TOO_LARGE, field->name, "The value is too large.");
        *slot->value = value->data != NULL ? (const char *)value->data : "";
        *slot->length = (int)value->size;
        return true;
    }
    case DB_BIGINT_ARRAY:
    case DB_TIMESTAMPTZ_ARRAY:
    case DB_TEXT_ARRAY:
    case DB_JSONB_ARRAY:
    case DB_BOOLEAN_ARRAY:
        return (field->nullable && list_is_null(field->type, member)) || encode_list(arena, field, member, slot, err);
    }
    return fail_missing(field, err);
}

bool db_encode(struct arena *arena, const struct db_statement *statement, const void *params, struct db_encoded *ret_encoded,
               struct error *err)
{
    size_t count = statement->param_count;
    *ret_encoded = (struct db_encoded){ 0 };
    if (count == 0)
        return true;
    const char **values = arena_array(arena, count, sizeof(*values));
    char *scalars = arena_array(arena, count, sizeof(int64_t));
    int *lengths = arena_array(arena, count, 2 * sizeof(*lengths));
    int *formats = lengths + count;
    for (size_t i = 0; i < count; i++) {
        const struct db_field *field = &statement->params[i];
        struct param_slot slot = {
            .value = &values[i], .length = &lengths[i], .format = &formats[i], .scalar = scalars + i * sizeof(int64_t)
        };
        if (!encode_field(arena, field, (const char *)params + field->offset, &slot, err))
            return false;
    }
    *ret_encoded = (struct db_encoded){ .values = values, .lengths = lengths, .formats = formats };
    return true;
}
