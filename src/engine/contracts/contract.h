/*
 * Payload contracts: the tree of fields that the payload of a trigger must have,
 * declared as a schema with the trigger or stored by the caller. One tree serves
 * both. Trees are allocated in the arena of the work; nothing here uses the
 * database.
 */
#pragma once

#include "engine/core/work.h"

#include <jansson.h>

enum {
    CONTRACT_FIELDS_MAX = 500, /* in the whole tree */
    CONTRACT_MAX_DEPTH = 16,
    CONTRACT_KEY_MAX_CHARS = 120,
    CONTRACT_TEXT_MAX_CHARS = 2000, /* of a fallback, an example or a description */
    CONTRACT_ENUM_MAX_VALUES = 200,
    CONTRACT_ENUM_MAX_CHARS = 200,
    CONTRACT_FINDINGS_MAX = 100, /* errors, and warnings, of one check */
};

enum contract_type {
    CONTRACT_STRING,
    CONTRACT_INT,
    CONTRACT_FLOAT,
    CONTRACT_BOOLEAN,
    CONTRACT_DATE,
    CONTRACT_ENUM,
    CONTRACT_OBJECT,
    CONTRACT_ARRAY,
    CONTRACT_UNKNOWN, /* only in a derived contract: an object without children, an array without children and item type */
};

enum contract_enforcement { CONTRACT_OFF, CONTRACT_PRUNE, CONTRACT_STRICT };

struct contract_field {
    const char *key;
    enum contract_type type;
    enum contract_type container; /* of CONTRACT_UNKNOWN: CONTRACT_OBJECT or CONTRACT_ARRAY, as the schema declares */
    bool is_required;
    const json_t *fallback; /* NULL: none. Fields of the items of an array have none */
    const struct contract_field *children;
    const struct contract_field *const *children_by_key;
    size_t child_count;
    enum contract_type item_type; /* of an array of scalars; CONTRACT_UNKNOWN: none */
    struct text_list enum_values; /* of an enum, or of the items of an array of enums */
    const char *description;      /* NULL: none */
    const json_t *example;        /* NULL: none */
};

struct contract {
    const struct contract_field *fields;
    const struct contract_field *const *fields_by_key;
    size_t count;
    enum contract_enforcement enforcement;
};

/* ---- Reading and writing a tree ---- */

/* Reads a tree of a caller (`is_stored`: a stored contract, which is stricter than a schema) or of the database.
 * Errors: INVALID_REQUEST with a dotted path below `param`; PAYLOAD_SCHEMA_EMAIL_REQUIRED. */
MUST_CHECK bool contract_read(const struct work *work, const json_t *fields, const char *param, bool is_stored,
                              struct contract *ret_contract, struct error *err) NONNULL(1, 3, 5, 6);

/* The field at a dotted path, such as order.total. `ret_is_open`: the path leads into an object or array whose members are not
 * declared, so any value is possible. NULL when the path is not declared. A path does not lead into the items of an array. */
const struct contract_field *contract_find(const struct contract *contract, const char *path, bool *ret_is_open) NONNULL(1, 2, 3);

/* True when a derived contract has a field of an unknown type. */
bool contract_has_unknown(const struct contract *contract) NONNULL(1) PURE;

/* True when a field can have this key: dots separate keys, and __proto__ is no ordinary member in JavaScript. */
bool contract_key_fits(const char *key) NONNULL(1) PURE;

/* Names on the wire. */
const char *contract_type_name(enum contract_type type) RETURNS_NONNULL;
const char *contract_enforcement_name(enum contract_enforcement enforcement) RETURNS_NONNULL;
enum contract_enforcement contract_enforcement_from_name(const char *name) NONNULL(1) PURE;

/* Writes the fields as an array. `as_schema`: an unknown type is written as the schema declares it. */
void contract_write_fields(const struct contract *contract, bool as_schema, struct json_writer *json) NONNULL(1, 3);

/* The fields as JSON text in the arena of the work. */
const char *contract_fields_json(const struct work *work, const struct contract *contract, bool as_schema) NONNULL(1, 2);

/* Writes a text, a number, true or false. */
void contract_write_scalar(const json_t *value, struct json_writer *json) NONNULL(2);

/* SHA-256 of what decides whether a payload fits: keys, types, required flags and fallbacks, in the order of the keys. */
enum { CONTRACT_HASH_BYTES = 32 };
void contract_hash(const struct work *work, const struct contract *contract, unsigned char ret_hash[CONTRACT_HASH_BYTES])
    NONNULL(1, 2, 3);

/* ---- Checking a payload ---- */

/* A finding about a member of a payload. */
struct contract_finding {
    const char *code;  /* payload_not_object, payload_too_large, missing_required, invalid_type, unexpected_key */
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
    const json_t *payload;   /* without the pruned keys; NULL when it is no object or too large */
    const json_t *fallbacks; /* an object: the fallbacks of members that the payload lacks, or that are null in it */
    struct text_list pruned; /* dotted paths */
};

/* Checks a payload, its size included (engine/payloads/payloads.h). Never fails: faults are findings, at most
 * CONTRACT_FINDINGS_MAX. A null in a field that is not required counts as absent. Messages and findings hold no value of the
 * payload. */
void contract_check(const struct work *work, const struct contract *contract, const json_t *payload,
                    struct contract_check *ret_check) NONNULL(1, 2, 3, 4);

/* A sentence when a payload has too many members, levels or bytes; NULL when it has not. contract_check calls it. */
const char *contract_payload_fault(const struct work *work, const json_t *payload) NONNULL(1, 2);

/* True when a value fits a scalar type; `enum_values` are those of an enum. False for other types. */
bool contract_scalar_fits(enum contract_type type, const struct text_list *enum_values, const json_t *value) NONNULL(2);

/* Writes findings as an array. */
void contract_write_findings(const struct contract_finding *findings, size_t count, struct json_writer *json) NONNULL(3);

/* A payload with its fallbacks: objects are merged, and a null gives way to a fallback. */
const json_t *contract_merge_fallbacks(const struct work *work, const json_t *payload, const json_t *fallbacks) NONNULL(1, 2, 3);
