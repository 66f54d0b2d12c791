/*
 * What the generator knows: the declarations under schemas/ and tools/, read
 * once and resolved as far as several emitters need it.
 *
 * Declarations keep their JSON beside the resolved members, because most of
 * what is emitted is a member passed on. Everything lives until the generator
 * ends; emitters read and never change it.
 */
#pragma once

#include "text.h"

/* Mirrors enum arg_kind of api/catalogue.h, in its order. */
enum param_kind {
    PARAM_TEXT,
    PARAM_ID,
    PARAM_INTEGER,
    PARAM_NUMBER,
    PARAM_BOOLEAN,
    PARAM_ENUM,
    PARAM_TOKENS,
    PARAM_TIME,
    PARAM_TEXT_LIST,
    PARAM_OBJECT,
    PARAM_OBJECT_LIST,
    PARAM_JSON,
};

enum param_place { PLACE_PATH, PLACE_QUERY, PLACE_BODY };

/* One argument of an operation, or one member of an object argument. */
struct param {
    const char *name;      /* on the wire */
    const char *c_name;    /* member of the generated struct */
    const char *type_name; /* tag of the generated enum or struct, NULL for plain kinds */
    const char *where;     /* for problems: file, operation and dotted path */
    json_t *schema;
    enum param_kind kind;
    enum param_place place;
    bool required;
    struct param *fields; /* of PARAM_OBJECT and of the items of PARAM_OBJECT_LIST */
    size_t field_count;
};

struct op_decl {
    json_t *json;
    const char *where;  /* file and id */
    const char *domain; /* the file's name without .json */
    const char *id;
    const char *c_name; /* contacts_save_batch */
    const char *method; /* NULL when reached by tools only */
    const char *path;
    bool built;
    struct param *params; /* path, then query, then body */
    size_t param_count;
};

/* One member of the payload of a job. */
struct payload_decl {
    json_t *json;
    const char *where; /* file, line, job and member */
    const char *name;  /* in the JSON of the payload */
    const char *c_name;
};

struct job_decl {
    json_t *json;
    const char *where; /* file, line and name */
    const char *name;  /* in the database */
    struct payload_decl *members;
    size_t member_count;
};

struct tool_decl {
    json_t *json;
    const char *where;
    const char *domain;
    const char *name;
    bool built;                   /* at least one of its operations is */
    const struct op_decl **ops;   /* in the order their conditions or values are tried */
    const char **choosers;        /* beside ops: the value of choose_by, or the argument whose presence picks it, or NULL */
    size_t op_count;
    const char *choose_by;        /* argument whose value picks the operation, NULL when none does */
    json_t *input_schema;         /* made by tool_schemas.c for built tools */
    json_t *output_schema;
    json_t *list_object;          /* its object in tools/list */
    const char *description;      /* with the cost at its end */
};

struct catalogue {
    const char *root; /* holds schemas/ and tools/ */
    json_t *errors;
    json_t *policies;
    json_t *interface; /* title, version, tags and usual examples of the OpenAPI document */
    json_t *resources; /* name → schema */
    json_t *integrations;
    json_t *rule_file;    /* schemas/rules.json: areas, and rules in their order */
    json_t *rules;        /* id → rule of the contract (R-…) or decision on what it leaves open (D-…, A-…) */
    json_t *mcp;
    json_t *topics;
    struct op_decl *ops;
    size_t op_count;
    struct tool_decl *tools;
    size_t tool_count;
    struct job_decl *jobs;
    size_t job_count;
};

/* ---- read.c ---- */

/* Reads every declaration. Problems of form are reported; what could not be read is absent. */
void read_catalogue(struct catalogue *all, const char *root) NONNULL(1, 2);

/* The operation of this id, NULL when there is none. */
const struct op_decl *find_op(const struct catalogue *all, const char *id) NONNULL(1, 2);

/* ---- read_jobs.c ---- */

/* Reads schemas/jobs.json. */
void read_jobs(struct catalogue *all, json_t *file) NONNULL(1, 2);

/* The job of this name, NULL when there is none. */
const struct job_decl *find_job(const struct catalogue *all, const char *name) NONNULL(1, 2);

/* ---- params.c ---- */

/* Resolves the declared parameters of an operation into `op->params`, reporting what cannot be served. */
void resolve_params(struct op_decl *op) NONNULL(1);

/* The parameter of this name, NULL when the operation has none. */
const struct param *find_param(const struct op_decl *op, const char *name) NONNULL(1, 2);

/* ---- lint*.c ---- */

/* Whether an error code is registered. */
bool error_is_known(const struct catalogue *all, const char *code) NONNULL(1, 2);

/* Refuses declarations that contradict each other or leave something open that must be said. */
void lint_errors(const struct catalogue *all) NONNULL(1);
void lint_policies(const struct catalogue *all) NONNULL(1);
void lint_operations(const struct catalogue *all) NONNULL(1);
void lint_integrations(const struct catalogue *all) NONNULL(1);
void lint_resources(const struct catalogue *all) NONNULL(1);
void lint_jobs(const struct catalogue *all) NONNULL(1);
void lint_tools(const struct catalogue *all) NONNULL(1);
void lint_listed_tools(const struct catalogue *all) NONNULL(1);
void lint_counts(const struct catalogue *all) NONNULL(1);
void lint_mcp(const struct catalogue *all) NONNULL(1);
void lint_types(const struct catalogue *all) NONNULL(1);
void lint_rules(const struct catalogue *all) NONNULL(1);
void lint_decisions(const struct catalogue *all) NONNULL(1);
void lint_topics(const struct catalogue *all) NONNULL(1);
void lint_interface(const struct catalogue *all) NONNULL(1);

/* ---- schemas.c and tool_schemas.c ---- */

/* The JSON Schema of a parameter as callers see it; `for_tool` keeps to what every host takes. A new reference. */
json_t *param_schema(const struct param *param, bool for_tool) NONNULL(1) RETURNS_NONNULL;

/* The declared result of an operation, NULL when it declares none. Borrowed. */
json_t *result_schema(const struct catalogue *all, const struct op_decl *op) NONNULL(1, 2);

/* A schema behind its reference, or itself when it is none. Borrowed. */
json_t *without_reference(const struct catalogue *all, json_t *schema) NONNULL(1);

/* Fills the schemas, the description and the tools/list object of every built tool. */
void make_tool_schemas(struct catalogue *all) NONNULL(1);

/* The OpenAPI document. Borrowed, and the same one at every call. */
json_t *openapi_document(const struct catalogue *all) NONNULL(1) RETURNS_NONNULL;

/* ---- Emitters: each writes its files under `folder` ---- */

void emit_errors(const struct catalogue *all, const char *folder) NONNULL(1, 2);
void emit_policies(const struct catalogue *all, const char *folder) NONNULL(1, 2);
void emit_integrations(const struct catalogue *all, const char *folder) NONNULL(1, 2);
void emit_operations_header(const struct catalogue *all, const char *folder) NONNULL(1, 2);
void emit_operations(const struct catalogue *all, const char *folder) NONNULL(1, 2);
void emit_jobs(const struct catalogue *all, const char *folder) NONNULL(1, 2);
void emit_tools(const struct catalogue *all, const char *folder) NONNULL(1, 2);
void emit_help(const struct catalogue *all, const char *folder) NONNULL(1, 2);
void emit_mcp(const struct catalogue *all, const char *folder) NONNULL(1, 2);
void emit_docs(const struct catalogue *all, const char *folder) NONNULL(1, 2);
void emit_commands(const struct catalogue *all, const char *folder) NONNULL(1, 2);
