/*
 * Lint helpers: checks that several lints of declarations use.
 */
#pragma once

#include "model.h"

/* True when a text is one of the NULL-terminated words. */
bool is_one_of(const char *value, const char *const *words) NONNULL(2);

/* Reports unknown members, which are mostly misspelt, and members of a wrong type. A known member is written name=types, each
 * type a letter: s text, b boolean, n number, i whole number, o object, a list, t list of texts, z null, * anything. The list
 * ends with NULL. */
void lint_members(json_t *object, const char *const *known, const char *where) NONNULL(2, 3);

/* Reports a required member that is absent or not a text. */
bool lint_text(const json_t *object, const char *member, const char *where) NONNULL(2, 3);

/* Reports the cited rules of a declaration that are not written like R-001 or are missing in schemas/rules.json. `place` starts
 * with the file and a colon. */
void lint_cited_rules(const struct catalogue *all, const json_t *declaration, const char *place) NONNULL(1, 3);

/* Names on the wire, and what no member of a struct may be called. */
bool is_camel_case(const char *name) NONNULL(1);
bool is_c_keyword(const char *word) NONNULL(1);

/* The kinds of ids, as in enum id_kind of crypto/ids.h. NULL-terminated. */
extern const char *const id_kinds[];

/* Reports a parameter that is unbounded, undescribed or of a form that cannot be decoded. */
void lint_param(const struct param *param) NONNULL(1);
