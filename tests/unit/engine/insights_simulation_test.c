/*
 * The detectors on simulated brands, without a database. Sends of a brand vary
 * more than binomial counts: the rate of each is drawn from a beta distribution.
 * Of brands without any change, at most 5 % may show a finding; a change of a
 * stated size must be found in at least 80 %.
 */
#include "fixtures/base_case.h"

#include "base/arena.h"
#include "engine/insights/detect.h"

#include <math.h>
#include <string.h>

enum {
    QUIET_BRANDS = 1000,
    CHANGED_BRANDS = 200,
    QUIET_MAX_PERCENT = 5,
    FOUND_MIN_PERCENT = 80,
    SENDS = 36,
    DOMAINS = 5, /* the last one stands for all others */
    SLOTS = 4,
    CONTACTS = 1500, /* of each frequency */
    SOURCES = 4,
    SOURCE_MAILS = 4000,
    AUTOMATIONS = 3,
    STEPS = 6, /* of all automations */
    SPLITS = 2,
    TRIGGERS = 3,
};

/* ---- Random numbers ---- */

static uint64_t state;

/* splitmix64 (Steele, Lea and Flood 2014). */
static double uniform(void)
{
    uint64_t z = (state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return ((double)((z ^ (z >> 31)) >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
    return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

/* Marsaglia and Tsang 2000; for a shape below 1 by its power. */
static double gamma_of(double shape)
{
    if (shape < 1)
        return gamma_of(shape + 1) * pow(uniform(), 1 / shape);
    double d = shape - 1.0 / 3;
    for (;;) {
        double x = normal();
        double v = pow(1 + x / sqrt(9 * d), 3);
        if (v > 0 && log(uniform()) < x * x / 2 + d - d * v + d * log(v))
            return d * v;
    }
}

/* A rate with this mean, and the correlation `rho` of two recipients of one send. */
static double rate_about(double mean, double rho)
{
    double a = gamma_of(mean * (1 - rho) / rho);
    double b = gamma_of((1 - mean) * (1 - rho) / rho);
    return a / (a + b);
}

/* By the gaps between successes, or by the normal distribution where there are many. */
static double binomial(double n, double p)
{
    if (p <= 0 || n <= 0)
        return 0;
    if (n * p * (1 - p) > 50)
        return fmin(n, fmax(0, round(n * p + normal() * sqrt(n * p * (1 - p)))));
    double hits = -1;
    for (double at = 0; at <= n; hits++)
        at += floor(log(uniform()) / log1p(-p)) + 1;
    return hits;
}

/* ---- Brands ---- */

/* Factors of rates; 1 is no change. */
struct change {
    double last_bounces;      /* of the last send */
    double last_unsubscribes; /* of the last send */
    double blocks, delays;    /* at the second domain in the last 7 days */
    double open_odds;         /* at the second domain in the last 14 days */
    double clicks;            /* in the last 4 weeks */
    double frequent_clicks;   /* of the most frequent mails; its root of those between */
    double hour_clicks;       /* in the second hour */
    double source_bounces;    /* of the second source */
    double complaints;        /* at the first domain */
    double lost;              /* of the runs at the second step in the last 7 days */
    double way_clicks;        /* on the right way of the second split */
    double drift;             /* of the events of the second trigger in the last 7 days */
    int silent_days;          /* of the second automation */
    bool has_automations;
};

static const struct change no_change = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, true };

struct brand {
    struct insight_data data;
    struct insight_send sends[SENDS];
    struct insight_cell cells[SENDS * DOMAINS];
    struct insight_source sources[SOURCES];
    const char *domains[DOMAINS];
    struct insight_automation automations[AUTOMATIONS];
    struct insight_step steps[STEPS];
    struct insight_split splits[SPLITS];
    struct insight_trigger triggers[TRIGGERS];
    struct insight_findings findings;
};

static double with_odds(double rate, double odds)
{
    return rate * odds / (1 - rate + rate * odds);
}

static int64_t days_us(double days)
{
    return (int64_t)(days * 86400e6);
}

/* The mail of a send to one domain. */
static void make_cell(struct brand *brand, size_t at, size_t domain, double sent, const struct change *change)
{
    static const double openness[DOMAINS] = { 1, 0.8, 1.1, 0.9, 1 };
    struct insight_send *send = &brand->sends[at];
    struct insight_cell *cell = &brand->cells[brand->data.cell_count++];
    double age = (double)(brand->data.now_us - send->started_us) / 86400e6;
    bool is_second = domain == 1;
    *cell = (struct insight_cell){ .send = at, .domain = domain, .sent = sent };
    double bounces = send->bounced * (at == SENDS - 1 ? change->last_bounces : 1);
    double bounced = binomial(sent, fmin(0.9, bounces));
    cell->delivered = sent - bounced;
    double odds = openness[domain] * (is_second && age < 14 ? change->open_odds : 1);
    cell->opened = binomial(cell->delivered, with_odds(rate_about(send->opened, 0.001), odds));
    cell->blocked = binomial(sent, rate_about(0.004, 0.0005) * (is_second && age < 7 ? change->blocks : 1));
    cell->delayed = binomial(sent, rate_about(0.01, 0.002) * (is_second && age < 7 ? change->delays : 1));
    if (age < 7) {
        cell->week_delivered = cell->delivered;
        cell->week_complained = binomial(cell->delivered, 0.0003 * (domain == 0 ? change->complaints : 1));
    }
}

/* Sums of a send; its members hold rates until then. */
static void make_send(struct brand *brand, size_t at, const struct change *change)
{
    static const double share[DOMAINS] = { 0.4, 0.2, 0.1, 0.1, 0.2 };
    struct insight_send *send = &brand->sends[at];
    double size = fmin(9000, fmax(800, 3000 * exp(normal() * 0.5)));
    double factor =
        (send->started_us >= brand->data.now_us - days_us(28) ? change->clicks : 1) * (send->slot == 1 ? change->hour_clicks : 1);
    send->opened = rate_about(0.3, 0.01);
    send->bounced = rate_about(0.01, 0.001);
    size_t first = brand->data.cell_count;
    for (size_t domain = 0; domain < DOMAINS; domain++)
        make_cell(brand, at, domain, floor(size * share[domain]), change);
    double bounced = 0;
    send->opened = 0;
    for (size_t i = first; i < brand->data.cell_count; i++) {
        send->sent += brand->cells[i].sent;
        send->delivered += brand->cells[i].delivered;
        send->opened += brand->cells[i].opened;
        bounced += brand->cells[i].sent - brand->cells[i].delivered;
    }
    send->bounced = bounced;
    send->clicked = binomial(send->delivered, fmin(0.9, rate_about(0.03, 0.002) * factor));
    send->unsubscribed = binomial(send->delivered, rate_about(0.004, 0.0005) * (at == SENDS - 1 ? change->last_unsubscribes : 1));
}

static void make_frequency(struct insight_frequency *group, size_t at, double rate)
{
    *group = (struct insight_frequency){ .contacts = CONTACTS };
    for (int i = 0; i < CONTACTS; i++) {
        double mails = (double)at * 4 + 1 + floor(uniform() * 4);
        double clicks = binomial(mails, rate_about(rate, 0.1));
        group->mails += mails;
        group->clicks += clicks;
        group->mails_squared += mails * mails;
        group->clicks_squared += clicks * clicks;
        group->clicks_by_mails += clicks * mails;
    }
}

/* The first automation rests on weekends, and the days of the second one vary four times as much as those of a Poisson process. */
static void make_automation(struct brand *brand, size_t at, int silent_days)
{
    static const double runs_of_day[AUTOMATIONS] = { 30, 12, 0.6 };
    struct insight_automation *automation = &brand->automations[at];
    *automation = (struct insight_automation){ .id = (int64_t)at + 1, .name = "Welcome", .listens = true };
    for (size_t age = silent_days > 0 ? (size_t)silent_days + 1 : 0; age < INSIGHT_PAST_DAYS; age++) {
        bool rests = at == 0 && (20000 - age) % 7 < 2;
        double rate = runs_of_day[at] * (at == 1 ? gamma_of(4) / 4 : 1);
        automation->begun[age] = rests ? 0 : binomial(10000, rate / 10000);
    }
}

/* Shares of days whose rates vary. */
static void make_days(struct share *days, double size, double rate, double factor)
{
    for (size_t age = 0; age < INSIGHT_PAST_DAYS; age++) {
        double total = 5 + floor(uniform() * (size - 5));
        days[age] = (struct share){ binomial(total, fmin(0.9, rate_about(rate, 0.01) * (age < 7 ? factor : 1))), total };
    }
}

static void make_split(struct brand *brand, size_t at, double factor)
{
    struct insight_split *split = &brand->splits[at];
    *split = (struct insight_split){ .automation = &brand->automations[at], .node_id = "half", .labels = { "left", "right" } };
    for (size_t way = 0; way < 2; way++) {
        for (size_t look = 0; look < INSIGHT_LOOKS; look++) {
            double total = look == 0 ? 500 : 500 * (double)(1 << (look - 1));
            split->ways[way][look] = (struct share){ binomial(total, 0.04 * (way == 1 ? factor : 1)), total };
        }
    }
}

static void make_automations(struct brand *brand, const struct change *change)
{
    brand->data.automations = brand->automations;
    brand->data.automation_count = AUTOMATIONS;
    brand->data.steps = brand->steps;
    brand->data.step_count = STEPS;
    brand->data.splits = brand->splits;
    brand->data.split_count = SPLITS;
    brand->data.triggers = brand->triggers;
    brand->data.trigger_count = TRIGGERS;
    static const char *const nodes[STEPS] = { "a", "b", "c", "d", "e", "f" };
    for (size_t i = 0; i < AUTOMATIONS; i++)
        make_automation(brand, i, i == 1 ? change->silent_days : 0);
    for (size_t i = 0; i < STEPS; i++) {
        brand->steps[i] = (struct insight_step){ .automation = &brand->automations[i / 2], .node_id = nodes[i] };
        make_days(brand->steps[i].days, 100, 0.02, i == 1 ? change->lost : 1);
    }
    for (size_t i = 0; i < SPLITS; i++)
        make_split(brand, i, i == 1 ? change->way_clicks : 1);
    for (size_t i = 0; i < TRIGGERS; i++) {
        brand->triggers[i] = (struct insight_trigger){ .id = (int64_t)i + 1, .title = "Signed up" };
        make_days(brand->triggers[i].days, 100, 0.02, i == 1 ? change->drift : 1);
    }
}

static void make_brand(struct brand *brand, const struct change *change)
{
    static const char *const names[DOMAINS] = { "one.example", "two.example", "three.example", "four.example", "" };
    static const char *const sources[SOURCES] = { "shop", "fair", "api", "form" };
    memset(brand, 0, sizeof(*brand));
    brand->data = (struct insight_data){ .now_us = days_us(20000),
                                         .sends = brand->sends,
                                         .send_count = SENDS,
                                         .domains = brand->domains,
                                         .domain_count = DOMAINS,
                                         .cells = brand->cells,
                                         .sources = brand->sources,
                                         .source_count = SOURCES };
    for (size_t i = 0; i < DOMAINS; i++)
        brand->domains[i] = names[i];
    for (size_t i = 0; i < SENDS; i++) {
        brand->sends[i].id = (int64_t)i + 1;
        brand->sends[i].slot = i % SLOTS;
        brand->sends[i].started_us = brand->data.now_us - days_us(111 - 110.0 * (double)i / (SENDS - 1));
        make_send(brand, i, change);
    }
    for (size_t i = 0; i < SOURCES; i++)
        brand->sources[i] = (struct insight_source){ sources[i], SOURCE_MAILS,
                                                     binomial(SOURCE_MAILS, 0.01 * (i == 1 ? change->source_bounces : 1)) };
    for (size_t i = 0; i < 3; i++)
        make_frequency(&brand->data.frequency[i], i, 0.03 * pow(change->frequent_clicks, (double)i / 2));
    if (change->has_automations)
        make_automations(brand, change);
}

static bool has_finding(const struct brand *brand, int detector)
{
    for (size_t i = 0; i < brand->findings.count; i++) {
        const struct insight_finding *finding = &brand->findings.items[i];
        if (finding->is_held && (detector < 0 || (int)finding->detector == detector))
            return true;
    }
    return false;
}

/* The brands with a finding; of any detector when it is negative. Prints the findings by detector. */
static int count_found(int brands, uint64_t seed, const struct change *change, int detector)
{
    static struct brand brand;
    int found = 0;
    int by_detector[INSIGHT_DETECTOR_COUNT] = { 0 };
    state = seed;
    for (int i = 0; i < brands; i++) {
        struct arena *arena = arena_new(0);
        make_brand(&brand, change);
        insights_detect(arena, &brand.data, &brand.findings);
        found += has_finding(&brand, detector);
        for (int at = 0; at < INSIGHT_DETECTOR_COUNT; at++)
            by_detector[at] += has_finding(&brand, at);
        arena_free(arena);
    }
    for (int at = 0; at < INSIGHT_DETECTOR_COUNT; at++) {
        if (by_detector[at] > 0)
            print_message("%s in %d of %d brands\n", insight_detectors[at].id, by_detector[at], brands);
    }
    return found;
}

/* ---- Tests ---- */

/* D-122: brands without a change. */
static void test_quiet_brands(void **unused)
{
    (void)unused;
    int found = count_found(QUIET_BRANDS, 1, &no_change, -1);
    print_message("%d of %d brands without a change have a finding\n", found, QUIET_BRANDS);
    assert_true(found * 100 <= QUIET_BRANDS * QUIET_MAX_PERCENT);
}

/* Changes of the sizes that docs/modules/insights.md states. */
static void test_changed_brands(void **unused)
{
    (void)unused;
    static const struct {
        enum insight_detector_index detector;
        struct change change;
    } changes[] = {
        { INSIGHT_BOUNCE_SPIKE, { 5, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, true } },
        { INSIGHT_UNSUBSCRIBE_SPIKE, { 1, 5, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, true } },
        { INSIGHT_BLOCKED, { 1, 1, 12, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, true } },
        { INSIGHT_PUT_OFF, { 1, 1, 1, 10, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, true } },
        { INSIGHT_OPENS_FALL, { 1, 1, 1, 1, 0.5, 1, 1, 1, 1, 1, 1, 1, 1, 0, true } },
        { INSIGHT_CLICKS_TREND, { 1, 1, 1, 1, 1, 0.6, 1, 1, 1, 1, 1, 1, 1, 0, true } },
        { INSIGHT_FATIGUE, { 1, 1, 1, 1, 1, 1, 0.2, 1, 1, 1, 1, 1, 1, 0, true } },
        { INSIGHT_BEST_HOUR, { 1, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 1, 0, true } },
        { INSIGHT_POOR_SOURCE, { 1, 1, 1, 1, 1, 1, 1, 1, 4, 1, 1, 1, 1, 0, true } },
        { INSIGHT_COMPLAINTS, { 1, 1, 1, 1, 1, 1, 1, 1, 1, 30, 1, 1, 1, 0, true } },
        { INSIGHT_LEAKING_STEP, { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 5, 1, 1, 0, true } },
        { INSIGHT_SPLIT_WINNER, { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1.75, 1, 0, true } },
        { INSIGHT_CONTRACT_DRIFT, { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 8, 0, true } },
        { INSIGHT_SILENT_AUTOMATION, { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 7, true } },
    };
    for (size_t i = 0; i < ARRAY_COUNT(changes); i++) {
        int found = count_found(CHANGED_BRANDS, 100 + i, &changes[i].change, (int)changes[i].detector);
        if (found * 100 < CHANGED_BRANDS * FOUND_MIN_PERCENT)
            fail_msg("%s was found in %d of %d brands", insight_detectors[changes[i].detector].id, found, CHANGED_BRANDS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quiet_brands),
        cmocka_unit_test(test_changed_brands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
