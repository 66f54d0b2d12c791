#include "engine/automations/automations.h"

#include "api/op_context.h"
#include "base/json_read.h"
#include "catalogue/operations.h"

enum { STATUS_DRY_RUN = 200 };

/* ---- Arguments ---- */

static void set_text_if(json_t *object, const char *name, const char *text)
{
    if (text != NULL)
        json_object_set_new(object, name, json_string(text));
}

/* The graph is checked by the engine, as stored ones are. NULL: not given. */
static const json_t *nodes_of(struct op_context *ctx, struct automation_node_list given)
{
    if (given.items == NULL)
        return NULL;
    json_t *nodes = json_in_arena(ctx->work.arena, json_array());
    for (size_t i = 0; i < given.count; i++) {
        json_t *node = json_object();
        set_text_if(node, "id", given.items[i].id);
        set_text_if(node, "type", given.items[i].type);
        set_text_if(node, "label", given.items[i].label);
        set_text_if(node, "description", given.items[i].description);
        json_object_set(node, "config", json_for_iteration(given.items[i].config));
        json_array_append_new(nodes, node);
    }
    return nodes;
}

static const json_t *connections_of(struct op_context *ctx, struct automation_connection_list given)
{
    if (given.items == NULL)
        return NULL;
    json_t *connections = json_in_arena(ctx->work.arena, json_array());
    for (size_t i = 0; i < given.count; i++) {
        json_t *connection = json_object();
        set_text_if(connection, "from", given.items[i].from);
        set_text_if(connection, "to", given.items[i].to);
        set_text_if(connection, "branch", given.items[i].branch);
        json_array_append_new(connections, connection);
    }
    return connections;
}

static bool reply_saved(struct op_context *ctx, const struct automation_saved *saved, struct reply *reply)
{
    if (saved->row == NULL) {
        reply->status = STATUS_DRY_RUN;
        return true;
    }
    op_context_subject(ctx, work_id(&ctx->work, ID_AUTOMATION, saved->row->id));
    automation_write(&ctx->work, saved->row, saved->warnings, &reply->json);
    return true;
}

/* ---- Operations ---- */

bool op_automations_list(struct op_context *ctx, const struct automations_list_args *args, struct reply *reply, struct error *err)
{
    struct automation_parts parts = {
        .graph = (args->include & AUTOMATIONS_LIST_INCLUDE_GRAPH) != 0,
        .versions = (args->include & AUTOMATIONS_LIST_INCLUDE_VERSIONS) != 0,
    };
    return automation_list(&ctx->work, parts, args->limit, args->cursor, &reply->json, err);
}

bool op_automations_get(struct op_context *ctx, const struct automations_get_args *args, struct reply *reply, struct error *err)
{
    struct automation_parts parts = {
        .graph = (args->include & AUTOMATIONS_GET_INCLUDE_GRAPH) != 0,
        .versions = (args->include & AUTOMATIONS_GET_INCLUDE_VERSIONS) != 0,
    };
    struct automation_row *automation;
    if (!automation_get(&ctx->work, args->automation_id, parts, &automation, err))
        return false;
    automation_write(&ctx->work, automation, NULL, &reply->json);
    return true;
}

bool op_automations_create(struct op_context *ctx, const struct automations_create_args *args, struct reply *reply,
                           struct error *err)
{
    struct automation_edit edit = {
        .name = args->name,
        .description = args->description,
        .nodes = nodes_of(ctx, args->nodes),
        .connections = connections_of(ctx, args->connections),
        .published = args->published,
        .is_dry_run = args->dry_run,
    };
    struct automation_saved saved;
    return automation_create(&ctx->work, &edit, &reply->json, &saved, err) && reply_saved(ctx, &saved, reply);
}

bool op_automations_update(struct op_context *ctx, const struct automations_update_args *args, struct reply *reply,
                           struct error *err)
{
    struct automation_edit edit = {
        .name = args->name,
        .description = args->description,
        .nodes = nodes_of(ctx, args->nodes),
        .connections = connections_of(ctx, args->connections),
        .published = args->published,
        .paused = args->paused,
        .stop_in_flight = args->stop_in_flight,
        .is_dry_run = args->dry_run,
    };
    struct automation_saved saved;
    return automation_update(&ctx->work, args->automation_id, &edit, &reply->json, &saved, err) && reply_saved(ctx, &saved, reply);
}

bool op_automations_delete(struct op_context *ctx, const struct automations_delete_args *args, struct reply *reply,
                           struct error *err)
{
    bool deleted;
    int64_t id = id_decode(&ctx->work.engine->ids, ID_AUTOMATION, args->automation_id);
    if (!op_context_check_id(ctx, ID_AUTOMATION, "automationId", args->automation_id, ERR_AUTOMATION_NOT_FOUND, err) ||
        !automation_delete(&ctx->work, id, &deleted, err))
        return false;
    if (deleted)
        op_context_subject(ctx, args->automation_id);
    json_object_begin(&reply->json);
    json_member_text(&reply->json, "automationId", args->automation_id);
    json_member_bool(&reply->json, "deleted", deleted);
    json_object_end(&reply->json);
    return true;
}
