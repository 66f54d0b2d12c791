/*
 * Filter scope: loads the definitions that filters refer to, which are custom
 * fields and audiences. One round trip loads one level of nested audiences.
 */
#include "engine/filters/filter_tree.h"

#include "base/json_read.h"
#include "sql/fields.h"
#include "sql/filters.h"

#include <string.h>

/* ---- References ---- */

bool filter_uses_custom_fields(const struct filter *filter)
{
    if (!filter->is_group)
        return filter->condition.subject == SUBJECT_CUSTOM;
    for (size_t i = 0; i < filter->count; i++)
        if (filter_uses_custom_fields(&filter->children[i]))
            return true;
    return false;
}

const struct scope_audience *filter_scope_find(const struct filter_scope *scope, int64_t audience_id)
{
    const struct scope_audience *audience = scope->audiences;
    while (audience != NULL && audience->id != audience_id)
        audience = audience->next;
    return audience;
}

/* Audience ids to look up. A filter with more than FILTER_MAX_COMPILED cannot be compiled, so further ids are dropped. */
struct audience_ids {
    int64_t ids[FILTER_MAX_COMPILED];
    size_t count;
};

static void add_audience_id(const struct filter_scope *scope, int64_t id, struct audience_ids *ids)
{
    for (size_t i = 0; i < ids->count; i++)
        if (ids->ids[i] == id)
            return;
    if (id > 0 && ids->count < FILTER_MAX_COMPILED && filter_scope_find(scope, id) == NULL)
        ids->ids[ids->count++] = id;
}

static void add_audience_ids(const struct filter_scope *scope, const struct filter *filter, struct audience_ids *ids)
{
    for (size_t i = 0; i < filter->condition.audiences.count; i++)
        add_audience_id(scope, filter->condition.audiences.items[i], ids);
    for (size_t i = 0; i < filter->count; i++)
        add_audience_ids(scope, &filter->children[i], ids);
}

/* ---- Loading ---- */

static json_t *field_types_from(struct arena *arena, const struct db_rows *rows)
{
    json_t *types = json_in_arena(arena, json_object());
    const struct contact_fields_find_row *fields = rows->rows;
    for (size_t i = 0; i < rows->count; i++)
        json_object_set_new(types, fields[i].name, json_integer(field_type_from_name(fields[i].type)));
    return types;
}

static bool read_audience(const struct work *work, const struct contact_audiences_named_row *row, struct scope_audience *audience,
                          struct error *err)
{
    *audience = (struct scope_audience){
        .id = row->id,
        .is_cohort = strcmp(row->kind, "cohort") == 0,
        .is_deleted = row->deleted,
        .status = row->status,
    };
    if (audience->is_cohort)
        return true;
    struct json_bounds bounds = { .max_bytes = AUDIENCE_FILTERS_MAX_BYTES };
    const json_t *json;
    const char *param = arena_printf(work->arena, "audiences.%s", work_id(work, ID_AUDIENCE, row->id));
    return json_read(work->arena, row->filters, strlen(row->filters), bounds, &json, err) &&
           filter_read(work, json, param, NULL, &audience->filter, err);
}

/* Stores the loaded audiences, and collects in `next` the audiences they refer to that are not loaded yet. */
static bool take_audiences(struct filter_scope *scope, const struct db_rows *rows, struct audience_ids *next, struct error *err)
{
    const struct contact_audiences_named_row *found = rows->rows;
    for (size_t i = 0; i < rows->count; i++) {
        struct scope_audience *audience = arena_alloc(scope->work->arena, sizeof(*audience));
        if (!read_audience(scope->work, &found[i], audience, err))
            return false;
        audience->next = scope->audiences;
        scope->audiences = audience;
    }
    for (const struct scope_audience *audience = scope->audiences; audience != NULL; audience = audience->next)
        if (audience->filter != NULL)
            add_audience_ids(scope, audience->filter, next);
    return true;
}

static bool load_level(struct filter_scope *scope, bool needs_fields, struct audience_ids *ids, struct error *err)
{
    const struct work *work = scope->work;
    struct contact_fields_find_params fields = { .brand_id = work->brand_id };
    struct contact_audiences_named_params audiences = { .brand_id = work->brand_id, .ids = { ids->ids, ids->count } };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    size_t fields_at = needs_fields ? db_batch_add(batch, &contact_fields_find_statement, &fields) : 0;
    size_t audiences_at = ids->count > 0 ? db_batch_add(batch, &contact_audiences_named_statement, &audiences) : 0;
    if (!db_batch_run(batch, err))
        return false;
    if (needs_fields)
        scope->field_types = field_types_from(work->arena, db_batch_rows(batch, fields_at));
    bool asked = ids->count > 0;
    ids->count = 0;
    return !asked || take_audiences(scope, db_batch_rows(batch, audiences_at), ids, err);
}

bool filter_resolve(const struct work *work, const struct filter *const *filters, size_t count,
                    const struct filter_scope **ret_scope, struct error *err)
{
    struct filter_scope *scope = arena_alloc(work->arena, sizeof(*scope));
    struct audience_ids ids = { .count = 0 };
    bool needs_fields = false;
    *scope = (struct filter_scope){ .work = work };
    for (size_t i = 0; i < count; i++) {
        if (filters[i] == NULL)
            continue;
        add_audience_ids(scope, filters[i], &ids);
        needs_fields = needs_fields || filter_uses_custom_fields(filters[i]);
    }
    /* The filter of an audience can have a condition on a custom field. */
    needs_fields = needs_fields || ids.count > 0;
    if (!load_level(scope, needs_fields, &ids, err))
        return false;
    for (int depth = 1; depth < FILTER_MAX_AUDIENCE_DEPTH && ids.count > 0; depth++)
        if (!load_level(scope, false, &ids, err))
            return false;
    *ret_scope = scope;
    return true;
}
