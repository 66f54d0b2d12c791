#include "template/markup.h"

#include "template/template.h"

#include <string.h>

void template_markup_init(struct template_markup *markup, const char *source, size_t size)
{
    *markup = (struct template_markup){ .at = source, .end = source + size };
}

/* Bytes of the white space at `text`, including no-break spaces, which editors insert. */
static size_t blank_size(const char *text, const char *end)
{
    if (text < end && memchr(" \t\r\n\f\v", *text, 6) != NULL)
        return 1;
    return end - text >= 2 && memcmp(text, "\xC2\xA0", 2) == 0 ? 2 : 0;
}

static const char *skip_blanks(const char *text, const char *end)
{
    for (size_t size = blank_size(text, end); size > 0; size = blank_size(text, end))
        text += size;
    return text;
}

static const char *drop_blanks(const char *text, const char *end)
{
    while (end > text) {
        if (blank_size(end - 1, end) == 1)
            end--;
        else if (end - text >= 2 && blank_size(end - 2, end) == 2)
            end -= 2;
        else
            break;
    }
    return end;
}

size_t template_tag_name_size(const char *text, size_t size)
{
    size_t name = 0;
    while (name < size && ((text[name] >= 'a' && text[name] <= 'z') || (text[name] >= 'A' && text[name] <= 'Z') ||
                           (name > 0 && text[name] >= '0' && text[name] <= '9') || text[name] == '_'))
        name++;
    return name == 0 && size > 0 && text[0] == '#' ? 1 : name;
}

/* Finds the next "{{" or "{%", or the end. */
static const char *find_braces(const char *at, const char *end)
{
    while (at < end) {
        at = memchr(at, '{', (size_t)(end - at));
        if (at == NULL)
            return end;
        if (at + 1 < end && (at[1] == '{' || at[1] == '%'))
            return at;
        at++;
    }
    return end;
}

static struct template_piece broken_piece(const char *at, const char *reason)
{
    return (struct template_piece){ .kind = TEMPLATE_PIECE_BROKEN, .at = at, .text = at, .reason = reason };
}

/* Reads the placeholder or tag at `at`. */
static struct template_piece read_braces(const char *at, const char *end, const char **ret_next, bool *ret_trims_right)
{
    bool is_placeholder = at[1] == '{';
    const char *from = at + 2;
    /* The search for the end is limited, because inside raw and comment it runs for every brace (quadratic time). */
    size_t left = (size_t)(end - from);
    size_t most = TEMPLATE_MAX_EXPRESSION_BYTES + 2;
    const char *close = memmem(from, left < most ? left : most, is_placeholder ? "}}" : "%}", 2);
    if (close == NULL && left > most)
        return broken_piece(at, is_placeholder ? "the expression is too long, or '{{' has no '}}'"
                                               : "the tag is too long, or '{%' has no '%}'");
    if (close == NULL)
        return broken_piece(at, is_placeholder ? "'{{' has no '}}'" : "'{%' has no '%}'");
    *ret_next = close + 2;
    *ret_trims_right = close > from && close[-1] == '-';
    const char *to = *ret_trims_right ? close - 1 : close;
    if (from < to && *from == '-')
        from++;
    from = skip_blanks(from, to);
    to = drop_blanks(from, to);
    enum template_piece_kind kind = is_placeholder ? TEMPLATE_PIECE_PLACEHOLDER : TEMPLATE_PIECE_TAG;
    return (struct template_piece){ .kind = kind, .at = at, .text = from, .size = (size_t)(to - from) };
}

static bool is_tag(const struct template_piece *piece, const char *name)
{
    size_t size = strlen(name);
    return piece->kind == TEMPLATE_PIECE_TAG && template_tag_name_size(piece->text, piece->size) == size &&
           memcmp(piece->text, name, size) == 0;
}

/* Finds the first tag with this name from `at` on; NULL without one. */
static const char *find_tag(const char *at, const char *end, const char *name, const char **ret_next, bool *ret_trims_right)
{
    for (at = find_braces(at, end); at < end; at = find_braces(at + 2, end)) {
        struct template_piece piece = read_braces(at, end, ret_next, ret_trims_right);
        if (is_tag(&piece, name))
            return at;
    }
    return NULL;
}

static struct template_piece read_raw(struct template_markup *markup)
{
    const char *next;
    bool trims_right = false;
    const char *close = find_tag(markup->at, markup->end, "endraw", &next, &trims_right);
    if (close == NULL) {
        const char *at = markup->raw_at;
        markup->at = markup->end;
        return broken_piece(at, "it has no {% endraw %}");
    }
    struct template_piece piece = {
        .kind = TEMPLATE_PIECE_TEXT, .at = markup->at, .text = markup->at, .size = (size_t)(close - markup->at), .is_raw = true
    };
    markup->at = next;
    markup->trims_right = trims_right;
    markup->in_raw = false;
    return piece;
}

static struct template_piece read_comment(struct template_markup *markup, const char *at)
{
    const char *from = markup->at;
    const char *next;
    bool trims_right = false;
    const char *close = find_tag(from, markup->end, "endcomment", &next, &trims_right);
    if (close == NULL)
        return broken_piece(at, "it has no {% endcomment %}");
    markup->at = next;
    markup->trims_right = trims_right;
    return (struct template_piece){ .kind = TEMPLATE_PIECE_COMMENT, .at = at, .text = from, .size = (size_t)(close - from) };
}

static struct template_piece read_text_piece(struct template_markup *markup, const char *to)
{
    const char *from = markup->trims_right ? skip_blanks(markup->at, to) : markup->at;
    const char *end_of_text = to;
    if (to + 2 < markup->end && to[2] == '-')
        to = drop_blanks(from, to);
    struct template_piece piece = { .kind = TEMPLATE_PIECE_TEXT, .at = from, .text = from, .size = (size_t)(to - from) };
    markup->at = end_of_text;
    markup->trims_right = false;
    return piece;
}

struct template_piece template_markup_next(struct template_markup *markup)
{
    if (markup->in_raw)
        return read_raw(markup);
    if (markup->at == markup->end)
        return (struct template_piece){ .kind = TEMPLATE_PIECE_END, .at = markup->end, .text = markup->end };
    const char *braces = find_braces(markup->at, markup->end);
    if (braces > markup->at)
        return read_text_piece(markup, braces);

    struct template_piece piece = read_braces(braces, markup->end, &markup->at, &markup->trims_right);
    if (is_tag(&piece, "comment"))
        return read_comment(markup, braces);
    if (is_tag(&piece, "raw")) {
        markup->in_raw = true;
        markup->trims_right = false; /* raw text keeps its white space */
        markup->raw_at = braces;
    }
    return piece;
}
