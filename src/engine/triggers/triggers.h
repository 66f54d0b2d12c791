/*
 * Triggers: the events that start automations. A custom trigger (provider api)
 * belongs to the callers; a trigger of an integration cannot be changed. The
 * payload schema declares the fields of a payload; the contract is derived from
 * it until a caller stores another one.
 *
 * A trigger that an automation uses cannot be deleted. Triggers of another brand
 * are not found. Rows are allocated in the arena of the work.
 */
#pragma once

#include "engine/contracts/contract_export.h"
#include "engine/core/work.h"
#include "sql/triggers.h"

#include <jansson.h>

enum {
    TRIGGER_REFERENCES_MAX = 100,   /* automations that a refusal or a report names */
    TRIGGERS_MAX_PER_BRAND = 10000, /* without those of integrations */
};

/* ---- Triggers ---- */

/* Errors: TRIGGER_EVENT_NOT_FOUND. */
MUST_CHECK bool trigger_get(const struct work *work, int64_t id, struct trigger_row **ret_trigger, struct error *err)
    NONNULL(1, 3, 4);

/* Writes a page, last changed first. Errors: INVALID_REQUEST (cursor). */
MUST_CHECK bool trigger_list(const struct work *work, int64_t limit, const char *cursor, struct json_writer *json,
                             struct error *err) NONNULL(1, 4, 5);

/* What a caller gives; NULL: not given. `fields` are those of `payloadSchema`, which may be given without fields. */
struct trigger_input {
    const char *title;
    const char *description;
    bool has_schema;
    const json_t *fields;
};

/* Creates a custom trigger. Errors: PAYLOAD_SCHEMA_EMAIL_REQUIRED, INVALID_REQUEST (payloadSchema.fields …). */
MUST_CHECK bool trigger_create(const struct work *work, const struct trigger_input *input, struct trigger_row **ret_trigger,
                               struct error *err) NONNULL(1, 2, 3, 4);

/* Changes what is given. Errors: as trigger_create; TRIGGER_EVENT_NOT_FOUND, TRIGGER_IMMUTABLE. */
MUST_CHECK bool trigger_update(const struct work *work, int64_t id, const struct trigger_input *input,
                               struct trigger_row **ret_trigger, struct error *err) NONNULL(1, 3, 4, 5);

/* `ret_deleted` is false when the brand has no such trigger. Errors: TRIGGER_IMMUTABLE; TRIGGER_HAS_DEPENDENT_AUTOMATIONS with
 * them in details. */
MUST_CHECK bool trigger_delete(const struct work *work, int64_t id, bool *ret_deleted, struct error *err) NONNULL(1, 3, 4);

/* Whether a published automation starts with the trigger, or waits for it. */
MUST_CHECK bool trigger_has_listener(const struct work *work, int64_t id, bool *ret_found, struct error *err) NONNULL(1, 3, 4);

/* Writes whether a fire would start or wake anything, and what blocks it. Errors: TRIGGER_EVENT_NOT_FOUND. */
MUST_CHECK bool trigger_readiness(const struct work *work, int64_t id, struct json_writer *json, struct error *err)
    NONNULL(1, 3, 4);

/* The address to which a program sends its fires: a path, behind the public address of the server when it has one. */
const char *trigger_fire_url(const struct work *work, int64_t id) NONNULL(1) RETURNS_NONNULL;

/* ---- Contracts ---- */

/* A trigger with the contract that its payloads must fit. */
struct trigger_contract {
    struct trigger_row *trigger;
    struct contract contract;
    bool is_stored; /* else it is derived from the schema */
};

/* Reads both in one round trip. Errors: TRIGGER_EVENT_NOT_FOUND. */
MUST_CHECK bool trigger_contract(const struct work *work, int64_t id, struct trigger_contract *ret_contract, struct error *err)
    NONNULL(1, 3, 4);

/* The same from a row that a statement of the caller has read; no round trip. */
MUST_CHECK bool trigger_contract_of_row(const struct work *work, struct trigger_row *trigger, struct trigger_contract *ret_contract,
                                        struct error *err) NONNULL(1, 2, 3, 4);

/* What a caller gives: neither: back to the derived contract. */
struct contract_input {
    const json_t *fields; /* NULL: unchanged */
    bool has_enforcement;
    enum contract_enforcement enforcement;
};

/* Replaces the contract, or its enforcement. The version rises when another hash is stored. Errors: TRIGGER_EVENT_NOT_FOUND,
 * TRIGGER_IMMUTABLE, PAYLOAD_SCHEMA_EMAIL_REQUIRED, INVALID_REQUEST (fields …), CONTRACT_LOCKED_BY_PUBLISHED_AUTOMATIONS. */
MUST_CHECK bool trigger_set_contract(const struct work *work, int64_t id, const struct contract_input *input,
                                     struct trigger_contract *ret_contract, struct error *err) NONNULL(1, 3, 4, 5);

/* ---- Wire shapes (triggers_json.c) ---- */

/* The resource "trigger"; `skill` NULL: without that member. */
void trigger_write(const struct work *work, const struct trigger_row *trigger, const char *skill, struct json_writer *json)
    NONNULL(1, 2, 4);

/* The member payloadSchema of these fields. */
void trigger_write_schema(const char *fields, struct json_writer *json) NONNULL(1, 2);

/* The resource "payloadContract". */
void trigger_contract_write(const struct work *work, const struct trigger_contract *contract, struct json_writer *json)
    NONNULL(1, 2, 3);

/* The text of an export. */
const char *trigger_contract_export(const struct work *work, const struct trigger_contract *contract, enum contract_format format)
    NONNULL(1, 2) RETURNS_NONNULL;

/* The resource "payloadContractCode". */
void trigger_contract_write_code(const struct work *work, const struct trigger_contract *contract, enum contract_format format,
                                 struct json_writer *json) NONNULL(1, 2, 4);
