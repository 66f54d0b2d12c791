/* Detectors of opens and clicks: opens at one provider, clicks over weeks, by frequency and by hour of the week. */
#include "engine/insights/detect.h"
#include "engine/insights/distributions.h"
#include "engine/insights/findings.h"

#include <math.h>

static const double z95 = 1.9599639845400542;

enum { OPENS_DAYS = 14, CLICKS_DAYS = 28, FREQUENCIES = 3, SLOT_SENDS_MIN = 3 };

/* ---- Opens at one provider ---- */

/* The sends of one period: a stratum for each, with the domain and all others. */
struct period {
    struct stratum *strata;
    size_t count;
    struct share there;
    struct share others;
};

static struct period period_of(struct arena *arena, const struct insight_data *data, size_t domain, int64_t from_us, int64_t to_us)
{
    struct stratum *by_send = arena_array(arena, data->send_count + 1, sizeof(*by_send));
    struct period period = { .strata = by_send };
    for (size_t i = 0; i < data->cell_count; i++) {
        const struct insight_cell *cell = &data->cells[i];
        int64_t started_us = data->sends[cell->send].started_us;
        struct share share = { fmin(cell->opened, cell->delivered), cell->delivered };
        struct share *place = cell->domain == domain ? &by_send[cell->send].one : &by_send[cell->send].other;
        if (started_us >= from_us && started_us < to_us)
            *place = share_add(*place, share);
    }
    for (size_t i = 0; i < data->send_count; i++) {
        if (by_send[i].one.total <= 0 || by_send[i].other.total <= 0)
            continue;
        period.there = share_add(period.there, by_send[i].one);
        period.others = share_add(period.others, by_send[i].other);
        period.strata[period.count++] = by_send[i];
    }
    return period;
}

/* The rate that `odds` times the odds of `rate` give. */
static double rate_with_odds(double rate, double odds)
{
    return rate * odds / (1 - rate + rate * odds);
}

/*
 * The odds ratio of the domain to all others within the sends of a period does not depend on how well these sends were opened. Its
 * change from one period to the other is tested on the log scale, with the dispersion of the sends about both ratios.
 */
static void compare_periods(const struct period *now, const struct period *past, struct insight_finding *finding)
{
    struct common_odds odds = mantel_haenszel(now->strata, now->count);
    struct common_odds before = mantel_haenszel(past->strata, past->count);
    finding->dispersion = fmax(odds.heterogeneity, before.heterogeneity);
    finding->value = share_rate(now->there);
    finding->baseline = finding->value;
    finding->sample = now->there.total;
    finding->baseline_sample = past->there.total;
    if (isnan(odds.ratio) || isnan(before.ratio))
        return;
    double change = log(odds.ratio / before.ratio);
    double deviation = sqrt((odds.log_variance + before.log_variance) * finding->dispersion);
    finding->p = student_two_sided(change / deviation, (double)(now->count + past->count) - 2);
    finding->baseline = rate_with_odds(finding->value, exp(-change));
    finding->is_worth = change < 0;
    double half = z95 * deviation;
    finding->interval = (struct interval){
        finding->value - rate_with_odds(finding->value, exp(-change + half)),
        finding->value - rate_with_odds(finding->value, exp(-change - half)),
    };
}

static void detect_opens_fall(struct arena *arena, const struct insight_data *data, size_t domain,
                              struct insight_findings *findings)
{
    int64_t between_us = days_before(data, OPENS_DAYS);
    struct period now = period_of(arena, data, domain, between_us, INT64_MAX);
    struct period past = period_of(arena, data, domain, 0, between_us);
    double delivered = insight_least(INSIGHT_OPENS_FALL, 0);
    size_t sends = (size_t)insight_least(INSIGHT_OPENS_FALL, 1);
    if (now.count < sends || past.count < sends || fmin(now.there.total, now.others.total) < delivered ||
        fmin(past.there.total, past.others.total) < delivered)
        return;
    struct insight_finding *finding = finding_add(findings, INSIGHT_OPENS_FALL);
    if (finding == NULL)
        return;
    finding->subject_kind = "receivingDomain";
    finding->subject = data->domains[domain];
    compare_periods(&now, &past, finding);
    const struct insight_send *first;
    size_t count = sends_between(data, between_us, INT64_MAX, &first);
    for (size_t i = count; i > 0; i--)
        finding_add_send(finding, first[i - 1].id);
}

/* ---- Clicks over weeks ---- */

static double total_of(const struct share *shares, size_t count)
{
    double total = 0;
    for (size_t i = 0; i < count; i++)
        total += shares[i].total;
    return total;
}

static void detect_clicks_trend(struct arena *arena, const struct insight_data *data, struct insight_findings *findings)
{
    const struct insight_send *now;
    const struct insight_send *past;
    size_t now_count = sends_between(data, days_before(data, CLICKS_DAYS), INT64_MAX, &now);
    size_t past_count = sends_between(data, 0, days_before(data, CLICKS_DAYS), &past);
    struct share *of_now = arena_array(arena, now_count + 1, sizeof(*of_now));
    struct share *of_past = arena_array(arena, past_count + 1, sizeof(*of_past));
    size_t used = shares_of_sends(now, now_count, FIGURE_CLICKED, of_now);
    size_t used_past = shares_of_sends(past, past_count, FIGURE_CLICKED, of_past);
    double sends = insight_least(INSIGHT_CLICKS_TREND, 0);
    double sample = total_of(of_now, used);
    double past_sample = total_of(of_past, used_past);
    if ((double)used < sends || (double)used_past < sends || fmin(sample, past_sample) < insight_least(INSIGHT_CLICKS_TREND, 1))
        return;
    struct insight_finding *finding = finding_add(findings, INSIGHT_CLICKS_TREND);
    if (finding == NULL)
        return;
    struct comparison comparison = quasi_binomial(of_now, used, of_past, used_past);
    finding->value = comparison.rate;
    finding->baseline = comparison.other_rate;
    finding->interval = comparison.interval;
    finding->dispersion = comparison.dispersion;
    finding->p = comparison.p;
    finding->sample = sample;
    finding->baseline_sample = past_sample;
    finding->is_worth = comparison.rate < comparison.other_rate;
    for (size_t i = now_count; i > 0; i--)
        finding_add_send(finding, now[i - 1].id);
}

/* ---- Fatigue ---- */

/* How much the clicks of a group vary more than independent ones, because a contact that clicks once clicks again: the variance of
 * the ratio of clicks to mails over contacts, by that of a share (Rao and Scott 1992, equation 2). */
static double dispersion_of_contacts(const struct insight_frequency *group)
{
    double p = group->mails > 0 ? group->clicks / group->mails : 0;
    if (!(p > 0) || !(p < 1) || group->contacts < 2)
        return 1;
    double squares = group->clicks_squared - 2 * p * group->clicks_by_mails + p * p * group->mails_squared;
    double variance = group->contacts / (group->contacts - 1) * squares / (group->mails * group->mails);
    return fmax(1, variance * group->mails / (p * (1 - p)));
}

/* Groups of contacts got different sends, so the dispersion of the sends counts as well. */
static double dispersion_of_frequency(struct arena *arena, const struct insight_data *data)
{
    const struct insight_send *sends;
    size_t count = sends_between(data, days_before(data, CLICKS_DAYS), INT64_MAX, &sends);
    struct share *shares = arena_array(arena, count + 1, sizeof(*shares));
    double dispersion = dispersion_of(shares, shares_of_sends(sends, count, FIGURE_CLICKED, shares));
    for (size_t i = 0; i < FREQUENCIES; i++)
        dispersion = fmax(dispersion, dispersion_of_contacts(&data->frequency[i]));
    return dispersion;
}

static void detect_fatigue(struct arena *arena, const struct insight_data *data, struct insight_findings *findings)
{
    static const double scores[FREQUENCIES] = { 1, 2, 3 };
    struct share groups[FREQUENCIES];
    struct share effective[FREQUENCIES];
    double dispersion = dispersion_of_frequency(arena, data);
    for (size_t i = 0; i < FREQUENCIES; i++) {
        const struct insight_frequency *group = &data->frequency[i];
        if (group->contacts < insight_least(INSIGHT_FATIGUE, 0))
            return;
        groups[i] = (struct share){ fmin(group->clicks, group->mails), group->mails };
        effective[i] = effective_share(groups[i], dispersion);
    }
    struct insight_finding *finding = finding_add(findings, INSIGHT_FATIGUE);
    if (finding == NULL)
        return;
    struct trend trend = cochran_armitage(effective, scores, FREQUENCIES);
    finding->p = trend.p;
    finding->dispersion = dispersion;
    finding->value = share_rate(groups[2]);
    finding->baseline = share_rate(groups[0]);
    finding->interval = newcombe_interval(effective[2], effective[0]);
    finding->sample = groups[2].total;
    finding->baseline_sample = groups[0].total;
    finding->is_worth = trend.slope < 0;
}

/* ---- The best hour ---- */

struct hours {
    struct share *sends; /* of the sends in hours with enough of them */
    size_t *group;       /* the place of the hour of each */
    const struct insight_send **source;
    size_t count;
    struct share totals[INSIGHT_HOURS_OF_WEEK];
    size_t slots[INSIGHT_HOURS_OF_WEEK]; /* the hour of each place */
    size_t slot_count;
};

static void choose_hours(const struct insight_data *data, struct hours *hours)
{
    size_t sends_in[INSIGHT_HOURS_OF_WEEK] = { 0 };
    size_t place[INSIGHT_HOURS_OF_WEEK];
    for (size_t i = 0; i < data->send_count; i++)
        sends_in[data->sends[i].slot] += data->sends[i].delivered > 0;
    for (size_t slot = 0; slot < INSIGHT_HOURS_OF_WEEK; slot++) {
        place[slot] = hours->slot_count;
        if (sends_in[slot] >= SLOT_SENDS_MIN)
            hours->slots[hours->slot_count++] = slot;
    }
    for (size_t i = 0; i < data->send_count; i++) {
        const struct insight_send *send = &data->sends[i];
        if (send->delivered <= 0 || sends_in[send->slot] < SLOT_SENDS_MIN)
            continue;
        hours->source[hours->count] = send;
        hours->group[hours->count] = place[send->slot];
        hours->sends[hours->count++] = send_share(send, FIGURE_CLICKED);
    }
}

static size_t best_place(const struct hours *hours)
{
    size_t best = 0;
    for (size_t i = 1; i < hours->slot_count; i++) {
        if (share_rate(hours->totals[i]) > share_rate(hours->totals[best]))
            best = i;
    }
    return best;
}

/* The sends of the best hour with all others. */
static struct comparison compare_best(struct arena *arena, const struct hours *hours, size_t best)
{
    struct share *of_best = arena_array(arena, hours->count, sizeof(*of_best));
    struct share *others = arena_array(arena, hours->count, sizeof(*others));
    size_t best_count = 0;
    size_t other_count = 0;
    for (size_t i = 0; i < hours->count; i++) {
        if (hours->group[i] == best)
            of_best[best_count++] = hours->sends[i];
        else
            others[other_count++] = hours->sends[i];
    }
    return quasi_binomial(of_best, best_count, others, other_count);
}

static const char *slot_name(struct arena *arena, size_t slot)
{
    static const char *const days[] = { "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday" };
    return arena_printf(arena, "%s at %zu:00", days[slot / 24 % 7], slot % 24);
}

static double clicks_of(const struct hours *hours)
{
    double clicks = 0;
    for (size_t i = 0; i < hours->count; i++)
        clicks += hours->sends[i].hits;
    return clicks;
}

/* A finding needs two results: the rates of the hours differ, and the best hour is better than the others. The best one is
 * chosen after the fact, so its p is multiplied by the number of hours (Bonferroni). */
static void add_best_hour(struct arena *arena, struct hours *hours, struct insight_findings *findings)
{
    struct slots slots = quasi_binomial_groups(hours->sends, hours->group, hours->count, hours->totals, hours->slot_count);
    size_t best = best_place(hours);
    struct comparison comparison = compare_best(arena, hours, best);
    struct insight_finding *finding = finding_add(findings, INSIGHT_BEST_HOUR);
    if (finding == NULL)
        return;
    finding->subject_kind = "hour";
    finding->key = ""; /* one finding of the brand, whichever hour it is */
    finding->subject = slot_name(arena, hours->slots[best]);
    finding->p = fmin(1, fmax(slots.p, comparison.p * (double)hours->slot_count));
    finding->dispersion = comparison.dispersion;
    finding->value = comparison.rate;
    finding->baseline = comparison.other_rate;
    finding->interval = comparison.interval;
    finding->sample = hours->totals[best].total;
    for (size_t i = 0; i < hours->slot_count; i++)
        finding->baseline_sample += i == best ? 0 : hours->totals[i].total;
    finding->is_worth = true;
    for (size_t i = hours->count; i > 0; i--) {
        if (hours->group[i - 1] == best)
            finding_add_send(finding, hours->source[i - 1]->id);
    }
}

static void detect_best_hour(struct arena *arena, const struct insight_data *data, struct insight_findings *findings)
{
    struct hours *hours = arena_alloc(arena, sizeof(*hours));
    hours->sends = arena_array(arena, data->send_count + 1, sizeof(*hours->sends));
    hours->group = arena_array(arena, data->send_count + 1, sizeof(*hours->group));
    hours->source = arena_array(arena, data->send_count + 1, sizeof(*hours->source));
    choose_hours(data, hours);
    if (hours->slot_count >= 2 && (double)hours->count >= insight_least(INSIGHT_BEST_HOUR, 0) &&
        clicks_of(hours) >= insight_least(INSIGHT_BEST_HOUR, 1))
        add_best_hour(arena, hours, findings);
}

void detect_engagement(struct arena *arena, const struct insight_data *data, struct insight_findings *findings)
{
    for (size_t domain = 0; domain < data->domain_count; domain++) {
        if (data->domains[domain][0] != '\0')
            detect_opens_fall(arena, data, domain, findings);
    }
    detect_clicks_trend(arena, data, findings);
    detect_fatigue(arena, data, findings);
    detect_best_hour(arena, data, findings);
}
