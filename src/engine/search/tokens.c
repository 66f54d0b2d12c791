#include "engine/search/tokens.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <unictype.h>
#include <unistr.h>

const double token_alike = 0.48;

/* ---- Folding ---- */

/* Letters that no normalization divides. */
static const char *plain_letters(ucs4_t point)
{
    switch (point) {
    case 0x00f8: /* ø */
        return "o";
    case 0x00e6: /* æ */
        return "ae";
    case 0x0153: /* œ */
        return "oe";
    case 0x0142: /* ł */
        return "l";
    case 0x0111: /* đ */
    case 0x00f0: /* ð */
        return "d";
    case 0x0131: /* ı */
        return "i";
    case 0x00fe: /* þ */
        return "th";
    default:
        return NULL;
    }
}

static bool is_word_point(ucs4_t point)
{
    return uc_is_general_category_withtable(point, UC_CATEGORY_MASK_L | UC_CATEGORY_MASK_M | UC_CATEGORY_MASK_Nd);
}

static bool is_whole_word(ucs4_t point)
{
    bool is_kana = point >= 0x3041 && point <= 0x30ff;
    return is_kana || uc_is_property_ideographic(point);
}

/* ---- Endings ---- */

static bool has_vowel(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (strchr("aeiouy", text[i]) != NULL)
            return true;
    return false;
}

static bool cut_ending(char *token, size_t *size, const char *ending, size_t least_left)
{
    size_t ending_size = strlen(ending);
    if (*size < ending_size + least_left || memcmp(token + *size - ending_size, ending, ending_size) != 0 ||
        !has_vowel(token, *size - ending_size))
        return false;
    *size -= ending_size;
    return true;
}

static bool ends_with(const char *token, size_t size, const char *ending)
{
    size_t ending_size = strlen(ending);
    return size >= ending_size && memcmp(token + size - ending_size, ending, ending_size) == 0;
}

static void cut_plural(char *token, size_t *size)
{
    if (cut_ending(token, size, "ies", 2))
        token[(*size)++] = 'y';
    else if (!ends_with(token, *size, "ss") && !ends_with(token, *size, "us") && !ends_with(token, *size, "is"))
        cut_ending(token, size, "s", 3);
}

/* Cuts the ending of an ASCII word in place. Words of three letters stay. */
static size_t cut_endings(char *token, size_t size)
{
    static const struct {
        const char *text;
        size_t least_left;
    } endings[] = { { "ment", 5 }, { "ing", 3 }, { "ed", 3 }, { "en", 4 } };
    if (size < 4)
        return size;
    cut_plural(token, &size);
    for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++)
        if (cut_ending(token, &size, endings[i].text, endings[i].least_left))
            break;
    if (size >= 4 && token[size - 1] == 'e')
        size--;
    if (size >= 4 && token[size - 1] == token[size - 2])
        size--;
    return size;
}

/* ---- Tokens ---- */

struct token_reader {
    struct arena *arena;
    const char **items;
    size_t count;
    size_t max;
    char word[TOKEN_MAX_BYTES + 8]; /* the word so far */
    size_t size;
    bool is_ascii;
};

static void end_word(struct token_reader *reader)
{
    if (reader->size > 0 && reader->count < reader->max) {
        bool is_number = reader->word[0] >= '0' && reader->word[0] <= '9';
        if (reader->is_ascii && !is_number)
            reader->size = cut_endings(reader->word, reader->size);
        reader->items[reader->count++] = arena_dup_bytes(reader->arena, reader->word, reader->size);
    }
    reader->size = 0;
    reader->is_ascii = true;
}

static void add_bytes(struct token_reader *reader, const void *bytes, size_t size)
{
    if (reader->size + size > TOKEN_MAX_BYTES)
        return;
    memcpy(reader->word + reader->size, bytes, size);
    reader->size += size;
}

static void add_point(struct token_reader *reader, ucs4_t point, const uint8_t *bytes, size_t size)
{
    if (uc_combining_class(point) != 0)
        return;
    if (!is_word_point(point)) {
        end_word(reader);
        return;
    }
    if (is_whole_word(point))
        end_word(reader);
    const char *plain = plain_letters(point);
    if (plain != NULL)
        add_bytes(reader, plain, strlen(plain));
    else
        add_bytes(reader, bytes, size);
    reader->is_ascii = reader->is_ascii && (point < 0x80 || plain != NULL);
    if (is_whole_word(point))
        end_word(reader);
}

/* A token needs a byte at least, and another before the next one. */
static size_t most_tokens(size_t size, size_t max)
{
    return size < max ? size : max;
}

static void read_tokens(struct token_reader *reader, const uint8_t *folded, size_t size)
{
    for (size_t at = 0; at < size && reader->count < reader->max;) {
        ucs4_t point;
        int step = u8_mbtouc(&point, folded + at, size - at);
        add_point(reader, point, folded + at, (size_t)step);
        at += (size_t)step;
    }
    end_word(reader);
}

struct text_list tokens_of(struct arena *arena, const char *text, size_t max)
{
    if (text == NULL)
        return (struct text_list){ NULL, 0 };
    const char *folded = text_fold(arena, text);
    size_t size = strlen(folded);
    struct token_reader reader = { .arena = arena, .max = most_tokens(size, max), .is_ascii = true };
    reader.items = arena_array(arena, reader.max + 1, sizeof(*reader.items));
    read_tokens(&reader, (const uint8_t *)folded, size);
    return (struct text_list){ reader.items, reader.count };
}

bool tokens_have(struct text_list tokens, const char *token)
{
    for (size_t i = 0; i < tokens.count; i++)
        if (strcmp(tokens.items[i], token) == 0)
            return true;
    return false;
}

static int compare_texts(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* The tokens of these words, in order. */
static struct text_list sorted_tokens(struct arena *arena, const char *const *words)
{
    size_t count = 0;
    while (words[count] != NULL)
        count++;
    const char **items = arena_array(arena, count + 1, sizeof(*items));
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        struct text_list one = tokens_of(arena, words[i], 1);
        if (one.count > 0)
            items[kept++] = one.items[0];
    }
    qsort(items, kept, sizeof(*items), compare_texts);
    return (struct text_list){ items, kept };
}

struct text_list tokens_without(struct arena *arena, struct text_list tokens, const char *const *words)
{
    struct text_list stops = sorted_tokens(arena, words);
    const char **items = arena_array(arena, tokens.count + 1, sizeof(*items));
    size_t count = 0;
    for (size_t i = 0; i < tokens.count; i++) {
        const char *const *token = &tokens.items[i];
        bool is_stop = bsearch(token, stops.items, stops.count, sizeof(*stops.items), compare_texts) != NULL;
        if (!is_stop && !tokens_have((struct text_list){ items, count }, *token))
            items[count++] = *token;
    }
    return count > 0 ? (struct text_list){ items, count } : tokens;
}

/* ---- Likeness ---- */

enum { TRIGRAMS_MAX = TOKEN_MAX_BYTES + 2 };

/* The trigrams of "  word "; a trigram that occurs twice counts twice. */
static size_t trigrams_of(const char *token, uint32_t ret_trigrams[TRIGRAMS_MAX])
{
    char padded[TOKEN_MAX_BYTES + 4] = "  ";
    size_t size = strnlen(token, TOKEN_MAX_BYTES);
    memcpy(padded + 2, token, size);
    padded[size + 2] = ' ';
    for (size_t i = 0; i <= size; i++)
        ret_trigrams[i] = (uint32_t)(unsigned char)padded[i] << 16 | (uint32_t)(unsigned char)padded[i + 1] << 8 |
                          (uint32_t)(unsigned char)padded[i + 2];
    return size + 1;
}

double token_likeness(const char *one, const char *other)
{
    uint32_t ours[TRIGRAMS_MAX];
    uint32_t theirs[TRIGRAMS_MAX];
    size_t our_count = trigrams_of(one, ours);
    size_t their_count = trigrams_of(other, theirs);
    size_t common = 0;
    for (size_t i = 0; i < our_count; i++)
        for (size_t j = 0; j < their_count; j++)
            if (ours[i] == theirs[j]) {
                theirs[j] = 0;
                common++;
                break;
            }
    return 2.0 * (double)common / (double)(our_count + their_count);
}
