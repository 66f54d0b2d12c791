#include "engine/hits/hit_matcher.h"

#include "base/text.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

enum { AGENT_MAX_BYTES = 1024, MAPPED_BYTES = 12, MAPPED_BITS = 96, MIN_BITS_4 = 8, MIN_BITS_6 = 16, ADDRESS_BITS = 128 };

struct word {
    const char *text;
    size_t size;
    int64_t id;
};

struct range {
    struct hit_range range;
    int64_t id;
    const struct range *parent; /* the narrowest range around it; NULL: none */
};

struct hit_matcher {
    struct word *words; /* by their text */
    size_t word_count;
    struct range *ranges; /* by their first address, the widest first */
    size_t range_count;
    const struct range **by_id; /* the ranges by their ids */
};

static const unsigned char mapped[MAPPED_BYTES] = { [10] = 0xff, [11] = 0xff };

/* ---- Ranges ---- */

bool hit_address_read(const char *address, unsigned char *ret_bytes)
{
    memcpy(ret_bytes, mapped, sizeof(mapped));
    return inet_pton(AF_INET, address, ret_bytes + sizeof(mapped)) == 1 || inet_pton(AF_INET6, address, ret_bytes) == 1;
}

static bool is_ipv4(const struct hit_range *range)
{
    return range->bits >= MAPPED_BITS && memcmp(range->prefix, mapped, sizeof(mapped)) == 0;
}

/* Whether both have the same first bits. */
static bool share_bits(const unsigned char *left, const unsigned char *right, unsigned bits)
{
    unsigned whole = bits / 8;
    unsigned char mask = (unsigned char)(0xff00u >> bits % 8);
    return memcmp(left, right, whole) == 0 && (bits % 8 == 0 || (left[whole] & mask) == (right[whole] & mask));
}

/* The address without the bits behind the prefix. */
static struct hit_range without_rest(const struct hit_range *range)
{
    struct hit_range cut = *range;
    for (unsigned bit = range->bits; bit < ADDRESS_BITS; bit++)
        cut.prefix[bit / 8] &= (unsigned char)~(0x80u >> bit % 8);
    return cut;
}

/* The bits of ADDRESS/BITS; all of them without a slash. */
static bool read_bits(const char *slash, bool has_colon, unsigned *ret_bits)
{
    int64_t bits = has_colon ? ADDRESS_BITS : ADDRESS_BITS - MAPPED_BITS;
    if (slash != NULL &&
        (!int64_parse(slash + 1, &bits) || bits < 0 || bits > (has_colon ? ADDRESS_BITS : ADDRESS_BITS - MAPPED_BITS)))
        return false;
    *ret_bits = (unsigned)bits + (has_colon ? 0 : MAPPED_BITS);
    return true;
}

static bool parse(const char *text, struct hit_range *ret_range)
{
    char address[HIT_RANGE_MAX_CHARS + 1];
    size_t size = strcspn(text, "/");
    if (strlen(text) > HIT_RANGE_MAX_CHARS)
        return false;
    memcpy(address, text, size);
    address[size] = '\0';
    return hit_address_read(address, ret_range->prefix) &&
           read_bits(text[size] == '/' ? text + size : NULL, strchr(address, ':') != NULL, &ret_range->bits);
}

bool hit_range_read(const char *text, struct hit_range *ret_range, struct error *err)
{
    if (!parse(text, ret_range))
        return fail(err, ERR_INVALID_REQUEST, "range", "%.60s is not a range of addresses, such as 192.0.2.0/24 or 2001:db8::/32.",
                    text);
    struct hit_range cut = without_rest(ret_range);
    if (memcmp(cut.prefix, ret_range->prefix, sizeof(cut.prefix)) != 0)
        return fail(err, ERR_INVALID_REQUEST, "range", "%.60s has bits behind its prefix.", text);
    if (ret_range->bits < (is_ipv4(ret_range) ? MAPPED_BITS + MIN_BITS_4 : MIN_BITS_6))
        return fail(err, ERR_INVALID_REQUEST, "range", "%.60s is too wide: a range has at least /%d, one of IPv6 at least /%d.",
                    text, MIN_BITS_4, MIN_BITS_6);
    return true;
}

const char *hit_range_text(struct arena *arena, const struct hit_range *range)
{
    char text[INET6_ADDRSTRLEN] = "";
    if (is_ipv4(range)) {
        inet_ntop(AF_INET, range->prefix + MAPPED_BYTES, text, sizeof(text));
        return arena_printf(arena, "%s/%u", text, range->bits - MAPPED_BITS);
    }
    inet_ntop(AF_INET6, range->prefix, text, sizeof(text));
    return arena_printf(arena, "%s/%u", text, range->bits);
}

static int compare_ranges(const void *left, const void *right)
{
    const struct range *a = left;
    const struct range *b = right;
    int order = memcmp(a->range.prefix, b->range.prefix, sizeof(a->range.prefix));
    return order != 0 ? order : (int)a->range.bits - (int)b->range.bits;
}

static bool contains(const struct range *outer, const unsigned char *address, unsigned bits)
{
    return outer->range.bits <= bits && share_bits(outer->range.prefix, address, outer->range.bits);
}

static void find_parents(struct hit_matcher *matcher)
{
    const struct range *open = NULL;
    for (size_t i = 0; i < matcher->range_count; i++) {
        struct range *range = &matcher->ranges[i];
        while (open != NULL && !contains(open, range->range.prefix, range->range.bits))
            open = open->parent;
        range->parent = open;
        open = range;
    }
}

/* The narrowest range of at most `bits` around an address. Ranges are nested or apart, so all that contain the address are the last
 * one that begins at or before it, or around that one. */
static const struct range *find_range(const struct hit_matcher *matcher, const unsigned char *address, unsigned bits)
{
    size_t low = 0;
    for (size_t high = matcher->range_count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (memcmp(matcher->ranges[middle].range.prefix, address, HIT_ADDRESS_BYTES) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    const struct range *found = low > 0 ? &matcher->ranges[low - 1] : NULL;
    while (found != NULL && !contains(found, address, bits))
        found = found->parent;
    return found;
}

int64_t hit_matcher_range(const struct hit_matcher *matcher, const char *address)
{
    unsigned char bytes[HIT_ADDRESS_BYTES];
    if (address == NULL || !hit_address_read(address, bytes))
        return 0;
    const struct range *found = find_range(matcher, bytes, ADDRESS_BITS);
    return found != NULL ? found->id : 0;
}

static int compare_ids(const void *left, const void *right)
{
    const struct range *a = *(const struct range *const *)left;
    const struct range *b = *(const struct range *const *)right;
    return a->id < b->id ? -1 : a->id > b->id;
}

/* The range with an id; NULL: it was removed. */
static const struct range *range_of(const struct hit_matcher *matcher, int64_t id)
{
    const struct range wanted = { .id = id };
    const struct range *key = &wanted;
    const struct range **found = NULL;
    if (matcher->range_count > 0)
        found = bsearch(&key, matcher->by_id, matcher->range_count, sizeof(*matcher->by_id), compare_ids);
    return found != NULL ? *found : NULL;
}

int64_t hit_matcher_truncated(const struct hit_matcher *matcher, const char *truncated, int64_t found_id)
{
    struct hit_range known;
    if (!parse(truncated, &known))
        return found_id;
    const struct range *before = range_of(matcher, found_id);
    if (before != NULL && before->range.bits > known.bits)
        return found_id;
    const struct range *found = find_range(matcher, known.prefix, known.bits);
    return found != NULL ? found->id : 0;
}

/* ---- Words ---- */

bool hit_word_check(const char *word, struct error *err)
{
    size_t size = strnlen(word, HIT_WORD_MAX_CHARS + 1);
    bool is_printable = true;
    bool has_letter = false;
    for (size_t i = 0; i < size; i++) {
        is_printable &= word[i] >= ' ' && word[i] <= '~';
        has_letter |= (word[i] | 0x20) >= 'a' && (word[i] | 0x20) <= 'z';
    }
    if (size < HIT_WORD_MIN_CHARS || size > HIT_WORD_MAX_CHARS)
        return fail(err, ERR_INVALID_REQUEST, "word", "The word must have %d to %d characters.", HIT_WORD_MIN_CHARS,
                    HIT_WORD_MAX_CHARS);
    if (!is_printable || !has_letter || word[0] == ' ' || word[size - 1] == ' ')
        return fail(err, ERR_INVALID_REQUEST, "word",
                    "The word must have ASCII characters only, a letter among them, and no white space at its ends.");
    return true;
}

static int compare_words(const void *left, const void *right)
{
    return strcmp(((const struct word *)left)->text, ((const struct word *)right)->text);
}

/* The first word that is not below the text in its first characters. */
static size_t first_word(const struct hit_matcher *matcher, const char *text)
{
    size_t low = 0;
    for (size_t high = matcher->word_count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (strncmp(matcher->words[middle].text, text, HIT_WORD_MIN_CHARS) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_better(const struct word *word, const struct word *best)
{
    return best == NULL || word->size > best->size || (word->size == best->size && word->id < best->id);
}

int64_t hit_matcher_word(const struct hit_matcher *matcher, const char *agent)
{
    char lower[AGENT_MAX_BYTES + 1];
    size_t size = matcher->word_count > 0 ? strnlen(agent, AGENT_MAX_BYTES) : 0;
    const struct word *best = NULL;
    for (size_t i = 0; i < size; i++)
        lower[i] = (char)(agent[i] >= 'A' && agent[i] <= 'Z' ? agent[i] | 0x20 : agent[i]);
    lower[size] = '\0';
    for (size_t at = 0; at + HIT_WORD_MIN_CHARS <= size; at++)
        for (size_t i = first_word(matcher, lower + at); i < matcher->word_count; i++) {
            const struct word *word = &matcher->words[i];
            if (strncmp(word->text, lower + at, HIT_WORD_MIN_CHARS) != 0)
                break;
            if (strncmp(word->text, lower + at, word->size) == 0 && is_better(word, best))
                best = word;
        }
    return best != NULL ? best->id : 0;
}

/* ---- All ---- */

bool hit_matcher_has_ranges(const struct hit_matcher *matcher)
{
    return matcher->range_count > 0;
}

static void add_match(struct hit_matcher *matcher, const struct hit_match *match)
{
    struct range range = { .id = match->id };
    if (!match->is_range)
        matcher->words[matcher->word_count++] = (struct word){ match->text, strlen(match->text), match->id };
    else if (parse(match->text, &range.range))
        matcher->ranges[matcher->range_count++] = range;
}

const struct hit_matcher *hit_matcher_new(struct arena *arena, const struct hit_match *matches, size_t count)
{
    struct hit_matcher *matcher = arena_alloc(arena, sizeof(*matcher));
    *matcher = (struct hit_matcher){
        .words = arena_array(arena, count, sizeof(struct word)),
        .ranges = arena_array(arena, count, sizeof(struct range)),
        .by_id = arena_array(arena, count, sizeof(struct range *)),
    };
    for (size_t i = 0; i < count; i++)
        add_match(matcher, &matches[i]);
    qsort(matcher->words, matcher->word_count, sizeof(struct word), compare_words);
    qsort(matcher->ranges, matcher->range_count, sizeof(struct range), compare_ranges);
    find_parents(matcher);
    for (size_t i = 0; i < matcher->range_count; i++)
        matcher->by_id[i] = &matcher->ranges[i];
    qsort(matcher->by_id, matcher->range_count, sizeof(*matcher->by_id), compare_ids);
    return matcher;
}
