/*
 * Evaluates templates for template_liquid.mjs: JSON lines in, JSON lines out.
 *
 *     {"kind": "html" | "text" | "header", "source", "values": {…}, "locale"?, "currency"?, "zone"?, "now"?}
 *     → {"output": "…", "paths": ["…"]} or {"error": "…"}
 *
 *     {"bench": rounds, "kind", "source", "values"} → {"bytes", "nanoseconds"}: the time of one evaluation, and what it wrote
 */
#include "base/clock.h"
#include "json_lines.h"
#include "template/template.h"
#include "template/value.h"
#include "template/zone.h"

#include <string.h>
#include <time.h>

enum { MAX_LINE_BYTES = 8 * 1024 * 1024, MAX_VALUES = TEMPLATE_MAX_PATHS };

/* The values of all paths, found once, as a sender does it. */
struct values {
    struct template_value items[MAX_VALUES];
};

static void look_up(const void *context, size_t index, const char *path UNUSED, struct template_value *value)
{
    const struct values *values = context;
    *value = values->items[index];
}

static enum template_kind read_kind(const json_t *request)
{
    const char *kind = json_get_text(request, "kind");
    if (kind != NULL && strcmp(kind, "html") == 0)
        return TEMPLATE_HTML;
    return kind != NULL && strcmp(kind, "header") == 0 ? TEMPLATE_HEADER : TEMPLATE_TEXT;
}

static struct template_setting read_setting(struct arena *arena, const json_t *request)
{
    const char *zone = json_get_text(request, "zone");
    return (struct template_setting){
        .locale = json_get_text(request, "locale"),
        .currency = json_get_text(request, "currency"),
        .zone_name = zone,
        .zone = zone != NULL ? template_zone_load(arena, zone) : NULL,
        .now_us = json_get_int(request, "now", 0) * 1000 * 1000,
    };
}

static bool compile(struct arena *arena, const json_t *request, struct template *ret_template, struct values *values,
                    struct error *err)
{
    const char *source = json_get_text(request, "source");
    struct template_value tree = template_value_of_json(json_object_get(request, "values"));
    struct bytes blob;
    if (!template_compile(arena, read_kind(request), source != NULL ? source : "", source != NULL ? strlen(source) : 0, &blob,
                          err) ||
        !template_load(blob, ret_template, err))
        return false;
    for (size_t i = 0; i < template_path_count(ret_template); i++)
        values->items[i] = template_follow(tree, template_path(ret_template, i));
    return true;
}

static void write_paths(struct json_writer *json, const struct template *template)
{
    json_key(json, "paths");
    json_array_begin(json);
    for (size_t i = 0; i < template_path_count(template); i++)
        if (template_path_is_listed(template, i))
            json_text(json, template_path(template, i));
    json_array_end(json);
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 * 1000 * 1000 + now.tv_nsec;
}

/* Evaluates again and again into the same buffer, with the scratch emptied between, as the composer does. */
static bool bench(const struct template *template, struct template_lookup lookup, int64_t rounds, struct buf *out,
                  struct json_writer *json, struct error *err)
{
    ARENA_SCOPE scratch = arena_new(0);
    int64_t from = now_ns();
    for (int64_t i = 0; i < rounds; i++) {
        arena_reset(scratch);
        buf_clear(out);
        if (!template_evaluate(template, lookup, scratch, out, err))
            return false;
    }
    json_member_int(json, "nanoseconds", rounds > 0 ? (now_ns() - from) / rounds : 0);
    json_member_int(json, "bytes", (int64_t)out->size);
    return true;
}

static bool evaluate(struct arena *arena, const json_t *request, struct json_writer *json, struct error *err)
{
    struct template template;
    struct values *values = arena_alloc(arena, sizeof(*values));
    struct template_setting setting = read_setting(arena, request);
    struct template_lookup lookup = { .value = look_up, .context = values, .setting = &setting };
    struct buf *out = buf_in_arena(arena, (size_t)TEMPLATE_MAX_OUTPUT_BYTES);
    if (!compile(arena, request, &template, values, err))
        return false;
    int64_t rounds = json_get_int(request, "bench", 0);
    if (rounds > 0)
        return bench(&template, lookup, rounds, out, json, err);
    if (!template_evaluate(&template, lookup, arena, out, err))
        return false;
    json_member_text(json, "output", buf_text(out));
    write_paths(json, &template);
    return true;
}

int main(void)
{
    json_lines_run(&(struct json_lines){ .line_max_bytes = MAX_LINE_BYTES, .answer = evaluate });
    return 0;
}
