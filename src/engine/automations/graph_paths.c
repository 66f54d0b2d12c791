#include "engine/automations/graph_paths.h"

#include "base/json_read.h"
#include "base/text.h"

#include <string.h>

/* ---- Branches ---- */

static const struct branch_list one_way = { .count = 0 };

static bool is_engagement(const struct graph_node *node)
{
    return json_object_get(node->given, "sourceNodeId") != NULL;
}

/* Those of clicked, opened and otherwise that the config lists; all of them when it lists none. */
static struct branch_list engagement_branches(const struct graph_node *node)
{
    static const struct branch_list all = { .names = { "clicked", "opened", "otherwise" }, .count = 3 };
    const json_t *given = json_object_get(node->given, "branches");
    struct branch_list listed = { .count = 0 };
    for (size_t i = 0; i < json_array_size(given) && listed.count < BRANCHES_MAX; i++) {
        const char *name = json_string_value(json_array_get(given, i));
        if (name != NULL)
            listed.names[listed.count++] = name;
    }
    return listed.count > 0 ? listed : all;
}

struct branch_list node_branches(const struct graph_node *node)
{
    static const struct branch_list event = { .names = { "event", "timeout" }, .count = 2 };
    static const struct branch_list condition = { .names = { "true", "false" }, .count = 2 };
    static const struct branch_list sides = { .names = { "left", "right" }, .count = 2 };
    switch (node->type) {
    case NODE_WAIT:
        return json_object_get(node->given, "event") != NULL ? event : one_way;
    case NODE_FILTER:
        return is_engagement(node) ? engagement_branches(node) : condition;
    case NODE_SPLIT:
        return sides;
    case NODE_TRIGGER:
    case NODE_SEND_EMAIL:
    case NODE_TYPE_COUNT:
        break;
    }
    return one_way;
}

bool branch_list_has(const struct branch_list *branches, const char *name)
{
    for (size_t i = 0; i < branches->count; i++)
        if (strcmp(branches->names[i], name) == 0)
            return true;
    return false;
}

/* ---- Reach ---- */

static void visit(const struct graph *graph, size_t at, bool *reached)
{
    const struct graph_node *node = &graph->nodes[at];
    reached[at] = true;
    for (size_t i = 0; i < node->connection_count; i++) {
        size_t to = graph->connections[node->first_connection + i].to;
        if (to != GRAPH_NONE && !reached[to])
            visit(graph, to, reached);
    }
}

bool *graph_reach(struct arena *arena, const struct graph *graph, size_t from)
{
    bool *reached = arena_array(arena, graph->node_count, sizeof(*reached));
    if (from < graph->node_count)
        visit(graph, from, reached);
    return reached;
}

/* ---- Loops ---- */

int64_t duration_seconds(const json_t *duration)
{
    static const struct {
        const char *unit;
        int64_t ms;
    } units[] = { { "ms", 1 },          { "seconds", 1000 },  { "minutes", 60000 },
                  { "hours", 3600000 }, { "days", 86400000 }, { "weeks", 604800000 } };
    const char *unit = json_get_text(duration, "unit");
    for (size_t i = 0; i < ARRAY_COUNT(units); i++)
        if (text_equal(unit, units[i].unit))
            return json_get_int(duration, "duration", 0) * units[i].ms / 1000;
    return 0;
}

/* Whether a run that leaves the node by this connection has surely waited. A wait until the time of a field may be over at once,
 * and an event may have come before. */
static bool is_slow(const struct graph_node *node, const struct graph_connection *connection)
{
    if (node->type != NODE_WAIT)
        return false;
    const json_t *event = json_object_get(node->given, "event");
    if (event != NULL)
        return text_equal(connection->branch, "timeout") && duration_seconds(json_object_get(event, "timeout")) >= LOOP_WAIT_MIN_S;
    return json_object_get(node->given, "localTime") != NULL || duration_seconds(node->given) >= LOOP_WAIT_MIN_S;
}

/* Tarjan's strongly connected components, over the connections that are not slow. */
struct loop_search {
    const struct graph *graph;
    size_t *order; /* in which the nodes were entered, from 1 on */
    size_t *low;
    size_t *stack;
    bool *on_stack;
    size_t depth;
    size_t entered;
    size_t *loops;
    size_t loop_count;
};

static void close_component(struct loop_search *search, size_t at)
{
    size_t top = search->depth;
    while (search->stack[top - 1] != at)
        top--;
    bool is_loop = search->depth - top > 0;
    search->loop_count += is_loop;
    for (; search->depth >= top; search->depth--) {
        size_t node = search->stack[search->depth - 1];
        search->on_stack[node] = false;
        search->loops[node] = is_loop ? search->loop_count : 0;
    }
}

static void enter(struct loop_search *search, size_t at)
{
    const struct graph_node *node = &search->graph->nodes[at];
    search->order[at] = search->low[at] = ++search->entered;
    search->stack[search->depth++] = at;
    search->on_stack[at] = true;
    for (size_t i = 0; i < node->connection_count; i++) {
        const struct graph_connection *connection = &search->graph->connections[node->first_connection + i];
        size_t to = connection->to;
        if (to == GRAPH_NONE || is_slow(node, connection))
            continue;
        if (search->order[to] == 0)
            enter(search, to);
        if (search->on_stack[to] && search->low[to] < search->low[at])
            search->low[at] = search->low[to];
    }
    if (search->low[at] == search->order[at])
        close_component(search, at);
}

size_t *graph_quick_loops(struct arena *arena, const struct graph *graph, size_t *ret_count)
{
    size_t count = graph->node_count;
    struct loop_search search = {
        .graph = graph,
        .order = arena_array(arena, count, sizeof(size_t)),
        .low = arena_array(arena, count, sizeof(size_t)),
        .stack = arena_array(arena, count, sizeof(size_t)),
        .on_stack = arena_array(arena, count, sizeof(bool)),
        .loops = arena_array(arena, count, sizeof(size_t)),
    };
    for (size_t i = 0; i < count; i++)
        if (search.order[i] == 0)
            enter(&search, i);
    *ret_count = search.loop_count;
    return search.loops;
}
