/*
 * Evaluates templates for template_liquid.mjs: JSON lines in, JSON lines out.
 *
 *     {"kind": "html" | "text" | "header", "source", "values": {"path": "text" or true or false, …}}
 *     → {"output": "…"} or {"error": "…"}
 */
#include "base/json_read.h"
#include "base/json_write.h"
#include "mail/template.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LINE_BYTES = 8 * 1024 * 1024 };

static void look_up(const void *context, size_t index UNUSED, const char *path, struct template_value *value)
{
    const json_t *found = json_object_get(context, path);
    if (json_is_boolean(found))
        *value = (struct template_value){ .kind = TEMPLATE_BOOL, .truth = json_is_true(found) };
    if (json_is_string(found))
        *value =
            (struct template_value){ .kind = TEMPLATE_STRING, .text = json_string_value(found), .size = json_string_length(found) };
}

static enum template_kind read_kind(const json_t *request)
{
    const char *kind = json_get_text(request, "kind");
    if (kind != NULL && strcmp(kind, "html") == 0)
        return TEMPLATE_HTML;
    return kind != NULL && strcmp(kind, "header") == 0 ? TEMPLATE_HEADER : TEMPLATE_TEXT;
}

static bool evaluate(struct arena *arena, const json_t *request, struct buf *out, struct error *err)
{
    const char *source = json_get_text(request, "source");
    const struct template_lookup lookup = { look_up, json_object_get(request, "values") };
    struct bytes blob;
    struct template template;
    return template_compile(arena, read_kind(request), source != NULL ? source : "", source != NULL ? strlen(source) : 0, &blob,
                            err) &&
           template_load(blob, &template, err) && template_evaluate(&template, lookup, arena, out, err);
}

static void answer(const char *line, size_t size)
{
    ARENA_SCOPE arena = arena_new(0);
    struct error err = { .code = ERR_NONE };
    const json_t *request = NULL;
    struct buf *out = buf_in_arena(arena, (size_t)TEMPLATE_MAX_OUTPUT_BYTES);
    struct buf *reply = buf_in_arena(arena, (size_t)MAX_LINE_BYTES);
    const struct json_bounds bounds = { .max_bytes = MAX_LINE_BYTES };
    bool done = json_read(arena, line, size, bounds, &request, &err) && evaluate(arena, request, out, &err);

    struct json_writer json;
    json_writer_init(&json, reply);
    json_object_begin(&json);
    json_member_text(&json, done ? "output" : "error", done ? buf_text(out) : err.message);
    json_object_end(&json);
    puts(buf_text(reply));
}

int main(void)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t size = getline(&line, &capacity, stdin);
    while (size > 0) {
        answer(line, (size_t)size);
        fflush(stdout);
        size = getline(&line, &capacity, stdin);
    }
    free(line);
    return 0;
}
