/*
 * The figures of automations. Each query reads a bounded number of rows: the latest
 * runs and events of each day, and the first runs of a version.
 */
#include "engine/insights/load_automations.h"

#include "base/clock.h"
#include "sql/insight_automations.h"

#include <stdlib.h>
#include <string.h>

enum {
    WEEK_DAYS = 7,
    RUNS_OF_DAY = 100,     /* of one automation */
    FIRES_OF_DAY = 100,    /* of one trigger */
    RUNS_OF_SPLIT = 10000, /* the first ones of its version */
};

static const int64_t day_us = INT64_C(86400) * US_PER_S;

static int64_t past_us(const struct work *work)
{
    return work->now_us - INSIGHT_PAST_DAYS * day_us;
}

/* ---- Automations and their runs ---- */

static struct int_list automation_ids(const struct work *work, const struct insight_data *data)
{
    int64_t *ids = arena_array(work->arena, data->automation_count + 1, sizeof(*ids));
    for (size_t i = 0; i < data->automation_count; i++)
        ids[i] = data->automations[i].id;
    return (struct int_list){ ids, data->automation_count };
}

/* One of those that are loaded. */
static struct insight_automation *find_automation(const struct insight_data *data, int64_t id)
{
    size_t at = 0;
    while (at + 1 < data->automation_count && data->automations[at].id != id)
        at++;
    return &data->automations[at];
}

static bool load_run_days(const struct work *work, struct insight_data *data, struct error *err)
{
    struct insight_run_days_params params = {
        .brand_id = work->brand_id,
        .automation_ids = automation_ids(work, data),
        .now = work->now_us,
        .days = INSIGHT_PAST_DAYS,
    };
    struct insight_run_days_row *rows;
    size_t count;
    if (!sql_insight_run_days(work->conn, work->arena, &params, &rows, &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        find_automation(data, rows[i].automation_id)->begun[rows[i].age] += (double)rows[i].count;
    return true;
}

static bool load_automations(const struct work *work, struct insight_data *data, struct error *err)
{
    struct insight_automations_params params = {
        .brand_id = work->brand_id,
        .since = past_us(work),
        .limit = INSIGHT_AUTOMATIONS_MAX,
    };
    struct insight_automations_row *rows;
    if (!sql_insight_automations(work->conn, work->arena, &params, &rows, &data->automation_count, err))
        return false;
    data->automations = arena_array(work->arena, data->automation_count + 1, sizeof(*data->automations));
    for (size_t i = 0; i < data->automation_count; i++) {
        data->automations[i].id = rows[i].id;
        data->automations[i].name = rows[i].name;
        data->automations[i].changed_us = rows[i].changed_at;
        data->automations[i].listens = rows[i].listens;
    }
    return data->automation_count == 0 || load_run_days(work, data, err);
}

/* ---- Steps ---- */

static double lost_in_week(const struct insight_step *step)
{
    double lost = 0;
    for (size_t age = 0; age < WEEK_DAYS; age++)
        lost += step->days[age].hits;
    return lost;
}

static double lost_ever(const struct insight_step *step)
{
    double lost = 0;
    for (size_t age = 0; age < INSIGHT_PAST_DAYS; age++)
        lost += step->days[age].hits;
    return lost;
}

/* Those that lost most in the last week first. */
static int compare_steps(const void *a, const void *b)
{
    const struct insight_step *one = a;
    const struct insight_step *other = b;
    double x = lost_in_week(one);
    double y = lost_in_week(other);
    if (x != y)
        return x > y ? -1 : 1;
    int automations = (one->automation > other->automation) - (one->automation < other->automation);
    return automations != 0 ? automations : strcmp(one->node_id, other->node_id);
}

static bool is_same_step(const struct insight_steps_row *one, const struct insight_steps_row *other)
{
    return one->automation_id == other->automation_id && strcmp(one->node_id, other->node_id) == 0;
}

/* Reads the rows of one step. */
static struct insight_step read_step(const struct insight_data *data, const struct insight_steps_row *rows, size_t count)
{
    struct insight_step step = { .automation = find_automation(data, rows->automation_id), .node_id = rows->node_id };
    double most = 0;
    for (size_t i = 0; i < count; i++) {
        struct share *day = &step.days[rows[i].age];
        *day = (struct share){ (double)rows[i].lost, (double)rows[i].runs };
        if (rows[i].age < WEEK_DAYS && day->hits > most) {
            most = day->hits;
            step.reason = rows[i].reason;
        }
    }
    return step;
}

static bool load_steps(const struct work *work, struct insight_data *data, struct error *err)
{
    struct insight_steps_params params = {
        .brand_id = work->brand_id,
        .automation_ids = automation_ids(work, data),
        .now = work->now_us,
        .days = INSIGHT_PAST_DAYS,
        .runs_of_day = RUNS_OF_DAY,
    };
    struct insight_steps_row *rows;
    size_t row_count;
    if (!sql_insight_steps(work->conn, work->arena, &params, &rows, &row_count, err))
        return false;
    size_t most = 0;
    for (size_t i = 0; i < row_count; i++)
        most += i == 0 || !is_same_step(&rows[i - 1], &rows[i]);
    data->steps = arena_array(work->arena, most + 1, sizeof(*data->steps));
    for (size_t begin = 0, end; begin < row_count; begin = end) {
        for (end = begin + 1; end < row_count && is_same_step(&rows[begin], &rows[end]);)
            end++;
        data->steps[data->step_count] = read_step(data, rows + begin, end - begin);
        /* No test can be made of a step that never lost a run. */
        data->step_count += lost_ever(&data->steps[data->step_count]) > 0;
    }
    qsort(data->steps, data->step_count, sizeof(*data->steps), compare_steps);
    if (data->step_count > INSIGHT_STEPS_MAX)
        data->step_count = INSIGHT_STEPS_MAX;
    return true;
}

/* ---- Splits ---- */

static bool load_ways(const struct work *work, const struct insight_splits_row *splits, struct insight_data *data,
                      struct error *err)
{
    size_t count = data->split_count;
    int64_t *automations = arena_array(work->arena, count, sizeof(*automations));
    int64_t *versions = arena_array(work->arena, count, sizeof(*versions));
    int64_t *froms = arena_array(work->arena, count, sizeof(*froms));
    const char **nodes = arena_array(work->arena, count, sizeof(*nodes));
    for (size_t i = 0; i < count; i++) {
        automations[i] = splits[i].automation_id;
        versions[i] = splits[i].version_id;
        froms[i] = splits[i].since;
        nodes[i] = splits[i].node_id;
    }
    struct insight_ways_params params = {
        .brand_id = work->brand_id,
        .automation_ids = { automations, count },
        .version_ids = { versions, count },
        .node_ids = { nodes, count },
        .froms = { froms, count },
        .until = work->now_us - WEEK_DAYS * day_us,
        .runs = RUNS_OF_SPLIT,
    };
    struct insight_ways_row *rows;
    size_t row_count;
    if (!sql_insight_ways(work->conn, work->arena, &params, &rows, &row_count, err))
        return false;
    for (size_t i = 0; i < row_count; i++)
        data->splits[rows[i].place - 1].ways[rows[i].is_left ? 0 : 1][rows[i].look] =
            (struct share){ (double)rows[i].clicked, (double)rows[i].contacts };
    return true;
}

static bool load_splits(const struct work *work, struct insight_data *data, struct error *err)
{
    struct insight_splits_params params = {
        .brand_id = work->brand_id,
        .automation_ids = automation_ids(work, data),
        .since = past_us(work),
        .limit = INSIGHT_SPLITS_MAX,
    };
    struct insight_splits_row *rows;
    if (!sql_insight_splits(work->conn, work->arena, &params, &rows, &data->split_count, err))
        return false;
    data->splits = arena_array(work->arena, data->split_count + 1, sizeof(*data->splits));
    for (size_t i = 0; i < data->split_count; i++)
        data->splits[i] = (struct insight_split){
            .automation = find_automation(data, rows[i].automation_id),
            .node_id = rows[i].node_id,
            .labels = { rows[i].left_label != NULL ? rows[i].left_label : "left",
                        rows[i].right_label != NULL ? rows[i].right_label : "right" },
        };
    return data->split_count == 0 || load_ways(work, rows, data, err);
}

/* ---- Triggers ---- */

static bool load_fires(const struct work *work, struct insight_data *data, struct error *err)
{
    int64_t *ids = arena_array(work->arena, data->trigger_count, sizeof(*ids));
    for (size_t i = 0; i < data->trigger_count; i++)
        ids[i] = data->triggers[i].id;
    struct insight_fires_params params = {
        .brand_id = work->brand_id,
        .trigger_ids = { ids, data->trigger_count },
        .now = work->now_us,
        .days = INSIGHT_PAST_DAYS,
        .fires_of_day = FIRES_OF_DAY,
    };
    struct insight_fires_row *rows;
    size_t count;
    if (!sql_insight_fires(work->conn, work->arena, &params, &rows, &count, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        size_t at = 0;
        while (data->triggers[at].id != rows[i].trigger_id)
            at++;
        data->triggers[at].days[rows[i].age] = (struct share){ (double)rows[i].drifted, (double)rows[i].fires };
    }
    return true;
}

static bool load_triggers(const struct work *work, struct insight_data *data, struct error *err)
{
    struct insight_triggers_params params = {
        .brand_id = work->brand_id,
        .since = work->now_us - WEEK_DAYS * day_us,
        .limit = INSIGHT_TRIGGERS_MAX,
    };
    struct insight_triggers_row *rows;
    if (!sql_insight_triggers(work->conn, work->arena, &params, &rows, &data->trigger_count, err))
        return false;
    data->triggers = arena_array(work->arena, data->trigger_count + 1, sizeof(*data->triggers));
    for (size_t i = 0; i < data->trigger_count; i++)
        data->triggers[i] = (struct insight_trigger){ .id = rows[i].id, .title = rows[i].title };
    return data->trigger_count == 0 || load_fires(work, data, err);
}

bool insight_automations_load(const struct work *work, struct insight_data *data, struct error *err)
{
    if (!load_automations(work, data, err) || !load_triggers(work, data, err))
        return false;
    return data->automation_count == 0 || (load_steps(work, data, err) && load_splits(work, data, err));
}
