/*
 * Probability distributions: tails and quantiles. Pure functions of numbers,
 * for any thread. Arguments outside of a stated range give NAN.
 */
#pragma once

#include "base/compiler.h"

/* Q(a, x), the upper regularized incomplete gamma function, for a > 0 and x >= 0: the series of P for x < a + 1 (DLMF 8.11.4), else
 * the continued fraction (DLMF 8.9.2) by Lentz's method (Press et al., Numerical Recipes, §6.2). */
double gamma_upper(double a, double x);

/* I_x(a, b), the regularized incomplete beta function, for a, b > 0 and 0 <= x <= 1: the continued fraction DLMF 8.17.22 by Lentz's
 * method (Numerical Recipes, §6.4). */
double beta_lower(double a, double b, double x);

/* P(Z > z) of the standard normal distribution (DLMF 7.17). */
double normal_upper(double z);

/* P(|Z| > |z|). */
double normal_two_sided(double z);

/* The z with P(Z < z) = p, for 0 < p < 1; found by bisection of normal_upper. */
double normal_quantile(double p);

/* P(X > x) of the chi-squared distribution with `df` > 0 degrees of freedom (Abramowitz and Stegun 26.4.19). */
double chi_squared_upper(double x, double df);

/* P(|T| > |t|) of Student's distribution with `df` > 0 (Abramowitz and Stegun 26.7.1). */
double student_two_sided(double t, double df);

/* P(F > f) of the F distribution, for f >= 0 (Abramowitz and Stegun 26.6.2). */
double f_upper(double f, double df1, double df2);
