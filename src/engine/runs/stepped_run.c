#include "engine/runs/stepped_run.h"

#include "base/clock.h"

#include <string.h>

static const char no_facts[] = "{}";

/* ---- Visits ---- */

static bool has_room(const struct step_batch *batch)
{
    bool has_time = batch->record_count == 0 || clock_thread_processor_us() < batch->decide_until_us;
    return has_time && batch->record_count < BATCH_VISITS_MAX;
}

/* The caller has checked that there is room, or writes the last visit of the run: each run has one more place. */
static struct visit_record *add_record(struct step_batch *batch, const struct stepped_run *run, const char *status)
{
    struct visit_record *record = &batch->records[batch->record_count++];
    *record = (struct visit_record){
        .run_id = run->row->id,
        .visit = run->visit,
        .node = run->node,
        .status = status,
        .facts_json = no_facts,
        .entered_us = run->entered_us,
        .has_ended = true,
    };
    return record;
}

/* The visit has begun and has not ended. */
static struct visit_record *add_open_record(struct step_batch *batch, const struct stepped_run *run)
{
    struct visit_record *record = add_record(batch, run, "running");
    record->has_ended = false;
    return record;
}

void stepped_run_begin(struct step_batch *batch, struct stepped_run *run)
{
    const struct step_take_row *row = run->row;
    run->state = RUN_GOES;
    run->node = run->version->graph != NULL ? graph_find(run->version->graph, row->node_id) : NULL;
    run->visit = row->visit > 0 ? row->visit : 1;
    run->entered_us = row->visit > 0 && row->entered_at.set ? row->entered_at.value : batch->work.now_us;
    if (run->node != NULL)
        return;
    run->state = RUN_FAILED;
    run->error = "The version of the automation has no node for this run.";
}

static void complete(struct stepped_run *run)
{
    run->state = RUN_COMPLETED;
    run->due_us = (struct opt_int){ .set = false };
}

void stepped_run_fail(struct step_batch *batch, struct stepped_run *run, const char *reason)
{
    add_record(batch, run, "failed")->error = reason;
    run->state = RUN_FAILED;
    run->error = reason;
}

void stepped_run_leave(struct step_batch *batch, struct stepped_run *run)
{
    add_open_record(batch, run);
    run->state = RUN_LEFT;
    run->due_us = (struct opt_int){ true, batch->work.now_us };
}

void stepped_run_put_off(struct step_batch *batch, struct stepped_run *run, int64_t due_us, const char *reason)
{
    add_open_record(batch, run)->error = reason;
    run->state = RUN_WAITS;
    run->due_us = (struct opt_int){ true, due_us };
}

/* The run enters the node behind a branch, or ends where there is none. */
static void move_on(struct step_batch *batch, struct stepped_run *run, const char *branch)
{
    const struct graph_node *next = graph_next(run->version->graph, run->node, branch);
    run->waits_message = 0;
    run->waits_trigger = 0;
    if (next == NULL) {
        complete(run);
        return;
    }
    run->node = next;
    run->visit++;
    run->entered_us = batch->work.now_us;
    run->state = RUN_GOES;
}

/* ---- Steps ---- */

static struct step_in input_of(const struct step_batch *batch, const struct stepped_run *run)
{
    return (struct step_in){
        .graph = run->version->graph,
        .node = run->node,
        .seed = run->row->automation_id,
        .contact_id = run->row->contact_id.value,
        .entered_us = run->entered_us,
        .started_us = run->row->started_at,
        .now_us = batch->work.now_us,
        .time_zone = run->row->time_zone,
        .facts = &run->facts,
    };
}

static bool knows_enough(const struct stepped_run *run)
{
    struct step_needs needs = step_needs(run->node);
    if (needs.events && run->has_ended_event_wait)
        return false;
    return (!needs.contact || run->known.contact) && (!needs.payload || run->known.payload) &&
           (!needs.messages || run->known.messages);
}

bool stepped_run_asks_events(const struct stepped_run *run)
{
    return run->state == RUN_WAITS && run->waits_trigger != 0 && run->waits_trigger != run->knows_trigger;
}

static void wait(struct step_batch *batch, struct stepped_run *run, const struct step_out *out)
{
    run->state = RUN_WAITS;
    run->due_us = out->due_us;
    run->waits_message = out->waits_message;
    run->waits_trigger = out->waits_trigger;
    if (!stepped_run_asks_events(run))
        add_open_record(batch, run)->facts_json = out->facts_json;
}

/* A message behind the mail of the batch waits for the next transaction, so that carriers are locked in the order of their ids. */
static void ask_for_mail(struct step_batch *batch, struct stepped_run *run, const struct step_out *out)
{
    run->facts_json = out->facts_json;
    if (batch->has_appended)
        stepped_run_leave(batch, run);
    else
        run->state = RUN_MAILS;
}

static void end_step(struct step_batch *batch, struct stepped_run *run, const struct step_out *out)
{
    struct visit_record *record = add_record(batch, run, "completed");
    record->branch = out->branch;
    record->facts_json = out->facts_json;
    run->has_ended_event_wait |= step_needs(run->node).events;
    if (out->kind == STEP_GO)
        move_on(batch, run, out->branch);
    else
        complete(run);
}

static void apply(struct step_batch *batch, struct stepped_run *run, const struct step_out *out)
{
    switch (out->kind) {
    case STEP_GO:
    case STEP_END:
        end_step(batch, run, out);
        return;
    case STEP_WAIT:
        wait(batch, run, out);
        return;
    case STEP_MAIL:
        ask_for_mail(batch, run, out);
        return;
    case STEP_FAIL:
        stepped_run_fail(batch, run, out->reason);
        batch->records[batch->record_count - 1].facts_json = out->facts_json;
        return;
    }
}

/* The condition of the trigger that ends a run is checked before each step. */
static bool exits(struct step_batch *batch, struct stepped_run *run, const struct step_in *in)
{
    const char *reason;
    if (!step_exits(batch->work.arena, in, &reason))
        return false;
    add_record(batch, run, "skipped")->error = reason;
    complete(run);
    return true;
}

static void step_once(struct step_batch *batch, struct stepped_run *run)
{
    struct step_in in = input_of(batch, run);
    struct step_out out = { .kind = STEP_FAIL, .facts_json = no_facts };
    if (run->visit > STEP_VISITS_MAX) {
        stepped_run_fail(batch, run, "The run visited more than 1,000 nodes.");
        return;
    }
    if (!knows_enough(run)) {
        stepped_run_leave(batch, run);
        return;
    }
    if (exits(batch, run, &in))
        return;
    step_decide(batch->work.arena, &in, &out);
    if (out.facts_json == NULL)
        out.facts_json = no_facts;
    apply(batch, run, &out);
}

void stepped_run_go(struct step_batch *batch, struct stepped_run *run)
{
    for (size_t i = 0; run->state == RUN_GOES && i < RUN_STEPS_MAX && has_room(batch); i++)
        step_once(batch, run);
    if (run->state == RUN_GOES)
        stepped_run_leave(batch, run);
}

/* ---- Messages ---- */

static const char *with_message(struct arena *arena, const char *facts_json, int64_t message_id)
{
    size_t size = strlen(facts_json);
    bool is_empty = size <= 2;
    return arena_printf(arena, "%.*s%s\"messageId\":%lld}", (int)(size - 1), facts_json, is_empty ? "" : ",",
                        (long long)message_id);
}

void stepped_run_mailed(struct step_batch *batch, struct stepped_run *run, int64_t message_id)
{
    struct visit_record *record = add_record(batch, run, "completed");
    record->facts_json = with_message(batch->work.arena, run->facts_json, message_id);
    run->messages[run->facts.message_count++] = (struct step_message){ .node_id = run->node->id, .id = message_id };
    run->facts.messages = run->messages;
    move_on(batch, run, NULL);
}
