#include "types.h"
#include "words.h"

#include <string.h>

/* In the order of enum param_kind. */
static const char *const kind_names[] = { "ARG_TEXT",   "ARG_ID",   "ARG_INTEGER",   "ARG_NUMBER", "ARG_BOOLEAN",     "ARG_ENUM",
                                          "ARG_TOKENS", "ARG_TIME", "ARG_TEXT_LIST", "ARG_OBJECT", "ARG_OBJECT_LIST", "ARG_JSON" };
static const char *const place_names[] = { "ARG_IN_PATH", "ARG_IN_QUERY", "ARG_IN_BODY" };

static const char *enum_name(const char *prefix, const char *value, const char *otherwise)
{
    return text("%s_%s", prefix, upper_case(value != NULL ? value : otherwise));
}

static const char *true_or_false(bool value)
{
    return value ? "true" : "false";
}

/* ---- Arguments ---- */

static void put_names(struct output *out, const struct param *param)
{
    put(out, "const char *const %s_names[] = {\n", param->type_name);
    size_t i;
    const json_t *value;
    json_array_foreach (enum_values(param), i, value) {
        put(out, "    \"%s\",\n", json_string_value(value));
    }
    put(out, "    NULL,\n};\n\n");
}

static void put_sizes(struct output *out, const struct param *param)
{
    const json_t *schema = param->schema;
    bool is_text = param->kind == PARAM_TEXT;
    bool is_object = strcmp(member_text(schema, "type"), "object") == 0;
    const char *least = is_text ? "minLength" : is_object ? "minProperties" : "minItems";
    const char *most = is_text ? "maxLength" : is_object ? "maxProperties" : "maxItems";
    put(out, ", .min_size = %.0f, .max_size = %.0f", member_number(schema, least, 0), member_number(schema, most, 0));
    if (param->kind == PARAM_TEXT_LIST) {
        put(out, ", .max_item_size = %.0f", member_number(json_object_get(schema, "items"), "maxLength", 0));
    }
}

static void put_default(struct output *out, const struct param *param)
{
    const json_t *value = json_object_get(param->schema, "default");
    if (value == NULL) {
        return;
    }
    put(out, ", .has_default = true");
    if (param->kind == PARAM_ENUM) {
        put(out, ", .default_number = %s", enum_constant(param, json_string_value(value)));
    } else if (json_is_string(value)) {
        put(out, ", .default_text = ");
        put_c_string(out, json_string_value(value));
    } else {
        put(out, ", .default_number = %.17g", json_is_number(value) ? json_number_value(value) : json_is_true(value));
    }
}

/* The members of this kind of argument only. */
static void put_kind_members(struct output *out, const struct param *param)
{
    const json_t *schema = param->schema;
    switch (param->kind) {
    case PARAM_ID:
        put(out, ", .id_kind = ID_%s", upper_case(member_text(schema, "format") + strlen("id:")));
        return;
    case PARAM_INTEGER:
    case PARAM_NUMBER:
        put(out, ", .minimum = %.17g, .maximum = %.17g", member_number(schema, "minimum", 0), member_number(schema, "maximum", 0));
        return;
    case PARAM_ENUM:
    case PARAM_TOKENS:
        put(out, ", .enum_values = %s_names", param->type_name);
        return;
    case PARAM_TEXT:
    case PARAM_TEXT_LIST:
        put_sizes(out, param);
        return;
    case PARAM_OBJECT:
        put(out, ", .object = &%s_shape", param->type_name);
        return;
    case PARAM_OBJECT_LIST:
        put_sizes(out, param);
        put(out, ", .object = &%s_shape", param->type_name);
        return;
    case PARAM_JSON:
        put_sizes(out, param);
        put(out, ", .json_type = %s", strcmp(member_text(schema, "type"), "array") == 0 ? "JSON_ARRAY" : "JSON_OBJECT");
        return;
    case PARAM_BOOLEAN:
    case PARAM_TIME:
        return;
    }
}

static void put_arg_field(struct output *out, const struct param *param, const char *struct_tag)
{
    put(out, "    { .name = \"%s\", .kind = %s, .place = %s,\n      .offset = offsetof(struct %s, %s)", param->name,
        kind_names[param->kind], place_names[param->place], struct_tag, param->c_name);
    if (param->required) {
        put(out, ", .required = true");
    }
    if (is_nullable(param)) {
        put(out, ", .nullable = true");
    }
    if (member_true(param->schema, "single") || member_true(param->schema, "booleanToo")) {
        put(out, ", .single = true");
    }
    if (member_true(param->schema, "listToo")) {
        put(out, ", .list_too = true");
    }
    if (member_true(param->schema, "anyToo")) {
        put(out, ", .any_too = true");
    }
    if (member_true(param->schema, "ownNames")) {
        put(out, ", .own_names = true");
    }
    if (member_true(param->schema, "rows")) {
        put(out, ", .rows = true");
    }
    put_kind_members(out, param);
    put_default(out, param);
    put(out, ",\n      .flag = \"%s\", .words = ", kebab_case(param->name));
    put_c_string(out, param_in_words(param));
    put(out, ", .description = ");
    put_c_string(out, member_text(param->schema, "description"));
    put(out, " },\n");
}

/* `others` initializes the further members, with a comma before each. */
static void put_shape(struct output *out, const char *shape, const char *struct_tag, const struct param *params, size_t count,
                      const char *others)
{
    if (count == 0) {
        put(out, "static const struct arg_shape %s = { .size = sizeof(struct %s)%s };\n\n", shape, struct_tag, others);
        return;
    }
    put(out, "static const struct arg_field %s_fields[] = {\n", shape);
    for (size_t i = 0; i < count; i++) {
        put_arg_field(out, &params[i], struct_tag);
    }
    put(out, "};\nstatic const struct arg_shape %s = { .fields = %s_fields, .count = %zu, .size = sizeof(struct %s)%s };\n\n",
        shape, shape, count, struct_tag, others);
}

static void put_object_shape(struct output *out, const struct param *param)
{
    put_shape(out, text("%s_shape", param->type_name), param->type_name, param->fields, param->field_count, "");
    if (param->kind == PARAM_OBJECT_LIST) {
        put(out, "static_assert(sizeof(struct %s_list) == sizeof(struct arg_list), \"the typed list is an arg_list\");\n\n",
            param->type_name);
    }
}

/* ---- Keys that belong to another form or route ---- */

/* The condition that selects this operation on its route, for people: "contacts", "test true"; NULL when it has none. */
static const char *condition_words(const struct op_decl *op)
{
    json_t *when = json_object_get(op->json, "when");
    const char *present = member_text(when, "present");
    void *first = json_object_iter(json_object_get(when, "equals"));
    if (present != NULL || first == NULL) {
        return present;
    }
    const json_t *value = json_object_iter_value(first);
    return text("%s %s", json_object_iter_key(first), json_is_string(value) ? json_string_value(value) : json_text(value));
}

/* Adds the keys that another form of the same route takes. */
static void add_keys_of_form(json_t *keys, const struct op_decl *op, const struct op_decl *form)
{
    const char *ours = condition_words(op);
    const char *theirs = condition_words(form);
    for (size_t i = 0; i < form->param_count; i++) {
        const char *name = form->params[i].name;
        bool is_condition = theirs != NULL && strcmp(theirs, name) == 0;
        if (find_param(op, name) != NULL || is_condition || json_object_get(keys, name) != NULL) {
            continue;
        }
        if (ours != NULL) {
            json_object_set_new(keys, name, json_string(text("%s cannot be combined with %s.", name, ours)));
        } else if (theirs != NULL) {
            json_object_set_new(keys, name, json_string(text("%s is accepted only with %s.", name, theirs)));
        }
    }
}

/* Adds the path parameter of the route that reads one row: a list has no such filter. A tool refuses the name before. */
static void add_key_of_read(json_t *keys, const struct op_decl *list, const struct op_decl *read)
{
    size_t size = strlen(list->path);
    const char *rest = strncmp(read->path, list->path, size) == 0 ? read->path + size : "";
    size_t name_end = strcspn(rest, "}");
    if (strncmp(rest, "/{", 2) != 0 || strcmp(rest + name_end, "}") != 0) {
        return;
    }
    const char *name = text("%.*s", (int)name_end - 2, rest + 2);
    if (find_param(list, name) == NULL) {
        json_object_set_new(keys, name, json_string(text("%s is not a filter of this list; GET %s reads one.", name, read->path)));
    }
}

/* Writes the table of such keys. Returns the initializer that refers to it. */
static const char *put_keys_elsewhere(struct output *out, const struct catalogue *all, const struct op_decl *op)
{
    json_t *keys = json_object();
    for (size_t i = 0; op->method != NULL && i < all->op_count; i++) {
        const struct op_decl *other = &all->ops[i];
        if (other == op || other->method == NULL || strcmp(other->method, op->method) != 0) {
            continue;
        }
        if (strcmp(other->path, op->path) == 0) {
            add_keys_of_form(keys, op, other);
        } else if (strcmp(op->method, "GET") == 0) {
            add_key_of_read(keys, op, other);
        }
    }
    if (json_object_size(keys) == 0) {
        json_decref(keys);
        return "";
    }
    put(out, "static const struct key_elsewhere %s_elsewhere[] = {\n", op->c_name);
    const char *name;
    json_t *message;
    json_object_foreach (keys, name, message) {
        put(out, "    { \"%s\", ", name);
        put_c_string(out, json_string_value(message));
        put(out, " },\n");
    }
    put(out, "    { NULL, NULL },\n};\n");
    json_decref(keys);
    return text(", .elsewhere = %s_elsewhere", op->c_name);
}

/* Writes what the last operation of a route tells about the others: the arguments that choose them by presence, and the argument of its
 * own that chooses them by value. Returns the initializers. */
static const char *put_choices(struct output *out, const struct catalogue *all, const struct op_decl *op)
{
    const char *names = "";
    const char *chooser = "";
    bool is_last = op->method != NULL && condition_words(op) == NULL;
    for (size_t i = 0; is_last && i < all->op_count; i++) {
        const struct op_decl *other = &all->ops[i];
        if (other == op || other->method == NULL || strcmp(other->method, op->method) != 0 || strcmp(other->path, op->path) != 0) {
            continue;
        }
        const json_t *when = json_object_get(other->json, "when");
        const char *present = member_text(when, "present");
        const char *argument = json_object_iter_key(json_object_iter(json_object_get(when, "equals")));
        if (argument != NULL && find_param(op, argument) != NULL) {
            chooser = text(", .chooser = \"%s\"", argument);
        }
        if (argument == NULL && present != NULL && find_param(op, present) == NULL) {
            names = text("%s\"%s\", ", names, present);
        }
    }
    if (names[0] == '\0') {
        return chooser;
    }
    put(out, "static const char *const %s_choosing[] = { %sNULL };\n", op->c_name, names);
    return text("%s, .choosing = %s_choosing", chooser, op->c_name);
}

/* ---- Operations ---- */

/* The handler takes its own argument type; the table needs a function of the general type. */
static void put_thunk(struct output *out, const struct op_decl *op)
{
    put(out,
        "static bool call_%s(struct op_context *ctx, const void *args, struct reply *reply, struct error *err)\n"
        "{\n    return op_%s(ctx, args, reply, err);\n}\n\n",
        op->c_name, op->c_name);
}

static void put_when(struct output *out, const struct op_decl *op)
{
    json_t *when = json_object_get(op->json, "when");
    const char *present = member_text(when, "present");
    json_t *equals = json_object_get(when, "equals");
    if (present != NULL && equals == NULL) {
        put(out, "      .when = { WHEN_PRESENT, \"%s\", NULL, NULL },\n", present);
    }
    const char *argument;
    json_t *value;
    json_object_foreach (equals, argument, value) {
        put(out, "      .when = { WHEN_EQUALS, \"%s\", ", argument);
        put_c_string(out, json_text(value));
        put(out, ", ");
        put_c_string(out, present);
        put(out, " },\n");
    }
}

/* All scopes that satisfy this one: itself and those that imply it. */
static const char *satisfying_scopes(const struct catalogue *all, const char *scope)
{
    const char *bits = text("SCOPE_%s", upper_case(scope));
    const char *name;
    json_t *row;
    json_object_foreach (json_object_get(all->policies, "scopes"), name, row) {
        if (list_has(json_object_get(row, "implies"), scope)) {
            bits = text("%s | SCOPE_%s", bits, upper_case(name));
        }
    }
    return bits;
}

static void put_price(struct output *out, const struct catalogue *all, const struct op_decl *op)
{
    const char *name = member_text(op->json, "price");
    if (name == NULL) {
        return;
    }
    const json_t *price = json_object_get(json_object_get(all->policies, "prices"), name);
    put(out, "      .price = { PRICE_%s, %.0f, \"%s\" },\n", upper_case(member_text(price, "kind")),
        member_number(price, "credits", 0), name);
}

static void put_limits(struct output *out, const struct catalogue *all, const struct op_decl *op)
{
    const char *scope = member_text(op->json, "scope");
    if (scope != NULL) {
        put(out, "      .scopes = %s, .scope = \"%s\",\n", satisfying_scopes(all, scope), scope);
    }
    const char *policy = member_text(op->json, "policy");
    if (policy != NULL) {
        put(out, "      .policy = &rate_policies[RATE_%s],\n", upper_case(policy));
    }
    put_price(out, all, op);
    put(out, "      .max_body_bytes = %.0f,\n",
        member_number(op->json, "maxBodyBytes", member_number(all->policies, "bodyBytes", 0)));
}

static void put_replay(struct output *out, const struct op_decl *op)
{
    if (find_param(op, "idempotencyKey") != NULL) {
        put(out, "      .key_in_body = true,\n");
    }
    const json_t *replay = json_object_get(op->json, "replay");
    if (replay == NULL) {
        return;
    }
    char *set = json_dumps(json_object_get(replay, "set"), JSON_COMPACT);
    put(out, "      .replay_status = %.0f, .replay_json = ", member_number(replay, "status", 0));
    put_c_string(out, set);
    put(out, ",\n");
    free(set);
}

static void put_slow_with(struct output *out, const json_t *json)
{
    size_t i;
    const json_t *argument;
    if (json_object_get(json, "slowWith") == NULL) {
        return;
    }
    put(out, "      .slow_with = (const char *const[]){ ");
    json_array_foreach (json_object_get(json, "slowWith"), i, argument) {
        put(out, "\"%s\", ", json_string_value(argument));
    }
    put(out, "NULL },\n");
}

static void put_operation_row(struct output *out, const struct catalogue *all, const struct op_decl *op)
{
    const json_t *json = op->json;
    put(out,
        "    [OP_%s] = {\n      .id = \"%s\", .index = OP_%s,\n      .domain = \"%s\", .verb = \"%s\", .operands = \"%s\",\n"
        "      .summary = ",
        upper_case(op->id), op->id, upper_case(op->id), command_domain(op), command_verb(op), command_operands(op));
    put_c_string(out, member_text(json, "summary"));
    put(out, ",\n      .cost = ");
    put_c_string(out, price_sentence(all, op));
    put(out, ",\n");
    if (op->method != NULL) {
        put(out, "      .method = \"%s\", .path = \"%s\",\n", op->method, op->path);
    }
    put_when(out, op);
    put(out, "      .mode = %s, .pool = %s, .reach = %s,\n", enum_name("OP", member_text(json, "mode"), "read"),
        enum_name("POOL", member_text(json, "pool"), "quick"), enum_name("REACH", member_text(json, "reach"), "brand"));
    put_limits(out, all, op);
    put(out, "      .organization_key = %s, .idempotent_key = %s, .open = %s,\n",
        true_or_false(member_true(json, "organizationKey")), true_or_false(member_true(json, "idempotencyKey")),
        true_or_false(json_array_size(json_object_get(json, "open")) > 0));
    put_replay(out, op);
    if (member_true(json, "unready")) {
        put(out, "      .unready = true,\n");
    }
    if (member_text(json, "confirmation") != NULL) {
        put(out, "      .asks_confirmation = true,\n");
    }
    if (member_text(json, "job") != NULL) {
        put(out, "      .job = &job_declarations[JOB_%s],\n", upper_case(member_text(json, "job")));
    }
    if (member_text(json, "charges") != NULL) {
        put(out, "      .job_charges = true,\n");
    }
    if (member_text(json, "freeWith") != NULL) {
        put(out, "      .free_with = \"%s\",\n", member_text(json, "freeWith"));
    }
    put_slow_with(out, json);
    if (member_true(json, "unaudited")) {
        put(out, "      .unaudited = true,\n");
    }
    if (member_true(json, "waits")) {
        put(out, "      .waits = true,\n");
    }
    put(out, "      .status = %.0f, .query_budget = %.0f, .built = %s,\n", member_number(json, "status", 200),
        member_number(json, "queries", 0), true_or_false(op->built));
    put(out, "      .args = &%s_args_shape,\n", op->c_name);
    if (op->built && has_view(all, op)) {
        put(out, "      .view = &%s_view,\n", op->c_name);
    }
    if (!op->built) {
        put(out, "    },\n");
    } else if (member_true(json, "single")) {
        put(out, "      .%s = &op_%s_single,\n    },\n", is_single_write(op) ? "single_write" : "single", op->c_name);
    } else {
        put(out, "      .handler = call_%s,\n    },\n", op->c_name);
    }
}

/* ---- Routes ---- */

static bool is_first_of_route(const struct catalogue *all, size_t at)
{
    for (size_t i = 0; i < at; i++) {
        if (is_same_route(&all->ops[i], &all->ops[at])) {
            return false;
        }
    }
    return all->ops[at].method != NULL;
}

static void put_routes(struct output *out, const struct catalogue *all)
{
    put(out, "#define CANDIDATES(...) (const struct operation *const[]){ __VA_ARGS__, NULL }\n\nconst struct route routes[] = {\n");
    for (size_t i = 0; i < all->op_count; i++) {
        if (!is_first_of_route(all, i)) {
            continue;
        }
        put(out, "    { \"%s\", \"%s\", CANDIDATES(", all->ops[i].method, all->ops[i].path);
        const char *separator = "";
        for (size_t at = i; at < all->op_count; at++) {
            if (is_same_route(&all->ops[i], &all->ops[at])) {
                put(out, "%s&operations[OP_%s]", separator, upper_case(all->ops[at].id));
                separator = ", ";
            }
        }
        put(out, ") },\n");
    }
    for (size_t i = 0; i < all->op_count; i++) {
        const char *outside = member_text(all->ops[i].json, "outside");
        const char *path = outside != NULL ? strchr(outside, ' ') + 1 : NULL;
        if (outside != NULL) {
            put(out, "    { \"%.*s\", \"%s\", CANDIDATES(&operations[OP_%s]) },\n", (int)(path - 1 - outside), outside, path,
                upper_case(all->ops[i].id));
        }
    }
    put(out, "};\nconst size_t route_count = sizeof(routes) / sizeof(routes[0]);\n");
}

void emit_operations(const struct catalogue *all, const char *folder)
{
    struct output out;
    output_open(&out, folder, "operations.c");
    put_origin(&out, "The operation table, the shapes of arguments and the routes.");
    put(&out, "#include \"catalogue/operations.h\"\n\n#include \"catalogue/jobs.h\"\n#include \"catalogue/policies.h\"\n#include "
              "\"crypto/ids.h\"\n\n"
              "#include <assert.h>\n#include <stddef.h>\n\n");
    visit_types(all, &out, put_names, put_object_shape);
    for (size_t i = 0; i < all->op_count; i++) {
        const struct op_decl *op = &all->ops[i];
        const char *others = text("%s%s", put_keys_elsewhere(&out, all, op), put_choices(&out, all, op));
        put_shape(&out, text("%s_args_shape", op->c_name), text("%s_args", op->c_name), op->params, op->param_count, others);
        if (op->built && !member_true(op->json, "single")) {
            put_thunk(&out, op);
        }
        if (op->built && has_view(all, op)) {
            put_view(&out, all, op);
        }
    }
    put(&out, "const struct operation operations[] = {\n");
    for (size_t i = 0; i < all->op_count; i++) {
        put_operation_row(&out, all, &all->ops[i]);
    }
    put(&out, "};\nconst size_t operation_count = OPERATION_COUNT;\n\n");
    put_routes(&out, all);
    output_close(&out);
}
