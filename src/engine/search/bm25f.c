#include "engine/search/bm25f.h"

#include "engine/search/sorted_rows.h"
#include "engine/search/tokens.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A token in a document; before the build has merged them, in one place of it. */
struct posting {
    const char *token; /* first (sorted_rows.h) */
    size_t document;
    double frequency; /* of all fields, weighted */
};

struct bm25f_index {
    double k1;
    size_t document_count;
    struct posting *postings; /* by token, then by document */
    size_t count;
};

static int compare_postings(const void *left, const void *right)
{
    const struct posting *one = left;
    const struct posting *other = right;
    int order = strcmp(one->token, other->token);
    if (order != 0)
        return order;
    return one->document < other->document ? -1 : one->document > other->document;
}

static double average_length(const struct bm25f_document *documents, size_t count, size_t field)
{
    size_t tokens = 0;
    for (size_t i = 0; i < count; i++)
        tokens += documents[i].fields[field].count;
    return tokens > 0 ? (double)tokens / (double)count : 1;
}

static size_t count_tokens(const struct bm25f_document *documents, size_t count, size_t field_count)
{
    size_t tokens = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t field = 0; field < field_count; field++)
            tokens += documents[i].fields[field].count;
    return tokens;
}

static void add_field(struct bm25f_index *index, const struct bm25f_field *field, double average, struct text_list tokens,
                      size_t document)
{
    double frequency = field->weight / (1 - field->b + field->b * (double)tokens.count / average);
    for (size_t i = 0; i < tokens.count; i++)
        index->postings[index->count++] = (struct posting){ tokens.items[i], document, frequency };
}

/* One posting for each token of a document. */
static void merge_postings(struct bm25f_index *index)
{
    size_t kept = 0;
    for (size_t i = 0; i < index->count; i++) {
        if (kept > 0 && compare_postings(&index->postings[kept - 1], &index->postings[i]) == 0)
            index->postings[kept - 1].frequency += index->postings[i].frequency;
        else
            index->postings[kept++] = index->postings[i];
    }
    index->count = kept;
}

const struct bm25f_index *bm25f_build(struct arena *arena, const struct bm25f_field *fields, size_t field_count, double k1,
                                      const struct bm25f_document *documents, size_t count)
{
    struct bm25f_index *index = arena_alloc(arena, sizeof(*index));
    index->k1 = k1;
    index->document_count = count;
    index->postings = arena_array(arena, count_tokens(documents, count, field_count), sizeof(*index->postings));
    for (size_t field = 0; field < field_count; field++) {
        double average = average_length(documents, count, field);
        for (size_t i = 0; i < count; i++)
            add_field(index, &fields[field], average, documents[i].fields[field], i);
    }
    qsort(index->postings, index->count, sizeof(*index->postings), compare_postings);
    merge_postings(index);
    return index;
}

/* The first posting of a token; the number of postings when there is none. */
static size_t first_posting(const struct bm25f_index *index, const char *token)
{
    const struct sorted_rows sorted = { index->postings, index->count, sizeof(*index->postings) };
    size_t first = sorted_rows_find(sorted, token);
    return first < index->count && strcmp(index->postings[first].token, token) == 0 ? first : index->count;
}

static size_t end_of_token(const struct bm25f_index *index, size_t first)
{
    size_t end = first;
    while (end < index->count && strcmp(index->postings[end].token, index->postings[first].token) == 0)
        end++;
    return end;
}

bool bm25f_has(const struct bm25f_index *index, const char *token)
{
    return first_posting(index, token) < index->count;
}

const char *bm25f_nearest(const struct bm25f_index *index, const char *token)
{
    const char *nearest = NULL;
    double best = token_alike;
    for (size_t i = 0; i < index->count; i = end_of_token(index, i)) {
        double likeness = token_likeness(token, index->postings[i].token);
        if (likeness > best) {
            best = likeness;
            nearest = index->postings[i].token;
        }
    }
    return nearest;
}

static void score_term(const struct bm25f_index *index, const struct bm25f_term *term, double *scores)
{
    size_t first = first_posting(index, term->token);
    size_t end = first < index->count ? end_of_token(index, first) : first;
    double documents = (double)(end - first);
    double rarity = log(1 + ((double)index->document_count - documents + 0.5) / (documents + 0.5));
    for (size_t i = first; i < end; i++) {
        const struct posting *posting = &index->postings[i];
        scores[posting->document] += term->weight * rarity * posting->frequency / (index->k1 + posting->frequency);
    }
}

void bm25f_score(const struct bm25f_index *index, const struct bm25f_term *terms, size_t count, double *scores)
{
    for (size_t i = 0; i < count; i++)
        score_term(index, &terms[i], scores);
}
