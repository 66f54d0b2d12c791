#include "engine/assets/asset_search.h"

#include "base/text.h"
#include "engine/core/page.h"
#include "engine/search/search_data.h"
#include "engine/search/tokens.h"

#include <stdlib.h>
#include <string.h>

enum {
    TERMS_MAX = 12,
    PREFIX_LEAST_BYTES = 4, /* a shorter word matches whole words only */
    CORRECTED_MAX = 4,
    LIKE_WORDS_MAX = 2000,
    NEAR_IMAGES = 2000, /* the newest images, whose words correct a wrong spelling */
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
        .near_images = NEAR_IMAGES,
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

/* ---- The ranking by words ---- */

/* A first page searches the images that exist now. */
static bool begin_words(const struct work *work, struct search_terms *terms, struct page_cursor *start, struct error *err)
{
    struct asset_search_begin_params params = {
        .brand_id = work->brand_id,
        .terms = { terms->queries, terms->count },
        .near_images = NEAR_IMAGES,
    };
    struct asset_search_begin_row *begin;
    if (!sql_asset_search_begin(work->conn, work->arena, &params, &begin, err))
        return false;
    if (!start->set)
        *start = (struct page_cursor){ .set = true, .id = begin->newest };
    return correct_terms(work, begin, terms, err);
}

/* The images that have a term, from the place `skip` on; `start` is set by the first page. */
static bool find_by_words(const struct work *work, const struct asset_search *search, int64_t skip, int64_t limit,
                          struct page_cursor *start, struct asset_row **ret_rows, size_t *ret_count, struct error *err)
{
    struct search_terms terms = read_terms(work->arena, search->query);
    *ret_count = 0;
    if (terms.count == 0)
        return true;
    if (!begin_words(work, &terms, start, err))
        return false;
    struct asset_search_params params = {
        .brand_id = work->brand_id,
        .terms = { terms.queries, terms.count },
        .type = search->filter.type,
        .kind = search->filter.kind,
        .shape = search->shape.name,
        .min_ratio = search->shape.min_ratio,
        .max_ratio = search->shape.max_ratio,
        .until_id = start->id,
        .oldest_first = search->filter.oldest_first,
        .skip = skip,
        .limit = limit < ASSETS_FOUND_MAX - skip ? limit : ASSETS_FOUND_MAX - skip,
    };
    return sql_asset_search(work->conn, work->arena, &params, ret_rows, ret_count, err);
}

/* ---- Both rankings ---- */

/* A place counts 1 / (60 + place): reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009). */
enum { FUSION_CONSTANT = 60 };

struct ranked_image {
    int64_t id;
    double score;
    const struct asset_row *row; /* NULL: not read yet */
};

static int compare_ids(const void *left, const void *right)
{
    const struct ranked_image *one = left;
    const struct ranked_image *other = right;
    return one->id < other->id ? -1 : one->id > other->id;
}

static int compare_newest(const void *left, const void *right)
{
    const struct ranked_image *one = left;
    const struct ranked_image *other = right;
    if (one->score > other->score || one->score < other->score)
        return one->score > other->score ? -1 : 1;
    return -compare_ids(left, right);
}

static int compare_oldest(const void *left, const void *right)
{
    const struct ranked_image *one = left;
    const struct ranked_image *other = right;
    if (one->score > other->score || one->score < other->score)
        return one->score > other->score ? -1 : 1;
    return compare_ids(left, right);
}

/* Makes one entry of the two that an image may have. */
static size_t merge_images(struct ranked_image *images, size_t count)
{
    size_t kept = 0;
    qsort(images, count, sizeof(*images), compare_ids);
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || images[kept - 1].id != images[i].id) {
            images[kept++] = images[i];
            continue;
        }
        images[kept - 1].score += images[i].score;
        if (images[i].row != NULL)
            images[kept - 1].row = images[i].row;
    }
    return kept;
}

static double score_of_place(size_t place)
{
    return 1.0 / (FUSION_CONSTANT + 1 + (double)place);
}

/* Both rankings as one; `ret_images` has a place for each image of both. */
static size_t fuse(const struct asset_search *search, const struct asset_row *rows, size_t row_count,
                   const struct asset_nearest *nearest, struct ranked_image *ret_images)
{
    size_t count = 0;
    for (size_t i = 0; i < row_count; i++)
        ret_images[count++] = (struct ranked_image){ rows[i].id, score_of_place(i), &rows[i] };
    for (size_t i = 0; i < nearest->count; i++)
        ret_images[count++] = (struct ranked_image){ nearest->ids[i], score_of_place(i), NULL };
    count = merge_images(ret_images, count);
    qsort(ret_images, count, sizeof(*ret_images), search->filter.oldest_first ? compare_oldest : compare_newest);
    return count < ASSETS_FOUND_MAX ? count : (size_t)ASSETS_FOUND_MAX;
}

/* Reads the rows of a page that the ranking by words has not read. */
static bool read_rows(const struct work *work, struct ranked_image *images, size_t count, struct error *err)
{
    int64_t *ids = arena_array(work->arena, count + 1, sizeof(*ids));
    size_t wanted = 0;
    for (size_t i = 0; i < count; i++)
        if (images[i].row == NULL)
            ids[wanted++] = images[i].id;
    struct assets_of_ids_params params = { .brand_id = work->brand_id, .ids = { ids, wanted } };
    struct asset_row *rows;
    size_t row_count;
    if (wanted == 0)
        return true;
    if (!sql_assets_of_ids(work->conn, work->arena, &params, &rows, &row_count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        for (size_t row = 0; images[i].row == NULL && row < row_count; row++)
            if (rows[row].id == images[i].id)
                images[i].row = &rows[row];
    return true;
}

/* The images of a page as one array; one that is gone meanwhile is left out. */
static size_t copy_rows(const struct ranked_image *images, size_t count, struct asset_row *rows)
{
    size_t copied = 0;
    for (size_t i = 0; i < count; i++)
        if (images[i].row != NULL)
            rows[copied++] = *images[i].row;
    return copied;
}

static bool find_by_both(const struct work *work, const struct asset_search *search, const struct asset_nearest *nearest,
                         int64_t limit, struct page_cursor *start, struct asset_row **ret_rows, size_t *ret_count,
                         struct error *err)
{
    struct asset_row *rows = NULL;
    size_t count;
    if (!find_by_words(work, search, 0, ASSETS_FOUND_MAX, start, &rows, &count, err))
        return false;
    if (!start->set)
        *start = (struct page_cursor){ .set = true, .id = INT64_MAX }; /* the query has no words */
    struct ranked_image *images = arena_array(work->arena, count + nearest->count + 1, sizeof(*images));
    size_t found = fuse(search, rows, count, nearest, images);
    size_t skip = (size_t)search->start.number < found ? (size_t)search->start.number : found;
    size_t shown = found - skip < (size_t)limit ? found - skip : (size_t)limit;
    *ret_rows = arena_array(work->arena, shown + 1, sizeof(**ret_rows));
    if (!read_rows(work, images + skip, shown, err))
        return false;
    *ret_count = copy_rows(images + skip, shown, *ret_rows);
    return true;
}

/* ---- The search ---- */

static const char *or_all(const char *wanted)
{
    return wanted != NULL ? wanted : "";
}

/* the cursor belongs to the query and the kind; it belongs to the other filters and the order as well. */
static const char *binding_of(const struct work *work, const struct asset_search *search)
{
    const struct asset_filter *filter = &search->filter;
    return arena_printf(work->arena, "brand.searchImages|%s|%s|%s|%s|%s", filter->oldest_first ? "oldest" : "newest",
                        or_all(filter->kind), or_all(filter->type), or_all(filter->aspect_ratio), search->query);
}

/* The text of a cursor is the newest vector of a search by meaning. */
bool asset_search_begin(const struct work *work, struct asset_search *search, struct error *err)
{
    if (!asset_shape_read(work, search->filter.aspect_ratio, &search->shape, err) ||
        !page_cursor_read(work, binding_of(work, search), search->cursor, &search->start, err))
        return false;
    search->is_by_words = search->start.set && search->start.text == NULL;
    if (search->start.text != NULL && !int64_parse(search->start.text, &search->until_vector))
        search->until_vector = 0;
    return true;
}

static bool find_page(const struct work *work, const struct asset_search *search, const struct asset_nearest *nearest,
                      struct page_cursor *start, struct asset_row **ret_rows, size_t *ret_count, struct error *err)
{
    int64_t limit = search->limit + 1;
    *start = search->start;
    if (nearest != NULL)
        return find_by_both(work, search, nearest, limit, start, ret_rows, ret_count, err);
    if (search->until_vector != 0)
        return fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "The embedding model of this search is away. Start the search again.");
    return find_by_words(work, search, search->start.number, limit, start, ret_rows, ret_count, err);
}

bool asset_search_write(const struct work *work, const struct asset_search *search, const struct asset_nearest *nearest,
                        struct json_writer *json, struct error *err)
{
    struct page_cursor start;
    struct asset_row *rows = NULL;
    size_t count = 0;
    if (!find_page(work, search, nearest, &start, &rows, &count, err))
        return false;
    struct page page = page_begin(json, search->limit, (struct db_page){ .count = count });
    while (page_next_row(&page))
        asset_write(work, &rows[page.shown - 1], json);
    struct page_cursor last = { .number = search->start.number + (int64_t)page.shown, .id = start.id };
    if (nearest != NULL)
        last.text = arena_printf(work->arena, "%lld", (long long)nearest->until);
    page_end(&page, work, binding_of(work, search), last);
    json_object_end(json);
    return true;
}
