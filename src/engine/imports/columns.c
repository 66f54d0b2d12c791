#include "engine/imports/columns.h"

#include "base/json_read.h"
#include "base/text.h"

#include <string.h>

enum { SHOWN_HEADERS = 20, SHOWN_POINTS = 60, HEADER_MAX_BYTES = 512, NAME_JSON_MAX_BYTES = 1024 };

static const char *const core_names[COLUMN_KIND_COUNT] = {
    [COLUMN_EMAIL] = "email",    [COLUMN_FIRST_NAME] = "firstName", [COLUMN_LAST_NAME] = "lastName",
    [COLUMN_USER_ID] = "userId", [COLUMN_SOURCE] = "source",        [COLUMN_SUBSCRIBED] = "subscribed",
};

/* Headers of core fields, in lower case and reduced to letters and digits (D-82 of schemas/rules.json). */
static const struct {
    const char *spelling;
    enum column_kind kind;
} spellings[] = {
    { "email", COLUMN_EMAIL },           { "emailaddress", COLUMN_EMAIL },   { "mail", COLUMN_EMAIL },
    { "mailaddress", COLUMN_EMAIL },     { "emailadresse", COLUMN_EMAIL },   { "firstname", COLUMN_FIRST_NAME },
    { "givenname", COLUMN_FIRST_NAME },  { "forename", COLUMN_FIRST_NAME },  { "vorname", COLUMN_FIRST_NAME },
    { "lastname", COLUMN_LAST_NAME },    { "familyname", COLUMN_LAST_NAME }, { "surname", COLUMN_LAST_NAME },
    { "nachname", COLUMN_LAST_NAME },    { "userid", COLUMN_USER_ID },       { "source", COLUMN_SOURCE },
    { "subscribed", COLUMN_SUBSCRIBED },
};

/* The extra columns of the error file. They are skipped, so that a corrected error file can be imported unchanged. */
static const char *const error_file_headers[] = { "importLine", "importError" };

/* ---- Names ---- */

static enum column_kind core_kind_of_header(const char *header)
{
    char letters[64];
    size_t size = 0;
    for (const char *at = header; *at != '\0'; at++) {
        bool is_upper = *at >= 'A' && *at <= 'Z';
        bool is_kept = is_upper || (*at >= 'a' && *at <= 'z') || (*at >= '0' && *at <= '9') || (unsigned char)*at >= 0x80;
        if (is_kept && size + 1 < sizeof(letters))
            letters[size++] = (char)(is_upper ? *at + ('a' - 'A') : *at);
    }
    letters[size] = '\0';
    for (size_t i = 0; i < ARRAY_COUNT(spellings); i++)
        if (strcmp(spellings[i].spelling, letters) == 0)
            return spellings[i].kind;
    return COLUMN_SKIP;
}

static enum column_kind core_kind_of_name(const char *name)
{
    for (enum column_kind kind = COLUMN_EMAIL; kind <= COLUMN_SUBSCRIBED; kind++)
        if (strcmp(core_names[kind], name) == 0)
            return kind;
    return COLUMN_SKIP;
}

static bool is_error_file_header(const char *header)
{
    for (size_t i = 0; i < ARRAY_COUNT(error_file_headers); i++)
        if (strcmp(error_file_headers[i], header) == 0)
            return true;
    return false;
}

static void warn_renamed(struct import_columns *columns, const struct import_column *column)
{
    json_t *warning = json_object();
    json_object_set_new(warning, "code", json_string("FIELD_NAME_NORMALIZED"));
    json_object_set_new(warning, "field", json_string(column->name));
    json_object_set_new(warning, "message", json_string("The field name was changed to camelCase."));
    json_object_set_new(warning, "original", json_string(column->header));
    json_object_set_new(warning, "normalized", json_string(column->name));
    json_array_append_new(columns->warnings, warning);
}

void import_warn(struct import_columns *columns, const char *code, const char *field, const char *message)
{
    json_t *warning = json_object();
    json_object_set_new(warning, "code", json_string(code));
    if (field != NULL)
        json_object_set_new(warning, "field", json_string(field));
    json_object_set_new(warning, "message", json_string(message));
    json_array_append_new(columns->warnings, warning);
}

static bool name_column(struct arena *arena, struct import_column *column, const char *wanted, struct error *err)
{
    column->kind = core_kind_of_name(wanted);
    column->name = wanted;
    if (column->kind != COLUMN_SKIP)
        return true;
    column->kind = COLUMN_CUSTOM;
    return field_name_normalize(arena, wanted, &column->name, err);
}

static bool name_mapping(const char *header, struct error *err)
{
    error_param_prefix(err, header);
    error_param_prefix(err, "mapping");
    return false;
}

/* Chooses the field of a column: by the caller's mapping, else by its header. */
static bool read_column(struct arena *arena, struct import_columns *columns, struct import_column *column, size_t index,
                        const json_t *mapping, const char *param, struct error *err)
{
    const json_t *mapped = json_object_get(mapping, column->header);
    struct error error = { .code = ERR_NONE };
    if (json_is_null(mapped) || is_error_file_header(column->header))
        return true;
    if (mapped != NULL) {
        if (json_is_string(mapped) && name_column(arena, column, json_string_value(mapped), &error))
            return true;
        fail(err, ERR_INVALID_REQUEST, NULL, "%s",
             json_is_string(mapped) ? error.message : "A mapping value must be a field name, or null to skip the column.");
        return name_mapping(column->header, err);
    }
    if (column->header[0] == '\0') {
        import_warn(columns, "COLUMN_SKIPPED", NULL, arena_printf(arena, "Column %zu has no name and was skipped.", index + 1));
        return true;
    }
    column->kind = core_kind_of_header(column->header);
    column->name = core_names[column->kind];
    if (column->kind != COLUMN_SKIP)
        return true;
    column->kind = COLUMN_CUSTOM;
    if (!field_name_normalize(arena, column->header, &column->name, &error))
        return fail(err, ERR_INVALID_REQUEST, param,
                    "The column \"%s\" cannot be a field: %s Map it to another field in mapping, or to null to skip it.",
                    text_visible(arena, column->header, SHOWN_POINTS), error.message);
    if (strcmp(column->name, column->header) != 0)
        warn_renamed(columns, column);
    return true;
}

/* ---- The header row ---- */

static const char *list_headers(struct arena *arena, const struct import_columns *columns)
{
    const char *list = "";
    for (size_t i = 0; i < columns->count && i < SHOWN_HEADERS; i++)
        list =
            arena_printf(arena, "%s%s\"%s\"", list, i > 0 ? ", " : "", text_visible(arena, columns->items[i].header, SHOWN_POINTS));
    return columns->count > SHOWN_HEADERS ? arena_printf(arena, "%s, …", list) : list;
}

static bool check_mapping(struct arena *arena, const struct import_columns *columns, const json_t *mapping, struct error *err)
{
    const char *header;
    json_t *ignored;
    json_object_foreach (json_for_iteration(mapping), header, ignored) {
        bool known = false;
        for (size_t i = 0; i < columns->count && !known; i++)
            known = strcmp(columns->items[i].header, header) == 0;
        if (known)
            continue;
        fail(err, ERR_INVALID_REQUEST, NULL, "The file has no such column. The columns are: %s.", list_headers(arena, columns));
        return name_mapping(header, err);
    }
    return true;
}

static bool check_duplicates(struct arena *arena, const struct import_columns *columns, const char *param, struct error *err)
{
    for (size_t i = 0; i < columns->count; i++)
        for (size_t j = 0; j < i && columns->items[i].name != NULL; j++)
            if (columns->items[j].name != NULL && strcmp(columns->items[i].name, columns->items[j].name) == 0)
                return fail(err, ERR_INVALID_REQUEST, param, "Columns %zu (\"%s\") and %zu (\"%s\") both map to the field %s.",
                            j + 1, text_visible(arena, columns->items[j].header, SHOWN_POINTS), i + 1,
                            text_visible(arena, columns->items[i].header, SHOWN_POINTS), columns->items[i].name);
    return true;
}

static bool check_email_column(struct arena *arena, const struct import_columns *columns, const char *param, struct error *err)
{
    for (size_t i = 0; i < columns->count; i++)
        if (columns->items[i].kind == COLUMN_EMAIL)
            return true;
    return fail(err, ERR_INVALID_REQUEST, param, "No column contains the email address. The columns are: %s.",
                list_headers(arena, columns));
}

bool import_columns_read(struct arena *arena, const struct csv_row *header, const json_t *mapping, const char *param,
                         struct import_columns *ret_columns, struct error *err)
{
    if (header->count > CSV_MAX_CELLS)
        return fail(err, ERR_INVALID_REQUEST, param, "Line %lld has %zu columns; an import can have at most %d.",
                    (long long)header->line, header->count, CSV_MAX_CELLS);
    struct import_columns columns = {
        .items = arena_array(arena, header->count, sizeof(struct import_column)),
        .count = header->count,
        .warnings = json_in_arena(arena, json_array()),
    };
    for (size_t i = 0; i < columns.count; i++) {
        if (header->cells[i].size > HEADER_MAX_BYTES)
            return fail(err, ERR_INVALID_REQUEST, param, "The name of column %zu is longer than %d bytes.", i + 1,
                        HEADER_MAX_BYTES);
        columns.items[i].header = text_trim(arena, header->cells[i].text);
    }
    if (!check_mapping(arena, &columns, mapping, err))
        return false;
    for (size_t i = 0; i < columns.count; i++)
        if (!read_column(arena, &columns, &columns.items[i], i, mapping, param, err))
            return false;
    if (!check_duplicates(arena, &columns, param, err) || !check_email_column(arena, &columns, param, err))
        return false;
    *ret_columns = columns;
    return true;
}

void import_column_set_type(struct arena *arena, struct import_column *column, enum field_type type)
{
    BUF_SCOPE key;
    buf_init(&key, NAME_JSON_MAX_BYTES);
    json_quote(&key, column->name, strlen(column->name));
    column->type = type;
    column->json_key = arena_printf(arena, "%s:", buf_text(&key));
}

/* ---- Stored columns ---- */

json_t *import_columns_json(const struct import_columns *columns)
{
    json_t *list = json_array();
    for (size_t i = 0; i < columns->count; i++) {
        const struct import_column *column = &columns->items[i];
        json_t *item = json_object();
        json_object_set_new(item, "kind", json_integer(column->kind));
        json_object_set_new(item, "header", json_string(column->header));
        if (column->name != NULL)
            json_object_set_new(item, "name", json_string(column->name));
        json_object_set_new(item, "type", json_integer(column->type));
        json_object_set_new(item, "decimalComma", json_boolean(column->decimal_comma));
        json_array_append_new(list, item);
    }
    json_t *json = json_object();
    json_object_set_new(json, "list", list);
    json_object_set(json, "warnings", columns->warnings);
    return json;
}

bool import_columns_load(struct arena *arena, const json_t *json, struct import_columns *ret_columns)
{
    const json_t *list = json_object_get(json, "list");
    struct import_columns columns = {
        .items = arena_array(arena, json_array_size(list), sizeof(struct import_column)),
        .count = json_array_size(list),
        .warnings = json_object_get(json, "warnings"),
    };
    for (size_t i = 0; i < columns.count; i++) {
        const json_t *item = json_array_get(list, i);
        struct import_column *column = &columns.items[i];
        int64_t kind = json_get_int(item, "kind", -1);
        int64_t type = json_get_int(item, "type", -1);
        column->header = json_get_text(item, "header");
        column->name = json_get_text(item, "name");
        bool is_known = kind >= 0 && kind < COLUMN_KIND_COUNT && type >= FIELD_NONE && type <= FIELD_BOOL;
        if (!is_known || column->header == NULL || (column->name == NULL && kind != COLUMN_SKIP))
            return false;
        column->kind = (enum column_kind)kind;
        column->decimal_comma = json_get_bool(item, "decimalComma", false);
        if (column->kind == COLUMN_CUSTOM)
            import_column_set_type(arena, column, (enum field_type)type);
    }
    *ret_columns = columns;
    return columns.count > 0 && json_is_array(columns.warnings);
}
