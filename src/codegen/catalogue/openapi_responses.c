#include "openapi.h"

#include "words.h"

#include <string.h>

/* ---- Headers ---- */

static json_t *header_component(const char *description, const char *type, bool always)
{
    return json_pack("{s:s, s:b, s:{s:s}}", "description", description, "required", always, "schema", "type", type);
}

json_t *openapi_headers(void)
{
    json_t *headers = json_object();
    json_object_set_new(headers, "requestId", header_component("Identifies the request for support.", "string", true));
    json_object_set_new(headers, "rateLimit", header_component("Maximum number of calls in the window.", "integer", true));
    json_object_set_new(headers, "rateRemaining", header_component("Calls left in the window.", "integer", true));
    json_object_set_new(headers, "rateReset",
                        header_component("Time when the window is free again, in Unix seconds.", "integer", true));
    json_object_set_new(headers, "retryAfter", header_component("Seconds to wait before the next try.", "integer", false));
    json_object_set_new(headers, "creditCost", header_component("Credits charged for this call.", "integer", true));
    json_object_set_new(headers, "creditCostOfSome",
                        header_component("Credits charged for this call, if it has a fixed price.", "integer", false));
    json_object_set_new(headers, "authenticate", header_component("How to authenticate.", "string", true));
    return headers;
}

static void add_header_reference(json_t *headers, const char *name, const char *component)
{
    json_object_set_new(headers, name, json_pack("{s:s}", "$ref", text("#/components/headers/%s", component)));
}

static json_t *common_headers(void)
{
    json_t *headers = json_object();
    add_header_reference(headers, "x-request-id", "requestId");
    add_header_reference(headers, "X-RateLimit-Limit", "rateLimit");
    add_header_reference(headers, "X-RateLimit-Remaining", "rateRemaining");
    add_header_reference(headers, "X-RateLimit-Reset", "rateReset");
    return headers;
}

static bool has_fixed_price(const struct catalogue *all, const struct op_decl *op)
{
    const char *name = member_text(op->json, "price");
    const json_t *price = name != NULL ? json_object_get(json_object_get(all->policies, "prices"), name) : NULL;
    const char *kind = member_text(price, "kind");
    return kind != NULL && strcmp(kind, "metered") != 0;
}

/* ---- Error codes of an operation ---- */

static void add_code(json_t *codes, const char *code)
{
    if (!list_has(codes, code)) {
        json_array_append_new(codes, json_string(code));
    }
}

static void add_codes(json_t *codes, const char *const *names)
{
    for (; *names != NULL; names++) {
        add_code(codes, *names);
    }
}

/* Adds the error codes that follow from the kind of the operation, and its specific ones. */
static void add_codes_of(json_t *codes, const struct op_decl *op)
{
    static const char *const any[] = { "INVALID_REQUEST", "PAYLOAD_TOO_LARGE", "INTERNAL_ERROR", "SERVICE_UNAVAILABLE", NULL };
    static const char *const with_credential[] = { "AUTHENTICATION_REQUIRED",
                                                   "INVALID_API_KEY",
                                                   "API_KEY_REVOKED",
                                                   "INSUFFICIENT_PERMISSIONS",
                                                   "INSUFFICIENT_ROLE",
                                                   "RATE_LIMITED",
                                                   NULL };
    static const char *const in_a_brand[] = { "BRAND_ID_REQUIRED", "BRAND_SCOPE_MISMATCH", "BRAND_NOT_FOUND", NULL };
    static const char *const with_key[] = { "IDEMPOTENCY_CONFLICT", "IDEMPOTENCY_IN_PROGRESS", NULL };
    const char *reach = member_text(op->json, "reach");
    const char *mode = member_text(op->json, "mode");
    add_codes(codes, any);
    if (strcmp(reach, "public") != 0) {
        add_codes(codes, with_credential);
    }
    if (strcmp(reach, "brand") == 0) {
        add_codes(codes, in_a_brand);
        if (strcmp(mode, "write") == 0 || strcmp(mode, "job") == 0) {
            add_code(codes, "BRAND_NOT_READY");
        }
    }
    if (member_true(op->json, "organizationKey")) {
        add_code(codes, "ORG_SCOPE_REQUIRED");
    }
    if (member_true(op->json, "idempotencyKey")) {
        add_codes(codes, with_key);
    }
    if (member_text(op->json, "price") != NULL) {
        add_code(codes, "INSUFFICIENT_CREDITS");
    }
    if (!op->built) {
        add_code(codes, "NOT_IMPLEMENTED");
    }
    size_t i;
    const json_t *own;
    json_array_foreach(json_object_get(op->json, "errors"), i, own)
    {
        add_code(codes, json_string_value(own));
    }
}

json_t *openapi_codes(const struct catalogue *all, const struct op_decl *route)
{
    json_t *named = json_array();
    for (size_t i = 0; i < all->op_count; i++) {
        if (is_same_route(&all->ops[i], route)) {
            add_codes_of(named, &all->ops[i]);
        }
    }
    json_t *codes = json_array();
    size_t i;
    const json_t *error;
    json_array_foreach(all->errors, i, error)
    {
        if (list_has(named, member_text(error, "code"))) {
            json_array_append(codes, json_object_get(error, "code"));
        }
    }
    json_decref(named);
    return codes;
}

/* ---- Refusals ---- */

static const json_t *error_of(const struct catalogue *all, const char *code)
{
    size_t i;
    const json_t *error;
    json_array_foreach(all->errors, i, error)
    {
        if (strcmp(member_text(error, "code"), code) == 0) {
            return error;
        }
    }
    return NULL;
}

/* status → its error codes. */
static json_t *codes_by_status(const struct catalogue *all, const struct op_decl *route)
{
    json_t *codes = keep(openapi_codes(all, route));
    json_t *groups = json_object();
    size_t i;
    json_t *code;
    json_array_foreach(codes, i, code)
    {
        const char *status = text("%.0f", member_number(error_of(all, json_string_value(code)), "status", 0));
        if (json_object_get(groups, status) == NULL) {
            json_object_set_new(groups, status, json_array());
        }
        json_array_append(json_object_get(groups, status), code);
    }
    return groups;
}

/* A component is named after its codes, so that routes share it. */
static const char *refusal_name(const char *status, const json_t *codes)
{
    const char *name = status;
    size_t i;
    const json_t *code;
    json_array_foreach(codes, i, code)
    {
        name = text("%s.%s", name, json_string_value(code));
    }
    return name;
}

static json_t *refusal_example(const json_t *error)
{
    const char *code = member_text(error, "code");
    json_t *example = json_pack("{s:s, s:O, s:s, s:O, s:s}", "code", code, "type", json_object_get(error, "type"), "message",
                                "The reason, in a sentence.", "suggestion", json_object_get(error, "suggestion"), "docs",
                                text("https://posthorn.example/docs/errors#%s", code));
    if (member_number(error, "status", 0) == 429) {
        json_object_set_new(example, "retryAfter", json_integer(12));
    }
    return json_pack("{s:s, s:{s:o}}", "summary", member_text(error, "suggestion"), "value", "error", example);
}

static json_t *refusal(const struct catalogue *all, const char *status, json_t *codes)
{
    json_t *headers = common_headers();
    if (strcmp(status, "429") == 0 || strcmp(status, "503") == 0) {
        add_header_reference(headers, "Retry-After", "retryAfter");
    }
    if (strcmp(status, "401") == 0) {
        add_header_reference(headers, "WWW-Authenticate", "authenticate");
    }
    json_t *examples = json_object();
    size_t i;
    const json_t *code;
    json_array_foreach(codes, i, code)
    {
        json_object_set_new(examples, json_string_value(code), refusal_example(error_of(all, json_string_value(code))));
    }
    json_t *narrowed = json_pack("{s:s, s:{s:{s:s, s:{s:{s:O}}}}}", "type", "object", "properties", "error", "type", "object",
                                 "properties", "code", "enum", codes);
    json_t *schema = json_pack("{s:[{s:s}, o]}", "allOf", "$ref", "#/components/schemas/errorEnvelope", narrowed);
    return json_pack("{s:s, s:o, s:{s:{s:o, s:o}}}", "description", text("Refused: %s.", words_of(codes)), "headers", headers,
                     "content", "application/json", "schema", schema, "examples", examples);
}

json_t *openapi_refusals(const struct catalogue *all)
{
    json_t *responses = json_object();
    for (size_t at = 0; at < all->op_count; at++) {
        if (!is_main_of_route(all, at)) {
            continue;
        }
        json_t *groups = keep(codes_by_status(all, &all->ops[at]));
        const char *status;
        json_t *codes;
        json_object_foreach(groups, status, codes)
        {
            const char *name = refusal_name(status, codes);
            if (json_object_get(responses, name) == NULL) {
                json_object_set_new(responses, name, refusal(all, status, codes));
            }
        }
    }
    return responses;
}

/* ---- Answers ---- */

static json_t *result_reference(const char *name)
{
    return json_pack("{s:s}", "$ref", text("#/components/schemas/%s", name));
}

static json_t *result_of(const struct op_decl *op)
{
    json_t *result = json_object_get(op->json, "result");
    if (json_is_string(result)) {
        return result_reference(json_string_value(result));
    }
    return result != NULL ? openapi_relink(result) : json_pack("{s:s}", "type", "object");
}

static bool has_schema(const json_t *forms, const json_t *schema)
{
    size_t i;
    json_t *form;
    json_array_foreach(forms, i, form) {
        if (json_equal(form, schema)) {
            return true;
        }
    }
    return false;
}

/* Adds one form of an answer. Forms of several operations are alternatives, with examples under their ids. */
static void add_form(json_t *response, const struct op_decl *op, json_t *schema, json_t *example)
{
    json_t *content = json_object_get(json_object_get(response, "content"), "application/json");
    json_t *known = json_object_get(content, "schema");
    json_object_set_new(json_object_get(content, "examples"), op->id,
                        json_pack("{s:s, s:o}", "summary", member_text(op->json, "summary"), "value", example));
    if (known == NULL) {
        json_object_set_new(content, "schema", schema);
        return;
    }
    if (json_equal(known, schema) || has_schema(json_object_get(known, "anyOf"), schema)) {
        json_decref(schema);
        return;
    }
    if (json_object_get(known, "anyOf") == NULL) {
        json_object_set_new(content, "schema", json_pack("{s:[O]}", "anyOf", known));
        known = json_object_get(content, "schema");
    }
    json_array_append_new(json_object_get(known, "anyOf"), schema);
}

static json_t *response_of(json_t *responses, const char *status, const char *summary)
{
    json_t *response = json_object_get(responses, status);
    if (response == NULL) {
        response = json_pack("{s:s, s:o, s:{s:{s:{}}}}", "description", summary, "headers", common_headers(), "content",
                             "application/json", "examples");
        json_object_set_new(responses, status, response);
    } else {
        const char *others = member_text(response, "description");
        json_object_set_new(response, "description", json_string(text("%s Or: %s", others, summary)));
    }
    return response;
}

/* Every answer of a route has the price header when each of its operations has a fixed price. */
static void add_credit_cost(const struct catalogue *all, const struct op_decl *route, json_t *responses)
{
    bool some = false;
    bool each = true;
    for (size_t i = 0; i < all->op_count; i++) {
        if (is_same_route(&all->ops[i], route)) {
            some = some || has_fixed_price(all, &all->ops[i]);
            each = each && has_fixed_price(all, &all->ops[i]);
        }
    }
    const char *status;
    json_t *response;
    json_object_foreach(responses, status, response)
    {
        if (some) {
            add_header_reference(json_object_get(response, "headers"), "X-Credit-Cost", each ? "creditCost" : "creditCostOfSome");
        }
    }
}

static void add_answers(const struct catalogue *all, const struct op_decl *op, json_t *responses)
{
    const char *summary = member_text(op->json, "summary");
    json_t *usual = response_of(responses, text("%.0f", member_number(op->json, "status", 200)), summary);
    add_form(usual, op, result_of(op), example_response(all, op));
    const json_t *also = json_object_get(op->json, "also");
    if (also == NULL) {
        return;
    }
    json_t *response = response_of(responses, text("%.0f", member_number(also, "status", 200)), member_text(also, "description"));
    const char *result = member_text(also, "result");
    json_t *shape = result != NULL ? json_object_get(all->resources, result) : NULL;
    add_form(response, op, result != NULL ? result_reference(result) : result_of(op),
             shape != NULL ? example_of_schema(all, result, shape) : example_response(all, op));
}

json_t *openapi_responses(const struct catalogue *all, const struct op_decl *route)
{
    json_t *responses = json_object();
    for (size_t i = 0; i < all->op_count; i++) {
        if (is_same_route(&all->ops[i], route)) {
            add_answers(all, &all->ops[i], responses);
        }
    }
    add_credit_cost(all, route, responses);
    json_t *groups = keep(codes_by_status(all, route));
    for (int number = 400; number < 600; number++) {
        const char *status = text("%d", number);
        const json_t *codes = json_object_get(groups, status);
        if (codes != NULL) {
            const char *name = text("#/components/responses/%s", refusal_name(status, codes));
            json_object_set_new(responses, status, json_pack("{s:s}", "$ref", name));
        }
    }
    return responses;
}
