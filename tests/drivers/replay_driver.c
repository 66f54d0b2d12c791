/*
 * Decides the path of runs again from what their steps recorded: JSON lines in,
 * JSON lines out. It has no database, so the recorded facts are all that it knows.
 *
 *     {"nodes": […], "connections": […], "steps": [{"nodeId", "facts"}]}
 *     → {"path": ["start|", "check|true"]} or {"error": "…"}
 *
 * The path begins at the trigger and follows the branches of the facts until a
 * node leads nowhere or has no recorded step.
 */
#include "base/json_read.h"
#include "base/json_write.h"
#include "engine/nodes/step.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_BYTES = 16 * 1024 * 1024 };

static void write_path(struct arena *arena, const struct graph *graph, const json_t *steps, struct json_writer *json)
{
    const struct graph_node *node = &graph->nodes[graph->trigger];
    json_key(json, "path");
    json_array_begin(json);
    for (size_t i = 0; node != NULL && i < json_array_size(steps); i++) {
        const char *branch = step_replay(arena, node, json_object_get(json_array_get(steps, i), "facts"));
        json_text(json, arena_printf(arena, "%s|%s", node->id, branch != NULL ? branch : ""));
        node = graph_next(graph, node, branch);
    }
    json_array_end(json);
}

static void answer(const char *line, size_t size)
{
    ARENA_SCOPE arena = arena_new(0);
    const struct json_bounds bounds = { .max_bytes = LINE_MAX_BYTES };
    const unsigned char key[ID_KEY_BYTES] = { 0 };
    struct error err = { .code = ERR_NONE };
    struct id_codec ids;
    const json_t *request;
    struct graph *graph;
    struct buf *reply = buf_in_arena(arena, LINE_MAX_BYTES);
    struct json_writer json;
    id_codec_init(&ids, key);
    json_writer_init(&json, reply);
    json_object_begin(&json);
    if (json_read(arena, line, size, bounds, &request, &err) &&
        graph_read(arena, &ids, json_object_get(request, "nodes"), json_object_get(request, "connections"), &graph, &err))
        write_path(arena, graph, json_object_get(request, "steps"), &json);
    else
        json_member_text(&json, "error", err.message);
    json_object_end(&json);
    printf("%s\n", buf_text(reply));
}

int main(void)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t size;
    while ((size = getline(&line, &capacity, stdin)) > 0)
        answer(line, (size_t)size);
    free(line);
    return 0;
}
