#include "db/codec.h"
#include "db/conn.h"
#include "db/wire.h"

#include <stdlib.h>

enum { VARCHAR_OID = 1043 };

/* A value of the result: NULL bytes for SQL NULL. libpq adds a NUL after every value. */
struct wire {
    const char *bytes;
    size_t size;
};

static bool decode_int(const struct db_field *field, struct wire wire, int64_t *ret_value)
{
    if (field->type == DB_INTEGER) {
        if (wire.size != sizeof(int32_t))
            return false;
        *ret_value = wire_get_i32(wire.bytes);
        return true;
    }
    if (wire.size != sizeof(int64_t))
        return false;
    *ret_value = wire_get_i64(wire.bytes);
    if (field->type == DB_TIMESTAMPTZ)
        *ret_value = wire_time_from_server(*ret_value);
    return true;
}

/* Writes `number`, or for a nullable member the struct opt_… that holds it. */
#define STORE(field, member, opt_type, number)                                                                                     \
    do {                                                                                                                           \
        struct opt_type stored_ = { .set = true, .value = (number) };                                                              \
        if ((field)->nullable)                                                                                                     \
            memcpy((member), &stored_, sizeof(stored_));                                                                           \
        else                                                                                                                       \
            memcpy((member), &stored_.value, sizeof(stored_.value));                                                               \
    } while (0)

static bool decode_scalar(const struct db_field *field, struct wire wire, char *member)
{
    if (field->type == DB_BOOLEAN) {
        if (wire.size != 1)
            return false;
        STORE(field, member, opt_bool, wire.bytes[0] != 0);
        return true;
    }
    if (field->type == DB_FLOAT) {
        if (wire.size != sizeof(double))
            return false;
        int64_t bits = wire_get_i64(wire.bytes);
        double number;
        memcpy(&number, &bits, sizeof(number));
        STORE(field, member, opt_number, number);
        return true;
    }
    int64_t value;
    if (!decode_int(field, wire, &value))
        return false;
    STORE(field, member, opt_int, value);
    return true;
}

/* Reads the elements of a one-dimensional array and checks their bounds. */
struct element_reader {
    const char *at;
    size_t left;
    size_t count;
};

static bool element_reader_init(struct element_reader *reader, enum db_type type, struct wire wire)
{
    *reader = (struct element_reader){ 0 };
    if (wire.size < WIRE_ARRAY_HEADER_BYTES || wire_get_i32(wire.bytes + 8) != (int32_t)db_element_oid(type))
        return false;
    int32_t dimensions = wire_get_i32(wire.bytes);
    if (dimensions == 0)
        return true;
    if (dimensions != 1 || wire.size < WIRE_ARRAY_HEADER_BYTES + WIRE_ARRAY_DIMENSION_BYTES)
        return false;
    int32_t count = wire_get_i32(wire.bytes + WIRE_ARRAY_HEADER_BYTES);
    reader->at = wire.bytes + WIRE_ARRAY_HEADER_BYTES + WIRE_ARRAY_DIMENSION_BYTES;
    reader->left = wire.size - WIRE_ARRAY_HEADER_BYTES - WIRE_ARRAY_DIMENSION_BYTES;
    if (count < 0 || (size_t)count > reader->left / sizeof(int32_t))
        return false;
    reader->count = (size_t)count;
    return true;
}

static bool element_next(struct element_reader *reader, struct wire *ret_element)
{
    if (reader->left < sizeof(int32_t))
        return false;
    int32_t size = wire_get_i32(reader->at);
    reader->at += sizeof(int32_t);
    reader->left -= sizeof(int32_t);
    *ret_element = (struct wire){ 0 };
    if (size < 0)
        return true;
    if ((size_t)size > reader->left)
        return false;
    *ret_element = (struct wire){ .bytes = reader->at, .size = (size_t)size };
    reader->at += size;
    reader->left -= (size_t)size;
    return true;
}

static bool decode_texts(struct arena *arena, enum db_type type, struct element_reader *reader, struct text_list *ret_list)
{
    const char **items = arena_array(arena, reader->count, sizeof(*items));
    size_t version_bytes = type == DB_JSONB_ARRAY ? 1 : 0;
    for (size_t i = 0; i < reader->count; i++) {
        struct wire element;
        if (!element_next(reader, &element) || (element.bytes != NULL && element.size < version_bytes))
            return false;
        if (element.bytes != NULL)
            items[i] = arena_dup_bytes(arena, element.bytes + version_bytes, element.size - version_bytes);
    }
    *ret_list = (struct text_list){ .items = items, .count = reader->count };
    return true;
}

static bool decode_list(struct arena *arena, enum db_type type, struct wire wire, char *member)
{
    struct element_reader reader;
    if (!element_reader_init(&reader, type, wire))
        return false;
    if (type == DB_TEXT_ARRAY || type == DB_JSONB_ARRAY) {
        struct text_list list;
        if (!decode_texts(arena, type, &reader, &list))
            return false;
        memcpy(member, &list, sizeof(list));
        return true;
    }
    if (type == DB_BOOLEAN_ARRAY) {
        bool *items = arena_array(arena, reader.count, sizeof(*items));
        struct bool_list list = { .items = items, .count = reader.count };
        for (size_t i = 0; i < reader.count; i++) {
            struct wire element;
            if (!element_next(&reader, &element) || element.size != 1)
                return false;
            items[i] = element.bytes[0] != 0;
        }
        memcpy(member, &list, sizeof(list));
        return true;
    }
    int64_t *items = arena_array(arena, reader.count, sizeof(*items));
    struct int_list list = { .items = items, .count = reader.count };
    for (size_t i = 0; i < reader.count; i++) {
        struct wire element;
        if (!element_next(&reader, &element) || element.size != sizeof(int64_t))
            return false;
        int64_t value = wire_get_i64(element.bytes);
        items[i] = type == DB_TIMESTAMPTZ_ARRAY ? wire_time_from_server(value) : value;
    }
    memcpy(member, &list, sizeof(list));
    return true;
}

/* The member is zeroed before, which means SQL NULL in every nullable form. */
static bool decode_field(struct arena *arena, const struct db_field *field, struct wire wire, char *member)
{
    if (wire.bytes == NULL)
        return field->nullable;
    switch (field->type) {
    case DB_BIGINT:
    case DB_INTEGER:
    case DB_FLOAT:
    case DB_BOOLEAN:
    case DB_TIMESTAMPTZ:
        return decode_scalar(field, wire, member);
    case DB_TEXT:
        memcpy(member, &wire.bytes, sizeof(wire.bytes));
        return true;
    case DB_JSONB: {
        if (wire.size < 1 || wire.bytes[0] != WIRE_JSONB_VERSION)
            return false;
        const char *text = wire.bytes + 1;
        memcpy(member, &text, sizeof(text));
        return true;
    }
    case DB_BYTEA: {
        struct bytes value = { .data = (const unsigned char *)wire.bytes, .size = wire.size };
        memcpy(member, &value, sizeof(value));
        return true;
    }
    case DB_BIGINT_ARRAY:
    case DB_TIMESTAMPTZ_ARRAY:
    case DB_TEXT_ARRAY:
    case DB_JSONB_ARRAY:
    case DB_BOOLEAN_ARRAY:
        return decode_list(arena, field->type, wire, member);
    }
    return false;
}

static bool fail_mismatch(const struct db_statement *statement, const char *what, struct error *err)
{
    fail(err, ERR_INTERNAL_ERROR, NULL, "An unexpected error happened.");
    return error_because(err, "statement %s: %s is not as declared", statement->name, what);
}

static bool columns_fit(const struct db_statement *statement, const PGresult *result, struct error *err)
{
    /* A statement without declared columns, such as a lock, may be a SELECT of a function without a result. */
    if (statement->column_count == 0)
        return true;
    if ((size_t)PQnfields(result) != statement->column_count)
        return fail_mismatch(statement, "the number of columns", err);
    for (size_t c = 0; c < statement->column_count; c++) {
        enum db_type type = statement->columns[c].type;
        Oid oid = PQftype(result, (int)c);
        if (oid != db_type_oid(type) && !(type == DB_TEXT && oid == VARCHAR_OID))
            return fail_mismatch(statement, statement->columns[c].name, err);
    }
    return true;
}

static bool points_into_result(const struct db_statement *statement)
{
    for (size_t c = 0; c < statement->column_count; c++) {
        enum db_type type = statement->columns[c].type;
        if (type == DB_TEXT || type == DB_JSONB || type == DB_BYTEA)
            return true;
    }
    return false;
}

static bool decode_rows(struct arena *arena, const struct db_statement *statement, const PGresult *result, struct db_rows *ret_rows,
                        struct error *err)
{
    int count = PQntuples(result);
    if (count > 1 && statement->result == DB_ONE)
        return fail_mismatch(statement, "the number of rows", err);
    if (count == 0)
        return true;
    char *rows = arena_array(arena, (size_t)count, statement->row_size);
    for (int r = 0; r < count; r++) {
        char *row = rows + (size_t)r * statement->row_size;
        for (size_t c = 0; c < statement->column_count; c++) {
            const struct db_field *field = &statement->columns[c];
            struct wire wire = { 0 };
            if (!PQgetisnull(result, r, (int)c))
                wire = (struct wire){ .bytes = PQgetvalue(result, r, (int)c), .size = (size_t)PQgetlength(result, r, (int)c) };
            if (!decode_field(arena, field, wire, row + field->offset))
                return fail_mismatch(statement, field->name, err);
        }
    }
    ret_rows->rows = rows;
    ret_rows->count = (size_t)count;
    return true;
}

static void release_result(void *result)
{
    PQclear(result);
}

bool db_decode(struct arena *arena, const struct db_statement *statement, PGresult *taken, struct db_rows *ret_rows,
               struct error *err)
{
    PG_RESULT_SCOPE result = taken;
    *ret_rows = (struct db_rows){ .affected = strtoll(PQcmdTuples(result), NULL, 10) };
    if (!columns_fit(statement, result, err) || !decode_rows(arena, statement, result, ret_rows, err))
        return false;
    if (ret_rows->count > 0 && points_into_result(statement)) {
        arena_count(arena, PQresultMemorySize(result));
        arena_defer(arena, release_result, TAKE_PTR(result));
    }
    return true;
}
