#include "engine/automations/blocker_list.h"

#include <stdarg.h>
#include <string.h>

enum { BLOCKERS_MAX_BYTES = 4 * 1024 * 1024, FIRST_CAPACITY = 16 };

void blocker_add(struct blockers *blockers, const struct graph_node *node, bool is_warning, const char *format, ...)
{
    if (blockers->count == blockers->capacity) {
        size_t capacity = blockers->capacity > 0 ? blockers->capacity * 2 : FIRST_CAPACITY;
        struct blocker *items = arena_array(blockers->arena, capacity, sizeof(*items));
        if (blockers->count > 0)
            memcpy(items, blockers->items, blockers->count * sizeof(*items));
        blockers->items = items;
        blockers->capacity = capacity;
    }
    va_list arguments;
    va_start(arguments, format);
    const char *message = arena_vprintf(blockers->arena, format, arguments);
    va_end(arguments);
    blockers->items[blockers->count++] = (struct blocker){ .node = node, .is_warning = is_warning, .message = message };
    blockers->error_count += !is_warning;
}

static void write_blocker(const struct blocker *blocker, struct json_writer *json)
{
    json_object_begin(json);
    json_member_text(json, "nodeId", blocker->node != NULL ? blocker->node->id : NULL);
    json_member_text(json, "nodeLabel", blocker->node != NULL ? blocker->node->label : NULL);
    json_member_text_if(json, "branch", blocker->branch);
    json_member_text(json, "severity", blocker->is_warning ? "warning" : "error");
    json_member_text(json, "message", blocker->message);
    json_object_end(json);
}

static void write_list(const struct blockers *blockers, const char *name, bool with_errors, bool with_warnings,
                       struct json_writer *json)
{
    json_key(json, name);
    json_array_begin(json);
    for (size_t i = 0; i < blockers->count; i++)
        if (blockers->items[i].is_warning ? with_warnings : with_errors)
            write_blocker(&blockers->items[i], json);
    json_array_end(json);
}

static const char *first_error(const struct blockers *blockers)
{
    for (size_t i = 0; i < blockers->count; i++)
        if (!blockers->items[i].is_warning)
            return blockers->items[i].message;
    return "";
}

bool blockers_refuse(const struct blockers *blockers, struct error *err)
{
    if (blockers->error_count == 0)
        return true;
    struct buf *text = buf_in_arena(blockers->arena, BLOCKERS_MAX_BYTES);
    struct json_writer json;
    json_writer_init(&json, text);
    json_object_begin(&json);
    write_list(blockers, "blockers", true, true, &json);
    json_object_end(&json);
    return fail(err, ERR_PUBLISH_VALIDATION_FAILED, "published", "%zu %s publishing. %s", blockers->error_count,
                blockers->error_count == 1 ? "problem prevents" : "problems prevent", first_error(blockers)) ||
           error_with_details(err, buf_text(text));
}

void blockers_write_warnings(const struct blockers *blockers, struct json_writer *json)
{
    if (blockers->count > blockers->error_count)
        write_list(blockers, "warnings", false, true, json);
}

void blockers_write_report(const struct blockers *blockers, const struct graph *graph, struct json_writer *json)
{
    int64_t counts[NODE_TYPE_COUNT] = { 0 };
    for (size_t i = 0; i < graph->node_count; i++)
        counts[graph->nodes[i].type]++;
    json_object_begin(json);
    json_member_bool(json, "valid", blockers->error_count == 0);
    write_list(blockers, "blockers", true, false, json);
    write_list(blockers, "warnings", false, true, json);
    json_key(json, "nodeCounts");
    json_object_begin(json);
    for (size_t type = 0; type < NODE_TYPE_COUNT; type++)
        if (counts[type] > 0)
            json_member_int(json, node_types[type].name, counts[type]);
    json_object_end(json);
    json_object_end(json);
}
