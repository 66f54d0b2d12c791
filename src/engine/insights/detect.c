#include "engine/insights/detect.h"

#include <math.h>

static bool has_effect(const struct insight_finding *finding)
{
    double least = finding->baseline * INSIGHT_LEAST_EFFECT_PERCENT / 100;
    return fabs(finding->value - finding->baseline) >= least;
}

static bool is_critical(const struct insight_finding *finding)
{
    double critical = insight_detectors[finding->detector].critical;
    /* Complaints are compared with a constant, so the whole interval must lie above it. */
    double value = finding->detector == INSIGHT_COMPLAINTS ? finding->interval.low : finding->value;
    return critical > 0 && value >= critical;
}

/* The weight of each test of a detector: 1 / sqrt(its tests), so that a question which is asked once for the brand counts more than
 * one of many domains or steps. The mean weight of all tests is 1. */
static void weigh(const struct insight_findings *findings, double *ret_weights)
{
    size_t tests = 0;
    double sum = 0;
    for (size_t i = 0; i < findings->count; i++) {
        if (!findings->items[i].is_fact) {
            ret_weights[findings->items[i].detector]++;
            tests++;
        }
    }
    for (size_t at = 0; at < INSIGHT_DETECTOR_COUNT; at++) {
        sum += sqrt(ret_weights[at]);
        ret_weights[at] = ret_weights[at] > 0 ? 1 / sqrt(ret_weights[at]) : 0;
    }
    for (size_t at = 0; at < INSIGHT_DETECTOR_COUNT && sum > 0; at++)
        ret_weights[at] *= (double)tests / sum;
}

void insights_judge(struct arena *arena, struct insight_findings *findings)
{
    double *p = arena_array(arena, findings->count + 1, sizeof(*p));
    double *q = arena_array(arena, findings->count + 1, sizeof(*q));
    size_t *scratch = arena_array(arena, findings->count + 1, sizeof(*scratch));
    double weights[INSIGHT_DETECTOR_COUNT] = { 0 };
    size_t tests = 0;
    weigh(findings, weights);
    for (size_t i = 0; i < findings->count; i++) {
        const struct insight_finding *finding = &findings->items[i];
        if (!finding->is_fact)
            p[tests++] = fmin(1, finding->p / weights[finding->detector]);
    }
    benjamini_hochberg(p, tests, q, scratch);
    tests = 0;
    for (size_t i = 0; i < findings->count; i++) {
        struct insight_finding *finding = &findings->items[i];
        finding->q = finding->is_fact ? 0 : q[tests++];
        finding->is_held =
            finding->is_worth && (finding->is_fact || (finding->q <= INSIGHT_LEVEL_PERCENT / 100.0 && has_effect(finding)));
        finding->is_critical = is_critical(finding);
    }
}

void insights_detect(struct arena *arena, const struct insight_data *data, struct insight_findings *ret_findings)
{
    ret_findings->count = 0;
    detect_delivery(arena, data, ret_findings);
    detect_engagement(arena, data, ret_findings);
    detect_list(arena, data, ret_findings);
    detect_automations(arena, data, ret_findings);
    insights_judge(arena, ret_findings);
}
