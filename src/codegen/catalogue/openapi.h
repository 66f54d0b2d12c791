/*
 * The parts the OpenAPI document is made of. What they return are new
 * references; schemas may still name files of schemas/resources, and
 * openapi_relink turns those names into places of the document.
 */
#pragma once

#include "model.h"

/* A copy in which references to files are references within the document, without our own members. */
json_t *openapi_relink(json_t *schema) RETURNS_NONNULL;

/* ---- openapi_examples.c ---- */

/* A value that fits the schema; `name` is the member it stands under. */
json_t *example_of_schema(const struct catalogue *all, const char *name, json_t *schema) NONNULL(1, 2, 3) RETURNS_NONNULL;

/* A value of one argument. */
json_t *example_of_param(const struct catalogue *all, const struct param *param) NONNULL(1, 2) RETURNS_NONNULL;

/* A body that the operation takes: what it requires, what tells it from others of its route, and what has an example of its own. */
json_t *example_request(const struct catalogue *all, const struct op_decl *op) NONNULL(1, 2) RETURNS_NONNULL;

/* An answer of the operation. */
json_t *example_response(const struct catalogue *all, const struct op_decl *op) NONNULL(1, 2) RETURNS_NONNULL;

/* ---- openapi_responses.c ---- */

/* The responses of a route: each status its operations answer with, and each status they refuse with. */
json_t *openapi_responses(const struct catalogue *all, const struct op_decl *route) NONNULL(1, 2) RETURNS_NONNULL;

/* Every error code the operations of a route may answer with, in the order of the registry. */
json_t *openapi_codes(const struct catalogue *all, const struct op_decl *route) NONNULL(1, 2) RETURNS_NONNULL;

/* components.responses: each set of codes that some route refuses with at one status, once. */
json_t *openapi_refusals(const struct catalogue *all) NONNULL(1) RETURNS_NONNULL;

/* components.headers. */
json_t *openapi_headers(void) RETURNS_NONNULL;
