/*
 * The composer: makes a document of a brief without a model. It invents nothing:
 * each number, date, price, name, address and link of the document is in the
 * brief, the brand, a page or the reference design. What is missing is left out,
 * and a warning tells it.
 *
 * Deterministic: the same brief and brand give the same bytes.
 * Pure; everything belongs to the arena. Any thread.
 */
#pragma once

#include "designer/brief.h"
#include "designer/document.h"

struct composed {
    const json_t *document; /* as document_read takes it, without ids */
    struct text_list warnings;
};

const struct composed *compose(struct arena *arena, const struct brief *brief) NONNULL(1, 2) RETURNS_NONNULL;

/* What a document says that no source of its brief does: one sentence each. For documents of a model. */
struct text_list document_find_inventions(struct arena *arena, const json_t *document, const struct brief *brief) NONNULL(1, 2, 3);
