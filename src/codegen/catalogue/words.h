/*
 * Declarations as sentences and lists, for the help of tools, GET /v1/help and
 * the documents. The results live until the generator ends.
 */
#pragma once

#include "model.h"

/* The cost of a call, such as "Free." or "Costs 2 credits per address.". */
const char *price_sentence(const struct catalogue *all, const struct op_decl *op) NONNULL(1, 2) RETURNS_NONNULL;

/* The cost of a tool: of its built operations, or of all when none is built. */
const char *tool_cost(const struct catalogue *all, const struct tool_decl *tool) NONNULL(1, 2) RETURNS_NONNULL;

/* The help of a tool in Markdown: description, arguments, errors. */
const char *tool_help(const struct catalogue *all, const struct tool_decl *tool) NONNULL(1, 2) RETURNS_NONNULL;

/* The arguments of an operation as a Markdown list, "" when it takes none. */
const char *operation_arguments(const struct op_decl *op) NONNULL(1) RETURNS_NONNULL;

/* The accepted values of a parameter, such as "text, at most 40 characters, required". */
const char *param_in_words(const struct param *param) NONNULL(1) RETURNS_NONNULL;

/* The two words of an operation on the command line: emailGroups.create → "email-groups" and "create". */
const char *command_domain(const struct op_decl *op) NONNULL(1) RETURNS_NONNULL;
const char *command_verb(const struct op_decl *op) NONNULL(1) RETURNS_NONNULL;

/* Its path parameters as operands, in order: "EMAIL_ID TEST_ID". */
const char *command_operands(const struct op_decl *op) NONNULL(1) RETURNS_NONNULL;

/* The texts of an array, comma-separated. */
const char *words_of(const json_t *array) RETURNS_NONNULL;

/* Prices, rate policies and error codes as Markdown lists; the errors with the suggestions that any assistant can follow. */
const char *price_list(const struct catalogue *all) NONNULL(1) RETURNS_NONNULL;
const char *rate_list(const struct catalogue *all) NONNULL(1) RETURNS_NONNULL;
const char *error_list(const struct catalogue *all) NONNULL(1) RETURNS_NONNULL;

/* The types of nodes of automations and the forms of their configs, as Markdown. */
const char *node_list(const struct catalogue *all) NONNULL(1) RETURNS_NONNULL;

/* True for a write that may be part of a group commit. */
bool is_single_write(const struct op_decl *op) NONNULL(1);

/* True when two operations have the same method and path. */
bool is_same_route(const struct op_decl *one, const struct op_decl *other) NONNULL(1, 2);

/* True when ops[at] is the operation without a condition of its route: it represents the route. */
bool is_main_of_route(const struct catalogue *all, size_t at) NONNULL(1);

/* The routes that a rate policy counts, such as "POST /v1/sends"; a new reference. */
json_t *routes_of_policy(const struct catalogue *all, const char *policy) NONNULL(1, 2) RETURNS_NONNULL;
