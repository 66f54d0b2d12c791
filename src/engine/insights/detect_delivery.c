/* Detectors of the delivery: complaints, bounces, blocked and delayed messages. */
#include "engine/insights/detect.h"
#include "engine/insights/findings.h"

#include <math.h>

static const double complaint_limit = 0.001; /* of the delivered messages; Gmail's and Yahoo's rules for senders */

enum { WEEK_DAYS = 7 };

static bool is_named(const struct insight_data *data, size_t domain)
{
    return data->domains[domain][0] != '\0';
}

static struct insight_finding *add_for_domain(struct insight_findings *findings, enum insight_detector_index detector,
                                              const struct insight_data *data, size_t domain)
{
    struct insight_finding *finding = finding_add(findings, detector);
    if (finding != NULL) {
        finding->subject_kind = "receivingDomain";
        finding->subject = data->domains[domain];
    }
    return finding;
}

/* ---- Complaints ---- */

/* A fact: the lower bound of the interval is above a limit that providers publish. */
static void detect_complaints(const struct insight_data *data, size_t domain, struct insight_findings *findings)
{
    struct share complaints = { 0, 0 };
    for (size_t i = 0; i < data->cell_count; i++) {
        const struct insight_cell *cell = &data->cells[i];
        if (cell->domain == domain)
            complaints = share_add(complaints, (struct share){ cell->week_complained, cell->week_delivered });
    }
    if (complaints.total < insight_least(INSIGHT_COMPLAINTS, 0) || complaints.hits < insight_least(INSIGHT_COMPLAINTS, 1))
        return;
    struct insight_finding *finding = add_for_domain(findings, INSIGHT_COMPLAINTS, data, domain);
    if (finding == NULL)
        return;
    finding->is_fact = true;
    finding->value = share_rate(complaints);
    finding->baseline = complaint_limit;
    finding->sample = complaints.total;
    finding->interval = wilson_interval(complaints);
    finding->is_worth = finding->interval.low > complaint_limit;
    for (size_t i = data->cell_count; i > 0; i--) {
        const struct insight_cell *cell = &data->cells[i - 1];
        if (cell->domain == domain && cell->week_complained > 0)
            finding_add_send(finding, data->sends[cell->send].id);
    }
}

/* ---- Blocked ---- */

/* The shares of one figure of the cells of a domain, or of all others, of sends from `from` up to `to`. One share for each send. */
struct cell_choice {
    size_t domain;
    bool is_other; /* all domains but this one */
    int64_t from_us, to_us;
};

static bool is_chosen(const struct insight_data *data, const struct cell_choice *choice, const struct insight_cell *cell)
{
    int64_t started_us = data->sends[cell->send].started_us;
    return (cell->domain == choice->domain) != choice->is_other && started_us >= choice->from_us && started_us < choice->to_us;
}

static size_t shares_of_cells(struct arena *arena, const struct insight_data *data, const struct cell_choice *choice,
                              bool is_blocked, struct share **ret_shares)
{
    struct share *by_send = arena_array(arena, data->send_count + 1, sizeof(*by_send));
    for (size_t i = 0; i < data->cell_count; i++) {
        const struct insight_cell *cell = &data->cells[i];
        if (!is_chosen(data, choice, cell))
            continue;
        struct share share = { fmin(is_blocked ? cell->blocked : cell->delayed, cell->sent), cell->sent };
        by_send[cell->send] = share_add(by_send[cell->send], share);
    }
    size_t found = 0;
    for (size_t i = 0; i < data->send_count; i++) {
        if (by_send[i].total > 0)
            by_send[found++] = by_send[i];
    }
    *ret_shares = by_send;
    return found;
}

static struct share sum_up(const struct share *shares, size_t count)
{
    struct share sum = { 0, 0 };
    for (size_t i = 0; i < count; i++)
        sum = share_add(sum, shares[i]);
    return sum;
}

static void name_sends_of(const struct insight_data *data, size_t domain, int64_t from_us, bool is_blocked,
                          struct insight_finding *finding)
{
    for (size_t i = data->cell_count; i > 0; i--) {
        const struct insight_cell *cell = &data->cells[i - 1];
        double hits = is_blocked ? cell->blocked : cell->delayed;
        if (cell->domain == domain && hits > 0 && data->sends[cell->send].started_us >= from_us)
            finding_add_send(finding, data->sends[cell->send].id);
    }
}

/* Fisher's test of counts that are divided by the dispersion of the sends (Rao and Scott 1992). */
static void detect_blocked(struct arena *arena, const struct insight_data *data, size_t domain, struct insight_findings *findings)
{
    struct cell_choice choice = { .domain = domain, .from_us = days_before(data, WEEK_DAYS), .to_us = INT64_MAX };
    struct share *there;
    struct share *others;
    size_t there_count = shares_of_cells(arena, data, &choice, true, &there);
    choice.is_other = true;
    size_t other_count = shares_of_cells(arena, data, &choice, true, &others);
    struct share one = sum_up(there, there_count);
    struct share other = sum_up(others, other_count);
    if (one.total < insight_least(INSIGHT_BLOCKED, 0) || other.total <= 0)
        return;
    struct insight_finding *finding = add_for_domain(findings, INSIGHT_BLOCKED, data, domain);
    if (finding == NULL)
        return;
    finding->dispersion = fmax(dispersion_of(there, there_count), dispersion_of(others, other_count));
    struct share effective_one = effective_share(one, finding->dispersion);
    struct share effective_other = effective_share(other, finding->dispersion);
    finding->p = fisher_p(effective_one, effective_other);
    finding->interval = newcombe_interval(effective_one, effective_other);
    finding->value = share_rate(one);
    finding->baseline = share_rate(other);
    finding->sample = one.total;
    finding->baseline_sample = other.total;
    finding->is_worth = finding->value > finding->baseline;
    name_sends_of(data, domain, choice.from_us, true, finding);
}

/* ---- Delayed ---- */

static void detect_put_off(struct arena *arena, const struct insight_data *data, size_t domain, struct insight_findings *findings)
{
    int64_t week_us = days_before(data, WEEK_DAYS);
    struct cell_choice choice = { .domain = domain, .from_us = week_us, .to_us = INT64_MAX };
    struct share *now;
    struct share *past;
    size_t now_count = shares_of_cells(arena, data, &choice, false, &now);
    choice.from_us = days_before(data, INSIGHT_PAST_DAYS);
    choice.to_us = week_us;
    size_t past_count = shares_of_cells(arena, data, &choice, false, &past);
    struct share one = sum_up(now, now_count);
    if (one.total < insight_least(INSIGHT_PUT_OFF, 0) || past_count < 2)
        return;
    struct insight_finding *finding = add_for_domain(findings, INSIGHT_PUT_OFF, data, domain);
    if (finding == NULL)
        return;
    struct comparison comparison = quasi_binomial(now, now_count, past, past_count);
    finding_take_comparison(finding, &comparison, one, sum_up(past, past_count));
    name_sends_of(data, domain, week_us, false, finding);
}

/* ---- The last send ---- */

static void detect_last_send(struct arena *arena, const struct insight_data *data, enum insight_detector_index detector,
                             enum insight_figure figure, struct insight_findings *findings)
{
    if (data->send_count < 3)
        return;
    const struct insight_send *last = &data->sends[data->send_count - 1];
    const struct insight_send *past;
    struct share *shares = arena_array(arena, data->send_count, sizeof(*shares));
    size_t count = sends_between(data, days_before(data, INSIGHT_PAST_DAYS), last->started_us, &past);
    size_t used = shares_of_sends(past, count, figure, shares);
    struct share one = send_share(last, figure);
    if (one.total < insight_least(detector, 0) || one.hits < insight_least(detector, 1) || used < 2)
        return;
    struct insight_finding *finding = finding_add(findings, detector);
    if (finding == NULL)
        return;
    struct comparison comparison = quasi_binomial(&one, 1, shares, used);
    finding_take_comparison(finding, &comparison, one, sum_up(shares, used));
    finding_add_send(finding, last->id);
}

void detect_delivery(struct arena *arena, const struct insight_data *data, struct insight_findings *findings)
{
    for (size_t domain = 0; domain < data->domain_count; domain++) {
        if (!is_named(data, domain))
            continue;
        detect_complaints(data, domain, findings);
        detect_blocked(arena, data, domain, findings);
        detect_put_off(arena, data, domain, findings);
    }
    detect_last_send(arena, data, INSIGHT_BOUNCE_SPIKE, FIGURE_BOUNCED, findings);
    detect_last_send(arena, data, INSIGHT_UNSUBSCRIBE_SPIKE, FIGURE_UNSUBSCRIBED, findings);
}
