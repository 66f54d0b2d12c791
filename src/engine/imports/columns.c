#include "engine/imports/columns.h"

#include "base/json_read.h"
#include "base/json_write.h"
#include "base/text.h"

#include <ctype.h>
#include <string.h>

enum { SHOWN_HEADERS = 20, SHOWN_POINTS = 60 };
enum { SHOWN_FAULTS = 50 };

/* Follows the message of the first fault. */
#define MORE_FAULTS " %zu faults in all: details.columns lists them, and details.mapping is a mapping to use."

/* The longest name of a field in UTF-8, with the bytes that json_quote reserves for escapes. */
enum {
    CHARACTER_MAX_BYTES = 4,
    NAME_JSON_MAX_BYTES = FIELD_NAME_MAX_CHARS * CHARACTER_MAX_BYTES * IMPORT_ESCAPE_MAX_BYTES + 2,
};

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

/* ---- Faults ---- */

/* The columns that cannot be imported, collected so that the caller mends all of them at once. */
struct column_faults {
    struct arena *arena;
    const char *param;
    struct error first;
    size_t count;
    json_t *list;    /* [{column, message}], of the first SHOWN_FAULTS */
    json_t *similar; /* header to a similar name for columns whose name is none, or null */
    json_t *mapping; /* the caller's, with a field or null for each column at fault */
};

static void faults_init(struct column_faults *faults, struct arena *arena, const json_t *mapping, const char *param)
{
    *faults = (struct column_faults){
        .arena = arena,
        .param = param,
        .list = json_in_arena(arena, json_array()),
        .similar = json_in_arena(arena, json_object()),
        .mapping = json_in_arena(arena, mapping != NULL ? json_copy(json_for_iteration(mapping)) : json_object()),
    };
}

/* `header` is NULL when the fault concerns no single column. */
static void add_fault(struct column_faults *faults, const char *header, bool is_in_mapping, const char *message)
{
    if (faults->count++ == 0) {
        fail(&faults->first, ERR_INVALID_REQUEST, is_in_mapping ? NULL : faults->param, "%s", message);
        if (is_in_mapping)
            error_set_param(&faults->first, "mapping.%s", header);
    }
    if (json_array_size(faults->list) >= SHOWN_FAULTS)
        return;
    json_t *fault = json_object();
    if (header != NULL)
        json_object_set_new(fault, "column", json_string(header));
    json_object_set_new(fault, "message", json_string(message));
    json_array_append_new(faults->list, fault);
}

/* A field for a column whose name is none: its letters and digits. NULL when they are no name either. */
static const char *similar_name(struct arena *arena, const char *header)
{
    struct error ignored = { .code = ERR_NONE };
    char *letters = arena_dup(arena, header);
    const char *name;
    for (char *at = letters; *at != '\0'; at++)
        if (!isalnum((unsigned char)*at) && (unsigned char)*at < 0x80)
            *at = ' ';
    if (field_name_normalize(arena, letters, &name, &ignored) ||
        field_name_normalize(arena, arena_printf(arena, "column %s", letters), &name, &ignored))
        return name;
    return NULL;
}

/* Suggests a field for the column, or to skip it when `name` is NULL. */
static void suggest(struct column_faults *faults, const char *header, const char *name)
{
    if (json_object_size(faults->mapping) < CSV_MAX_CELLS || json_object_get(faults->mapping, header) != NULL)
        json_object_set_new(faults->mapping, header, name != NULL ? json_string(name) : json_null());
}

/* A column without a similar name, or with that of another column, is skipped. */
static void suggest_similar(struct column_faults *faults, const struct import_columns *columns)
{
    json_t *used = json_in_arena(faults->arena, json_object());
    for (size_t i = 0; i < columns->count; i++)
        if (columns->items[i].name != NULL)
            json_object_set_new(used, columns->items[i].name, json_true());
    const char *header;
    json_t *similar;
    json_object_foreach (faults->similar, header, similar) {
        const char *name = json_string_value(similar);
        bool is_free = name != NULL && json_object_get(used, name) == NULL;
        suggest(faults, header, is_free ? name : NULL);
        if (is_free)
            json_object_set_new(used, name, json_true());
    }
}

/* NULL when they are too large. */
static const char *write_details(const struct column_faults *faults)
{
    struct buf *details = buf_in_arena(faults->arena, ERROR_DETAILS_MAX_BYTES);
    struct json_writer json;
    json_writer_init(&json, details);
    json_object_begin(&json);
    json_member_raw(&json, "columns", json_compact(faults->arena, faults->list));
    json_member_raw(&json, "mapping", json_compact(faults->arena, faults->mapping));
    json_object_end(&json);
    return details->overflowed ? NULL : buf_text(details);
}

static bool refuse_columns(const struct column_faults *faults, struct error *err)
{
    const char *details = write_details(faults);
    *err = faults->first;
    if (details == NULL)
        return false;
    if (faults->count > 1) {
        size_t size = strlen(err->message);
        snprintf(err->message + size, sizeof(err->message) - size, MORE_FAULTS, faults->count);
    }
    return error_with_details(err, details);
}

/* ---- Columns ---- */

/* The field that the caller's mapping gives to a column. */
static void read_mapped(struct column_faults *faults, struct import_column *column, const json_t *mapped)
{
    struct error error = { .code = ERR_NONE };
    const char *wanted = json_string_value(mapped);
    if (wanted != NULL && name_column(faults->arena, column, wanted, &error))
        return;
    column->kind = COLUMN_SKIP;
    column->name = NULL;
    add_fault(faults, column->header, true,
              wanted != NULL ? error.message : "A mapping value must be a field name, or null to skip the column.");
    const char *similar = wanted != NULL ? similar_name(faults->arena, wanted) : NULL;
    json_object_set_new(faults->similar, column->header, similar != NULL ? json_string(similar) : json_null());
}

static void refuse_header(struct column_faults *faults, struct import_column *column, const char *why)
{
    column->kind = COLUMN_SKIP;
    column->name = NULL;
    const char *message = arena_printf(
        faults->arena, "The column \"%s\" cannot be a field: %s Map it to another field in mapping, or to null to skip it.",
        text_visible(faults->arena, column->header, SHOWN_POINTS), why);
    add_fault(faults, column->header, false, message);
    const char *similar = similar_name(faults->arena, column->header);
    json_object_set_new(faults->similar, column->header, similar != NULL ? json_string(similar) : json_null());
}

/* Chooses the field of a column: by the caller's mapping, else by its header. */
static void read_column(struct column_faults *faults, struct import_columns *columns, size_t index, const json_t *mapping)
{
    struct import_column *column = &columns->items[index];
    const json_t *mapped = json_object_get(mapping, column->header);
    struct error error = { .code = ERR_NONE };
    if (json_is_null(mapped) || is_error_file_header(column->header))
        return;
    if (mapped != NULL) {
        read_mapped(faults, column, mapped);
        return;
    }
    if (column->header[0] == '\0') {
        import_warn(columns, "COLUMN_SKIPPED", NULL,
                    arena_printf(faults->arena, "Column %zu has no name and was skipped.", index + 1));
        return;
    }
    column->kind = core_kind_of_header(column->header);
    column->name = core_names[column->kind];
    if (column->kind != COLUMN_SKIP)
        return;
    column->kind = COLUMN_CUSTOM;
    if (!field_name_normalize(faults->arena, column->header, &column->name, &error))
        refuse_header(faults, column, error.message);
    else if (strcmp(column->name, column->header) != 0)
        warn_renamed(columns, column);
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

/* A column whose name differs from the wanted one in case and white space only; NULL when there is none. */
static const char *similar_header(struct arena *arena, const struct import_columns *columns, const char *wanted)
{
    const char *lower = text_lower(arena, text_trim(arena, wanted));
    for (size_t i = 0; i < columns->count; i++)
        if (strcmp(text_lower(arena, columns->items[i].header), lower) == 0)
            return columns->items[i].header;
    return NULL;
}

static void check_mapping(struct column_faults *faults, const struct import_columns *columns, const json_t *mapping)
{
    json_t *known = json_in_arena(faults->arena, json_object());
    for (size_t i = 0; i < columns->count; i++)
        json_object_set_new(known, columns->items[i].header, json_true());
    const char *header;
    json_t *value;
    json_object_foreach (json_for_iteration(mapping), header, value) {
        if (json_object_get(known, header) != NULL)
            continue;
        bool is_shown = json_array_size(faults->list) < SHOWN_FAULTS;
        const char *similar = is_shown ? similar_header(faults->arena, columns, header) : NULL;
        add_fault(
            faults, header, true,
            arena_printf(faults->arena, "The file has no such column. The columns are: %s.", list_headers(faults->arena, columns)));
        json_object_del(faults->mapping, header);
        if (similar != NULL && json_object_get(mapping, similar) == NULL)
            json_object_set(faults->mapping, similar, value);
    }
}

/* The later of two columns for one field is at fault. A mapping cannot tell columns of the same name apart. */
static void check_duplicates(struct column_faults *faults, struct import_columns *columns)
{
    json_t *first = json_in_arena(faults->arena, json_object());
    for (size_t i = 0; i < columns->count; i++) {
        struct import_column *column = &columns->items[i];
        if (column->name == NULL)
            continue;
        const json_t *at = json_object_get(first, column->name);
        if (at == NULL) {
            json_object_set_new(first, column->name, json_integer((json_int_t)i));
            continue;
        }
        const struct import_column *other = &columns->items[json_integer_value(at)];
        const char *message =
            arena_printf(faults->arena, "Columns %zu (\"%s\") and %zu (\"%s\") both map to the field %s.",
                         (size_t)json_integer_value(at) + 1, text_visible(faults->arena, other->header, SHOWN_POINTS), i + 1,
                         text_visible(faults->arena, column->header, SHOWN_POINTS), column->name);
        add_fault(faults, column->header, false, message);
        if (strcmp(column->header, other->header) != 0)
            suggest(faults, column->header, NULL);
    }
}

static void check_email_column(struct column_faults *faults, const struct import_columns *columns, size_t likely_email)
{
    for (size_t i = 0; i < columns->count; i++)
        if (columns->items[i].kind == COLUMN_EMAIL)
            return;
    add_fault(faults, NULL, false,
              arena_printf(faults->arena, "No column contains the email address. The columns are: %s.",
                           list_headers(faults->arena, columns)));
    if (likely_email < columns->count)
        suggest(faults, columns->items[likely_email].header, core_names[COLUMN_EMAIL]);
}

static bool read_headers(struct arena *arena, const struct csv_row *header, const char *param, struct import_columns *columns,
                         struct error *err)
{
    if (header->count > CSV_MAX_CELLS)
        return fail(err, ERR_INVALID_REQUEST, param, "Line %lld has %zu columns; an import can have at most %d.",
                    (long long)header->line, header->count, CSV_MAX_CELLS);
    *columns = (struct import_columns){
        .items = arena_array(arena, header->count, sizeof(struct import_column)),
        .count = header->count,
        .warnings = json_in_arena(arena, json_array()),
    };
    for (size_t i = 0; i < columns->count; i++) {
        if (header->cells[i].size > IMPORT_HEADER_MAX_BYTES)
            return fail(err, ERR_INVALID_REQUEST, param, "The name of column %zu is longer than %d bytes.", i + 1,
                        IMPORT_HEADER_MAX_BYTES);
        columns->items[i].header = text_trim(arena, header->cells[i].text);
    }
    return true;
}

bool import_columns_read(struct arena *arena, const struct csv_row *header, const json_t *mapping, size_t likely_email,
                         const char *param, struct import_columns *ret_columns, struct error *err)
{
    struct import_columns columns;
    struct column_faults faults;
    if (!read_headers(arena, header, param, &columns, err))
        return false;
    faults_init(&faults, arena, mapping, param);
    check_mapping(&faults, &columns, mapping);
    for (size_t i = 0; i < columns.count; i++)
        read_column(&faults, &columns, i, mapping);
    check_duplicates(&faults, &columns);
    suggest_similar(&faults, &columns);
    check_email_column(&faults, &columns, likely_email);
    if (faults.count > 0)
        return refuse_columns(&faults, err);
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

struct text_list import_columns_custom(struct arena *arena, const struct import_columns *columns)
{
    const char **names = arena_array(arena, columns->count + 1, sizeof(*names));
    size_t count = 0;
    for (size_t i = 0; i < columns->count; i++)
        if (columns->items[i].kind == COLUMN_CUSTOM)
            names[count++] = columns->items[i].name;
    return (struct text_list){ names, count };
}

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
