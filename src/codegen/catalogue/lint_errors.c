#include "lint.h"

#include "suggestions.h"

#include <ctype.h>
#include <string.h>

static const char *const error_types[] = { "authentication_error", "authorization_error", "invalid_request", "not_found",
                                           "conflict", "rate_limit", "not_implemented", "internal_error" };

static bool is_error_type(const char *type)
{
    for (size_t i = 0; i < ARRAY_COUNT(error_types); i++) {
        if (strcmp(type, error_types[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_code(const char *code)
{
    for (const char *p = code; *p != '\0'; p++) {
        if (!isupper((unsigned char)*p) && *p != '_') {
            return false;
        }
    }
    return code[0] != '\0';
}

bool error_is_known(const struct catalogue *all, const char *code)
{
    size_t i;
    const json_t *row;
    json_array_foreach(all->errors, i, row) {
        const char *known = member_text(row, "code");
        if (known != NULL && strcmp(known, code) == 0) {
            return true;
        }
    }
    return false;
}

static void lint_error(const struct catalogue *all, json_t *row, json_t *seen)
{
    static const char *const known[] = {
        "code=s", "status=i", "type=s", "suggestion=s", "mcp=s", "command=s", "retryable=b", NULL
    };
    const char *code = member_text(row, "code");
    if (code == NULL || !is_code(code)) {
        problem("schemas/errors.json", "an error has no code in capitals");
        return;
    }
    const char *where = text("schemas/errors.json: %s", code);
    lint_members(row, known, where);
    if (list_has(seen, code)) {
        problem(where, "declared twice");
    }
    json_array_append_new(seen, json_string(code));
    int status = (int)member_number(row, "status", -1);
    if (status != 0 && (status < 400 || status > 599)) {
        problem(where, "status must be 4xx or 5xx, or 0 for the agent protocol only");
    }
    const char *type = member_text(row, "type");
    if (type == NULL || !is_error_type(type)) {
        problem(where, "type is not one of the eight types of the contract");
    }
    const char *suggestion = member_text(row, "suggestion");
    if (suggestion == NULL || suggestion[0] == '\0') {
        problem(where, "has no suggestion");
    }
    for (enum reader reader = READER_PROGRAM; reader <= READER_WITHOUT_TOOLS; reader++) {
        suggestion_for(all, row, reader); /* reports what it cannot resolve */
    }
    if (!json_is_boolean(json_object_get(row, "retryable"))) {
        problem(where, "retryable must be given");
    }
}

void lint_errors(const struct catalogue *all)
{
    json_t *seen = keep(json_array());
    size_t i;
    json_t *row;
    json_array_foreach(all->errors, i, row) {
        lint_error(all, row, seen);
    }
}
