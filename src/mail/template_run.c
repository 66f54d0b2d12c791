#include "mail/template.h"

#include "mail/template_escape.h"
#include "mail/template_filter.h"
#include "mail/template_format.h"

#include <string.h>

static bool damaged(struct error *err, const char *what)
{
    fail(err, ERR_INTERNAL_ERROR, NULL, "A stored template is damaged.");
    return error_because(err, "template blob: %s", what);
}

static struct template_instruction instruction_at(const struct template *template, uint32_t index)
{
    const unsigned char *at = template->instructions + (size_t)index * TEMPLATE_INSTRUCTION_BYTES;
    return (struct template_instruction){ .op = at[0], .a = at[1], .b = template_read_u16(at + 2), .c = template_read_u32(at + 4) };
}

static const char *string_at(const struct template *template, uint32_t index, size_t *ret_size)
{
    const unsigned char *at = template->strings + (size_t)index * TEMPLATE_STRING_BYTES;
    *ret_size = template_read_u32(at + 4);
    return template->pool + template_read_u32(at);
}

static bool check_header(struct bytes blob, struct error *err)
{
    if (blob.data == NULL || blob.size < TEMPLATE_HEADER_BYTES || blob.size > TEMPLATE_BLOB_MAX_BYTES)
        return damaged(err, "size");
    if (memcmp(blob.data + TEMPLATE_AT_MAGIC, TEMPLATE_MAGIC, strlen(TEMPLATE_MAGIC)) != 0)
        return damaged(err, "magic");
    if (template_read_u16(blob.data + TEMPLATE_AT_VERSION) != TEMPLATE_FORMAT_VERSION)
        return damaged(err, "version");
    uint16_t kind = template_read_u16(blob.data + TEMPLATE_AT_KIND);
    if (kind < TEMPLATE_HTML || kind > TEMPLATE_HEADER)
        return damaged(err, "kind");
    uint64_t sum = template_checksum(blob.data, blob.size);
    if (template_read_u32(blob.data + TEMPLATE_AT_CHECKSUM) != (uint32_t)sum ||
        template_read_u32(blob.data + TEMPLATE_AT_CHECKSUM + 4) != (uint32_t)(sum >> 32))
        return damaged(err, "checksum");
    return true;
}

/* Lays the sections out and checks that they fill the blob exactly. */
static bool place_sections(struct bytes blob, struct template *template, struct error *err)
{
    *template = (struct template){
        .kind = (enum template_kind)template_read_u16(blob.data + TEMPLATE_AT_KIND),
        .instruction_count = template_read_u32(blob.data + TEMPLATE_AT_INSTRUCTION_COUNT),
        .string_count = template_read_u32(blob.data + TEMPLATE_AT_STRING_COUNT),
        .path_count = template_read_u32(blob.data + TEMPLATE_AT_PATH_COUNT),
        .pool_bytes = template_read_u32(blob.data + TEMPLATE_AT_POOL_BYTES),
    };
    uint64_t instructions = (uint64_t) template->instruction_count * TEMPLATE_INSTRUCTION_BYTES;
    uint64_t strings = (uint64_t) template->string_count * TEMPLATE_STRING_BYTES;
    uint64_t paths = (uint64_t) template->path_count * TEMPLATE_PATH_BYTES;
    if (TEMPLATE_HEADER_BYTES + instructions + strings + paths + template->pool_bytes != blob.size)
        return damaged(err, "sections");
    template->instructions = blob.data + TEMPLATE_HEADER_BYTES;
    template->strings = template->instructions + instructions;
    template->paths = template->strings + strings;
    template->pool = (const char *)(template->paths + paths);
    return true;
}

static bool check_strings(const struct template *template, struct error *err)
{
    for (uint32_t i = 0; i < template->string_count; i++) {
        const unsigned char *at = template->strings + (size_t)i * TEMPLATE_STRING_BYTES;
        uint64_t end = (uint64_t)template_read_u32(at) + template_read_u32(at + 4);
        if (end >= template->pool_bytes || template->pool[end] != '\0')
            return damaged(err, "string");
    }
    if (template->path_count > TEMPLATE_MAX_PATHS)
        return damaged(err, "path count");
    for (uint32_t i = 0; i < template->path_count; i++)
        if (template_read_u32(template->paths + (size_t)i * TEMPLATE_PATH_BYTES) >= template->string_count)
            return damaged(err, "path");
    return true;
}

/* What an instruction takes from the stack and puts there; false when its operands are out of range. */
static bool instruction_effect(const struct template *template, struct template_instruction instruction, unsigned *ret_pops,
                               unsigned *ret_pushes)
{
    *ret_pops = 0;
    *ret_pushes = 0;
    switch (instruction.op) {
    case TEMPLATE_OP_END:
        return true;
    case TEMPLATE_OP_TEXT:
        return instruction.c < template->string_count;
    case TEMPLATE_OP_LOAD:
        *ret_pushes = 1;
        return instruction.c < template->path_count;
    case TEMPLATE_OP_CONST:
        *ret_pushes = 1;
        return instruction.c < template->string_count;
    case TEMPLATE_OP_FILTER:
        *ret_pops = instruction.b + 1U;
        *ret_pushes = 1;
        return instruction.a < TEMPLATE_FILTER_COUNT && instruction.b >= template_filter_info(instruction.a)->min_arguments &&
               instruction.b <= template_filter_info(instruction.a)->max_arguments;
    case TEMPLATE_OP_EMIT:
        *ret_pops = 1;
        return instruction.a < TEMPLATE_ESCAPE_COUNT;
    default:
        return false;
    }
}

/* Proves that the evaluator stays inside its stack and stops at the end. */
static bool check_instructions(const struct template *template, struct error *err)
{
    unsigned depth = 0;
    for (uint32_t i = 0; i < template->instruction_count; i++) {
        struct template_instruction instruction = instruction_at(template, i);
        unsigned pops;
        unsigned pushes;
        if (!instruction_effect(template, instruction, &pops, &pushes))
            return damaged(err, "instruction");
        bool needs_empty = instruction.op == TEMPLATE_OP_TEXT || instruction.op == TEMPLATE_OP_END;
        if (pops > depth || (needs_empty && depth != 0))
            return damaged(err, "stack");
        depth = depth - pops + pushes;
        if (depth > TEMPLATE_STACK_MAX)
            return damaged(err, "stack");
        bool is_last = i + 1 == template->instruction_count;
        if ((instruction.op == TEMPLATE_OP_END) != is_last)
            return damaged(err, "end");
    }
    return template->instruction_count > 0 || damaged(err, "end");
}

bool template_load(struct bytes blob, struct template *ret_template, struct error *err)
{
    struct template template;
    if (!check_header(blob, err) || !place_sections(blob, &template, err) || !check_strings(&template, err) ||
        !check_instructions(&template, err))
        return false;
    *ret_template = template;
    return true;
}

size_t template_path_count(const struct template *template)
{
    return template->path_count;
}

const char *template_path(const struct template *template, size_t index)
{
    size_t size;
    return string_at(template, template_read_u32(template->paths + index * TEMPLATE_PATH_BYTES), &size);
}

static struct template_value load_value(const struct template *template, struct template_lookup lookup, uint32_t path)
{
    struct template_value value = { .kind = TEMPLATE_NIL };
    lookup.value(lookup.context, path, template_path(template, path), &value);
    return value;
}

static struct template_value string_value(const struct template *template, uint32_t string)
{
    struct template_value value = { .kind = TEMPLATE_STRING };
    value.text = string_at(template, string, &value.size);
    return value;
}

/* Runs the checked instructions. Stops early once `out` has overflowed. */
static bool run(const struct template *template, struct template_lookup lookup, struct template_scratch *scratch, struct buf *out,
                struct error *err)
{
    struct template_value stack[TEMPLATE_STACK_MAX];
    size_t depth = 0;
    for (uint32_t i = 0; i < template->instruction_count && !out->overflowed; i++) {
        struct template_instruction instruction = instruction_at(template, i);
        switch ((enum template_op)instruction.op) {
        case TEMPLATE_OP_END:
            return true;
        case TEMPLATE_OP_TEXT: {
            size_t size;
            const char *text = string_at(template, instruction.c, &size);
            buf_add(out, text, size);
            break;
        }
        case TEMPLATE_OP_LOAD:
            stack[depth++] = load_value(template, lookup, instruction.c);
            break;
        case TEMPLATE_OP_CONST:
            stack[depth++] = string_value(template, instruction.c);
            break;
        case TEMPLATE_OP_FILTER:
            depth -= instruction.b;
            if (!template_filter_info(instruction.a)->apply(scratch, &stack[depth - 1], &stack[depth], instruction.b, err))
                return false;
            break;
        case TEMPLATE_OP_EMIT:
            depth--;
            template_value_as_text(&stack[depth]);
            template_escape_add(out, (enum template_escape)instruction.a, stack[depth].text, stack[depth].size);
            break;
        }
    }
    return true;
}

bool template_evaluate(const struct template *template, struct template_lookup lookup, struct arena *scratch_arena, struct buf *out,
                       struct error *err)
{
    if (out->overflowed)
        return fail(err, ERR_INVALID_REQUEST, NULL, "The output is full already.");
    size_t start = out->size;
    size_t old_max_bytes = out->max_bytes;
    if (old_max_bytes - start > TEMPLATE_MAX_OUTPUT_BYTES)
        out->max_bytes = start + TEMPLATE_MAX_OUTPUT_BYTES;
    struct template_scratch scratch = { .arena = scratch_arena, .left_bytes = TEMPLATE_MAX_SCRATCH_BYTES };

    bool done = run(template, lookup, &scratch, out, err);
    if (done && out->overflowed)
        done = fail(err, ERR_INVALID_REQUEST, NULL, "The personalised text is larger than %zu bytes.", out->max_bytes - start);
    out->max_bytes = old_max_bytes;
    if (!done) {
        out->overflowed = false;
        out->size = start;
        if (out->data != NULL)
            out->data[start] = '\0';
    }
    return done;
}
