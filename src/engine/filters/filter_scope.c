/*
 * Filter scope: loads the definitions that filters refer to, which are custom
 * fields and audiences. One round trip loads one level of nested audiences. For
 * conditions on activity, another one asks whether the statistics know the brand.
 */
#include "engine/filters/filter_tree.h"

#include "base/json_read.h"
#include "sql/fields.h"
#include "sql/filters.h"

#include <assert.h>
#include <string.h>

/* A brand with fewer rows than this counts as unknown. With so few, the planner may still compare all contacts with all counts, and
 * there can be many more rows than at the last ANALYZE. */
enum { KNOWN_ROWS = 1000 };

/* ---- References ---- */

bool filter_uses(const struct filter *filter, enum filter_subject subject)
{
    if (!filter->is_group)
        return filter->condition.subject == subject;
    for (size_t i = 0; i < filter->count; i++)
        if (filter_uses(&filter->children[i], subject))
            return true;
    return false;
}

/* The audiences that the filters name, in the order in which they were found, and a hash table of their places (open addressing).
 * A filter can name ten thousand times an audience, so that a search in a list would be slow. */
struct audience_set {
    struct scope_audience items[FILTER_MAX_AUDIENCES];
    size_t count;
    size_t loaded;         /* the first ones were queried */
    uint16_t places[2048]; /* in items, from 1; 0: free */
};

static_assert(ARRAY_COUNT(((struct audience_set *)0)->places) > 2 * FILTER_MAX_AUDIENCES, "there is always a free place");

/* The place of an audience in the table, or the free place where it belongs (Fibonacci hashing). */
static uint16_t *find_place(struct audience_set *set, int64_t id)
{
    size_t at = (size_t)(((uint64_t)id * UINT64_C(0x9E3779B97F4A7C15)) >> 32) % ARRAY_COUNT(set->places);
    while (set->places[at] != 0 && set->items[set->places[at] - 1].id != id)
        at = (at + 1) % ARRAY_COUNT(set->places);
    return &set->places[at];
}

static struct scope_audience *find_audience(const struct filter_scope *scope, int64_t audience_id)
{
    if (scope->audiences == NULL)
        return NULL;
    uint16_t place = *find_place(scope->audiences, audience_id);
    return place != 0 ? &scope->audiences->items[place - 1] : NULL;
}

const struct scope_audience *filter_scope_find(const struct filter_scope *scope, int64_t audience_id)
{
    const struct scope_audience *audience = find_audience(scope, audience_id);
    return audience != NULL && audience->is_loaded ? audience : NULL;
}

static void add_audience_id(struct filter_scope *scope, int64_t id)
{
    if (id <= 0)
        return;
    if (scope->audiences == NULL)
        scope->audiences = arena_alloc(scope->work->arena, sizeof(*scope->audiences));
    struct audience_set *set = scope->audiences;
    uint16_t *place = find_place(set, id);
    if (*place != 0)
        return;
    if (set->count == FILTER_MAX_AUDIENCES) {
        scope->is_cut = true;
        return;
    }
    set->items[set->count++].id = id;
    *place = (uint16_t)set->count;
}

static void add_audience_ids(struct filter_scope *scope, const struct filter *filter)
{
    for (size_t i = 0; i < filter->condition.audiences.count; i++)
        add_audience_id(scope, filter->condition.audiences.items[i]);
    for (size_t i = 0; i < filter->count; i++)
        add_audience_ids(scope, &filter->children[i]);
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

static bool read_audience_filter(const struct work *work, const struct contact_audiences_named_row *row,
                                 const struct filter **ret_filter, struct error *err)
{
    struct json_bounds bounds = { .max_bytes = AUDIENCE_FILTERS_MAX_BYTES, .from_jsonb = true };
    const json_t *json;
    const char *param = arena_printf(work->arena, "audiences.%s", work_id(work, ID_AUDIENCE, row->id));
    return json_read(work->arena, row->filters, strlen(row->filters), bounds, &json, err) &&
           filter_read(work, json, param, NULL, ret_filter, err);
}

/* Stores a loaded audience and adds the audiences that it names. */
static bool take_audience(struct filter_scope *scope, const struct contact_audiences_named_row *row, struct error *err)
{
    struct scope_audience *audience = find_audience(scope, row->id);
    if (audience == NULL) /* was not asked for */
        return true;
    audience->is_cohort = strcmp(row->kind, "cohort") == 0;
    audience->is_deleted = row->deleted;
    audience->status = row->status;
    if (!audience->is_cohort) {
        scope->definition_bytes += strlen(row->filters);
        if (scope->definition_bytes > FILTER_MAX_DEFINITION_BYTES) {
            scope->is_cut = true;
            return true;
        }
        if (!read_audience_filter(scope->work, row, &audience->filter, err))
            return false;
        add_audience_ids(scope, audience->filter);
    }
    audience->is_loaded = true;
    return true;
}

/* The ids of the audiences that were not queried yet; they count as queried from now on. */
static struct int_list next_ids(struct filter_scope *scope)
{
    struct audience_set *set = scope->audiences;
    if (set == NULL)
        return (struct int_list){ .items = NULL };
    int64_t *ids = arena_array(scope->work->arena, set->count - set->loaded, sizeof(*ids));
    struct int_list list = { ids, set->count - set->loaded };
    for (size_t i = 0; i < list.count; i++)
        ids[i] = set->items[set->loaded + i].id;
    set->loaded = set->count;
    return list;
}

static bool load_level(struct filter_scope *scope, bool needs_fields, struct int_list ids, struct error *err)
{
    const struct work *work = scope->work;
    struct contact_fields_find_params fields = { .brand_id = work->brand_id };
    struct contact_audiences_named_params audiences = { .brand_id = work->brand_id, .ids = ids };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    size_t fields_at = needs_fields ? db_batch_add(batch, &contact_fields_find_statement, &fields) : 0;
    size_t audiences_at = ids.count > 0 ? db_batch_add(batch, &contact_audiences_named_statement, &audiences) : 0;
    if (!db_batch_run(batch, err))
        return false;
    if (needs_fields)
        scope->field_types = field_types_from(work->arena, db_batch_rows(batch, fields_at));
    if (ids.count == 0)
        return true;
    const struct db_rows *rows = db_batch_rows(batch, audiences_at);
    const struct contact_audiences_named_row *found = rows->rows;
    scope->is_cut = scope->is_cut || rows->is_cut;
    for (size_t i = 0; i < rows->count; i++)
        if (!take_audience(scope, &found[i], err))
            return false;
    return true;
}

/* ---- Statistics ---- */

static bool uses_activity(const struct filter_scope *scope, const struct filter *const *filters, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (filters[i] != NULL && filter_uses(filters[i], SUBJECT_ACTIVITY))
            return true;
    for (size_t i = 0; scope->audiences != NULL && i < scope->audiences->count; i++) {
        const struct filter *filter = scope->audiences->items[i].filter;
        if (filter != NULL && filter_uses(filter, SUBJECT_ACTIVITY))
            return true;
    }
    return false;
}

static bool ask_statistics(struct filter_scope *scope, struct error *err)
{
    struct filter_brand_known_params params = { .brand_id = scope->work->brand_id, .many = KNOWN_ROWS };
    struct filter_brand_known_row *row;
    if (!sql_filter_brand_known(scope->work->conn, scope->work->arena, &params, &row, err))
        return false;
    scope->knows_contacts = row->contacts;
    scope->knows_activity = row->activity;
    return true;
}

/* ---- Resolving ---- */

bool filter_resolve(const struct work *work, const struct filter *const *filters, size_t count,
                    const struct filter_scope **ret_scope, struct error *err)
{
    struct filter_scope *scope = arena_alloc(work->arena, sizeof(*scope));
    bool needs_fields = false;
    *scope = (struct filter_scope){ .work = work };
    for (size_t i = 0; i < count; i++) {
        if (filters[i] == NULL)
            continue;
        add_audience_ids(scope, filters[i]);
        needs_fields = needs_fields || filter_uses(filters[i], SUBJECT_CUSTOM);
    }
    struct int_list ids = next_ids(scope);
    /* The filter of an audience can have a condition on a custom field. */
    needs_fields = needs_fields || ids.count > 0;
    for (int depth = 0; depth < FILTER_MAX_AUDIENCE_DEPTH && (needs_fields || ids.count > 0); depth++) {
        if (!load_level(scope, needs_fields, ids, err))
            return false;
        needs_fields = false;
        ids = next_ids(scope);
    }
    *ret_scope = scope;
    return !uses_activity(scope, filters, count) || ask_statistics(scope, err);
}
