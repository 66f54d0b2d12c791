/*
 * Blockers of values: placeholders and conditions that name members of the payload
 * which the contract of the trigger does not declare. A placeholder with a default
 * needs no value. Declared members that may be absent give warnings.
 */
#include "engine/automations/value_blockers.h"

#include "base/json_read.h"
#include "base/text.h"
#include "engine/compose/merge_fields.h"
#include "engine/contracts/contract.h"
#include "template/value.h"

#include <stdlib.h>
#include <string.h>

enum { NAMES_SHOWN = 10, NAMES_KEPT = 100 };

enum payload_kind {
    PAYLOAD_UNKNOWN, /* the trigger event does not exist, which is a blocker of its own */
    PAYLOAD_NONE,    /* runs of a launch have no payload */
    PAYLOAD_DECLARED,
};

struct value_check {
    const struct work *work;
    const struct graph *graph;
    const struct graph_refs *refs;
    enum payload_kind kind;
    struct contract contract;
};

enum value_state { VALUE_SURE, VALUE_OPTIONAL, VALUE_NONE };

/* ---- The contract ---- */

static bool read_contract(struct value_check *check, struct error *err)
{
    const struct graph_node *trigger = &check->graph->nodes[check->graph->trigger];
    if (text_equal(node_config_text(trigger, "mode"), "manualAudience")) {
        check->kind = PAYLOAD_NONE;
        return true;
    }
    const struct graph_refs_row *event = graph_ref(check->refs, "trigger", node_event_id(check->work, trigger));
    if (event == NULL)
        return true;
    const json_t *fields;
    check->kind = PAYLOAD_DECLARED;
    return json_read(check->work->arena, event->fields, strlen(event->fields), (struct json_bounds){ .max_bytes = SIZE_MAX },
                     &fields, err) &&
           contract_read(check->work, fields, "fields", event->is_stored, &check->contract, err);
}

static enum value_state state_of_field(const struct contract *contract, const char *path, bool *ret_is_open)
{
    const struct contract_field *field = contract_find(contract, path, ret_is_open);
    if (field == NULL)
        return *ret_is_open ? VALUE_SURE : VALUE_NONE;
    return field->is_required || field->fallback != NULL ? VALUE_SURE : VALUE_OPTIONAL;
}

/* The state of a dotted path. Below an optional object, a member without a fallback is optional, too. */
static enum value_state state_of(const struct value_check *check, const char *path)
{
    if (check->kind != PAYLOAD_DECLARED)
        return check->kind == PAYLOAD_NONE ? VALUE_NONE : VALUE_SURE;
    bool is_open;
    enum value_state state = state_of_field(&check->contract, path, &is_open);
    const struct contract_field *field = contract_find(&check->contract, path, &is_open);
    bool has_fallback = field != NULL && field->fallback != NULL;
    for (const char *dot = strchr(path, '.'); dot != NULL && state == VALUE_SURE && !has_fallback; dot = strchr(dot + 1, '.'))
        state = state_of_field(&check->contract, arena_dup_bytes(check->work->arena, path, (size_t)(dot - path)), &is_open);
    return state;
}

/* ---- Paths of templates ---- */

/* A path of a template as the contract writes it, up to the first item of a list: .order["total"] as order.total. */
static const char *dotted(struct arena *arena, const char *path)
{
    const char *result = "";
    while (*path != '\0') {
        bool is_quoted = path[0] == '[' && path[1] == '"';
        const char *name = is_quoted ? path + 2 : path + (*path == '.');
        const char *end = is_quoted ? strstr(name, "\"]") : name + template_root_size(name);
        if (end == NULL || end == name)
            break;
        result =
            arena_printf(arena, "%s%s%s", result, *result != '\0' ? "." : "", arena_dup_bytes(arena, name, (size_t)(end - name)));
        path = is_quoted ? end + 2 : end;
    }
    return result;
}

/* Names of placeholders, each once. */
struct names {
    const char *items[NAMES_KEPT];
    size_t count;
    bool has_more;
};

static void add_name(struct names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->items[i], name) == 0)
            return;
    names->has_more = names->count == NAMES_KEPT;
    if (!names->has_more)
        names->items[names->count++] = name;
}

/* Placeholders without a default, by the reason why they may be empty. */
struct gaps {
    struct names undeclared; /* of the payload */
    struct names optional;   /* of the payload */
    struct names unknown;    /* neither of the payload nor of the contact */
};

static int compare_names(const void *left, const void *right)
{
    return strcmp(left, *(const char *const *)right);
}

static bool is_contact_field(const struct value_check *check, const char *name)
{
    const struct graph_refs_row *fields = graph_ref(check->refs, "fields", 0);
    return fields != NULL && fields->names.count > 0 &&
           bsearch(name, fields->names.items, fields->names.count, sizeof(*fields->names.items), compare_names) != NULL;
}

static void judge_path(const struct value_check *check, const char *path, const struct merge_field *field, const char *custom_field,
                       struct gaps *gaps)
{
    if (field->kind == MERGE_PAYLOAD) {
        const char *member = dotted(check->work->arena, field->rest);
        enum value_state state = *member != '\0' ? state_of(check, member) : VALUE_SURE;
        if (state != VALUE_SURE)
            add_name(state == VALUE_NONE ? &gaps->undeclared : &gaps->optional, path);
    } else if (field->bare != NULL && field->kind == MERGE_FIELD && check->kind != PAYLOAD_UNKNOWN &&
               state_of(check, dotted(check->work->arena, path)) == VALUE_NONE && !is_contact_field(check, custom_field)) {
        add_name(&gaps->unknown, path);
    }
}

static void find_gaps(const struct value_check *check, const struct template *template, struct gaps *gaps)
{
    struct merge_custom_fields fields = { .count = 0 };
    const struct merge_field *merge_fields = merge_fields_resolve(check->work->arena, template, &fields);
    for (size_t i = 0; i < template_path_count(template); i++) {
        struct gaps of_path = { .undeclared.count = 0 };
        if (!template_path_is_listed(template, i))
            continue;
        const char *custom_field = merge_fields[i].kind == MERGE_FIELD ? fields.names[merge_fields[i].field] : "";
        judge_path(check, template_path(template, i), &merge_fields[i], custom_field, &of_path);
        bool is_gap = of_path.undeclared.count + of_path.optional.count + of_path.unknown.count > 0;
        if (is_gap && template_path_default(template, i) == NULL)
            judge_path(check, template_path(template, i), &merge_fields[i], custom_field, gaps);
    }
}

/* Code of an older version of the template engine is not judged. */
static void find_gaps_of_code(const struct value_check *check, struct bytes code, struct gaps *gaps)
{
    struct template template;
    struct error ignored = { .code = ERR_NONE };
    if (template_load(code, &template, &ignored))
        find_gaps(check, &template, gaps);
}

static void find_gaps_of_text(const struct value_check *check, const char *text, struct gaps *gaps)
{
    struct bytes code;
    struct error ignored = { .code = ERR_NONE };
    if (text != NULL && template_compile(check->work->arena, TEMPLATE_HEADER, text, strlen(text), &code, &ignored))
        find_gaps_of_code(check, code, gaps);
}

/* ---- Designs ---- */

/* Whether a path may be of the payload, or of nothing. */
static bool is_doubtful(const char *path)
{
    static const char *const certain[] = { "contact", "brand",     "customFields", "unsubscribeUrl",
                                           "email",   "firstName", "lastName",     "userId" };
    size_t size = template_root_size(path);
    for (size_t i = 0; i < ARRAY_COUNT(certain); i++)
        if (strlen(certain[i]) == size && memcmp(certain[i], path, size) == 0)
            return false;
    return true;
}

static bool has_doubtful_path(const struct graph_refs_row *version)
{
    for (size_t i = 0; i < version->names.count; i++)
        if (is_doubtful(version->names.items[i]))
            return true;
    return false;
}

/* The templates of the versions that have doubtful paths, by id. */
static bool load_codes(const struct value_check *check, struct graph_codes_row **ret_rows, struct db_page *ret_found,
                       struct error *err)
{
    int64_t *ids = arena_array(check->work->arena, check->refs->count, sizeof(*ids));
    size_t count = 0;
    for (size_t i = 0; i < check->refs->count; i++) {
        const struct graph_refs_row *row = &check->refs->rows[i];
        if (text_equal(row->kind, "version") && has_doubtful_path(row))
            ids[count++] = row->id;
    }
    *ret_found = (struct db_page){ .count = 0 };
    struct graph_codes_params params = { .brand_id = check->work->brand_id, .version_ids = { .items = ids, .count = count } };
    return count == 0 || sql_graph_codes(check->work->conn, check->work->arena, &params, ret_rows, ret_found, err);
}

static const char *shown(struct arena *arena, const struct names *names)
{
    const char *text = "";
    for (size_t i = 0; i < names->count && i < NAMES_SHOWN; i++)
        text = arena_printf(arena, "%s%s{{ %s }}", text, i > 0 ? ", " : "", names->items[i]);
    return names->count > NAMES_SHOWN || names->has_more ? arena_printf(arena, "%s and others", text) : text;
}

static void tell_gaps(const struct value_check *check, const struct graph_node *node, const struct gaps *gaps,
                      struct blockers *blockers)
{
    struct arena *arena = check->work->arena;
    if (gaps->undeclared.count > 0)
        blocker_add(blockers, node, false,
                    "The payload has no field for %s. Declare it in the contract of the trigger, or give the "
                    "placeholder a default.",
                    shown(arena, &gaps->undeclared));
    if (gaps->optional.count > 0)
        blocker_add(blockers, node, true, "The payload may lack %s. Give the field a fallbackValue, or the placeholder a default.",
                    shown(arena, &gaps->optional));
    if (gaps->unknown.count > 0)
        blocker_add(blockers, node, true, "Neither the payload nor the contacts of the brand have %s.",
                    shown(arena, &gaps->unknown));
}

static void check_mail_values(const struct value_check *check, const struct graph_node *node, const struct graph_codes_row *codes,
                              size_t code_count, struct blockers *blockers)
{
    struct gaps *gaps = arena_alloc(check->work->arena, sizeof(*gaps));
    int64_t version_id = node_config_id(check->work, node, ID_VERSION, "emailVersionId");
    for (size_t i = 0; i < code_count; i++) {
        if (codes[i].id != version_id)
            continue;
        find_gaps_of_code(check, codes[i].html_code, gaps);
        find_gaps_of_code(check, codes[i].text_code, gaps);
    }
    find_gaps_of_text(check, node_config_text(node, "subject"), gaps);
    find_gaps_of_text(check, node_config_text(node, "previewText"), gaps);
    tell_gaps(check, node, gaps, blockers);
}

/* ---- Conditions and dates ---- */

static bool is_undeclared(const struct value_check *check, const char *field)
{
    return field != NULL && text_starts_with(field, "payload.") && state_of(check, field + strlen("payload.")) == VALUE_NONE;
}

static void check_conditions(const struct value_check *check, const struct graph_node *node, const json_t *group,
                             struct blockers *blockers)
{
    const json_t *conditions = json_object_get(group, "conditions");
    for (size_t i = 0; i < json_array_size(conditions); i++) {
        const char *field = json_get_text(json_array_get(conditions, i), "field");
        if (is_undeclared(check, field))
            blocker_add(blockers, node, true, "A condition compares %s, which the payload does not have.", field);
    }
}

static void check_date(const struct value_check *check, const struct graph_node *node, struct blockers *blockers)
{
    const char *field = json_get_text(json_object_get(node->given, "until"), "field");
    if (is_undeclared(check, field))
        blocker_add(blockers, node, false, "The node waits until %s, which the payload does not have.", field);
}

bool value_blockers_find(const struct work *work, const struct graph *graph, const struct graph_refs *refs,
                         struct blockers *blockers, struct error *err)
{
    struct value_check check = { .work = work, .graph = graph, .refs = refs };
    struct graph_codes_row *codes = NULL;
    struct db_page found;
    if (!read_contract(&check, err) || !load_codes(&check, &codes, &found, err))
        return false;
    for (size_t i = 0; i < graph->node_count; i++) {
        const struct graph_node *node = &graph->nodes[i];
        if (node->type == NODE_SEND_EMAIL)
            check_mail_values(&check, node, codes, found.count, blockers);
        check_conditions(&check, node, node->given, blockers);
        check_conditions(&check, node, json_object_get(node->given, "exit"), blockers);
        check_date(&check, node, blockers);
    }
    if (found.is_cut)
        blocker_add(blockers, NULL, true, "The designs are large, so the placeholders of some were not checked.");
    return true;
}
