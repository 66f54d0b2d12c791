/*
 * Result view, private to this folder: the two ways in which a body is written
 * anew. A pass copies the JSON text once, without a tree. Grouping builds a tree;
 * only answers with many faulty rows need it.
 */
#pragma once

#include "api/view/tool_view.h"

/* A pass copies a JSON object and leaves out what the view does not show. */
struct view_pass {
    struct buf *out;
    bool is_short;
    const char *const *technical; /* paths, NULL when none */
    const char *const *cut;       /* names of lists, NULL when none */
    const char *const *kept;      /* names of members at the top that stay when empty, NULL when none */
    size_t limit;                 /* items of these lists */
    const char *window_of;        /* the long member; NULL: no window */
    size_t window_from;           /* characters before the window */
    size_t window_chars;          /* characters of the window at most */
    size_t window_points;         /* code points of the window at most, with its escapes */
    size_t window_total;          /* filled: the characters of the whole text */
};

/* Copies the object in `body` to pass->out, in time linear in its size. The body is valid JSON. */
void view_pass_run(struct view_pass *pass, const struct buf *body) NONNULL(1, 2);

/* The place of the text that the member `name` of the object in `body` has, with its quotes; false when it has none. */
bool view_find_text(const struct buf *body, const char *name, size_t *ret_at, size_t *ret_end) NONNULL(1, 2, 3, 4);

/* The body with its long lists of faulty rows grouped by code. `body` itself when no list is long. */
const struct buf *view_group(struct arena *arena, const struct result_group *groups, const struct buf *body)
    NONNULL(1, 2, 3) RETURNS_NONNULL;
