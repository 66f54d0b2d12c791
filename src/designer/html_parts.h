/*
 * Parts of prepared HTML that a reader sees: texts, links and pictures, in the
 * order of the document. The HTML is that of the renderer, which writes every
 * attribute as name="value" and every `<` of a text as a reference
 * (src/render/sidecar/README.md). Style sheets and comments have no parts.
 *
 * Pure; everything belongs to the arena. Any thread.
 */
#pragma once

#include "base/arena.h"

#include <stddef.h>

struct html_part {
    const char *text;    /* as a reader sees it: white space is one space; of a picture, the alternative text */
    const char *address; /* of a link or a picture; NULL: a text */
};

struct html_part_list {
    struct html_part *items;
    size_t count;
    size_t room;
};

struct html_parts {
    struct html_part_list texts; /* what no boundary of paragraphs or cells divides */
    struct html_part_list links;
    struct html_part_list images;
};

const struct html_parts *html_parts_read(struct arena *arena, const char *html) NONNULL(1, 2) RETURNS_NONNULL;
