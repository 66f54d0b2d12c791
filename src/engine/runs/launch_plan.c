#include "engine/runs/launch_plan.h"

#include "base/json_read.h"
#include "base/text.h"

#include <string.h>

enum { STORED_GRAPH_MAX_BYTES = 16 * 1024 * 1024 };

static const char *member(const json_t *object, const char *name)
{
    return json_get_text(object, name);
}

static bool is_type(const json_t *node, const char *type)
{
    return text_equal(member(node, "type"), type);
}

static const json_t *find_node(const json_t *nodes, const char *id)
{
    size_t i;
    const json_t *node;
    json_array_foreach (nodes, i, node)
        if (id != NULL && text_equal(member(node, "id"), id))
            return node;
    return NULL;
}

/* The node behind `node` when it has one way out only; NULL at an end and at a branch. */
static const json_t *only_next(const json_t *nodes, const json_t *connections, const json_t *node)
{
    size_t i;
    const json_t *connection;
    const char *id = member(node, "id");
    if (is_type(node, "filter") || is_type(node, "split"))
        return NULL;
    json_array_foreach (connections, i, connection)
        if (id != NULL && text_equal(member(connection, "from"), id))
            return member(connection, "branch") == NULL ? find_node(nodes, member(connection, "to")) : NULL;
    return NULL;
}

/* A run may end by the exit conditions of the trigger before any other node. A loop without a branch is walked once. */
static int64_t count_certain(const json_t *nodes, const json_t *connections, const json_t *trigger)
{
    int64_t count = 0;
    const json_t *node = trigger;
    if (json_object_get(json_object_get(trigger, "config"), "exit") != NULL)
        return 0;
    for (size_t steps = json_array_size(nodes); steps > 0 && node != NULL; steps--) {
        count += is_type(node, "sendEmail");
        node = only_next(nodes, connections, node);
    }
    return count;
}

static int64_t domain_of(const struct work *work, const json_t *node)
{
    const char *id = member(json_object_get(node, "config"), "domainId");
    return id != NULL ? id_decode(&work->engine->ids, ID_DOMAIN, id) : 0;
}

static bool read_stored(const struct work *work, const char *text, const json_t **ret_json, struct error *err)
{
    struct json_bounds bounds = { .max_bytes = STORED_GRAPH_MAX_BYTES };
    return json_read(work->arena, text, strlen(text), bounds, ret_json, err);
}

bool launch_plan_read(const struct work *work, const char *nodes_text, const char *connections_text, struct launch_plan *ret_plan,
                      struct error *err)
{
    const json_t *nodes;
    const json_t *connections;
    const json_t *trigger = NULL;
    const json_t *node;
    size_t i;
    if (!read_stored(work, nodes_text, &nodes, err) || !read_stored(work, connections_text, &connections, err))
        return false;
    int64_t *domain_ids = arena_array(work->arena, json_array_size(nodes), sizeof(*domain_ids));
    *ret_plan = (struct launch_plan){ .domain_ids = { domain_ids, 0 } };
    json_array_foreach (nodes, i, node) {
        if (is_type(node, "trigger"))
            trigger = node;
        if (is_type(node, "sendEmail"))
            domain_ids[ret_plan->domain_ids.count++] = domain_of(work, node);
    }
    ret_plan->trigger_node = trigger != NULL ? member(trigger, "id") : NULL;
    ret_plan->message_nodes = (int64_t)ret_plan->domain_ids.count;
    ret_plan->certain_messages = trigger != NULL ? count_certain(nodes, connections, trigger) : 0;
    return true;
}
