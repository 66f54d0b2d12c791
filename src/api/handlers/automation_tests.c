/*
 * Tests of automations: a run in simulated time.
 */
#include "api/op_context.h"
#include "base/clock.h"
#include "catalogue/operations.h"
#include "engine/simulations/test_run.h"

static size_t count_events(const struct automations_test_scenario *given)
{
    size_t count = 0;
    for (size_t i = 0; i < given->engagement.count; i++)
        count += given->engagement.items[i].events.count;
    return count;
}

static void read_engagement(struct arena *arena, const struct automations_test_scenario *given, struct scenario *scenario)
{
    struct scenario_event *events = arena_array(arena, count_events(given), sizeof(*events));
    for (size_t i = 0; i < given->engagement.count; i++) {
        const struct automations_test_scenario_engagement_item *node = &given->engagement.items[i];
        for (size_t at = 0; at < node->events.count; at++)
            events[scenario->event_count++] = (struct scenario_event){
                .node_id = node->node_id,
                .list_index = i,
                .is_click = node->events.items[at].type == AUTOMATIONS_TEST_SCENARIO_ENGAGEMENT_ITEM_EVENTS_ITEM_TYPE_CLICKED,
                .after_us = node->events.items[at].after_ms * US_PER_MS,
            };
    }
    scenario->events = events;
}

static struct scenario read_scenario(struct arena *arena, const struct automations_test_scenario *given)
{
    struct scenario scenario = { 0 };
    if (given == NULL)
        return scenario;
    struct scenario_split *splits = arena_array(arena, given->splits.count, sizeof(*splits));
    for (size_t i = 0; i < given->splits.count; i++)
        splits[i] = (struct scenario_split){
            .node_id = given->splits.items[i].node_id,
            .branch = automations_test_scenario_splits_item_branch_names[given->splits.items[i].branch - 1],
        };
    scenario.splits = splits;
    scenario.split_count = given->splits.count;
    read_engagement(arena, given, &scenario);
    return scenario;
}

static bool enqueue_messages(struct op_context *ctx, const struct test_run *run, struct reply *reply, struct error *err)
{
    for (size_t i = 0; i < run->message_count; i++)
        if (!op_context_enqueue(ctx, reply, test_send_job(ctx->work.arena, &run->messages[i]), ctx->work.now_us, err))
            return false;
    return true;
}

bool op_automations_test(struct op_context *ctx, const struct automations_test_args *args, struct reply *reply, struct error *err)
{
    struct test_run run;
    const struct test_run_request request = {
        .automation_id = args->automation_id,
        .recipient = args->test_recipient,
        .payload = args->payload,
        .scenario = read_scenario(ctx->work.arena, args->scenario),
    };
    if (!test_run_store(&ctx->work, &request, &run, err) || !enqueue_messages(ctx, &run, reply, err))
        return false;
    op_context_subject(ctx, work_id(&ctx->work, ID_RUN, run.id));
    struct json_writer *json = &reply->json;
    json_object_begin(json);
    json_key(json, "automationRunIds");
    json_array_begin(json);
    json_text(json, work_id(&ctx->work, ID_RUN, run.id));
    json_array_end(json);
    json_member_text(json, "status", "test_started");
    json_member_time(json, "receivedAt", ctx->work.now_us);
    json_object_end(json);
    return true;
}
