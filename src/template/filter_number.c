/* Number filters. A value that is not a number counts as 0. A result that is not finite is nil, so that `default` replaces it. */
#include "template/filter.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double number_or_zero(const struct template_value *value)
{
    double number;
    return template_to_number(value, &number) ? number : 0;
}

/* Integers stay exact up to 64 bits. */
static bool both_are_whole(const struct template_value *value, const struct template_value *argument)
{
    return value->kind == TEMPLATE_INTEGER && argument->kind == TEMPLATE_INTEGER;
}

bool template_filter_plus(struct template_scratch *scratch UNUSED, struct template_value *value,
                          const struct template_value *arguments, size_t count UNUSED, struct error *err UNUSED)
{
    int64_t sum;
    if (both_are_whole(value, arguments) && !__builtin_add_overflow(value->integer, arguments[0].integer, &sum))
        *value = template_integer(sum);
    else
        *value = template_number(number_or_zero(value) + number_or_zero(&arguments[0]));
    return true;
}

bool template_filter_minus(struct template_scratch *scratch UNUSED, struct template_value *value,
                           const struct template_value *arguments, size_t count UNUSED, struct error *err UNUSED)
{
    int64_t difference;
    if (both_are_whole(value, arguments) && !__builtin_sub_overflow(value->integer, arguments[0].integer, &difference))
        *value = template_integer(difference);
    else
        *value = template_number(number_or_zero(value) - number_or_zero(&arguments[0]));
    return true;
}

bool template_filter_times(struct template_scratch *scratch UNUSED, struct template_value *value,
                           const struct template_value *arguments, size_t count UNUSED, struct error *err UNUSED)
{
    int64_t product;
    if (both_are_whole(value, arguments) && !__builtin_mul_overflow(value->integer, arguments[0].integer, &product))
        *value = template_integer(product);
    else
        *value = template_number(number_or_zero(value) * number_or_zero(&arguments[0]));
    return true;
}

/* As in Liquid for JavaScript, there is no integer division: 5 divided by 2 is 2.5. */
bool template_filter_divided_by(struct template_scratch *scratch UNUSED, struct template_value *value,
                                const struct template_value *arguments, size_t count UNUSED, struct error *err UNUSED)
{
    double divisor = number_or_zero(&arguments[0]);
    *value = template_number(divisor == 0 ? NAN : number_or_zero(value) / divisor);
    return true;
}

/* The remainder has the sign of the divisor. */
bool template_filter_modulo(struct template_scratch *scratch UNUSED, struct template_value *value,
                            const struct template_value *arguments, size_t count UNUSED, struct error *err UNUSED)
{
    double divisor = number_or_zero(&arguments[0]);
    *value = template_number(fmod(fmod(number_or_zero(value), divisor) + divisor, divisor));
    return true;
}

bool template_filter_at_least(struct template_scratch *scratch UNUSED, struct template_value *value,
                              const struct template_value *arguments, size_t count UNUSED, struct error *err UNUSED)
{
    *value = template_number(fmax(number_or_zero(value), number_or_zero(&arguments[0])));
    return true;
}

bool template_filter_at_most(struct template_scratch *scratch UNUSED, struct template_value *value,
                             const struct template_value *arguments, size_t count UNUSED, struct error *err UNUSED)
{
    *value = template_number(fmin(number_or_zero(value), number_or_zero(&arguments[0])));
    return true;
}

bool template_filter_abs(struct template_scratch *scratch UNUSED, struct template_value *value,
                         const struct template_value *arguments UNUSED, size_t count UNUSED, struct error *err UNUSED)
{
    *value = template_number(fabs(number_or_zero(value)));
    return true;
}

bool template_filter_ceil(struct template_scratch *scratch UNUSED, struct template_value *value,
                          const struct template_value *arguments UNUSED, size_t count UNUSED, struct error *err UNUSED)
{
    *value = template_number(ceil(number_or_zero(value)));
    return true;
}

bool template_filter_floor(struct template_scratch *scratch UNUSED, struct template_value *value,
                           const struct template_value *arguments UNUSED, size_t count UNUSED, struct error *err UNUSED)
{
    *value = template_number(floor(number_or_zero(value)));
    return true;
}

/* Shifts the decimal point in the text of the number, so that 1.005 rounded to two places is 1.01 and not 1. */
static double shift_point(double number, int places)
{
    enum { BUFFER_BYTES = 64 };
    char digits[TEMPLATE_NUMBER_TEXT_BYTES + 1];
    char shifted[BUFFER_BYTES];
    int size = (int)template_number_text(number, digits);
    const char *exponent = memchr(digits, 'e', (size_t)size);
    digits[size] = '\0';
    int mantissa = exponent != NULL ? (int)(exponent - digits) : size;
    int power = exponent != NULL ? (int)strtol(exponent + 1, NULL, 10) : 0;
    snprintf(shifted, sizeof(shifted), "%.*se%d", mantissa, digits, power + places);
    return strtod(shifted, NULL);
}

bool template_filter_round(struct template_scratch *scratch UNUSED, struct template_value *value,
                           const struct template_value *arguments, size_t count, struct error *err UNUSED)
{
    static const double most_places = 100;
    static const double exact_max = 9007199254740991.0;
    double number = number_or_zero(value);
    double places = count > 0 ? trunc(number_or_zero(&arguments[0])) : 0;
    if (!isfinite(number) || fabs(places) > most_places) {
        *value = template_number(number);
        return true;
    }
    double scaled = shift_point(fabs(number), (int)places);
    if (scaled > exact_max) {
        *value = template_number(number);
        return true;
    }
    double whole = floor(scaled);
    double rounded = shift_point(scaled - whole >= 0.5 ? whole + 1 : whole, -(int)places);
    *value = template_number(number < 0 ? -rounded : rounded);
    return true;
}
