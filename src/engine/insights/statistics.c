#include "engine/insights/statistics.h"

#include "engine/insights/distributions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double z95 = 1.9599639845400542;

double share_rate(struct share share)
{
    return share.total > 0 ? share.hits / share.total : 0;
}

static struct share sum_of(const struct share *shares, size_t count)
{
    struct share sum = { 0, 0 };
    for (size_t i = 0; i < count; i++)
        sum = share_add(sum, shares[i]);
    return sum;
}

/* ---- Two shares ---- */

struct interval wilson_interval(struct share share)
{
    if (!(share.total > 0))
        return (struct interval){ 0, 1 };
    double n = share.total;
    double p = share_rate(share);
    double z2 = z95 * z95;
    double center = (p + z2 / (2 * n)) / (1 + z2 / n);
    double half = z95 * sqrt(p * (1 - p) / n + z2 / (4 * n * n)) / (1 + z2 / n);
    return (struct interval){ share.hits <= 0 ? 0 : center - half, share.hits >= n ? 1 : center + half };
}

struct interval newcombe_interval(struct share one, struct share other)
{
    struct interval a = wilson_interval(one);
    struct interval b = wilson_interval(other);
    double p = share_rate(one);
    double q = share_rate(other);
    return (struct interval){
        p - q - sqrt((p - a.low) * (p - a.low) + (b.high - q) * (b.high - q)),
        p - q + sqrt((a.high - p) * (a.high - p) + (q - b.low) * (q - b.low)),
    };
}

double two_shares_p(struct share one, struct share other)
{
    double p = share_rate(share_add(one, other));
    double variance = p * (1 - p) * (1 / one.total + 1 / other.total);
    if (!(one.total > 0) || !(other.total > 0) || !(variance > 0))
        return 1;
    return normal_two_sided((share_rate(one) - share_rate(other)) / sqrt(variance));
}

/* ---- Fisher ---- */

/* The margins of a table: row totals, and the hits of both rows. */
struct margins {
    double one;
    double other;
    double hits;
};

/* P(x + 1) / P(x) of the hypergeometric distribution. */
static double odds_of_next(const struct margins *m, double x)
{
    return (m->one - x) * (m->hits - x) / ((x + 1) * (m->other - m->hits + x + 1));
}

/* Sums probabilities relative to that of the mode, from `x` in the direction `step` until they vanish. */
static void sum_tables(const struct margins *m, double mode, double step, double last, double limit, double *all, double *extreme)
{
    double weight = 1;
    for (double x = mode; x != last && weight > 0; x += step) {
        weight = step > 0 ? weight * odds_of_next(m, x) : weight / odds_of_next(m, x - 1);
        *all += weight;
        if (weight <= limit)
            *extreme += weight;
    }
}

/* The probability of `x` relative to that of the mode. */
static double relative_weight(const struct margins *m, double mode, double x)
{
    double weight = 1;
    for (double at = mode; at < x && weight > 0; at++)
        weight *= odds_of_next(m, at);
    for (double at = mode; at > x && weight > 0; at--)
        weight /= odds_of_next(m, at - 1);
    return weight;
}

double fisher_p(struct share one, struct share other)
{
    const double same = 1 + 1e-7;
    double observed = floor(one.hits);
    struct margins m = { floor(one.total), floor(other.total), observed + floor(other.hits) };
    double low = fmax(0, m.hits - m.other);
    double high = fmin(m.hits, m.one);
    if (!(high > low))
        return 1;
    double mode = floor((m.one + 1) * (m.hits + 1) / (m.one + m.other + 2));
    mode = fmin(fmax(mode, low), high);
    double limit = relative_weight(&m, mode, observed) * same;
    double all = 1;
    double extreme = limit >= 1 ? 1 : 0;
    sum_tables(&m, mode, 1, high, limit, &all, &extreme);
    sum_tables(&m, mode, -1, low, limit, &all, &extreme);
    return fmin(extreme / all, 1);
}

/* ---- Several shares ---- */

/* Pearson's statistic of shares about the rate `p`. Counts the shares that are not empty. */
static double pearson_statistic(const struct share *shares, size_t count, double p, double *ret_used)
{
    double statistic = 0;
    *ret_used = 0;
    for (size_t i = 0; i < count; i++) {
        double expected = shares[i].total * p;
        if (!(shares[i].total > 0))
            continue;
        ++*ret_used;
        if (p > 0 && p < 1)
            statistic += (shares[i].hits - expected) * (shares[i].hits - expected) / (expected * (1 - p));
    }
    return statistic;
}

struct chi_squared chi_squared_test(const struct share *shares, size_t count)
{
    double used;
    struct chi_squared result = { .p = 1 };
    result.statistic = pearson_statistic(shares, count, share_rate(sum_of(shares, count)), &used);
    result.df = used - 1;
    if (result.df > 0)
        result.p = chi_squared_upper(result.statistic, result.df);
    return result;
}

struct trend cochran_armitage(const struct share *shares, const double *scores, size_t count)
{
    struct share all = sum_of(shares, count);
    double p = share_rate(all);
    double mean = 0;
    for (size_t i = 0; i < count; i++)
        mean += all.total > 0 ? shares[i].total * scores[i] / all.total : 0;
    double covariance = 0;
    double spread = 0;
    for (size_t i = 0; i < count; i++) {
        covariance += (shares[i].hits - shares[i].total * p) * (scores[i] - mean);
        spread += shares[i].total * (scores[i] - mean) * (scores[i] - mean);
    }
    if (!(spread > 0) || !(p > 0) || !(p < 1))
        return (struct trend){ .p = 1 };
    double z = covariance / sqrt(p * (1 - p) * spread);
    return (struct trend){ .slope = covariance / spread, .z = z, .p = normal_two_sided(z) };
}

/* ---- Mantel-Haenszel ---- */

/* The sums of Robins, Breslow and Greenland: P = (a + d) / n, Q = (b + c) / n, R = a d / n, S = b c / n. */
struct odds_sums {
    double r, s, pr, ps_qr, qs;
    double deviation, variance; /* of the hits of `one` */
};

static void add_stratum(struct odds_sums *sums, const struct stratum *stratum)
{
    double a = stratum->one.hits;
    double b = stratum->one.total - a;
    double c = stratum->other.hits;
    double d = stratum->other.total - c;
    double n = a + b + c + d;
    if (!(stratum->one.total > 0) || !(stratum->other.total > 0))
        return;
    double r = a * d / n;
    double s = b * c / n;
    sums->r += r;
    sums->s += s;
    sums->pr += (a + d) / n * r;
    sums->ps_qr += (a + d) / n * s + (b + c) / n * r;
    sums->qs += (b + c) / n * s;
    sums->deviation += a - (a + b) * (a + c) / n;
    if (n > 1)
        sums->variance += (a + b) * (c + d) * (a + c) * (b + d) / (n * n * (n - 1));
}

/* The log odds ratio of a stratum with 1/2 added to each cell, and its weight. */
static double log_odds_of(const struct stratum *stratum, double *ret_weight)
{
    double a = stratum->one.hits + 0.5;
    double b = stratum->one.total - stratum->one.hits + 0.5;
    double c = stratum->other.hits + 0.5;
    double d = stratum->other.total - stratum->other.hits + 0.5;
    *ret_weight = stratum->one.total > 0 && stratum->other.total > 0 ? 1 / (1 / a + 1 / b + 1 / c + 1 / d) : 0;
    return log(a * d / (b * c));
}

static double heterogeneity_of(const struct stratum *strata, size_t count)
{
    double weights = 0;
    double sum = 0;
    double squares = 0;
    double used = 0;
    for (size_t i = 0; i < count; i++) {
        double weight;
        double log_odds = log_odds_of(&strata[i], &weight);
        weights += weight;
        sum += weight * log_odds;
        squares += weight * log_odds * log_odds;
        used += weight > 0;
    }
    return used > 1 ? fmax(1, (squares - sum * sum / weights) / (used - 1)) : 1;
}

struct common_odds mantel_haenszel(const struct stratum *strata, size_t count)
{
    struct odds_sums sums = { .r = 0 };
    for (size_t i = 0; i < count; i++)
        add_stratum(&sums, &strata[i]);
    struct common_odds odds = { .ratio = NAN, .log_variance = NAN, .interval = { 0, INFINITY }, .p = 1 };
    odds.heterogeneity = heterogeneity_of(strata, count);
    if (sums.variance > 0)
        odds.p = normal_two_sided(sums.deviation / sqrt(sums.variance));
    if (!(sums.r > 0) || !(sums.s > 0))
        return odds;
    odds.ratio = sums.r / sums.s;
    odds.log_variance = sums.pr / (2 * sums.r * sums.r) + sums.ps_qr / (2 * sums.r * sums.s) + sums.qs / (2 * sums.s * sums.s);
    double half = z95 * sqrt(odds.log_variance);
    odds.interval = (struct interval){ odds.ratio * exp(-half), odds.ratio * exp(half) };
    return odds;
}

/* ---- Sends with a dispersion ---- */

double dispersion_of(const struct share *sends, size_t count)
{
    double used;
    double statistic = pearson_statistic(sends, count, share_rate(sum_of(sends, count)), &used);
    return used > 1 ? fmax(1, statistic / (used - 1)) : 1;
}

struct share effective_share(struct share share, double dispersion)
{
    return (struct share){ share.hits / dispersion, share.total / dispersion };
}

/* The dispersion of sends with `size` recipients on average, when sends with `other_size` have `dispersion`: it grows with the size
 * as 1 + (size - 1) rho (Williams 1982). It is not reduced for smaller sends. */
static double dispersion_at(double dispersion, double size, double other_size)
{
    return other_size > 1 && size > other_size ? 1 + (dispersion - 1) * (size - 1) / (other_size - 1) : dispersion;
}

struct comparison quasi_binomial(const struct share *one, size_t one_count, const struct share *other, size_t other_count)
{
    struct share a = sum_of(one, one_count);
    struct share b = sum_of(other, other_count);
    double used_a;
    double used_b;
    double statistic = pearson_statistic(one, one_count, share_rate(a), &used_a);
    statistic += pearson_statistic(other, other_count, share_rate(b), &used_b);
    struct comparison result = {
        .rate = share_rate(a),
        .other_rate = share_rate(b),
        .dispersion = 1,
        .df = used_a + used_b - 2,
        .p = 1,
        .interval = { -1, 1 },
    };
    if (!(result.df > 0) || used_a < 1 || used_b < 1)
        return result;
    result.dispersion = fmax(1, statistic / result.df);
    double mean = (a.total + b.total) / (used_a + used_b);
    double of_one = dispersion_at(result.dispersion, a.total / used_a, mean);
    double of_other = dispersion_at(result.dispersion, b.total / used_b, mean);
    double pooled = share_rate(share_add(a, b));
    double variance = pooled * (1 - pooled) * (of_one / a.total + of_other / b.total);
    if (variance > 0)
        result.p = student_two_sided((result.rate - result.other_rate) / sqrt(variance), result.df);
    result.interval = newcombe_interval(effective_share(a, of_one), effective_share(b, of_other));
    return result;
}

struct slots quasi_binomial_groups(const struct share *sends, const size_t *group, size_t count, struct share *totals,
                                   size_t group_count)
{
    double groups = 0;
    double sends_used = 0;
    double within = 0;
    memset(totals, 0, group_count * sizeof(*totals));
    for (size_t i = 0; i < count; i++)
        totals[group[i]] = share_add(totals[group[i]], sends[i]);
    double between = pearson_statistic(totals, group_count, share_rate(sum_of(totals, group_count)), &groups);
    for (size_t i = 0; i < count; i++) {
        double used;
        within += pearson_statistic(&sends[i], 1, share_rate(totals[group[i]]), &used);
        sends_used += used;
    }
    struct slots result = { .df1 = groups - 1, .df2 = sends_used - groups, .dispersion = 1, .p = 1 };
    if (!(result.df1 > 0) || !(result.df2 > 0))
        return result;
    result.dispersion = fmax(1, within / result.df2);
    result.statistic = between / result.df1 / result.dispersion;
    result.p = f_upper(result.statistic, result.df1, result.df2);
    return result;
}

/* ---- Gaps, slopes ---- */

double poisson_gap_p(double events, double exposure, double gap)
{
    if (!(events > 0) || !(exposure > 0) || !(gap > 0))
        return 1;
    return exp(-events * log1p(gap / exposure));
}

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The sum of k (k - 1) (2k + 5) over the groups of k equal numbers. Sorts them in `sorted`. */
static double tie_term(const double *numbers, size_t count, double *sorted)
{
    double sum = 0;
    memcpy(sorted, numbers, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), compare_numbers);
    for (size_t i = 0; i < count;) {
        size_t begin = i;
        while (i < count && sorted[i] == sorted[begin])
            i++;
        double k = (double)(i - begin);
        sum += k * (k - 1) * (2 * k + 5);
    }
    return sum;
}

static size_t slopes_of(const double *x, const double *y, size_t count, double *ret_slopes)
{
    size_t pairs = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t j = i + 1; j < count; j++) {
            if (x[i] != x[j])
                ret_slopes[pairs++] = (y[j] - y[i]) / (x[j] - x[i]);
        }
    }
    qsort(ret_slopes, pairs, sizeof(*ret_slopes), compare_numbers);
    return pairs;
}

struct slope theil_sen(const double *x, const double *y, size_t count, double *scratch)
{
    size_t skip = count > THEIL_SEN_MAX_POINTS ? count - THEIL_SEN_MAX_POINTS : 0;
    double sorted[THEIL_SEN_MAX_POINTS];
    double n = (double)(count - skip);
    double ties = tie_term(x + skip, count - skip, sorted) + tie_term(y + skip, count - skip, sorted);
    size_t pairs = slopes_of(x + skip, y + skip, count - skip, scratch);
    if (pairs == 0)
        return (struct slope){ .is_found = false };
    double sigma = sqrt(fmax(0, (n * (n - 1) * (2 * n + 5) - ties) / 18));
    double high = fmin(rint(((double)pairs + z95 * sigma) / 2), (double)(pairs - 1));
    double low = fmax(rint(((double)pairs - z95 * sigma) / 2) - 1, 0);
    return (struct slope){
        .slope = (scratch[(pairs - 1) / 2] + scratch[pairs / 2]) / 2,
        .interval = { scratch[(size_t)low], scratch[(size_t)high] },
        .is_found = true,
    };
}

/* ---- Several tests ---- */

static int compare_p(const void *a, const void *b, void *context)
{
    const double *p = context;
    double x = p[*(const size_t *)a];
    double y = p[*(const size_t *)b];
    return (x > y) - (x < y);
}

void benjamini_hochberg(const double *p, size_t count, double *ret_q, size_t *scratch)
{
    double least = 1;
    for (size_t i = 0; i < count; i++)
        scratch[i] = i;
    double *readable = ret_q; /* qsort_r takes no constant context */
    memcpy(readable, p, count * sizeof(*p));
    qsort_r(scratch, count, sizeof(*scratch), compare_p, readable);
    for (size_t rank = count; rank > 0; rank--) {
        size_t at = scratch[rank - 1];
        least = fmin(least, p[at] * (double)count / (double)rank);
        ret_q[at] = least;
    }
}
