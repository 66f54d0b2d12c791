/*
 * Asks a model as the jobs do: JSON lines in, JSON lines out. For the tests of providers, whose servers are scripted.
 *
 *     {"provider", "url", "name", "key"?, "totalMs"?, "prompt", "brand"?: {"name", "address"}, "pages"?: [{"url", "title",
 * "text"}], "document"?, "outline"?, "serial"?} → {"document" or "operations", "warnings", "serial"} or {"error", "code"}, each
 * with {"engine", "requests", "tokensIn", "tokensOut"}
 */
#include "json_lines.h"
#include "models/models.h"

enum { MAX_LINE_BYTES = 4 * 1024 * 1024, NOW_S = 1795253400 };

static struct brief brief_of(struct arena *arena, const json_t *request)
{
    const json_t *brand = json_object_get(request, "brand");
    const json_t *given = json_object_get(request, "pages");
    struct brief_page *pages = arena_array(arena, json_array_size(given) + 1, sizeof(*pages));
    for (size_t i = 0; i < json_array_size(given); i++) {
        const json_t *page = json_array_get(given, i);
        pages[i] = (struct brief_page){
            .url = json_get_text(page, "url"),
            .title = json_get_text(page, "title"),
            .text = json_get_text(page, "text"),
        };
    }
    return (struct brief){
        .prompt = json_get_text(request, "prompt"),
        .brand = { .name = json_get_text(brand, "name"), .address = json_get_text(brand, "address") },
        .pages = pages,
        .page_count = json_array_size(given),
        .now_us = (int64_t)NOW_S * 1000000,
    };
}

static void write_list(struct json_writer *json, struct text_list list)
{
    json_key(json, "warnings");
    json_array_begin(json);
    for (size_t i = 0; i < list.count; i++)
        json_text(json, list.items[i]);
    json_array_end(json);
}

static bool write_answer(struct arena *arena, const struct model *model, const json_t *request, struct json_writer *json,
                         struct model_usage *usage, struct error *err)
{
    struct brief brief = brief_of(arena, request);
    struct model_design design;
    struct model_operations operations;
    int64_t serial = json_get_int(request, "serial", 0);
    struct model_edit edit = {
        .brief = &brief,
        .document = json_object_get(request, "document"),
        .outline = json_object_get(request, "outline"),
        .serial = serial,
    };
    if (edit.document == NULL && edit.outline == NULL) {
        if (!model_write_document(arena, model, &brief, &serial, &design, usage, err))
            return false;
        json_member_raw(json, "document", json_compact(arena, design.document));
        json_member_int(json, "serial", serial);
        write_list(json, design.warnings);
        return true;
    }
    if (!model_write_operations(arena, model, &edit, &operations, usage, err))
        return false;
    json_member_raw(json, "operations", json_compact(arena, operations.operations));
    write_list(json, operations.warnings);
    return true;
}

static bool ask(struct arena *arena, const json_t *request, struct json_writer *json, struct error *err)
{
    struct model_usage usage = { .requests = 0 };
    struct model *model;
    struct model_config config = {
        .provider = json_get_text(request, "provider"),
        .url = json_get_text(request, "url"),
        .name = json_get_text(request, "name"),
        .key = json_get_text(request, "key"),
        .total_ms = json_get_int(request, "totalMs", 0),
    };
    if (!model_new(&config, &model, err))
        return false;
    if (model == NULL)
        return fail(err, ERR_INVALID_REQUEST, "provider", "No model is named.");
    json_member_text(json, "engine", model_engine(model));
    bool done = write_answer(arena, model, request, json, &usage, err);
    json_member_int(json, "requests", usage.requests);
    if (usage.tokens_in.set)
        json_member_int(json, "tokensIn", usage.tokens_in.value);
    if (usage.tokens_out.set)
        json_member_int(json, "tokensOut", usage.tokens_out.value);
    model_free(model);
    return done;
}

int main(void)
{
    json_lines_run(&(struct json_lines){ .line_max_bytes = MAX_LINE_BYTES, .answer = ask });
    return 0;
}
