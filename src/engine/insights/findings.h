/*
 * What the detectors share: new findings, and the shares of sends. Pure
 * functions, for any thread. Only this folder includes it.
 */
#pragma once

#include "engine/insights/insight_data.h"

/* A new finding of a detector; NULL when there are INSIGHT_FINDINGS_MAX. */
struct insight_finding *finding_add(struct insight_findings *findings, enum insight_detector_index detector) NONNULL(1);

/* Names a send as evidence; those beyond the bound are left out. */
void finding_add_send(struct insight_finding *finding, int64_t send_id) NONNULL(1);

/* Takes the comparison of two groups of sends or days, whose sums are `one` and `other`; a rise is worth it. A count of a few is
 * skewed, which Student's t does not know; the exact test of effective counts does. The larger p counts. */
void finding_take_comparison(struct insight_finding *finding, const struct comparison *comparison, struct share one,
                             struct share other) NONNULL(1, 2);

/* The least sample of a detector. */
double insight_least(enum insight_detector_index detector, size_t at) PURE;

/* The figures that a share is made of. */
enum insight_figure {
    FIGURE_BOUNCED, /* of sent */
    FIGURE_OPENED,  /* of delivered, as all that follow */
    FIGURE_CLICKED,
    FIGURE_UNSUBSCRIBED,
};
struct share send_share(const struct insight_send *send, enum insight_figure figure) NONNULL(1);

/* The sends that began in [from_us, to_us), and their number. */
size_t sends_between(const struct insight_data *data, int64_t from_us, int64_t to_us, const struct insight_send **ret_first)
    NONNULL(1, 4);

/* The shares of sends, without empty ones. `ret_shares` has a place for each. */
size_t shares_of_sends(const struct insight_send *sends, size_t count, enum insight_figure figure, struct share *ret_shares)
    NONNULL(4);

static inline int64_t days_before(const struct insight_data *data, int days)
{
    return data->now_us - (int64_t)days * 86400 * 1000000;
}
