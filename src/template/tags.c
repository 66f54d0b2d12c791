/*
 * Tag compiler: conditions, loops, assignments. A block keeps the HTML state at
 * its beginning. All its branches begin in this state and must end in the same
 * state, because the following text is compiled once for all branches.
 */
#include "template/compiler.h"

#include <string.h>

/* The state while a tag is compiled. */
struct tag {
    struct template_compiler *compiler;
    struct template_parser parser; /* parses the text after the name */
    const char *at;
    struct error *err;
};

static bool refuse_tag(const struct tag *tag, const char *reason)
{
    return template_compiler_refuse(tag->compiler, tag->at, tag->err, "%s", reason);
}

static bool refuse_parsed(const struct tag *tag)
{
    return refuse_tag(tag, tag->parser.reason);
}

static uint32_t write_op(struct tag *tag, enum template_op op, unsigned a, unsigned b, uint32_t c)
{
    return template_build_op(&tag->compiler->build, op, a, b, c);
}

/* Parses the rest of the tag as one expression. */
static bool parse_rest(struct tag *tag, struct template_expression *ret_expression)
{
    if (!template_parse_expression(&tag->parser, ret_expression) || !template_parse_end(&tag->parser, "'|' or the end"))
        return refuse_parsed(tag);
    return !ret_expression->shows_breaks || refuse_tag(tag, "newline_to_br can only be the last filter of {{ … }}");
}

static bool expect_end(struct tag *tag)
{
    return template_parse_end(&tag->parser, "the end of the tag") || refuse_parsed(tag);
}

/* ---- Blocks ---- */

static struct template_block *open_block(struct tag *tag, enum template_block_kind kind, const char *end_tag)
{
    struct template_compiler *compiler = tag->compiler;
    if (compiler->block_count == TEMPLATE_MAX_DEPTH) {
        template_compiler_refuse(compiler, tag->at, tag->err, "tags are nested more than %d levels deep", TEMPLATE_MAX_DEPTH);
        return NULL;
    }
    struct template_block *block = &compiler->blocks[compiler->block_count++];
    *block = (struct template_block){ .kind = kind, .at = tag->at, .end_tag = end_tag, .begin = compiler->html };
    return block;
}

static bool refuse_block(const struct tag *tag, const struct template_block *block, const char *how)
{
    return template_compiler_refuse(tag->compiler, block->at, tag->err, "it %s", how);
}

/* Ends a branch in the current HTML state. */
static bool end_branch(struct tag *tag, struct template_block *block)
{
    const char *how;
    if (tag->compiler->capture_depth > 0 || tag->compiler->kind != TEMPLATE_HTML)
        return true;
    if (!block->has_joined)
        block->joined = tag->compiler->html;
    else if (!html_scan_join(&block->joined, &tag->compiler->html, &how))
        return refuse_block(tag, block, how);
    block->has_joined = true;
    if (tag->compiler->html.open_elements != block->begin.open_elements)
        return refuse_block(tag, block, "opens or closes an element that it does not close or open itself");
    return true;
}

/* Begins the next branch in the HTML state of the block's beginning. */
static void begin_branch(struct tag *tag, const struct template_block *block)
{
    tag->compiler->html = block->begin;
}

/* Closes a block. Without an else, an empty branch is added, because the block can be skipped. */
static bool close_block(struct tag *tag, struct template_block *block)
{
    template_build_patch_chain(&tag->compiler->build, &block->next);
    template_build_patch_chain(&tag->compiler->build, &block->done);
    if (!block->has_else) {
        begin_branch(tag, block);
        if (!end_branch(tag, block))
            return false;
    }
    if (block->has_joined)
        tag->compiler->html = block->joined;
    tag->compiler->block_count--;
    return true;
}

/* The innermost block, which must be of this kind. */
static struct template_block *expect_block(struct tag *tag, enum template_block_kind kind, const char *missing)
{
    struct template_block *block = template_compiler_block(tag->compiler);
    if (block != NULL && block->kind == kind)
        return block;
    if (block != NULL)
        template_compiler_refuse(tag->compiler, tag->at, tag->err, "%s; {%% %s %%} is expected first", missing, block->end_tag);
    else
        refuse_tag(tag, missing);
    return NULL;
}

/* ---- if, unless ---- */

static bool begin_if(struct tag *tag, bool leaves_when, const char *end_tag)
{
    struct template_expression condition;
    struct template_block *block = open_block(tag, TEMPLATE_BLOCK_IF, end_tag);
    if (block == NULL || !parse_rest(tag, &condition))
        return false;
    block->next = write_op(tag, TEMPLATE_OP_BRANCH, leaves_when, 0, 0) + 1;
    return true;
}

static bool tag_if(struct tag *tag)
{
    return begin_if(tag, false, "endif");
}

static bool tag_unless(struct tag *tag)
{
    return begin_if(tag, true, "endunless");
}

/* Ends a branch with a jump to the end of the block, and begins the next one. */
static bool next_branch(struct tag *tag, struct template_block *block)
{
    if (!end_branch(tag, block))
        return false;
    template_build_chain(&tag->compiler->build, &block->done, TEMPLATE_OP_JUMP);
    template_build_patch_chain(&tag->compiler->build, &block->next);
    begin_branch(tag, block);
    return true;
}

static bool tag_elsif(struct tag *tag)
{
    struct template_expression condition;
    struct template_block *block = expect_block(tag, TEMPLATE_BLOCK_IF, "there is no open {% if %} for it");
    if (block == NULL)
        return false;
    if (block->has_else)
        return refuse_tag(tag, "it comes after {% else %}");
    if (!next_branch(tag, block) || !parse_rest(tag, &condition))
        return false;
    block->next = write_op(tag, TEMPLATE_OP_BRANCH, 0, 0, 0) + 1;
    return true;
}

static bool end_if(struct tag *tag, const char *end_tag)
{
    struct template_block *block = expect_block(tag, TEMPLATE_BLOCK_IF, "there is no open block for it to end");
    if (block == NULL || !expect_end(tag))
        return false;
    if (strcmp(block->end_tag, end_tag) != 0)
        return template_compiler_refuse(tag->compiler, tag->at, tag->err, "{%% %s %%} is expected first", block->end_tag);
    return end_branch(tag, block) && close_block(tag, block);
}

static bool tag_endif(struct tag *tag)
{
    return end_if(tag, "endif");
}

static bool tag_endunless(struct tag *tag)
{
    return end_if(tag, "endunless");
}

/* ---- case ---- */

static bool tag_case(struct tag *tag)
{
    struct template_expression target;
    struct template_block *block = open_block(tag, TEMPLATE_BLOCK_CASE, "endcase");
    if (block == NULL || !parse_rest(tag, &target))
        return false;
    int variable = template_names_hide(&tag->compiler->names);
    int hit = template_names_hide(&tag->compiler->names);
    if (hit < 0)
        return refuse_tag(tag, "the template has too many cases and assigned names");
    block->variable = (unsigned)variable;
    block->hit = (unsigned)hit;
    write_op(tag, TEMPLATE_OP_STORE, 0, block->variable, 0);
    write_op(tag, TEMPLATE_OP_LITERAL, TEMPLATE_LITERAL_FALSE, 0, 0);
    write_op(tag, TEMPLATE_OP_STORE, 0, block->hit, 0);
    return true;
}

/* As in Liquid, every matching {% when %} is shown, and {% else %} if none matches. */
static bool tag_when(struct tag *tag)
{
    const char *ignored;
    struct template_block *block = expect_block(tag, TEMPLATE_BLOCK_CASE, "there is no open {% case %} for it");
    if (block == NULL)
        return false;
    if (block->has_else)
        return refuse_tag(tag, "it comes after {% else %}");
    if (block->has_when && !end_branch(tag, block))
        return false;
    template_build_patch_chain(&tag->compiler->build, &block->next);
    begin_branch(tag, block);
    block->has_when = true;
    for (bool is_first = true, goes_on = true; goes_on; is_first = false) {
        write_op(tag, TEMPLATE_OP_VARIABLE, 0, block->variable, 0);
        if (!template_parse_term(&tag->parser, &ignored))
            return refuse_parsed(tag);
        write_op(tag, TEMPLATE_OP_COMPARE, TEMPLATE_EQUAL, 0, 0);
        if (!is_first)
            write_op(tag, TEMPLATE_OP_OR, 0, 0, 0);
        goes_on = template_parse_sign(&tag->parser, ',') || template_parse_word(&tag->parser, "or");
    }
    if (!template_parse_end(&tag->parser, "',', 'or' or the end"))
        return refuse_parsed(tag);
    block->next = write_op(tag, TEMPLATE_OP_BRANCH, 0, 0, 0) + 1;
    write_op(tag, TEMPLATE_OP_LITERAL, TEMPLATE_LITERAL_TRUE, 0, 0);
    write_op(tag, TEMPLATE_OP_STORE, 0, block->hit, 0);
    return true;
}

static bool else_of_case(struct tag *tag, struct template_block *block)
{
    if (block->has_when && !end_branch(tag, block))
        return false;
    template_build_patch_chain(&tag->compiler->build, &block->next);
    begin_branch(tag, block);
    block->has_when = true;
    write_op(tag, TEMPLATE_OP_VARIABLE, 0, block->hit, 0);
    block->next = write_op(tag, TEMPLATE_OP_BRANCH, 1, 0, 0) + 1;
    return true;
}

static bool tag_endcase(struct tag *tag)
{
    struct template_block *block = expect_block(tag, TEMPLATE_BLOCK_CASE, "there is no open block for it to end");
    return block != NULL && expect_end(tag) && (!block->has_when || end_branch(tag, block)) && close_block(tag, block);
}

/* ---- for ---- */

/* The modifiers of a loop, which can come in any order: the positions of offset and limit in the source. */
struct modifiers {
    const char *offset;
    const char *limit;
    unsigned bits;
};

static bool read_modifiers(struct tag *tag, struct modifiers *modifiers)
{
    struct template_parser *parser = &tag->parser;
    *modifiers = (struct modifiers){ .bits = 0 };
    for (;;) {
        const char *ignored;
        template_parse_sign(parser, ',');
        if (template_parse_word(parser, "reversed")) {
            modifiers->bits |= TEMPLATE_FOR_REVERSED;
            continue;
        }
        bool is_offset = template_parse_word(parser, "offset");
        if (!is_offset && !template_parse_word(parser, "limit"))
            return template_parse_end(parser, "limit, offset, reversed or the end") || refuse_parsed(tag);
        if (!template_parse_sign(parser, ':'))
            return template_parse_refuse_here(parser, "':'") || refuse_parsed(tag);
        modifiers->bits |= is_offset ? TEMPLATE_FOR_OFFSET : TEMPLATE_FOR_LIMIT;
        *(is_offset ? &modifiers->offset : &modifiers->limit) = parser->at;
        uint32_t before = tag->compiler->build.instruction_count;
        if (!template_parse_term(parser, &ignored))
            return refuse_parsed(tag);
        template_build_rewind(&tag->compiler->build, before); /* write_modifier writes it later, in fixed order */
    }
}

static bool write_modifier(struct tag *tag, const char *at)
{
    const char *ignored;
    if (at == NULL)
        return true;
    tag->parser.at = at;
    return template_parse_term(&tag->parser, &ignored) || refuse_parsed(tag);
}

static bool tag_for(struct tag *tag)
{
    struct template_compiler *compiler = tag->compiler;
    const char *name;
    size_t size;
    const char *list;
    struct modifiers modifiers;
    struct template_block *block = open_block(tag, TEMPLATE_BLOCK_FOR, "endfor");
    if (block == NULL)
        return false;
    if (!template_parse_name(&tag->parser, "the name of an item", &name, &size))
        return refuse_parsed(tag);
    if (!template_parse_word(&tag->parser, "in"))
        return template_parse_refuse_here(&tag->parser, "'in'") || refuse_parsed(tag);
    if (!template_parse_term(&tag->parser, &list))
        return refuse_parsed(tag);
    if (!read_modifiers(tag, &modifiers) || !write_modifier(tag, modifiers.offset) || !write_modifier(tag, modifiers.limit))
        return false;
    block->next = write_op(tag, TEMPLATE_OP_FOR, modifiers.bits, 0, 0) + 1;
    block->body = compiler->build.instruction_count;
    const char *source = list != NULL ? arena_printf(compiler->build.arena, "%s[]", list) : NULL;
    template_names_enter_loop(&compiler->names, name, size, source);
    return true;
}

/* The body of a loop must end in the HTML state in which it begins, also inside a URL. */
static bool check_loop_end(struct tag *tag, const struct template_block *loop)
{
    const char *how;
    if (tag->compiler->kind != TEMPLATE_HTML || tag->compiler->capture_depth > 0)
        return true;
    struct html_scanner begin = loop->begin;
    if (!html_scan_join(&begin, &tag->compiler->html, &how))
        return refuse_block(tag, loop, how);
    if (begin.value_is_ambiguous && !loop->begin.value_is_ambiguous)
        return refuse_block(tag, loop, "builds the beginning of a URL; begin the URL before the loop");
    return true;
}

static bool end_loop_body(struct tag *tag, struct template_block *block)
{
    if (!check_loop_end(tag, block))
        return false;
    template_build_patch_chain(&tag->compiler->build, &block->to_next);
    write_op(tag, TEMPLATE_OP_NEXT, 0, 0, block->body);
    template_names_leave_loop(&tag->compiler->names);
    return true;
}

static bool else_of_for(struct tag *tag, struct template_block *block)
{
    return end_loop_body(tag, block) && next_branch(tag, block);
}

static bool tag_endfor(struct tag *tag)
{
    struct template_block *block = expect_block(tag, TEMPLATE_BLOCK_FOR, "there is no open block for it to end");
    if (block == NULL || !expect_end(tag))
        return false;
    if (!block->has_else && !end_loop_body(tag, block))
        return false;
    return end_branch(tag, block) && close_block(tag, block);
}

/* The loop of a break or continue. It can be inside conditions, but not inside a capture, which would not be ended. */
static struct template_block *find_loop(struct tag *tag)
{
    struct template_compiler *compiler = tag->compiler;
    for (size_t i = compiler->block_count; i > 0; i--) {
        struct template_block *block = &compiler->blocks[i - 1];
        if (block->kind == TEMPLATE_BLOCK_FOR && !block->has_else)
            return block;
        if (block->kind == TEMPLATE_BLOCK_CAPTURE)
            break;
    }
    refuse_tag(tag, "it is outside of {% for %}");
    return NULL;
}

static bool tag_break(struct tag *tag)
{
    struct template_block *loop = find_loop(tag);
    if (loop == NULL || !expect_end(tag) || !check_loop_end(tag, loop))
        return false;
    template_build_chain(&tag->compiler->build, &loop->done, TEMPLATE_OP_LEAVE);
    return true;
}

static bool tag_continue(struct tag *tag)
{
    struct template_block *loop = find_loop(tag);
    if (loop == NULL || !expect_end(tag) || !check_loop_end(tag, loop))
        return false;
    template_build_chain(&tag->compiler->build, &loop->to_next, TEMPLATE_OP_JUMP);
    return true;
}

static bool tag_else(struct tag *tag)
{
    struct template_block *block = template_compiler_block(tag->compiler);
    if (block == NULL || block->kind == TEMPLATE_BLOCK_CAPTURE)
        return refuse_tag(tag, "there is no open {% if %}, {% case %} or {% for %} for it");
    if (!template_parse_end(&tag->parser, "the end of the tag (for another condition, elsif)"))
        return refuse_parsed(tag);
    if (block->has_else)
        return refuse_tag(tag, "the block already has an {% else %}");
    bool done = false;
    switch (block->kind) {
    case TEMPLATE_BLOCK_IF:
        done = next_branch(tag, block);
        break;
    case TEMPLATE_BLOCK_CASE:
        done = else_of_case(tag, block);
        break;
    case TEMPLATE_BLOCK_FOR:
        done = else_of_for(tag, block);
        break;
    case TEMPLATE_BLOCK_CAPTURE:
        break;
    }
    block->has_else = true;
    return done;
}

/* ---- Names ---- */

/* The text part is generated from the text of the HTML, so it would lack an assignment elsewhere. */
static bool expect_text(struct tag *tag)
{
    bool is_text = tag->compiler->kind != TEMPLATE_HTML || html_scan_is_text(&tag->compiler->html);
    return is_text || refuse_tag(tag, "it must be in the text of the document, not in a tag, a style or a comment");
}

static bool parse_variable(struct tag *tag, unsigned *ret_variable)
{
    const char *name;
    size_t size;
    if (!expect_text(tag))
        return false;
    if (!template_parse_name(&tag->parser, "a name", &name, &size))
        return refuse_parsed(tag);
    int variable = template_names_variable(&tag->compiler->names, name, size);
    if (variable < 0)
        return refuse_tag(tag, "its name is not valid");
    *ret_variable = (unsigned)variable;
    return true;
}

static bool tag_assign(struct tag *tag)
{
    unsigned variable = 0;
    struct template_expression value;
    if (!parse_variable(tag, &variable))
        return false;
    if (!template_parse_sign(&tag->parser, '='))
        return template_parse_refuse_here(&tag->parser, "'='") || refuse_parsed(tag);
    if (!parse_rest(tag, &value))
        return false;
    write_op(tag, TEMPLATE_OP_STORE, 0, variable, 0);
    template_names_assign(&tag->compiler->names, variable, value.path);
    return true;
}

static bool tag_capture(struct tag *tag)
{
    unsigned variable = 0;
    struct template_block *block = open_block(tag, TEMPLATE_BLOCK_CAPTURE, "endcapture");
    if (block == NULL || !parse_variable(tag, &variable) || !expect_end(tag))
        return false;
    block->variable = variable;
    tag->compiler->capture_depth++;
    write_op(tag, TEMPLATE_OP_CAPTURE, 0, 0, 0);
    return true;
}

static bool tag_endcapture(struct tag *tag)
{
    struct template_block *block = expect_block(tag, TEMPLATE_BLOCK_CAPTURE, "there is no open block for it to end");
    if (block == NULL || !expect_end(tag))
        return false;
    write_op(tag, TEMPLATE_OP_CAPTURED, 0, block->variable, 0);
    template_names_assign(&tag->compiler->names, block->variable, NULL);
    tag->compiler->capture_depth--;
    tag->compiler->block_count--;
    return true;
}

/* {% # a comment %} and {% raw %}, whose content follows as text. */
static bool tag_nothing(struct tag *tag)
{
    (void)tag;
    return true;
}

static bool tag_stray_end(struct tag *tag)
{
    return refuse_tag(tag, "there is no open block for it to end");
}

/* ---- Table of tags ---- */

static const struct {
    const char *name;
    bool (*compile)(struct tag *tag);
} tags[] = {
    { "if", tag_if },
    { "elsif", tag_elsif },
    { "else", tag_else },
    { "endif", tag_endif },
    { "unless", tag_unless },
    { "endunless", tag_endunless },
    { "case", tag_case },
    { "when", tag_when },
    { "endcase", tag_endcase },
    { "for", tag_for },
    { "endfor", tag_endfor },
    { "break", tag_break },
    { "continue", tag_continue },
    { "assign", tag_assign },
    { "capture", tag_capture },
    { "endcapture", tag_endcapture },
    { "raw", tag_nothing },
    { "#", tag_nothing },
    { "endraw", tag_stray_end },
    { "endcomment", tag_stray_end },
};

static bool refuse_tag_name(const struct tag *tag, const char *name, size_t size)
{
    static const struct {
        const char *name;
        const char *advice;
    } others[] = {
        { "elseif", "there is no tag 'elseif', did you mean 'elsif'" },
        { "elif", "there is no tag 'elif', did you mean 'elsif'" },
        { "end", "there is no tag 'end'; name the block, as in {% endif %}" },
        { "include", "other templates cannot be included" },
        { "render", "other templates cannot be included" },
        { "layout", "other templates cannot be included" },
    };
    enum { SHOWN_NAME_BYTES = 64 };
    for (size_t i = 0; i < ARRAY_COUNT(others); i++)
        if (strlen(others[i].name) == size && memcmp(others[i].name, name, size) == 0)
            return refuse_tag(tag, others[i].advice);
    if (size == 0)
        return refuse_tag(tag, "it has no name");
    return template_compiler_refuse(tag->compiler, tag->at, tag->err, "there is no tag '%.*s'",
                                    size > SHOWN_NAME_BYTES ? SHOWN_NAME_BYTES : (int)size, name);
}

bool template_compile_tag(struct template_compiler *compiler, const struct template_piece *piece, struct error *err)
{
    size_t size = template_tag_name_size(piece->text, piece->size);
    struct tag tag = { .compiler = compiler, .at = piece->at, .err = err };
    tag.parser = template_compiler_parser(compiler, piece->text + size, piece->size - size);
    const char *where;
    bool is_output = compiler->kind == TEMPLATE_HTML && compiler->capture_depth == 0;
    if (is_output && !html_scan_tag(&compiler->html, &where))
        return template_compiler_refuse(compiler, tag.at, err, "it is %s, where no tag is allowed", where);
    for (size_t i = 0; i < ARRAY_COUNT(tags); i++) {
        if (strlen(tags[i].name) != size || memcmp(tags[i].name, piece->text, size) != 0)
            continue;
        bool fits_case = tags[i].compile == tag_when || tags[i].compile == tag_else || tags[i].compile == tag_endcase ||
                         tags[i].compile == tag_nothing;
        if (template_compiler_expects_when(compiler) && !fits_case)
            return template_compiler_refuse(compiler, tag.at, err, "it is between {%% case %%} and its first {%% when %%}");
        return tags[i].compile(&tag);
    }
    return refuse_tag_name(&tag, piece->text, size);
}
