/*
 * Providers: the forms of the requests and answers of model APIs, and what each
 * supports of JSON Schema. Private to src/models.
 */
#pragma once

#include "base/arena.h"
#include "base/json_write.h"
#include "base/values.h"
#include "models/models.h"

/* How a strict schema says that a member is left out. */
enum absence {
    ABSENCE_NULL,  /* each member that may be left out has the type null too */
    ABSENCE_EMPTY, /* an empty text, list or object: the provider bounds the number of unions */
};

/* What the request asks of the form of the answer. */
enum answer_mode { MODE_SCHEMA, MODE_JSON, MODE_PLAIN };

enum { TURNS_MAX = 4 };

struct turn {
    bool is_model; /* otherwise it is ours */
    const char *text;
};

struct model_request {
    const struct model *model;
    enum answer_mode mode;
    const char *schema_name;
    const char *schema; /* JSON text */
    const char *system;
    struct turn turns[TURNS_MAX];
    size_t turn_count;
};

enum answer_end { ANSWER_WHOLE, ANSWER_CUT, ANSWER_REFUSED, ANSWER_EMPTY };

struct model_answer {
    enum answer_end end;
    const char *text; /* NULL: none */
    struct opt_int tokens_in;
    struct opt_int tokens_out;
};

struct provider {
    const char *name;
    const char *url;  /* default; NULL: the operator names one */
    const char *path; /* behind the base URL */
    bool needs_key;
    bool ignores_schemas;    /* servers of this kind may ignore a schema without a word: the prompt has it too */
    enum answer_mode lowest; /* the last mode to try */
    enum absence absence;
    const char *key_header; /* before the key */
    const char *version;    /* a further header; NULL: none */
    void (*write)(const struct model_request *request, struct json_writer *json);
    void (*read)(struct arena *arena, const json_t *json, struct model_answer *ret_answer);
};

struct model {
    const struct provider *provider;
    char *url; /* with the path */
    char *name;
    char *key_header; /* NULL: no key */
    char *engine;
    int64_t total_ms;
};

/* NULL: there is no such provider. */
const struct provider *provider_find(const char *name) PURE;
