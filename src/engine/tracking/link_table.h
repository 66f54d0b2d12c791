/*
 * Table of links: the numbered links of a version, stored with it as JSON. The
 * number of a link is its place in the list. A stored table never changes, so
 * the links of delivered mail stay valid.
 */
#pragma once

#include "engine/core/work.h"
#include "template/template.h"

#include <jansson.h>

enum { LINK_TABLE_MAX_BYTES = 1024 * 1024 };

/* Writes [{"target", "where": "html" or "text", "merged"}]. */
char *link_table_write(struct arena *arena, const struct template_links *links) NONNULL(1, 2) RETURNS_NONNULL;

struct link_table {
    const char *domain; /* sending domain of the send */
    const json_t *links;
};

/* The links of a send. NULL in `ret_table` when there is no such send, or when the links of its design have no numbers. */
MUST_CHECK bool link_table_find(const struct work *work, const struct token_owner *owner, struct link_table **ret_table,
                                struct error *err) NONNULL(1, 2, 3, 4);
