/*
 * Fuzzes the JSON parser, reader and writer. The first byte chooses: text that is
 * read, or bytes that are written as a text. Besides not crashing: the parser
 * builds the tree of jansson, or none where jansson builds none; what was read
 * and written again is equal, compact and canonical; the memory of the tree is
 * within its measure; and a written text holds the bytes that it was given and
 * nothing that ends it early.
 */
#include "base/json_parser.h"
#include "base/json_read.h"
#include "base/json_write.h"
#include "base/text.h"
#include "fuzz.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX_BYTES = 64 * 1024, BLOCK_OVERHEAD_BYTES = 16, READER_BYTES = 2048, SMALL_BYTES = 64 };

/* ---- Memory of jansson ---- */

static size_t used_bytes;
static size_t most_bytes;

static void *count_malloc(size_t size)
{
    void *block = malloc(size);
    used_bytes += malloc_usable_size(block) + BLOCK_OVERHEAD_BYTES;
    if (used_bytes > most_bytes)
        most_bytes = used_bytes;
    return block;
}

static void count_free(void *block)
{
    if (block != NULL)
        used_bytes -= malloc_usable_size(block) + BLOCK_OVERHEAD_BYTES;
    free(block);
}

/* ---- Reading ---- */

static const json_t *read_again(struct arena *arena, const char *text, bool allow_nul)
{
    struct error err = { .code = ERR_NONE };
    struct json_bounds bounds = { .max_bytes = SIZE_MAX, .allow_nul = allow_nul };
    const json_t *json = NULL;
    require(json_read(arena, text, strlen(text), bounds, &json, &err));
    return json;
}

static void check_tree(struct arena *arena, const json_t *json)
{
    const char *compact = json_compact(arena, json);
    const char *canonical = json_canonical(arena, json);
    const json_t *of_compact = read_again(arena, compact, true);
    const json_t *of_canonical = read_again(arena, canonical, true);
    require(json_equal(json, of_compact) && json_equal(json, of_canonical));
    require(strcmp(json_canonical(arena, of_compact), canonical) == 0);
    require(strcmp(json_compact(arena, of_compact), compact) == 0);
    require(json_text_measure(compact, strlen(compact)).depth <= JSON_READ_MAX_DEPTH);
}

/* jansson ignores a NUL after a number, so json_read refuses every NUL before it parses. */
static void check_parser(const char *text, size_t size, bool allow_nul)
{
    size_t flags = JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | (allow_nul ? JSON_ALLOW_NUL : 0);
    if (memchr(text, '\0', size) != NULL || json_text_measure(text, size).depth > JSON_READ_MAX_DEPTH)
        return;
    json_auto_t *json = json_parse(text, size, JSON_READ_MAX_DEPTH, allow_nul);
    json_auto_t *expected = json_loadb(text, size, flags, NULL);
    require((json == NULL) == (expected == NULL));
    if (json == NULL)
        return;
    char *dumped = json_dumps(json, JSON_ENCODE_ANY);
    char *expected_dump = json_dumps(expected, JSON_ENCODE_ANY);
    require(json_equal(json, expected) && strcmp(dumped, expected_dump) == 0);
    count_free(dumped);
    count_free(expected_dump);
}

static void read_text(const char *text, size_t size, bool allow_nul)
{
    ARENA_SCOPE arena = arena_new(0);
    struct json_bounds bounds = { .max_bytes = TEXT_MAX_BYTES, .allow_nul = allow_nul };
    struct error err = { .code = ERR_NONE };
    const json_t *json = NULL;
    size_t before = most_bytes = used_bytes;
    bool ok = json_read(arena, text, size, bounds, &json, &err);
    struct json_measure measure = json_text_measure(text, size);
    require(measure.depth > JSON_READ_MAX_DEPTH || most_bytes - before <= measure.tree_bytes + READER_BYTES);
    if (ok) {
        check_tree(arena, json);
        return;
    }
    require(err.code == ERR_INVALID_REQUEST && err.message[0] != '\0');
    require(utf8_is_valid(err.message, strlen(err.message)));
}

/* ---- Writing ---- */

static unsigned hex_of(const char *digits)
{
    char text[5] = "";
    memcpy(text, digits, 4);
    char *end;
    unsigned long value = strtoul(text, &end, 16);
    require(end == text + 4);
    return (unsigned)value;
}

/* The byte at `at`, which may be escaped; moves past it. */
static unsigned char take_byte(const char **at)
{
    static const char shorts[] = "\"\\bfnrt";
    static const char meant[] = "\"\\\b\f\n\r\t";
    unsigned char byte = (unsigned char)*(*at)++;
    require(byte >= ' ' && byte != 0x7F && byte != '"');
    if (byte != '\\')
        return byte;
    char kind = *(*at)++;
    if (kind != 'u') {
        const char *found = strchr(shorts, kind);
        require(found != NULL && kind != '\0');
        return (unsigned char)meant[found - shorts];
    }
    unsigned value = hex_of(*at);
    require(value < 0x80);
    *at += 4;
    return (unsigned char)value;
}

static void check_quoted(const struct buf *out, const char *text, size_t size)
{
    require(out->size >= 2 && out->data[0] == '"' && out->data[out->size - 1] == '"');
    const char *at = out->data + 1;
    for (size_t i = 0; i < size; i++)
        require(take_byte(&at) == (unsigned char)text[i]);
    require(at == out->data + out->size - 1);
}

static void write_text(const char *text, size_t size)
{
    ARENA_SCOPE arena = arena_new(0);
    struct buf *out = buf_in_arena(arena, SIZE_MAX);
    BUF_SCOPE small;
    json_quote(out, text, size);
    check_quoted(out, text, size);
    if (utf8_is_valid(text, size)) {
        const json_t *json = read_again(arena, out->data, true);
        require(json_string_length(json) == size && memcmp(json_string_value(json), text, size) == 0);
    }
    buf_init(&small, SMALL_BYTES);
    json_quote(&small, text, size);
    require(small.size <= SMALL_BYTES && (small.overflowed || small.size == out->size));
}

/* A number of any bits comes back. */
static void write_number(const char *bytes, size_t size)
{
    double value;
    char digits[JSON_NUMBER_MAX_CHARS];
    if (size < sizeof(value))
        return;
    memcpy(&value, bytes, sizeof(value));
    if (value - value != 0) /* not finite */
        return;
    size_t length = json_digits(value, digits);
    require(length == strlen(digits) && strtod(digits, NULL) == value);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    if (size == 0 || size > TEXT_MAX_BYTES)
        return 0;
    json_set_alloc_funcs(count_malloc, count_free);
    char *text = malloc(size); /* ends where the input ends */
    require(text != NULL);
    memcpy(text, data + 1, size - 1);
    if (data[0] == 'w') {
        write_text(text, size - 1);
        write_number(text, size - 1);
    } else {
        read_text(text, size - 1, data[0] == 'n');
        check_parser(text, size - 1, data[0] == 'n');
    }
    free(text);
    require(used_bytes == 0);
    return 0;
}
