#include "engine/automations/blockers.h"

#include "base/json_read.h"
#include "base/text.h"
#include "engine/automations/graph_paths.h"

#include <stdarg.h>
#include <string.h>

enum { BLOCKERS_MAX_BYTES = 4 * 1024 * 1024, FIRST_CAPACITY = 16 };

static const char *const type_names[NODE_TYPE_COUNT] = { "trigger", "sendEmail", "wait", "filter", "split" };

/* ---- The list ---- */

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
            json_member_int(json, type_names[type], counts[type]);
    json_object_end(json);
    json_object_end(json);
}

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

static const char *listed(struct arena *arena, const struct branch_list *branches)
{
    const char *text = branches->names[0];
    for (size_t i = 1; i < branches->count; i++)
        text = arena_printf(arena, "%s, %s", text, branches->names[i]);
    return text;
}

static void check_way(struct blockers *blockers, const struct graph_node *node, const struct branch_list *branches,
                      const struct graph_connection *connection)
{
    if (branches->count == 0 && connection->branch != NULL)
        blocker_add(blockers, node, false,
                    "The connection to %s has the branch %s, but the node has one way out. Leave branch out.", connection->to_id,
                    connection->branch);
    else if (branches->count > 0 && connection->branch == NULL)
        blocker_add(blockers, node, false, "The connection to %s has no branch. Set branch to one of %s.", connection->to_id,
                    listed(blockers->arena, branches));
    else if (branches->count > 0 && !branch_list_has(branches, connection->branch))
        blocker_add(blockers, node, false, "The node has no branch %s, by which a connection leads to %s. Its branches are %s.",
                    connection->branch, connection->to_id, listed(blockers->arena, branches));
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
    struct branch_list branches = node_branches(node);
    for (size_t i = 0; i < node->connection_count; i++)
        check_way(blockers, node, &branches, &graph->connections[node->first_connection + i]);
    if (branches.count == 0 && ways_by(graph, node, NULL) > 1)
        blocker_add(blockers, node, false, "Several connections leave the node, which has one way out. Use a split for branches.");
    if (branches.count > 0 && node->connection_count == 0)
        blocker_add(blockers, node, false, "No branch leads on. Connect at least one of %s.", listed(blockers->arena, &branches));
    for (size_t i = 0; i < branches.count; i++) {
        size_t ways = ways_by(graph, node, branches.names[i]);
        if (ways > 1)
            blocker_add(blockers, node, false, "Several connections leave by the branch %s. Keep one.", branches.names[i]);
        else if (ways == 0 && node->connection_count > 0)
            blocker_add(blockers, node, true, "Nothing follows the branch %s, so runs end there.", branches.names[i]);
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
    return blockers_find_values(work, graph, refs, ret_blockers, err);
}
