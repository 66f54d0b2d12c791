#include "engine/hits/hit_overrides.h"

#include "base/text.h"
#include "engine/hits/hit_matches.h"
#include "sql/hit_overrides.h"

#include <string.h>

/* ---- Loading ---- */

/* The class with a name; NULL: this program does not have it. */
static struct hit_class *class_of(struct hit_class *classes, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(classes[i].name, name) == 0)
            return &classes[i];
    return NULL;
}

static struct hit_class *copy_classes(struct arena *arena, const struct hit_class *classes, size_t count)
{
    struct hit_class *copy = arena_array(arena, count, sizeof(*copy));
    memcpy(copy, classes, count * sizeof(*copy));
    return copy;
}

static void apply(struct hit_class *class, const struct hit_overrides_find_row *row)
{
    const char *actor = strcmp(row->actor, "facts") == 0 ? NULL : row->actor;
    if (strcmp(row->kind, "open") == 0)
        class->open = actor;
    else
        class->click = actor;
}

static bool load(const struct work *work, struct hit_rules *ret_rules, struct hit_overrides_find_row **ret_rows, size_t *ret_count,
                 struct error *err)
{
    *ret_rules = hit_rules_built_in;
    struct hit_class *agents = copy_classes(work->arena, ret_rules->agents, ret_rules->agent_count);
    struct hit_class *networks = copy_classes(work->arena, ret_rules->networks, ret_rules->network_count);
    if (!sql_hit_overrides_find(work->conn, work->arena, ret_rows, ret_count, err))
        return false;
    for (size_t i = 0; i < *ret_count; i++) {
        const struct hit_overrides_find_row *row = &(*ret_rows)[i];
        bool is_agent = text_equal(row->fact, "agent");
        struct hit_class *class = row->fact == NULL ? NULL
                                  : is_agent        ? class_of(agents, ret_rules->agent_count, row->class_name)
                                                    : class_of(networks, ret_rules->network_count, row->class_name);
        if (class != NULL)
            apply(class, row);
        ret_rules->version = hit_rules_built_in.version + (int)row->revision;
    }
    ret_rules->agents = agents;
    ret_rules->networks = networks;
    return true;
}

bool hit_rules_load(const struct work *work, struct hit_rules *ret_rules, struct error *err)
{
    struct hit_overrides_find_row *rows;
    size_t count;
    return load(work, ret_rules, &rows, &count, err) && hit_matches_load(work, &ret_rules->matcher, err);
}

/* ---- Changes ---- */

static bool has_class(const struct hit_class *classes, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(classes[i].name, name) == 0)
            return true;
    return false;
}

static bool read_subject(const char *subject, const char **ret_fact, const char **ret_class, struct error *err)
{
    const struct hit_rules *rules = &hit_rules_built_in;
    const char *colon = strchr(subject, ':');
    *ret_class = colon != NULL ? colon + 1 : "";
    *ret_fact = text_starts_with(subject, "agent:") ? "agent" : "network";
    bool is_known = text_starts_with(subject, "agent:")     ? has_class(rules->agents, rules->agent_count, *ret_class)
                    : text_starts_with(subject, "network:") ? has_class(rules->networks, rules->network_count, *ret_class)
                                                            : false;
    return is_known ||
           fail(err, ERR_INVALID_REQUEST, "class",
                "%.60s is not a class; name it as agent:CLASS or network:CLASS. posthorn admin hit-rule list shows them.", subject);
}

static bool check_kind(const char *kind, struct error *err)
{
    return strcmp(kind, "open") == 0 || strcmp(kind, "click") == 0 ||
           fail(err, ERR_INVALID_REQUEST, "kind", "The kind must be open or click.");
}

static bool read_decision(struct arena *arena, const char *decision, const char **ret_kind, const char **ret_actor,
                          struct error *err)
{
    static const char *const actors[] = { "human", "proxy", "bot", "facts" };
    const char *equals = strchr(decision, '=');
    *ret_actor = equals != NULL ? equals + 1 : "";
    *ret_kind = equals != NULL ? arena_dup_bytes(arena, decision, (size_t)(equals - decision)) : decision;
    if (!check_kind(*ret_kind, err))
        return false;
    for (size_t i = 0; i < ARRAY_COUNT(actors); i++)
        if (strcmp(actors[i], *ret_actor) == 0)
            return true;
    return fail(err, ERR_INVALID_REQUEST, "actor", "The actor must be human, proxy, bot or facts, as in click=bot.");
}

bool hit_override_set(const struct work *work, const char *subject, const char *decision, struct error *err)
{
    struct hit_override_set_params params = { .now = work->now_us };
    return read_subject(subject, &params.fact, &params.class_name, err) &&
           read_decision(work->arena, decision, &params.kind, &params.actor, err) &&
           sql_hit_override_set(work->conn, work->arena, &params, NULL, err);
}

bool hit_override_remove(const struct work *work, const char *subject, const char *kind, struct error *err)
{
    struct hit_override_remove_params params = { .kind = kind };
    struct hit_override_remove_row *row;
    if (!read_subject(subject, &params.fact, &params.class_name, err) || !check_kind(kind, err) ||
        !sql_hit_override_remove(work->conn, work->arena, &params, &row, err))
        return false;
    return row != NULL || fail(err, ERR_NOT_FOUND, "class", "The operator has no rule for this class and kind.");
}

/* ---- Listing ---- */

static void write_classes(struct json_writer *json, const char *fact, const struct hit_class *classes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        json_object_begin(json);
        json_member_text(json, "fact", fact);
        json_member_text(json, "class", classes[i].name);
        json_member_text(json, "open", classes[i].open != NULL ? classes[i].open : "facts");
        json_member_text(json, "click", classes[i].click != NULL ? classes[i].click : "facts");
        json_object_end(json);
    }
}

static void write_override(struct json_writer *json, const struct hit_overrides_find_row *row)
{
    json_object_begin(json);
    json_member_text(json, "fact", row->fact);
    json_member_text(json, "class", row->class_name);
    json_member_text(json, "kind", row->kind);
    json_member_text(json, "actor", row->actor);
    json_member_time(json, "createdAt", row->created_at.value);
    json_object_end(json);
}

bool hit_rules_write(const struct work *work, struct json_writer *json, struct error *err)
{
    struct hit_rules rules;
    struct hit_overrides_find_row *rows;
    size_t count;
    if (!load(work, &rules, &rows, &count, err))
        return false;
    json_object_begin(json);
    json_member_int(json, "version", rules.version);
    json_key(json, "data");
    json_array_begin(json);
    for (size_t i = 0; i < count; i++)
        if (rows[i].fact != NULL)
            write_override(json, &rows[i]);
    json_array_end(json);
    json_key(json, "classes");
    json_array_begin(json);
    write_classes(json, "agent", rules.agents, rules.agent_count);
    write_classes(json, "network", rules.networks, rules.network_count);
    json_array_end(json);
    bool ok = hit_matches_write(work, json, err);
    json_object_end(json);
    return ok;
}
