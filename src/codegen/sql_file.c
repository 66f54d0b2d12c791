#include "sql_model.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void generator_fail(const char *path, int line, const char *format, ...)
{
    fprintf(stderr, "%s:", path);
    if (line > 0)
        fprintf(stderr, "%d:", line);
    fputc(' ', stderr);
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(1);
}

char *generator_read_file(struct arena *arena, const char *path, size_t max_bytes)
{
    FILE *file = fopen(path, "rb");
    struct stat status;
    if (file == NULL || fstat(fileno(file), &status) != 0)
        generator_fail(path, 0, "cannot be read");
    size_t size = (size_t)status.st_size;
    if (size > max_bytes)
        generator_fail(path, 0, "is larger than %zu bytes", max_bytes);
    char *text = arena_alloc(arena, size + 1);
    bool complete = fread(text, 1, size, file) == size;
    fclose(file);
    if (!complete)
        generator_fail(path, 0, "cannot be read");
    if (memchr(text, '\0', size) != NULL)
        generator_fail(path, 0, "holds a NUL byte");
    text[size] = '\0';
    return text;
}

static bool file_has_content(const char *path, const struct buf *content)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return false;
    char piece[4096];
    size_t at = 0;
    size_t got;
    bool equal = true;
    while (equal && (got = fread(piece, 1, sizeof(piece), file)) > 0) {
        equal = got <= content->size - at && memcmp(piece, content->data + at, got) == 0;
        at += got;
    }
    equal = equal && ferror(file) == 0 && at == content->size;
    fclose(file);
    return equal;
}

void generator_write_file(const char *path, const struct buf *content)
{
    if (content->overflowed)
        generator_fail(path, 0, "would be larger than %zu bytes", content->max_bytes);
    if (file_has_content(path, content))
        return;
    FILE *file = fopen(path, "wb");
    if (file == NULL)
        generator_fail(path, 0, "cannot be written");
    size_t written = fwrite(buf_text(content), 1, content->size, file);
    if (fclose(file) != 0 || written != content->size)
        generator_fail(path, 0, "cannot be written");
}

void generator_emit_literal(struct buf *out, const char *text, const char *indent)
{
    bool at_line_start = true;
    for (const char *at = text; *at != '\0'; at++) {
        if (at_line_start)
            buf_printf(out, "\n%s\"", indent);
        at_line_start = *at == '\n';
        if (*at == '\n')
            buf_add_text(out, "\\n\"");
        else if (*at == '"' || *at == '\\')
            buf_printf(out, "\\%c", *at);
        else if (*at == '\t')
            buf_add_text(out, "\\t");
        else if ((unsigned char)*at < 0x20 || (unsigned char)*at >= 0x7f)
            buf_printf(out, "\\%03o", (unsigned char)*at);
        else
            buf_add_char(out, *at);
    }
    if (!at_line_start)
        buf_add_char(out, '"');
    if (text[0] == '\0')
        buf_add_text(out, " \"\"");
}
