#include "engine/filters/filter_tree.h"

#include "base/json_read.h"
#include "base/nearest.h"
#include "base/text.h"

#include <string.h>

/* ---- Fields ---- */

struct core_field {
    const char *name;
    const char *column; /* SQL */
    enum filter_type type;
};

static const struct core_field core_fields[] = {
    { "email", "c.email_key", TYPE_ADDRESS },   { "firstName", "c.first_name", TYPE_TEXT },
    { "lastName", "c.last_name", TYPE_TEXT },   { "userId", "c.user_id", TYPE_TEXT },
    { "source", "c.source", TYPE_TEXT },        { "subscribed", "c.subscribed", TYPE_TRUTH },
    { "createdAt", "c.created_at", TYPE_DATE }, { "updatedAt", "c.updated_at", TYPE_DATE },
};

static const char *const event_types[] = { "sent", "delivered", "opened", "clicked", "bounced", "complained", "unsubscribed" };
const struct text_list filter_event_types = { event_types, ARRAY_COUNT(event_types) };

static const char audience_field[] = "audience";
/* Custom fields are named alone, or after one of these. A name contains no dot, so there is no other meaning. */
static const char *const custom_prefixes[] = { "customFields.", "custom_fields.", "fields." };
static const char group_prefix[] = "subscriptionGroups.";
static const char activity_prefix[] = "activity.";

struct reader {
    const struct work *work;
    struct arena *arena;
    size_t condition_count;
};

static const char *member_path(struct reader *reader, const char *path, const char *member)
{
    return arena_printf(reader->arena, "%s.%s", path, member);
}

static bool refuse_unknown_members(struct reader *reader, const json_t *object, const char *const *known, const char *path,
                                   struct error *err)
{
    const char *name;
    json_t *ignored;
    json_object_foreach (json_for_iteration(object), name, ignored) {
        size_t i = 0;
        while (known[i] != NULL && strcmp(known[i], name) != 0)
            i++;
        if (known[i] == NULL)
            return fail(err, ERR_INVALID_REQUEST, member_path(reader, path, name), "%.60s is not a known key of a filter.", name) ||
                   error_suggest_name(err, name, known, i);
    }
    return true;
}

/* ---- Reading a field ---- */

static bool read_core_field(const char *name, struct filter_condition *condition)
{
    for (size_t i = 0; i < ARRAY_COUNT(core_fields); i++) {
        if (strcmp(core_fields[i].name, name) != 0)
            continue;
        condition->subject = SUBJECT_COLUMN;
        condition->column = core_fields[i].column;
        condition->type = core_fields[i].type;
        return true;
    }
    return false;
}

static bool error_suggest_activity(struct error *err, const char *event_type)
{
    const char *nearest = name_nearest(event_type, event_types, ARRAY_COUNT(event_types));
    return nearest != NULL && error_suggest(err, "Use %s%s.", activity_prefix, nearest);
}

static bool read_activity(struct reader *reader, const char *event_type, struct filter_condition *condition, struct error *err)
{
    condition->subject = SUBJECT_ACTIVITY;
    condition->type = TYPE_COUNT;
    for (size_t i = 0; i < ARRAY_COUNT(event_types); i++)
        if (strcmp(event_types[i], event_type) == 0)
            condition->name = event_types[i];
    return condition->name != NULL ||
           fail(err, ERR_INVALID_REQUEST, member_path(reader, condition->path, "field"),
                "The activity must be sent, delivered, opened, clicked, bounced, complained or unsubscribed.") ||
           error_suggest_activity(err, event_type);
}

static bool read_group_field(struct reader *reader, const char *group, struct filter_condition *condition, struct error *err)
{
    condition->subject = SUBJECT_GROUP;
    condition->type = TYPE_TRUTH;
    condition->name = group;
    return group[0] != '\0' || fail(err, ERR_INVALID_REQUEST, member_path(reader, condition->path, "field"),
                                    "field must name a subscription group: subscriptionGroups.<id>.");
}

/* Other spellings of a core field's name are normalized: first_name is firstName. */
static bool read_normalized_core_field(struct reader *reader, const char *given, struct filter_condition *condition)
{
    const char *name = NULL;
    struct error why;
    bool can_be_custom = field_name_normalize(reader->arena, given, &name, &why);
    return (can_be_custom || name != NULL) && read_core_field(name, condition);
}

static bool read_custom_field(struct reader *reader, const char *given, struct filter_condition *condition, struct error *err)
{
    condition->subject = SUBJECT_CUSTOM;
    if (field_name_normalize(reader->arena, given, &condition->name, err))
        return true;
    return error_set_param(err, "%s.field", condition->path);
}

static bool read_condition_field(struct reader *reader, const char *name, struct filter_condition *condition, struct error *err)
{
    if (read_core_field(name, condition))
        return true;
    if (strcmp(name, audience_field) == 0) {
        condition->subject = SUBJECT_AUDIENCE;
        condition->type = TYPE_MEMBERSHIP;
        return true;
    }
    if (text_starts_with(name, activity_prefix))
        return read_activity(reader, name + strlen(activity_prefix), condition, err);
    if (text_starts_with(name, group_prefix))
        return read_group_field(reader, name + strlen(group_prefix), condition, err);
    for (size_t i = 0; i < ARRAY_COUNT(custom_prefixes); i++)
        if (text_starts_with(name, custom_prefixes[i]))
            return read_custom_field(reader, name + strlen(custom_prefixes[i]), condition, err);
    return read_normalized_core_field(reader, name, condition) || read_custom_field(reader, name, condition, err);
}

bool filter_suggest_field(struct arena *arena, const json_t *field_types, const char *name, struct error *err)
{
    size_t most = ARRAY_COUNT(core_fields) + 1 + json_object_size(field_types) + ARRAY_COUNT(event_types);
    const char **names = arena_array(arena, most, sizeof(*names));
    size_t count = 0;
    for (size_t i = 0; i < ARRAY_COUNT(core_fields); i++)
        names[count++] = core_fields[i].name;
    names[count++] = audience_field;
    const char *custom;
    json_t *type;
    json_object_foreach (json_for_iteration(field_types), custom, type)
        names[count++] = custom;
    for (size_t i = 0; i < ARRAY_COUNT(event_types); i++)
        names[count++] = arena_printf(arena, "%s%s", activity_prefix, event_types[i]);
    return error_suggest_name(err, name, names, count);
}

/* ---- Reading a condition ---- */

static bool read_audiences(struct reader *reader, struct filter_condition *condition, struct error *err)
{
    struct text_list texts;
    if (!filter_value_texts(condition, reader->arena, &texts, err))
        return false;
    int64_t *ids = arena_array(reader->arena, texts.count, sizeof(*ids));
    for (size_t i = 0; i < texts.count; i++)
        ids[i] = id_decode(&reader->work->engine->ids, ID_AUDIENCE, texts.items[i]);
    condition->audiences = (struct int_list){ ids, texts.count };
    return true;
}

static bool read_window(struct reader *reader, const json_t *days, struct filter_condition *condition, struct error *err)
{
    if (days == NULL || json_is_null(days))
        return true;
    condition->within_days = json_is_integer(days) ? json_integer_value(days) : 0;
    return (condition->within_days >= 1 && condition->within_days <= FILTER_MAX_DAYS) ||
           fail(err, ERR_INVALID_REQUEST, member_path(reader, condition->path, "withinDays"),
                "withinDays must be a whole number from 1 to %d.", FILTER_MAX_DAYS);
}

static bool read_members(struct reader *reader, const json_t *json, struct filter_condition *condition, struct error *err)
{
    static const char *const known[] = { "field", "operator", "value", NULL };
    static const char *const known_of_activity[] = { "field", "operator", "value", "withinDays", NULL };
    const char *field = json_get_text(json, "field");
    condition->operator_name = json_get_text(json, "operator");
    condition->value = json_object_get(json, "value");
    bool is_activity = field != NULL && text_starts_with(field, activity_prefix);
    if (!refuse_unknown_members(reader, json, is_activity ? known_of_activity : known, condition->path, err))
        return false;
    if (field == NULL)
        return fail(err, ERR_INVALID_REQUEST, member_path(reader, condition->path, "field"),
                    "A condition needs a field, as a string.");
    if (condition->operator_name == NULL)
        return fail(err, ERR_INVALID_REQUEST, member_path(reader, condition->path, "operator"),
                    "A condition needs an operator, as a string.");
    return read_condition_field(reader, field, condition, err) &&
           (!is_activity || read_window(reader, json_object_get(json, "withinDays"), condition, err)) &&
           (condition->subject != SUBJECT_AUDIENCE || read_audiences(reader, condition, err));
}

static bool read_condition(struct reader *reader, const json_t *json, const char *path, struct filter_condition *condition,
                           struct error *err)
{
    condition->path = path;
    if (++reader->condition_count > FILTER_MAX_CONDITIONS)
        return fail(err, ERR_INVALID_REQUEST, path, "A filter can have at most %d conditions.", FILTER_MAX_CONDITIONS);
    return read_members(reader, json, condition, err);
}

/* ---- Reading groups ---- */

static bool read_node(struct reader *reader, const json_t *json, const char *path, unsigned depth, struct filter *ret_node,
                      struct error *err);

static bool read_children(struct reader *reader, const json_t *list, const char *path, unsigned depth, struct filter *group,
                          struct error *err)
{
    if (depth > FILTER_MAX_DEPTH)
        return fail(err, ERR_INVALID_REQUEST, path, "Groups can be nested at most %d levels deep.", FILTER_MAX_DEPTH);
    if (json_array_size(list) > FILTER_MAX_CONDITIONS)
        return fail(err, ERR_INVALID_REQUEST, path, "A filter can have at most %d conditions.", FILTER_MAX_CONDITIONS);
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
        return fail(err, ERR_INVALID_REQUEST, path, "The logic of a group must be 'and' or 'or'.");
    return true;
}

static bool read_group(struct reader *reader, const json_t *json, const char *path, const char *logic, unsigned depth,
                       struct filter *group, struct error *err)
{
    static const char *const known[] = { "logic", "filters", NULL };
    const json_t *own_logic = json_object_get(json, "logic");
    const json_t *list = json_object_get(json, "filters");
    if (!refuse_unknown_members(reader, json, known, path, err) ||
        !read_logic(own_logic != NULL ? json_string_value(own_logic) : logic, member_path(reader, path, "logic"), &group->joint,
                    err))
        return false;
    const char *list_path = member_path(reader, path, "filters");
    if (!json_is_array(list))
        return fail(err, ERR_INVALID_REQUEST, list_path, "A group needs its conditions in an array named filters.") ||
               error_suggest(err, "Use {\"logic\": \"and\", \"filters\": [{\"field\": …, \"operator\": …, \"value\": …}]}.");
    return read_children(reader, list, list_path, depth, group, err);
}

static bool read_node(struct reader *reader, const json_t *json, const char *path, unsigned depth, struct filter *ret_node,
                      struct error *err)
{
    if (!json_is_object(json))
        return fail(err, ERR_INVALID_REQUEST, path, "A filter must be an object: a condition or a group.");
    if (json_object_get(json, "filters") != NULL || json_object_get(json, "logic") != NULL)
        return read_group(reader, json, path, "and", depth + 1, ret_node, err);
    return read_condition(reader, json, path, &ret_node->condition, err);
}

bool filter_read(const struct work *work, const json_t *json, const char *param, const char *logic,
                 const struct filter **ret_filter, struct error *err)
{
    struct reader reader = { .work = work, .arena = work->arena };
    struct filter *root = arena_alloc(work->arena, sizeof(*root));
    const char *outer = logic != NULL ? logic : "and";
    bool is_bare_condition = json_object_get(json, "field") != NULL && json_object_get(json, "filters") == NULL;
    bool ok = json_is_array(json)
                  ? read_logic(outer, "logic", &root->joint, err) && read_children(&reader, json, param, 1, root, err)
              : is_bare_condition ? read_node(&reader, json, param, 1, root, err)
                                  : read_group(&reader, json, param, outer, 1, root, err);
    *ret_filter = root;
    return ok;
}

const struct filter *filter_of_audience(const struct work *work, int64_t audience_id, bool deleted_too, const char *param)
{
    int64_t *id = arena_alloc(work->arena, sizeof(*id));
    struct filter *filter = arena_alloc(work->arena, sizeof(*filter));
    *id = audience_id;
    filter->condition = (struct filter_condition){
        .path = param,
        .subject = SUBJECT_AUDIENCE,
        .type = TYPE_MEMBERSHIP,
        .operator_name = "in",
        .audiences = { id, 1 },
        .is_parameter = true,
        .deleted_too = deleted_too,
    };
    return filter;
}
