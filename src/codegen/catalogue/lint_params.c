#include "lint.h"

#include "types.h"

#include <ctype.h>
#include <string.h>

const char *const id_kinds[] = { "org",      "brand",      "key",         "email",   "version", "send",  "contact", "domain",
                                 "audience", "group",      "run",         "job",     "event",   "trigger", "instance", "automation",
                                 "audienceRun", "insight", "field",       "audit",   "preview", "test",  "user",    "session",
                                 "import",   "asset",      "generation", NULL };

static const char *const text_formats[] = { "email", "date-time", "tokens", NULL };

static bool has_member(const struct param *param, const char *member)
{
    return json_object_get(param->schema, member) != NULL;
}

bool is_camel_case(const char *name)
{
    if (!islower((unsigned char)name[0])) {
        return false;
    }
    for (const char *p = name; *p != '\0'; p++) {
        if (!isalnum((unsigned char)*p)) {
            return false;
        }
    }
    return true;
}

bool is_c_keyword(const char *word)
{
    static const char *const keywords[] = { "auto",  "break", "case",   "char",     "const",  "continue", "default", "do",     "double",
                                            "else",  "enum",  "extern", "float",    "for",    "goto",     "if",      "inline", "int",
                                            "long",  "register", "restrict", "return", "short", "signed", "sizeof",  "static", "struct",
                                            "switch", "typedef", "union", "unsigned", "void",  "volatile", "while",  "asm",    "typeof",
                                            NULL };
    return is_one_of(word, keywords);
}

static void lint_bound(const struct param *param, const char *member)
{
    if (member_number(param->schema, member, 0) < 1) {
        problem(param->where, "needs %s", member);
    }
}

/* C constants are named after the value. */
static bool is_enum_value(const char *value)
{
    if (value == NULL || !isalpha((unsigned char)value[0])) {
        return false;
    }
    for (const char *p = value; *p != '\0'; p++) {
        if (!isalnum((unsigned char)*p) && *p != '_' && *p != '-') {
            return false;
        }
    }
    return true;
}

static void lint_enum(const struct param *param)
{
    size_t i;
    const json_t *value;
    json_array_foreach(enum_values(param), i, value) {
        if (!is_enum_value(json_string_value(value))) {
            problem(param->where, "a value of its enum is not made of letters, digits, _ and -");
        }
    }
    if (i == 0 || (param->kind == PARAM_TOKENS && i > 32)) {
        problem(param->where, "enum must have at least 1 value, tokens at most 32");
    }
    const char *preset = member_text(param->schema, "default");
    if (preset != NULL && !list_has(enum_values(param), preset)) {
        problem(param->where, "default is not one of its values");
    }
}

static void lint_items(const struct param *param)
{
    const json_t *items = json_object_get(param->schema, "items");
    lint_bound(param, "maxItems");
    if (items == NULL) {
        problem(param->where, "needs items");
    }
    if (param->kind == PARAM_TEXT_LIST && member_number(items, "maxLength", 0) < 1) {
        problem(param->where, "items need maxLength");
    }
}

static void lint_free_value(const struct param *param)
{
    if (!member_true(param->schema, "free")) {
        problem(param->where, "needs properties, or free: true");
    }
    if (strcmp(member_text(param->schema, "type"), "array") == 0) {
        lint_items(param);
        return;
    }
    lint_bound(param, "maxProperties");
}

/* A default has the type of the argument. Only plain values have one. */
static bool default_fits(const struct param *param, const json_t *preset)
{
    switch (param->kind) {
    case PARAM_TEXT:
    case PARAM_ENUM:
        return json_is_string(preset);
    case PARAM_INTEGER:
        return json_is_integer(preset);
    case PARAM_NUMBER:
        return json_is_number(preset);
    case PARAM_BOOLEAN:
        return json_is_boolean(preset);
    case PARAM_ID:
    case PARAM_TOKENS:
    case PARAM_TIME:
    case PARAM_TEXT_LIST:
    case PARAM_OBJECT:
    case PARAM_OBJECT_LIST:
    case PARAM_JSON:
        return false;
    }
    return false;
}

static void lint_kind(const struct param *param)
{
    switch (param->kind) {
    case PARAM_TEXT:
        lint_bound(param, "maxLength");
        return;
    case PARAM_ID:
        if (!is_one_of(member_text(param->schema, "format") + strlen("id:"), id_kinds)) {
            problem(param->where, "is an id of an unknown kind");
        }
        return;
    case PARAM_INTEGER:
    case PARAM_NUMBER:
        if (!has_member(param, "minimum") || !has_member(param, "maximum")) {
            problem(param->where, "needs minimum and maximum");
        }
        return;
    case PARAM_ENUM:
    case PARAM_TOKENS:
        lint_enum(param);
        return;
    case PARAM_TEXT_LIST:
    case PARAM_OBJECT_LIST:
        lint_items(param);
        return;
    case PARAM_JSON:
        lint_free_value(param);
        return;
    case PARAM_BOOLEAN:
    case PARAM_TIME:
    case PARAM_OBJECT:
        return;
    }
}

void lint_param(const struct param *param)
{
    static const char *const known[] = {
        "type=s",          "description=s", "enum=t",       "enumName=s",  "structName=s", "format=s",   "default=snb",
        "minimum=n",       "maximum=n",     "minLength=i",  "maxLength=i", "minItems=i",   "maxItems=i", "minProperties=i",
        "maxProperties=i", "items=o",       "properties=o", "required=t",  "nullable=b",   "single=b",   "free=b",
        "listToo=b",       "shape=s",       "example=*",    "rows=b",      "booleanToo=b", "ownNames=b",
        "anyToo=b",        NULL,
    };
    lint_members(param->schema, known, param->where);
    if (member_text(param->schema, "type") == NULL) {
        return; /* reported when its kind was resolved */
    }
    if (!is_camel_case(param->name)) {
        problem(param->where, "is not camelCase");
    }
    if (is_c_keyword(param->c_name)) {
        problem(param->where, "is a C keyword");
    }
    lint_text(param->schema, "description", param->where);
    const char *format = member_text(param->schema, "format");
    if (format != NULL && param->kind != PARAM_ID && !is_one_of(format, text_formats)) {
        problem(param->where, "has the unknown format %s", format);
    }
    if (is_nullable(param) && param->kind != PARAM_TEXT) {
        problem(param->where, "only text may be nullable");
    }
    const json_t *preset = json_object_get(param->schema, "default");
    if (preset != NULL && (param->required || !default_fits(param, preset))) {
        problem(param->where, "cannot have this default, or is required");
    }
    if (json_object_get(param->schema, "shape") != NULL && param->kind != PARAM_JSON) {
        problem(param->where, "only a free value has a shape");
    }
    if (param->place != PLACE_BODY && (param->kind == PARAM_OBJECT || param->kind == PARAM_OBJECT_LIST || param->kind == PARAM_JSON)) {
        problem(param->where, "cannot be in a path or a query");
    }
    lint_kind(param);
    for (size_t i = 0; i < param->field_count; i++) {
        lint_param(&param->fields[i]);
    }
}
