/*
 * BM25F: ranks documents with several fields by the words of a query (Robertson,
 * Zaragoza and Taylor, "Simple BM25 Extension to Multiple Weighted Fields",
 * 2004). A term counts more the rarer it is; its second occurrence counts less
 * than the first; a field counts by its weight and its length.
 *
 * An index is built once, in n log n of the tokens, and then constant: any
 * thread may use it. It borrows the texts of the tokens.
 */
#pragma once

#include "base/arena.h"
#include "base/values.h"

enum { BM25F_FIELDS_MAX = 8 };

struct bm25f_field {
    double weight;
    double b; /* how much a long field takes from a term: 0 nothing, 1 in proportion */
};

struct bm25f_document {
    struct text_list fields[BM25F_FIELDS_MAX]; /* tokens */
};

struct bm25f_term {
    const char *token;
    double weight;
};

struct bm25f_index;

/* `field_count` is BM25F_FIELDS_MAX at most. */
const struct bm25f_index *bm25f_build(struct arena *arena, const struct bm25f_field *fields, size_t field_count, double k1,
                                      const struct bm25f_document *documents, size_t count) NONNULL(1, 2, 5) RETURNS_NONNULL;

/* Whether a document has the token. */
bool bm25f_has(const struct bm25f_index *index, const char *token) NONNULL(1, 2);

/* The token of the index that is spelt most like this one; NULL when none is alike. */
const char *bm25f_nearest(const struct bm25f_index *index, const char *token) NONNULL(1, 2);

/* Adds the score of each document to `scores`, which has one item per document. */
void bm25f_score(const struct bm25f_index *index, const struct bm25f_term *terms, size_t count, double *scores) NONNULL(1, 4);
