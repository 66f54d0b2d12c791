/*
 * Exports of a contract for the systems that send payloads: TypeScript, zod,
 * JSON Schema, and a brief for a person or an assistant that connects a system.
 * The exported code accepts what contract_check accepts, except that TypeScript
 * does not tell whole numbers and date-times from other numbers and texts.
 * Results live in the arena of the work.
 */
#pragma once

#include "engine/contracts/contract.h"

enum contract_format { CONTRACT_TS = 1, CONTRACT_ZOD, CONTRACT_JSON_SCHEMA, CONTRACT_SKILL };

/* The trigger that an export is about. */
struct contract_subject {
    const char *title;
    const char *description; /* NULL: none */
    const char *fire_url;
};

const char *contract_format_name(enum contract_format format) RETURNS_NONNULL;

/* The name of the exported type: the title in PascalCase and Payload. */
const char *contract_payload_name(const struct work *work, const char *title) NONNULL(1, 2) RETURNS_NONNULL;

/* The text of an export. */
const char *contract_export(const struct work *work, enum contract_format format, const struct contract *contract,
                            const struct contract_subject *subject) NONNULL(1, 3, 4) RETURNS_NONNULL;

/* ---- For the files of this folder ---- */

enum { CONTRACT_EXPORT_MAX_BYTES = 32 * 1024 * 1024 }; /* far above what the largest body of a contract gives */

/* The date-times that contract_check accepts, as a regular expression of JavaScript. */
extern const char contract_date_pattern[];

void contract_add_ts(const struct work *work, const struct contract *contract, const struct contract_subject *subject,
                     struct buf *out) NONNULL(1, 2, 3, 4);
void contract_add_zod(const struct work *work, const struct contract *contract, const struct contract_subject *subject,
                      struct buf *out) NONNULL(1, 2, 3, 4);
void contract_add_json_schema(const struct work *work, const struct contract *contract, const struct contract_subject *subject,
                              struct buf *out) NONNULL(1, 2, 3, 4);
void contract_add_skill(const struct work *work, const struct contract *contract, const struct contract_subject *subject,
                        struct buf *out) NONNULL(1, 2, 3, 4);
