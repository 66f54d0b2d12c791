#include "engine/imports/plan.h"

#include "base/json_read.h"
#include "base/text.h"
#include "sql/fields.h"

#include <stdlib.h>
#include <string.h>

/* A plan has the longest names of CSV_MAX_CELLS columns several times, with escapes. */
enum { PLAN_JSON_MAX_BYTES = 8 * 1024 * 1024, SNIFF_MAX_BYTES = 4 * CSV_BLOCK_BYTES, ADDRESS_SAMPLE_ROWS = 20 };

/* The state while the plan is made from the beginning of the text. */
struct plan_builder {
    const struct work *work;
    const struct import_source *source;
    const char *param;
    struct import_plan *plan;
    struct column_sample samples[CSV_MAX_CELLS];
    bool saw_all;
    bool is_preview; /* defines no fields */
};

/* ---- The encoding ---- */

/* Detects a spreadsheet workbook, which is a frequent mistake. */
static bool check_signature(const struct bytes *first, const char *param, struct error *err)
{
    static const char zip[] = "PK\x03\x04";
    static const char compound[] = "\xD0\xCF\x11\xE0";
    if (first->size == 0)
        return fail(err, ERR_INVALID_REQUEST, param, "The CSV text is empty.");
    if (first->size > strlen(zip) &&
        (memcmp(first->data, zip, strlen(zip)) == 0 || memcmp(first->data, compound, strlen(compound)) == 0))
        return fail(err, ERR_INVALID_REQUEST, param, "The file is a workbook or an archive, not CSV. Save it as CSV first.");
    return true;
}

/* Detects the charset. The first block with a byte that is not ASCII decides; a pure ASCII file is UTF-8. */
static bool find_charset(struct plan_builder *builder, const struct bytes *first, size_t *ret_mark_bytes, struct error *err)
{
    struct import_plan *plan = builder->plan;
    plan->charset = charset_of_mark(first->data, first->size, ret_mark_bytes);
    if (*ret_mark_bytes > 0 || builder->source->fd < 0)
        return true;
    unsigned char *buffer = arena_alloc(builder->work->arena, CSV_BLOCK_BYTES);
    struct bytes block = *first;
    for (int64_t offset = (int64_t)first->size; !charset_is_detectable(block.data, block.size) && block.size > 0;
         offset += (int64_t)block.size)
        if (!import_source_read(builder->source, builder->work->arena, offset, buffer, CSV_BLOCK_BYTES, &block, err))
            return false;
    plan->charset = charset_guess(block.data, block.size);
    return true;
}

static bool find_dialect(struct plan_builder *builder, struct error *err)
{
    struct import_plan *plan = builder->plan;
    ARENA_SCOPE arena = arena_new(0);
    BUF_SCOPE text;
    buf_init(&text, SNIFF_MAX_BYTES);
    struct bytes first;
    size_t mark_bytes;
    unsigned char *buffer = arena_alloc(arena, CSV_BLOCK_BYTES);
    if (!import_source_read(builder->source, arena, 0, buffer, CSV_BLOCK_BYTES, &first, err) ||
        !check_signature(&first, builder->param, err) || !find_charset(builder, &first, &mark_bytes, err))
        return false;
    bool is_whole = (int64_t)first.size == builder->source->file.size_bytes;
    charset_decode(plan->charset, first.data + mark_bytes, first.size - mark_bytes, is_whole, &text);
    struct csv_dialect dialect = csv_sniff(buf_text(&text), text.size, is_whole);
    plan->delimiter = dialect.delimiter;
    plan->data_offset = (int64_t)(mark_bytes + charset_encoded_bytes(plan->charset, buf_text(&text), dialect.skip_bytes));
    plan->data_line = dialect.skip_bytes > 0 ? 2 : 1;
    return true;
}

/* ---- The header and the first rows ---- */

/* The column in which most of the first rows have an address; SIZE_MAX when there is none. Only for a suggestion. */
static size_t find_address_column(const struct plan_builder *builder)
{
    const struct import_plan *plan = builder->plan;
    size_t counts[CSV_MAX_CELLS] = { 0 };
    size_t best = SIZE_MAX;
    struct error ignored = { .code = ERR_NONE };
    struct csv_row row;
    bool got = true;
    IMPORT_READING_SCOPE reading;
    import_reading_begin(&reading, builder->source, plan->charset, plan->delimiter, plan->data_offset, plan->data_line);
    for (size_t rows = 0; rows < ADDRESS_SAMPLE_ROWS && import_reading_next(&reading, &got, &row, &ignored) && got; rows++)
        for (size_t i = 0; i < row.count && i < CSV_MAX_CELLS && row.fault == CSV_FINE; i++)
            counts[i] += strchr(row.cells[i].text, '@') != NULL;
    for (size_t i = 0; i < CSV_MAX_CELLS; i++)
        if (counts[i] > (best != SIZE_MAX ? counts[best] : 0))
            best = i;
    return best;
}

/* Columns at fault are read again with the column that looks like addresses, which the refusal then suggests. */
static bool read_columns(struct plan_builder *builder, const struct csv_row *row, const json_t *mapping, struct error *err)
{
    struct arena *arena = builder->work->arena;
    struct import_columns *columns = &builder->plan->columns;
    if (import_columns_read(arena, row, mapping, SIZE_MAX, builder->param, columns, err))
        return true;
    error_clear(err);
    return import_columns_read(arena, row, mapping, find_address_column(builder), builder->param, columns, err);
}

static bool read_header_row(struct plan_builder *builder, struct import_reading *reading, const json_t *mapping, struct error *err)
{
    struct arena *arena = builder->work->arena;
    struct csv_row row;
    bool got;
    do {
        if (!import_reading_next(reading, &got, &row, err))
            return false;
    } while (got && row.is_blank);
    if (!got)
        return fail(err, ERR_INVALID_REQUEST, builder->param, "The CSV text is empty.");
    if (row.fault != CSV_FINE)
        return fail(err, ERR_INVALID_REQUEST, builder->param, "%s", import_fault_message(arena, &row));
    if (!read_columns(builder, &row, mapping, err))
        return false;
    builder->plan->data_offset = reading->csv.offset;
    builder->plan->data_line = reading->csv.line;
    return true;
}

static bool sample_rows(struct plan_builder *builder, struct import_reading *reading, struct error *err)
{
    const struct import_columns *columns = &builder->plan->columns;
    ARENA_SCOPE arena = arena_new(0);
    for (size_t rows = 0; rows < IMPORT_SAMPLE_ROWS; rows++) {
        struct csv_row row;
        bool got;
        if (!import_reading_next(reading, &got, &row, err))
            return false;
        builder->saw_all = !got;
        if (!got)
            return true;
        arena_reset(arena);
        for (size_t i = 0; i < columns->count && i < row.count && row.fault == CSV_FINE; i++) {
            if (columns->items[i].kind != COLUMN_CUSTOM)
                continue;
            const char *cell = text_trim(arena, row.cells[i].text);
            if (cell[0] != '\0')
                column_sample_add(&builder->samples[i], cell);
        }
    }
    return true;
}

static bool read_sample(struct plan_builder *builder, const json_t *mapping, struct error *err)
{
    struct import_plan *plan = builder->plan;
    IMPORT_READING_SCOPE reading;
    import_reading_begin(&reading, builder->source, plan->charset, plan->delimiter, plan->data_offset, plan->data_line);
    return read_header_row(builder, &reading, mapping, err) && sample_rows(builder, &reading, err);
}

/* ---- Types ---- */

static bool find_defined(const struct work *work, json_t **ret_types, struct error *err)
{
    struct contact_fields_find_params params = { .brand_id = work->brand_id };
    struct contact_fields_find_row *rows;
    size_t count;
    if (!sql_contact_fields_find(work->conn, work->arena, &params, &rows, &count, err))
        return false;
    json_t *types = json_in_arena(work->arena, json_object());
    for (size_t i = 0; i < count; i++)
        json_object_set_new(types, rows[i].name,
                            json_integer(rows[i].is_leaving ? FIELD_NONE : field_type_from_name(rows[i].type)));
    *ret_types = types;
    return true;
}

/* Uses the type of the existing field, else the type of the first values. A column without any value in the whole text is
 * skipped. */
static void choose_type(const struct plan_builder *builder, size_t index, const json_t *defined)
{
    struct import_column *column = &builder->plan->columns.items[index];
    bool decimal_comma;
    enum field_type seen = column_sample_type(&builder->samples[index], builder->plan->delimiter, &decimal_comma);
    enum field_type own = (enum field_type)json_get_int(defined, column->name, FIELD_NONE);
    if (seen == FIELD_NONE && own == FIELD_NONE && builder->saw_all) {
        column->kind = COLUMN_SKIP;
        column->name = NULL;
        return;
    }
    if (seen == FIELD_NONE)
        seen = FIELD_STRING;
    column->decimal_comma = decimal_comma;
    import_column_set_type(builder->work->arena, column, own != FIELD_NONE ? own : seen);
}

static bool refuse_field_count(const struct plan_builder *builder, size_t count, struct error *err)
{
    return fail(err, ERR_INVALID_REQUEST, builder->param,
                "A brand can have at most %d custom fields; this import needs %zu more. Skip columns with mapping.",
                FIELDS_MAX_PER_BRAND, count);
}

/* Defines the fields that the brand does not have. If another transaction defines the same field first, its type counts. */
static bool define_fields(struct plan_builder *builder, const json_t *defined, struct error *err)
{
    static const char *const type_names[] = {
        [FIELD_NONE] = "", [FIELD_STRING] = "string", [FIELD_NUMBER] = "number", [FIELD_DATE] = "date", [FIELD_BOOL] = "bool",
    };
    const struct work *work = builder->work;
    const struct import_columns *columns = &builder->plan->columns;
    const char **names = arena_array(work->arena, columns->count, sizeof(*names));
    const char **types = arena_array(work->arena, columns->count, sizeof(*types));
    size_t count = 0;
    for (size_t i = 0; i < columns->count; i++) {
        if (columns->items[i].kind != COLUMN_CUSTOM || json_object_get(defined, columns->items[i].name) != NULL)
            continue;
        names[count] = columns->items[i].name;
        types[count++] = type_names[columns->items[i].type];
    }
    if (count == 0)
        return true;
    if (builder->is_preview) {
        size_t own = json_object_size(defined);
        size_t room = own < FIELDS_MAX_PER_BRAND ? FIELDS_MAX_PER_BRAND - own : 0;
        builder->plan->fields_created = (struct text_list){ names, count };
        return count <= room || refuse_field_count(builder, count - room, err);
    }
    struct contact_fields_define_params params = {
        .brand_id = work->brand_id,
        .names = { names, count },
        .types = { types, count },
        .max_fields = FIELDS_MAX_PER_BRAND,
        .now = work->now_us,
    };
    struct contact_fields_define_row *created;
    size_t created_count;
    if (!sql_contact_fields_define(work->conn, work->arena, &params, &created, &created_count, err))
        return false;
    if (json_object_size(defined) + created_count < FIELDS_MAX_PER_BRAND || created_count == count) {
        const char **list = arena_array(work->arena, created_count, sizeof(*list));
        for (size_t i = 0; i < created_count; i++)
            list[i] = created[i].name;
        builder->plan->fields_created = (struct text_list){ list, created_count };
        return true;
    }
    return refuse_field_count(builder, count - created_count, err);
}

static bool apply_defined_types(struct plan_builder *builder, struct error *err)
{
    json_t *defined;
    if (!find_defined(builder->work, &defined, err))
        return false;
    for (size_t i = 0; i < builder->plan->columns.count; i++) {
        struct import_column *column = &builder->plan->columns.items[i];
        if (column->kind != COLUMN_CUSTOM)
            continue;
        enum field_type type = (enum field_type)json_get_int(defined, column->name, FIELD_NONE);
        if (type != FIELD_NONE)
            column->type = type;
    }
    return true;
}

/* Refuses a column whose field is being deleted. */
static bool check_leaving(const struct plan_builder *builder, const struct import_column *column, const json_t *defined,
                          struct error *err)
{
    if (json_object_get(defined, column->name) == NULL || json_get_int(defined, column->name, FIELD_NONE) != FIELD_NONE)
        return true;
    return fail(err, ERR_INVALID_REQUEST, builder->param, "The field %s is being deleted. Import it when its deletion has ended.",
                column->name);
}

static bool resolve_types(struct plan_builder *builder, struct error *err)
{
    json_t *defined;
    if (!find_defined(builder->work, &defined, err))
        return false;
    for (size_t i = 0; i < builder->plan->columns.count; i++) {
        const struct import_column *column = &builder->plan->columns.items[i];
        if (column->kind != COLUMN_CUSTOM)
            continue;
        if (!check_leaving(builder, column, defined, err))
            return false;
        choose_type(builder, i, defined);
    }
    return define_fields(builder, defined, err) && apply_defined_types(builder, err);
}

static bool make_plan(const struct work *work, const struct import_source *source, const json_t *mapping, const char *param,
                      bool is_preview, struct import_plan *ret_plan, struct error *err)
{
    *ret_plan = (struct import_plan){ .fields_created = { .items = arena_alloc(work->arena, sizeof(char *)) } };
    struct plan_builder *builder = arena_alloc(work->arena, sizeof(*builder));
    *builder = (struct plan_builder){ .work = work, .source = source, .param = param, .plan = ret_plan, .is_preview = is_preview };
    if (!find_dialect(builder, err) || !read_sample(builder, mapping, err) || !resolve_types(builder, err))
        return false;
    if (ret_plan->charset == CHARSET_WINDOWS_1252)
        import_warn(&ret_plan->columns, "ENCODING_ASSUMED", NULL, "The file is not UTF-8; it was read as Windows-1252.");
    return true;
}

bool import_plan_make(const struct work *work, const struct import_source *source, const json_t *mapping, const char *param,
                      struct import_plan *ret_plan, struct error *err)
{
    return make_plan(work, source, mapping, param, false, ret_plan, err);
}

bool import_plan_preview(const struct work *work, const struct import_source *source, const json_t *mapping, const char *param,
                         struct import_plan *ret_plan, struct error *err)
{
    return make_plan(work, source, mapping, param, true, ret_plan, err);
}

/* ---- Stored plan ---- */

char *import_plan_json(struct arena *arena, const struct import_plan *plan)
{
    char delimiter[] = { plan->delimiter, '\0' };
    json_t *json = json_in_arena(arena, json_object());
    json_object_set_new(json, "charset", json_string(charset_name(plan->charset)));
    json_object_set_new(json, "delimiter", json_string(delimiter));
    json_object_set_new(json, "dataOffset", json_integer(plan->data_offset));
    json_object_set_new(json, "dataLine", json_integer(plan->data_line));
    json_object_set_new(json, "columns", import_columns_json(&plan->columns));
    return json_compact(arena, json);
}

bool import_plan_load(struct arena *arena, const char *text, struct import_plan *ret_plan, struct error *err)
{
    const json_t *json;
    struct json_bounds bounds = { .max_bytes = PLAN_JSON_MAX_BYTES };
    if (!json_read(arena, text, strlen(text), bounds, &json, err))
        return false;
    const char *charset = json_get_text(json, "charset");
    const char *delimiter = json_get_text(json, "delimiter");
    *ret_plan = (struct import_plan){
        .charset = charset_from_name(charset != NULL ? charset : ""),
        .delimiter = delimiter != NULL ? delimiter[0] : ',',
        .data_offset = json_get_int(json, "dataOffset", 0),
        .data_line = json_get_int(json, "dataLine", 1),
    };
    if (import_columns_load(arena, json_object_get(json, "columns"), &ret_plan->columns))
        return true;
    fail(err, ERR_INTERNAL_ERROR, NULL, "An unexpected error happened.");
    return error_because(err, "the plan of an import cannot be read");
}
