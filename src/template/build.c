#include "template/build.h"

#include <string.h>

void template_build_init(struct template_build *build, struct arena *arena)
{
    *build = (struct template_build){
        .arena = arena,
        .instructions = buf_in_arena(arena, TEMPLATE_BLOB_MAX_BYTES),
        .strings = buf_in_arena(arena, TEMPLATE_BLOB_MAX_BYTES),
        .paths = buf_in_arena(arena, (size_t)TEMPLATE_MAX_PATHS * TEMPLATE_PATH_BYTES),
        .pool = buf_in_arena(arena, TEMPLATE_BLOB_MAX_BYTES),
        .path_names = arena_array(arena, TEMPLATE_MAX_PATHS, sizeof(char *)),
        .path_flags = arena_array(arena, TEMPLATE_MAX_PATHS, 1),
    };
}

uint32_t template_build_op(struct template_build *build, enum template_op op, unsigned a, unsigned b, uint32_t c)
{
    unsigned char instruction[TEMPLATE_INSTRUCTION_BYTES];
    instruction[0] = (unsigned char)op;
    instruction[1] = (unsigned char)a;
    template_write_u16(instruction + 2, (uint16_t)b);
    template_write_u32(instruction + 4, c);
    buf_add(build->instructions, instruction, sizeof(instruction));
    return build->instruction_count++;
}

void template_build_patch_jump(struct template_build *build, uint32_t jump)
{
    size_t at = (size_t)jump * TEMPLATE_INSTRUCTION_BYTES + 4;
    if (!build->instructions->overflowed)
        template_write_u32((unsigned char *)build->instructions->data + at, build->instruction_count);
}

/* A link of the chain is the number of the previous jump plus one. */
void template_build_chain(struct template_build *build, uint32_t *chain, enum template_op op)
{
    *chain = template_build_op(build, op, 0, 0, *chain) + 1;
}

void template_build_patch_chain(struct template_build *build, uint32_t *chain)
{
    while (*chain > 0 && !build->instructions->overflowed) {
        uint32_t jump = *chain - 1;
        *chain = template_read_instruction((const unsigned char *)build->instructions->data, jump).c;
        template_build_patch_jump(build, jump);
    }
    *chain = 0;
}

void template_build_rewind(struct template_build *build, uint32_t count)
{
    if (build->instructions->overflowed)
        return;
    build->instructions->size = (size_t)count * TEMPLATE_INSTRUCTION_BYTES;
    build->instruction_count = count;
}

uint32_t template_build_string(struct template_build *build, const char *text, size_t size)
{
    unsigned char string[TEMPLATE_STRING_BYTES];
    template_write_u32(string, (uint32_t)build->pool->size);
    template_write_u32(string + 4, (uint32_t)size);
    buf_add(build->strings, string, sizeof(string));
    buf_add(build->pool, text, size);
    buf_add_char(build->pool, '\0');
    return build->string_count++;
}

bool template_build_path(struct template_build *build, const char *name, size_t size, unsigned flags, uint32_t *ret_path)
{
    for (uint32_t path = 0; path < build->path_count; path++) {
        if (strncmp(build->path_names[path], name, size) == 0 && build->path_names[path][size] == '\0') {
            build->path_flags[path] |= (unsigned char)flags;
            *ret_path = path;
            return true;
        }
    }
    if (build->path_count == TEMPLATE_MAX_PATHS)
        return false;
    unsigned char path[TEMPLATE_PATH_BYTES] = { 0 }; /* template_build_finish writes the flags */
    template_write_u32(path, template_build_string(build, name, size));
    buf_add(build->paths, path, sizeof(path));
    build->path_names[build->path_count] = arena_dup_bytes(build->arena, name, size);
    build->path_flags[build->path_count] = (unsigned char)flags;
    *ret_path = build->path_count++;
    return true;
}

bool template_build_finish(struct template_build *build, enum template_kind kind, struct bytes *ret_blob, struct error *err)
{
    unsigned char header[TEMPLATE_HEADER_BYTES] = { 0 };
    memcpy(header + TEMPLATE_AT_MAGIC, TEMPLATE_MAGIC, strlen(TEMPLATE_MAGIC));
    template_write_u16(header + TEMPLATE_AT_VERSION, TEMPLATE_FORMAT_VERSION);
    template_write_u16(header + TEMPLATE_AT_KIND, (uint16_t)kind);
    template_write_u32(header + TEMPLATE_AT_INSTRUCTION_COUNT, build->instruction_count);
    template_write_u32(header + TEMPLATE_AT_STRING_COUNT, build->string_count);
    template_write_u32(header + TEMPLATE_AT_PATH_COUNT, build->path_count);
    template_write_u32(header + TEMPLATE_AT_POOL_BYTES, (uint32_t)build->pool->size);

    for (uint32_t path = 0; path < build->path_count; path++)
        template_write_u32((unsigned char *)build->paths->data + (size_t)path * TEMPLATE_PATH_BYTES + 4, build->path_flags[path]);

    const struct buf *parts[] = { build->instructions, build->strings, build->paths, build->pool };
    struct buf *blob = buf_in_arena(build->arena, TEMPLATE_BLOB_MAX_BYTES);
    buf_add(blob, header, sizeof(header));
    for (size_t i = 0; i < ARRAY_COUNT(parts); i++) {
        blob->overflowed |= parts[i]->overflowed;
        buf_add(blob, parts[i]->data, parts[i]->size);
    }
    if (blob->overflowed)
        return fail(err, ERR_INVALID_REQUEST, NULL, "The template is too large.");
    template_seal((unsigned char *)blob->data, blob->size);
    *ret_blob = (struct bytes){ .data = (const unsigned char *)blob->data, .size = blob->size };
    return true;
}
