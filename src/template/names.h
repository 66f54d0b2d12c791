/*
 * Names: the symbol table of a template, with its variables and loop items. An
 * assignment defines a variable; a loop defines the name of its item inside the
 * loop. As in Liquid, a loop's name shadows a variable, and a variable shadows a
 * path; a variable that is not assigned at run time falls back to the path.
 *
 * Each name keeps the path of its value if it is known, so that
 * {{ item.price }} of {% for item in payload.items %} is listed as
 * payload.items[].price. Private to the compiler; texts are allocated in its
 * arena.
 */
#pragma once

#include "base/arena.h"
#include "template/format.h"
#include "template/template.h"

struct template_name {
    const char *text;
    size_t size;
    const char *source; /* the path of its value; NULL when the value is not a path */
    bool is_assigned;   /* for a variable: assigned earlier in the source */
};

struct template_names {
    struct arena *arena;
    struct template_name variables[TEMPLATE_MAX_VARIABLES];
    unsigned variable_count;
    struct template_name loops[TEMPLATE_MAX_DEPTH];
    unsigned loop_count;
};

/* Finds every name that the source assigns or captures. False when there are more than TEMPLATE_MAX_VARIABLES. */
MUST_CHECK bool template_names_collect(struct template_names *names, struct arena *arena, const char *source, size_t size)
    NONNULL(1, 2, 3);

/* The number of a variable, or of the innermost open loop with this name; -1 without one. */
int template_names_variable(const struct template_names *names, const char *text, size_t size) NONNULL(1, 2) PURE;
int template_names_loop(const struct template_names *names, const char *text, size_t size) NONNULL(1, 2) PURE;

/* Records the assignment of a path to a variable; `source` is NULL for another value. */
void template_names_assign(struct template_names *names, unsigned variable, const char *source) NONNULL(1);

/* Adds a hidden variable without a name; -1 when there are TEMPLATE_MAX_VARIABLES already. */
int template_names_hide(struct template_names *names) NONNULL(1);

void template_names_enter_loop(struct template_names *names, const char *text, size_t size, const char *source) NONNULL(1, 2);
void template_names_leave_loop(struct template_names *names) NONNULL(1);

/* The size of the name at `text`: letters, digits, '_' and '-', beginning with a letter or '_'. 0 when there is none. */
size_t template_name_size(const char *text, const char *end) NONNULL(1, 2) PURE;
