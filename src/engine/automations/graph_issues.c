#include "engine/automations/graph_issues.h"

#include "base/json_read.h"
#include "base/text.h"
#include "template/template.h"

#include <string.h>

/* More than 400 connections with three issues each and 200 nodes with three can have: texts of 64 characters that are escaped. */
enum { ISSUES_MAX_BYTES = 4 * 1024 * 1024 };

/* The list of issues, written as they are found. */
struct issues {
    const struct work *work;
    const struct graph *graph;
    struct json_writer json;
    struct buf *text;
    size_t count;
    const char *first; /* the message of the first issue */
};

/* ---- Writing ---- */

static const char *keep_message(struct issues *issues, const char *message)
{
    if (issues->count++ == 0)
        issues->first = message;
    return message;
}

static void begin_issue(struct issues *issues, const char *kind)
{
    json_object_begin(&issues->json);
    json_member_text(&issues->json, "kind", kind);
}

static void end_issue(struct issues *issues, const char *message)
{
    json_member_text(&issues->json, "message", keep_message(issues, message));
    json_object_end(&issues->json);
}

/* `member` is a path below the node, such as config.domainId. */
static void begin_node_issue(struct issues *issues, const char *kind, const struct graph_node *node, const char *member)
{
    static const char config[] = "config.";
    begin_issue(issues, kind);
    json_member_text(&issues->json, "nodeId", node->id);
    json_member_text(&issues->json, "param",
                     arena_printf(issues->work->arena, "nodes.%zu.%s", (size_t)(node - issues->graph->nodes), member));
    if (text_starts_with(member, config))
        json_member_text_if(&issues->json, "value", node_config_text(node, member + strlen(config)));
}

static void add_node_issue(struct issues *issues, const char *kind, const struct graph_node *node, const char *member,
                           const char *message)
{
    begin_node_issue(issues, kind, node, member);
    end_issue(issues, message);
}

static void add_connection_issue(struct issues *issues, const char *kind, const struct graph_connection *connection,
                                 const char *message)
{
    begin_issue(issues, kind);
    json_member_text(&issues->json, "nodeId", connection->from_id);
    json_key(&issues->json, "connection");
    json_object_begin(&issues->json);
    json_member_text(&issues->json, "from", connection->from_id);
    json_member_text(&issues->json, "to", connection->to_id);
    json_member_text_if(&issues->json, "branch", connection->branch);
    json_object_end(&issues->json);
    end_issue(issues, message);
}

/* ---- Structure ---- */

static bool is_repeated(const struct graph *graph, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (strcmp(graph->nodes[i].id, graph->nodes[at].id) == 0)
            return true;
    return false;
}

static void find_repeated_ids(struct issues *issues)
{
    for (size_t i = 0; i < issues->graph->node_count; i++) {
        const struct graph_node *node = &issues->graph->nodes[i];
        if (is_repeated(issues->graph, i))
            add_node_issue(
                issues, "duplicate_node_id", node, "id",
                arena_printf(issues->work->arena, "Two nodes have the id %s. Give each node an id of its own.", node->id));
    }
}

static void check_connection(struct issues *issues, const struct graph_connection *connection)
{
    struct arena *arena = issues->work->arena;
    if (connection->from == GRAPH_NONE)
        add_connection_issue(issues, "connection_unknown_from", connection,
                             arena_printf(arena, "No node has the id %s, from which a connection leaves.", connection->from_id));
    if (connection->to == GRAPH_NONE)
        add_connection_issue(issues, "connection_unknown_to", connection,
                             arena_printf(arena, "No node has the id %s, to which a connection leads.", connection->to_id));
    if (connection->to != GRAPH_NONE && issues->graph->nodes[connection->to].type == NODE_TRIGGER)
        add_connection_issue(
            issues, "connection_targets_trigger", connection,
            arena_printf(arena, "The connection from %s leads to the trigger, where runs only begin.", connection->from_id));
    if (strcmp(connection->from_id, connection->to_id) == 0)
        add_connection_issue(issues, "connection_self_loop", connection,
                             arena_printf(arena, "A connection leads from %s to itself.", connection->from_id));
}

/* ---- References ---- */

static void add_mismatch(struct issues *issues, const struct graph_node *node, int64_t owner)
{
    begin_node_issue(issues, "email_version_mismatch", node, "config.emailVersionId");
    json_member_id(&issues->json, issues->work, "emailId", ID_EMAIL, owner);
    end_issue(issues,
              arena_printf(issues->work->arena,
                           "The version of node %s belongs to another design, which the issue names as emailId.", node->id));
}

static void check_version(struct issues *issues, const struct graph_refs *refs, const struct graph_node *node)
{
    static const char member[] = "config.emailVersionId";
    struct arena *arena = issues->work->arena;
    int64_t version_id = node_config_id(issues->work, node, ID_VERSION, "emailVersionId");
    const struct graph_refs_row *version = version_id != 0 ? graph_ref(refs, "version", version_id) : NULL;
    if (version == NULL || text_equal(version->state, "deleted"))
        add_node_issue(issues, "email_not_found", node, member,
                       arena_printf(arena, "The node %s sends a version of a design that is not in this brand.", node->id));
    else if (version->owner.value != node_config_id(issues->work, node, ID_EMAIL, "emailId"))
        add_mismatch(issues, node, version->owner.value);
}

static void check_domain(struct issues *issues, const struct graph_refs *refs, const struct graph_node *node)
{
    static const char member[] = "config.domainId";
    struct arena *arena = issues->work->arena;
    if (node_config_text(node, "domainId") == NULL) /* */
        return;
    const struct graph_refs_row *domain = graph_ref(refs, "domain", node_config_id(issues->work, node, ID_DOMAIN, "domainId"));
    if (domain == NULL)
        add_node_issue(issues, "domain_not_found", node, member,
                       arena_printf(arena, "The node %s sends from a domain that is not in this brand.", node->id));
    else if (!text_equal(domain->state, "verified"))
        add_node_issue(issues, "domain_not_ready", node, member,
                       arena_printf(arena, "The domain %s of node %s is not verified yet.", domain->name, node->id));
}

/* ---- The trigger node and texts ---- */

bool graph_trigger_check(const struct graph *graph, struct error *err)
{
    return graph->trigger_count == 1 ||
           fail(err, ERR_INVALID_REQUEST, "nodes", "A graph has exactly one node of type trigger; this one has %zu.",
                graph->trigger_count) ||
           error_suggest(err, graph->trigger_count > 1 ? "Keep one node of type trigger, and leave out the others."
                                                       : "Add a node of type trigger, to which no connection leads.");
}

/* A subject or preview text that is no template is a fault of one text, like one of a wrong type. */
static bool check_text(const struct work *work, const struct graph *graph, const struct graph_node *node, const char *member,
                       struct error *err)
{
    const char *text = node_config_text(node, member);
    struct bytes ignored;
    if (text == NULL || template_compile(work->arena, TEMPLATE_HEADER, text, strlen(text), &ignored, err))
        return true;
    return error_set_param(err, "nodes.%zu.config.%s", (size_t)(node - graph->nodes), member);
}

static bool check_texts(const struct work *work, const struct graph *graph, struct error *err)
{
    for (size_t i = 0; i < graph->node_count; i++) {
        const struct graph_node *node = &graph->nodes[i];
        if (node->type == NODE_SEND_EMAIL &&
            (!check_text(work, graph, node, "subject", err) || !check_text(work, graph, node, "previewText", err)))
            return false;
    }
    return true;
}

/* ---- Triggers and audiences ---- */

/* The contract has no kind of issue for these ids, so an unknown one is refused like any other id of a body. */
static bool check_named(const struct work *work, const struct graph_refs *refs, const struct graph_node *node, size_t place,
                        struct error *err)
{
    const char *audience = node->type == NODE_TRIGGER ? node_config_text(node, "audienceId") : NULL;
    if (audience != NULL && graph_ref(refs, "audience", node_config_id(work, node, ID_AUDIENCE, "audienceId")) == NULL)
        return fail(err, ERR_AUDIENCE_NOT_FOUND, "audienceId", "No audience with this id in this brand.") ||
               error_set_param(err, "nodes.%zu.config.audienceId", place);
    if (node_event_text(node) != NULL && graph_ref(refs, "trigger", node_event_id(work, node)) == NULL)
        return fail(err, ERR_TRIGGER_EVENT_NOT_FOUND, "triggerEventId", "No trigger with this id in this brand.") ||
               error_set_param(err, "nodes.%zu.config.%striggerEventId", place, node->type == NODE_WAIT ? "event." : "");
    return true;
}

static bool check_all_named(const struct work *work, const struct graph *graph, const struct graph_refs *refs, struct error *err)
{
    for (size_t i = 0; i < graph->node_count; i++)
        if (!check_named(work, refs, &graph->nodes[i], i, err))
            return false;
    return true;
}

/* ---- All ---- */

static void find_issues(struct issues *issues, const struct graph_refs *refs)
{
    find_repeated_ids(issues);
    for (size_t i = 0; i < issues->graph->connection_count; i++)
        check_connection(issues, &issues->graph->connections[i]);
    for (size_t i = 0; i < issues->graph->node_count; i++) {
        const struct graph_node *node = &issues->graph->nodes[i];
        if (node->type != NODE_SEND_EMAIL)
            continue;
        check_version(issues, refs, node);
        check_domain(issues, refs, node);
    }
}

bool graph_issues_check(const struct work *work, const struct graph *graph, const struct graph_refs *refs, struct error *err)
{
    struct issues issues = { .work = work, .graph = graph, .text = buf_in_arena(work->arena, ISSUES_MAX_BYTES) };
    if (!graph_trigger_check(graph, err) || !check_texts(work, graph, err) || !check_all_named(work, graph, refs, err))
        return false;
    json_writer_init(&issues.json, issues.text);
    json_object_begin(&issues.json);
    json_key(&issues.json, "issues");
    json_array_begin(&issues.json);
    find_issues(&issues, refs);
    json_array_end(&issues.json);
    json_object_end(&issues.json);
    if (issues.count == 0)
        return true;
    return fail(err, ERR_AUTOMATION_GRAPH_INVALID, "nodes", "The graph has %zu %s. %s", issues.count,
                issues.count == 1 ? "fault" : "faults", issues.first) ||
           error_with_details(err, buf_text(issues.text));
}
