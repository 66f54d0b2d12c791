#include "engine/nodes/config.h"

#include "base/json_read.h"
#include "base/nearest.h"
#include "base/text.h"
#include "engine/nodes/graph.h"

#include <math.h>
#include <string.h>

enum { NAMES_MAX = 16, MINUTES_OF_DAY = 24 * 60 };
static const int64_t span_max_us = INT64_C(366) * 86400 * 1000 * 1000;

struct reading {
    struct arena *arena;
    const struct id_codec *ids;
    struct error *err;
};

static const char *path_of(const struct reading *reading, const char *path, const char *member)
{
    return arena_printf(reading->arena, "%s.%.60s", path, member);
}

static bool read_shape(const struct reading *reading, const struct node_shape *shape, const json_t *given, const char *path,
                       char *out);

int64_t node_span_us(int64_t duration, enum time_unit unit)
{
    static const int64_t second_us = 1000 * 1000;
    static const int64_t units_us[] = {
        [TIME_UNIT_NONE] = 0,
        [TIME_UNIT_MS] = 1000,
        [TIME_UNIT_SECONDS] = second_us,
        [TIME_UNIT_MINUTES] = 60 * second_us,
        [TIME_UNIT_HOURS] = 3600 * second_us,
        [TIME_UNIT_DAYS] = 86400 * second_us,
        [TIME_UNIT_WEEKS] = 7 * 86400 * second_us,
    };
    int64_t span_us;
    return __builtin_mul_overflow(duration, units_us[unit], &span_us) ? INT64_MAX : span_us;
}

/* ---- Words ---- */

int node_word_index(const char *const *words, const char *word)
{
    for (int i = 0; word != NULL && words[i] != NULL; i++)
        if (strcmp(words[i], word) == 0)
            return i;
    return -1;
}

static size_t count_words(const char *const *words)
{
    size_t count = 0;
    while (words[count] != NULL)
        count++;
    return count;
}

/* The end of a path, for messages: the name of the field, with the index when it is an item of a list. */
static const char *leaf_of(const char *path)
{
    const char *leaf = path;
    for (const char *at = path; *at != '\0'; at++)
        if (*at == '.' && !(at[1] >= '0' && at[1] <= '9'))
            leaf = at + 1;
    return leaf;
}

static bool refuse_word(const struct reading *reading, const char *const *words, const char *given, const char *path)
{
    struct buf *list = buf_in_arena(reading->arena, ERROR_MESSAGE_MAX_BYTES);
    for (size_t i = 0; words[i] != NULL; i++)
        buf_printf(list, "%s%s", i > 0 ? ", " : "", words[i]);
    const char *nearest = given != NULL ? name_nearest(given, words, count_words(words)) : NULL;
    return fail(reading->err, ERR_INVALID_REQUEST, path, "%s must be one of: %s.", leaf_of(path), buf_text(list)) ||
           (nearest != NULL && error_suggest(reading->err, "Use %s.", nearest));
}

static bool read_word(const struct reading *reading, const char *const *words, const json_t *value, const char *path,
                      int *ret_index)
{
    *ret_index = node_word_index(words, json_string_value(value));
    return *ret_index >= 0 || refuse_word(reading, words, json_string_value(value), path);
}

/* Each word once. */
static bool read_set(const struct reading *reading, const struct node_field *field, const json_t *value, const char *path,
                     unsigned *ret_set)
{
    size_t count = json_array_size(value);
    if (!json_is_array(value) || (double)count < field->least || (double)count > field->most)
        return fail(reading->err, ERR_INVALID_REQUEST, path, "%s must be a list of %.0f to %.0f words.", leaf_of(path),
                    field->least, field->most);
    for (size_t i = 0; i < count; i++) {
        int index;
        const char *item_path = arena_printf(reading->arena, "%s.%zu", path, i);
        if (!read_word(reading, field->words, json_array_get(value, i), item_path, &index))
            return false;
        if ((*ret_set & 1U << (index + 1)) != 0)
            return fail(reading->err, ERR_INVALID_REQUEST, item_path, "The list names %s twice.", field->words[index]);
        *ret_set |= 1U << (index + 1);
    }
    return true;
}

/* ---- Plain values ---- */

static bool read_text(const struct reading *reading, const struct node_field *field, const json_t *value, const char *path,
                      const char **ret_text)
{
    *ret_text = json_string_value(value);
    size_t chars = *ret_text != NULL ? utf8_length(*ret_text) : 0;
    if (*ret_text != NULL && (double)chars >= field->least && (double)chars <= field->most)
        return true;
    return fail(reading->err, ERR_INVALID_REQUEST, path, "%s must be text of %s%.0f characters.", leaf_of(path),
                field->least > 0 ? "1 to " : "at most ", field->most);
}

static bool read_id(const struct reading *reading, const struct node_field *field, const json_t *value, const char *path,
                    int64_t *ret_id)
{
    const char *text;
    if (!read_text(reading, field, value, path, &text))
        return false;
    int64_t id = id_decode(reading->ids, field->id_kind, text);
    *ret_id = id != 0 ? id : NODE_ID_UNKNOWN;
    return true;
}

static bool read_integer(const struct reading *reading, const struct node_field *field, const json_t *value, const char *path,
                         int64_t *ret_number)
{
    *ret_number = json_integer_value(value);
    return (json_is_integer(value) && (double)*ret_number >= field->least && (double)*ret_number <= field->most) ||
           fail(reading->err, ERR_INVALID_REQUEST, path, "%s must be a whole number from %.0f to %.0f.", leaf_of(path),
                field->least, field->most);
}

static bool read_number(const struct reading *reading, const struct node_field *field, const json_t *value, const char *path,
                        struct opt_number *ret_number)
{
    *ret_number = (struct opt_number){ .set = true, .value = json_number_value(value) };
    return (json_is_number(value) && ret_number->value >= field->least && ret_number->value <= field->most) ||
           fail(reading->err, ERR_INVALID_REQUEST, path, "%s must be a number from %.0f to %.0f.", leaf_of(path), field->least,
                field->most);
}

static bool read_boolean(const struct reading *reading, const json_t *value, const char *path, bool *ret_value)
{
    *ret_value = json_is_true(value);
    return json_is_boolean(value) || fail(reading->err, ERR_INVALID_REQUEST, path, "%s must be true or false.", leaf_of(path));
}

static bool is_digit(char letter)
{
    return letter >= '0' && letter <= '9';
}

static bool read_local_time(const struct reading *reading, const json_t *value, const char *path, struct opt_int *ret_minutes)
{
    const char *text = json_string_value(value);
    bool has_form = text != NULL && strlen(text) == 5 && text[2] == ':' && is_digit(text[0]) && is_digit(text[1]) &&
                    is_digit(text[3]) && is_digit(text[4]);
    int minutes = has_form ? (text[0] - '0') * 600 + (text[1] - '0') * 60 + (text[3] - '0') * 10 + text[4] - '0' : 0;
    *ret_minutes = (struct opt_int){ .set = true, .value = minutes };
    return (has_form && minutes < MINUTES_OF_DAY && text[3] < '6') ||
           fail(reading->err, ERR_INVALID_REQUEST, path, "%s must be a time of day from 00:00 to 23:59.", leaf_of(path));
}

static bool read_value(const struct reading *reading, const json_t *value, const char *path, const json_t **ret_value)
{
    *ret_value = value;
    return json_is_string(value) || json_is_number(value) || json_is_boolean(value) || json_is_array(value) ||
           fail(reading->err, ERR_INVALID_REQUEST, path, "%s must be text, a number, true, false or a list.", leaf_of(path));
}

/* ---- Objects ---- */

static bool read_object(const struct reading *reading, const struct node_shape *shape, const json_t *value, const char *path,
                        const void **ret_object)
{
    char *object = arena_alloc(reading->arena, shape->size);
    *ret_object = object;
    return read_shape(reading, shape, value, path, object);
}

static bool read_list(const struct reading *reading, const struct node_field *field, const json_t *value, const char *path,
                      char *out)
{
    size_t count = json_array_size(value);
    if (!json_is_array(value) || (double)count < field->least || (double)count > field->most)
        return fail(reading->err, ERR_INVALID_REQUEST, path, "%s must be a list of %.0f to %.0f objects.", leaf_of(path),
                    field->least, field->most);
    char *items = arena_array(reading->arena, count, field->shape->size);
    for (size_t i = 0; i < count; i++)
        if (!read_shape(reading, field->shape, json_array_get(value, i), arena_printf(reading->arena, "%s.%zu", path, i),
                        items + i * field->shape->size))
            return false;
    memcpy(out + field->offset, &items, sizeof(items));
    memcpy(out + field->count_offset, &count, sizeof(count));
    return true;
}

static bool read_field(const struct reading *reading, const struct node_field *field, const json_t *value, const char *path,
                       char *out)
{
    void *target = out + field->offset;
    int index;
    switch (field->kind) {
    case NODE_FIELD_CONST:
        return read_word(reading, field->words, value, path, &index);
    case NODE_FIELD_TEXT:
        return read_text(reading, field, value, path, target);
    case NODE_FIELD_ID:
        return read_id(reading, field, value, path, target);
    case NODE_FIELD_LOCAL_TIME:
        return read_local_time(reading, value, path, target);
    case NODE_FIELD_ENUM:
        if (!read_word(reading, field->words, value, path, &index))
            return false;
        *(int *)target = index + 1;
        return true;
    case NODE_FIELD_SET:
        return read_set(reading, field, value, path, target);
    case NODE_FIELD_INTEGER:
        return read_integer(reading, field, value, path, target);
    case NODE_FIELD_NUMBER:
        return read_number(reading, field, value, path, target);
    case NODE_FIELD_BOOLEAN:
        return read_boolean(reading, value, path, target);
    case NODE_FIELD_OBJECT:
        return read_object(reading, field->shape, value, path, target);
    case NODE_FIELD_LIST:
        return read_list(reading, field, value, path, out);
    case NODE_FIELD_VALUE:
        return read_value(reading, value, path, target);
    }
    return true;
}

static const struct node_field *field_named(const struct node_shape *shape, const char *name)
{
    for (size_t i = 0; i < shape->field_count; i++)
        if (strcmp(shape->fields[i].name, name) == 0)
            return &shape->fields[i];
    return NULL;
}

static bool refuse_unknown_members(const struct reading *reading, const struct node_shape *shape, const json_t *given,
                                   const char *path)
{
    const char *names[NAMES_MAX];
    size_t count = 0;
    while (count < shape->field_count && count < NAMES_MAX) {
        names[count] = shape->fields[count].name;
        count++;
    }
    const char *name;
    json_t *ignored;
    json_object_foreach (json_for_iteration(given), name, ignored) {
        if (field_named(shape, name) == NULL)
            return fail(reading->err, ERR_INVALID_REQUEST, path_of(reading, path, name), "%.60s is not a member of this form.",
                        name) ||
                   error_suggest_name(reading->err, name, names, count);
    }
    return true;
}

/* A duration and its unit come together, in every shape. */
static bool check_span(const struct reading *reading, const json_t *given, const char *path)
{
    const json_t *duration = json_object_get(given, "duration");
    const json_t *unit = json_object_get(given, "unit");
    if (duration == NULL && unit == NULL)
        return true;
    if (duration == NULL || unit == NULL)
        return fail(reading->err, ERR_INVALID_REQUEST, path_of(reading, path, duration == NULL ? "duration" : "unit"),
                    "duration and unit come together.") ||
               error_suggest(reading->err, "Add %s.", duration == NULL ? "duration" : "unit");
    enum time_unit known = (enum time_unit)(node_word_index(time_unit_words, json_string_value(unit)) + 1);
    return node_span_us(json_integer_value(duration), known) <= span_max_us ||
           fail(reading->err, ERR_INVALID_REQUEST, path_of(reading, path, "duration"), "A time span is at most 366 days.");
}

static bool read_shape(const struct reading *reading, const struct node_shape *shape, const json_t *given, const char *path,
                       char *out)
{
    if (!json_is_object(given))
        return fail(reading->err, ERR_INVALID_REQUEST, path, "%s must be an object.", leaf_of(path));
    if (!refuse_unknown_members(reading, shape, given, path))
        return false;
    for (size_t i = 0; i < shape->field_count; i++) {
        const struct node_field *field = &shape->fields[i];
        const json_t *value = json_object_get(given, field->name);
        if (value == NULL && !field->required)
            continue;
        if (value == NULL)
            return fail(reading->err, ERR_INVALID_REQUEST, path_of(reading, path, field->name), "%s is required here.",
                        field->name) ||
                   error_suggest(reading->err, "Add %s.", field->name);
        if (!read_field(reading, field, value, path_of(reading, path, field->name), out))
            return false;
    }
    return check_span(reading, given, path);
}

/* ---- Forms ---- */

static bool has_form(const struct node_form *form, const json_t *given)
{
    const json_t *value = form->member != NULL ? json_object_get(given, form->member) : NULL;
    return form->member == NULL || (value != NULL && (form->value == NULL || text_equal(json_string_value(value), form->value)));
}

/* No form has the members that are given. The forms of one type differ by their members, or by the value of one member. */
static bool refuse_form(const struct reading *reading, const struct node_type_info *type, const json_t *given, const char *path)
{
    const char *words[NAMES_MAX + 1] = { NULL };
    bool by_value = type->forms[0].value != NULL;
    for (size_t i = 0; i < type->form_count && i < NAMES_MAX; i++)
        words[i] = by_value ? type->forms[i].value : type->forms[i].member;
    if (by_value)
        return refuse_word(reading, words, json_get_text(given, type->forms[0].member),
                           path_of(reading, path, type->forms[0].member));
    struct buf *list = buf_in_arena(reading->arena, ERROR_MESSAGE_MAX_BYTES);
    for (size_t i = 0; words[i] != NULL; i++)
        buf_printf(list, "%s%s", i > 0 ? ", " : "", words[i]);
    const char *given_name = json_object_iter_key(json_object_iter(json_for_iteration(given)));
    return fail(reading->err, ERR_INVALID_REQUEST, path, "A %s needs one of: %s.", type->name, buf_text(list)) ||
           (given_name != NULL ? error_suggest_name(reading->err, given_name, words, count_words(words))
                               : error_suggest(reading->err, "Add one of: %s.", buf_text(list)));
}

bool node_config_read(struct arena *arena, const struct id_codec *ids, enum node_type type, const json_t *given, const char *path,
                      const void **ret_config, const struct node_form **ret_form, struct error *err)
{
    const struct reading reading = { arena, ids, err };
    const struct node_type_info *info = &node_types[type];
    char *config = arena_alloc(arena, info->config_size);
    *ret_config = config;
    if (!json_is_object(given))
        return fail(err, ERR_INVALID_REQUEST, path, "%s must be an object.", leaf_of(path));
    for (size_t i = 0; i < info->form_count; i++) {
        if (!has_form(&info->forms[i], given))
            continue;
        if (info->form_offset != SIZE_MAX)
            *(int *)(void *)(config + info->form_offset) = (int)i;
        *ret_form = &info->forms[i];
        return read_shape(&reading, &info->forms[i].shape, given, path, config);
    }
    return refuse_form(&reading, info, given, path);
}
