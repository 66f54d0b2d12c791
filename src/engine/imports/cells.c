#include "engine/imports/columns.h"

#include "base/clock.h"
#include "base/text.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A number with more digits than a double can hold is an id, and stays text. */
enum { NUMBER_MAX_CHARS = 32, NUMBER_MAX_DIGITS = 15 };

/* ---- Booleans ---- */

static bool matches_word(const char *text, const char *const *words, size_t count)
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
    *ret_value = matches_word(text, yes, ARRAY_COUNT(yes));
    return *ret_value || matches_word(text, no, ARRAY_COUNT(no));
}

/* ---- Numbers ---- */

/* Parses a number in JSON syntax (RFC 8259 §6), with `point` as the decimal separator and without an exponent. 007 and +1 are not
 * numbers, so codes and telephone numbers stay text. */
static bool parse_cell_number(const char *text, char point, double *ret_value, bool *ret_is_whole)
{
    const char *at = text + (text[0] == '-');
    size_t whole = strspn(at, "0123456789");
    if (whole == 0 || (at[0] == '0' && whole > 1))
        return false;
    const char *end = at + whole;
    size_t fraction = 0;
    if (*end == point) {
        fraction = strspn(end + 1, "0123456789");
        if (fraction == 0)
            return false;
        end += 1 + fraction;
    }
    size_t size = (size_t)(end - text);
    if (*end != '\0' || size >= NUMBER_MAX_CHARS || whole + fraction > NUMBER_MAX_DIGITS)
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

/* 1,5 and 12,34 can only have a decimal comma. 1,234 is ambiguous: the comma can also separate thousands. */
static bool has_decimal_comma(const char *text)
{
    enum { GROUP_DIGITS = 3 };
    const char *comma = strchr(text, ',');
    return comma != NULL && strlen(comma + 1) != GROUP_DIGITS;
}

static bool write_cell_number(const char *text, char point, struct json_writer *json)
{
    double value;
    bool is_whole;
    if (!parse_cell_number(text, point, &value, &is_whole))
        return false;
    if (is_whole)
        json_int(json, (int64_t)value);
    else
        json_number(json, value);
    return true;
}

/* ---- Dates ---- */

static bool write_cell_date(const char *text, struct json_writer *json)
{
    json_t *value = json_string(text);
    bool fits = value != NULL && field_value_write(value, FIELD_DATE, json);
    json_decref(value);
    return fits;
}

static bool is_cell_date(const char *text)
{
    enum { SHORTEST = 10, BUFFER_BYTES = 64 };
    if (strlen(text) < SHORTEST || strlen(text) >= BUFFER_BYTES || text[4] != '-')
        return false;
    BUF_SCOPE out;
    struct json_writer json;
    buf_init(&out, BUFFER_BYTES);
    json_writer_init(&json, &out);
    return write_cell_date(text, &json);
}

/* ---- Cells ---- */

bool import_cell_write(const char *text, const struct import_column *column, struct json_writer *json)
{
    bool value;
    switch (column->type) {
    case FIELD_STRING:
        json_text(json, text);
        return true;
    case FIELD_NUMBER:
        return write_cell_number(text, '.', json) || (column->decimal_comma && write_cell_number(text, ',', json));
    case FIELD_DATE:
        return write_cell_date(text, json);
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
    /* 1 and 0 are numbers, unless the field is a boolean already. */
    sample->not_bool = sample->not_bool || strlen(text) < 2 || !import_cell_bool(text, &flag);
    sample->not_number = sample->not_number || !parse_cell_number(text, '.', &number, &flag);
    sample->not_comma_number = sample->not_comma_number || !parse_cell_number(text, ',', &number, &flag);
    sample->comma_is_decimal = sample->comma_is_decimal || has_decimal_comma(text);
    sample->not_date = sample->not_date || !is_cell_date(text);
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
