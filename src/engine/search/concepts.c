#include "engine/search/concepts.h"

#include "engine/search/search_data.h"
#include "engine/search/sorted_rows.h"
#include "engine/search/tokens.h"

#include <stdlib.h>
#include <string.h>

enum { PHRASE_WORDS = 5 }; /* as src/engine/search/compile.mjs allows */

/* A phrase as tokens with a space between them. */
struct phrase {
    const char *text; /* first (sorted_rows.h) */
    const char *concept;
};

struct lexicon {
    struct phrase *phrases; /* by text, then in the order of the table */
    size_t count;
    const char **words; /* sorted, each once */
    size_t word_count;
};

static const char *join_tokens(struct arena *arena, const char *const *tokens, size_t count)
{
    const char *text = tokens[0];
    for (size_t i = 1; i < count; i++)
        text = arena_printf(arena, "%s %s", text, tokens[i]);
    return text;
}

static int compare_phrases(const void *left, const void *right)
{
    const struct phrase *one = left;
    const struct phrase *other = right;
    int order = strcmp(one->text, other->text);
    return order != 0 ? order : strcmp(one->concept, other->concept);
}

static int compare_words(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static size_t count_phrases(void)
{
    size_t count = 0;
    for (const struct concept *concept = search_concepts; concept->name != NULL; concept ++)
        for (size_t i = 0; concept->phrases[i] != NULL; i++)
            count++;
    return count;
}

static void add_phrase(struct lexicon *lexicon, struct arena *arena, const char *concept, const char *text)
{
    struct text_list tokens = tokens_of(arena, text, PHRASE_WORDS);
    if (tokens.count == 0)
        return;
    lexicon->phrases[lexicon->count++] = (struct phrase){ join_tokens(arena, tokens.items, tokens.count), concept };
    for (size_t i = 0; i < tokens.count; i++)
        lexicon->words[lexicon->word_count++] = tokens.items[i];
}

static void drop_double_words(struct lexicon *lexicon)
{
    size_t kept = 0;
    for (size_t i = 0; i < lexicon->word_count; i++)
        if (kept == 0 || strcmp(lexicon->words[kept - 1], lexicon->words[i]) != 0)
            lexicon->words[kept++] = lexicon->words[i];
    lexicon->word_count = kept;
}

const struct lexicon *lexicon_build(struct arena *arena)
{
    size_t count = count_phrases();
    struct lexicon *lexicon = arena_alloc(arena, sizeof(*lexicon));
    lexicon->phrases = arena_array(arena, count, sizeof(*lexicon->phrases));
    lexicon->words = arena_array(arena, count * PHRASE_WORDS, sizeof(*lexicon->words));
    for (const struct concept *concept = search_concepts; concept->name != NULL; concept ++)
        for (size_t i = 0; concept->phrases[i] != NULL; i++)
            add_phrase(lexicon, arena, concept->name, concept->phrases[i]);
    qsort(lexicon->phrases, lexicon->count, sizeof(*lexicon->phrases), compare_phrases);
    qsort(lexicon->words, lexicon->word_count, sizeof(*lexicon->words), compare_words);
    drop_double_words(lexicon);
    return lexicon;
}

struct found_concepts {
    const char **items;
    size_t count;
};

/* Adds the concepts of the longest phrase that begins with these tokens, and returns its number of tokens; 0: there is none. */
static size_t add_longest(const struct lexicon *lexicon, struct arena *arena, const char *const *tokens, size_t count,
                          struct found_concepts *found)
{
    const struct sorted_rows sorted = { lexicon->phrases, lexicon->count, sizeof(*lexicon->phrases) };
    for (size_t size = count < PHRASE_WORDS ? count : (size_t)PHRASE_WORDS; size > 0; size--) {
        const char *text = join_tokens(arena, tokens, size);
        size_t at = sorted_rows_find(sorted, text);
        size_t first = at;
        for (; at < lexicon->count && strcmp(lexicon->phrases[at].text, text) == 0; at++)
            if (at == first || lexicon->phrases[at].concept != lexicon->phrases[at - 1].concept)
        found->items[found->count++] = lexicon->phrases[at].concept;
        if (at > first)
            return size;
    }
    return 0;
}

static size_t count_concepts(void)
{
    size_t count = 0;
    while (search_concepts[count].name != NULL)
        count++;
    return count;
}

struct text_list lexicon_concepts(const struct lexicon *lexicon, struct arena *arena, struct text_list tokens)
{
    struct found_concepts found = { .items = arena_array(arena, tokens.count * count_concepts() + 1, sizeof(*found.items)) };
    for (size_t at = 0; at < tokens.count;) {
        size_t size = add_longest(lexicon, arena, tokens.items + at, tokens.count - at, &found);
        at += size > 0 ? size : 1;
    }
    return (struct text_list){ found.items, found.count };
}

static bool lists_text(const char *const *list, const char *text)
{
    for (; *list != NULL; list++)
        if (strcmp(*list, text) == 0)
            return true;
    return false;
}

struct text_list concepts_of_category(struct arena *arena, const char *category)
{
    const char **items = arena_array(arena, count_concepts() + 1, sizeof(*items));
    size_t count = 0;
    for (const struct concept *concept = search_concepts; concept->name != NULL && category != NULL; concept ++)
        if (lists_text(concept->categories, category))
    items[count++] = concept->name;
    return (struct text_list){ items, count };
}

bool lexicon_has(const struct lexicon *lexicon, const char *token)
{
    return bsearch(&token, lexicon->words, lexicon->word_count, sizeof(*lexicon->words), compare_words) != NULL;
}

const char *lexicon_nearest(const struct lexicon *lexicon, const char *token)
{
    const char *nearest = NULL;
    double best = token_alike;
    for (size_t i = 0; i < lexicon->word_count; i++) {
        double likeness = token_likeness(token, lexicon->words[i]);
        if (likeness > best) {
            best = likeness;
            nearest = lexicon->words[i];
        }
    }
    return nearest;
}
