/*
 * Body of a brief: lines of Markdown become blocks without variants and tones.
 * Headings, lists, tables, quotations, pictures and links alone on a line are
 * read; other lines are paragraphs. Private to src/designer.
 *
 * Everything belongs to the arena.
 */
#pragma once

#include "base/arena.h"

#include <jansson.h>
#include <stdbool.h>

struct buf;

enum { BODY_BLOCKS_MAX = 44 };

struct body {
    struct arena *arena;
    json_t *blocks;
    const char *title;   /* a heading before everything else; NULL: none */
    const char *heading; /* of the next block; NULL: none */
    json_t *points;
    const char *style; /* of the points */
    json_t *rows;
    struct buf *paragraph;
    struct buf *quotation;
    struct buf *text; /* the paragraphs of the block that is being read */
    bool has_mistake; /* a merge tag was left out */
    /* Changes each paragraph; NULL as the result leaves it out. NULL: word for word. */
    const char *(*edit)(void *context, const char *paragraph);
    void *context;
};

void body_init(struct body *body, struct arena *arena) NONNULL(1, 2);
void body_read(struct body *body, const char *markdown) NONNULL(1, 2);

/* Sets a member when the text is not NULL and not empty, cut to `max_points` characters. */
void set_text(struct arena *arena, json_t *object, const char *name, const char *text, size_t max_points) NONNULL(1, 2, 3);
