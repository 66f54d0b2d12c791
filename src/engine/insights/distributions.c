#include "engine/insights/distributions.h"

#include <float.h>
#include <math.h>

enum { ITERATIONS_MAX = 100000, BISECTIONS = 200 };
static const double precision = 1e-16;
static const double tiny = 1e-300; /* in the place of a zero that Lentz's method would divide by */

static double log_gamma(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

static double not_zero(double x)
{
    return fabs(x) < tiny ? tiny : x;
}

/* ---- Incomplete gamma function ---- */

static double gamma_series(double a, double x)
{
    double term = 1 / a;
    double sum = term;
    for (int i = 1; i < ITERATIONS_MAX && term > sum * precision; i++) {
        term *= x / (a + i);
        sum += term;
    }
    return sum * exp(a * log(x) - x - log_gamma(a));
}

static double gamma_fraction(double a, double x)
{
    double b = x + 1 - a;
    double c = 1 / tiny;
    double d = 1 / not_zero(b);
    double value = d;
    double step = 0;
    for (int i = 1; i < ITERATIONS_MAX && fabs(step - 1) > precision * 4; i++) {
        double an = -i * (i - a);
        b += 2;
        d = 1 / not_zero(an * d + b);
        c = not_zero(b + an / c);
        step = d * c;
        value *= step;
    }
    return value * exp(a * log(x) - x - log_gamma(a));
}

double gamma_upper(double a, double x)
{
    if (!(a > 0) || !(x >= 0))
        return NAN;
    if (x == 0)
        return 1;
    return x < a + 1 ? 1 - gamma_series(a, x) : gamma_fraction(a, x);
}

/* ---- Incomplete beta function ---- */

static double beta_fraction(double a, double b, double x)
{
    double c = 1;
    double d = 1 / not_zero(1 - (a + b) * x / (a + 1));
    double value = d;
    double step = 0;
    for (int m = 1; m < ITERATIONS_MAX && fabs(step - 1) > precision * 4; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        d = 1 / not_zero(1 + even * d);
        c = not_zero(1 + even / c);
        value *= d * c;
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / not_zero(1 + odd * d);
        c = not_zero(1 + odd / c);
        step = d * c;
        value *= step;
    }
    return value;
}

/* `y` is 1 - x, which is exact where x is close to 1. */
static double beta_at(double a, double b, double x, double y)
{
    if (x <= 0 || y <= 0)
        return x <= 0 ? 0 : 1;
    double front = exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log(y));
    return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a : 1 - front * beta_fraction(b, a, y) / b;
}

double beta_lower(double a, double b, double x)
{
    if (!(a > 0) || !(b > 0) || !(x >= 0) || !(x <= 1))
        return NAN;
    return beta_at(a, b, x, 1 - x);
}

/* ---- Distributions ---- */

double normal_upper(double z)
{
    return erfc(z / M_SQRT2) / 2;
}

double normal_two_sided(double z)
{
    return erfc(fabs(z) / M_SQRT2);
}

double normal_quantile(double p)
{
    double low = -40;
    double high = 40;
    if (!(p > 0) || !(p < 1))
        return NAN;
    for (int i = 0; i < BISECTIONS; i++) {
        double middle = (low + high) / 2;
        if (normal_upper(-middle) < p)
            low = middle;
        else
            high = middle;
    }
    return (low + high) / 2;
}

double chi_squared_upper(double x, double df)
{
    return gamma_upper(df / 2, x / 2);
}

double student_two_sided(double t, double df)
{
    if (!(df > 0) || isnan(t))
        return NAN;
    return beta_at(df / 2, 0.5, df / (df + t * t), t * t / (df + t * t));
}

double f_upper(double f, double df1, double df2)
{
    if (!(df1 > 0) || !(df2 > 0) || !(f >= 0))
        return NAN;
    return beta_at(df2 / 2, df1 / 2, df2 / (df2 + df1 * f), df1 * f / (df2 + df1 * f));
}
