/*
 * Values at run time: truth, equality, order, members and conversion to text,
 * with the semantics of Liquid (and of ECMAScript where Liquid for JavaScript
 * relies on it). Values are borrowed and never freed; new memory comes from the
 * scratch of the evaluation.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "template/format.h"
#include "template/template.h"

/* The remaining resources of one evaluation. */
struct template_scratch {
    struct arena *arena;
    size_t left_bytes;
    int64_t left_operations;
    const struct template_setting *setting; /* never NULL */
};

/* Allocates memory for new text or items. NULL with INVALID_REQUEST when the scratch limit is reached. */
void *template_scratch_alloc(struct template_scratch *scratch, size_t size, struct error *err) NONNULL(1, 3);

/* Counts work. False with INVALID_REQUEST when the limit of operations is reached. */
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

/* Nil for a number that is not finite. A whole number that is exact in a double becomes an integer. */
struct template_value template_number(double number);

struct template_value template_value_of_json(const struct json_t *json);

/* ---- Lists: TEMPLATE_LIST and JSON arrays ---- */

bool template_is_list(const struct template_value *value) NONNULL(1) PURE;
bool template_is_object(const struct template_value *value) NONNULL(1) PURE;
size_t template_list_size(const struct template_value *list) NONNULL(1) PURE;
struct template_value template_list_item(const struct template_value *list, size_t index) NONNULL(1);

/* Converts a value to the list that a loop iterates over: a list itself, [name, value] for each member of an object, a text as
 * the only item. False with INVALID_REQUEST when the scratch limit is reached. */
MUST_CHECK bool template_to_items(struct template_scratch *scratch, const struct template_value *value,
                                  struct template_value *ret_list, struct error *err) NONNULL(1, 2, 3, 4);

/* ---- Comparisons and members ---- */

bool template_holds(const struct template_value *value) NONNULL(1) PURE; /* truthy: all values except nil and false */
/* `left_operations` decreases by the number of compared items; below zero, values are not equal. */
bool template_compare(enum template_comparison comparison, const struct template_value *left, const struct template_value *right,
                      int64_t *left_operations) NONNULL(2, 3, 4);

/* Compares numbers or texts: -1, 0 or 1. False when the values have no order. */
bool template_order(const struct template_value *left, const struct template_value *right, int *ret_order) NONNULL(1, 2, 3);

/* Counts the work of a member access; call it before template_member and template_index. The size of a text requires counting
 * its characters. */
MUST_CHECK bool template_member_work(struct template_scratch *scratch, const struct template_value *value, struct error *err)
    NONNULL(1, 2, 3);

/* A member of an object by name, or nil. Also `size`, `first` and `last`, as in Liquid. */
struct template_value template_member(const struct template_value *value, const char *name, size_t size) NONNULL(1, 2);

/* A member by a value as the key: an item of a list (a negative index counts from the end), or a member by name. */
struct template_value template_index(const struct template_value *value, const struct template_value *key) NONNULL(1, 2);

/* Follows a path, or the rest of one, in the form of template_path: `.name`, `[0]`, `["name"]`. The dot before the first name is
 * optional. */
struct template_value template_follow(struct template_value value, const char *path) NONNULL(2);

/* Bytes of the first name of a path. */
size_t template_root_size(const char *path) NONNULL(1) PURE;

/* Converts a value to a number; false when it is not one. */
bool template_to_number(const struct template_value *value, double *ret_number) NONNULL(1, 2);

/* ---- Text ---- */

enum { TEMPLATE_NUMBER_TEXT_BYTES = 32 };

/* Writes a number like ECMAScript (Number::toString). Returns the size. */
size_t template_number_text(double number, char ret_text[TEMPLATE_NUMBER_TEXT_BYTES]) NONNULL(2);

/* The text of a text, number or boolean, without allocation; false and "" for other values. */
bool template_scalar_text(const struct template_value *value, char buffer[TEMPLATE_NUMBER_TEXT_BYTES], const char **ret_text,
                          size_t *ret_size) NONNULL(1, 2, 3, 4);

/* Converts a value to the text that a placeholder shows: an empty text for nil and objects, the concatenated items of a list.
 * False with INVALID_REQUEST when the scratch limit is reached. */
MUST_CHECK bool template_to_text(struct template_scratch *scratch, struct template_value *value, struct error *err)
    NONNULL(1, 2, 3);

/* Joins the items of a list as text, with `separator` between them. */
MUST_CHECK bool template_join(struct template_scratch *scratch, const struct template_value *list, const char *separator,
                              size_t separator_size, struct template_value *ret_text, struct error *err) NONNULL(1, 2, 3, 5, 6);
