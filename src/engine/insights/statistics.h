/*
 * Statistical tests and intervals of shares: clicks of delivered messages,
 * bounces of sent ones. Pure functions of numbers, for any thread; the caller
 * owns all memory. An interval is one of 95 %. A p-value is two-sided where
 * nothing else is said. Counts may have fractions, as those that are divided by
 * a dispersion (effective_share). A test that cannot be made, such as one of
 * empty groups, gives p = 1.
 */
#pragma once

#include "base/compiler.h"

#include <stdbool.h>
#include <stddef.h>

enum { THEIL_SEN_MAX_POINTS = 400 };

/* `hits` of `total`; 0 <= hits <= total. */
struct share {
    double hits;
    double total;
};

struct interval {
    double low;
    double high;
};

/* hits / total; 0 when it is empty. */
double share_rate(struct share share);

static inline struct share share_add(struct share one, struct share other)
{
    return (struct share){ one.hits + other.hits, one.total + other.total };
}

/* The score interval of a share (E. B. Wilson, JASA 22, 1927). {0, 1} when it is empty. */
struct interval wilson_interval(struct share share);

/* The interval of the difference one - other: method 10 of R. G. Newcombe, Statistics in Medicine 17, 1998. */
struct interval newcombe_interval(struct share one, struct share other);

/* The z-test of two shares with the pooled variance (Fleiss, Statistical Methods for Rates and Proportions, §2.4). */
double two_shares_p(struct share one, struct share other);

/* The exact test of Fisher: the sum of the probabilities of all tables that are no more probable than this one, with a tolerance of
 * 1e-7 for equal ones (R. A. Fisher, 1935; Agresti, Categorical Data Analysis, §3.5). Counts are rounded down. The cost grows with
 * the root of the counts; totals up to 1e12. */
double fisher_p(struct share one, struct share other);

struct chi_squared {
    double statistic;
    double df;
    double p;
};

/* Pearson's test that shares are equal (K. Pearson, 1900; Agresti §3.2). Empty shares are left out. */
struct chi_squared chi_squared_test(const struct share *shares, size_t count) NONNULL(1);

struct trend {
    double slope; /* change of the rate for each unit of the score */
    double z;
    double p;
};

/* The test of a linear trend over scores (Cochran, Biometrics 10, 1954; Armitage, Biometrics 11, 1955). */
struct trend cochran_armitage(const struct share *shares, const double *scores, size_t count) NONNULL(1, 2);

/* A table of two shares in one stratum. */
struct stratum {
    struct share one;
    struct share other;
};

struct common_odds {
    double ratio; /* NAN when it cannot be estimated */
    double log_variance;
    struct interval interval;
    double p;             /* of the test that the ratio is 1, without a correction for continuity */
    double heterogeneity; /* the dispersion of the log odds ratios of the strata about the common one, at least 1 */
};

/* The common odds ratio (Mantel and Haenszel, JNCI 22, 1959), its variance (Robins, Breslow and Greenland, Biometrics 42, 1986),
 * and the dispersion of the strata: Cochran's Q by its degrees of freedom (Biometrics 10, 1954), with 1/2 added to each cell. */
struct common_odds mantel_haenszel(const struct stratum *strata, size_t count) NONNULL(1);

/* Pearson's chi-squared statistic of sends about their common rate, by their number less 1; at least 1, and 1 for less than two
 * (McCullagh and Nelder, Generalized Linear Models, §4.5). */
double dispersion_of(const struct share *sends, size_t count) NONNULL(1);

/* Counts divided by a dispersion, which then vary as binomial ones do (Rao and Scott, Biometrics 48, 1992). */
struct share effective_share(struct share share, double dispersion);

struct comparison {
    double rate;       /* of `one` */
    double other_rate; /* of `other` */
    double dispersion; /* at least 1 */
    double df;
    double p;
    struct interval interval; /* of the difference of the rates */
};

/* The quasi-binomial comparison of two groups of sends. The dispersion is that of the sends within the groups; a difference in size
 * of the sends of `one` counts as one in dispersion, because recipients of one send are alike. Student's t with the degrees of
 * freedom of the dispersion (McCullagh and Nelder §4.5; Williams, Applied Statistics 31, 1982). p = 1 with less than three sends.
 */
struct comparison quasi_binomial(const struct share *one, size_t one_count, const struct share *other, size_t other_count)
    NONNULL(1, 3);

struct slots {
    double statistic; /* F */
    double df1;
    double df2;
    double dispersion; /* of the sends within the slots, at least 1 */
    double p;
};

/* Whether the rates of groups of sends differ: Pearson's statistic between the groups by the dispersion within them, F with the
 * degrees of freedom of both (McCullagh and Nelder §4.5). `group` has the group of each send, below `group_count`. `totals` has a
 * place for each group, and gets its counts. */
struct slots quasi_binomial_groups(const struct share *sends, const size_t *group, size_t count, struct share *totals,
                                   size_t group_count) NONNULL(1, 2, 4);

/* The probability that none of `events` + 0 events of a Poisson process falls into a gap after `exposure`: conditional on their
 * number, each falls into the gap with gap / (exposure + gap) (Przyborowski and Wilenski, Biometrika 31, 1940). One-sided. */
double poisson_gap_p(double events, double exposure, double gap);

struct slope {
    double slope;
    struct interval interval;
    bool is_found; /* there were at least two different x */
};

/* The median of the slopes of all pairs of points (Theil, 1950), with the interval of Sen, JASA 63, 1968, equation 2.6. Up to
 * THEIL_SEN_MAX_POINTS points, the last ones of more; no memory is kept. `scratch` has a place for each pair. */
struct slope theil_sen(const double *x, const double *y, size_t count, double *scratch) NONNULL(1, 2, 4);

/* The false discovery rates of p-values: q[i] is the least level at which p[i] is rejected (Benjamini and Hochberg, JRSS B 57,
 * 1995). */
void benjamini_hochberg(const double *p, size_t count, double *ret_q, size_t *scratch) NONNULL(1, 3, 4);
