#include "engine/automations/blockers.h"

#include "base/json_read.h"
#include "base/text.h"
#include "engine/automations/graph_paths.h"
#include "engine/automations/value_blockers.h"

#include <string.h>

/* ---- The trigger ---- */

static void check_event(struct blockers *blockers, const struct work *work, const struct graph_refs *refs,
                        const struct graph_node *node)
{
    int64_t id = node_event_id(work, node);
    if (node->type == NODE_TRIGGER && node_config_text(node, "triggerEventId") == NULL)
        blocker_add(blockers, node, false, "The trigger names no event. Set triggerEventId.");
    else if (graph_ref(refs, "trigger", id) == NULL)
        blocker_add(blockers, node, false, "The trigger event is not in this brand. Set triggerEventId to one that exists.");
}

static void check_audience(struct blockers *blockers, const struct work *work, const struct graph_refs *refs,
                           const struct graph_node *node)
{
    int64_t id = node_config_id(work, node, ID_AUDIENCE, "audienceId");
    const struct graph_refs_row *audience = id != 0 ? graph_ref(refs, "audience", id) : NULL;
    if (node_config_text(node, "audienceId") == NULL)
        blocker_add(blockers, node, false, "The trigger names no audience. Set audienceId.");
    else if (audience == NULL)
        blocker_add(blockers, node, false, "The audience is not in this brand. Set audienceId to one that exists.");
    else if (text_equal(audience->state, "failed"))
        blocker_add(blockers, node, false, "The build of the audience %s has failed.", audience->name);
    else if (!text_equal(audience->state, "ready"))
        blocker_add(blockers, node, true, "The audience %s is still being built.", audience->name);
}

static void check_trigger(struct blockers *blockers, const struct work *work, const struct graph_refs *refs,
                          const struct graph_node *node)
{
    if (text_equal(node_config_text(node, "mode"), "manualAudience"))
        check_audience(blockers, work, refs, node);
    else
        check_event(blockers, work, refs, node);
    if (node->connection_count == 0)
        blocker_add(blockers, node, true, "Nothing follows the trigger, so runs end at once.");
}

/* ---- Mail ---- */

/* References are checked as issues when a graph is saved, and again here, because they may have changed since. */
static void check_mail(struct blockers *blockers, const struct work *work, const struct graph_refs *refs,
                       const struct graph_node *node)
{
    int64_t version_id = node_config_id(work, node, ID_VERSION, "emailVersionId");
    int64_t domain_id = node_config_id(work, node, ID_DOMAIN, "domainId");
    const struct graph_refs_row *version = version_id != 0 ? graph_ref(refs, "version", version_id) : NULL;
    const struct graph_refs_row *domain = domain_id != 0 ? graph_ref(refs, "domain", domain_id) : NULL;
    if (version == NULL || text_equal(version->state, "deleted"))
        blocker_add(blockers, node, false, "The design is not in this brand any more. Set emailId and emailVersionId.");
    if (node_config_text(node, "domainId") == NULL)
        blocker_add(blockers, node, false, "No sending domain is chosen. Set domainId.");
    else if (domain == NULL)
        blocker_add(blockers, node, false, "The sending domain is not in this brand any more. Set domainId.");
    else if (!text_equal(domain->state, "verified"))
        blocker_add(blockers, node, false, "The domain %s is not verified.", domain->name);
    if (node_config_text(node, "subject") == NULL)
        blocker_add(blockers, node, false, "The message has no subject. Set subject.");
}

/* ---- Ways out ---- */

static const char *listed(struct arena *arena, struct text_list branches)
{
    const char *text = branches.items[0];
    for (size_t i = 1; i < branches.count; i++)
        text = arena_printf(arena, "%s, %s", text, branches.items[i]);
    return text;
}

static bool has_branch(struct text_list branches, const char *name)
{
    for (size_t i = 0; i < branches.count; i++)
        if (strcmp(branches.items[i], name) == 0)
            return true;
    return false;
}

static void check_way(struct blockers *blockers, const struct graph_node *node, const struct graph_connection *connection)
{
    if (node->branches.count == 0 && connection->branch != NULL)
        blocker_add(blockers, node, false,
                    "The connection to %s has the branch %s, but the node has one way out. Leave branch out.", connection->to_id,
                    connection->branch);
    else if (node->branches.count > 0 && connection->branch == NULL)
        blocker_add(blockers, node, false, "The connection to %s has no branch. Set branch to one of %s.", connection->to_id,
                    listed(blockers->arena, node->branches));
    else if (node->branches.count > 0 && !has_branch(node->branches, connection->branch))
        blocker_add(blockers, node, false, "The node has no branch %s, by which a connection leads to %s. Its branches are %s.",
                    connection->branch, connection->to_id, listed(blockers->arena, node->branches));
}

static size_t ways_by(const struct graph *graph, const struct graph_node *node, const char *branch)
{
    size_t ways = 0;
    for (size_t i = 0; i < node->connection_count; i++)
        ways += text_equal(graph->connections[node->first_connection + i].branch, branch);
    return ways;
}

static void check_ways(struct blockers *blockers, const struct graph *graph, const struct graph_node *node)
{
    struct text_list branches = node->branches;
    for (size_t i = 0; i < node->connection_count; i++)
        check_way(blockers, node, &graph->connections[node->first_connection + i]);
    if (branches.count == 0 && ways_by(graph, node, NULL) > 1)
        blocker_add(blockers, node, false, "Several connections leave the node, which has one way out. Use a split for branches.");
    if (branches.count > 0 && node->connection_count == 0)
        blocker_add(blockers, node, false, "No branch leads on. Connect at least one of %s.", listed(blockers->arena, branches));
    for (size_t i = 0; i < branches.count; i++) {
        size_t ways = ways_by(graph, node, branches.items[i]);
        if (ways > 1)
            blocker_add(blockers, node, false, "Several connections leave by the branch %s. Keep one.", branches.items[i]);
        else if (ways == 0 && node->connection_count > 0)
            blocker_add(blockers, node, true, "Nothing follows the branch %s, so runs end there.", branches.items[i]);
    }
}

/* ---- Reach and loops ---- */

static void check_reach(struct blockers *blockers, const struct graph *graph)
{
    const bool *reached = graph_reach(blockers->arena, graph, graph->trigger);
    for (size_t i = 0; i < graph->node_count; i++)
        if (!reached[i])
            blocker_add(blockers, &graph->nodes[i], false, "No path leads from the trigger to this node.");
}

static void check_loops(struct blockers *blockers, const struct graph *graph)
{
    size_t count;
    const size_t *loops = graph_quick_loops(blockers->arena, graph, &count);
    bool *told = arena_array(blockers->arena, count + 1, sizeof(*told));
    for (size_t i = 0; i < graph->node_count; i++) {
        if (loops[i] == 0 || told[loops[i]])
            continue;
        told[loops[i]] = true;
        blocker_add(blockers, &graph->nodes[i], false, "A loop leads back to this node without a wait of at least one minute.");
    }
}

/* A filter by engagement needs a message that its runs may have got. */
static void check_source(struct blockers *blockers, const struct graph *graph, const struct graph_node *node)
{
    const char *source_id = node_config_text(node, "sourceNodeId");
    if (node->type != NODE_FILTER || source_id == NULL)
        return;
    const struct graph_node *source = graph_find(graph, source_id);
    if (source == NULL || source->type != NODE_SEND_EMAIL)
        blocker_add(blockers, node, false, "sourceNodeId must be the id of a sendEmail node; %s is none.", source_id);
    else if (!graph_reach(blockers->arena, graph, (size_t)(source - graph->nodes))[node - graph->nodes])
        blocker_add(blockers, node, false, "No path leads from the message %s to this node, so nobody has clicked or opened it.",
                    source_id);
}

/* ---- All ---- */

static void check_node(struct blockers *blockers, const struct work *work, const struct graph *graph, const struct graph_refs *refs,
                       const struct graph_node *node)
{
    if (node->type == NODE_TRIGGER)
        check_trigger(blockers, work, refs, node);
    if (node->type == NODE_SEND_EMAIL)
        check_mail(blockers, work, refs, node);
    if (node->type == NODE_WAIT && json_object_get(node->given, "event") != NULL)
        check_event(blockers, work, refs, node);
    check_ways(blockers, graph, node);
    check_source(blockers, graph, node);
}

bool blockers_find(const struct work *work, const struct graph *graph, const struct graph_refs *refs, struct blockers *ret_blockers,
                   struct error *err)
{
    *ret_blockers = (struct blockers){ .arena = work->arena };
    size_t mails = 0;
    for (size_t i = 0; i < graph->node_count; i++) {
        check_node(ret_blockers, work, graph, refs, &graph->nodes[i]);
        mails += graph->nodes[i].type == NODE_SEND_EMAIL;
    }
    check_reach(ret_blockers, graph);
    check_loops(ret_blockers, graph);
    if (mails == 0)
        blocker_add(ret_blockers, NULL, true, "No node sends mail.");
    return value_blockers_find(work, graph, refs, ret_blockers, err);
}
