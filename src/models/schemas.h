/*
 * Schemas: the strict JSON Schemas that providers get, made from that of
 * documents (designer/document.h), and the way back from an answer in their form.
 * Private to src/models.
 *
 * What the providers document for strict schemas, and what is kept here:
 *   - every object closes with additionalProperties false and requires all of
 *     its members; no lengths, bounds, patterns or recursion; the root is an
 *     object and no union
 *   - Anthropic: at most 16 members with a union of types, 24 that may be left
 *     out. A document would have 160 unions, so a member that is left out is
 *     empty there (ABSENCE_EMPTY)
 *   - OpenAI: at most 5,000 members, 10 levels, 1,000 values of enums
 *
 * Blocks of the type html are taken out: a model never writes HTML.
 */
#pragma once

#include "models/provider.h"

/* The JSON text of the schema of a document, of an edit of a document, of an edit of an import. */
const char *schema_of_document(struct arena *arena, enum absence absence) NONNULL(1) RETURNS_NONNULL;
const char *schema_of_operations(struct arena *arena, enum absence absence) NONNULL(1) RETURNS_NONNULL;
const char *schema_of_splices(void) RETURNS_NONNULL;

/* A copy of an answer without members that are left out: nulls, and empty texts, lists and objects. An empty alternative text
 * stays where a null says that it is left out. */
json_t *answer_without_absent(struct arena *arena, const json_t *answer, enum absence absence) NONNULL(1, 2) RETURNS_NONNULL;
