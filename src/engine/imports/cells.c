#include "engine/imports/columns.h"

#include "base/clock.h"
#include "base/text.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* More digits than a double keeps are an id and stay text. */
enum { NUMBER_MAX_CHARS = 32, NUMBER_MAX_DIGITS = 15 };

/* ---- Booleans ---- */

static bool is_one_of(const char *text, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcasecmp(text, words[i]) == 0)
            return true;
    return false;
}

bool import_cell_bool(const char *text, bool *ret_value)
{
    static const char *const yes[] = { "true", "yes", "y", "1" };
    static const char *const no[] = { "false", "no", "n", "0" };
    *ret_value = is_one_of(text, yes, ARRAY_COUNT(yes));
    return *ret_value || is_one_of(text, no, ARRAY_COUNT(no));
}

/* ---- Numbers ---- */

/* A number as JSON writes it (RFC 8259 §6), with `point` in its place and without an exponent. So 007 and +1 stay text, which
 * codes and telephone numbers want. */
static bool read_number(const char *text, char point, double *ret_value, bool *ret_is_whole)
{
    const char *at = text + (text[0] == '-');
    size_t whole = strspn(at, "0123456789");
    if (whole == 0 || (at[0] == '0' && whole > 1))
        return false;
    const char *behind = at + whole;
    size_t fraction = 0;
    if (*behind == point) {
        fraction = strspn(behind + 1, "0123456789");
        if (fraction == 0)
            return false;
        behind += 1 + fraction;
    }
    size_t size = (size_t)(behind - text);
    if (*behind != '\0' || size >= NUMBER_MAX_CHARS || whole + fraction > NUMBER_MAX_DIGITS)
        return false;
    char plain[NUMBER_MAX_CHARS];
    memcpy(plain, text, size + 1);
    char *comma = fraction > 0 ? strchr(plain, point) : NULL;
    if (comma != NULL)
        *comma = '.';
    *ret_value = strtod(plain, NULL);
    *ret_is_whole = fraction == 0;
    return true;
}

/* 1,234 may be thousands or thousandths; 1,5 and 12,34 can only be decimals. */
static bool is_plainly_decimal(const char *text)
{
    enum { GROUP_DIGITS = 3 };
    const char *comma = strchr(text, ',');
    return comma != NULL && strlen(comma + 1) != GROUP_DIGITS;
}

static bool write_number(const char *text, char point, struct json_writer *json)
{
    double value;
    bool is_whole;
    if (!read_number(text, point, &value, &is_whole))
        return false;
    if (is_whole)
        json_int(json, (int64_t)value);
    else
        json_number(json, value);
    return true;
}

/* ---- Dates ---- */

static bool write_date(const char *text, struct json_writer *json)
{
    json_t *value = json_string(text);
    bool fits = value != NULL && field_value_write(value, FIELD_DATE, json);
    json_decref(value);
    return fits;
}

static bool is_date(const char *text)
{
    enum { SHORTEST = 10, ROOM = 64 };
    if (strlen(text) < SHORTEST || strlen(text) >= ROOM || text[4] != '-')
        return false;
    BUF_SCOPE out;
    struct json_writer json;
    buf_init(&out, ROOM);
    json_writer_init(&json, &out);
    return write_date(text, &json);
}

/* ---- A cell ---- */

bool import_cell_write(const char *text, const struct import_column *column, struct json_writer *json)
{
    bool value;
    switch (column->type) {
    case FIELD_STRING:
        json_text(json, text);
        return true;
    case FIELD_NUMBER:
        return write_number(text, '.', json) || (column->decimal_comma && write_number(text, ',', json));
    case FIELD_DATE:
        return write_date(text, json);
    case FIELD_BOOL:
        if (!import_cell_bool(text, &value))
            return false;
        json_bool(json, value);
        return true;
    case FIELD_NONE:
        break;
    }
    return false;
}

/* ---- Types ---- */

void column_sample_add(struct column_sample *sample, const char *text)
{
    double number;
    bool flag;
    sample->values++;
    /* 1 and 0 are numbers unless a field of booleans expects them. */
    sample->not_bool = sample->not_bool || strlen(text) < 2 || !import_cell_bool(text, &flag);
    sample->not_number = sample->not_number || !read_number(text, '.', &number, &flag);
    sample->not_comma_number = sample->not_comma_number || !read_number(text, ',', &number, &flag);
    sample->comma_is_decimal = sample->comma_is_decimal || is_plainly_decimal(text);
    sample->not_date = sample->not_date || !is_date(text);
}

enum field_type column_sample_type(const struct column_sample *sample, char delimiter, bool *ret_decimal_comma)
{
    *ret_decimal_comma = false;
    if (sample->values == 0)
        return FIELD_NONE;
    if (!sample->not_bool)
        return FIELD_BOOL;
    if (!sample->not_number)
        return FIELD_NUMBER;
    *ret_decimal_comma = delimiter != ',' && !sample->not_comma_number && sample->comma_is_decimal;
    if (*ret_decimal_comma)
        return FIELD_NUMBER;
    return sample->not_date ? FIELD_STRING : FIELD_DATE;
}
