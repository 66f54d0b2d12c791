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
#include "engine/nodes/step.h"
#include "json_lines.h"

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

static bool answer(struct arena *arena, const json_t *request, struct json_writer *json, struct error *err)
{
    const unsigned char key[ID_KEY_BYTES] = { 0 };
    struct id_codec ids;
    struct graph *graph;
    id_codec_init(&ids, key);
    if (!graph_read(arena, &ids, json_object_get(request, "nodes"), json_object_get(request, "connections"), &graph, err))
        return false;
    write_path(arena, graph, json_object_get(request, "steps"), json);
    return true;
}

int main(void)
{
    json_lines_run(&(struct json_lines){ .line_max_bytes = LINE_MAX_BYTES, .answer = answer });
    return 0;
}
