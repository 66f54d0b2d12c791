/*
 * Operators of filters, and the values they take.
 */
#include "engine/filters/filter_tree.h"

#include "base/clock.h"
#include "base/json_read.h"
#include "base/nearest.h"
#include "base/text.h"
#include "mail/address.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Operators ---- */

enum {
    TEXT = 1U << TYPE_TEXT | 1U << TYPE_ADDRESS,
    NUMBER = 1U << TYPE_NUMBER,
    COUNT = 1U << TYPE_COUNT,
    DATE = 1U << TYPE_DATE,
    TRUTH = 1U << TYPE_TRUTH,
    MEMBERSHIP = 1U << TYPE_MEMBERSHIP,
    VALUE = TEXT | NUMBER | DATE | TRUTH,
};

/* D-81. A new operator needs a line here, and a case in the compiler of each of its types. */
static const struct filter_operator operators[] = {
    { "equals", VERB_EQUALS, false, VALUE | COUNT },
    { "not_equals", VERB_EQUALS, true, VALUE | COUNT },
    { "contains", VERB_CONTAINS, false, TEXT },
    { "not_contains", VERB_CONTAINS, true, TEXT },
    { "contains_any", VERB_CONTAINS_ANY, false, TEXT },
    { "not_contains_any", VERB_CONTAINS_ANY, true, TEXT },
    { "starts_with", VERB_STARTS_WITH, false, TEXT },
    { "ends_with", VERB_ENDS_WITH, false, TEXT },
    { "gt", VERB_GREATER, false, NUMBER | COUNT },
    { "gte", VERB_AT_LEAST, false, NUMBER | COUNT },
    { "lt", VERB_LESS, false, NUMBER | COUNT },
    { "lte", VERB_AT_MOST, false, NUMBER | COUNT },
    { "on_date", VERB_EQUALS, false, DATE },
    { "before", VERB_BEFORE, false, DATE },
    { "after", VERB_AFTER, false, DATE },
    { "between", VERB_BETWEEN, false, NUMBER | COUNT | DATE },
    { "in_last_days", VERB_LAST_DAYS, false, DATE },
    { "in_next_days", VERB_NEXT_DAYS, false, DATE },
    { "is_true", VERB_TRUE, false, TRUTH },
    { "is_false", VERB_FALSE, false, TRUTH },
    { "in", VERB_IN, false, TEXT | NUMBER | MEMBERSHIP },
    { "not_in", VERB_IN, true, TEXT | NUMBER | MEMBERSHIP },
    { "is_empty", VERB_FILLED, true, VALUE },
    { "is_not_empty", VERB_FILLED, false, VALUE },
    { "exists", VERB_EXISTS, false, VALUE },
    { "not_exists", VERB_EXISTS, true, VALUE },
};

/* Signs and words of other query languages. */
static const char *const other_operators[][2] = {
    { "=", "equals" },
    { "==", "equals" },
    { "eq", "equals" },
    { "is", "equals" },
    { "!=", "not_equals" },
    { "<>", "not_equals" },
    { "ne", "not_equals" },
    { "neq", "not_equals" },
    { "is_not", "not_equals" },
    { ">", "gt" },
    { "greater_than", "gt" },
    { ">=", "gte" },
    { "<", "lt" },
    { "less_than", "lt" },
    { "<=", "lte" },
    { "at_least", "gte" },
    { "at_most", "lte" },
    { "like", "contains" },
    { "includes", "contains" },
    { "has", "contains" },
    { "one_of", "in" },
    { "any_of", "in" },
    { "is_one_of", "in" },
    { "none_of", "not_in" },
    { "is_set", "exists" },
    { "is_not_set", "not_exists" },
    { "is_null", "not_exists" },
    { "within_days", "in_last_days" },
};

static const char *usual_operator(const char *given)
{
    for (size_t i = 0; i < ARRAY_COUNT(other_operators); i++)
        if (strcmp(given, other_operators[i][0]) == 0 || name_is_respelt(given, other_operators[i][0]))
            return other_operators[i][1];
    return given;
}

/* Suggests the supported operator that the given one means. */
static bool suggest_operator(const struct filter_condition *condition, struct error *err)
{
    const char *names[ARRAY_COUNT(operators)];
    size_t count = 0;
    for (size_t i = 0; i < ARRAY_COUNT(operators); i++)
        if ((operators[i].types & 1U << condition->type) != 0)
            names[count++] = operators[i].name;
    const char *nearest = name_nearest(usual_operator(condition->operator_name), names, count);
    return nearest != NULL && error_suggest(err, "Use %s.", nearest);
}

const struct filter_operator *filter_operator_named(const char *name)
{
    for (size_t i = 0; i < ARRAY_COUNT(operators); i++)
        if (strcmp(operators[i].name, name) == 0)
            return &operators[i];
    return NULL;
}

bool filter_operator_find(const struct filter_condition *condition, struct arena *arena,
                          const struct filter_operator **ret_operator, struct error *err)
{
    BUF_SCOPE supported;
    buf_init(&supported, ERROR_MESSAGE_MAX_BYTES);
    for (size_t i = 0; i < ARRAY_COUNT(operators); i++) {
        if ((operators[i].types & 1U << condition->type) == 0)
            continue;
        if (strcmp(operators[i].name, condition->operator_name) == 0) {
            *ret_operator = &operators[i];
            return true;
        }
        buf_printf(&supported, "%s%s", supported.size > 0 ? ", " : "", operators[i].name);
    }
    return fail(err, ERR_INVALID_REQUEST, arena_printf(arena, "%s.operator", condition->path),
                "%.40s is not an operator of this field; use one of: %s.", condition->operator_name, buf_text(&supported)) ||
           suggest_operator(condition, err);
}

/* ---- One value ---- */

static const char *value_path(const struct filter_condition *condition, struct arena *arena)
{
    return arena_printf(arena, "%s.value", condition->path);
}

static bool wrong_value(const struct filter_condition *condition, struct arena *arena, const char *wanted, struct error *err)
{
    return fail(err, ERR_INVALID_REQUEST, value_path(condition, arena), "This operator needs %s.", wanted);
}

bool filter_value_text(const struct filter_condition *condition, struct arena *arena, const char **ret_text, struct error *err)
{
    *ret_text = json_string_value(condition->value);
    if (*ret_text == NULL)
        return wrong_value(condition, arena, "a string", err);
    return utf8_length(*ret_text) <= FIELD_TEXT_MAX_CHARS || fail(err, ERR_INVALID_REQUEST, value_path(condition, arena),
                                                                  "A value can have at most %d characters.", FIELD_TEXT_MAX_CHARS);
}

/* Some clients send "true" for true. */
bool filter_value_boolean(const struct filter_condition *condition, struct arena *arena, bool *ret_value, struct error *err)
{
    const char *text = json_string_value(condition->value);
    *ret_value = json_is_true(condition->value) || text_equal(text, "true");
    return json_is_boolean(condition->value) || *ret_value || text_equal(text, "false") ||
           wrong_value(condition, arena, "true or false", err);
}

bool filter_value_days(const struct filter_condition *condition, struct arena *arena, int64_t *ret_days, struct error *err)
{
    const char *text = json_string_value(condition->value);
    *ret_days = json_integer_value(condition->value);
    bool is_whole = json_is_integer(condition->value) || (text != NULL && int64_parse(text, ret_days));
    return (is_whole && *ret_days >= 1 && *ret_days <= FILTER_MAX_DAYS) ||
           fail(err, ERR_INVALID_REQUEST, value_path(condition, arena), "This operator needs a whole number of days from 1 to %d.",
                FILTER_MAX_DAYS);
}

/* ---- Lists ---- */

static const json_t *split(const struct filter_condition *condition, struct arena *arena)
{
    json_t *list = json_in_arena(arena, json_array());
    for (const char *at = json_string_value(condition->value); at != NULL;) {
        const char *comma = strchr(at, ',');
        size_t size = comma != NULL ? (size_t)(comma - at) : strlen(at);
        const char *item = text_trim(arena, arena_dup_bytes(arena, at, size));
        if (item[0] != '\0')
            json_array_append_new(list, json_string(item));
        at = comma != NULL ? comma + 1 : NULL;
    }
    return list;
}

/* The values as an array. The caller passes an array, a text with commas, or a single value. */
static bool value_list(const struct filter_condition *condition, struct arena *arena, const char *wanted, const json_t **ret_list,
                       struct error *err)
{
    const json_t *list = condition->value;
    if (json_is_string(list)) {
        list = split(condition, arena);
    } else if (list != NULL && !json_is_array(list)) {
        json_t *alone = json_in_arena(arena, json_array());
        json_array_append(alone, json_for_iteration(list));
        list = alone;
    }
    *ret_list = list;
    size_t count = json_array_size(list);
    if (count == 0)
        return wrong_value(condition, arena, wanted, err);
    return count <= FILTER_MAX_LIST ||
           fail(err, ERR_INVALID_REQUEST, value_path(condition, arena), "A list can have at most %d values.", FILTER_MAX_LIST);
}

/* The path of one item. Only an item of a caller's array has an index. */
static const char *list_item_path(const struct filter_condition *condition, struct arena *arena, size_t index)
{
    return json_is_array(condition->value) ? arena_printf(arena, "%s.value.%zu", condition->path, index)
                                           : value_path(condition, arena);
}

bool filter_value_texts(const struct filter_condition *condition, struct arena *arena, struct text_list *ret_texts,
                        struct error *err)
{
    const json_t *list;
    if (!value_list(condition, arena, "a list of strings", &list, err))
        return false;
    const char **texts = arena_array(arena, json_array_size(list), sizeof(*texts));
    for (size_t i = 0; i < json_array_size(list); i++) {
        texts[i] = json_string_value(json_array_get(list, i));
        if (texts[i] == NULL || utf8_length(texts[i]) > FIELD_TEXT_MAX_CHARS)
            return fail(err, ERR_INVALID_REQUEST, list_item_path(condition, arena, i),
                        "Each value of the list must be a string of at most %d characters.", FIELD_TEXT_MAX_CHARS);
    }
    *ret_texts = (struct text_list){ texts, json_array_size(list) };
    return true;
}

static bool take_address(struct arena *arena, const char *text, const char *path, const char **ret_key, struct error *err)
{
    struct address address;
    if (!address_parse(arena, text_trim(arena, text), path, &address, err))
        return false;
    *ret_key = address.key;
    return true;
}

bool filter_value_addresses(const struct filter_condition *condition, struct arena *arena, bool many, struct text_list *ret_keys,
                            struct error *err)
{
    const char *alone = json_string_value(condition->value);
    struct text_list given = { &alone, 1 };
    if (many && !filter_value_texts(condition, arena, &given, err))
        return false;
    if (!many && alone == NULL)
        return wrong_value(condition, arena, "an email address", err);
    const char **keys = arena_array(arena, given.count, sizeof(*keys));
    for (size_t i = 0; i < given.count; i++)
        if (!take_address(arena, given.items[i], list_item_path(condition, arena, i), &keys[i], err))
            return false;
    *ret_keys = (struct text_list){ keys, given.count };
    return true;
}

/* ---- Numbers ---- */

bool filter_number_read(const json_t *value, double *ret_number)
{
    *ret_number = json_number_value(value);
    const char *text = json_string_value(value);
    if (text == NULL)
        return json_is_number(value);
    char *end;
    *ret_number = strtod(text, &end);
    return *text != '\0' && *end == '\0' && strspn(text, "0123456789+-.eE") == strlen(text) && isfinite(*ret_number);
}

/* Writes a number; an integer keeps all its digits. */
static const char *number_text(const json_t *value, double number, struct arena *arena)
{
    enum { NUMBER_MAX_BYTES = 64 };
    int64_t whole = json_integer_value(value);
    struct buf *out = buf_in_arena(arena, NUMBER_MAX_BYTES);
    struct json_writer json;
    json_writer_init(&json, out);
    if (json_is_integer(value) || (json_is_string(value) && int64_parse(json_string_value(value), &whole)))
        json_int(&json, whole);
    else
        json_number(&json, number);
    return buf_text(out);
}

static bool check_bound_order(const struct filter_condition *condition, struct arena *arena, bool in_order, struct error *err)
{
    return in_order ||
           fail(err, ERR_INVALID_REQUEST, value_path(condition, arena), "The first bound must not be above the second.");
}

/* Exactly `wanted` values; 0: one or more. */
static bool wanted_values(const struct filter_condition *condition, struct arena *arena, size_t wanted, const char *needs,
                          const json_t **ret_list, struct error *err)
{
    if (wanted == 1) {
        json_t *alone = json_in_arena(arena, json_array());
        if (condition->value != NULL && !json_is_array(condition->value))
            json_array_append(alone, json_for_iteration(condition->value));
        *ret_list = alone;
    } else if (!value_list(condition, arena, needs, ret_list, err)) {
        return false;
    }
    return wanted == 0 || json_array_size(*ret_list) == wanted || wrong_value(condition, arena, needs, err);
}

bool filter_value_numbers(const struct filter_condition *condition, struct arena *arena, size_t wanted,
                          struct text_list *ret_numbers, struct error *err)
{
    static const char *const needs[] = { "a list of numbers", "a number", "two numbers, the lower first" };
    const json_t *list;
    if (!wanted_values(condition, arena, wanted, needs[wanted], &list, err))
        return false;
    size_t count = json_array_size(list);
    const char **texts = arena_array(arena, count, sizeof(*texts));
    double numbers[2] = { 0, 0 };
    for (size_t i = 0; i < count; i++) {
        double number;
        const json_t *value = json_array_get(list, i);
        if (!filter_number_read(value, &number))
            return fail(err, ERR_INVALID_REQUEST, list_item_path(condition, arena, i), "The value for this field must be %s.",
                        field_type_holds(FIELD_NUMBER));
        texts[i] = number_text(value, number, arena);
        numbers[i & 1] = number;
    }
    *ret_numbers = (struct text_list){ texts, count };
    return check_bound_order(condition, arena, wanted != 2 || numbers[0] <= numbers[1], err);
}

bool filter_value_counts(const struct filter_condition *condition, struct arena *arena, size_t wanted, int64_t ret_counts[2],
                         struct error *err)
{
    static const char *const needs[] = { "", "a whole number", "two whole numbers, the lower first" };
    const json_t *list;
    if (!wanted_values(condition, arena, wanted, needs[wanted], &list, err))
        return false;
    for (size_t i = 0; i < wanted; i++) {
        const json_t *value = json_array_get(list, i);
        const char *text = json_string_value(value);
        ret_counts[i] = json_integer_value(value);
        bool is_whole = json_is_integer(value) || (text != NULL && int64_parse(text, &ret_counts[i]));
        if (!is_whole || ret_counts[i] < 0)
            return fail(err, ERR_INVALID_REQUEST, list_item_path(condition, arena, i),
                        "An activity count must be a whole number of at least 0.");
    }
    return check_bound_order(condition, arena, wanted != 2 || ret_counts[0] <= ret_counts[1], err);
}

/* ---- Dates ---- */

static const int64_t last_us = INT64_C(253402300799) * US_PER_S;  /* the last second of year 9999 */
static const int64_t first_us = INT64_C(-62135596800) * US_PER_S; /* the first second of year 1 */
static const int64_t day_us = INT64_C(86400) * US_PER_S;

/* The day that starts at `midnight_us` in UTC. */
static struct filter_moment day_at(int64_t midnight_us)
{
    char text[CLOCK_ISO_CHARS + 1];
    struct filter_moment moment = { .is_day = true, .time_us = midnight_us };
    clock_format_iso(midnight_us, text);
    snprintf(moment.day, sizeof(moment.day), "%.*s", FILTER_DAY_CHARS, text);
    return moment;
}

struct filter_moment filter_day_shifted(const struct filter_moment *day, int days)
{
    int64_t midnight_us = day->time_us + days * day_us;
    return midnight_us < first_us || midnight_us > last_us ? *day : day_at(midnight_us);
}

/* Parses a date like a custom field: a day, a time with a zone, or Unix seconds. */
bool filter_moment_read(const json_t *value, struct filter_moment *ret_moment)
{
    char midnight[FILTER_DAY_CHARS + sizeof("T00:00:00Z")];
    const char *text = json_string_value(value);
    int64_t time_us = 0;
    if (text != NULL && strlen(text) == FILTER_DAY_CHARS) {
        snprintf(midnight, sizeof(midnight), "%sT00:00:00Z", text);
        if (!clock_parse_iso(midnight, &time_us))
            return false;
        *ret_moment = day_at(time_us);
        return true;
    }
    double seconds = json_number_value(value);
    if (json_is_number(value) && seconds >= 0 && seconds <= (double)(last_us / US_PER_S))
        time_us = (int64_t)(seconds * (double)US_PER_S);
    else if (text == NULL || !clock_parse_iso(text, &time_us))
        return false;
    /* Callers see times in milliseconds, so they are compared in milliseconds. */
    *ret_moment = (struct filter_moment){ .time_us = time_us - (time_us % US_PER_MS + US_PER_MS) % US_PER_MS };
    return true;
}

bool filter_value_moments(const struct filter_condition *condition, struct arena *arena, size_t wanted,
                          struct filter_moment ret_moments[2], struct error *err)
{
    static const char *const needs[] = { "", "a date", "two dates, the earlier first" };
    const json_t *list;
    if (!wanted_values(condition, arena, wanted, needs[wanted], &list, err))
        return false;
    for (size_t i = 0; i < wanted; i++)
        if (!filter_moment_read(json_array_get(list, i), &ret_moments[i]))
            return fail(err, ERR_INVALID_REQUEST, list_item_path(condition, arena, i), "The value for this field must be %s.",
                        field_type_holds(FIELD_DATE));
    return wanted != 2 || ret_moments[0].is_day != ret_moments[1].is_day ||
           check_bound_order(condition, arena, ret_moments[0].time_us <= ret_moments[1].time_us, err);
}
