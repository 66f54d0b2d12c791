#include "engine/automations/graph_paths.h"

#include "base/clock.h"
#include "base/text.h"

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

/* Whether a run that leaves the node by this connection has surely waited. An event may have come before the run, so only the
 * timeout is a wait. */
static bool is_slow(const struct graph_node *node, const struct graph_connection *connection)
{
    int64_t wait_us = node->least_wait_us;
    const struct wait_config *wait = node->type == NODE_WAIT ? node->config : NULL;
    if (wait != NULL && wait->form == WAIT_FORM_EVENT && text_equal(connection->branch, "timeout"))
        wait_us = node_span_us(wait->event->timeout->duration, wait->event->timeout->unit);
    return wait_us >= LOOP_WAIT_MIN_S * US_PER_S;
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
