#include "template/names.h"

#include "template/markup.h"

#include <string.h>

size_t template_name_size(const char *text, const char *end)
{
    size_t size = 0;
    while (text + size < end) {
        char byte = text[size];
        bool is_letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_';
        bool goes_on = (byte >= '0' && byte <= '9') || byte == '-';
        if (!is_letter && (size == 0 || !goes_on))
            break;
        size++;
    }
    return size;
}

static int find_name(const struct template_name *names, unsigned count, const char *text, size_t size)
{
    for (unsigned i = count; i > 0; i--)
        if (names[i - 1].size == size && memcmp(names[i - 1].text, text, size) == 0)
            return (int)i - 1;
    return -1;
}

int template_names_variable(const struct template_names *names, const char *text, size_t size)
{
    return find_name(names->variables, names->variable_count, text, size);
}

int template_names_loop(const struct template_names *names, const char *text, size_t size)
{
    return find_name(names->loops, names->loop_count, text, size);
}

/* The name that `assign` or `capture` defines; NULL for another tag. */
static const char *assigned_name(const struct template_piece *piece)
{
    static const char *const words[] = { "assign", "capture" };
    size_t size = template_tag_name_size(piece->text, piece->size);
    for (size_t i = 0; i < ARRAY_COUNT(words); i++) {
        if (size != strlen(words[i]) || memcmp(piece->text, words[i], size) != 0)
            continue;
        const char *at = piece->text + size;
        while (at < piece->text + piece->size && memchr(" \t\r\n", *at, 4) != NULL)
            at++;
        return at;
    }
    return NULL;
}

bool template_names_collect(struct template_names *names, struct arena *arena, const char *source, size_t size)
{
    struct template_markup markup;
    *names = (struct template_names){ .arena = arena };
    template_markup_init(&markup, source, size);
    for (;;) {
        struct template_piece piece = template_markup_next(&markup);
        if (piece.kind == TEMPLATE_PIECE_END || piece.kind == TEMPLATE_PIECE_BROKEN)
            return true;
        const char *name = piece.kind == TEMPLATE_PIECE_TAG ? assigned_name(&piece) : NULL;
        size_t name_size = name != NULL ? template_name_size(name, piece.text + piece.size) : 0;
        if (name_size == 0 || template_names_variable(names, name, name_size) >= 0)
            continue;
        if (names->variable_count == TEMPLATE_MAX_VARIABLES)
            return false;
        names->variables[names->variable_count++] =
            (struct template_name){ .text = arena_dup_bytes(arena, name, name_size), .size = name_size };
    }
}

void template_names_assign(struct template_names *names, unsigned variable, const char *source)
{
    struct template_name *name = &names->variables[variable];
    bool same = name->is_assigned && name->source != NULL && source != NULL && strcmp(name->source, source) == 0;
    if (!name->is_assigned || same)
        name->source = source;
    else
        name->source = NULL;
    name->is_assigned = true;
}

int template_names_hide(struct template_names *names)
{
    if (names->variable_count == TEMPLATE_MAX_VARIABLES)
        return -1;
    names->variables[names->variable_count] = (struct template_name){ .text = "", .is_assigned = true };
    return (int)names->variable_count++;
}

void template_names_enter_loop(struct template_names *names, const char *text, size_t size, const char *source)
{
    names->loops[names->loop_count++] =
        (struct template_name){ .text = arena_dup_bytes(names->arena, text, size), .size = size, .source = source };
}

void template_names_leave_loop(struct template_names *names)
{
    names->loop_count--;
}
