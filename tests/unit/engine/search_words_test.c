/* Words of searches: folding, endings, likeness, BM25F and concepts. It needs no database. */
#include "fixtures/temp_folder.h"

#include "engine/search/bm25f.h"
#include "engine/search/concepts.h"
#include "engine/search/search_data.h"
#include "engine/search/tokens.h"

#include <string.h>

static struct arena *arena;

static int setup(void **state)
{
    (void)state;
    arena = arena_new(0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_free(arena);
    return 0;
}

static const char *joined(struct text_list tokens)
{
    const char *all = "";
    for (size_t i = 0; i < tokens.count; i++)
        all = arena_printf(arena, "%s%s ", all, tokens.items[i]);
    return all;
}

static const char *tokens_in(const char *text)
{
    return joined(tokens_of(arena, text, TOKENS_OF_QUERY));
}

static void test_spellings_of_a_word_are_one_token(void **state)
{
    (void)state;
    static const char *const same[][2] = {
        { "SHOES", "shoe" },          { "Straße", "STRASSE" },   { "caf\u00e9", "cafe\u0301" }, { "café", "CAFE" },
        { "Größen", "grossen" },      { "Ærø", "aero" },         { "moving", "move" },          { "abandoned", "abandonment" },
        { "parties", "party" },       { "inviting", "invite" },  { "stopped", "stop" },         { "boxes", "box" },
        { "\uff21\uff22", "ab" },     { "\u0130zmir", "izmir" }, { "ΣΟΦΟΣ", "σοφος" },          { "ёлка", "ЁЛКА" },
        { "mode\u0301le", "modèle" },
    };
    for (size_t i = 0; i < ARRAY_COUNT(same); i++)
        assert_string_equal(tokens_in(same[i][0]), tokens_in(same[i][1]));
    assert_string_not_equal(tokens_in("shoe"), tokens_in("shop"));
    assert_string_not_equal(tokens_in("glass"), tokens_in("glad"));
}

static void test_where_words_end(void **state)
{
    (void)state;
    assert_string_equal(tokens_in("red-shoe_2.JPG, (30%) of\tit"), "red sho 2 jpg 30 of it ");
    assert_string_equal(tokens_in("東京の靴"), "東 京 の 靴 "); /* no space divides them */
    assert_string_equal(tokens_in("🦊🦊"), "");
    assert_string_equal(tokens_in(""), "");
    assert_string_equal(tokens_in(NULL), "");
    assert_string_equal(tokens_in("\xff\xfe"), "");
    assert_int_equal(tokens_of(arena, "one two three four", 3).count, 3);
    char *long_word = arena_alloc(arena, 5001);
    memset(long_word, 'x', 5000);
    assert_true(strlen(tokens_in(long_word)) <= TOKEN_MAX_BYTES + 1);
}

/* No token has a character with a meaning in a text search query of PostgreSQL. */
static void test_tokens_have_no_operators(void **state)
{
    (void)state;
    assert_string_equal(tokens_in("a' | !b & (c:*) \\ <-> \"d\""), "a b c d ");
}

static void test_stop_words(void **state)
{
    (void)state;
    struct text_list all = tokens_of(arena, "the shoes and the shoe for me", TOKENS_OF_QUERY);
    assert_string_equal(joined(tokens_without(arena, all, search_stop_words)), "sho ");
    struct text_list only = tokens_of(arena, "to be or not to be", TOKENS_OF_QUERY);
    assert_true(tokens_without(arena, only, search_stop_words).count > 0);
}

static void test_likeness(void **state)
{
    (void)state;
    assert_true(token_likeness("sneaker", "sneaker") > 0.99);
    assert_true(token_likeness("sneaker", "snaeker") > token_alike);
    assert_true(token_likeness("sneaker", "sneakr") > token_alike);
    assert_true(token_likeness("sneaker", "boot") < 0.1);
    assert_true(token_likeness("", "") >= 0);
}

/* ---- BM25F ---- */

enum { TITLE, TEXT, PARTS };
static const struct bm25f_field parts[PARTS] = { { 3, 0.5 }, { 1, 0.75 } };

static const struct bm25f_index *index_of(const char *const (*texts)[PARTS], size_t count)
{
    struct bm25f_document *documents = arena_array(arena, count, sizeof(*documents));
    for (size_t i = 0; i < count; i++)
        for (size_t part = 0; part < PARTS; part++)
            documents[i].fields[part] = tokens_of(arena, texts[i][part], 1000);
    return bm25f_build(arena, parts, PARTS, 1.2, documents, count);
}

static void score_word(const struct bm25f_index *index, const char *word, double *scores)
{
    struct bm25f_term term = { tokens_of(arena, word, 1).items[0], 1 };
    bm25f_score(index, &term, 1, scores);
}

static void test_what_a_word_counts(void **state)
{
    (void)state;
    static const char *const texts[][PARTS] = {
        { "lamp", "for the desk" },
        { "desk", "with a lamp" },
        { "chair", "with a lamp and many more words about chairs and floors and walls" },
        { "chair", "lamp lamp lamp lamp lamp lamp lamp lamp lamp lamp lamp lamp" },
    };
    const struct bm25f_index *index = index_of(texts, ARRAY_COUNT(texts));
    double lamp[4] = { 0 };
    score_word(index, "lamps", lamp);
    assert_true(lamp[0] > lamp[1]); /* a title counts more than a text */
    assert_true(lamp[1] > lamp[2]); /* a short text more than a long one */
    assert_true(lamp[3] > lamp[1]); /* more often is more */
    assert_true(lamp[3] < 12 * lamp[1]);
    double wall[4] = { 0 };
    score_word(index, "wall", wall);
    assert_true(wall[2] > lamp[2]); /* a rare word counts more */
    assert_true(wall[0] == 0);
    double none[4] = { 0 };
    score_word(index, "snow", none);
    assert_true(none[0] == 0 && none[3] == 0);
    assert_true(bm25f_has(index, "floor"));
    assert_false(bm25f_has(index, "floo"));
    assert_string_equal(bm25f_nearest(index, "fluor"), "floor");
    assert_null(bm25f_nearest(index, "xyzzy"));
}

static void test_an_index_may_be_empty(void **state)
{
    (void)state;
    const struct bm25f_index *index = index_of(NULL, 0);
    double score = 0;
    score_word(index, "lamp", &score);
    assert_true(score == 0);
    assert_null(bm25f_nearest(index, "lamp"));
}

/* ---- Concepts ---- */

static const char *concepts_in(const struct lexicon *lexicon, const char *text)
{
    return joined(lexicon_concepts(lexicon, arena, tokens_of(arena, text, TOKENS_OF_QUERY)));
}

static void test_concepts(void **state)
{
    (void)state;
    const struct lexicon *lexicon = lexicon_build(arena);
    assert_string_equal(concepts_in(lexicon, "an Abandoned basket!"), "@cart ");
    assert_string_equal(concepts_in(lexicon, "wir vermissen Dich"), "@reengagement ");
    assert_string_equal(concepts_in(lexicon, "Panier abandonné, panier oublié"), "@cart @cart ");
    assert_string_equal(concepts_in(lexicon, "event reminder"), "@reminder "); /* the longest phrase, not also its words */
    assert_string_equal(concepts_in(lexicon, "voucher"), "@coupon @promotion ");
    assert_string_equal(concepts_in(lexicon, "concrete"), "");
    assert_string_equal(joined(concepts_of_category(arena, "cart-abandonment")), "@cart ");
    assert_string_equal(joined(concepts_of_category(arena, "cart")), "");
    assert_string_equal(joined(concepts_of_category(arena, NULL)), "");
    assert_true(lexicon_has(lexicon, "basket"));
    assert_string_equal(lexicon_nearest(lexicon, "baskett"), "basket");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_spellings_of_a_word_are_one_token, setup, teardown),
        cmocka_unit_test_setup_teardown(test_where_words_end, setup, teardown),
        cmocka_unit_test_setup_teardown(test_tokens_have_no_operators, setup, teardown),
        cmocka_unit_test_setup_teardown(test_stop_words, setup, teardown),
        cmocka_unit_test_setup_teardown(test_likeness, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_a_word_counts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_an_index_may_be_empty, setup, teardown),
        cmocka_unit_test_setup_teardown(test_concepts, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
