#include "engine/nodes/simulate.h"

#include "base/text.h"

#include <string.h>

/* The state of the walk. */
struct walk {
    struct arena *arena;
    const struct simulated_run *run;
    struct simulation *out;
    const struct graph_node *node; /* NULL: the run has ended */
    int64_t entered_us;
    int64_t now_us;
    struct step_message *messages; /* as they will be in the end */
    struct step_message *visible;  /* what has happened so far */
    size_t message_count;
};

/* ---- The scenario ---- */

static bool check_node(const struct graph *graph, const char *list, size_t index, const char *node_id, enum node_type type,
                       struct error *err)
{
    const struct graph_node *node = graph_find(graph, node_id);
    if (node != NULL && node->type == type)
        return true;
    return fail(err, ERR_INVALID_REQUEST, NULL, "The automation has no %s node with this id.", node_types[type].name) ||
           error_set_param(err, "scenario.%s.%zu.nodeId", list, index) ||
           error_suggest(err, "Use the id of a %s node of the graph.", node_types[type].name);
}

bool scenario_check(const struct graph *graph, const struct scenario *scenario, struct error *err)
{
    for (size_t i = 0; i < scenario->event_count; i++)
        if (!check_node(graph, "engagement", scenario->events[i].list_index, scenario->events[i].node_id, NODE_SEND_EMAIL, err))
            return false;
    for (size_t i = 0; i < scenario->split_count; i++)
        if (!check_node(graph, "splits", i, scenario->splits[i].node_id, NODE_SPLIT, err))
            return false;
    return true;
}

static const char *forced_branch(const struct scenario *scenario, const char *node_id)
{
    for (size_t i = 0; i < scenario->split_count; i++)
        if (strcmp(scenario->splits[i].node_id, node_id) == 0)
            return scenario->splits[i].branch;
    return NULL;
}

static void set_earlier(struct opt_int *time_us, int64_t at_us)
{
    if (!time_us->set || at_us < time_us->value)
        *time_us = (struct opt_int){ true, at_us };
}

/* The message of a node that is handed over now, with all that its recipient will do. */
static void add_message(struct walk *walk)
{
    const struct scenario *scenario = walk->run->scenario;
    struct step_message *message = &walk->messages[walk->message_count++];
    *message = (struct step_message){
        .node_id = walk->node->id,
        .id = (int64_t)walk->message_count,
        .handed_over_us = { true, walk->now_us },
        .is_settled = true,
    };
    for (size_t i = 0; i < scenario->event_count; i++) {
        if (strcmp(scenario->events[i].node_id, walk->node->id) != 0)
            continue;
        int64_t at_us = walk->now_us + scenario->events[i].after_us;
        set_earlier(&message->opened_us, at_us); /* a click implies an open */
        if (scenario->events[i].is_click)
            set_earlier(&message->clicked_us, at_us);
    }
}

/* ---- Facts ---- */

static struct opt_int until_now(struct opt_int time_us, int64_t now_us)
{
    return time_us.set && time_us.value <= now_us ? time_us : (struct opt_int){ 0 };
}

/* What has happened so far. */
static struct step_facts facts_of(const struct walk *walk)
{
    for (size_t i = 0; i < walk->message_count; i++) {
        walk->visible[i] = walk->messages[i];
        walk->visible[i].opened_us = until_now(walk->messages[i].opened_us, walk->now_us);
        walk->visible[i].clicked_us = until_now(walk->messages[i].clicked_us, walk->now_us);
    }
    return (struct step_facts){
        .contact = walk->run->contact,
        .payload = walk->run->payload,
        .messages = walk->visible,
        .message_count = walk->message_count,
    };
}

/* The next open or click of a message after now; `otherwise` if there is none before. */
static int64_t next_hit_us(const struct walk *walk, int64_t message_id, int64_t otherwise_us)
{
    int64_t next_us = otherwise_us;
    for (size_t i = 0; i < walk->message_count; i++) {
        const struct step_message *message = &walk->messages[i];
        if (message->id != message_id)
            continue;
        if (message->opened_us.set && message->opened_us.value > walk->now_us && message->opened_us.value < next_us)
            next_us = message->opened_us.value;
        if (message->clicked_us.set && message->clicked_us.value > walk->now_us && message->clicked_us.value < next_us)
            next_us = message->clicked_us.value;
    }
    return next_us;
}

/* ---- Steps ---- */

static struct simulated_visit *add_visit(struct walk *walk, const char *status)
{
    struct simulated_visit *visit = &walk->out->visits[walk->out->count++];
    *visit = (struct simulated_visit){
        .node = walk->node,
        .status = status,
        .facts_json = "{}",
        .entered_us = walk->entered_us,
        .left_us = walk->now_us,
    };
    return visit;
}

static void end_run(struct walk *walk, const char *error)
{
    walk->out->error = error;
    walk->node = NULL;
}

static void fail_run(struct walk *walk, const char *reason)
{
    add_visit(walk, "failed")->error = reason;
    end_run(walk, reason);
}

static void leave_node(struct walk *walk, const struct step_out *out)
{
    struct simulated_visit *visit = add_visit(walk, "completed");
    visit->branch = out->branch;
    visit->facts_json = out->facts_json;
    visit->is_mail = out->kind == STEP_MAIL;
    if (visit->is_mail)
        add_message(walk);
    walk->node = out->kind == STEP_END ? NULL : graph_next(walk->run->graph, walk->node, out->branch);
    walk->entered_us = walk->now_us;
}

static void apply(struct walk *walk, const struct step_out *out)
{
    switch (out->kind) {
    case STEP_GO:
    case STEP_MAIL:
    case STEP_END:
        leave_node(walk, out);
        return;
    case STEP_WAIT:
        if (out->due_us.set && out->due_us.value > walk->now_us)
            walk->now_us = next_hit_us(walk, out->waits_message, out->due_us.value);
        else
            fail_run(walk, "The wait has no end.");
        return;
    case STEP_FAIL:
        fail_run(walk, out->reason);
        walk->out->visits[walk->out->count - 1].facts_json = out->facts_json;
        return;
    }
}

static void step_once(struct walk *walk)
{
    const struct simulated_run *run = walk->run;
    const struct step_facts facts = facts_of(walk);
    const struct step_in in = {
        .graph = run->graph,
        .node = walk->node,
        .seed = run->seed,
        .contact_id = run->contact_id,
        .entered_us = walk->entered_us,
        .started_us = run->started_us,
        .now_us = walk->now_us,
        .time_zone = run->time_zone,
        .forced_branch = forced_branch(run->scenario, walk->node->id),
        .facts = &facts,
        .compared_bytes = &walk->out->compared,
    };
    struct step_out out = { .kind = STEP_FAIL };
    const char *reason;
    if (step_exits(walk->arena, &in, &reason)) {
        add_visit(walk, "skipped")->error = reason;
        end_run(walk, NULL);
        return;
    }
    step_decide(walk->arena, &in, &out);
    apply(walk, &out);
}

/* The bound of what is compared is passed by one visit at most. */
static void go_on(struct walk *walk)
{
    walk->out->is_cut = walk->out->compared > walk->run->max_compared;
    if (walk->out->is_cut)
        fail_run(walk, "The conditions compare more text than a simulation may.");
    else if (walk->out->count == STEP_VISITS_MAX)
        fail_run(walk, "The run visited more than 1,000 nodes.");
    else
        step_once(walk);
}

void simulate(struct arena *arena, const struct simulated_run *run, struct simulation *ret_simulation)
{
    *ret_simulation = (struct simulation){ .visits = arena_array(arena, STEP_VISITS_MAX + 1, sizeof(struct simulated_visit)) };
    struct walk walk = {
        .arena = arena,
        .run = run,
        .out = ret_simulation,
        .node = &run->graph->nodes[run->graph->trigger],
        .entered_us = run->started_us,
        .now_us = run->started_us,
        .messages = arena_array(arena, STEP_VISITS_MAX + 1, sizeof(struct step_message)),
        .visible = arena_array(arena, STEP_VISITS_MAX + 1, sizeof(struct step_message)),
    };
    while (walk.node != NULL)
        go_on(&walk);
    ret_simulation->ended_us = walk.now_us;
}
