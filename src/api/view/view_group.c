#include "api/view/result_view.h"

#include "base/json_read.h"

#include <string.h>

enum { ROWS_MAX_BYTES = 64 * 1024, GROUPED_MAX_BYTES = 16 * 1024 * 1024, NOTE_MAX_BYTES = 512 };

/* The items of one code. */
struct code_group {
    const char *code;
    size_t count;
    json_t *samples;
    struct buf *rows; /* "0-41, 57": the runs that have ended */
    int64_t first;    /* the run that may go on; -1: none */
    int64_t last;
};

struct grouping {
    struct arena *arena;
    const struct result_group *shape;
    struct code_group *groups;
    size_t count;
};

/* The number of codes is bounded by schemas/errors.json. */
static struct code_group *group_of(struct grouping *grouping, const char *code)
{
    for (size_t i = 0; i < grouping->count; i++) {
        if (strcmp(grouping->groups[i].code, code) == 0)
            return &grouping->groups[i];
    }
    struct code_group *group = &grouping->groups[grouping->count++];
    *group = (struct code_group){
        .code = code,
        .samples = json_in_arena(grouping->arena, json_array()),
        .rows = buf_in_arena(grouping->arena, ROWS_MAX_BYTES),
        .first = -1,
    };
    return group;
}

static void end_run(struct code_group *group)
{
    if (group->first < 0)
        return;
    buf_printf(group->rows, "%s%lld", group->rows->size > 0 ? ", " : "", (long long)group->first);
    if (group->last > group->first)
        buf_printf(group->rows, "-%lld", (long long)group->last);
}

static void add_row(struct code_group *group, int64_t row)
{
    if (group->first < 0 || row != group->last + 1) {
        end_run(group);
        group->first = row;
    }
    group->last = row;
}

/* A sample is the item without its code and without members that are null. */
static void add_sample(struct code_group *group, const json_t *item)
{
    json_t *sample = json_object();
    const char *name;
    json_t *value;
    json_object_foreach (json_for_iteration(item), name, value) {
        if (strcmp(name, "code") != 0 && !json_is_null(value))
            json_object_set(sample, name, value);
    }
    json_array_append_new(group->samples, sample);
}

static void add_item(struct grouping *grouping, const json_t *item)
{
    const char *code = json_get_text(item, "code");
    struct code_group *group = group_of(grouping, code != NULL ? code : "");
    group->count++;
    if (grouping->shape->row != NULL)
        add_row(group, json_get_int(item, grouping->shape->row, 0));
    if (json_array_size(group->samples) < VIEW_SHOWN_ROWS)
        add_sample(group, item);
}

/* The number of all items of the code. The rows are told when the list contained them all. */
static json_t *group_json(const struct grouping *grouping, struct code_group *group, const json_t *result)
{
    const char *counts = grouping->shape->counts;
    int64_t listed = (int64_t)group->count;
    int64_t all = counts != NULL ? json_get_int(json_object_get(result, counts), group->code, listed) : listed;
    end_run(group);
    json_t *json = json_object();
    json_object_set_new(json, "code", json_string(group->code));
    json_object_set_new(json, "count", json_integer(all));
    if (grouping->shape->row != NULL && all == listed)
        json_object_set_new(json, "rows", json_string(buf_text(group->rows)));
    json_object_set(json, "samples", group->samples);
    return json;
}

static json_t *group_list(struct arena *arena, const struct result_group *shape, const json_t *list, const json_t *result)
{
    struct grouping grouping = {
        .arena = arena,
        .shape = shape,
        .groups = arena_array(arena, json_array_size(list), sizeof(struct code_group)),
    };
    size_t i;
    json_t *item;
    json_array_foreach (json_for_iteration(list), i, item)
        add_item(&grouping, item);
    json_t *grouped = json_array();
    for (size_t at = 0; at < grouping.count; at++)
        json_array_append_new(grouped, group_json(&grouping, &grouping.groups[at], result));
    return grouped;
}

/* Tells how to get all rows, because only samples are shown. */
static const char *note_of(struct arena *arena, const struct result_group *shape, const json_t *result)
{
    struct buf *note = buf_in_arena(arena, NOTE_MAX_BYTES);
    buf_printf(note, "Lists of more than %d rows are grouped by code, with samples. detail full lists the rows.", VIEW_SHOWN_ROWS);
    const char *open = shape->uri != NULL ? strchr(shape->uri, '{') : NULL;
    const char *close = open != NULL ? strchr(open, '}') : NULL;
    if (close == NULL)
        return buf_text(note);
    const json_t *id = json_object_getn(result, open + 1, (size_t)(close - open - 1));
    if (json_is_string(id))
        buf_printf(note, " The resource %.*s%s%s has all rows.", (int)(open - shape->uri), shape->uri, json_string_value(id),
                   close + 1);
    return buf_text(note);
}

const struct buf *view_group(struct arena *arena, const struct result_group *groups, const struct buf *body)
{
    const json_t *read = NULL;
    struct error err = { .code = ERR_NONE };
    struct json_bounds bounds = { .max_bytes = body->size };
    if (!json_read(arena, buf_text(body), body->size, bounds, &read, &err))
        return body;
    json_t *result = json_for_iteration(read);
    const char *note = NULL;
    for (const struct result_group *shape = groups; shape->member != NULL; shape++) {
        const json_t *list = json_object_get(result, shape->member);
        if (json_array_size(list) <= VIEW_SHOWN_ROWS)
            continue;
        note = note != NULL ? note : note_of(arena, shape, result);
        json_object_set_new(result, shape->member, group_list(arena, shape, list, result));
    }
    if (note == NULL)
        return body;
    json_object_set_new(result, "note", json_string(note));
    const char *text = json_compact(arena, result);
    struct buf *out = buf_in_arena(arena, GROUPED_MAX_BYTES);
    buf_add_text(out, text);
    return out;
}
