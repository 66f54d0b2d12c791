#include "engine/nodes/graph.h"

#include "base/json_read.h"
#include "base/nearest.h"
#include "base/text.h"
#include "engine/nodes/conditions.h"
#include "engine/nodes/config.h"

#include <stdlib.h>
#include <string.h>

enum { ID_CHARS = 64, LABEL_CHARS = 120, DESCRIPTION_CHARS = 2000, LISTED_ENDS = 10 };

struct graph_reading {
    struct arena *arena;
    const struct id_codec *ids;
    struct error *err;
};

/* ---- Members of nodes and connections ---- */

static bool check_members(const struct graph_reading *reading, const json_t *object, const char *const *names, size_t count,
                          const char *path)
{
    if (!json_is_object(object))
        return fail(reading->err, ERR_INVALID_REQUEST, path, "%s must be an object.", path);
    const char *name;
    json_t *ignored;
    json_object_foreach (json_for_iteration(object), name, ignored) {
        size_t i = 0;
        while (i < count && strcmp(names[i], name) != 0)
            i++;
        if (i == count)
            return fail(reading->err, ERR_INVALID_REQUEST, arena_printf(reading->arena, "%s.%.60s", path, name),
                        "%.60s is not a known member.", name) ||
                   error_suggest_name(reading->err, name, names, count);
    }
    return true;
}

static bool read_member(const struct graph_reading *reading, const json_t *object, const char *name, const char *path, size_t most,
                        bool is_required, const char **ret_text)
{
    const json_t *value = json_object_get(object, name);
    *ret_text = json_string_value(value);
    size_t chars = *ret_text != NULL ? utf8_length(*ret_text) : 0;
    if ((value == NULL && !is_required) || (*ret_text != NULL && chars <= most && (chars > 0 || !is_required)))
        return true;
    return fail(reading->err, ERR_INVALID_REQUEST, arena_printf(reading->arena, "%s.%s", path, name),
                "%s must be text of %s%zu characters.", name, is_required ? "1 to " : "at most ", most);
}

/* ---- Types ---- */

static bool read_type(const struct graph_reading *reading, const json_t *given, const char *path, enum node_type *ret_type)
{
    const char *names[NODE_TYPE_COUNT];
    const char *type = json_get_text(given, "type");
    for (size_t i = 0; i < NODE_TYPE_COUNT; i++) {
        names[i] = node_types[i].name;
        if (text_equal(type, names[i]) || (type != NULL && text_equal(type, node_types[i].alias))) {
            *ret_type = (enum node_type)i;
            return true;
        }
    }
    return fail(reading->err, ERR_INVALID_REQUEST, arena_printf(reading->arena, "%s.type", path),
                "The type must be trigger, sendEmail, wait, filter or split.") ||
           (type != NULL && error_suggest_name(reading->err, type, names, NODE_TYPE_COUNT));
}

/* ---- What a config means ---- */

static void add_field(struct graph_node *node, const char *field)
{
    node->reads_payload = node->reads_payload || condition_field_reads_payload(field);
    node->reads_contact = node->reads_contact || condition_field_reads_contact(field);
}

static bool add_conditions(const struct graph_reading *reading, struct graph_node *node, const struct condition *conditions,
                           size_t count, const char *path)
{
    for (size_t i = 0; i < count; i++)
        add_field(node, conditions[i].field);
    if (!conditions_check(reading->arena, conditions, count, arena_printf(reading->arena, "%s.conditions", path), reading->err))
        return false;
    node->condition_parts = conditions_prepare(reading->arena, conditions, count);
    return true;
}

static bool add_trigger(const struct graph_reading *reading, struct graph_node *node, const char *path)
{
    const struct trigger_config *config = node->config;
    const struct trigger_reentry *reentry = config->reentry;
    if (reentry != NULL && (reentry->mode == REENTRY_MODE_AFTER) != (reentry->duration > 0))
        return fail(reading->err, ERR_INVALID_REQUEST, arena_printf(reading->arena, "%s.reentry.duration", path),
                    "A duration belongs to the mode after, which needs one.") ||
               error_suggest(reading->err, reentry->duration > 0 ? "Leave out duration and unit, or use the mode after."
                                                                 : "Add duration and unit, such as 7 and days.");
    return config->exit == NULL || add_conditions(reading, node, config->exit->conditions, config->exit->conditions_count,
                                                  arena_printf(reading->arena, "%s.exit", path));
}

static bool add_wait(const struct graph_reading *reading, struct graph_node *node, const char *path)
{
    const struct wait_config *config = node->config;
    if (config->form == WAIT_FORM_DURATION)
        node->least_wait_us = node_span_us(config->duration, config->unit);
    if (config->form == WAIT_FORM_UNTIL)
        add_field(node, config->until->field);
    (void)reading;
    (void)path;
    return true;
}

/* An engagement filter has the branches that its config names, in the declared order. */
static void add_engagement(const struct graph_reading *reading, struct graph_node *node, const struct node_form *form)
{
    const struct filter_config *config = node->config;
    if (config->branches == 0)
        return;
    const char **branches = arena_array(reading->arena, form->branches.count, sizeof(*branches));
    size_t count = 0;
    for (size_t i = 0; i < form->branches.count; i++)
        if ((config->branches & 1U << (i + 1)) != 0)
            branches[count++] = form->branches.items[i];
    node->branches = (struct text_list){ branches, count };
}

static bool add_meaning(const struct graph_reading *reading, struct graph_node *node, const struct node_form *form,
                        const char *path)
{
    const struct filter_config *filter = node->config;
    const struct split_config *split = node->config;
    node->branches = form->branches;
    switch (node->type) {
    case NODE_TRIGGER:
        return add_trigger(reading, node, path);
    case NODE_WAIT:
        return add_wait(reading, node, path);
    case NODE_FILTER:
        if (filter->form == FILTER_FORM_ENGAGEMENT)
            add_engagement(reading, node, form);
        return filter->form != FILTER_FORM_FIELDS ||
               add_conditions(reading, node, filter->conditions, filter->conditions_count, path);
    case NODE_SPLIT:
        return split->form != SPLIT_FORM_FIELDS || add_conditions(reading, node, split->conditions, split->conditions_count, path);
    case NODE_SEND_EMAIL:
    case NODE_TYPE_COUNT:
        break;
    }
    return true;
}

/* ---- Nodes ---- */

static bool read_node(const struct graph_reading *reading, const json_t *given, const char *path, struct graph_node *node)
{
    static const char *const names[] = { "id", "type", "label", "description", "config" };
    const char *config_path = arena_printf(reading->arena, "%s.config", path);
    const struct node_form *form;
    if (!check_members(reading, given, names, ARRAY_COUNT(names), path) ||
        !read_member(reading, given, "id", path, ID_CHARS, true, &node->id) || !read_type(reading, given, path, &node->type) ||
        !read_member(reading, given, "label", path, LABEL_CHARS, false, &node->label) ||
        !read_member(reading, given, "description", path, DESCRIPTION_CHARS, false, &node->description))
        return false;
    node->given = json_object_get(given, "config");
    if (node->given == NULL)
        return fail(reading->err, ERR_INVALID_REQUEST, config_path, "A node needs its config.");
    return node_config_read(reading->arena, reading->ids, node->type, node->given, config_path, &node->config, &form,
                            reading->err) &&
           add_meaning(reading, node, form, config_path);
}

static bool read_nodes(const struct graph_reading *reading, const json_t *given, struct graph *graph)
{
    if (!json_is_array(given) || json_array_size(given) > GRAPH_NODES_MAX)
        return fail(reading->err, ERR_INVALID_REQUEST, "nodes", "nodes is a list of at most %d nodes.", GRAPH_NODES_MAX);
    struct graph_node *nodes = arena_array(reading->arena, json_array_size(given), sizeof(*nodes));
    graph->nodes = nodes;
    graph->node_count = json_array_size(given);
    graph->trigger = GRAPH_NONE;
    for (size_t i = 0; i < graph->node_count; i++) {
        if (!read_node(reading, json_array_get(given, i), arena_printf(reading->arena, "nodes.%zu", i), &nodes[i]))
            return false;
        if (nodes[i].type == NODE_TRIGGER && graph->trigger_count++ == 0)
            graph->trigger = i;
    }
    return true;
}

/* ---- Connections ---- */

static size_t index_of(const struct graph *graph, const char *id)
{
    for (size_t i = 0; i < graph->node_count; i++)
        if (strcmp(graph->nodes[i].id, id) == 0)
            return i;
    return GRAPH_NONE;
}

/* Whether a connection has an id at this end. What is no object is told by itself. */
static bool has_end(const json_t *connection, const char *name)
{
    const char *id = json_string_value(json_object_get(connection, name));
    return !json_is_object(connection) || (id != NULL && id[0] != '\0' && utf8_length(id) <= ID_CHARS);
}

/* Tells several missing ends at once; a single one is told by its own member. */
static bool check_ends(const struct graph_reading *reading, const json_t *given)
{
    static const char *const names[] = { "from", "to" };
    const char *first = NULL;
    const char *listed = "";
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(given); i++)
        for (size_t j = 0; j < ARRAY_COUNT(names); j++) {
            if (has_end(json_array_get(given, i), names[j]))
                continue;
            const char *path = arena_printf(reading->arena, "connections.%zu.%s", i, names[j]);
            first = first != NULL ? first : path;
            if (count++ < LISTED_ENDS)
                listed = arena_printf(reading->arena, "%s%s%s", listed, listed[0] != '\0' ? ", " : "", path);
        }
    if (count < 2)
        return true;
    const char *more = count > LISTED_ENDS ? arena_printf(reading->arena, " and %zu more", count - LISTED_ENDS) : "";
    return fail(reading->err, ERR_INVALID_REQUEST, first, "Each of these must be text of 1 to %d characters: %s%s.", ID_CHARS,
                listed, more);
}

static bool read_connection(const struct graph_reading *reading, const struct graph *graph, const json_t *given, const char *path,
                            struct graph_connection *connection)
{
    static const char *const names[] = { "from", "to", "branch" };
    if (!check_members(reading, given, names, ARRAY_COUNT(names), path) ||
        !read_member(reading, given, "from", path, ID_CHARS, true, &connection->from_id) ||
        !read_member(reading, given, "to", path, ID_CHARS, true, &connection->to_id) ||
        !read_member(reading, given, "branch", path, ID_CHARS, false, &connection->branch))
        return false;
    connection->from = index_of(graph, connection->from_id);
    connection->to = index_of(graph, connection->to_id);
    return true;
}

/* Orders connections by the node that they leave; those of one node stay in the given order. */
static void order_connections(const struct graph_reading *reading, const struct graph_connection *given, struct graph *graph,
                              struct graph_node *nodes)
{
    struct graph_connection *ordered = arena_array(reading->arena, graph->connection_count, sizeof(*ordered));
    size_t count = 0;
    for (size_t from = 0; from <= GRAPH_NONE; from++) {
        size_t first = count;
        for (size_t i = 0; i < graph->connection_count; i++)
            if (given[i].from == from)
                ordered[count++] = given[i];
        if (from < graph->node_count) {
            nodes[from].first_connection = first;
            nodes[from].connection_count = count - first;
        }
    }
    graph->connections = ordered;
}

static bool read_connections(const struct graph_reading *reading, const json_t *given, struct graph *graph,
                             struct graph_node *nodes)
{
    if (!json_is_array(given) || json_array_size(given) > GRAPH_CONNECTIONS_MAX)
        return fail(reading->err, ERR_INVALID_REQUEST, "connections", "connections is a list of at most %d connections.",
                    GRAPH_CONNECTIONS_MAX);
    if (!check_ends(reading, given))
        return false;
    struct graph_connection *connections = arena_array(reading->arena, json_array_size(given), sizeof(*connections));
    graph->connection_count = json_array_size(given);
    for (size_t i = 0; i < graph->connection_count; i++)
        if (!read_connection(reading, graph, json_array_get(given, i), arena_printf(reading->arena, "connections.%zu", i),
                             &connections[i]))
            return false;
    order_connections(reading, connections, graph, nodes);
    return true;
}

/* ---- What the whole graph means ---- */

/* The exit conditions are checked at every node. */
static void spread_exit(const struct graph *graph, struct graph_node *nodes)
{
    if (graph->trigger == GRAPH_NONE)
        return;
    const struct graph_node trigger = nodes[graph->trigger];
    for (size_t i = 0; i < graph->node_count; i++) {
        nodes[i].reads_contact = nodes[i].reads_contact || trigger.reads_contact;
        nodes[i].reads_payload = nodes[i].reads_payload || trigger.reads_payload;
    }
}

/* Goes back along the connections from the nodes that read the payload, or whose message may. Each node is added once. */
static void find_payload_ahead(struct arena *arena, const struct graph *graph, struct graph_node *nodes)
{
    size_t *open = arena_array(arena, graph->node_count + 1, sizeof(*open));
    size_t count = 0;
    for (size_t i = 0; i < graph->node_count; i++) {
        nodes[i].payload_ahead = nodes[i].reads_payload || node_types[nodes[i].type].reads_payload;
        if (nodes[i].payload_ahead)
            open[count++] = i;
    }
    while (count > 0) {
        size_t to = open[--count];
        for (size_t i = 0; i < graph->connection_count; i++) {
            const struct graph_connection *connection = &graph->connections[i];
            if (connection->to != to || connection->from == GRAPH_NONE || nodes[connection->from].payload_ahead)
                continue;
            nodes[connection->from].payload_ahead = true;
            open[count++] = connection->from;
        }
    }
}

bool graph_read(struct arena *arena, const struct id_codec *ids, const json_t *nodes, const json_t *connections,
                struct graph **ret_graph, struct error *err)
{
    const struct graph_reading reading = { arena, ids, err };
    struct graph *graph = arena_alloc(arena, sizeof(*graph));
    if (!read_nodes(&reading, nodes, graph))
        return false;
    struct graph_node *own = (struct graph_node *)(uintptr_t)graph->nodes;
    if (!read_connections(&reading, connections, graph, own))
        return false;
    spread_exit(graph, own);
    find_payload_ahead(arena, graph, own);
    *ret_graph = graph;
    return true;
}

/* ---- Looking up ---- */

const struct graph_node *graph_find(const struct graph *graph, const char *id)
{
    size_t index = index_of(graph, id);
    return index != GRAPH_NONE ? &graph->nodes[index] : NULL;
}

const struct graph_node *graph_next(const struct graph *graph, const struct graph_node *node, const char *branch)
{
    for (size_t i = 0; i < node->connection_count; i++) {
        const struct graph_connection *connection = &graph->connections[node->first_connection + i];
        bool is_way = branch == NULL ? connection->branch == NULL : text_equal(connection->branch, branch);
        if (is_way)
            return connection->to != GRAPH_NONE ? &graph->nodes[connection->to] : NULL;
    }
    return NULL;
}

/* ---- The canonical form ---- */

static int by_id(const void *one, const void *other)
{
    return strcmp(((const struct graph_node *)one)->id, ((const struct graph_node *)other)->id);
}

static int by_ends(const void *one, const void *other)
{
    const struct graph_connection *left = one;
    const struct graph_connection *right = other;
    int order = strcmp(left->from_id, right->from_id);
    if (order == 0)
        order = strcmp(left->branch != NULL ? left->branch : "", right->branch != NULL ? right->branch : "");
    return order != 0 ? order : strcmp(left->to_id, right->to_id);
}

static void set_text(json_t *object, const char *name, const char *text)
{
    if (text != NULL)
        json_object_set_new(object, name, json_string(text));
}

static json_t *node_json(const struct graph_node *node)
{
    json_t *object = json_object();
    set_text(object, "id", node->id);
    set_text(object, "type", node_types[node->type].name);
    set_text(object, "label", node->label);
    set_text(object, "description", node->description);
    json_object_set(object, "config", json_for_iteration(node->given));
    return object;
}

static json_t *connection_json(const struct graph_connection *connection)
{
    json_t *object = json_object();
    set_text(object, "from", connection->from_id);
    set_text(object, "to", connection->to_id);
    set_text(object, "branch", connection->branch);
    return object;
}

json_t *graph_nodes_json(struct arena *arena, const struct graph *graph)
{
    json_t *list = json_in_arena(arena, json_array());
    for (size_t i = 0; i < graph->node_count; i++)
        json_array_append_new(list, node_json(&graph->nodes[i]));
    return list;
}

char *graph_canonical(struct arena *arena, const struct graph *graph)
{
    struct graph sorted = *graph;
    struct graph_node *nodes = arena_array(arena, graph->node_count + 1, sizeof(*nodes));
    struct graph_connection *connections = arena_array(arena, graph->connection_count + 1, sizeof(*connections));
    if (graph->node_count > 0)
        memcpy(nodes, graph->nodes, graph->node_count * sizeof(*nodes));
    if (graph->connection_count > 0)
        memcpy(connections, graph->connections, graph->connection_count * sizeof(*connections));
    qsort(nodes, graph->node_count, sizeof(*nodes), by_id);
    qsort(connections, graph->connection_count, sizeof(*connections), by_ends);
    sorted.nodes = nodes;
    json_t *whole = json_in_arena(arena, json_object());
    json_t *list = json_array();
    json_object_set(whole, "nodes", graph_nodes_json(arena, &sorted));
    for (size_t i = 0; i < graph->connection_count; i++)
        json_array_append_new(list, connection_json(&connections[i]));
    json_object_set_new(whole, "connections", list);
    return json_canonical(arena, whole);
}
