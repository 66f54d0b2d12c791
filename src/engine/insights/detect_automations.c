/* Detectors of automations: steps that lose runs, automations that no event starts any more, ways of a split, events of triggers.
 */
#include "engine/insights/detect.h"
#include "engine/insights/findings.h"

#include <math.h>

static const double z95 = 1.9599639845400542;

enum { WEEK_DAYS = 7, DAY_US = 1000000 };

/* ---- Days ---- */

/* The days of [from, to) that are not empty, and their sum. */
struct days {
    struct share *shares;
    size_t count;
    struct share sum;
};

static struct days days_of(struct arena *arena, const struct share *all, size_t from, size_t to)
{
    struct days days = { .shares = arena_array(arena, to - from + 1, sizeof(*days.shares)) };
    for (size_t age = from; age < to; age++) {
        if (all[age].total <= 0)
            continue;
        days.shares[days.count++] = all[age];
        days.sum = share_add(days.sum, all[age]);
    }
    return days;
}

static void name_automation(struct arena *arena, const struct insight_automation *automation, const char *node_id,
                            struct insight_finding *finding)
{
    finding->subject_kind = node_id != NULL ? "step" : "automation";
    finding->subject_id = automation->id;
    finding->node_id = node_id;
    finding->key = arena_printf(arena, "%lld %s", (long long)automation->id, node_id != NULL ? node_id : "");
}

/* ---- Steps that lose runs ---- */

static void detect_leaking_step(struct arena *arena, const struct insight_step *step, struct insight_findings *findings)
{
    struct days week = days_of(arena, step->days, 0, WEEK_DAYS);
    struct days past = days_of(arena, step->days, WEEK_DAYS, INSIGHT_PAST_DAYS);
    if (week.sum.total < insight_least(INSIGHT_LEAKING_STEP, 0) || past.sum.total < insight_least(INSIGHT_LEAKING_STEP, 1))
        return;
    struct insight_finding *finding = finding_add(findings, INSIGHT_LEAKING_STEP);
    if (finding == NULL)
        return;
    struct comparison comparison = quasi_binomial(week.shares, week.count, past.shares, past.count);
    finding_take_comparison(finding, &comparison, week.sum, past.sum);
    name_automation(arena, step->automation, step->node_id, finding);
    finding->subject = arena_printf(arena, "%s of %s", step->node_id, step->automation->name);
    finding->reason = step->reason;
}

/* ---- Automations that no event starts any more ---- */

/* The runs of an automation from the day of its first one in 90 days to the day of its last one. */
struct history {
    size_t first, last; /* days before today */
    double runs;
    double mean;              /* runs a day */
    double weight[WEEK_DAYS]; /* of a day of the week; 1 on average */
    double exposure;          /* days, by their weight */
    double dispersion;        /* of the runs of a day about their weight, at least 1 */
};

static size_t weekday_of(size_t today, size_t age)
{
    return (today + WEEK_DAYS * INSIGHT_PAST_DAYS - age) % WEEK_DAYS;
}

/* A day of the week counts as many runs as it had before, and one more day with the mean of all. */
static void weigh(struct history *history, const double *begun, size_t today)
{
    double runs[WEEK_DAYS] = { 0 };
    double days[WEEK_DAYS] = { 0 };
    for (size_t age = history->last; age <= history->first; age++) {
        runs[weekday_of(today, age)] += begun[age];
        days[weekday_of(today, age)]++;
    }
    for (size_t i = 0; i < WEEK_DAYS; i++)
        history->weight[i] = (runs[i] / history->mean + 1) / (days[i] + 1);
}

static void measure(struct history *history, const double *begun, size_t today)
{
    double statistic = 0;
    double days = (double)(history->first - history->last + 1);
    for (size_t age = history->last; age <= history->first; age++) {
        double weight = history->weight[weekday_of(today, age)];
        double expected = weight * history->mean;
        statistic += (begun[age] - expected) * (begun[age] - expected) / expected;
        history->exposure += weight;
    }
    history->dispersion = fmax(1, statistic / (days - WEEK_DAYS));
}

/* False when there are too few runs or days for the test. */
static bool read_history(const double *begun, size_t today, struct history *ret_history)
{
    *ret_history = (struct history){ .last = INSIGHT_PAST_DAYS };
    for (size_t age = 0; age < INSIGHT_PAST_DAYS; age++) {
        if (begun[age] <= 0)
            continue;
        ret_history->first = age;
        ret_history->last = ret_history->last < age ? ret_history->last : age;
        ret_history->runs += begun[age];
    }
    if (ret_history->runs < insight_least(INSIGHT_SILENT_AUTOMATION, 0) ||
        (double)(ret_history->first - ret_history->last) + 1 < insight_least(INSIGHT_SILENT_AUTOMATION, 1))
        return false;
    ret_history->mean = ret_history->runs / (double)(ret_history->first - ret_history->last + 1);
    weigh(ret_history, begun, today);
    measure(ret_history, begun, today);
    return true;
}

/* The whole days without a run, behind the last run and the last change of the automation. */
static size_t quiet_days(const struct insight_data *data, const struct insight_automation *automation, size_t last)
{
    int64_t day_us = INT64_C(86400) * DAY_US;
    int64_t since_change = data->now_us / day_us - automation->changed_us / day_us;
    size_t changed = since_change < 0 ? 0 : since_change < INSIGHT_PAST_DAYS ? (size_t)since_change : INSIGHT_PAST_DAYS;
    size_t begin = last < changed ? last : changed;
    return begin > 0 ? begin - 1 : 0;
}

/* The interval of the difference between the silence and the days between two runs. */
static struct interval silence_interval(const struct history *history, double quiet)
{
    double days = (double)(history->first - history->last + 1);
    double half = z95 * sqrt(history->runs * history->dispersion);
    return (struct interval){ quiet - days / fmax(1, history->runs - half), quiet - days / (history->runs + half) };
}

/* The last run ends the history and its first one begins it, so there is one silence less than there are runs. */
static void detect_silent(struct arena *arena, const struct insight_data *data, const struct insight_automation *automation,
                          struct insight_findings *findings)
{
    struct history history;
    size_t today = (size_t)(data->now_us / (INT64_C(86400) * DAY_US));
    if (!automation->listens || !read_history(automation->begun, today, &history))
        return;
    struct insight_finding *finding = finding_add(findings, INSIGHT_SILENT_AUTOMATION);
    if (finding == NULL)
        return;
    size_t quiet = quiet_days(data, automation, history.last);
    double gap = 0;
    for (size_t age = 1; age <= quiet; age++)
        gap += history.weight[weekday_of(today, age)];
    name_automation(arena, automation, NULL, finding);
    finding->subject = automation->name;
    finding->dispersion = history.dispersion;
    finding->p = poisson_gap_p((history.runs - 1) / history.dispersion, history.exposure, gap);
    finding->value = (double)quiet;
    finding->baseline = 1 / history.mean;
    finding->interval = silence_interval(&history, finding->value);
    finding->sample = history.runs;
    finding->is_worth = finding->value > finding->baseline;
}

/* ---- The ways of a split ---- */

static double size_of_look(size_t look)
{
    return insight_least(INSIGHT_SPLIT_WINNER, 0) * (double)(1 << look);
}

/* The ways are compared at fixed sizes only, so waiting for a difference does not find one. Gives the number of looks, and the
 * contacts of the last one; 0: a way has too few. */
static size_t take_looks(const struct insight_split *split, struct share *ret_left, struct share *ret_right)
{
    struct share left = { 0, 0 };
    struct share right = { 0, 0 };
    size_t looks = 0;
    while (looks < INSIGHT_LOOKS) {
        left = share_add(left, split->ways[0][looks]);
        right = share_add(right, split->ways[1][looks]);
        if (left.total < size_of_look(looks) || right.total < size_of_look(looks))
            break;
        *ret_left = left;
        *ret_right = right;
        looks++;
    }
    return looks;
}

static void detect_split(struct arena *arena, const struct insight_split *split, struct insight_findings *findings)
{
    struct share left;
    struct share right;
    size_t looks = take_looks(split, &left, &right);
    if (looks == 0)
        return;
    struct insight_finding *finding = finding_add(findings, INSIGHT_SPLIT_WINNER);
    if (finding == NULL)
        return;
    bool is_left = share_rate(left) >= share_rate(right);
    struct share one = is_left ? left : right;
    struct share other = is_left ? right : left;
    name_automation(arena, split->automation, split->node_id, finding);
    finding->subject =
        arena_printf(arena, "%s at %s of %s", split->labels[is_left ? 0 : 1], split->node_id, split->automation->name);
    finding->p = fmin(1, two_shares_p(one, other) * (double)looks);
    finding->interval = newcombe_interval(one, other);
    finding->value = share_rate(one);
    finding->baseline = share_rate(other);
    finding->sample = one.total;
    finding->baseline_sample = other.total;
    finding->is_worth = finding->value > finding->baseline;
}

/* ---- Events that do not fit the contract ---- */

static void detect_drift(struct arena *arena, const struct insight_trigger *trigger, struct insight_findings *findings)
{
    struct days week = days_of(arena, trigger->days, 0, WEEK_DAYS);
    struct days past = days_of(arena, trigger->days, WEEK_DAYS, INSIGHT_PAST_DAYS);
    if (week.sum.total < insight_least(INSIGHT_CONTRACT_DRIFT, 0) || past.sum.total < insight_least(INSIGHT_CONTRACT_DRIFT, 1))
        return;
    struct insight_finding *finding = finding_add(findings, INSIGHT_CONTRACT_DRIFT);
    if (finding == NULL)
        return;
    finding->dispersion = fmax(dispersion_of(week.shares, week.count), dispersion_of(past.shares, past.count));
    struct share one = effective_share(week.sum, finding->dispersion);
    struct share other = effective_share(past.sum, finding->dispersion);
    finding->subject_kind = "trigger";
    finding->subject = trigger->title;
    finding->subject_id = trigger->id;
    finding->key = arena_printf(arena, "%lld", (long long)trigger->id);
    finding->p = fisher_p(one, other);
    finding->interval = newcombe_interval(one, other);
    finding->value = share_rate(week.sum);
    finding->baseline = share_rate(past.sum);
    finding->sample = week.sum.total;
    finding->baseline_sample = past.sum.total;
    finding->is_worth = finding->value > finding->baseline;
}

void detect_automations(struct arena *arena, const struct insight_data *data, struct insight_findings *findings)
{
    for (size_t i = 0; i < data->step_count; i++)
        detect_leaking_step(arena, &data->steps[i], findings);
    for (size_t i = 0; i < data->automation_count; i++)
        detect_silent(arena, data, &data->automations[i], findings);
    for (size_t i = 0; i < data->split_count; i++)
        detect_split(arena, &data->splits[i], findings);
    for (size_t i = 0; i < data->trigger_count; i++)
        detect_drift(arena, &data->triggers[i], findings);
}
