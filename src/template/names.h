/*
 * Names: what a template calls values itself. A name that is assigned becomes a
 * variable; the name of a loop stands for its item inside. As in Liquid, a loop's
 * name hides a variable's, a variable's hides a path's, and a variable that has
 * not been assigned on the way here leaves the name to the path.
 *
 * For each name, where its value comes from is kept as far as it is known, so
 * that {{ item.price }} of {% for item in payload.items %} is told as
 * payload.items[].price. Used by the compiler only; texts live in its arena.
 */
#pragma once

#include "base/arena.h"
#include "template/template.h"
#include "template/format.h"

struct template_name {
    const char *text;
    size_t size;
    const char *source; /* the path it stands for; NULL when it is not one */
    bool is_assigned;   /* a variable: an assignment stands further up in the source */
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

/* The number of a variable or of an open loop, the innermost first; -1 when the name is none. */
int template_names_variable(const struct template_names *names, const char *text, size_t size) NONNULL(1, 2) PURE;
int template_names_loop(const struct template_names *names, const char *text, size_t size) NONNULL(1, 2) PURE;

/* A variable has been assigned the value of a path, or of something else (NULL). */
void template_names_assign(struct template_names *names, unsigned variable, const char *source) NONNULL(1);

/* A variable that no name reaches; -1 when there are TEMPLATE_MAX_VARIABLES already. */
int template_names_hide(struct template_names *names) NONNULL(1);

void template_names_enter_loop(struct template_names *names, const char *text, size_t size, const char *source) NONNULL(1, 2);
void template_names_leave_loop(struct template_names *names) NONNULL(1);

/* Letters, digits, '_' and '-', beginning with a letter or '_'. Gives the size, 0 when it is none. */
size_t template_name_size(const char *text, const char *end) NONNULL(1, 2) PURE;
