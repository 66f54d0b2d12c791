#include "engine/fields/fields.h"

#include "base/nearest.h"
#include "base/text.h"
#include "db/advisory_locks.h"
#include "sql/fields.h"

#include <string.h>

static const struct {
    const char *name;
    const char *type;
} core_fields[] = {
    { "email", "string" },  { "firstName", "string" }, { "lastName", "string" },
    { "userId", "string" }, { "source", "string" },    { "subscribed", "bool" },
};

/* ---- Listing ---- */

static void write_field(const char *name, const char *type, bool is_core, struct json_writer *json)
{
    json_object_begin(json);
    json_member_text(json, "fieldName", name);
    json_member_text(json, "fieldType", type);
    json_member_bool(json, "isCore", is_core);
    json_object_end(json);
}

/* A brand has few fields, so every page reads all of them and selects by offset. */
bool field_list(const struct work *work, int64_t limit, const char *cursor, struct json_writer *json, struct error *err)
{
    static const char binding[] = "fields.list";
    struct contact_fields_find_params params = { .brand_id = work->brand_id };
    struct contact_fields_find_row *custom;
    size_t offset;
    size_t count;
    if (!page_offset_read(work, binding, cursor, &offset, err) ||
        !sql_contact_fields_find(work->conn, work->arena, &params, &custom, &count, err))
        return false;
    size_t core_count = ARRAY_COUNT(core_fields);
    struct page page = page_offset_begin(json, limit, offset, core_count + count);
    while (page_next_row(&page)) {
        size_t i = offset + page.shown - 1;
        if (i < core_count)
            write_field(core_fields[i].name, core_fields[i].type, true, json);
        else
            write_field(custom[i - core_count].name, custom[i - core_count].type, false, json);
    }
    page_offset_end(&page, work, binding, offset);
    return true;
}

/* ---- Describing ---- */

/* The core fields and the custom fields, in the order of a list. */
struct field_row {
    const char *name;
    const char *type;
    bool is_core;
};

static bool has_frequent_values(const struct field_row *field)
{
    return field->is_core ? strcmp(field->name, "source") == 0 : field_type_from_name(field->type) == FIELD_STRING;
}

static const struct field_row *all_fields(struct arena *arena, const struct contact_fields_find_row *custom, size_t count)
{
    size_t core_count = ARRAY_COUNT(core_fields);
    struct field_row *rows = arena_array(arena, core_count + count, sizeof(*rows));
    for (size_t i = 0; i < core_count; i++)
        rows[i] = (struct field_row){ core_fields[i].name, core_fields[i].type, true };
    for (size_t i = 0; i < count; i++)
        rows[core_count + i] = (struct field_row){ custom[i].name, custom[i].type, false };
    return rows;
}

static bool find_values(const struct work *work, const struct field_row *fields, size_t count,
                        struct contact_field_values_row **ret_values, size_t *ret_count, struct error *err)
{
    const char **names = arena_array(work->arena, count, sizeof(*names));
    struct text_list wanted = { .items = names };
    for (size_t i = 0; i < count; i++)
        if (has_frequent_values(&fields[i]))
            names[wanted.count++] = fields[i].name;
    struct contact_field_values_params params = {
        .brand_id = work->brand_id,
        .names = wanted,
        .sample = FIELD_VALUES_SAMPLE,
        .max_chars = FIELD_VALUE_MAX_CHARS,
        .limit = FIELD_VALUES_SHOWN,
    };
    return sql_contact_field_values(work->conn, work->arena, &params, ret_values, ret_count, err);
}

static void write_described_field(const struct field_row *field, const struct contact_field_values_row *values, size_t count,
                                  struct json_writer *json)
{
    json_object_begin(json);
    json_member_text(json, "fieldName", field->name);
    json_member_text(json, "fieldType", field->type);
    json_member_bool(json, "isCore", field->is_core);
    bool open = false;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(values[i].name, field->name) != 0)
            continue;
        if (!open) {
            json_key(json, "values");
            json_array_begin(json);
            open = true;
        }
        json_text(json, values[i].value);
    }
    if (open)
        json_array_end(json);
    json_object_end(json);
}

bool field_describe(const struct work *work, int64_t limit, const char *cursor, struct json_writer *json, struct error *err)
{
    static const char binding[] = "fields.describe";
    struct contact_fields_find_params params = { .brand_id = work->brand_id };
    struct contact_fields_find_row *custom;
    struct contact_field_values_row *values;
    size_t offset;
    size_t custom_count;
    size_t value_count;
    if (!page_offset_read(work, binding, cursor, &offset, err) ||
        !sql_contact_fields_find(work->conn, work->arena, &params, &custom, &custom_count, err))
        return false;
    const struct field_row *fields = all_fields(work->arena, custom, custom_count);
    size_t total = ARRAY_COUNT(core_fields) + custom_count;
    size_t begin = offset < total ? offset : total;
    size_t shown = total - begin < (size_t)limit ? total - begin : (size_t)limit;
    if (!find_values(work, fields + begin, shown, &values, &value_count, err))
        return false;
    struct page page = page_offset_begin(json, limit, begin, total);
    while (page_next_row(&page))
        write_described_field(&fields[begin + page.shown - 1], values, value_count, json);
    page_end(&page, work, binding, (struct page_cursor){ .number = (int64_t)(begin + page.shown) });
    return true;
}

/* ---- Creating ---- */

bool field_create(const struct work *work, const char *given_name, const char *type, struct field_created *ret_created,
                  struct error *err)
{
    const char *name;
    if (!field_name_normalize(work->arena, given_name, &name, err)) {
        snprintf(err->param, sizeof(err->param), "fieldName");
        return false;
    }
    const struct text_list names = { &name, 1 };
    struct contact_fields_define_params define = {
        .brand_id = work->brand_id,
        .names = names,
        .types = { &type, 1 },
        .max_fields = FIELDS_MAX_PER_BRAND,
        .now = work->now_us,
    };
    struct contact_fields_find_params find = { .brand_id = work->brand_id, .names = names };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    size_t defined_at = db_batch_add(batch, &contact_fields_define_statement, &define);
    size_t found_at = db_batch_add(batch, &contact_fields_find_statement, &find);
    if (!db_batch_run(batch, err))
        return false;
    const struct contact_fields_find_row *found = db_batch_rows(batch, found_at)->rows;
    if (found == NULL)
        return fail(err, ERR_INVALID_REQUEST, "fieldName", "A brand can have at most %d custom fields.", FIELDS_MAX_PER_BRAND);
    if (found->is_leaving)
        return field_refuse_leaving("fieldName", err);
    if (strcmp(found->type, type) != 0)
        return fail(err, ERR_FIELD_TYPE_MISMATCH, "fieldType", "This field already exists; its value must be %s.",
                    field_type_holds(field_type_from_name(found->type)));
    *ret_created = (struct field_created){ .name = name, .is_new = db_batch_rows(batch, defined_at)->count > 0 };
    return true;
}

/* ---- Deleting ---- */

bool field_find_for_deletion(const struct work *work, const char *given_name, const char **ret_name, bool *ret_exists,
                             struct error *err)
{
    struct error why = { .code = ERR_NONE };
    *ret_exists = false;
    *ret_name = given_name;
    bool can_be = field_name_normalize(work->arena, given_name, ret_name, &why);
    if (field_name_is_core(*ret_name))
        return fail(err, ERR_CORE_FIELD_IMMUTABLE, "fieldName", "%s is a core field and cannot be deleted.", *ret_name);
    /* A field that was defined before its name was built in can be deleted. */
    if (!can_be && !field_name_is_built_in(*ret_name))
        return true;
    struct contact_fields_find_params find = { .brand_id = work->brand_id, .names = { ret_name, 1 } };
    struct contact_fields_find_row *found;
    size_t count;
    if (!sql_contact_fields_find(work->conn, work->arena, &find, &found, &count, err))
        return false;
    *ret_exists = count > 0;
    return true;
}

bool field_find_nearest(const struct work *work, const char *name, const char **ret_nearest, struct error *err)
{
    struct contact_fields_find_params all = { .brand_id = work->brand_id };
    struct contact_fields_find_row *found;
    size_t count;
    if (!sql_contact_fields_find(work->conn, work->arena, &all, &found, &count, err))
        return false;
    const char **names = arena_array(work->arena, count, sizeof(*names));
    for (size_t i = 0; i < count; i++)
        names[i] = found[i].name;
    *ret_nearest = name_nearest(name, names, count);
    return true;
}

bool field_leave(const struct work *work, const char *name, bool *ret_exists, struct error *err)
{
    struct contact_field_leave_params params = { .brand_id = work->brand_id, .name = name, .lock = ADVISORY_LOCK_FIELD_VALUES };
    struct contact_field_leave_row *rows;
    size_t count;
    if (!sql_contact_field_leave(work->conn, work->arena, &params, &rows, &count, err))
        return false;
    *ret_exists = count > 0;
    return true;
}

bool field_clear_step(const struct work *work, const char *name, int64_t *ret_seen, struct error *err)
{
    struct contact_field_clear_params params = { .brand_id = work->brand_id, .name = name, .limit = FIELD_CLEAR_STEP };
    struct contact_field_clear_row *row;
    if (!sql_contact_field_clear(work->conn, work->arena, &params, &row, err))
        return false;
    *ret_seen = row->seen;
    return true;
}

bool field_delete(const struct work *work, const char *name, bool *ret_deleted, struct error *err)
{
    struct contact_field_delete_params params = { .brand_id = work->brand_id, .name = name };
    int64_t deleted;
    if (!sql_contact_field_delete(work->conn, work->arena, &params, &deleted, err))
        return false;
    *ret_deleted = deleted > 0;
    return true;
}

bool field_stay(const struct work *work, const char *name, struct error *err)
{
    struct contact_field_stay_params params = { .brand_id = work->brand_id, .name = name };
    return sql_contact_field_stay(work->conn, work->arena, &params, NULL, err);
}
