"""Compares the statistics of src/engine/insights with SciPy, with exact fractions, and with formulas written another way.

    python3 statistics_judge.py STATISTICS_DRIVER

Tables are random, with a fixed seed. The relative tolerance is 1e-9; that of a p-value below 1e-12, where SciPy's own tails are
coarse, is 1e-6. An interval has an absolute tolerance of 1e-9.
"""
import math
import random
import subprocess
import sys
from fractions import Fraction

import numpy as np
from scipy import special, stats

TABLES = 1000
Z = stats.norm.ppf(0.975)
random_of = random.Random(20260101)
driver = subprocess.Popen([sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
compared = 0


def compute(name, *numbers):
    driver.stdin.write(name + ' ' + ' '.join(repr(float(n)) for n in numbers) + '\n')
    driver.stdin.flush()
    return [float(word) for word in driver.stdout.readline().split()]


def agree(what, got, expected, tolerance=1e-9, floor=0.0):
    global compared
    compared += 1
    if math.isnan(expected) and math.isnan(got) or got == expected:
        return
    if expected < 1e-12 and 'p of' in what:
        tolerance, floor = 1e-6, 1e-290
    if abs(got - expected) > max(tolerance * abs(expected), floor):
        sys.exit(f'{what}: {got!r}, and the judge has {expected!r}')


def share(most=2000):
    total = random_of.randint(1, most)
    rate = random_of.choice([0.001, 0.02, 0.2, 0.5, 0.9])
    return min(total, int(random_of.gauss(total * rate, math.sqrt(total * rate) + 1)) if random_of.random() < 0.9 else total), total


def shares(count, most=2000):
    return [(max(0, hits), total) for hits, total in (share(most) for _ in range(count))]


def flat(pairs):
    return [number for pair in pairs for number in pair]


def judge_tails():
    for _ in range(TABLES):
        a, b = 10 ** random_of.uniform(-0.3, 3), 10 ** random_of.uniform(-0.3, 3)
        x, t = random_of.random(), random_of.gauss(0, 4)
        got = compute('tails', a, b, x, t, f := random_of.random() * 4)
        expected = [special.gammaincc(a, b), special.betainc(a, b, x), 2 * stats.norm.sf(abs(t)), 2 * stats.t.sf(abs(t), a),
                    stats.f.sf(f, a, b), stats.chi2.sf(f, a), stats.norm.ppf(x)]
        for name, mine, theirs in zip(('gamma', 'beta', 'normal', 'student', 'F', 'chi', 'quantile'), got, expected):
            agree(f'p of {name} at {a} {b} {x} {t} {f}', mine, theirs, floor=1e-13)


def judge_wilson():
    for hits, total in shares(TABLES):
        low, high = compute('wilson', hits, total)
        interval = stats.binomtest(hits, total).proportion_ci(method='wilson')
        agree('low of wilson', low, interval.low, floor=1e-12)
        agree('high of wilson', high, interval.high, floor=1e-12)


def judge_two():
    for one, other in zip(shares(TABLES), shares(TABLES)):
        a, b = (stats.binomtest(*pair).proportion_ci(method='wilson') for pair in (one, other))
        p, q = one[0] / one[1], other[0] / other[1]
        low, high = compute('newcombe', *one, *other)
        agree('newcombe', low, p - q - math.hypot(p - a.low, b.high - q), floor=1e-9)
        agree('newcombe', high, p - q + math.hypot(a.high - p, q - b.low), floor=1e-9)
        table = [[one[0], other[0]], [one[1] - one[0], other[1] - other[0]]]
        if min(map(sum, table)) > 0:  # the square of z is Pearson's statistic
            agree('p of two shares', compute('two', *one, *other)[0], stats.chi2_contingency(table, correction=False)[1])


def judge_fisher():
    for one, other in zip(shares(TABLES, 400), shares(TABLES, 400)):
        hits = one[0] + other[0]
        tables = {x: math.comb(one[1], x) * math.comb(other[1], hits - x)
                  for x in range(max(0, hits - other[1]), min(hits, one[1]) + 1)}
        extreme = sum(weight for weight in tables.values() if weight <= tables[one[0]])
        agree('p of fisher', compute('fisher', *one, *other)[0], float(Fraction(extreme, sum(tables.values()))))
    for _ in range(200):  # large tables
        one, other = share(10 ** 6), share(10 ** 6)
        table = [[one[0], max(other[0], 0)], [one[1] - one[0], other[1] - max(other[0], 0)]]
        mine = compute('fisher', max(one[0], 0), one[1], max(other[0], 0), other[1])[0]
        if min(min(row) for row in table) >= 0:
            agree('p of a large fisher', mine, stats.fisher_exact(table)[1], tolerance=1e-6, floor=1e-14)


def judge_chi_squared():
    for _ in range(TABLES):
        groups = shares(random_of.randint(2, 30))
        statistic, df, p = compute('chi', *flat(groups))
        table = np.array([[hits, total - hits] for hits, total in groups]).T
        if min(table.sum(axis=1)) > 0:
            expected = stats.chi2_contingency(table, correction=False)
            for name, mine, theirs in zip(('statistic', 'p of', 'df'), (statistic, p, df), expected):
                agree(name + ' chi squared', mine, theirs)


def judge_trend():
    for _ in range(TABLES):
        groups = shares(random_of.randint(3, 6))
        scores = sorted(random_of.sample(range(1, 20), len(groups)))
        hits, totals = (np.array(column, dtype=float) for column in zip(*groups))
        everyone, x = totals.sum(), np.repeat(scores, 2)
        weights, y = np.column_stack((hits, totals - hits)).ravel(), np.tile([1.0, 0.0], len(groups))
        if not 0 < hits.sum() < everyone:
            continue
        covariance = np.cov(x, y, aweights=weights, ddof=0)  # z is the correlation by the root of the number
        z = covariance[0, 1] / math.sqrt(covariance[0, 0] * covariance[1, 1]) * math.sqrt(everyone)
        got = compute('trend', len(groups), *scores, *flat(groups))
        agree('z of trend', got[1], z, floor=1e-9)
        agree('slope of trend', got[0], covariance[0, 1] / covariance[0, 0], floor=1e-12)
        agree('p of trend', got[2], 2 * stats.norm.sf(abs(got[1])))


def judge_odds():
    for _ in range(TABLES):
        k = random_of.randint(1, 12)
        strata = list(zip(shares(k), shares(k)))
        cells = [[Fraction(n) for n in (o[0], o[1] - o[0], u[0], u[1] - u[0])] for o, u in strata]
        r = sum(a * d / (a + b + c + d) for a, b, c, d in cells)
        s = sum(b * c / (a + b + c + d) for a, b, c, d in cells)
        got = compute('odds', *(number for one, other in strata for number in (*one, *other)))
        means = [(a + b) * (a + c) / (a + b + c + d) for a, b, c, d in cells]
        variance = sum(mean * (b + d) * (c + d) / (a + b + c + d) / max(a + b + c + d - 1, 1)
                       for mean, (a, b, c, d) in zip(means, cells))
        if variance > 0:
            z = float(sum(row[0] for row in cells) - sum(means)) / math.sqrt(variance)
            agree('p of odds', got[1], 2 * stats.norm.sf(abs(z)), tolerance=1e-8, floor=1e-12)
        if r > 0 and s > 0:
            agree('ratio', got[0], float(r / s))
            n = [sum(row) for row in cells]
            p, q = [(c[0] + c[3]) / m for c, m in zip(cells, n)], [(c[1] + c[2]) / m for c, m in zip(cells, n)]
            rs, ss = [c[0] * c[3] / m for c, m in zip(cells, n)], [c[1] * c[2] / m for c, m in zip(cells, n)]
            v = sum(map(lambda a, b: a * b, p, rs)) / (2 * r * r) + sum(map(lambda a, b: a * b, q, ss)) / (2 * s * s)
            v += (sum(map(lambda a, b: a * b, p, ss)) + sum(map(lambda a, b: a * b, q, rs))) / (2 * r * s)
            agree('low of odds', got[3], float(r / s) * math.exp(-Z * math.sqrt(v)))
            agree('high of odds', got[4], float(r / s) * math.exp(Z * math.sqrt(v)))
        logs = np.array([math.log((a + .5) * (d + .5) / ((b + .5) * (c + .5))) for a, b, c, d in cells])
        weights = np.array([1 / sum(1 / (float(n) + .5) for n in row) for row in cells])
        if len(cells) > 1:
            q = float(np.sum(weights * (logs - np.average(logs, weights=weights)) ** 2))
            agree('heterogeneity', got[2], max(1, q / (len(cells) - 1)), tolerance=1e-8)


def pearson(groups, rate):
    return sum((hits - total * rate) ** 2 / (total * rate * (1 - rate)) for hits, total in groups) if 0 < rate < 1 else 0.0


def rate_of(groups):
    return sum(hits for hits, _ in groups) / sum(total for _, total in groups)


def judge_quasi():
    for _ in range(TABLES):
        one, other = shares(random_of.randint(1, 8)), shares(random_of.randint(2, 40))
        df = len(one) + len(other) - 2
        phi = max(1, (pearson(one, rate_of(one)) + pearson(other, rate_of(other))) / df)
        mean = sum(total for _, total in one + other) / len(one + other)

        def grown(group):
            size = sum(total for _, total in group) / len(group)
            return 1 + (phi - 1) * (size - 1) / (mean - 1) if size > mean > 1 else phi
        pooled, n, m = rate_of(one + other), sum(t for _, t in one), sum(t for _, t in other)
        variance = pooled * (1 - pooled) * (grown(one) / n + grown(other) / m)
        got = compute('quasi', len(one), len(other), *flat(one), *flat(other))
        agree('dispersion', got[2], phi, tolerance=1e-8)
        if variance > 0:
            t = (rate_of(one) - rate_of(other)) / math.sqrt(variance)
            agree('p of quasi-binomial', got[4], 2 * stats.t.sf(abs(t), df), tolerance=1e-7, floor=1e-13)


def judge_slots():
    for _ in range(TABLES):
        count, groups = random_of.randint(6, 60), random_of.randint(2, 6)
        sends = shares(count)
        group = [i % groups for i in range(count)]
        of = [[send for send, g in zip(sends, group) if g == i] for i in range(groups)]
        totals = [(sum(h for h, _ in part), sum(t for _, t in part)) for part in of]
        got = compute('slots', count, groups, *group, *flat(sends))
        phi = max(1, sum(pearson(part, rate_of(part)) for part in of) / (count - groups)) if count > groups else 1
        if count > groups:
            statistic = pearson(totals, rate_of(totals)) / (groups - 1) / phi
            agree('F of slots', got[0], statistic, tolerance=1e-8, floor=1e-12)
            agree('p of slots', got[4], stats.f.sf(got[0], groups - 1, count - groups), tolerance=1e-8, floor=1e-13)


def judge_rest():
    for _ in range(TABLES // 4):
        events, exposure, gap = random_of.randint(1, 50), random_of.uniform(1, 100), random_of.uniform(0.1, 50)
        agree('p of gap', compute('gap', events, exposure, gap)[0], stats.binom.pmf(0, events, gap / (gap + exposure)))
        n = random_of.randint(3, 60)
        x = np.sort(np.array(random_of.sample(range(1000), n), dtype=float))
        y = np.array([round(random_of.gauss(value * 3, 40)) for value in x], dtype=float)
        expected = stats.theilslopes(y, x, 0.95)
        for mine, theirs in zip(compute('slope', n, *x, *y), (expected[0], expected[2], expected[3])):
            agree('Theil-Sen', mine, theirs, floor=1e-12)
        p = [random_of.random() ** random_of.choice([1, 4]) for _ in range(random_of.randint(1, 60))]
        order = np.argsort(p)[::-1]
        adjusted = np.minimum.accumulate(np.array(p)[order] * len(p) / np.arange(len(p), 0, -1))
        for mine, theirs in zip(compute('bh', *p), adjusted[np.argsort(order)]):
            agree('q', mine, theirs)


for judge in (judge_tails, judge_wilson, judge_two, judge_fisher, judge_chi_squared, judge_trend, judge_odds, judge_quasi, judge_slots,
              judge_rest):
    judge()
    print(judge.__name__, compared, file=sys.stderr)
print(f'{compared} figures passed')
