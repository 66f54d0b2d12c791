#include "engine/insights/findings.h"

#include <math.h>

struct insight_finding *finding_add(struct insight_findings *findings, enum insight_detector_index detector)
{
    if (findings->count == INSIGHT_FINDINGS_MAX)
        return NULL;
    struct insight_finding *finding = &findings->items[findings->count++];
    *finding = (struct insight_finding){ .detector = detector, .subject_kind = "brand", .subject = "", .dispersion = 1, .p = 1 };
    return finding;
}

void finding_add_send(struct insight_finding *finding, int64_t send_id)
{
    if (finding->send_count < INSIGHT_EVIDENCE_MAX)
        finding->sends[finding->send_count++] = send_id;
}

void finding_take_comparison(struct insight_finding *finding, const struct comparison *comparison, struct share one,
                             struct share other)
{
    double exact = fisher_p(effective_share(one, comparison->dispersion), effective_share(other, comparison->dispersion));
    finding->value = comparison->rate;
    finding->baseline = comparison->other_rate;
    finding->interval = comparison->interval;
    finding->dispersion = comparison->dispersion;
    finding->p = fmax(comparison->p, exact);
    finding->sample = one.total;
    finding->baseline_sample = other.total;
    finding->is_worth = comparison->rate > comparison->other_rate;
}

double insight_least(enum insight_detector_index detector, size_t at)
{
    return insight_detectors[detector].least[at];
}

struct share send_share(const struct insight_send *send, enum insight_figure figure)
{
    switch (figure) {
    case FIGURE_BOUNCED:
        return (struct share){ fmin(send->bounced, send->sent), send->sent };
    case FIGURE_OPENED:
        return (struct share){ fmin(send->opened, send->delivered), send->delivered };
    case FIGURE_CLICKED:
        return (struct share){ fmin(send->clicked, send->delivered), send->delivered };
    case FIGURE_UNSUBSCRIBED:
        return (struct share){ fmin(send->unsubscribed, send->delivered), send->delivered };
    }
    return (struct share){ 0, 0 };
}

size_t sends_between(const struct insight_data *data, int64_t from_us, int64_t to_us, const struct insight_send **ret_first)
{
    size_t begin = 0;
    while (begin < data->send_count && data->sends[begin].started_us < from_us)
        begin++;
    size_t end = begin;
    while (end < data->send_count && data->sends[end].started_us < to_us)
        end++;
    *ret_first = data->sends + begin;
    return end - begin;
}

size_t shares_of_sends(const struct insight_send *sends, size_t count, enum insight_figure figure, struct share *ret_shares)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        ret_shares[found] = send_share(&sends[i], figure);
        found += ret_shares[found].total > 0;
    }
    return found;
}
