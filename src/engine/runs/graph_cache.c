#include "engine/runs/graph_cache.h"

#include "base/json_read.h"
#include "base/panic.h"
#include "sql/run_steps.h"

#include <string.h>

enum {
    CACHE_MAX_VERSIONS = 1024,
    CACHE_MAX_BYTES = 24 * 1024 * 1024,
    VERSION_MAX_BYTES = 4 * 1024 * 1024, /* of the text of its nodes or connections */
    GRAPH_MAX_BYTES = 16 * 1024 * 1024,  /* of a graph in memory */
};

struct cached_version {
    struct cached_graph graph; /* version_id 0: the place is free */
    struct arena *arena;
    size_t bytes;
    int64_t used; /* the number of the load that used it last */
};

struct graph_cache {
    struct arena *arena; /* owns the cache itself */
    struct cached_version items[CACHE_MAX_VERSIONS];
    size_t bytes;
    int64_t loads;
};

struct graph_cache *graph_cache_new(void)
{
    struct arena *arena = arena_new(0);
    struct graph_cache *cache = arena_alloc(arena, sizeof(*cache));
    cache->arena = arena;
    return cache;
}

static void forget(struct graph_cache *cache, struct cached_version *version)
{
    cache->bytes -= version->bytes;
    arena_free(version->arena);
    memset(version, 0, sizeof(*version));
}

void graph_cache_free(struct graph_cache *cache)
{
    if (cache == NULL)
        return;
    for (size_t i = 0; i < CACHE_MAX_VERSIONS; i++)
        arena_free(cache->items[i].arena);
    arena_free(cache->arena);
}

static struct cached_version *find_version(const struct graph_cache *cache, int64_t version_id)
{
    for (size_t i = 0; i < CACHE_MAX_VERSIONS; i++)
        if (cache->items[i].graph.version_id == version_id)
            return (struct cached_version *)(uintptr_t)&cache->items[i];
    return NULL;
}

const struct cached_graph *graph_cache_find(const struct graph_cache *cache, int64_t version_id)
{
    const struct cached_version *version = find_version(cache, version_id);
    if (version == NULL)
        panic("a version is not in the cache of graphs");
    return &version->graph;
}

/* ---- Room ---- */

/* The version that was not used for longest, but not by this load; NULL: there is none. */
static struct cached_version *oldest_version(struct graph_cache *cache)
{
    struct cached_version *oldest = NULL;
    for (size_t i = 0; i < CACHE_MAX_VERSIONS; i++) {
        struct cached_version *item = &cache->items[i];
        bool is_idle = item->graph.version_id != 0 && item->used < cache->loads;
        if (is_idle && (oldest == NULL || item->used < oldest->used))
            oldest = item;
    }
    return oldest;
}

/* A free place. The versions of one load may pass the bound of memory together; that of the places holds. */
static struct cached_version *make_room(struct graph_cache *cache)
{
    struct cached_version *oldest = oldest_version(cache);
    while (oldest != NULL && (cache->bytes > CACHE_MAX_BYTES || find_version(cache, 0) == NULL)) {
        forget(cache, oldest);
        oldest = oldest_version(cache);
    }
    struct cached_version *place = find_version(cache, 0);
    if (place == NULL)
        panic("a load has more versions than the cache of graphs");
    return place;
}

/* ---- What steps must know ---- */

static struct step_needs needs_together(struct step_needs a, struct step_needs b)
{
    return (struct step_needs){
        .contact = a.contact || b.contact,
        .payload = a.payload || b.payload,
        .messages = a.messages || b.messages,
        .events = a.events || b.events,
    };
}

/* The needs from node `at` on; a wait behind it ends the path. `seen` marks the nodes that were added. */
static struct step_needs needs_from(const struct graph *graph, size_t at, bool *seen)
{
    const struct graph_node *node = &graph->nodes[at];
    struct step_needs needs = step_needs(node);
    seen[at] = true;
    for (size_t i = 0; i < node->connection_count; i++) {
        size_t next = graph->connections[node->first_connection + i].to;
        if (next == GRAPH_NONE || seen[next])
            continue;
        bool waits = graph->nodes[next].type == NODE_WAIT;
        needs = needs_together(needs, waits ? step_needs(&graph->nodes[next]) : needs_from(graph, next, seen));
    }
    return needs;
}

/* The trigger is asked before each step, because its config may end the run. */
static const struct step_needs *needs_by_node(struct arena *arena, const struct graph *graph)
{
    struct step_needs *needs = arena_array(arena, graph->node_count, sizeof(*needs));
    struct step_needs of_trigger = { .contact = false };
    if (graph->trigger != GRAPH_NONE)
        of_trigger = step_needs(&graph->nodes[graph->trigger]);
    for (size_t i = 0; i < graph->node_count; i++) {
        bool seen[GRAPH_NODES_MAX] = { false };
        needs[i] = needs_together(of_trigger, needs_from(graph, i, seen));
    }
    return needs;
}

/* ---- Loading ---- */

static bool parse(struct arena *arena, const char *text, const json_t **ret_json, struct error *err)
{
    struct json_bounds bounds = { .max_bytes = VERSION_MAX_BYTES, .from_jsonb = true };
    return json_read(arena, text, strlen(text), bounds, ret_json, err);
}

/* A version that cannot be read stays in the cache without a graph; its runs fail. */
static void read_version(struct cached_version *version, const struct work *work, const struct step_versions_row *row)
{
    const json_t *nodes;
    const json_t *connections;
    struct graph *graph;
    struct error why = { .code = ERR_NONE };
    if (!parse(version->arena, row->nodes, &nodes, &why) || !parse(version->arena, row->connections, &connections, &why) ||
        !graph_read(version->arena, &work->engine->ids, nodes, connections, &graph, &why))
        return;
    version->graph.graph = graph;
    version->graph.needs = needs_by_node(version->arena, graph);
}

static void add_version(struct graph_cache *cache, const struct work *work, int64_t version_id, const struct step_versions_row *row)
{
    struct cached_version *version = make_room(cache);
    *version =
        (struct cached_version){ .graph = { .version_id = version_id }, .arena = arena_new(GRAPH_MAX_BYTES), .used = cache->loads };
    if (row != NULL)
        read_version(version, work, row);
    version->bytes = arena_used_bytes(version->arena);
    cache->bytes += version->bytes;
}

static const struct step_versions_row *row_of(const struct step_versions_row *rows, size_t count, int64_t version_id)
{
    for (size_t i = 0; i < count; i++)
        if (rows[i].id == version_id)
            return &rows[i];
    return NULL;
}

bool graph_cache_load(struct graph_cache *cache, const struct work *work, struct int_list version_ids, struct error *err)
{
    int64_t *missing = arena_array(work->arena, version_ids.count, sizeof(*missing));
    size_t count = 0;
    cache->loads++;
    for (size_t i = 0; i < version_ids.count; i++) {
        struct cached_version *version = find_version(cache, version_ids.items[i]);
        if (version != NULL)
            version->used = cache->loads;
        else
            missing[count++] = version_ids.items[i];
    }
    if (count == 0)
        return true;
    struct step_versions_params params = { .brand_id = work->brand_id, .ids = { missing, count } };
    struct step_versions_row *rows;
    size_t row_count;
    if (!sql_step_versions(work->conn, work->arena, &params, &rows, &row_count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (find_version(cache, missing[i]) == NULL)
            add_version(cache, work, missing[i], row_of(rows, row_count, missing[i]));
    return true;
}
