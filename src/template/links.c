/*
 * Links of a template: the compiler gives each link to the web a number, so that
 * a sender can write another address in its place. A link without placeholders
 * is one instruction (LINK). The address of a merged link, which contains
 * placeholders or tags, is evaluated between LINK_BEGIN and LINK_END.
 *
 * HTML has links in the attribute href. Plain text has them where "http://" or
 * "https://" begins a word; a link that a tag continues is not numbered there.
 */
#include "base/text.h"
#include "template/compiler.h"

#include <string.h>
#include <strings.h>

static const char *const schemes[] = { "http://", "https://" };

/* ---- Targets ---- */

/* Bytes of the scheme with its slashes; 0 when the text is no address of the web. */
static size_t scheme_size(const char *text, size_t size)
{
    for (size_t i = 0; i < ARRAY_COUNT(schemes); i++) {
        size_t length = strlen(schemes[i]);
        if (size > length && strncasecmp(text, schemes[i], length) == 0)
            return length;
    }
    return 0;
}

static bool is_address_byte(char byte)
{
    return (unsigned char)byte > ' ' && byte != 0x7F && strchr("\"<>\\^`{|}", byte) == NULL;
}

static bool is_plain_host(const char *text, size_t size)
{
    size_t i = 0;
    while (i < size && strchr("/?#", text[i]) == NULL && (unsigned char)text[i] < 0x80)
        i++;
    return i > 0 && (i == size || strchr("/?#", text[i]) != NULL);
}

const char *template_link_target(struct arena *arena, const char *text, size_t size)
{
    size_t scheme = size <= TEMPLATE_LINK_MAX_BYTES ? scheme_size(text, size) : 0;
    if (scheme == 0 || !is_plain_host(text + scheme, size - scheme))
        return NULL;
    struct buf *target = buf_in_arena(arena, TEMPLATE_LINK_MAX_BYTES);
    for (size_t i = 0; i < size; i++) {
        if (!is_address_byte(text[i]))
            return NULL;
        if ((unsigned char)text[i] >= 0x80)
            buf_printf(target, "%%%02X", (unsigned char)text[i]);
        else
            buf_add_char(target, text[i]);
    }
    return target->overflowed ? NULL : buf_text(target);
}

static bool add_link(struct template_compiler *compiler, const char *target, bool is_merged)
{
    struct template_links *links = compiler->links;
    size_t bytes = strlen(target);
    if (links->count == TEMPLATE_MAX_LINKS || links->bytes + bytes > TEMPLATE_LINKS_MAX_BYTES)
        return false;
    if (links->count == links->capacity) {
        size_t capacity = links->capacity > 0 ? 2 * links->capacity : 32;
        struct template_link *items = arena_array(compiler->build.arena, capacity, sizeof(*items));
        if (links->count > 0)
            memcpy(items, links->items, links->count * sizeof(*items));
        links->items = items;
        links->capacity = capacity;
    }
    links->items[links->count++] = (struct template_link){ target, compiler->kind, is_merged };
    links->bytes += bytes;
    return true;
}

/* ---- Instructions ---- */

static void put_text(struct template_compiler *compiler, const char *text, size_t size)
{
    if (size > 0)
        template_build_op(&compiler->build, TEMPLATE_OP_TEXT, 0, 0, template_build_string(&compiler->build, text, size));
}

/* A link without placeholders. Another address than one of the web stays text. */
static void put_whole_link(struct template_compiler *compiler, const char *text, size_t size)
{
    struct arena *arena = compiler->build.arena;
    char *decoded = arena_alloc(arena, size + 1);
    size_t decoded_size = template_compiler_decode(compiler, text, size, decoded);
    const char *target = template_link_target(arena, decoded, decoded_size);
    unsigned number = (unsigned)compiler->links->count;
    if (target == NULL || !add_link(compiler, target, false))
        put_text(compiler, text, size);
    else
        template_build_op(&compiler->build, TEMPLATE_OP_LINK, 0, number, template_build_string(&compiler->build, text, size));
}

/* A link that leads to the web, or may do so because it begins with a placeholder or tag. */
static bool may_be_web(const char *source, size_t size)
{
    static const char unsubscribe[] = "unsubscribeUrl";
    if (size > TEMPLATE_LINK_MAX_BYTES || memmem(source, size, unsubscribe, strlen(unsubscribe)) != NULL)
        return false;
    return scheme_size(source, size) > 0 || (size > 2 && source[0] == '{' && (source[1] == '{' || source[1] == '%'));
}

static void begin_merged_link(struct template_compiler *compiler, const char *at)
{
    compiler->link_at = at;
    template_build_op(&compiler->build, TEMPLATE_OP_LINK_BEGIN, 0, 0, 0);
}

/* `end` is the end of the address in the source. A link without its end in the program is not replaced. */
static void end_merged_link(struct template_compiler *compiler, const char *end)
{
    size_t size = (size_t)(end - compiler->link_at);
    unsigned number = (unsigned)compiler->links->count;
    if (!may_be_web(compiler->link_at, size))
        return;
    char *source = arena_alloc(compiler->build.arena, size + 1);
    source[template_compiler_decode(compiler, compiler->link_at, size, source)] = '\0';
    if (add_link(compiler, source, true))
        template_build_op(&compiler->build, TEMPLATE_OP_LINK_END, 0, number, 0);
}

/* ---- HTML ---- */

void template_compile_html_links(struct template_compiler *compiler, const struct template_piece *piece)
{
    struct html_scanner *html = &compiler->html;
    const char *text = piece->text;
    bool begins_here = false;
    size_t from = 0;
    for (size_t i = 0; i < piece->size; i++) {
        bool was_link = html_scan_is_link(html);
        html_scan(html, text + i, 1);
        bool is_link = html_scan_is_link(html);
        if (!was_link && is_link) {
            put_text(compiler, text + from, i + 1 - from);
            begins_here = true;
            from = i + 1;
        } else if (was_link && !is_link) {
            if (begins_here) {
                put_whole_link(compiler, text + from, i - from);
            } else {
                put_text(compiler, text + from, i - from);
                end_merged_link(compiler, text + i);
            }
            begins_here = false;
            from = i;
        }
    }
    if (begins_here)
        begin_merged_link(compiler, text + from);
    put_text(compiler, text + from, piece->size - from);
}

/* ---- Plain text ---- */

/* Bytes of the address at the beginning of the text. */
static size_t address_size(const char *text, size_t size)
{
    size_t i = 0;
    while (i < size && is_address_byte(text[i]))
        i++;
    return i;
}

/* Punctuation at the end belongs to the sentence; a bracket does unless the address has its partner. */
static size_t without_punctuation(const char *text, size_t size)
{
    while (size > 0 &&
           (strchr(".,;:!?'*_~]", text[size - 1]) != NULL || (text[size - 1] == ')' && memchr(text, '(', size) == NULL)))
        size--;
    return size;
}

/* An address begins where no word and no other address goes on. */
static bool may_begin_here(const char *text, size_t at)
{
    static const char inside[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/=&?%#_.@+-";
    return at == 0 || strchr(inside, text[at - 1]) == NULL;
}

static size_t find_address(const char *text, size_t from, size_t size)
{
    for (size_t at = from; at < size; at++) {
        const char *found = memchr(text + at, 'h', size - at);
        if (found == NULL)
            return size;
        at = (size_t)(found - text);
        if (scheme_size(found, size - at) > 0 && may_begin_here(text, at))
            return at;
    }
    return size;
}

/* One address at `at`. Returns where the text goes on. */
static size_t put_text_link(struct template_compiler *compiler, const struct template_piece *piece, size_t at)
{
    const char *text = piece->text + at;
    size_t left = piece->size - at;
    size_t size = address_size(text, left);
    bool reaches_end = size == left;
    if (reaches_end && compiler->next_kind == TEMPLATE_PIECE_PLACEHOLDER) {
        begin_merged_link(compiler, text);
        compiler->text_link_is_open = true;
        put_text(compiler, text, size);
        return piece->size;
    }
    bool goes_on = reaches_end && (compiler->next_kind == TEMPLATE_PIECE_TAG || compiler->next_kind == TEMPLATE_PIECE_COMMENT);
    size = without_punctuation(text, size);
    if (goes_on)
        put_text(compiler, text, size);
    else
        put_whole_link(compiler, text, size);
    return at + size;
}

/* The rest of an address whose placeholder is before this text. */
static size_t put_rest_of_text_link(struct template_compiler *compiler, const struct template_piece *piece)
{
    size_t size = address_size(piece->text, piece->size);
    if (size == piece->size && compiler->next_kind == TEMPLATE_PIECE_PLACEHOLDER) {
        put_text(compiler, piece->text, size);
        return size;
    }
    bool goes_on =
        size == piece->size && (compiler->next_kind == TEMPLATE_PIECE_TAG || compiler->next_kind == TEMPLATE_PIECE_COMMENT);
    size = without_punctuation(piece->text, size);
    put_text(compiler, piece->text, size);
    compiler->text_link_is_open = false;
    if (!goes_on)
        end_merged_link(compiler, piece->text + size);
    return size;
}

void template_compile_text_links(struct template_compiler *compiler, const struct template_piece *piece)
{
    size_t from = compiler->text_link_is_open ? put_rest_of_text_link(compiler, piece) : 0;
    while (from < piece->size) {
        size_t at = find_address(piece->text, from, piece->size);
        put_text(compiler, piece->text + from, at - from);
        from = at < piece->size ? put_text_link(compiler, piece, at) : piece->size;
    }
}

void template_compile_text_link_end(struct template_compiler *compiler, const struct template_piece *piece)
{
    if (piece->kind == TEMPLATE_PIECE_TEXT || piece->kind == TEMPLATE_PIECE_PLACEHOLDER)
        return;
    compiler->text_link_is_open = false;
    if (piece->kind == TEMPLATE_PIECE_END)
        end_merged_link(compiler, compiler->end);
}
