#include "json_lines.h"

#include <stdio.h>
#include <stdlib.h>

enum { ANSWER_BYTES_OF_LINE = 16 }; /* bytes of an answer for each byte of the longest line */

static void answer_line(const struct json_lines *lines, const char *line, size_t size)
{
    ARENA_SCOPE arena = arena_new(lines->arena_bytes);
    struct error err = { .code = ERR_NONE };
    const json_t *request = NULL;
    const struct json_bounds bounds = { .max_bytes = lines->line_max_bytes };
    struct buf *reply = buf_in_arena(arena, lines->line_max_bytes * ANSWER_BYTES_OF_LINE);
    struct json_writer json;
    json_writer_init(&json, reply);
    json_object_begin(&json);
    if (!json_read(arena, line, size, bounds, &request, &err) || !lines->answer(arena, request, &json, &err)) {
        json_member_text(&json, "error", err.message);
        json_member_text(&json, "param", err.param);
        json_member_text(&json, "code", error_info(err.code)->name);
    }
    json_object_end(&json);
    puts(buf_text(reply));
    fflush(stdout);
}

void json_lines_run(const struct json_lines *lines)
{
    char *line = NULL;
    size_t capacity = 0;
    for (ssize_t size; (size = getline(&line, &capacity, stdin)) > 0;)
        answer_line(lines, line, (size_t)size);
    free(line);
}
