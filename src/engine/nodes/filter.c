/*
 * Filters: by conditions, and by what the recipient did with a message. The
 * window of an engagement filter begins when the run arrives, or when the
 * message is handed over later than that. The best branch is taken as soon as
 * nothing better can come; the others at the end of the window.
 */
#include "base/clock.h"
#include "engine/nodes/branches.h"
#include "engine/nodes/facts.h"

#include <string.h>

static const struct condition_branches true_or_false = { "true", "false" };
static const int64_t least_look_us = 60 * US_PER_S; /* between two looks at a message that is not handed over yet */

/* ---- Engagement ---- */

struct engagement {
    bool is_over;     /* the window has ended, or no engagement can come */
    bool has_clicked; /* in the window */
    bool has_opened;
};

static bool has_branch(const struct filter_config *config, enum engagement_branch branch)
{
    return config->branches == 0 || (config->branches & 1U << branch) != 0;
}

/* The branch; NULL: something better may still come. */
static const char *engagement_branch(const struct filter_config *config, struct engagement seen)
{
    bool takes_clicks = has_branch(config, ENGAGEMENT_BRANCH_CLICKED);
    if (takes_clicks && seen.has_clicked)
        return "clicked";
    if (has_branch(config, ENGAGEMENT_BRANCH_OPENED) && seen.has_opened && (!takes_clicks || seen.is_over))
        return "opened";
    return seen.is_over ? "otherwise" : NULL;
}

/* The newest message of the node; NULL: the run never passed it. */
static const struct step_message *message_of(const struct step_facts *facts, const char *node_id)
{
    const struct step_message *newest = NULL;
    for (size_t i = 0; i < facts->message_count; i++)
        if (strcmp(facts->messages[i].node_id, node_id) == 0 && (newest == NULL || facts->messages[i].id > newest->id))
            newest = &facts->messages[i];
    return newest;
}

static int64_t window_end_us(const struct step_in *in, const struct filter_config *config, const struct step_message *message)
{
    int64_t begin_us = message->handed_over_us.set && message->handed_over_us.value > in->entered_us ? message->handed_over_us.value
                                                                                                     : in->entered_us;
    return clock_later_us(begin_us, node_span_us(config->window->duration, config->window->unit), 1);
}

static bool is_within(struct opt_int at_us, int64_t end_us)
{
    return at_us.set && at_us.value <= end_us;
}

static void record_engagement(struct step_record *record, const struct engagement *seen, const struct step_message *message,
                              struct opt_int end_us)
{
    step_record_flag(record, "sent", message != NULL && message->handed_over_us.set);
    step_record_flag(record, "over", seen->is_over);
    step_record_flag(record, "clicked", seen->has_clicked);
    step_record_flag(record, "opened", seen->has_opened);
    if (message == NULL)
        return;
    step_record_time(record, "sentAt", message->handed_over_us);
    step_record_time(record, "openedAt", message->opened_us);
    step_record_time(record, "clickedAt", message->clicked_us);
    step_record_time(record, "until", end_us);
}

/* A message that is not handed over yet is looked at again after the window, if nothing wakes the run before. */
static int64_t look_again_us(const struct step_in *in, const struct filter_config *config, const struct step_message *message)
{
    int64_t end_us = window_end_us(in, config, message);
    int64_t window_us = node_span_us(config->window->duration, config->window->unit);
    if (message->handed_over_us.set || end_us > in->now_us)
        return end_us;
    return clock_later_us(in->now_us, window_us > least_look_us ? window_us : least_look_us, 1);
}

static void step_engagement(struct arena *arena, const struct step_in *in, const struct filter_config *config,
                            struct step_out *ret_out)
{
    struct step_record record;
    const struct step_message *message = message_of(in->facts, config->source_node_id);
    bool is_sent = message != NULL && message->handed_over_us.set;
    int64_t end_us = message != NULL ? window_end_us(in, config, message) : in->entered_us;
    struct engagement seen = { .is_over =
                                   message == NULL || (!is_sent && message->is_settled) || (is_sent && in->now_us >= end_us) };
    if (is_sent) {
        seen.has_clicked = is_within(message->clicked_us, end_us);
        seen.has_opened = seen.has_clicked || is_within(message->opened_us, end_us);
    }
    const char *branch = engagement_branch(config, seen);
    step_record_begin(&record, arena);
    record_engagement(&record, &seen, message, (struct opt_int){ is_sent, end_us });
    if (branch != NULL || message == NULL) {
        step_go(ret_out, &record, branch);
        return;
    }
    step_wait_until(ret_out, &record, look_again_us(in, config, message));
    ret_out->waits_message = message->id;
}

/* ---- Both forms ---- */

void step_filter(struct arena *arena, const struct step_in *in, struct step_out *ret_out)
{
    const struct filter_config *config = in->node->config;
    const struct condition_list list = { config->logical_operator, config->conditions, in->node->condition_parts,
                                         config->conditions_count };
    if (config->form == FILTER_FORM_ENGAGEMENT)
        step_engagement(arena, in, config, ret_out);
    else
        step_by_conditions(arena, in, &list, true_or_false, ret_out);
}

const char *replay_filter(struct arena *arena, const struct graph_node *node, const json_t *facts)
{
    const struct filter_config *config = node->config;
    if (config->form == FILTER_FORM_FIELDS)
        return replay_conditions(arena, config->logical_operator, config->conditions_count, true_or_false, facts);
    const struct engagement seen = {
        .is_over = json_is_true(json_object_get(facts, "over")),
        .has_clicked = json_is_true(json_object_get(facts, "clicked")),
        .has_opened = json_is_true(json_object_get(facts, "opened")),
    };
    return engagement_branch(config, seen);
}
