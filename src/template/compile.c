#include "base/text.h"
#include "template/compiler.h"

#include <string.h>

/* ---- Text ---- */

static bool is_white_space(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (memchr(" \t\r\n\f\v", text[i], 6) == NULL)
            return false;
    return true;
}

/* Captured text is a value: it is escaped where it is shown, so it must not contain markup. */
static bool compile_captured(struct template_compiler *compiler, const struct template_piece *piece, struct error *err)
{
    const struct template_block *block = template_compiler_block(compiler);
    const char *markup = compiler->kind == TEMPLATE_HTML ? memchr(piece->text, '<', piece->size) : NULL;
    if (markup != NULL)
        return template_compiler_refuse(compiler, block != NULL ? block->at : piece->at, err,
                                        "it can capture text and values, but not HTML");
    char *text = arena_alloc(compiler->build.arena, piece->size + 1);
    size_t size = template_compiler_decode(compiler, piece->text, piece->size, text);
    template_build_op(&compiler->build, TEMPLATE_OP_TEXT, 0, 0, template_build_string(&compiler->build, text, size));
    return true;
}

static bool compile_text_piece(struct template_compiler *compiler, const struct template_piece *piece, struct error *err)
{
    if (piece->size == 0)
        return true;
    const struct template_block *block = template_compiler_block(compiler);
    if (block != NULL && template_compiler_expects_when(compiler))
        return is_white_space(piece->text, piece->size) ||
               template_compiler_refuse(compiler, block->at, err,
                                        "only white space is allowed between it and its first {%% when %%}");
    if (compiler->capture_depth > 0)
        return compile_captured(compiler, piece, err);
    if (compiler->links != NULL && compiler->kind == TEMPLATE_HTML) {
        template_compile_html_links(compiler, piece);
        return true;
    }
    if (compiler->links != NULL) {
        template_compile_text_links(compiler, piece);
        return true;
    }
    if (compiler->kind == TEMPLATE_HTML)
        html_scan(&compiler->html, piece->text, piece->size);
    template_build_op(&compiler->build, TEMPLATE_OP_TEXT, 0, 0, template_build_string(&compiler->build, piece->text, piece->size));
    return true;
}

/* A comment is removed, so the HTML before and after it must fit together. */
static bool compile_comment(const struct template_compiler *compiler, const struct template_piece *piece, struct error *err)
{
    struct html_scanner inside = compiler->html;
    const char *where;
    if (compiler->kind != TEMPLATE_HTML || compiler->capture_depth > 0)
        return true;
    html_scan(&inside, piece->text, piece->size);
    struct html_scanner outside = compiler->html;
    return html_scan_join(&outside, &inside, &where) || template_compiler_refuse(compiler, piece->at, err, "it %s", where);
}

/* ---- Placeholders ---- */

static bool placeholder_escape(struct template_compiler *compiler, const char *at, enum template_escape *ret_escape,
                               struct error *err)
{
    const char *where = "";
    *ret_escape = TEMPLATE_ESCAPE_NONE;
    if (compiler->capture_depth > 0)
        return true;
    switch (compiler->kind) {
    case TEMPLATE_TEXT:
        return true;
    case TEMPLATE_HEADER:
        *ret_escape = TEMPLATE_ESCAPE_HEADER;
        return true;
    case TEMPLATE_HTML:
        if (html_scan_placeholder(&compiler->html, ret_escape, &where))
            return true;
        break;
    }
    return template_compiler_refuse(compiler, at, err, "it is %s, where no value can be inserted safely", where);
}

/* Line breaks become markup only in the text of elements. The result of url_encode is not encoded again in a URL. */
static enum template_escape final_escape(const struct template_compiler *compiler, const struct template_expression *expression,
                                         enum template_escape escape)
{
    bool is_component = escape == TEMPLATE_ESCAPE_URL_PART || escape == TEMPLATE_ESCAPE_URL_OPAQUE;
    if (expression->shows_breaks && escape == TEMPLATE_ESCAPE_HTML && compiler->html.state == HTML_TEXT)
        return TEMPLATE_ESCAPE_HTML_BREAKS;
    if (expression->is_url_encoded && is_component)
        return TEMPLATE_ESCAPE_HTML;
    return escape;
}

static bool compile_placeholder(struct template_compiler *compiler, const struct template_piece *piece, struct error *err)
{
    compiler->placeholder_count++;
    if (compiler->placeholder_count > TEMPLATE_MAX_PLACEHOLDERS)
        return template_compiler_refuse(compiler, piece->at, err, "the template has more than 10,000 placeholders");
    if (template_compiler_expects_when(compiler))
        return template_compiler_refuse(compiler, piece->at, err, "it is between {%% case %%} and its first {%% when %%}");

    enum template_escape escape = TEMPLATE_ESCAPE_NONE;
    struct template_expression expression;
    if (!placeholder_escape(compiler, piece->at, &escape, err))
        return false;
    struct template_parser parser = template_compiler_parser(compiler, piece->text, piece->size);
    if (!template_parse_expression(&parser, &expression) || !template_parse_end(&parser, "'|' or the end"))
        return template_compiler_refuse(compiler, piece->at, err, "%s", parser.reason);
    template_build_op(&compiler->build, TEMPLATE_OP_EMIT, final_escape(compiler, &expression, escape), 0, 0);
    return true;
}

/* ---- Template ---- */

static bool compile_piece(struct template_compiler *compiler, const struct template_piece *piece, struct error *err)
{
    if (compiler->text_link_is_open)
        template_compile_text_link_end(compiler, piece);
    switch (piece->kind) {
    case TEMPLATE_PIECE_TEXT:
        return compile_text_piece(compiler, piece, err);
    case TEMPLATE_PIECE_PLACEHOLDER:
        return compile_placeholder(compiler, piece, err);
    case TEMPLATE_PIECE_TAG:
        return template_compile_tag(compiler, piece, err);
    case TEMPLATE_PIECE_COMMENT:
        return compile_comment(compiler, piece, err);
    case TEMPLATE_PIECE_BROKEN:
        return template_compiler_refuse(compiler, piece->at, err, "%s", piece->reason);
    case TEMPLATE_PIECE_END:
        break;
    }
    const struct template_block *open = template_compiler_block(compiler);
    if (open != NULL)
        return template_compiler_refuse(compiler, open->at, err, "it has no {%% %s %%}", open->end_tag);
    template_build_op(&compiler->build, TEMPLATE_OP_END, 0, 0, 0);
    return true;
}

static bool compile_all(struct template_compiler *compiler, struct error *err)
{
    struct template_markup markup;
    template_markup_init(&markup, compiler->source, (size_t)(compiler->end - compiler->source));
    struct template_piece piece = template_markup_next(&markup);
    while (piece.kind != TEMPLATE_PIECE_END && piece.kind != TEMPLATE_PIECE_BROKEN) {
        struct template_piece next = template_markup_next(&markup);
        compiler->next_kind = next.kind;
        if (!compile_piece(compiler, &piece, err))
            return false;
        piece = next;
    }
    return compile_piece(compiler, &piece, err);
}

/* RFC 5322 §2.2: a header line has no control characters. Those in values are replaced; those in the source are an error. */
static bool check_header_source(const struct template_compiler *compiler, struct error *err)
{
    for (const char *at = compiler->source; at < compiler->end; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7F)
            return fail(err, ERR_INVALID_REQUEST, NULL, "It contains a line break or another control character.");
    return true;
}

static bool compile_template(struct arena *arena, enum template_kind kind, const char *source, size_t size,
                             struct template_links *links, struct bytes *ret_blob, struct error *err)
{
    if (size > TEMPLATE_MAX_SOURCE_BYTES)
        return fail(err, ERR_INVALID_REQUEST, NULL, "The template is larger than %d bytes.", TEMPLATE_MAX_SOURCE_BYTES);
    if (!utf8_is_valid(source, size))
        return fail(err, ERR_INVALID_REQUEST, NULL, "The template is not valid UTF-8.");

    struct template_compiler *compiler = arena_alloc(arena, sizeof(*compiler));
    compiler->kind = kind;
    compiler->links = links;
    compiler->source = source;
    compiler->end = source + size;
    if (kind == TEMPLATE_HEADER && !check_header_source(compiler, err))
        return false;
    if (!template_names_collect(&compiler->names, arena, source, size))
        return fail(err, ERR_INVALID_REQUEST, NULL, "The template assigns more than %d names.", TEMPLATE_MAX_VARIABLES);
    html_scanner_init(&compiler->html);
    template_build_init(&compiler->build, arena);
    return compile_all(compiler, err) && template_build_finish(&compiler->build, kind, ret_blob, err);
}

bool template_compile(struct arena *arena, enum template_kind kind, const char *source, size_t size, struct bytes *ret_blob,
                      struct error *err)
{
    return compile_template(arena, kind, source, size, NULL, ret_blob, err);
}

bool template_compile_links(struct arena *arena, enum template_kind kind, const char *source, size_t size,
                            struct template_links *links, struct bytes *ret_blob, struct error *err)
{
    return compile_template(arena, kind, source, size, links, ret_blob, err);
}
