#include "lint.h"

#include "source_lines.h"
#include "words.h"

#include <ctype.h>
#include <string.h>

static void lint_words(const struct op_decl *op)
{
    static const char *const reaches[] = { "public", "session", "organization", "brand", NULL };
    static const char *const modes[] = { "memory", "read", "write", "job", NULL };
    static const char *const pools[] = { "quick", "slow", NULL };
    static const char *const methods[] = { "GET", "POST", "PUT", "PATCH", "DELETE", NULL };
    const char *pool = member_text(op->json, "pool");
    if (!is_one_of(member_text(op->json, "reach"), reaches)) {
        problem(op->where, "reach must be public, session, organization or brand");
    }
    if (!is_one_of(member_text(op->json, "mode"), modes)) {
        problem(op->where, "mode must be memory, read, write or job");
    }
    if (pool != NULL && !is_one_of(pool, pools)) {
        problem(op->where, "pool must be quick or slow");
    }
    if (op->method != NULL && (!is_one_of(op->method, methods) || strncmp(op->path, "/v1/", 4) != 0)) {
        problem(op->where, "route must be a method and a path below /v1");
    }
    if (!json_is_boolean(json_object_get(op->json, "built"))) {
        problem(op->where, "built must be given");
    }
}

/* A path outside of the contract: OpenAPI does not show it, and it has no parameters. */
static void lint_outside(const struct op_decl *op)
{
    const json_t *outside = json_object_get(op->json, "outside");
    if (outside == NULL) {
        return;
    }
    const char *path = json_is_string(outside) ? strchr(json_string_value(outside), ' ') : NULL;
    if (op->method != NULL || path == NULL || path[1] != '/' || strncmp(path + 1, "/v1/", 4) == 0 || strchr(path, '{') != NULL) {
        problem(op->where, "outside must be a method and a path that is not below /v1, of an operation without a route");
    }
}

/* Reports a name under `member` that is not in the table of the policies. */
static void lint_policy_name(const struct catalogue *all, const struct op_decl *op, const char *member, const char *table)
{
    const json_t *name = json_object_get(op->json, member);
    if (name == NULL || json_is_null(name)) {
        return;
    }
    if (!json_is_string(name) || json_object_get(json_object_get(all->policies, table), json_string_value(name)) == NULL) {
        problem(op->where, "%s %s is not in schemas/policies.json", member, json_is_string(name) ? json_string_value(name) : "");
    }
}

static void lint_path(const struct op_decl *op)
{
    size_t named = 0;
    for (const char *open = op->path != NULL ? strchr(op->path, '{') : NULL; open != NULL; open = strchr(open + 1, '{')) {
        const char *close = strchr(open, '}');
        const char *name = close != NULL ? text("%.*s", (int)(close - open - 1), open + 1) : "";
        const struct param *param = find_param(op, name);
        if (param == NULL || param->place != PLACE_PATH) {
            problem(op->where, "the path parameter {%s} is not declared", name);
        }
        named++;
    }
    if (json_object_size(json_object_get(op->json, "path")) != named) {
        problem(op->where, "declares a path parameter that its path does not name");
    }
    if (op->method != NULL && strcmp(op->method, "GET") == 0 && json_object_get(op->json, "body") != NULL) {
        problem(op->where, "a GET has no body");
    }
}

static void lint_arguments(const struct op_decl *op)
{
    for (size_t i = 0; i < op->param_count; i++) {
        lint_param(&op->params[i]);
        for (size_t before = 0; before < i; before++) {
            if (strcmp(op->params[before].name, op->params[i].name) == 0) {
                problem(op->params[i].where, "is declared in two places");
            }
        }
        if (strcmp(op->params[i].name, "brandId") == 0 && op->params[i].place != PLACE_PATH &&
            strcmp(op->id, "apiKeys.create") != 0) {
            problem(op->params[i].where, "a query or body must not name a brand");
        }
    }
    size_t i;
    const json_t *name;
    json_array_foreach (json_object_get(op->json, "required"), i, name) {
        if (!json_is_string(name) || find_param(op, json_string_value(name)) == NULL) {
            problem(op->where, "requires the unknown parameter %s", json_is_string(name) ? json_string_value(name) : "");
        }
    }
}

static void lint_when(const struct op_decl *op)
{
    static const char *const known[] = { "present=s", "equals=o", NULL };
    json_t *when = json_object_get(op->json, "when");
    if (when == NULL) {
        return;
    }
    lint_members(when, known, op->where);
    json_t *equals = json_object_get(when, "equals");
    const char *const looks_at[] = { member_text(when, "present"), json_object_iter_key(json_object_iter(equals)) };
    if ((looks_at[0] == NULL && looks_at[1] == NULL) || (equals != NULL && json_object_size(equals) != 1)) {
        problem(op->where, "when needs present or equals, each with one argument");
        return;
    }
    for (size_t i = 0; i < sizeof(looks_at) / sizeof(looks_at[0]); i++) {
        if (looks_at[i] != NULL && find_param(op, looks_at[i]) == NULL) {
            problem(op->where, "when uses %s, which is not a parameter", looks_at[i]);
        }
    }
}

static void lint_result(const struct catalogue *all, const struct op_decl *op)
{
    const json_t *result = json_object_get(op->json, "result");
    if (result == NULL) {
        problem(op->where, "declares no result");
        return;
    }
    if (json_is_string(result) && json_object_get(all->resources, json_string_value(result)) == NULL) {
        problem(op->where, "the result %s is not in schemas/resources", json_string_value(result));
    }
    const char *report = member_text(op->json, "assistantResult");
    if (report != NULL && json_object_get(all->resources, report) == NULL) {
        problem(op->where, "the assistantResult %s is not in schemas/resources", report);
    }
    size_t i;
    const json_t *code;
    json_array_foreach (json_object_get(op->json, "errors"), i, code) {
        if (!json_is_string(code) || !error_is_known(all, json_string_value(code))) {
            problem(op->where, "the error %s is not in schemas/errors.json", json_is_string(code) ? json_string_value(code) : "");
        }
    }
}

/* The shapes of free values are resources, at any depth. */
static void lint_shapes(const struct catalogue *all, const struct param *params, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *shape = member_text(params[i].schema, "shape");
        if (shape != NULL && json_object_get(all->resources, shape) == NULL) {
            problem(params[i].where, "the shape %s is not in schemas/resources", shape);
        }
        lint_shapes(all, params[i].fields, params[i].field_count);
    }
}

/* Checks the second success status and the declared examples. */
static void lint_also_and_example(const struct catalogue *all, const struct op_decl *op)
{
    static const char *const known_also[] = { "status=i", "description=s", "result=s", NULL };
    static const char *const known_example[] = { "request=o", "response=o", NULL };
    json_t *also = json_object_get(op->json, "also");
    json_t *example = json_object_get(op->json, "example");
    if (also != NULL) {
        const char *result = member_text(also, "result");
        double status = member_number(also, "status", 0);
        lint_members(also, known_also, op->where);
        lint_text(also, "description", op->where);
        if (status < 200 || status > 299 || status == member_number(op->json, "status", 0)) {
            problem(op->where, "also must name another 2xx status");
        }
        if (result != NULL && json_object_get(all->resources, result) == NULL) {
            problem(op->where, "the result %s is not in schemas/resources", result);
        }
    }
    if (example != NULL) {
        lint_members(example, known_example, op->where);
    }
}

/* An answer that is stored for replays, and the status and members that a replay shows in their place. */
static void lint_replay(const struct op_decl *op)
{
    static const char *const known[] = { "status=i", "set=o", NULL };
    json_t *replay = json_object_get(op->json, "replay");
    const char *mode = member_text(op->json, "mode");
    if (replay == NULL) {
        return;
    }
    lint_members(replay, known, op->where);
    if (member_number(replay, "status", 0) != member_number(json_object_get(op->json, "also"), "status", 0)) {
        problem(op->where, "replay must have the status of also");
    }
    if (json_object_size(json_object_get(replay, "set")) == 0) {
        problem(op->where, "replay sets no member of the answer");
    }
    if (!member_true(op->json, "idempotencyKey") || mode == NULL || strcmp(mode, "write") != 0) {
        problem(op->where, "replay needs a write that honours an idempotency key");
    }
}

/* The key may also come in the body; it has the bounds of the header there. */
static void lint_body_key(const struct op_decl *op)
{
    const struct param *key = find_param(op, "idempotencyKey");
    if (key == NULL) {
        return;
    }
    if (key->kind != PARAM_TEXT || key->place != PLACE_BODY || key->required || !member_true(op->json, "idempotencyKey")) {
        problem(key->where, "must be an optional text of the body of an operation that honours a key");
    }
}

/* The preview of a confirmation is a resource. A job cannot ask for a confirmation. */
static void lint_confirmation(const struct catalogue *all, const struct op_decl *op)
{
    const char *shape = member_text(op->json, "confirmation");
    const char *mode = member_text(op->json, "mode");
    if (shape == NULL) {
        return;
    }
    if (json_object_get(all->resources, shape) == NULL) {
        problem(op->where, "the confirmation %s is not in schemas/resources", shape);
    }
    if (mode == NULL || strcmp(mode, "write") != 0 || member_true(op->json, "single")) {
        problem(op->where, "confirmation needs a write that is not single");
    }
}

/* "cursor", or "source.figmaUrl" for a member of an object. */
static bool names_parameter(const struct op_decl *op, const char *path)
{
    const char *point = strchr(path, '.');
    char head[64];
    snprintf(head, sizeof(head), "%.*s", point != NULL ? (int)(point - path) : (int)sizeof(head) - 1, path);
    const struct param *param = find_param(op, head);
    return param != NULL && (point == NULL || json_object_get(json_object_get(param->schema, "properties"), point + 1) != NULL);
}

static void lint_free_with(const struct op_decl *op)
{
    const char *argument = member_text(op->json, "freeWith");
    if (argument != NULL && (member_text(op->json, "price") == NULL || !names_parameter(op, argument))) {
        problem(op->where, "freeWith needs a price and names a parameter");
    }
}

static void lint_slow_with(const struct op_decl *op)
{
    size_t i;
    const json_t *argument;
    const json_t *slow_with = json_object_get(op->json, "slowWith");
    if (slow_with != NULL && (json_object_get(op->json, "pool") != NULL || member_true(op->json, "single"))) {
        problem(op->where, "slowWith goes with neither pool nor single");
    }
    json_array_foreach (slow_with, i, argument) {
        if (!json_is_string(argument) || !names_parameter(op, json_string_value(argument))) {
            problem(op->where, "slowWith names the unknown parameter %s", json_is_string(argument) ? json_string_value(argument) : "");
        }
    }
}

static void lint_consistency(const struct op_decl *op)
{
    const char *mode = member_text(op->json, "mode");
    lint_free_with(op);
    lint_slow_with(op);
    if (member_true(op->json, "waits") && (mode == NULL || strcmp(mode, "read") != 0)) {
        problem(op->where, "waits needs a read");
    }
    const char *charges = member_text(op->json, "charges");
    bool is_charged_later = charges != NULL && strcmp(charges, "job") == 0;
    if (charges != NULL && (!is_charged_later || mode == NULL || strcmp(mode, "write") != 0 || member_text(op->json, "job") == NULL ||
                            member_text(op->json, "price") == NULL)) {
        problem(op->where, "charges is job, and needs a write with a price and a job");
    }
    const char *reach = member_text(op->json, "reach");
    bool honours_key = member_true(op->json, "idempotencyKey");
    if (honours_key && (op->method == NULL || strcmp(op->method, "POST") != 0)) {
        problem(op->where, "only a POST honours an idempotency key");
    }
    if (member_true(op->json, "single") && (mode == NULL || (strcmp(mode, "read") != 0 && strcmp(mode, "write") != 0))) {
        problem(op->where, "single needs mode read or write");
    }
    /* Calls of a group commit are not checked against a balance, and none may delay the others. */
    const char *pool = member_text(op->json, "pool");
    bool is_costly = member_text(op->json, "price") != NULL || (pool != NULL && strcmp(pool, "slow") == 0);
    if (is_single_write(op) && is_costly) {
        problem(op->where, "a single write must be quick and must not have a price");
    }
    if (reach != NULL && strcmp(reach, "public") != 0 && json_object_get(op->json, "policy") == NULL) {
        problem(op->where, "has no rate policy");
    }
    if (mode != NULL && strcmp(mode, "memory") != 0 && member_number(op->json, "queries", 0) < 1) {
        problem(op->where, "needs a query budget");
    }
    int status = (int)member_number(op->json, "status", 0);
    if (status < 200 || status > 299) {
        problem(op->where, "status must be 2xx");
    }
}

/* An operation that enqueues a job names it; a caller cannot wait for a job that is not declared. */
static void lint_job_name(const struct catalogue *all, const struct op_decl *op)
{
    static const char *const modes[] = { "write", "job", NULL };
    const char *mode = member_text(op->json, "mode");
    const char *job = member_text(op->json, "job");
    if (job != NULL && find_job(all, job) == NULL) {
        problem(place_of_text(all, op->where, text("\"%s\"", job)), "the job %s is not in schemas/jobs.json", job);
    }
    if (job != NULL && !is_one_of(mode, modes)) {
        problem(op->where, "job goes with the modes write and job");
    }
    if (job == NULL && op->built && mode != NULL && strcmp(mode, "job") == 0) {
        problem(place_of_text(all, op->where, text("\"%s\"", op->id)), "has the mode job and names no job");
    }
}

/* On a route, operations with a condition come first, and exactly one without a condition comes last. */
static void lint_route_order(const struct catalogue *all, const struct op_decl *op)
{
    bool after = false;
    for (size_t i = 0; i < all->op_count; i++) {
        const struct op_decl *other = &all->ops[i];
        if (other == op) {
            after = true;
            continue;
        }
        if (strcmp(other->id, op->id) == 0 || strcmp(other->c_name, op->c_name) == 0) {
            problem(op->where, "%s is declared twice", op->id);
        }
        if (op->method == NULL || other->method == NULL || strcmp(op->method, other->method) != 0 ||
            strcmp(op->path, other->path) != 0) {
            continue;
        }
        if (after && json_object_get(op->json, "when") == NULL) {
            problem(op->where, "has no condition and hides %s", other->id);
        }
    }
}

/* domain.verb in camelCase, because C function names are derived from it. */
static void lint_id(const struct op_decl *op)
{
    const char *dot = strchr(op->id, '.');
    bool good = islower((unsigned char)op->id[0]) && dot != NULL && islower((unsigned char)dot[1]);
    for (const char *p = op->id; *p != '\0'; p++) {
        good = good && (isalnum((unsigned char)*p) || p == dot);
    }
    if (!good) {
        problem(op->where, "id must be two camelCase words joined by a dot");
    }
}

static void lint_operation(const struct catalogue *all, const struct op_decl *op)
{
    static const char *const known[] = {
        "id=s",
        "route=sz",
        "outside=s",
        "summary=s",
        "reach=s",
        "organizationKey=b",
        "scope=sz",
        "policy=sz",
        "price=sz",
        "mode=s",
        "single=b",
        "pool=s",
        "slowWith=t",
        "status=i",
        "queries=i",
        "path=o",
        "query=o",
        "body=o",
        "required=t",
        "result=so",
        "assistantResult=s",
        "errors=t",
        "open=t",
        "rules=t",
        "when=o",
        "built=b",
        "idempotencyKey=b",
        "maxBodyBytes=i",
        "confirmation=s",
        "unaudited=b",
        "freeWith=s",
        "charges=s",
        "unready=b",
        "waits=b",
        "also=o",
        "replay=o",
        "example=o",
        "job=s",
        NULL,
    };
    lint_members(op->json, known, op->where);
    lint_id(op);
    lint_text(op->json, "summary", op->where);
    lint_cited_rules(all, op->json, op->where);
    lint_words(op);
    lint_policy_name(all, op, "scope", "scopes");
    lint_policy_name(all, op, "policy", "rates");
    lint_policy_name(all, op, "price", "prices");
    lint_path(op);
    lint_outside(op);
    lint_arguments(op);
    lint_when(op);
    lint_result(all, op);
    lint_shapes(all, op->params, op->param_count);
    lint_also_and_example(all, op);
    lint_replay(op);
    lint_body_key(op);
    lint_consistency(op);
    lint_confirmation(all, op);
    lint_job_name(all, op);
    lint_route_order(all, op);
}

void lint_operations(const struct catalogue *all)
{
    for (size_t i = 0; i < all->op_count; i++) {
        lint_operation(all, &all->ops[i]);
    }
}

/* The number of routes and tools of the contract, when schemas/policies.json gives it. */
void lint_counts(const struct catalogue *all)
{
    size_t routes = 0;
    for (size_t i = 0; i < all->op_count; i++) {
        routes += is_main_of_route(all, i);
    }
    const json_t *wanted = json_object_get(all->policies, "counts");
    if (wanted != NULL &&
        (member_number(wanted, "routes", 0) != (double)routes || member_number(wanted, "tools", 0) != (double)all->tool_count)) {
        problem("schemas/policies.json", "counts %.0f routes and %.0f tools, but %zu and %zu are declared",
                member_number(wanted, "routes", 0), member_number(wanted, "tools", 0), routes, all->tool_count);
    }
    printf("catalogue: %zu operations on %zu routes\n", all->op_count, routes);
}
