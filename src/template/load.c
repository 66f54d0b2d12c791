/* Bytecode verifier: after template_load, run.c can rely on every number in the blob. */
#include "template/template.h"

#include "template/filter.h"
#include "template/format.h"

#include <string.h>

static bool damaged(struct error *err, const char *what)
{
    fail(err, ERR_INTERNAL_ERROR, NULL, "A stored template is damaged.");
    return error_because(err, "template blob: %s", what);
}

static bool check_header(struct bytes blob, struct error *err)
{
    if (blob.data == NULL || blob.size < TEMPLATE_HEADER_BYTES || blob.size > TEMPLATE_BLOB_MAX_BYTES)
        return damaged(err, "size");
    if (memcmp(blob.data + TEMPLATE_AT_MAGIC, TEMPLATE_MAGIC, strlen(TEMPLATE_MAGIC)) != 0)
        return damaged(err, "magic");
    uint16_t version = template_read_u16(blob.data + TEMPLATE_AT_VERSION);
    if (version < TEMPLATE_FORMAT_OLDEST || version > TEMPLATE_FORMAT_VERSION)
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

static size_t path_bytes(const struct template *template)
{
    return template->version == 1 ? TEMPLATE_OLD_PATH_BYTES : TEMPLATE_PATH_BYTES;
}

/* Locates the sections and checks that they fill the blob exactly. */
static bool locate_sections(struct bytes blob, struct template *template, struct error *err)
{
    *template = (struct template){
        .kind = (enum template_kind)template_read_u16(blob.data + TEMPLATE_AT_KIND),
        .version = template_read_u16(blob.data + TEMPLATE_AT_VERSION),
        .instruction_count = template_read_u32(blob.data + TEMPLATE_AT_INSTRUCTION_COUNT),
        .string_count = template_read_u32(blob.data + TEMPLATE_AT_STRING_COUNT),
        .path_count = template_read_u32(blob.data + TEMPLATE_AT_PATH_COUNT),
        .pool_bytes = template_read_u32(blob.data + TEMPLATE_AT_POOL_BYTES),
    };
    uint64_t instructions = (uint64_t) template->instruction_count * TEMPLATE_INSTRUCTION_BYTES;
    uint64_t strings = (uint64_t) template->string_count * TEMPLATE_STRING_BYTES;
    uint64_t paths = (uint64_t) template->path_count * path_bytes(template);
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
        if (template_read_u32(template->paths + i * path_bytes(template)) >= template->string_count)
            return damaged(err, "path");
    return true;
}

/* ---- Instructions ---- */

/* The effect of an instruction on the stacks. */
struct effect {
    unsigned pops;
    unsigned pushes;
    bool is_statement; /* requires an empty value stack */
    bool jumps;        /* can jump to c */
    int jump_loops;    /* change of the number of open loops when it jumps */
    int loops;         /* change of the number of open loops when it does not jump */
    int captures;      /* change of the number of open captures */
};

/* The number of open loops and captures before an instruction. They are stored for every instruction, in one byte each, because a
 * jump must have the same numbers as its target. */
struct depth {
    uint8_t loops;
    uint8_t captures;
};

static unsigned modifier_count(unsigned bits)
{
    return (bits & TEMPLATE_FOR_OFFSET ? 1U : 0U) + (bits & TEMPLATE_FOR_LIMIT ? 1U : 0U);
}

/* The effect of the operations of version 1; false when an operand is out of range. */
static bool value_effect(const struct template *template, struct template_instruction instruction, struct effect *effect)
{
    switch (instruction.op) {
    case TEMPLATE_OP_END:
        effect->is_statement = true;
        return true;
    case TEMPLATE_OP_TEXT:
        effect->is_statement = true;
        return instruction.c < template->string_count;
    case TEMPLATE_OP_LOAD:
        effect->pushes = 1;
        return instruction.c < template->path_count;
    case TEMPLATE_OP_CONST:
        effect->pushes = 1;
        return instruction.c < template->string_count;
    case TEMPLATE_OP_FILTER:
        effect->pops = instruction.b + 1U;
        effect->pushes = 1;
        return instruction.a < TEMPLATE_FILTER_COUNT && instruction.b >= template_filter_info(instruction.a)->min_arguments &&
               instruction.b <= template_filter_info(instruction.a)->max_arguments;
    case TEMPLATE_OP_EMIT:
        effect->pops = 1;
        return instruction.a < TEMPLATE_ESCAPE_COUNT;
    default:
        return false;
    }
}

/* The effect of the operations that compute values. */
static bool expression_effect(const struct template *template, struct template_instruction instruction, struct depth depth,
                              struct effect *effect)
{
    effect->pushes = 1;
    switch (instruction.op) {
    case TEMPLATE_OP_INTEGER:
        return true;
    case TEMPLATE_OP_NUMBER:
        return instruction.c < template->string_count;
    case TEMPLATE_OP_LITERAL:
        return instruction.a < TEMPLATE_LITERAL_COUNT;
    case TEMPLATE_OP_VARIABLE:
        return instruction.b < TEMPLATE_MAX_VARIABLES && instruction.c <= template->path_count;
    case TEMPLATE_OP_ITEM:
        return instruction.b < depth.loops;
    case TEMPLATE_OP_FORLOOP:
        return instruction.b < depth.loops && instruction.a < TEMPLATE_FORLOOP_COUNT;
    case TEMPLATE_OP_MEMBER:
        effect->pops = 1;
        return instruction.c < template->string_count;
    case TEMPLATE_OP_NOT:
        effect->pops = 1;
        return true;
    case TEMPLATE_OP_INDEX:
    case TEMPLATE_OP_RANGE:
    case TEMPLATE_OP_AND:
    case TEMPLATE_OP_OR:
        effect->pops = 2;
        return true;
    case TEMPLATE_OP_COMPARE:
        effect->pops = 2;
        return instruction.a < TEMPLATE_COMPARISON_COUNT;
    default:
        return false;
    }
}

/* The effect of the control flow operations. */
static bool control_effect(struct template_instruction instruction, struct depth depth, struct effect *effect)
{
    switch (instruction.op) {
    case TEMPLATE_OP_STORE:
        effect->pops = 1;
        return instruction.b < TEMPLATE_MAX_VARIABLES;
    case TEMPLATE_OP_JUMP:
        effect->is_statement = effect->jumps = true;
        return true;
    case TEMPLATE_OP_BRANCH:
        effect->pops = 1;
        effect->jumps = true;
        return instruction.a <= 1;
    case TEMPLATE_OP_FOR:
        effect->pops = 1 + modifier_count(instruction.a);
        effect->jumps = true;
        effect->loops = 1;
        return instruction.a <= TEMPLATE_FOR_BITS && depth.loops < TEMPLATE_MAX_DEPTH;
    case TEMPLATE_OP_NEXT:
        effect->is_statement = effect->jumps = true;
        effect->loops = -1;
        return depth.loops > 0;
    case TEMPLATE_OP_LEAVE:
        effect->is_statement = effect->jumps = true;
        effect->jump_loops = -1;
        return depth.loops > 0;
    case TEMPLATE_OP_CAPTURE:
        effect->is_statement = true;
        effect->captures = 1;
        return depth.captures < TEMPLATE_MAX_DEPTH;
    case TEMPLATE_OP_CAPTURED:
        effect->is_statement = true;
        effect->captures = -1;
        return depth.captures > 0 && instruction.b < TEMPLATE_MAX_VARIABLES;
    default:
        return false;
    }
}

/* The effect of the operations of version 3. */
static bool link_effect(const struct template *template, struct template_instruction instruction, struct effect *effect)
{
    effect->is_statement = true;
    bool is_known = instruction.op <= TEMPLATE_OP_LINK_END;
    return is_known && (instruction.op != TEMPLATE_OP_LINK || instruction.c < template->string_count);
}

static bool find_effect(const struct template *template, struct template_instruction instruction, struct depth depth,
                        struct effect *ret_effect)
{
    *ret_effect = (struct effect){ .pops = 0 };
    if (instruction.op <= TEMPLATE_OP_EMIT)
        return value_effect(template, instruction, ret_effect);
    if (template->version == 1)
        return false;
    if (instruction.op <= TEMPLATE_OP_NOT && instruction.op != TEMPLATE_OP_STORE)
        return expression_effect(template, instruction, depth, ret_effect);
    if (instruction.op >= TEMPLATE_OP_LINK && template->version > 2)
        return link_effect(template, instruction, ret_effect);
    return control_effect(instruction, depth, ret_effect);
}

/* The state of the verifier, which visits each instruction once. */
struct verifier {
    const struct template *template;
    struct depth depth;
    unsigned values;
    struct depth *expected; /* the depth before each instruction */
    bool *is_target;        /* the value stack is empty before the instruction, so it can be the target of a jump */
};

static bool verify_instruction(struct verifier *verifier, uint32_t index, struct effect *effect)
{
    struct template_instruction instruction = template_read_instruction(verifier->template->instructions, index);
    if (!find_effect(verifier->template, instruction, verifier->depth, effect))
        return false;
    verifier->expected[index] = verifier->depth;
    verifier->is_target[index] = verifier->values == 0;
    if (effect->pops > verifier->values || (effect->is_statement && verifier->values != 0))
        return false;
    verifier->values = verifier->values - effect->pops + effect->pushes;
    /* After a jump and after a store, the value stack must be empty. */
    bool empties = effect->jumps || instruction.op == TEMPLATE_OP_STORE;
    if (verifier->values > TEMPLATE_STACK_MAX || (empties && verifier->values != 0))
        return false;
    verifier->depth.loops = (uint8_t)(verifier->depth.loops + effect->loops);
    verifier->depth.captures = (uint8_t)(verifier->depth.captures + effect->captures);
    bool is_last = index + 1 == verifier->template->instruction_count;
    return (instruction.op == TEMPLATE_OP_END) == is_last;
}

/* Checks that every jump has the same stack depths as its target. Only NEXT jumps back, so every loop terminates. */
static bool check_jump(const struct verifier *verifier, uint32_t index)
{
    struct effect effect;
    struct template_instruction instruction = template_read_instruction(verifier->template->instructions, index);
    if (!find_effect(verifier->template, instruction, verifier->expected[index], &effect))
        return false;
    if (!effect.jumps)
        return true;
    uint32_t target = instruction.c;
    bool leads_back = instruction.op == TEMPLATE_OP_NEXT;
    if (target >= verifier->template->instruction_count || (leads_back ? target > index : target <= index))
        return false;
    return verifier->is_target[target] && verifier->expected[target].captures == verifier->expected[index].captures &&
           verifier->expected[target].loops == verifier->expected[index].loops + effect.jump_loops;
}

/* Proves that the interpreter stays inside its stacks and terminates. */
static bool check_instructions(struct template *template, struct verifier *verifier, struct error *err)
{
    for (uint32_t i = 0; i < template->instruction_count; i++) {
        struct effect effect;
        if (!verify_instruction(verifier, i, &effect))
            return damaged(err, "instruction");
        struct template_instruction instruction = template_read_instruction(template->instructions, i);
        bool stores = instruction.op == TEMPLATE_OP_STORE || instruction.op == TEMPLATE_OP_CAPTURED;
        bool reads = instruction.op == TEMPLATE_OP_VARIABLE;
        if ((stores || reads) && instruction.b >= template->variable_count)
            template->variable_count = instruction.b + 1U;
    }
    if (template->instruction_count == 0 || verifier->depth.loops != 0 || verifier->depth.captures != 0)
        return damaged(err, "end");
    for (uint32_t i = 0; i < template->instruction_count; i++)
        if (!check_jump(verifier, i))
            return damaged(err, "jump");
    return true;
}

bool template_load(struct bytes blob, struct template *ret_template, struct error *err)
{
    struct template template;
    if (!check_header(blob, err) || !locate_sections(blob, &template, err) || !check_strings(&template, err))
        return false;
    ARENA_SCOPE arena = arena_new(0);
    struct verifier verifier = {
        .template = &template,
        .expected = arena_array(arena, template.instruction_count, sizeof(struct depth)),
        .is_target = arena_array(arena, template.instruction_count, sizeof(bool)),
    };
    if (!check_instructions(&template, &verifier, err))
        return false;
    *ret_template = template;
    return true;
}

/* ---- Paths ---- */

static const char *string_at(const struct template *template, uint32_t string)
{
    return template->pool + template_read_u32(template->strings + (size_t)string * TEMPLATE_STRING_BYTES);
}

size_t template_path_count(const struct template *template)
{
    return template->path_count;
}

const char *template_path(const struct template *template, size_t index)
{
    return string_at(template, template_read_u32(template->paths + index * path_bytes(template)));
}

bool template_path_is_listed(const struct template *template, size_t index)
{
    if (template->version == 1)
        return true;
    return (template_read_u32(template->paths + index * TEMPLATE_PATH_BYTES + 4) & TEMPLATE_PATH_LISTED) != 0;
}

const char *template_path_default(const struct template *template, size_t index)
{
    const char *text = NULL;
    for (uint32_t i = 0; i < template->instruction_count; i++) {
        struct template_instruction load = template_read_instruction(template->instructions, i);
        if (load.op != TEMPLATE_OP_LOAD || load.c != index)
            continue;
        /* The last instruction is END, and a value is used after it is pushed, so two instructions follow. */
        struct template_instruction constant = template_read_instruction(template->instructions, i + 1);
        if (constant.op != TEMPLATE_OP_CONST)
            return NULL;
        struct template_instruction filter = template_read_instruction(template->instructions, i + 2);
        if (filter.op != TEMPLATE_OP_FILTER || filter.a != TEMPLATE_FILTER_DEFAULT || filter.b != 1)
            return NULL;
        if (text == NULL)
            text = string_at(template, constant.c);
    }
    return text;
}
