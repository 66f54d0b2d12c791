/* Detectors of the list and the account: sources, contacts that read nothing, domains, the allowance. */
#include "engine/insights/detect.h"
#include "engine/insights/findings.h"

#include <math.h>

static const double dormant_limit = 0.25; /* of the contacts */

/* ---- Sources ---- */

static double dispersion_of_bounces(struct arena *arena, const struct insight_data *data)
{
    struct share *shares = arena_array(arena, data->send_count + 1, sizeof(*shares));
    return dispersion_of(shares, shares_of_sends(data->sends, data->send_count, FIGURE_BOUNCED, shares));
}

static struct share source_share(const struct insight_source *source)
{
    return (struct share){ fmin(source->bounced, source->sent), source->sent };
}

static void detect_source(const struct insight_data *data, size_t at, double dispersion, struct insight_findings *findings)
{
    const struct insight_source *source = &data->sources[at];
    struct share one = source_share(source);
    struct share other = { 0, 0 };
    for (size_t i = 0; i < data->source_count; i++) {
        if (i != at)
            other = share_add(other, source_share(&data->sources[i]));
    }
    if (source->name[0] == '\0' || one.total < insight_least(INSIGHT_POOR_SOURCE, 0) || other.total <= 0)
        return;
    struct insight_finding *finding = finding_add(findings, INSIGHT_POOR_SOURCE);
    if (finding == NULL)
        return;
    struct share effective_one = effective_share(one, dispersion);
    struct share effective_other = effective_share(other, dispersion);
    finding->subject_kind = "source";
    finding->subject = source->name;
    finding->dispersion = dispersion;
    finding->p = fisher_p(effective_one, effective_other);
    finding->interval = newcombe_interval(effective_one, effective_other);
    finding->value = share_rate(one);
    finding->baseline = share_rate(other);
    finding->sample = one.total;
    finding->baseline_sample = other.total;
    finding->is_worth = finding->value > finding->baseline;
}

/* ---- Contacts that read nothing ---- */

static void detect_dormant(const struct insight_data *data, struct insight_findings *findings)
{
    if (data->contacts < insight_least(INSIGHT_DORMANT, 0))
        return;
    struct insight_finding *finding = finding_add(findings, INSIGHT_DORMANT);
    if (finding == NULL)
        return;
    struct share dormant = { data->dormant, data->contacts };
    finding->is_fact = true;
    finding->value = share_rate(dormant);
    finding->baseline = dormant_limit;
    finding->interval = wilson_interval(dormant);
    finding->sample = data->contacts;
    finding->is_worth = finding->interval.low > dormant_limit;
}

/* ---- Domains, the allowance ---- */

static void detect_lost_record(const struct insight_domain *domain, struct insight_findings *findings)
{
    struct insight_finding *finding = finding_add(findings, INSIGHT_LOST_RECORD);
    if (finding == NULL)
        return;
    finding->is_fact = true;
    finding->is_worth = domain->is_lost;
    finding->subject_kind = "domain";
    finding->subject = domain->name;
    finding->subject_id = domain->id;
    finding->value = 1;
    finding->sample = 1;
    finding->interval = (struct interval){ 1, 1 };
}

/* The days that a rest lasts at a rate; never a negative or an endless number. */
static double days_of(double rest, double rate, double most)
{
    return rate > 0 ? fmin(rest / rate, most) : most;
}

static void detect_allowance(struct arena *arena, const struct insight_data *data, struct insight_findings *findings)
{
    const struct insight_allowance *allowance = &data->allowance;
    const double most = 3660;
    if (allowance->limit <= 0 || (double)allowance->day_count < insight_least(INSIGHT_ALLOWANCE, 0))
        return;
    double *scratch = arena_array(arena, allowance->day_count * allowance->day_count / 2 + 1, sizeof(*scratch));
    struct slope slope = theil_sen(allowance->day, allowance->total, allowance->day_count, scratch);
    struct insight_finding *finding = finding_add(findings, INSIGHT_ALLOWANCE);
    if (finding == NULL)
        return;
    double rest = fmax(0, allowance->limit - allowance->used);
    finding->is_fact = true;
    finding->value = days_of(rest, slope.slope, most);
    finding->baseline = allowance->days_left;
    finding->interval = (struct interval){ days_of(rest, slope.interval.high, most), days_of(rest, slope.interval.low, most) };
    finding->sample = (double)allowance->day_count;
    /* The slower end of the slope uses up the allowance as well. */
    finding->is_worth = slope.is_found && finding->interval.high < allowance->days_left;
}

void detect_list(struct arena *arena, const struct insight_data *data, struct insight_findings *findings)
{
    double dispersion = dispersion_of_bounces(arena, data);
    for (size_t i = 0; i < data->source_count; i++)
        detect_source(data, i, dispersion, findings);
    detect_dormant(data, findings);
    for (size_t i = 0; i < data->sending_domain_count; i++)
        detect_lost_record(&data->sending_domains[i], findings);
    detect_allowance(arena, data, findings);
}
