/*
 * Values while a template runs: what is true, equal, less and a member, and
 * what a value looks like as text, as Liquid has it (ECMAScript's rules where
 * Liquid for JavaScript leaves them to it). Values are borrowed, nothing is freed;
 * what has to be made comes from the scratch of the evaluation.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "template/format.h"
#include "template/template.h"

/* What one evaluation may still use. */
struct template_scratch {
    struct arena *arena;
    size_t left_bytes;
    int64_t left_operations;
    const struct template_setting *setting; /* never NULL */
};

/* Room for new text or items; NULL and INVALID_REQUEST when the scratch is used up. */
void *template_scratch_room(struct template_scratch *scratch, size_t size, struct error *err) NONNULL(1, 3);

/* Counts work; false and INVALID_REQUEST when the evaluation has worked enough. */
MUST_CHECK bool template_scratch_work(struct template_scratch *scratch, size_t bytes, struct error *err) NONNULL(1, 3);

/* ---- Making values ---- */

static inline struct template_value template_bool(bool truth)
{
    return (struct template_value){ .kind = TEMPLATE_BOOL, .truth = truth };
}

static inline struct template_value template_integer(int64_t integer)
{
    return (struct template_value){ .kind = TEMPLATE_INTEGER, .integer = integer };
}

static inline struct template_value template_string(const char *text, size_t size)
{
    return (struct template_value){ .kind = TEMPLATE_STRING, .size = size, .text = text };
}

/* Nil for what is not finite; a whole number that a double holds exactly becomes an integer. */
struct template_value template_number(double number);

struct template_value template_value_of_json(const struct json_t *json);

/* ---- Lists: TEMPLATE_LIST and JSON arrays ---- */

bool template_is_list(const struct template_value *value) NONNULL(1) PURE;
bool template_is_object(const struct template_value *value) NONNULL(1) PURE;
size_t template_list_size(const struct template_value *list) NONNULL(1) PURE;
struct template_value template_list_item(const struct template_value *list, size_t index) NONNULL(1);

/* What a loop walks over: a list itself, [name, value] for each member of an object, a text as its only item.
 * False with INVALID_REQUEST when the scratch is used up. */
MUST_CHECK bool template_to_items(struct template_scratch *scratch, const struct template_value *value,
                                  struct template_value *ret_list, struct error *err) NONNULL(1, 2, 3, 4);

/* ---- Asking values ---- */

bool template_holds(const struct template_value *value) NONNULL(1) PURE; /* everything but nil and false */
/* `left_operations` goes down by the items compared; below zero nothing is equal. */
bool template_compare(enum template_comparison comparison, const struct template_value *left, const struct template_value *right,
                      int64_t *left_operations) NONNULL(2, 3, 4);

/* -1, 0 or 1 as numbers or texts; false when they have no order. */
bool template_order(const struct template_value *left, const struct template_value *right, int *ret_request) NONNULL(1, 2, 3);

/* Counts the work of asking for a member: a text counts its characters to tell its size. Before template_member and
 * template_index. */
MUST_CHECK bool template_member_work(struct template_scratch *scratch, const struct template_value *value, struct error *err)
    NONNULL(1, 2, 3);

/* A member by name, or nil: of an object, and `size`, `first` and `last` as Liquid has them. */
struct template_value template_member(const struct template_value *value, const char *name, size_t size) NONNULL(1, 2);

/* A member by a key that is a value: an item of a list, counted from the end when negative, or a member by name. */
struct template_value template_index(const struct template_value *value, const struct template_value *key) NONNULL(1, 2);

/* Follows a path, or the rest of one, as template_path writes it: `.name`, `[0]`, `["name"]`; the first name may stand
 * without its dot. */
struct template_value template_follow(struct template_value value, const char *path) NONNULL(2);

/* Bytes of the first name of a path. */
size_t template_root_size(const char *path) NONNULL(1) PURE;

/* The value as a number; false when it is none. */
bool template_to_number(const struct template_value *value, double *ret_number) NONNULL(1, 2);

/* ---- Text ---- */

enum { TEMPLATE_NUMBER_TEXT_BYTES = 32 };

/* As ECMAScript writes it (Number::toString). Gives the size. */
size_t template_number_text(double number, char ret_text[TEMPLATE_NUMBER_TEXT_BYTES]) NONNULL(2);

/* The text of a text, number or truth without allocating; false and "" for other values. */
bool template_scalar_text(const struct template_value *value, char room[TEMPLATE_NUMBER_TEXT_BYTES], const char **ret_text,
                          size_t *ret_size) NONNULL(1, 2, 3, 4);

/* What a slot shows: nothing for nil and objects, the items of a list one behind the other.
 * False with INVALID_REQUEST when the scratch is used up. */
MUST_CHECK bool template_to_text(struct template_scratch *scratch, struct template_value *value, struct error *err)
    NONNULL(1, 2, 3);

/* The items of a list as text with `separator` between them. */
MUST_CHECK bool template_join(struct template_scratch *scratch, const struct template_value *list, const char *separator,
                              size_t separator_size, struct template_value *ret_text, struct error *err) NONNULL(1, 2, 3, 5, 6);
