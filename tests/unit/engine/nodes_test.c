/*
 * Nodes of automations: reading graphs by the declarations of the types, and the
 * decision of each type. Nothing here needs a database: steps are functions.
 */
#include "fixtures/own_fail.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/json_read.h"
#include "base/text.h"
#include "engine/nodes/step.h"

#include <string.h>

static struct arena *arena;
static struct id_codec ids;
static const int64_t hour_us = 3600 * US_PER_S;

static const json_t *json(const char *text)
{
    const json_t *value;
    struct error err = { 0 };
    if (!json_read(arena, text, strlen(text), (struct json_bounds){ .max_bytes = 1 << 20 }, &value, &err))
        fail_msg("%s: %s", text, err.message);
    return value;
}

static int64_t at(const char *iso)
{
    int64_t time_us;
    assert_true(clock_parse_iso(iso, &time_us));
    return time_us;
}

static struct graph *graph_of(const char *nodes, const char *connections)
{
    struct graph *graph;
    struct error err = { 0 };
    if (!graph_read(arena, &ids, json(nodes), json(connections), &graph, &err))
        fail_msg("%s: %s", err.param, err.message);
    return graph;
}

/* The graph of a trigger and one node n. */
static struct graph *graph_with(const char *type, const char *config)
{
    return graph_of(arena_printf(arena,
                                 "[{\"id\":\"t\",\"type\":\"trigger\",\"config\":{\"mode\":\"event\"}},"
                                 "{\"id\":\"n\",\"type\":\"%s\",\"config\":%s}]",
                                 type, config),
                    "[{\"from\":\"t\",\"to\":\"n\"}]");
}

/* ---- Reading ---- */

/* Several ends that are missing are told at once, and a single one by its member. */
static void test_missing_ends_are_told_at_once(void **state)
{
    (void)state;
    static const char nodes[] = "[{\"id\":\"t\",\"type\":\"trigger\",\"config\":{\"mode\":\"event\"}}]";
    struct graph *graph;
    struct error err = { 0 };
    assert_false(
        graph_read(arena, &ids, json(nodes), json("[{\"from\":\"t\"},{\"from\":\"t\",\"to\":\"n\"},{\"to\":\"\"}]"), &graph, &err));
    assert_string_equal(err.param, "connections.0.to");
    assert_non_null(strstr(err.message, "connections.0.to, connections.2.from, connections.2.to."));
    assert_false(graph_read(arena, &ids, json(nodes), json("[{\"from\":\"t\",\"to\":\"n\"},{\"from\":\"t\"}]"), &graph, &err));
    assert_string_equal(err.param, "connections.1.to");
    assert_string_equal(err.message, "to must be text of 1 to 64 characters.");
}

static void assert_refused(const char *nodes, const char *param, const char *suggestion)
{
    struct graph *graph;
    struct error err = { 0 };
    assert_false(graph_read(arena, &ids, json(nodes), json("[]"), &graph, &err));
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
    assert_string_equal(err.param, param);
    if (suggestion != NULL && strstr(err.suggestion, suggestion) == NULL)
        fail_msg("%s: the suggestion is: %s", param, err.suggestion);
}

static void assert_config_refused(const char *type, const char *config, const char *param, const char *suggestion)
{
    assert_refused(arena_printf(arena, "[{\"id\":\"n\",\"type\":\"%s\",\"config\":%s}]", type, config), param, suggestion);
}

static void test_faults_name_their_member(void **state) /* D-60 D-103 R-292 R-293 */
{
    (void)state;
    assert_refused("[7]", "nodes.0", NULL);
    assert_refused("[{\"id\":\"\",\"type\":\"wait\",\"config\":{}}]", "nodes.0.id", NULL);
    assert_refused("[{\"id\":\"a\",\"type\":\"wiat\",\"config\":{}}]", "nodes.0.type", "wait");
    assert_refused("[{\"id\":\"a\",\"type\":\"wait\"}]", "nodes.0.config", NULL);
    assert_refused("[{\"id\":\"a\",\"type\":\"wait\",\"configs\":{}}]", "nodes.0.configs", "config");
    assert_config_refused("wait", "{}", "nodes.0.config", NULL);
    assert_config_refused("wait", "{\"durration\":1}", "nodes.0.config", "duration");
    assert_config_refused("wait", "{\"duration\":0,\"unit\":\"days\"}", "nodes.0.config.duration", NULL);
    assert_config_refused("wait", "{\"duration\":\"1\",\"unit\":\"days\"}", "nodes.0.config.duration", NULL);
    assert_config_refused("wait", "{\"duration\":1}", "nodes.0.config.unit", NULL);
    assert_config_refused("wait", "{\"duration\":1,\"unit\":\"day\"}", "nodes.0.config.unit", "days");
    assert_config_refused("wait", "{\"duration\":367,\"unit\":\"days\"}", "nodes.0.config.duration", NULL);
    assert_config_refused("wait", "{\"duration\":1,\"unit\":\"days\",\"until\":{\"field\":\"x\"}}", "nodes.0.config.until", NULL);
    assert_config_refused("wait", "{\"localTime\":\"24:00\"}", "nodes.0.config.localTime", NULL);
    assert_config_refused("wait", "{\"localTime\":\"09:60\"}", "nodes.0.config.localTime", NULL);
    assert_config_refused("wait", "{\"localTime\":\"09:00\",\"weekdays\":[\"monday\",\"monday\"]}", "nodes.0.config.weekdays.1",
                          NULL);
    assert_config_refused("wait", "{\"event\":{\"triggerEventId\":\"trg_1\"}}", "nodes.0.config.event.timeout", NULL);
    assert_config_refused("trigger", "{}", "nodes.0.config.mode", NULL);
    assert_config_refused("trigger", "{\"mode\":\"events\"}", "nodes.0.config.mode", "event");
    assert_config_refused("trigger", "{\"mode\":\"event\",\"audienceId\":\"aud_1\"}", "nodes.0.config.audienceId", NULL);
    assert_config_refused("trigger", "{\"mode\":\"event\",\"reentry\":{\"mode\":\"after\"}}", "nodes.0.config.reentry.duration",
                          NULL);
    assert_config_refused("trigger", "{\"mode\":\"event\",\"reentry\":{\"mode\":\"once\",\"duration\":1,\"unit\":\"days\"}}",
                          "nodes.0.config.reentry.duration", NULL);
    assert_config_refused("send-email", "{\"emailId\":\"eml_1\"}", "nodes.0.config.emailVersionId", NULL);
    assert_config_refused("split", "{\"leftPercentage\":101}", "nodes.0.config.leftPercentage", NULL);
    assert_config_refused("filter",
                          "{\"sourceNodeId\":\"m\",\"window\":{\"duration\":1,\"unit\":\"days\"},\"branches\":[\"open\"]}",
                          "nodes.0.config.branches.0", "opened");
}

static void assert_condition_refused(const char *condition, const char *param)
{
    assert_config_refused("filter", arena_printf(arena, "{\"logicalOperator\":\"AND\",\"conditions\":[%s]}", condition),
                          arena_printf(arena, "nodes.0.config.conditions%s", param), NULL);
}

static void test_faulty_conditions_are_refused(void **state) /* D-108 */
{
    (void)state;
    assert_condition_refused("", "");
    assert_condition_refused("{\"field\":\"payload.\",\"operator\":\"exists\"}", ".0.field");
    assert_condition_refused("{\"field\":\"contact.audience\",\"operator\":\"exists\"}", ".0.field");
    assert_condition_refused("{\"field\":\"x\",\"operator\":\"is_bigger\",\"value\":1}", ".0.operator");
    assert_condition_refused("{\"field\":\"x\",\"type\":\"bool\",\"operator\":\"gt\",\"value\":1}", ".0.operator");
    assert_condition_refused("{\"field\":\"contact.subscribed\",\"operator\":\"contains\",\"value\":\"x\"}", ".0.operator");
    assert_condition_refused("{\"field\":\"x\",\"operator\":\"gt\",\"value\":\"many\"}", ".0.value");
    assert_condition_refused("{\"field\":\"x\",\"operator\":\"equals\"}", ".0.value");
    assert_condition_refused("{\"field\":\"x\",\"operator\":\"contains\",\"value\":\"\"}", ".0.value");
    assert_condition_refused("{\"field\":\"x\",\"operator\":\"before\",\"value\":\"soon\"}", ".0.value");
    assert_condition_refused("{\"field\":\"x\",\"operator\":\"between\",\"value\":[3,2]}", ".0.value");
    assert_condition_refused("{\"field\":\"contact.email\",\"operator\":\"equals\",\"value\":\"nobody\"}", ".0.value");
}

static void test_a_graph_is_read(void **state) /* D-60 D-103 */
{
    (void)state;
    char email[ID_MAX_CHARS];
    id_encode(&ids, ID_EMAIL, 42, email);
    struct graph *graph = graph_of(
        arena_printf(arena,
                     "[{\"id\":\"m\",\"type\":\"send-email\",\"label\":\"Mail\",\"config\":{\"emailId\":\"%s\","
                     "\"emailVersionId\":\"eml_nonsense\",\"subject\":\"Hi\"}},"
                     "{\"id\":\"t\",\"type\":\"trigger\",\"config\":{\"mode\":\"manualAudience\"}},"
                     "{\"id\":\"w\",\"type\":\"wait\",\"config\":{\"duration\":2,\"unit\":\"hours\"}},"
                     "{\"id\":\"e\",\"type\":\"filter\",\"config\":{\"sourceNodeId\":\"m\",\"window\":{\"duration\":1,"
                     "\"unit\":\"days\"},\"branches\":[\"otherwise\",\"clicked\"]}},"
                     "{\"id\":\"last\",\"type\":\"wait\",\"config\":{\"duration\":1,\"unit\":\"ms\"}}]",
                     email),
        "[{\"from\":\"e\",\"to\":\"w\",\"branch\":\"otherwise\"},{\"from\":\"t\",\"to\":\"w\"},{\"from\":\"w\",\"to\":\"m\"},"
        "{\"from\":\"m\",\"to\":\"e\"},{\"from\":\"e\",\"to\":\"last\",\"branch\":\"clicked\"},{\"from\":\"e\",\"to\":\"gone\"}]");
    const struct send_email_config *mail = graph->nodes[0].config;
    assert_int_equal(graph->nodes[0].type, NODE_SEND_EMAIL);
    assert_int_equal(mail->email_id, 42);
    assert_int_equal(mail->email_version_id, NODE_ID_UNKNOWN);
    assert_int_equal(mail->domain_id, 0);
    assert_string_equal(mail->subject, "Hi");
    assert_int_equal(graph->trigger, 1);
    assert_int_equal(graph->trigger_count, 1);
    const struct graph_node *filter = graph_find(graph, "e");
    assert_int_equal(filter->connection_count, 3);
    assert_int_equal(filter->branches.count, 2);
    assert_string_equal(filter->branches.items[0], "clicked");
    assert_string_equal(graph_next(graph, filter, "otherwise")->id, "w");
    assert_null(graph_next(graph, filter, "opened"));
    assert_null(graph_next(graph, filter, NULL));
    assert_string_equal(graph_next(graph, graph_find(graph, "t"), NULL)->id, "w");
    assert_int_equal(graph_find(graph, "w")->least_wait_us, 2 * hour_us);
    assert_true(graph_find(graph, "t")->payload_ahead);
    assert_true(filter->payload_ahead); /* back to the message */
    assert_false(graph_find(graph, "last")->payload_ahead);
}

static void test_exit_conditions_read_at_every_node(void **state) /* D-110 */
{
    (void)state;
    struct graph *graph = graph_of(
        "[{\"id\":\"t\",\"type\":\"trigger\",\"config\":{\"mode\":\"event\",\"exit\":{\"logicalOperator\":\"AND\",\"conditions\":["
        "{\"field\":\"contact.plan\",\"operator\":\"equals\",\"value\":\"pro\"}]}}},"
        "{\"id\":\"w\",\"type\":\"wait\",\"config\":{\"duration\":1,\"unit\":\"days\"}}]",
        "[]");
    assert_true(step_needs(&graph->nodes[1]).contact);
    assert_false(step_needs(&graph->nodes[1]).payload);
    const struct step_facts stays = { .contact = json("{\"customFields\":{\"plan\":\"free\"}}") };
    const struct step_facts leaves = { .contact = json("{\"customFields\":{\"plan\":\"pro\"}}") };
    struct step_in in = { .graph = graph, .node = &graph->nodes[1], .time_zone = "UTC", .facts = &stays };
    const char *reason = NULL;
    assert_false(step_exits(arena, &in, &reason));
    in.facts = &leaves;
    assert_true(step_exits(arena, &in, &reason));
    assert_non_null(reason);
}

static void test_the_canonical_form_ignores_order(void **state)
{
    (void)state;
    static const char a[] = "{\"id\":\"a\",\"type\":\"send-email\",\"config\":{\"emailId\":\"x\",\"emailVersionId\":\"y\"}}";
    static const char a_again[] = "{\"config\":{\"emailVersionId\":\"y\",\"emailId\":\"x\"},\"type\":\"sendEmail\",\"id\":\"a\"}";
    static const char b[] = "{\"id\":\"b\",\"type\":\"wait\",\"config\":{\"duration\":1,\"unit\":\"days\"}}";
    static const char to_a[] = "{\"from\":\"b\",\"to\":\"a\"}";
    static const char to_b[] = "{\"from\":\"a\",\"to\":\"b\"}";
    struct graph *one = graph_of(arena_printf(arena, "[%s,%s]", a, b), arena_printf(arena, "[%s,%s]", to_a, to_b));
    struct graph *same = graph_of(arena_printf(arena, "[%s,%s]", b, a_again), arena_printf(arena, "[%s,%s]", to_b, to_a));
    struct graph *other = graph_of(arena_printf(arena, "[%s,%s]", a, b), arena_printf(arena, "[%s]", to_a));
    assert_string_equal(graph_canonical(arena, one), graph_canonical(arena, same));
    assert_string_not_equal(graph_canonical(arena, one), graph_canonical(arena, other));
}

/* ---- Steps ---- */

static struct step_out decide(const struct graph *graph, const struct step_facts *facts, int64_t entered_us, int64_t now_us)
{
    static const char *const kinds[] = { "go", "wait", "mail", "end", "fail" };
    struct step_in in = { .graph = graph,
                          .node = graph_find(graph, "n"),
                          .seed = 7,
                          .contact_id = 3,
                          .entered_us = entered_us,
                          .started_us = entered_us,
                          .now_us = now_us,
                          .time_zone = "Europe/Lisbon",
                          .facts = facts };
    struct step_out out = { .kind = STEP_FAIL };
    step_decide(arena, &in, &out);
    assert_non_null(out.facts_json);
    const char *again = step_replay(arena, in.node, json(out.facts_json));
    if (out.kind == STEP_GO && !text_equal(again, out.branch))
        fail_msg("%s %s is replayed as %s from %s", kinds[out.kind], out.branch, again, out.facts_json);
    return out;
}

static const struct step_facts nothing = { 0 };

static void assert_goes(struct step_out out, const char *branch)
{
    assert_int_equal(out.kind, STEP_GO);
    if (!text_equal(out.branch, branch))
        fail_msg("goes to %s instead of %s: %s", out.branch, branch, out.facts_json);
}

static void assert_waits(struct step_out out, int64_t due_us)
{
    assert_int_equal(out.kind, STEP_WAIT);
    assert_true(out.due_us.set);
    if (out.due_us.value != due_us)
        fail_msg("waits until %s instead of %s", clock_iso(arena, out.due_us.value), clock_iso(arena, due_us));
}

static void test_plain_steps(void **state)
{
    (void)state;
    struct graph *graph = graph_with("sendEmail", "{\"emailId\":\"x\",\"emailVersionId\":\"y\"}");
    assert_int_equal(decide(graph, &nothing, 0, 0).kind, STEP_MAIL);
    graph = graph_with("wait", "{\"duration\":90,\"unit\":\"minutes\"}");
    assert_waits(decide(graph, &nothing, 5, 6), 5 + 90 * 60 * US_PER_S);
    assert_goes(decide(graph, &nothing, 5, 5 + 90 * 60 * US_PER_S), NULL);
}

static void test_local_times_follow_the_clock(void **state) /* D-60 */
{
    (void)state;
    struct graph *nine = graph_with("wait", "{\"localTime\":\"09:00\"}");
    /* Lisbon is UTC in winter and an hour ahead from 2026-03-29 01:00 UTC on. */
    assert_waits(decide(nine, &nothing, at("2026-03-28T08:59:59Z"), at("2026-03-28T08:59:59Z")), at("2026-03-28T09:00:00Z"));
    assert_waits(decide(nine, &nothing, at("2026-03-28T09:00:01Z"), at("2026-03-28T09:00:01Z")), at("2026-03-29T08:00:00Z"));
    assert_goes(decide(nine, &nothing, at("2026-03-28T09:00:00Z"), at("2026-03-28T09:00:00Z")), NULL);
    struct graph *gap = graph_with("wait", "{\"localTime\":\"01:30\"}"); /* 01:30 does not exist on the 29th */
    assert_waits(decide(gap, &nothing, at("2026-03-28T12:00:00Z"), at("2026-03-28T12:00:00Z")), at("2026-03-29T01:30:00Z"));
    /* It occurs twice on 2026-10-25: at 00:30 and at 01:30 UTC. The first counts. */
    assert_waits(decide(gap, &nothing, at("2026-10-24T12:00:00Z"), at("2026-10-24T12:00:00Z")), at("2026-10-25T00:30:00Z"));
    assert_waits(decide(gap, &nothing, at("2026-10-25T00:45:00Z"), at("2026-10-25T00:45:00Z")), at("2026-10-26T01:30:00Z"));
    struct graph *monday = graph_with("wait", "{\"localTime\":\"09:00\",\"weekdays\":[\"monday\"]}");
    /* 2026-11-23 is a Monday. */
    assert_waits(decide(monday, &nothing, at("2026-11-20T12:00:00Z"), at("2026-11-20T12:00:00Z")), at("2026-11-23T09:00:00Z"));
    assert_waits(decide(monday, &nothing, at("2026-11-23T10:00:00Z"), at("2026-11-23T10:00:00Z")), at("2026-11-30T09:00:00Z"));
}

static void test_waits_until_a_date(void **state) /* D-60 D-108 */
{
    (void)state;
    const struct step_facts facts = {
        .payload = json("{\"visit\":{\"at\":\"2026-07-10T10:00:00+02:00\"},\"day\":\"2026-07-10\",\"note\":\"soon\"}"),
        .contact = json("{\"customFields\":{\"renewal\":\"2026-08-01\",\"day\":\"2020-01-01\"}}"),
    };
    int64_t now_us = at("2026-07-01T00:00:00Z");
    struct graph *before = graph_with(
        "wait", "{\"until\":{\"field\":\"payload.visit.at\",\"offset\":{\"duration\":1,\"unit\":\"days\",\"before\":true}}}");
    assert_waits(decide(before, &facts, now_us, now_us), at("2026-07-09T08:00:00Z"));
    assert_goes(decide(before, &facts, now_us, at("2026-07-09T08:00:00Z")), NULL);
    struct graph *bare = graph_with("wait", "{\"until\":{\"field\":\"day\"}}"); /* of the payload; midnight in Lisbon */
    assert_waits(decide(bare, &facts, now_us, now_us), at("2026-07-09T23:00:00Z"));
    struct graph *contact =
        graph_with("wait", "{\"until\":{\"field\":\"renewal\",\"offset\":{\"duration\":2,\"unit\":\"hours\"}}}");
    assert_waits(decide(contact, &facts, now_us, now_us), at("2026-08-01T01:00:00Z"));
    struct step_out out = decide(graph_with("wait", "{\"until\":{\"field\":\"payload.note\"}}"), &facts, now_us, now_us);
    assert_int_equal(out.kind, STEP_FAIL);
    assert_non_null(out.reason);
    assert_null(strstr(out.facts_json, "soon"));
    out = decide(before, &facts, now_us, now_us);
    assert_null(strstr(out.facts_json, "2026-07")); /* no value of the payload */
}

static void test_waits_for_an_event(void **state) /* D-60 */
{
    (void)state;
    char trigger[ID_MAX_CHARS];
    id_encode(&ids, ID_TRIGGER, 9, trigger);
    struct graph *graph = graph_with("wait", arena_printf(arena,
                                                          "{\"event\":{\"triggerEventId\":\"%s\",\"timeout\":{\"duration\":1,"
                                                          "\"unit\":\"days\"}}}",
                                                          trigger));
    const struct step_event events[] = { { 8, 10 * hour_us }, { 9, 12 * hour_us } };
    const struct step_facts none = { .events = events, .event_count = 1 };
    const struct step_facts came = { .events = events, .event_count = 2 };
    struct step_out out = decide(graph, &none, 11 * hour_us, 13 * hour_us);
    assert_waits(out, 35 * hour_us);
    assert_int_equal(out.waits_trigger, 9);
    assert_goes(decide(graph, &none, 11 * hour_us, 35 * hour_us), "timeout");
    assert_goes(decide(graph, &came, 11 * hour_us, 13 * hour_us), "event");
    assert_goes(decide(graph, &came, 13 * hour_us, 13 * hour_us), "event"); /* it came before the run arrived */
    const struct step_event late[] = { { 9, 36 * hour_us } };
    const struct step_facts too_late = { .events = late, .event_count = 1 };
    assert_goes(decide(graph, &too_late, 11 * hour_us, 40 * hour_us), "timeout");
    assert_true(step_needs(graph_find(graph, "n")).events);
}

static struct opt_int time_at(int64_t hours)
{
    return (struct opt_int){ .set = hours >= 0, .value = hours * hour_us };
}

static struct step_out engaged(const char *branches, struct step_message message, int64_t entered_h, int64_t now_h)
{
    struct graph *graph = graph_with(
        "filter", arena_printf(arena, "{\"sourceNodeId\":\"m\",\"window\":{\"duration\":2,\"unit\":\"days\"}%s}", branches));
    message.node_id = "m";
    message.id = 5;
    const struct step_facts facts = { .messages = &message, .message_count = 1 };
    return decide(graph, &facts, entered_h * hour_us, now_h * hour_us);
}

static void test_engagement_takes_the_best_branch(void **state) /* D-107 */
{
    (void)state;
    static const char subset[] = ",\"branches\":[\"opened\",\"otherwise\"]";
    struct step_message none = { .handed_over_us = time_at(1) };
    struct step_message opened = { .handed_over_us = time_at(1), .opened_us = time_at(2) };
    struct step_message clicked = { .handed_over_us = time_at(1), .opened_us = time_at(2), .clicked_us = time_at(3) };
    struct step_message late = { .handed_over_us = time_at(1), .opened_us = time_at(2), .clicked_us = time_at(60) };
    struct step_message queued = { 0 };
    struct step_message failed = { .is_settled = true };
    struct step_out out = engaged("", none, 4, 5);
    assert_waits(out, 52 * hour_us);
    assert_int_equal(out.waits_message, 5);
    assert_goes(engaged("", none, 4, 52), "otherwise");
    assert_goes(engaged("", clicked, 4, 5), "clicked");    /* before the run arrived */
    assert_waits(engaged("", opened, 4, 5), 52 * hour_us); /* a click may follow */
    assert_goes(engaged("", opened, 4, 52), "opened");
    assert_goes(engaged(subset, opened, 4, 5), "opened");
    assert_goes(engaged(subset, clicked, 4, 5), "opened"); /* a click implies an open */
    assert_goes(engaged(",\"branches\":[\"clicked\",\"otherwise\"]", opened, 4, 52), "otherwise");
    assert_goes(engaged("", late, 4, 70), "opened"); /* the click came after the window */
    assert_goes(engaged("", failed, 4, 4), "otherwise");
    assert_waits(engaged("", queued, 4, 5), 52 * hour_us);
    assert_waits(engaged("", queued, 4, 60), 108 * hour_us); /* the window has not begun */
    struct step_message handed_late = { .handed_over_us = time_at(30) };
    assert_waits(engaged("", handed_late, 4, 31), 78 * hour_us);
    assert_goes(
        decide(graph_with("filter", "{\"sourceNodeId\":\"m\",\"window\":{\"duration\":1,\"unit\":\"days\"}}"), &nothing, 0, 0),
        "otherwise"); /* the run never passed the message */
}

/* ---- Splits ---- */

static size_t left_of(const char *config, int64_t seed, size_t contacts, const char *node)
{
    struct graph *graph = graph_of(arena_printf(arena, "[{\"id\":\"%s\",\"type\":\"split\",\"config\":%s}]", node, config), "[]");
    size_t left = 0;
    for (size_t i = 0; i < contacts; i++) {
        struct step_in in = { .graph = graph,
                              .node = &graph->nodes[0],
                              .seed = seed,
                              .contact_id = (int64_t)i + 1,
                              .time_zone = "UTC",
                              .facts = &nothing };
        struct step_out first;
        struct step_out second;
        step_decide(arena, &in, &first);
        step_decide(arena, &in, &second);
        assert_string_equal(first.branch, second.branch);
        assert_string_equal(step_replay(arena, in.node, json(first.facts_json)), first.branch);
        left += text_equal(first.branch, "left");
    }
    return left;
}

/* Five standard deviations of a binomial distribution, so that only a wrong hash fails. */
static void test_splits_are_shares(void **state) /* D-107 */
{
    (void)state;
    static const struct {
        const char *config;
        double share;
    } splits[] = {
        { "{\"leftPercentage\":0}", 0 },        { "{\"leftPercentage\":100}", 1 },  { "{\"leftPercentage\":50}", 0.5 },
        { "{\"leftPercentage\":12.5}", 0.125 }, { "{\"leftPercentage\":1}", 0.01 },
    };
    enum { CONTACTS = 4000 };
    for (size_t i = 0; i < ARRAY_COUNT(splits); i++) {
        double expected = splits[i].share * CONTACTS;
        double bound = 25 * expected * (1 - splits[i].share);
        double off = (double)left_of(splits[i].config, (int64_t)i, CONTACTS, "n") - expected;
        if (off * off > bound)
            fail_msg("%s: off by %g", splits[i].config, off);
    }
    assert_int_not_equal(left_of("{\"leftPercentage\":50}", 1, CONTACTS, "a"),
                         left_of("{\"leftPercentage\":50}", 1, CONTACTS, "b"));
}

static void test_a_test_forces_a_split(void **state) /* */
{
    (void)state;
    struct graph *graph = graph_with("split", "{\"leftPercentage\":100}");
    struct step_in in = {
        .graph = graph, .node = graph_find(graph, "n"), .time_zone = "UTC", .forced_branch = "right", .facts = &nothing
    };
    struct step_out out;
    step_decide(arena, &in, &out);
    assert_goes(out, "right");
    assert_string_equal(step_replay(arena, in.node, json(out.facts_json)), "right");
}

/* ---- Conditions ---- */

static const char *branch_by(const char *conditions, const char *logic)
{
    const struct step_facts facts = {
        .payload = json("{\"plan\":\"Pro\",\"total\":12.5,\"paid\":true,\"items\":[{\"sku\":\"a1\"}],\"none\":null}"),
        .contact =
            json("{\"email\":\"Ada@Example.com\",\"firstName\":\"Ada\",\"subscribed\":true,\"customFields\":{\"plan\":\"free\","
                 "\"visits\":3,\"born\":\"1990-05-01\"}}"),
    };
    struct graph *graph =
        graph_with("filter", arena_printf(arena, "{\"logicalOperator\":\"%s\",\"conditions\":[%s]}", logic, conditions));
    struct step_out out = decide(graph, &facts, at("2026-07-01T00:00:00Z"), at("2026-07-01T00:00:00Z"));
    assert_int_equal(out.kind, STEP_GO);
    assert_null(strstr(out.facts_json, "Pro")); /* */
    return out.branch;
}

#define HOLDS(condition)         assert_string_equal(branch_by(condition, "AND"), "true")
#define DOES_NOT_HOLD(condition) assert_string_equal(branch_by(condition, "AND"), "false")

static void test_conditions_read_payload_and_contact(void **state) /* D-108 */
{
    (void)state;
    HOLDS("{\"field\":\"payload.plan\",\"operator\":\"equals\",\"value\":\"Pro\"}");
    DOES_NOT_HOLD("{\"field\":\"payload.plan\",\"operator\":\"equals\",\"value\":\"pro\"}");
    HOLDS("{\"field\":\"payload.plan\",\"operator\":\"contains\",\"value\":\"PR\"}");
    HOLDS("{\"field\":\"plan\",\"operator\":\"equals\",\"value\":\"Pro\"}"); /* of the payload first */
    HOLDS("{\"field\":\"contact.plan\",\"operator\":\"equals\",\"value\":\"free\"}");
    HOLDS("{\"field\":\"contact.customFields.plan\",\"operator\":\"in\",\"value\":[\"free\",\"x\"]}");
    HOLDS("{\"field\":\"visits\",\"operator\":\"gte\",\"value\":\"3\"}"); /* not in the payload: of the contact */
    HOLDS("{\"field\":\"firstName\",\"operator\":\"equals\",\"value\":\"Ada\"}");
    HOLDS("{\"field\":\"contact.email\",\"operator\":\"equals\",\"value\":\"ada@example.com\"}");
    HOLDS("{\"field\":\"contact.subscribed\",\"operator\":\"is_true\"}");
    HOLDS("{\"field\":\"payload.items.0.sku\",\"operator\":\"starts_with\",\"value\":\"A\"}");
    HOLDS("{\"field\":\"payload.total\",\"operator\":\"between\",\"value\":[12.5,13]}");
    HOLDS("{\"field\":\"payload.total\",\"type\":\"string\",\"operator\":\"equals\",\"value\":\"12.5\"}");
    HOLDS("{\"field\":\"payload.paid\",\"operator\":\"equals\",\"value\":true}");
    HOLDS("{\"field\":\"contact.born\",\"operator\":\"before\",\"value\":\"1990-05-02\"}");
    HOLDS("{\"field\":\"payload.gone\",\"operator\":\"not_equals\",\"value\":\"x\"}"); /* a negation needs no value */
    HOLDS("{\"field\":\"payload.gone\",\"operator\":\"not_exists\"}");
    HOLDS("{\"field\":\"payload.none\",\"operator\":\"is_empty\"}");
    DOES_NOT_HOLD("{\"field\":\"payload.gone\",\"operator\":\"lt\",\"value\":5}");
    DOES_NOT_HOLD("{\"field\":\"payload.plan\",\"operator\":\"gt\",\"value\":5}");
}

static void test_conditions_are_joined(void **state) /* D-108 */
{
    (void)state;
    static const char mixed[] =
        "{\"field\":\"payload.paid\",\"operator\":\"is_true\"},{\"field\":\"payload.paid\",\"operator\":\"is_false\"}";
    assert_string_equal(branch_by(mixed, "AND"), "false");
    assert_string_equal(branch_by(mixed, "OR"), "true");
}

static const char *facts_by(const char *conditions, const char *logic)
{
    const struct step_facts facts = { .payload = json("{\"paid\":true}") };
    struct graph *graph =
        graph_with("filter", arena_printf(arena, "{\"logicalOperator\":\"%s\",\"conditions\":[%s]}", logic, conditions));
    return decide(graph, &facts, at("2026-07-01T00:00:00Z"), at("2026-07-01T00:00:00Z")).facts_json;
}

/* `decide` replays each result from its facts. */
static void test_conditions_behind_the_one_that_decides_are_not_looked_at(void **state) /* D-108 */
{
    static const char yes_no_yes[] =
        "{\"field\":\"payload.paid\",\"operator\":\"is_true\"},{\"field\":\"payload.paid\",\"operator\":\"is_false\"},"
        "{\"field\":\"payload.paid\",\"operator\":\"is_true\"}";
    (void)state;
    assert_string_equal(facts_by(yes_no_yes, "AND"), "{\"conditions\":[true,false,null]}");
    assert_string_equal(facts_by(yes_no_yes, "OR"), "{\"conditions\":[true,null,null]}");
}

/* The texts of a condition are made when the graph is read, not at each visit. */
static void test_a_visit_does_not_copy_the_texts_of_its_conditions(void **state)
{
    (void)state;
    enum { PART_BYTES = 1000, PARTS = 100 };
    struct buf *config = buf_in_arena(arena, 1 << 20);
    buf_add_text(config, "{\"logicalOperator\":\"AND\",\"conditions\":[{\"field\":\"payload.plan\",\"operator\":\"contains_any\","
                         "\"value\":[\"pro\"");
    for (int i = 0; i < PARTS; i++)
        buf_printf(config, ",\"%0*d\"", PART_BYTES, i);
    buf_add_text(config, "]}]}");
    struct graph *graph = graph_with("filter", buf_text(config));
    const struct step_facts facts = { .payload = json("{\"plan\":\"The PRO plan\"}") };
    size_t before = arena_used_bytes(arena);
    assert_goes(decide(graph, &facts, 0, 0), "true");
    assert_true(arena_used_bytes(arena) - before < PART_BYTES * PARTS / 2);
}

static int set_up(void **state)
{
    static const unsigned char key[ID_KEY_BYTES] = { 1, 2, 3 };
    (void)state;
    id_codec_init(&ids, key);
    arena = arena_new(0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_missing_ends_are_told_at_once),
        cmocka_unit_test(test_faults_name_their_member),
        cmocka_unit_test(test_faulty_conditions_are_refused),
        cmocka_unit_test(test_a_graph_is_read),
        cmocka_unit_test(test_exit_conditions_read_at_every_node),
        cmocka_unit_test(test_the_canonical_form_ignores_order),
        cmocka_unit_test(test_plain_steps),
        cmocka_unit_test(test_local_times_follow_the_clock),
        cmocka_unit_test(test_waits_until_a_date),
        cmocka_unit_test(test_waits_for_an_event),
        cmocka_unit_test(test_engagement_takes_the_best_branch),
        cmocka_unit_test(test_splits_are_shares),
        cmocka_unit_test(test_a_test_forces_a_split),
        cmocka_unit_test(test_conditions_read_payload_and_contact),
        cmocka_unit_test(test_conditions_are_joined),
        cmocka_unit_test(test_conditions_behind_the_one_that_decides_are_not_looked_at),
        cmocka_unit_test(test_a_visit_does_not_copy_the_texts_of_its_conditions),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
