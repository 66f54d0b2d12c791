#include "engine/assets/asset_search.h"

#include "base/text.h"
#include "engine/core/page.h"
#include "engine/search/search_data.h"
#include "engine/search/tokens.h"

#include <string.h>

enum {
    TERMS_MAX = 12,
    PREFIX_LEAST_BYTES = 4, /* a shorter word matches whole words only */
    CORRECTED_MAX = 4,
    LIKE_WORDS_MAX = 2000,
};

/* ---- Terms ---- */

struct search_terms {
    const char *tokens[TERMS_MAX];
    const char *queries[TERMS_MAX]; /* of the type tsquery */
    size_t count;
};

/* A token has no quote and no operator. */
static const char *query_of(struct arena *arena, const char *token)
{
    if (strlen(token) < PREFIX_LEAST_BYTES)
        return arena_printf(arena, "('%s')", token);
    return arena_printf(arena, "('%s' | '%s':*)", token, token);
}

static void set_term(struct arena *arena, struct search_terms *terms, size_t place, const char *token)
{
    terms->tokens[place] = token;
    terms->queries[place] = query_of(arena, token);
}

static struct search_terms read_terms(struct arena *arena, const char *query)
{
    struct text_list tokens = tokens_of(arena, query, TOKENS_OF_QUERY);
    tokens = tokens_without(arena, tokens, search_stop_words);
    tokens = tokens_without(arena, tokens, picture_stop_words);
    struct search_terms terms = { .count = 0 };
    for (size_t i = 0; i < tokens.count && terms.count < TERMS_MAX; i++)
        set_term(arena, &terms, terms.count++, tokens.items[i]);
    return terms;
}

/* ---- Wrong spellings ---- */

static bool is_missing(const struct asset_search_begin_row *begin, const char *query)
{
    return tokens_have(begin->missing, query);
}

/* The trigrams of a token as patterns of LIKE. */
static size_t add_patterns(struct arena *arena, const char *token, const char **patterns)
{
    size_t count = 0;
    size_t size = strlen(token);
    for (size_t i = 0; i + 3 <= size; i++)
        patterns[count++] = arena_printf(arena, "%%%.*s%%", 3, token + i);
    return count;
}

static const char *nearest_word(const struct asset_words_like_row *words, size_t count, const char *token)
{
    const char *nearest = NULL;
    double best = token_alike;
    for (size_t i = 0; i < count; i++) {
        double likeness = token_likeness(token, words[i].word);
        if (likeness > best) {
            best = likeness;
            nearest = words[i].word;
        }
    }
    return nearest;
}

/* Only words of ASCII are corrected: the trigrams of others are not whole characters. */
static bool is_correctable(const char *token)
{
    size_t size = strlen(token);
    return size >= PREFIX_LEAST_BYTES && text_is_ascii(token);
}

static bool correct_terms(const struct work *work, const struct asset_search_begin_row *begin, struct search_terms *terms,
                          struct error *err)
{
    size_t places[CORRECTED_MAX];
    size_t count = 0;
    size_t pattern_count = 0;
    const char *patterns[CORRECTED_MAX * TOKEN_MAX_BYTES];
    for (size_t i = 0; i < terms->count && count < CORRECTED_MAX; i++) {
        if (!is_missing(begin, terms->queries[i]) || !is_correctable(terms->tokens[i]))
            continue;
        places[count++] = i;
        pattern_count += add_patterns(work->arena, terms->tokens[i], patterns + pattern_count);
    }
    if (count == 0)
        return true;
    struct asset_words_like_params params = {
        .brand_id = work->brand_id,
        .patterns = { patterns, pattern_count },
        .limit = LIKE_WORDS_MAX,
    };
    struct asset_words_like_row *words;
    size_t word_count;
    if (!sql_asset_words_like(work->conn, work->arena, &params, &words, &word_count, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        const char *near = nearest_word(words, word_count, terms->tokens[places[i]]);
        if (near != NULL)
            set_term(work->arena, terms, places[i], near);
    }
    return true;
}

/* ---- The search ---- */

struct asset_query {
    const struct asset_filter *filter;
    struct asset_shape shape;
    struct search_terms terms;
    struct page_cursor start; /* number: the images on earlier pages; id: the newest image of the search */
};

/* A first page searches the images that exist now. */
static bool begin_search(const struct work *work, struct asset_query *query, struct error *err)
{
    struct asset_search_begin_params params = {
        .brand_id = work->brand_id,
        .terms = { query->terms.queries, query->terms.count },
    };
    struct asset_search_begin_row *begin;
    if (!sql_asset_search_begin(work->conn, work->arena, &params, &begin, err))
        return false;
    if (!query->start.set)
        query->start = (struct page_cursor){ .set = true, .id = begin->newest };
    return correct_terms(work, begin, &query->terms, err);
}

static bool find_page(const struct work *work, const struct asset_query *query, int64_t limit, struct asset_row **ret_rows,
                      size_t *ret_count, struct error *err)
{
    int64_t left = ASSETS_FOUND_MAX - query->start.number;
    struct asset_search_params params = {
        .brand_id = work->brand_id,
        .terms = { query->terms.queries, query->terms.count },
        .type = query->filter->type,
        .kind = query->filter->kind,
        .shape = query->shape.name,
        .min_ratio = query->shape.min_ratio,
        .max_ratio = query->shape.max_ratio,
        .until_id = query->start.id,
        .oldest_first = query->filter->oldest_first,
        .skip = query->start.number,
        .limit = limit + 1 < left ? limit + 1 : left,
    };
    return sql_asset_search(work->conn, work->arena, &params, ret_rows, ret_count, err);
}

static const char *or_all(const char *wanted)
{
    return wanted != NULL ? wanted : "";
}

/* the cursor belongs to the query and the kind; it belongs to the other filters and the order as well. */
static const char *binding_of(const struct work *work, const char *query, const struct asset_filter *filter)
{
    return arena_printf(work->arena, "brand.searchImages|%s|%s|%s|%s|%s", filter->oldest_first ? "oldest" : "newest",
                        or_all(filter->kind), or_all(filter->type), or_all(filter->aspect_ratio), query);
}

bool asset_search(const struct work *work, const char *query, const struct asset_filter *filter, int64_t limit, const char *cursor,
                  struct json_writer *json, struct error *err)
{
    const char *binding = binding_of(work, query, filter);
    struct asset_query search = { .filter = filter, .terms = read_terms(work->arena, query) };
    struct asset_row *rows = NULL;
    size_t count = 0;
    if (!asset_shape_read(work, filter->aspect_ratio, &search.shape, err) ||
        !page_cursor_read(work, binding, cursor, &search.start, err))
        return false;
    if (search.terms.count > 0 && (!begin_search(work, &search, err) || !find_page(work, &search, limit, &rows, &count, err)))
        return false;
    struct page page = page_begin(json, limit, (struct db_page){ .count = count });
    while (page_next_row(&page))
        asset_write(work, &rows[page.shown - 1], json);
    page_end(&page, work, binding,
             (struct page_cursor){ .number = search.start.number + (int64_t)page.shown, .id = search.start.id });
    json_object_end(json);
    return true;
}
