#include "engine/contacts/filter.h"

#include "base/clock.h"
#include "base/json_read.h"
#include "base/text.h"
#include "mail/address.h"

#include <string.h>

/* ---- Fields and operators ---- */

enum value_kind { VALUE_ADDRESS, VALUE_TEXT, VALUE_TRUTH, VALUE_TIME, VALUE_CUSTOM };

struct filter_field {
    const char *name;
    const char *column; /* SQL */
    enum value_kind kind;
};

/* Times are shown in milliseconds, so they are compared in milliseconds. */
static const struct filter_field core_fields[] = {
    { "email", "c.email_key", VALUE_ADDRESS },
    { "firstName", "c.first_name", VALUE_TEXT },
    { "lastName", "c.last_name", VALUE_TEXT },
    { "userId", "c.user_id", VALUE_TEXT },
    { "source", "c.source", VALUE_TEXT },
    { "subscribed", "c.subscribed", VALUE_TRUTH },
    { "createdAt", "date_trunc('milliseconds', c.created_at)", VALUE_TIME },
    { "updatedAt", "date_trunc('milliseconds', c.updated_at)", VALUE_TIME },
};
static const struct filter_field custom_field = { "customFields", "c.custom_fields", VALUE_CUSTOM };
static const char custom_prefix[] = "customFields.";

/* How an operator stands between a column and a value. Another operator is another row. */
struct filter_operator {
    const char *name;
    const char *between;        /* core columns */
    const char *between_custom; /* the object of custom fields, and an object of the one member wanted */
};

static const struct filter_operator operators[] = {
    { "equals", " = ", " @> " },
};

/* ---- The tree ---- */

struct filter_condition {
    const char *path;
    const struct filter_field *field;
    const char *custom_name; /* of VALUE_CUSTOM */
    const struct filter_operator *comparison;
    const json_t *given;
};

struct filter {
    bool is_group;
    struct filter_condition condition;
    const char *joint; /* of a group: " and " or " or " */
    struct filter *children;
    size_t count;
};

struct reader {
    struct arena *arena;
    size_t condition_count;
};

static const char *path_of(struct arena *arena, const char *path, const char *member)
{
    return arena_printf(arena, "%s.%s", path, member);
}

static bool refuse_unknown_members(struct arena *arena, const json_t *object, const char *const *known, const char *path,
                                   struct error *err)
{
    const char *name;
    json_t *ignored;
    json_object_foreach(json_for_iteration(object), name, ignored)
    {
        size_t i = 0;
        while (known[i] != NULL && strcmp(known[i], name) != 0)
            i++;
        if (known[i] == NULL)
            return fail(err, ERR_INVALID_REQUEST, path_of(arena, path, name), "%.60s is not a known key of a filter.", name);
    }
    return true;
}

/* ---- Reading a condition ---- */

static bool read_field(struct reader *reader, const char *name, struct filter_condition *condition, struct error *err)
{
    for (size_t i = 0; i < ARRAY_COUNT(core_fields); i++) {
        if (strcmp(core_fields[i].name, name) == 0) {
            condition->field = &core_fields[i];
            return true;
        }
    }
    condition->field = &custom_field;
    const char *given = text_starts_with(name, custom_prefix) ? name + strlen(custom_prefix) : name;
    if (field_name_normalize(reader->arena, given, &condition->custom_name, err))
        return true;
    snprintf(err->param, sizeof(err->param), "%s.field", condition->path);
    return false;
}

static bool read_operator(struct reader *reader, const char *name, struct filter_condition *condition, struct error *err)
{
    for (size_t i = 0; i < ARRAY_COUNT(operators); i++) {
        if (strcmp(operators[i].name, name) == 0) {
            condition->comparison = &operators[i];
            return true;
        }
    }
    BUF_SCOPE supported;
    buf_init(&supported, ERROR_MESSAGE_MAX_BYTES);
    for (size_t i = 0; i < ARRAY_COUNT(operators); i++)
        buf_printf(&supported, "%s%s", i > 0 ? ", " : "", operators[i].name);
    return fail(err, ERR_INVALID_REQUEST, path_of(reader->arena, condition->path, "operator"),
                "%.40s is not an operator of this version; supported: %s.", name, buf_text(&supported));
}

static bool read_condition(struct reader *reader, const json_t *json, const char *path, struct filter_condition *condition,
                           struct error *err)
{
    static const char *const known[] = { "field", "operator", "value", NULL };
    condition->path = path;
    condition->given = json_object_get(json, "value");
    if (++reader->condition_count > FILTER_MAX_CONDITIONS)
        return fail(err, ERR_INVALID_REQUEST, path, "At most %d conditions are accepted.", FILTER_MAX_CONDITIONS);
    if (!refuse_unknown_members(reader->arena, json, known, path, err))
        return false;
    const char *field = json_get_text(json, "field");
    const char *operator_name = json_get_text(json, "operator");
    if (field == NULL)
        return fail(err, ERR_INVALID_REQUEST, path_of(reader->arena, path, "field"), "A condition names a field, as text.");
    if (operator_name == NULL)
        return fail(err, ERR_INVALID_REQUEST, path_of(reader->arena, path, "operator"), "A condition names an operator, as text.");
    if (condition->given == NULL)
        return fail(err, ERR_INVALID_REQUEST, path_of(reader->arena, path, "value"), "A condition needs a value.");
    return read_field(reader, field, condition, err) && read_operator(reader, operator_name, condition, err);
}

/* ---- Reading groups ---- */

static bool read_node(struct reader *reader, const json_t *json, const char *path, unsigned depth, struct filter *ret_node,
                      struct error *err);

static bool read_children(struct reader *reader, const json_t *list, const char *path, unsigned depth, struct filter *group,
                          struct error *err)
{
    if (depth > FILTER_MAX_DEPTH)
        return fail(err, ERR_INVALID_REQUEST, path, "Groups of conditions nest at most %d deep.", FILTER_MAX_DEPTH);
    if (json_array_size(list) > FILTER_MAX_CONDITIONS)
        return fail(err, ERR_INVALID_REQUEST, path, "At most %d conditions are accepted.", FILTER_MAX_CONDITIONS);
    group->is_group = true;
    group->count = json_array_size(list);
    group->children = arena_array(reader->arena, group->count, sizeof(*group->children));
    for (size_t i = 0; i < group->count; i++) {
        const char *child_path = arena_printf(reader->arena, "%s.%zu", path, i);
        if (!read_node(reader, json_array_get(list, i), child_path, depth, &group->children[i], err))
            return false;
    }
    return true;
}

static bool read_logic(const char *logic, const char *path, const char **ret_joint, struct error *err)
{
    if (logic != NULL && strcmp(logic, "and") == 0)
        *ret_joint = " and ";
    else if (logic != NULL && strcmp(logic, "or") == 0)
        *ret_joint = " or ";
    else
        return fail(err, ERR_INVALID_REQUEST, path, "The logic of a group is and or or.");
    return true;
}

static bool read_group(struct reader *reader, const json_t *json, const char *path, const char *logic, unsigned depth,
                       struct filter *group, struct error *err)
{
    static const char *const known[] = { "logic", "filters", NULL };
    const json_t *own_logic = json_object_get(json, "logic");
    const json_t *list = json_object_get(json, "filters");
    if (!refuse_unknown_members(reader->arena, json, known, path, err) ||
        !read_logic(own_logic != NULL ? json_string_value(own_logic) : logic, path_of(reader->arena, path, "logic"), &group->joint,
                    err))
        return false;
    const char *list_path = path_of(reader->arena, path, "filters");
    if (!json_is_array(list))
        return fail(err, ERR_INVALID_REQUEST, list_path, "A group holds its conditions in the array filters.");
    return read_children(reader, list, list_path, depth, group, err);
}

static bool read_node(struct reader *reader, const json_t *json, const char *path, unsigned depth, struct filter *ret_node,
                      struct error *err)
{
    if (!json_is_object(json))
        return fail(err, ERR_INVALID_REQUEST, path, "A filter is an object: a condition or a group.");
    if (json_object_get(json, "filters") != NULL || json_object_get(json, "logic") != NULL)
        return read_group(reader, json, path, "and", depth + 1, ret_node, err);
    return read_condition(reader, json, path, &ret_node->condition, err);
}

bool filter_read(struct arena *arena, const json_t *json, const char *param, const char *logic, const struct filter **ret_filter,
                 struct error *err)
{
    struct reader reader = { .arena = arena };
    struct filter *root = arena_alloc(arena, sizeof(*root));
    const char *outer = logic != NULL ? logic : "and";
    bool ok = json_is_array(json)
                  ? read_logic(outer, "logic", &root->joint, err) && read_children(&reader, json, param, 1, root, err)
                  : read_group(&reader, json, param, outer, 1, root, err);
    *ret_filter = root;
    return ok;
}

bool filter_uses_custom_fields(const struct filter *filter)
{
    if (!filter->is_group)
        return filter->condition.field->kind == VALUE_CUSTOM;
    for (size_t i = 0; i < filter->count; i++)
        if (filter_uses_custom_fields(&filter->children[i]))
            return true;
    return false;
}

/* ---- Compiling ---- */

static bool wrong_value(const struct filter_condition *condition, struct arena *arena, const char *holds, struct error *err)
{
    return fail(err, ERR_INVALID_REQUEST, path_of(arena, condition->path, "value"), "This field is compared with %s.", holds);
}

/* Tools send "true" for true. */
static bool truth_of(const json_t *value, bool *ret_truth)
{
    const char *text = json_string_value(value);
    *ret_truth = json_is_true(value) || (text != NULL && strcmp(text, "true") == 0);
    return json_is_boolean(value) || (text != NULL && (*ret_truth || strcmp(text, "false") == 0));
}

static bool add_address(const struct filter_condition *condition, struct search_sql *sql, struct error *err)
{
    struct address address;
    const char *text = json_string_value(condition->given);
    if (text == NULL)
        return wrong_value(condition, sql->arena, "an email address", err);
    if (!address_parse(sql->arena, text_trim(sql->arena, text), path_of(sql->arena, condition->path, "value"), &address, err))
        return false;
    search_sql_text(sql, address.key);
    return true;
}

static bool add_core_value(const struct filter_condition *condition, struct search_sql *sql, struct error *err)
{
    bool truth;
    int64_t time_us;
    const char *text = json_string_value(condition->given);
    switch (condition->field->kind) {
    case VALUE_ADDRESS:
        return add_address(condition, sql, err);
    case VALUE_TEXT:
        if (text == NULL)
            return wrong_value(condition, sql->arena, "a text", err);
        search_sql_text(sql, text);
        return true;
    case VALUE_TRUTH:
        if (!truth_of(condition->given, &truth))
            return wrong_value(condition, sql->arena, "true or false", err);
        search_sql_truth(sql, truth);
        return true;
    case VALUE_TIME:
        if (text == NULL || !clock_parse_iso(text, &time_us))
            return wrong_value(condition, sql->arena, "a time: ISO 8601 with a zone", err);
        search_sql_time(sql, time_us - time_us % US_PER_MS);
        return true;
    case VALUE_CUSTOM:
        break;
    }
    return wrong_value(condition, sql->arena, "nothing", err);
}

/* {"plan": "gold"}, with the value as it is stored. */
static bool add_custom_value(const struct filter_condition *condition, enum field_type type, struct search_sql *sql,
                             struct error *err)
{
    enum { MEMBER_MAX_BYTES = 1024 * 1024 };
    bool truth;
    const json_t *value = condition->given;
    if (type == FIELD_BOOL && truth_of(value, &truth))
        value = truth ? json_true() : json_false();
    struct buf *out = buf_in_arena(sql->arena, MEMBER_MAX_BYTES);
    struct json_writer json;
    json_writer_init(&json, out);
    json_object_begin(&json);
    json_key(&json, condition->custom_name);
    if (!field_value_write(value, type, &json) || out->overflowed)
        return wrong_value(condition, sql->arena, field_type_holds(type), err);
    json_object_end(&json);
    search_sql_jsonb(sql, buf_text(out));
    return true;
}

static bool compile_condition(const struct filter_condition *condition, const json_t *field_types, struct search_sql *sql,
                              struct error *err)
{
    search_sql_add(sql, condition->field->column);
    if (condition->field->kind != VALUE_CUSTOM) {
        search_sql_add(sql, condition->comparison->between);
        return add_core_value(condition, sql, err);
    }
    enum field_type type = (enum field_type)json_get_int(field_types, condition->custom_name, FIELD_NONE);
    if (type == FIELD_NONE)
        return fail(err, ERR_INVALID_REQUEST, path_of(sql->arena, condition->path, "field"), "Contacts have no field %.64s.",
                    condition->custom_name);
    search_sql_add(sql, condition->comparison->between_custom);
    return add_custom_value(condition, type, sql, err);
}

bool filter_compile(const struct filter *filter, const json_t *field_types, struct search_sql *sql, struct error *err)
{
    if (!filter->is_group)
        return compile_condition(&filter->condition, field_types, sql, err);
    if (filter->count == 0) {
        search_sql_add(sql, "true");
        return true;
    }
    search_sql_add(sql, "(");
    for (size_t i = 0; i < filter->count; i++) {
        if (i > 0)
            search_sql_add(sql, filter->joint);
        if (!filter_compile(&filter->children[i], field_types, sql, err))
            return false;
    }
    search_sql_add(sql, ")");
    return true;
}
