#include "api/view/result_view.h"

#include <ctype.h>
#include <string.h>

enum {
    PATH_MAX_BYTES = 256,
    ESCAPE_BYTES = 2,          /* \n */
    ESCAPE_UNICODE_BYTES = 6,  /* \u00e4 */
    SURROGATE_PAIR_BYTES = 12, /* \ud83d\ude00 */
};

struct copier {
    struct view_pass *pass;
    const char *text;
    size_t size;
    size_t at;
    unsigned depth;
    char path[PATH_MAX_BYTES]; /* of the object being copied: "data." */
    size_t path_size;
};

/* ---- Reading ---- */

static bool is_space(char byte)
{
    return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

static char next_byte(struct copier *copier)
{
    while (copier->at < copier->size && is_space(copier->text[copier->at]))
        copier->at++;
    return copier->at < copier->size ? copier->text[copier->at] : '\0';
}

/* The place behind the string that begins at `at`. */
static size_t string_end(const char *text, size_t size, size_t at)
{
    const char *begin = text + at + 1;
    const char *end = text + size;
    for (const char *quote = begin; quote < end && (quote = memchr(quote, '"', (size_t)(end - quote))) != NULL; quote++) {
        const char *escape = quote;
        while (escape > begin && escape[-1] == '\\')
            escape--;
        if ((quote - escape) % 2 == 0)
            return (size_t)(quote + 1 - text);
    }
    return size;
}

static bool ends_scalar(char byte)
{
    return byte == ',' || byte == ']' || byte == '}' || is_space(byte);
}

static size_t scalar_end(const char *text, size_t size, size_t at)
{
    if (text[at] == '"')
        return string_end(text, size, at);
    while (at < size && !ends_scalar(text[at]))
        at++;
    return at;
}

/* The place behind the value that begins at `at`. */
static size_t value_end(const char *text, size_t size, size_t at)
{
    unsigned depth = 0;
    do {
        char byte = text[at];
        if (byte == '"') {
            at = string_end(text, size, at);
            continue;
        }
        depth += byte == '{' || byte == '[';
        depth -= byte == '}' || byte == ']';
        at = depth == 0 && byte != '}' && byte != ']' ? scalar_end(text, size, at) : at + 1;
    } while (depth > 0 && at < size);
    return at;
}

static bool names(const char *const *list, const char *name, size_t size)
{
    for (; list != NULL && *list != NULL; list++) {
        if (strlen(*list) == size && memcmp(*list, name, size) == 0)
            return true;
    }
    return false;
}

/* ---- Copying ---- */

static bool copy_value(struct copier *copier);

/* True for null and "". */
static bool copy_scalar(struct copier *copier)
{
    size_t begin = copier->at;
    copier->at = scalar_end(copier->text, copier->size, begin);
    size_t size = copier->at - begin;
    buf_add(copier->pass->out, copier->text + begin, size);
    return (size == 2 && copier->text[begin] == '"') || (size == 4 && copier->text[begin] == 'n');
}

static bool begins_scalar(char byte)
{
    return byte != '{' && byte != '[' && byte != ']' && byte != '\0';
}

/* Copies the scalars of a list up to the next item of another kind, `max` at most, in one piece. Gives their number. */
static size_t copy_scalars(struct copier *copier, size_t max)
{
    size_t begin = copier->at;
    size_t end;
    size_t count = 0;
    do {
        end = copier->at = scalar_end(copier->text, copier->size, copier->at);
        count++;
    } while (count < max && next_byte(copier) == ',' && (copier->at++, begins_scalar(next_byte(copier))));
    copier->at = end;
    buf_add(copier->pass->out, copier->text + begin, end - begin);
    return count;
}

/* Copies at most `max_items` items. True for an empty list. */
static bool copy_list(struct copier *copier, size_t max_items, bool *ret_has_more)
{
    struct buf *out = copier->pass->out;
    size_t items = 0;
    *ret_has_more = false;
    copier->at++;
    buf_add_char(out, '[');
    for (char byte = next_byte(copier); byte != ']' && byte != '\0'; byte = next_byte(copier)) {
        if (byte == ',') {
            copier->at++;
        } else if (items == max_items) {
            *ret_has_more = true;
            copier->at = value_end(copier->text, copier->size, copier->at);
        } else {
            if (items > 0)
                buf_add_char(out, ',');
            if (begins_scalar(byte)) {
                items += copy_scalars(copier, max_items - items);
            } else {
                items++;
                (void)copy_value(copier);
            }
        }
    }
    copier->at++;
    buf_add_char(out, ']');
    return items == 0;
}

/* ---- A window of a long text ---- */

/* The bytes of a character of a JSON string, which may be an escape. */
static size_t character_bytes(const char *at, const char *end)
{
    unsigned char byte = (unsigned char)*at;
    size_t size = 1;
    if (byte == '\\' && at[1] == 'u')
        size =
            tolower((unsigned char)at[2]) == 'd' && strchr("89abAB", at[3]) != NULL ? SURROGATE_PAIR_BYTES : ESCAPE_UNICODE_BYTES;
    else if (byte == '\\')
        size = ESCAPE_BYTES;
    else if (byte >= 0xC0)
        size = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
    return size <= (size_t)(end - at) ? size : (size_t)(end - at);
}

struct window {
    const char *begin;
    const char *end;
    size_t next;  /* the character behind the window */
    size_t total; /* characters of the text */
};

static struct window find_window(const struct view_pass *pass, const char *at, const char *end)
{
    struct window window = { .begin = end, .end = end };
    size_t points = 0;
    bool is_open = true;
    for (size_t bytes; at < end; at += bytes, window.total++) {
        bytes = character_bytes(at, end);
        if (window.total < pass->window_from)
            continue;
        if (window.total == pass->window_from)
            window.begin = at;
        points += *at == '\\' ? bytes : 1;
        bool has_room = window.total - pass->window_from < pass->window_chars && points <= pass->window_points;
        if (is_open && !has_room && window.total > pass->window_from) {
            window.end = at;
            window.next = window.total;
            is_open = false;
        }
    }
    if (is_open)
        window.next = window.total;
    return window;
}

/* The members of a window: the text, where it begins, how long the whole is, and where to go on. */
static void copy_window(struct copier *copier)
{
    struct view_pass *pass = copier->pass;
    const char *name = pass->window_of;
    size_t end = string_end(copier->text, copier->size, copier->at);
    struct window window = find_window(pass, copier->text + copier->at + 1, copier->text + end - 1);
    buf_add_char(pass->out, '"');
    buf_add(pass->out, window.begin, (size_t)(window.end - window.begin));
    buf_printf(pass->out, "\",\"%sFrom\":%zu,\"%sTotalChars\":%zu", name, pass->window_from, name, window.total);
    if (window.next < window.total)
        buf_printf(pass->out, ",\"next%c%sFrom\":%zu", toupper((unsigned char)name[0]), name + 1, window.next);
    pass->window_total = window.total;
    copier->at = end;
}

/* ---- Members ---- */

static bool is_technical(const struct copier *copier, size_t path_size)
{
    return copier->pass->is_short && path_size <= PATH_MAX_BYTES && names(copier->pass->technical, copier->path, path_size);
}

/* Appends a name to the path. A path that is too long names no member. */
static size_t extend_path(struct copier *copier, const char *name, size_t size)
{
    size_t begin = copier->path_size;
    if (begin + size + 1 > PATH_MAX_BYTES)
        return PATH_MAX_BYTES + 1;
    memcpy(copier->path + begin, name, size);
    copier->path[begin + size] = '.';
    return begin + size;
}

/* Copies the value of a member. True when it may be left out. An empty list at the top says that there is nothing, as does a member
 * that the view keeps. */
static bool copy_member_value(struct copier *copier, const char *name, size_t size, char first)
{
    const struct view_pass *pass = copier->pass;
    bool is_top = copier->depth == 1;
    bool has_more;
    if (is_top && first == '"' && pass->window_of != NULL && strlen(pass->window_of) == size &&
        memcmp(pass->window_of, name, size) == 0) {
        copy_window(copier);
        return false;
    }
    if (is_top && first == '[') {
        (void)copy_list(copier, names(pass->cut, name, size) ? pass->limit : SIZE_MAX, &has_more);
        if (has_more)
            buf_add_text(pass->out, ",\"hasMore\":true");
        return false;
    }
    return copy_value(copier) && !(is_top && names(pass->kept, name, size));
}

/* Copies `"name":value`; false when the member was left out. */
static bool copy_member(struct copier *copier, bool is_first)
{
    struct buf *out = copier->pass->out;
    size_t kept = out->size;
    size_t begin = copier->at + 1;
    copier->at = string_end(copier->text, copier->size, copier->at);
    size_t size = copier->at - begin - 1;
    if (!is_first)
        buf_add_char(out, ',');
    buf_add(out, copier->text + begin - 1, size + 2);
    buf_add_char(out, ':');
    (void)next_byte(copier);
    copier->at++; /* the colon */
    char first = next_byte(copier);

    size_t outer = copier->path_size;
    size_t path_size = extend_path(copier, copier->text + begin, size);
    copier->path_size = path_size < PATH_MAX_BYTES ? path_size + 1 : path_size;
    bool is_nothing = copy_member_value(copier, copier->text + begin, size, first);
    copier->path_size = outer;
    if (!copier->pass->is_short || !(is_nothing || is_technical(copier, path_size)))
        return true;
    buf_cut(out, kept);
    return false;
}

/* True when no member was copied. */
static bool copy_object(struct copier *copier)
{
    struct buf *out = copier->pass->out;
    bool is_empty = true;
    copier->at++;
    copier->depth++;
    buf_add_char(out, '{');
    for (char byte = next_byte(copier); byte != '}' && byte != '\0'; byte = next_byte(copier)) {
        if (byte == ',')
            copier->at++;
        else if (copy_member(copier, is_empty))
            is_empty = false;
    }
    copier->at++;
    copier->depth--;
    buf_add_char(out, '}');
    return is_empty;
}

/* True for a value that says nothing: null, "", an empty list or object. */
static bool copy_value(struct copier *copier)
{
    bool has_more;
    switch (next_byte(copier)) {
    case '{':
        return copy_object(copier);
    case '[':
        return copy_list(copier, SIZE_MAX, &has_more);
    default:
        return copy_scalar(copier);
    }
}

void view_pass_run(struct view_pass *pass, const struct buf *body)
{
    struct copier copier = { .pass = pass, .text = buf_text(body), .size = body->size };
    (void)buf_room(pass->out, body->size);
    (void)copy_value(&copier);
}

bool view_find_text(const struct buf *body, const char *name, size_t *ret_at, size_t *ret_end)
{
    struct copier copier = { .text = buf_text(body), .size = body->size };
    if (next_byte(&copier) != '{')
        return false;
    copier.at++;
    for (char byte = next_byte(&copier); byte == '"'; byte = next_byte(&copier)) {
        size_t begin = copier.at + 1;
        copier.at = string_end(copier.text, copier.size, copier.at);
        size_t size = copier.at - begin - 1;
        (void)next_byte(&copier);
        copier.at++; /* the colon */
        char first = next_byte(&copier);
        *ret_at = copier.at;
        *ret_end = value_end(copier.text, copier.size, copier.at);
        if (first == '"' && strlen(name) == size && memcmp(name, copier.text + begin, size) == 0)
            return true;
        copier.at = *ret_end;
        if (next_byte(&copier) == ',')
            copier.at++;
    }
    return false;
}
