/*
 * Computes statistics for tests/third_party/statistics_judge.py. Each line of
 * standard input is a name and numbers, and gets a line of numbers:
 *
 *     fisher HITS TOTAL HITS TOTAL            p
 *     quasi COUNT OTHER_COUNT HITS TOTAL …    rate other_rate dispersion df p low high
 */
#include "engine/insights/distributions.h"
#include "engine/insights/statistics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERS_MAX = 4096, LINE_MAX_BYTES = 128 * 1024 };

static double numbers[NUMBERS_MAX];
static size_t count;

static struct share share_at(size_t at)
{
    return (struct share){ numbers[at], numbers[at + 1] };
}

/* The pairs of numbers from `begin` on. */
static size_t read_shares(size_t begin, struct share *ret_shares)
{
    size_t found = 0;
    for (size_t i = begin; i + 1 < count; i += 2)
        ret_shares[found++] = share_at(i);
    return found;
}

static void write_interval(struct interval interval)
{
    printf("%.17g %.17g", interval.low, interval.high);
}

static void write_wilson(void)
{
    write_interval(wilson_interval(share_at(0)));
}

static void write_newcombe(void)
{
    write_interval(newcombe_interval(share_at(0), share_at(2)));
}

static void write_two_shares(void)
{
    printf("%.17g", two_shares_p(share_at(0), share_at(2)));
}

static void write_fisher(void)
{
    printf("%.17g", fisher_p(share_at(0), share_at(2)));
}

static void write_chi_squared(void)
{
    static struct share shares[NUMBERS_MAX];
    struct chi_squared result = chi_squared_test(shares, read_shares(0, shares));
    printf("%.17g %.17g %.17g", result.statistic, result.df, result.p);
}

/* The numbers are COUNT, the scores, the shares. */
static void write_trend(void)
{
    static struct share shares[NUMBERS_MAX];
    size_t groups = (size_t)numbers[0];
    read_shares(1 + groups, shares);
    struct trend trend = cochran_armitage(shares, numbers + 1, groups);
    printf("%.17g %.17g %.17g", trend.slope, trend.z, trend.p);
}

static void write_common_odds(void)
{
    static struct stratum strata[NUMBERS_MAX];
    size_t found = 0;
    for (size_t i = 0; i + 3 < count; i += 4)
        strata[found++] = (struct stratum){ share_at(i), share_at(i + 2) };
    struct common_odds odds = mantel_haenszel(strata, found);
    printf("%.17g %.17g %.17g ", odds.ratio, odds.p, odds.heterogeneity);
    write_interval(odds.interval);
}

/* The numbers are COUNT, OTHER_COUNT, the shares of both. */
static void write_quasi(void)
{
    static struct share shares[NUMBERS_MAX];
    size_t one = (size_t)numbers[0];
    size_t other = (size_t)numbers[1];
    read_shares(2, shares);
    struct comparison result = quasi_binomial(shares, one, shares + one, other);
    printf("%.17g %.17g %.17g %.17g %.17g ", result.rate, result.other_rate, result.dispersion, result.df, result.p);
    write_interval(result.interval);
}

/* The numbers are COUNT, GROUPS, the group of each send, the shares. */
static void write_slots(void)
{
    static struct share shares[NUMBERS_MAX];
    static struct share totals[NUMBERS_MAX];
    static size_t group[NUMBERS_MAX];
    size_t sends = (size_t)numbers[0];
    for (size_t i = 0; i < sends; i++)
        group[i] = (size_t)numbers[2 + i];
    read_shares(2 + sends, shares);
    struct slots slots = quasi_binomial_groups(shares, group, sends, totals, (size_t)numbers[1]);
    printf("%.17g %.17g %.17g %.17g %.17g", slots.statistic, slots.df1, slots.df2, slots.dispersion, slots.p);
}

static void write_gap(void)
{
    printf("%.17g", poisson_gap_p(numbers[0], numbers[1], numbers[2]));
}

/* The numbers are COUNT, all x, all y. */
static void write_slope(void)
{
    static double scratch[THEIL_SEN_MAX_POINTS * THEIL_SEN_MAX_POINTS / 2];
    size_t points = (size_t)numbers[0];
    struct slope slope = theil_sen(numbers + 1, numbers + 1 + points, points, scratch);
    printf("%.17g ", slope.slope);
    write_interval(slope.interval);
}

static void write_rates(void)
{
    static double q[NUMBERS_MAX];
    static size_t scratch[NUMBERS_MAX];
    benjamini_hochberg(numbers, count, q, scratch);
    for (size_t i = 0; i < count; i++)
        printf("%s%.17g", i > 0 ? " " : "", q[i]);
}

static void write_tails(void)
{
    printf("%.17g %.17g %.17g %.17g %.17g %.17g %.17g", gamma_upper(numbers[0], numbers[1]),
           beta_lower(numbers[0], numbers[1], numbers[2]), normal_two_sided(numbers[3]), student_two_sided(numbers[3], numbers[0]),
           f_upper(numbers[4], numbers[0], numbers[1]), chi_squared_upper(numbers[4], numbers[0]), normal_quantile(numbers[2]));
}

static const struct {
    const char *name;
    void (*write)(void);
} functions[] = {
    { "wilson", write_wilson },   { "newcombe", write_newcombe }, { "two", write_two_shares },   { "fisher", write_fisher },
    { "chi", write_chi_squared }, { "trend", write_trend },       { "odds", write_common_odds }, { "quasi", write_quasi },
    { "slots", write_slots },     { "gap", write_gap },           { "slope", write_slope },      { "bh", write_rates },
    { "tails", write_tails },
};

static bool run_line(char *line)
{
    char *rest = line;
    const char *name = strsep(&rest, " \n");
    count = 0;
    for (char *word = strsep(&rest, " \n"); word != NULL; word = strsep(&rest, " \n")) {
        if (word[0] != '\0' && count < NUMBERS_MAX)
            numbers[count++] = strtod(word, NULL);
    }
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        if (strcmp(functions[i].name, name) == 0) {
            functions[i].write();
            putchar('\n');
            return true;
        }
    }
    fprintf(stderr, "statistics_driver: no function %s\n", name);
    return false;
}

int main(void)
{
    static char line[LINE_MAX_BYTES];
    setvbuf(stdout, NULL, _IOLBF, LINE_MAX_BYTES);
    while (fgets(line, sizeof(line), stdin) != NULL) {
        if (!run_line(line))
            return 2;
    }
    return 0;
}
