#include "engine/automations/graph_refs.h"

#include "base/json_read.h"

#include <stdlib.h>
#include <string.h>

const char *node_config_text(const struct graph_node *node, const char *member)
{
    const char *text = json_get_text(node->given, member);
    return text != NULL && text[0] != '\0' ? text : NULL;
}

int64_t node_config_id(const struct work *work, const struct graph_node *node, enum id_kind kind, const char *member)
{
    const char *text = node_config_text(node, member);
    return text != NULL ? id_decode(&work->engine->ids, kind, text) : 0;
}

const char *node_event_text(const struct graph_node *node)
{
    const json_t *event = node->type == NODE_WAIT ? json_object_get(node->given, "event") : node->given;
    return event != NULL ? json_get_text(event, "triggerEventId") : NULL;
}

int64_t node_event_id(const struct work *work, const struct graph_node *node)
{
    const char *text = node_event_text(node);
    return text != NULL ? id_decode(&work->engine->ids, ID_TRIGGER, text) : 0;
}

static struct int_list event_ids(const struct work *work, const struct graph *graph)
{
    int64_t *ids = arena_array(work->arena, graph->node_count, sizeof(*ids));
    size_t count = 0;
    for (size_t i = 0; i < graph->node_count; i++) {
        int64_t id = node_event_id(work, &graph->nodes[i]);
        if (id != 0)
            ids[count++] = id;
    }
    return (struct int_list){ .items = ids, .count = count };
}

/* The ids that a member of the mail nodes names. */
static struct int_list ids_of_mails(const struct work *work, const struct graph *graph, enum id_kind kind, const char *member)
{
    int64_t *ids = arena_array(work->arena, graph->node_count, sizeof(*ids));
    size_t count = 0;
    for (size_t i = 0; i < graph->node_count; i++) {
        int64_t id = graph->nodes[i].type == NODE_SEND_EMAIL ? node_config_id(work, &graph->nodes[i], kind, member) : 0;
        if (id != 0)
            ids[count++] = id;
    }
    return (struct int_list){ .items = ids, .count = count };
}

bool graph_refs_load(const struct work *work, const struct graph *graph, struct graph_refs *ret_refs, struct error *err)
{
    struct graph_refs_params params = {
        .brand_id = work->brand_id,
        .version_ids = ids_of_mails(work, graph, ID_VERSION, "emailVersionId"),
        .domain_ids = ids_of_mails(work, graph, ID_DOMAIN, "domainId"),
        .trigger_ids = event_ids(work, graph),
    };
    if (graph->trigger != GRAPH_NONE)
        params.audience_id = node_config_id(work, &graph->nodes[graph->trigger], ID_AUDIENCE, "audienceId");
    struct graph_refs_row *rows;
    if (!sql_graph_refs(work->conn, work->arena, &params, &rows, &ret_refs->count, err))
        return false;
    ret_refs->rows = rows;
    return true;
}

struct ref_key {
    const char *kind;
    int64_t id;
};

static int compare_ref(const void *left, const void *right)
{
    const struct ref_key *key = left;
    const struct graph_refs_row *row = right;
    int order = strcmp(key->kind, row->kind);
    return order != 0 ? order : (key->id > row->id) - (key->id < row->id);
}

const struct graph_refs_row *graph_ref(const struct graph_refs *refs, const char *kind, int64_t id)
{
    struct ref_key key = { .kind = kind, .id = id };
    return refs->count > 0 ? bsearch(&key, refs->rows, refs->count, sizeof(*refs->rows), compare_ref) : NULL;
}
