/*
 * Generator texts: strings that live until the generator ends, generated files,
 * and reported problems.
 *
 * The generator is a short single-threaded program. Its values stay reachable
 * until it exits, so callers free nothing.
 */
#pragma once

#include "base/compiler.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* ---- Strings ---- */

/* A formatted string that lives until the generator ends. */
char *text(const char *format, ...) NONNULL(1) PRINTF_LIKE(1, 2) RETURNS_NONNULL;

/* camelCase and dotted.names to snake_case: contacts.saveBatch → contacts_save_batch. */
const char *snake_case(const char *name) NONNULL(1) RETURNS_NONNULL;

/* In kebab case, for the command line: scheduledAt → scheduled-at. */
const char *kebab_case(const char *name) NONNULL(1) RETURNS_NONNULL;

/* In snake case and capitals: in-review → IN_REVIEW. */
const char *upper_case(const char *name) NONNULL(1) RETURNS_NONNULL;

/* Keeps a JSON value until the generator ends; takes over the reference. */
json_t *keep(json_t *value) RETURNS_NONNULL;

/* Compact JSON text of a value, members in order. */
const char *json_text(const json_t *value) NONNULL(1) RETURNS_NONNULL;

/* ---- Members of declarations ---- */

/* The text of a member, NULL when absent or not a text. */
const char *member_text(const json_t *object, const char *key) NONNULL(2);

/* True when a member is present and true. */
bool member_true(const json_t *object, const char *key) NONNULL(2);

/* The value of a numeric member; `otherwise` when it is absent. */
double member_number(const json_t *object, const char *key, double otherwise) NONNULL(2);

/* True when an array contains this text. */
bool list_has(const json_t *array, const char *wanted) NONNULL(2);

/* ---- Problems ---- */

/* Reports an error in a declaration. The generator continues and fails at its end. */
void problem(const char *where, const char *format, ...) NONNULL(1, 2) PRINTF_LIKE(2, 3);

/* The number of reported problems. */
int problem_count(void);

/* ---- Generated files ---- */

/* A file being written. It replaces the old one only when it differs, so that builds stay short. */
struct output {
    FILE *stream;
    char *bytes;
    size_t size;
    const char *path;
};

/* Starts a file in memory. */
void output_open(struct output *out, const char *folder, const char *name) NONNULL(1, 2, 3);

/* Adds formatted text. */
void put(struct output *out, const char *format, ...) NONNULL(1, 2) PRINTF_LIKE(2, 3);

/* Adds a C string literal, split over several lines; NULL becomes the word NULL. */
void put_c_string(struct output *out, const char *value) NONNULL(1);

/* Writes the file if it changed. Ends the program when the folder cannot be written. */
void output_close(struct output *out) NONNULL(1);

/* Writes the first lines of a generated C file, which name its source. */
void put_origin(struct output *out, const char *purpose) NONNULL(1, 2);
