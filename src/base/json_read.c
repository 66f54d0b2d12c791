#include "base/json_read.h"

#include "base/buf.h"
#include "base/json_parser.h"
#include "base/json_write.h"
#include "base/text.h"

#include <string.h>

/* The memory that jansson takes on a 64-bit system, with the overhead of malloc. Growing tables are counted with the smaller table
 * that they are copied from. */
enum {
    OBJECT_BYTES = 80 + 144, /* the value and its first table */
    MEMBER_BYTES = 80 + 48,  /* the pair and its share of the table; the name is counted as text */
    ARRAY_BYTES = 48 + 80,   /* the value and its first table */
    ITEM_BYTES = 24,         /* the share of the table */
    NUMBER_BYTES = 32,
    TEXT_BYTES = 48 + 24, /* the value and the overhead of its characters */
    TOKEN_COPIES = 2,     /* the lexer's copies of the longest token, which it doubles while it reads */
};

struct json_scan {
    struct json_measure measure;
    unsigned depth;
    size_t longest;
};

/* Counts a text that ends before `end`. */
static void scan_text(struct json_scan *scan, size_t start, size_t end)
{
    size_t size = end - start;
    scan->measure.tree_bytes += TEXT_BYTES + size;
    if (size > scan->longest)
        scan->longest = size;
}

/* Counts a number or a word and returns its end. Unlike that of a text, no value holds their bytes, so the copy that the lexer
 * makes while it grows is counted here. */
static size_t scan_plain(struct json_scan *scan, const char *text, size_t size, size_t start)
{
    size_t end = start;
    while (end < size && json_is_plain(text[end]))
        end++;
    if (text[start] == '-' || (text[start] >= '0' && text[start] <= '9'))
        scan->measure.tree_bytes += NUMBER_BYTES;
    size_t copies = (end - start) + (end - start) / 2;
    if (copies > scan->longest)
        scan->longest = copies;
    return end;
}

static void scan_open(struct json_scan *scan, size_t bytes)
{
    scan->measure.tree_bytes += bytes;
    if (++scan->depth > scan->measure.depth)
        scan->measure.depth = scan->depth;
}

static void scan_mark(struct json_scan *scan, char byte)
{
    switch (byte) {
    case '{':
        scan_open(scan, OBJECT_BYTES);
        break;
    case '[':
        scan_open(scan, ARRAY_BYTES);
        break;
    case '}':
    case ']':
        scan->depth -= scan->depth > 0;
        break;
    case ':': /* the text before it is a name, which has no value of its own */
        scan->measure.tree_bytes += MEMBER_BYTES - TEXT_BYTES;
        break;
    case ',':
        scan->measure.tree_bytes += ITEM_BYTES;
        break;
    default:
        break;
    }
}

struct json_measure json_text_measure(const char *text, size_t size)
{
    struct json_scan scan = { .depth = 0 };
    for (size_t i = 0; i < size;) {
        if (text[i] == '"') {
            size_t end = json_text_end(text, size, i + 1);
            scan_text(&scan, i + 1, end);
            i = end + 1;
        } else if (json_is_plain(text[i])) {
            i = scan_plain(&scan, text, size, i);
        } else {
            scan_mark(&scan, text[i++]);
        }
    }
    scan.measure.tree_bytes += TOKEN_COPIES * scan.longest;
    return scan.measure;
}

static size_t members_bytes(const json_t *object)
{
    const char *name;
    json_t *member;
    size_t bytes = OBJECT_BYTES;
    json_object_foreach (json_for_iteration(object), name, member)
        bytes += MEMBER_BYTES + strlen(name) + json_tree_bytes(member);
    return bytes;
}

static size_t items_bytes(const json_t *list)
{
    size_t i;
    const json_t *item;
    size_t bytes = ARRAY_BYTES;
    json_array_foreach (list, i, item)
        bytes += ITEM_BYTES + json_tree_bytes(item);
    return bytes;
}

size_t json_tree_bytes(const json_t *json)
{
    switch (json_typeof(json)) {
    case JSON_OBJECT:
        return members_bytes(json);
    case JSON_ARRAY:
        return items_bytes(json);
    case JSON_STRING:
        return TEXT_BYTES + json_string_length(json);
    case JSON_INTEGER:
    case JSON_REAL:
        return NUMBER_BYTES;
    case JSON_TRUE:
    case JSON_FALSE:
    case JSON_NULL:
        return 0;
    }
    return 0;
}

static void json_release(void *object)
{
    json_decref(object);
}

json_t *json_in_arena(struct arena *arena, json_t *json)
{
    if (json != NULL)
        arena_defer(arena, json_release, json);
    return json;
}

/* Whether 64 bits cannot hold an integer. */
static bool is_long_integer(const char *token, size_t size)
{
    static const char greatest[] = "9223372036854775807";
    size_t signs = token[0] == '-';
    size_t digits = size - signs;
    if (strspn(token + signs, "0123456789") < digits)
        return false;
    return digits > strlen(greatest) || (digits == strlen(greatest) && strncmp(token + signs, greatest, digits) > 0);
}

/* The text with an exponent behind each integer beyond 64 bits, so that it is read as a real. */
static void widen_integers(const char *text, size_t size, struct buf *out)
{
    for (size_t i = 0; i < size;) {
        size_t end = i + 1;
        if (text[i] == '"')
            end = json_text_end(text, size, i + 1) + 1;
        else if (json_is_plain(text[i]))
            while (end < size && json_is_plain(text[end]))
                end++;
        buf_add(out, text + i, (end < size ? end : size) - i);
        if (json_is_plain(text[i]) && is_long_integer(text + i, end - i))
            buf_add_text(out, "e0");
        i = end;
    }
}

static json_t *load(const char *text, size_t size, struct json_bounds bounds, json_error_t *problem)
{
    json_t *plain = json_parse(text, size, bounds.max_depth, bounds.allow_nul);
    if (plain != NULL)
        return plain;
    size_t flags = JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | (bounds.allow_nul ? JSON_ALLOW_NUL : 0);
    json_t *json = json_loadb(text, size, flags, problem);
    if (json != NULL || !bounds.from_jsonb || json_error_code(problem) != json_error_numeric_overflow)
        return json;
    BUF_SCOPE widened;
    buf_init(&widened, SIZE_MAX - 1);
    widen_integers(text, size, &widened);
    return json_loadb(buf_text(&widened), widened.size, flags, problem);
}

bool json_read(struct arena *arena, const char *text, size_t size, struct json_bounds bounds, const json_t **ret_json,
               struct error *err)
{
    if (bounds.max_depth == 0)
        bounds.max_depth = JSON_READ_MAX_DEPTH;
    if (size > bounds.max_bytes)
        return fail(err, ERR_PAYLOAD_TOO_LARGE, NULL, "The body has %zu bytes; at most %zu are accepted.", size, bounds.max_bytes);
    struct json_measure measure = json_text_measure(text, size);
    if (measure.depth > bounds.max_depth)
        return fail(err, ERR_INVALID_REQUEST, NULL, "The JSON is nested deeper than %u levels.", bounds.max_depth);
    if (bounds.max_tree_bytes != 0 && measure.tree_bytes > bounds.max_tree_bytes)
        return fail(err, ERR_PAYLOAD_TOO_LARGE, NULL,
                    "The JSON has too many values: it would take %zu bytes of memory, and at most %zu are accepted. Send it in "
                    "smaller parts.",
                    measure.tree_bytes, bounds.max_tree_bytes);
    if (bounds.claim != NULL && !bounds.claim(bounds.claim_context, measure.tree_bytes, err))
        return false;

    /* jansson ignores a NUL after a number. */
    if (size > 0 && memchr(text, '\0', size) != NULL)
        return fail(err, ERR_INVALID_REQUEST, NULL, "The body is not valid JSON: it contains a NUL byte.");

    json_error_t problem;
    json_t *json = load(text, size, bounds, &problem);
    if (json == NULL && json_error_code(&problem) == json_error_null_character)
        return fail(err, ERR_INVALID_REQUEST, NULL,
                    "A text contains the character U+0000, which is not accepted, at line %d, column %d.", problem.line,
                    problem.column);
    if (json == NULL) {
        /* jansson's message quotes the input near the fault; only the position is reported. */
        char reason[sizeof(problem.text)];
        snprintf(reason, sizeof(reason), "%s", problem.text);
        char *near = strstr(reason, " near '");
        if (near != NULL)
            *near = '\0';
        if (!utf8_is_valid(reason, strlen(reason)))
            snprintf(reason, sizeof(reason), "invalid text");
        return fail(err, ERR_INVALID_REQUEST, NULL, "The body is not valid JSON: %s at line %d, column %d.", reason, problem.line,
                    problem.column);
    }
    *ret_json = json_in_arena(arena, json);
    return true;
}

const char *json_get_text(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

int64_t json_get_int(const json_t *object, const char *name, int64_t otherwise)
{
    const json_t *value = json_object_get(object, name);
    return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

bool json_get_bool(const json_t *object, const char *name, bool otherwise)
{
    const json_t *value = json_object_get(object, name);
    return json_is_boolean(value) ? json_is_true(value) : otherwise;
}

/* Adds a number in a form that is parsed as a real again: 1 as 1.0. */
static void add_json_real(struct buf *out, double value)
{
    char digits[JSON_NUMBER_MAX_CHARS];
    size_t size = json_digits(value, digits);
    buf_add(out, digits, size);
    if (strspn(digits, "-0123456789") == size)
        buf_add_text(out, ".0");
}

static void add_json_value(struct buf *out, const json_t *json);

static void add_json_members(struct buf *out, const json_t *object)
{
    const char *name;
    json_t *member;
    const char *before = "{";
    json_object_foreach (json_for_iteration(object), name, member) {
        buf_add_text(out, before);
        json_quote(out, name, strlen(name));
        buf_add_char(out, ':');
        add_json_value(out, member);
        before = ",";
    }
    buf_add_text(out, json_object_size(object) > 0 ? "}" : "{}");
}

static void add_json_items(struct buf *out, const json_t *list)
{
    size_t i;
    const json_t *item;
    buf_add_char(out, '[');
    json_array_foreach (list, i, item) {
        buf_add_text(out, i > 0 ? "," : "");
        add_json_value(out, item);
    }
    buf_add_char(out, ']');
}

static void add_json_value(struct buf *out, const json_t *json)
{
    switch (json_typeof(json)) {
    case JSON_OBJECT:
        add_json_members(out, json);
        return;
    case JSON_ARRAY:
        add_json_items(out, json);
        return;
    case JSON_STRING:
        json_quote(out, json_string_value(json), json_string_length(json));
        return;
    case JSON_INTEGER:
        buf_printf(out, "%lld", (long long)json_integer_value(json));
        return;
    case JSON_REAL:
        add_json_real(out, json_real_value(json));
        return;
    case JSON_TRUE:
        buf_add_text(out, "true");
        return;
    case JSON_FALSE:
        buf_add_text(out, "false");
        return;
    case JSON_NULL:
        buf_add_text(out, "null");
        return;
    }
}

char *json_canonical(struct arena *arena, const json_t *json)
{
    const size_t flags = JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS;
    size_t size = json_dumpb(json, NULL, 0, flags);
    char *text = arena_alloc(arena, size + 1);
    json_dumpb(json, text, size, flags);
    return text;
}

char *json_compact(struct arena *arena, const json_t *json)
{
    BUF_SCOPE text;
    buf_init(&text, SIZE_MAX - 1);
    add_json_value(&text, json); /* jansson would write 0.1 as 0.10000000000000001 */
    return arena_dup_bytes(arena, buf_text(&text), text.size);
}
