/*
 * Payload contracts: the tree of fields that the payload of a trigger must have,
 * declared as a schema with the trigger or stored by the caller. One tree serves
 * both. Trees are allocated in the arena of the work; nothing here uses the
 * database.
 */
#pragma once

#include "engine/core/work.h"

enum { CONTRACT_FIELDS_MAX = 500, CONTRACT_MAX_DEPTH = 16, CONTRACT_KEY_MAX_CHARS = 120 };

enum contract_type {
    CONTRACT_STRING,
    CONTRACT_INT,
    CONTRACT_FLOAT,
    CONTRACT_BOOLEAN,
    CONTRACT_DATE,
    CONTRACT_ENUM,
    CONTRACT_OBJECT,
    CONTRACT_ARRAY,
    CONTRACT_UNKNOWN, /* only in a derived contract */
};

enum contract_enforcement { CONTRACT_OFF, CONTRACT_PRUNE, CONTRACT_STRICT };

struct contract_field {
    const char *key;
    enum contract_type type;
    bool is_required;
    const json_t *fallback; /* NULL: none */
    const struct contract_field *children;
    size_t child_count;
    enum contract_type item_type; /* of an array of scalars; CONTRACT_UNKNOWN: none */
    struct text_list enum_values;
    const char *description; /* NULL: none */
    const json_t *example;   /* NULL: none */
};

struct contract {
    const struct contract_field *fields;
    size_t count;
    enum contract_enforcement enforcement;
};

/* Reads a tree of a caller (`is_stored`: a stored contract, which is stricter than a schema) or of the database.
 * Errors: INVALID_REQUEST with a dotted path below `param`; PAYLOAD_SCHEMA_EMAIL_REQUIRED. */
MUST_CHECK bool contract_read(const struct work *work, const json_t *fields, const char *param, bool is_stored,
                              struct contract *ret_contract, struct error *err) NONNULL(1, 2, 3, 5, 6);

/* A finding about a member of a payload. */
struct contract_finding {
    const char *code;  /* payload_not_object, missing_required, invalid_type, unexpected_key */
    const char *field; /* dotted path; "" for the whole payload */
    const char *message;
    const char *expected_type; /* NULL: none */
    const char *actual_type;   /* NULL: none */
};

struct contract_check {
    const struct contract_finding *errors;
    size_t error_count;
    const struct contract_finding *warnings;
    size_t warning_count;
    const json_t *payload;   /* without the pruned keys; NULL when it is no object */
    const json_t *fallbacks; /* an object: the fallbacks of members that the payload lacks */
    struct text_list pruned; /* dotted paths */
};

/* Checks a payload. Never fails: faults are findings. Messages and findings hold no value of the payload. */
void contract_check(const struct work *work, const struct contract *contract, const json_t *payload,
                    struct contract_check *ret_check) NONNULL(1, 2, 3, 4);
