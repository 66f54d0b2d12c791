/*
 * Which automations a fire starts: those that listen, but for those whose rule of
 * re-entry refuses.
 */
#include "engine/triggers/firing.h"

#include "engine/triggers/reentry.h"
#include "sql/fire.h"

/* The results of a group, which are taken in the order of its fires and their listeners. */
struct starting {
    const struct fire_last_runs_row *last_run; /* of the next listener with a rule */
    const struct fire_next_run_ids_row *id;    /* of the next listener */
    struct run_start *start;                   /* the next one */
};

struct fire_last_runs_params fire_group_rules(const struct fire_group *group, size_t max)
{
    const char **keys = arena_array(group->work->arena, max, sizeof(*keys));
    int64_t *ids = arena_array(group->work->arena, max, sizeof(*ids));
    size_t count = 0;
    for (size_t i = 0; i < group->open_count; i++) {
        const struct fire *fire = group->open[i];
        for (size_t k = 0; k < fire->trigger->listener_count; k++) {
            if (!reentry_looks_back(fire->trigger->listeners[k].reentry))
                continue;
            keys[count] = fire->payload.address.key;
            ids[count++] = fire->trigger->listeners[k].automation_id;
        }
    }
    return (struct fire_last_runs_params){ .brand_id = group->work->brand_id,
                                           .email_keys = { keys, count },
                                           .automation_ids = { ids, count } };
}

static const char *find_refusal(struct starting *starting, const struct fire *fire, const struct listener *listener)
{
    if (!reentry_looks_back(listener->reentry))
        return NULL;
    struct opt_int last = (starting->last_run++)->started_at;
    return last.set ? reentry_refusal(fire->work.arena, listener->reentry, last.value, fire->work.now_us) : NULL;
}

static struct run_start make_start(const struct fire *fire, const struct listener *listener, int64_t id)
{
    return (struct run_start){
        .id = id,
        .automation_id = listener->automation_id,
        .version_id = listener->version_id,
        .trigger_node = listener->node_id,
        .trigger_id = fire->trigger->id,
        .instance_id = fire->instance_id,
        .payload_id = fire->payload_id,
        .contact_id = fire->saved->id,
        .email = fire->saved->email,
        .email_key = fire->payload.address.key,
    };
}

static void choose_starts(struct starting *starting, struct fire *fire)
{
    const struct fired_trigger *trigger = fire->trigger;
    fire->starts = starting->start;
    fire->start_count = fire->refusal_count = 0;
    fire->refusals = arena_array(fire->work.arena, trigger->listener_count, sizeof(*fire->refusals));
    for (size_t i = 0; i < trigger->listener_count; i++) {
        const struct listener *listener = &trigger->listeners[i];
        const char *reason = find_refusal(starting, fire, listener);
        int64_t id = (starting->id++)->id;
        if (reason != NULL)
            fire->refusals[fire->refusal_count++] = (struct fire_refusal){ listener->automation_id, reason };
        else
            starting->start[fire->start_count++] = make_start(fire, listener, id);
    }
    starting->start += fire->start_count;
}

void fire_group_choose_starts(struct fire_group *group, const struct db_rows *last_runs, const struct db_rows *run_ids)
{
    group->starts = arena_array(group->work->arena, run_ids->count, sizeof(*group->starts));
    struct starting starting = { last_runs->rows, run_ids->rows, group->starts };
    for (size_t i = 0; i < group->open_count; i++)
        choose_starts(&starting, group->open[i]);
    group->start_count = (size_t)(starting.start - group->starts);
}
