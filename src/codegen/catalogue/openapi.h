/*
 * OpenAPI: the parts of the document. The functions return new references.
 * Their schemas may still refer to files of schemas/resources; openapi_relink
 * turns these references into references within the document.
 */
#pragma once

#include "model.h"

/* A copy in which file references are references within the document, without members that only the generator uses. */
json_t *openapi_relink(json_t *schema) RETURNS_NONNULL;

/* ---- openapi_examples.c ---- */

/* An example value for the schema; `name` is the name of its member. */
json_t *example_of_schema(const struct catalogue *all, const char *name, json_t *schema) NONNULL(1, 2, 3) RETURNS_NONNULL;

/* An example value of one argument. */
json_t *example_of_param(const struct catalogue *all, const struct param *param) NONNULL(1, 2) RETURNS_NONNULL;

/* An example body of the operation: its required members, the members of its condition, and those with an example. */
json_t *example_request(const struct catalogue *all, const struct op_decl *op) NONNULL(1, 2) RETURNS_NONNULL;

/* An example answer of the operation. */
json_t *example_response(const struct catalogue *all, const struct op_decl *op) NONNULL(1, 2) RETURNS_NONNULL;

/* ---- openapi_responses.c ---- */

/* The responses of a route: each success status and each error status of its operations. */
json_t *openapi_responses(const struct catalogue *all, const struct op_decl *route) NONNULL(1, 2) RETURNS_NONNULL;

/* All error codes of the operations of a route, in the order of the registry. */
json_t *openapi_codes(const struct catalogue *all, const struct op_decl *route) NONNULL(1, 2) RETURNS_NONNULL;

/* components.responses: one entry for each set of codes that some route has for a status. */
json_t *openapi_refusals(const struct catalogue *all) NONNULL(1) RETURNS_NONNULL;

/* components.headers. */
json_t *openapi_headers(void) RETURNS_NONNULL;
