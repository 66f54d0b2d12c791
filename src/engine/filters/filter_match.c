#include "engine/filters/filter_match.h"

#include "base/clock.h"
#include "base/json_read.h"
#include "base/text.h"
#include "engine/filters/filter_tree.h"
#include "mail/address.h"

#include <string.h>

static const int64_t day_us = INT64_C(86400) * US_PER_S;

/* ---- Types ---- */

static const enum filter_type type_of_field[] = { [FIELD_NONE] = TYPE_TEXT,
                                                  [FIELD_STRING] = TYPE_TEXT,
                                                  [FIELD_NUMBER] = TYPE_NUMBER,
                                                  [FIELD_DATE] = TYPE_DATE,
                                                  [FIELD_BOOL] = TYPE_TRUTH };

static bool operator_takes(const struct filter_operator *operator, enum filter_type type)
{
    return (operator->types & 1U << type) != 0;
}

/* The type of a JSON value among those that the operator takes; TYPE_COUNT: none of them. */
static enum filter_type type_of_value(const struct filter_operator *operator, const json_t * value)
{
    const json_t *one = json_is_array(value) ? json_array_get(value, 0) : value;
    if (json_is_boolean(one))
        return operator_takes(operator, TYPE_TRUTH) ? TYPE_TRUTH : TYPE_COUNT;
    if (json_is_number(one) && operator_takes(operator, TYPE_NUMBER))
        return TYPE_NUMBER;
    if (json_is_string(one) && operator_takes(operator, TYPE_TEXT))
        return TYPE_TEXT;
    return operator_takes(operator, TYPE_DATE) ? TYPE_DATE : TYPE_COUNT;
}

static bool takes_one_type(const struct filter_operator *operator, enum filter_type * ret_type)
{
    static const enum filter_type types[] = { TYPE_TEXT, TYPE_NUMBER, TYPE_DATE, TYPE_TRUTH };
    size_t count = 0;
    for (size_t i = 0; i < ARRAY_COUNT(types); i++) {
        if (!operator_takes(operator, types[i]))
            continue;
        *ret_type = types[i];
        count++;
    }
    return count == 1;
}

/* The type in which the condition compares. `sample` is a value of the field. */
static enum filter_type type_of(const struct match_condition *condition, const struct filter_operator *operator,
                                const json_t * sample)
{
    enum filter_type type;
    if (condition->is_address)
        return TYPE_ADDRESS;
    if (condition->type != FIELD_NONE)
        return type_of_field[condition->type];
    if (operator== NULL)
        return TYPE_TEXT;
    return takes_one_type(operator, & type) ? type : type_of_value(operator, sample);
}

static struct filter_condition filter_condition_of(const struct match_condition *condition, enum filter_type type)
{
    return (struct filter_condition){
        .path = condition->path,
        .subject = SUBJECT_CUSTOM,
        .type = type,
        .operator_name = condition->operator_name,
        .value = condition->value,
    };
}

/* ---- Texts ---- */

static struct match_parts parts_folded(struct arena *arena, struct text_list parts)
{
    const char **texts = arena_array(arena, parts.count, sizeof(*texts));
    bool is_ascii = true;
    for (size_t i = 0; i < parts.count; i++) {
        is_ascii = is_ascii && text_is_ascii(parts.items[i]);
        texts[i] = text_lower_unicode(arena, parts.items[i]);
    }
    return (struct match_parts){ .texts = { texts, parts.count }, .is_ascii = is_ascii };
}

/* A comparison with ASCII parts changes ASCII letters only, as the server does. */
static const char *folded(struct arena *arena, bool is_ascii, const char *text)
{
    return is_ascii ? text_lower(arena, text) : text_lower_unicode(arena, text);
}

static bool text_ends_with(const char *text, const char *end)
{
    size_t size = strlen(text);
    size_t end_size = strlen(end);
    return size >= end_size && strcmp(text + size - end_size, end) == 0;
}

static bool text_matches(const char *text, const char *part, enum filter_verb verb)
{
    if (verb == VERB_STARTS_WITH)
        return text_starts_with(text, part);
    /* memmem takes linear time; strstr can take the product of both sizes. */
    return verb == VERB_ENDS_WITH ? text_ends_with(text, part) : memmem(text, strlen(text), part, strlen(part)) != NULL;
}

static bool read_parts(struct arena *arena, const struct filter_condition *condition, enum filter_verb verb,
                       struct text_list *ret_parts, struct error *err)
{
    if (verb == VERB_CONTAINS_ANY || verb == VERB_IN)
        return filter_value_texts(condition, arena, ret_parts, err);
    const char **alone = arena_alloc(arena, sizeof(*alone));
    *ret_parts = (struct text_list){ alone, 1 };
    return filter_value_text(condition, arena, alone, err);
}

static bool check_parts(struct arena *arena, const struct filter_condition *condition, struct text_list parts, struct error *err)
{
    for (size_t i = 0; i < parts.count; i++)
        if (parts.items[i][0] == '\0')
            return fail(err, ERR_INVALID_REQUEST, arena_printf(arena, "%s.value", condition->path),
                        "The value must not be empty; every text contains the empty text.");
    return true;
}

static bool looks_for_parts(enum filter_verb verb)
{
    return verb == VERB_CONTAINS || verb == VERB_CONTAINS_ANY || verb == VERB_STARTS_WITH || verb == VERB_ENDS_WITH;
}

static bool is_exact(enum filter_verb verb)
{
    return verb == VERB_EQUALS || verb == VERB_IN;
}

static const char *text_of(struct arena *arena, const struct filter_condition *condition, const json_t *actual)
{
    const char *text = json_string_value(actual);
    if (text != NULL && condition->type == TYPE_ADDRESS) {
        struct address address;
        struct error ignored = { 0 };
        return address_parse(arena, text, NULL, &address, &ignored) ? address.key : text;
    }
    return text != NULL || actual == NULL || !(json_is_number(actual) || json_is_boolean(actual)) ? text
                                                                                                  : json_compact(arena, actual);
}

static bool match_exact(struct arena *arena, const struct filter_condition *condition, enum filter_verb verb, const char *actual,
                        bool *ret_holds, struct error *err)
{
    struct text_list texts;
    bool is_read = condition->type == TYPE_ADDRESS ? filter_value_addresses(condition, arena, verb == VERB_IN, &texts, err)
                                                   : read_parts(arena, condition, verb, &texts, err);
    for (size_t i = 0; is_read && i < texts.count && actual != NULL && !*ret_holds; i++)
        *ret_holds = strcmp(actual, texts.items[i]) == 0;
    return is_read;
}

static bool find_parts(struct arena *arena, const struct filter_condition *condition, enum filter_verb verb,
                       const struct match_parts *prepared, const char *actual, bool *ret_holds, struct error *err)
{
    struct match_parts parts = { .is_ascii = true };
    struct text_list given;
    if (prepared != NULL) {
        parts = *prepared;
    } else {
        if (!read_parts(arena, condition, verb, &given, err) || !check_parts(arena, condition, given, err))
            return false;
        if (actual != NULL)
            parts = parts_folded(arena, given);
    }
    const char *text = actual == NULL || condition->type == TYPE_ADDRESS ? actual : folded(arena, parts.is_ascii, actual);
    for (size_t i = 0; text != NULL && i < parts.texts.count && !*ret_holds; i++)
        *ret_holds = text_matches(text, parts.texts.items[i], verb);
    return true;
}

static bool match_text(struct arena *arena, const struct filter_condition *condition, enum filter_verb verb,
                       const struct match_parts *prepared, const json_t *actual, bool *ret_holds, struct error *err)
{
    const char *text = text_of(arena, condition, actual);
    return is_exact(verb) ? match_exact(arena, condition, verb, text, ret_holds, err)
                          : find_parts(arena, condition, verb, prepared, text, ret_holds, err);
}

/* ---- Numbers: long double holds every int64_t and every double, so the comparison is exact ---- */

static long double exact_number(const json_t *value, double number)
{
    int64_t whole;
    if (json_is_integer(value))
        return (long double)json_integer_value(value);
    return json_is_string(value) && int64_parse(json_string_value(value), &whole) ? (long double)whole : (long double)number;
}

static bool number_holds(enum filter_verb verb, long double actual, const long double *numbers, size_t count)
{
    if (verb == VERB_GREATER)
        return actual > numbers[0];
    if (verb == VERB_AT_LEAST)
        return actual >= numbers[0];
    if (verb == VERB_LESS)
        return actual < numbers[0];
    if (verb == VERB_AT_MOST)
        return actual <= numbers[0];
    if (verb == VERB_BETWEEN)
        return actual >= numbers[0] && actual <= numbers[1];
    for (size_t i = 0; i < count; i++)
        if (actual == numbers[i])
            return true;
    return false;
}

/* filter_value_numbers writes each number as text that gives the same number again. */
static bool match_number(struct arena *arena, const struct filter_condition *condition, enum filter_verb verb, const json_t *actual,
                         bool *ret_holds, struct error *err)
{
    struct text_list texts;
    if (!filter_value_numbers(condition, arena, verb == VERB_IN ? 0 : verb == VERB_BETWEEN ? 2 : 1, &texts, err))
        return false;
    long double *numbers = arena_array(arena, texts.count, sizeof(*numbers));
    for (size_t i = 0; i < texts.count; i++) {
        double number;
        const json_t *text = json_in_arena(arena, json_string(texts.items[i]));
        if (filter_number_read(text, &number))
            numbers[i] = exact_number(text, number);
    }
    *ret_holds =
        json_is_number(actual) && number_holds(verb, exact_number(actual, json_number_value(actual)), numbers, texts.count);
    return true;
}

/* ---- Dates ---- */

static int64_t day_start_us(const struct filter_moment *day, int days, const struct template_zone *zone)
{
    return template_zone_time_us(zone, day->time_us + days * day_us, ZONE_SECOND);
}

static int64_t edge_instant_us(const struct filter_edge *edge, const struct template_zone *zone)
{
    return edge->moment.is_day ? day_start_us(&edge->moment, edge->instant_days, zone) : edge->moment.time_us + edge->instant_us;
}

/* Midnight, as if it were UTC, of the day of an edge in the zone. */
static int64_t edge_day_us(const struct filter_edge *edge, const struct template_zone *zone)
{
    if (edge->moment.is_day)
        return filter_day_shifted(&edge->moment, edge->day_days).time_us;
    int64_t local_us = edge->moment.time_us + template_zone_offset_s(zone, edge->moment.time_us / US_PER_S) * US_PER_S;
    return local_us - (local_us % day_us + day_us) % day_us + edge->day_days * day_us;
}

static bool date_holds(const struct filter_range *range, const struct filter_moment *actual, const struct template_zone *zone)
{
    if (actual->is_day)
        return !range->times_only && (!range->from.set || actual->time_us >= edge_day_us(&range->from, zone)) &&
               (!range->to.set || actual->time_us <= edge_day_us(&range->to, zone));
    return (!range->from.set || actual->time_us >= edge_instant_us(&range->from, zone)) &&
           (!range->to.set || actual->time_us < edge_instant_us(&range->to, zone));
}

static bool match_date(struct arena *arena, const struct filter_condition *condition, enum filter_verb verb, const json_t *actual,
                       const struct match_clock *clock, bool *ret_holds, struct error *err)
{
    struct filter_range range;
    struct filter_moment moment;
    if (!filter_date_range(condition, arena, verb, clock->now_us, &range, err))
        return false;
    *ret_holds = filter_moment_read(actual, &moment) && date_holds(&range, &moment, clock->zone);
    return true;
}

bool match_time_us(const json_t *value, const struct template_zone *zone, int64_t *ret_time_us)
{
    struct filter_moment moment;
    if (!filter_moment_read(value, &moment))
        return false;
    *ret_time_us = moment.is_day ? template_zone_time_us(zone, moment.time_us, ZONE_FIRST) : moment.time_us;
    return true;
}

/* ---- Conditions ---- */

static bool match_truth(struct arena *arena, const struct filter_condition *condition, enum filter_verb verb, const json_t *actual,
                        bool *ret_holds, struct error *err)
{
    bool wanted = verb == VERB_TRUE;
    if (verb == VERB_EQUALS && !filter_value_boolean(condition, arena, &wanted, err))
        return false;
    *ret_holds = json_is_boolean(actual) && json_is_true(actual) == wanted;
    return true;
}

static bool match_presence(enum filter_verb verb, const json_t *actual)
{
    const char *text = json_string_value(actual);
    return actual != NULL && (verb == VERB_EXISTS || text == NULL || text[0] != '\0');
}

/* Evaluates without the negation. Reads the value of the condition even when the field has none, so that match_check can use it. */
static bool match_verb(struct arena *arena, const struct filter_condition *condition, enum filter_verb verb,
                       const struct match_parts *parts, const json_t *actual, const struct match_clock *clock, bool *ret_holds,
                       struct error *err)
{
    *ret_holds = false;
    if (verb == VERB_EXISTS || verb == VERB_FILLED) {
        *ret_holds = match_presence(verb, actual);
        return true;
    }
    switch (condition->type) {
    case TYPE_TEXT:
    case TYPE_ADDRESS:
        return match_text(arena, condition, verb, parts, actual, ret_holds, err);
    case TYPE_NUMBER:
        return match_number(arena, condition, verb, actual, ret_holds, err);
    case TYPE_DATE:
        return match_date(arena, condition, verb, actual, clock, ret_holds, err);
    case TYPE_TRUTH:
        return match_truth(arena, condition, verb, actual, ret_holds, err);
    case TYPE_MEMBERSHIP:
    case TYPE_COUNT:
        break;
    }
    return true;
}

bool match_check(struct arena *arena, const struct match_condition *given, struct error *err)
{
    const struct match_clock epoch = { 0 };
    const struct filter_operator *operator= filter_operator_named(given->operator_name);
    struct filter_condition condition = filter_condition_of(given, type_of(given, operator, given->value));
    bool holds;
    bool is_presence = operator!= NULL &&(operator->verb == VERB_EXISTS || operator->verb == VERB_FILLED);
    if (condition.type == TYPE_COUNT)
        condition.type = is_presence ? TYPE_TEXT : TYPE_DATE;
    return filter_operator_find(&condition, arena, &operator, err) &&
           match_verb(arena, &condition, operator->verb, NULL, NULL, &epoch, &holds, err);
}

const struct match_parts *match_prepare(struct arena *arena, const struct match_condition *given)
{
    const struct filter_operator *operator= filter_operator_named(given->operator_name);
    struct filter_condition condition = filter_condition_of(given, TYPE_TEXT);
    struct error ignored = { 0 };
    struct text_list texts;
    if (operator== NULL || !looks_for_parts(operator->verb) || !read_parts(arena, &condition, operator->verb, &texts, &ignored))
        return NULL;
    struct match_parts *parts = arena_alloc(arena, sizeof(*parts));
    *parts = parts_folded(arena, texts);
    return parts;
}

bool match_needs_zone(const struct match_condition *condition)
{
    const struct filter_operator *found = filter_operator_named(condition->operator_name);
    return condition->type == FIELD_DATE || (condition->type == FIELD_NONE && found != NULL && operator_takes(found, TYPE_DATE) &&
                                             !operator_takes(found, TYPE_TEXT));
}

bool match_holds(struct arena *arena, const struct match_condition *given, const json_t *actual, const struct match_clock *clock)
{
    const struct filter_operator *operator= filter_operator_named(given->operator_name);
    const json_t *value = json_is_null(actual) ? NULL : actual;
    if (operator== NULL)
        return false;
    struct filter_condition condition = filter_condition_of(given, type_of(given, operator, value));
    struct error ignored = { 0 };
    bool holds = false;
    bool is_known = operator->verb == VERB_EXISTS || operator->verb ==
                    VERB_FILLED ||(condition.type != TYPE_COUNT && operator_takes(operator, condition.type));
    if (!is_known || !match_verb(arena, &condition, operator->verb, given->parts, value, clock, &holds, &ignored))
        holds = false;
    return holds != operator->negated;
}
