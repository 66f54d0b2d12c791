#include "engine/templates/template_search.h"

#include "engine/search/concepts.h"
#include "engine/search/search_data.h"
#include "engine/search/tokens.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    TEMPLATE_MAX_TOKENS = 5000, /* of its text */
    INDEX_MAX_BYTES = 256 * 1024 * 1024,
    CORRECTED_MAX = 8, /* unknown words of a query */
    CORRECTED_LEAST_BYTES = 4,
};

static struct {
    struct arena *arena;
    const struct lexicon *lexicon;
    const struct bm25f_index *index;
} ranker;

/* ---- The index ---- */

/* The source of a merge tag is not a text of the template. */
static const char *without_tags(struct arena *arena, const char *text)
{
    if (text == NULL)
        return NULL;
    char *kept = arena_dup(arena, text);
    for (char *open = kept; (open = strpbrk(open, "{")) != NULL;) {
        const char *close = open[1] == '{' ? strstr(open, "}}") : open[1] == '%' ? strstr(open, "%}") : NULL;
        if (close == NULL) {
            open++;
            continue;
        }
        memset(open, ' ', (size_t)(close + 2 - open));
    }
    return kept;
}

static void describe(const struct gallery_template *template, struct bm25f_document *document)
{
    struct arena *arena = ranker.arena;
    const char *texts[] = {
        [TEMPLATE_FIELD_TITLE] = template->title,          [TEMPLATE_FIELD_CATEGORY] = template->category,
        [TEMPLATE_FIELD_BRAND] = template->brand,          [TEMPLATE_FIELD_SUBJECT] = template->subject_line,
        [TEMPLATE_FIELD_PREVIEW] = template->preview_text, [TEMPLATE_FIELD_TEXT] = template->text,
    };
    const char *all = "";
    for (size_t i = 0; i < ARRAY_COUNT(texts); i++) {
        const char *text = without_tags(arena, texts[i]);
        document->fields[i] = tokens_of(arena, text, TEMPLATE_MAX_TOKENS);
        all = arena_printf(arena, "%s %s", all, text != NULL ? text : "");
    }
    document->fields[TEMPLATE_FIELD_CONCEPT] = concepts_of_category(arena, template->category);
    struct text_list words = tokens_of(arena, all, TEMPLATE_MAX_TOKENS);
    document->fields[TEMPLATE_FIELD_MENTIONED] = lexicon_concepts(ranker.lexicon, arena, words);
}

static_assert((int)TEMPLATE_FIELDS <= (int)BM25F_FIELDS_MAX, "a document has a place for each field");

static void build_ranker(void)
{
    ranker.arena = arena_new(INDEX_MAX_BYTES);
    ranker.lexicon = lexicon_build(ranker.arena);
    struct bm25f_document *documents = arena_array(ranker.arena, gallery_template_count, sizeof(*documents));
    for (size_t i = 0; i < gallery_template_count; i++)
        describe(&gallery_templates[i], &documents[i]);
    ranker.index =
        bm25f_build(ranker.arena, template_weights.fields, TEMPLATE_FIELDS, template_weights.k1, documents, gallery_template_count);
}

/* ---- The query ---- */

/* A word that no template and no phrase has is replaced by the one that is spelt most like it. */
static struct text_list correct_tokens(struct arena *arena, struct text_list tokens, bool *ret_corrected)
{
    const char **items = arena_array(arena, tokens.count + 1, sizeof(*items));
    size_t corrected = 0;
    for (size_t i = 0; i < tokens.count; i++) {
        const char *token = items[i] = tokens.items[i];
        if (corrected == CORRECTED_MAX || strlen(token) < CORRECTED_LEAST_BYTES || bm25f_has(ranker.index, token) ||
            lexicon_has(ranker.lexicon, token))
            continue;
        const char *near = bm25f_nearest(ranker.index, token);
        const char *near_phrase = lexicon_nearest(ranker.lexicon, token);
        bool takes_phrase =
            near_phrase != NULL && (near == NULL || token_likeness(token, near_phrase) > token_likeness(token, near));
        ret_corrected[i] = near != NULL || near_phrase != NULL;
        if (ret_corrected[i])
            items[i] = takes_phrase ? near_phrase : near;
        corrected++;
    }
    return (struct text_list){ items, tokens.count };
}

struct template_query {
    struct bm25f_term *terms;
    size_t count;
};

static void add_term(struct template_query *query, const char *token, double weight)
{
    for (size_t i = 0; i < query->count; i++)
        if (strcmp(query->terms[i].token, token) == 0)
            return;
    query->terms[query->count++] = (struct bm25f_term){ token, weight };
}

static struct template_query read_query(struct arena *arena, const char *text, bool with_concepts)
{
    struct text_list all = tokens_of(arena, text, TOKENS_OF_QUERY);
    bool *corrected = arena_array(arena, all.count + 1, sizeof(*corrected));
    all = correct_tokens(arena, all, corrected);
    struct text_list words = tokens_without(arena, all, search_stop_words);
    struct text_list concepts = { NULL, 0 };
    if (with_concepts)
        concepts = lexicon_concepts(ranker.lexicon, arena, all);
    struct template_query query = { .terms = arena_array(arena, words.count + concepts.count + 1, sizeof(*query.terms)) };
    for (size_t i = 0; i < all.count; i++)
        if (tokens_have(words, all.items[i]))
            add_term(&query, all.items[i], corrected[i] ? template_weights.corrected : 1);
    for (size_t i = 0; i < concepts.count; i++)
        add_term(&query, concepts.items[i], template_weights.concept);
    return query;
}

/* ---- Ranking ---- */

struct ranked_template {
    const struct gallery_template *template;
    double score;
};

static int compare_ranked(const void *left, const void *right)
{
    const struct ranked_template *one = left;
    const struct ranked_template *other = right;
    if (one->score > other->score || one->score < other->score)
        return one->score > other->score ? -1 : 1;
    return one->template <other->template ? -1 : one->template > other->template;
}

size_t template_rank(struct arena *arena, const char *query, bool with_concepts, const struct gallery_template **ret_best)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, build_ranker);
    struct template_query terms = read_query(arena, query, with_concepts);
    double *scores = arena_array(arena, gallery_template_count + 1, sizeof(*scores));
    bm25f_score(ranker.index, terms.terms, terms.count, scores);
    struct ranked_template *ranked = arena_array(arena, gallery_template_count + 1, sizeof(*ranked));
    size_t count = 0;
    for (size_t i = 0; i < gallery_template_count; i++)
        if (scores[i] > 0)
            ranked[count++] = (struct ranked_template){ &gallery_templates[i], scores[i] };
    qsort(ranked, count, sizeof(*ranked), compare_ranked);
    for (size_t i = 0; i < count; i++)
        ret_best[i] = ranked[i].template;
    return count;
}
