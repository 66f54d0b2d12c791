/*
 * Checks payloads against contracts for contract_exports.mjs: JSON lines in, JSON lines out.
 *
 *     {"title", "fields": […], "enforcement", "stored": boolean, "payloads": […]}
 *     → {"ts", "zod", "jsonschema", "skill", "checks": [{"codes": […], "payload": {…} | null, "resolved": {…} | null}]}
 *       or {"error": "…", "param": "…"}
 *
 *     {"example": {…}} → {"fields": […], "issues": n}: the draft of infer
 */
#include "engine/contracts/contract_export.h"
#include "engine/contracts/contract_infer.h"
#include "json_lines.h"

enum { MAX_LINE_BYTES = 16 * 1024 * 1024 };

static void write_check(const struct work *work, const struct contract_check *check, struct json_writer *json)
{
    bool is_usable = check->payload != NULL;
    json_object_begin(json);
    json_key(json, "codes");
    json_array_begin(json);
    for (size_t i = 0; i < check->error_count; i++)
        json_text(json, check->errors[i].code);
    json_array_end(json);
    json_member_raw(json, "payload", is_usable ? json_compact(work->arena, check->payload) : NULL);
    json_member_raw(json, "resolved",
                    is_usable ? json_compact(work->arena, contract_merge_fallbacks(work, check->payload, check->fallbacks)) : NULL);
    json_object_end(json);
}

static void write_exports(const struct work *work, const struct contract *contract, const json_t *request, struct json_writer *json)
{
    struct contract_subject subject = { .title = json_get_text(request, "title"), .fire_url = "/fire" };
    for (enum contract_format format = CONTRACT_TS; format <= CONTRACT_SKILL; format++)
        json_member_text(json, contract_format_name(format), contract_export(work, format, contract, &subject));
    json_key(json, "checks");
    json_array_begin(json);
    size_t index;
    const json_t *payload;
    json_array_foreach (json_object_get(request, "payloads"), index, payload) {
        struct contract_check check;
        contract_check(work, contract, payload, &check);
        write_check(work, &check, json);
    }
    json_array_end(json);
}

static bool answer_draft(const struct work *work, const json_t *request, struct json_writer *json, struct error *err)
{
    struct contract_draft draft;
    if (!contract_infer(work, json_object_get(request, "example"), &draft, err))
        return false;
    json_key(json, "fields");
    contract_write_fields(&draft.contract, false, json);
    json_member_int(json, "issues", (int64_t)draft.issue_count);
    return true;
}

static bool answer_contract(const struct work *work, const json_t *request, struct json_writer *json, struct error *err)
{
    struct contract contract;
    bool is_stored = json_get_bool(request, "stored", true);
    if (!contract_read(work, json_object_get(request, "fields"), "fields", is_stored, &contract, err))
        return false;
    contract.enforcement = contract_enforcement_from_name(json_get_text(request, "enforcement"));
    write_exports(work, &contract, request, json);
    return true;
}

static bool answer(struct arena *arena, const json_t *request, struct json_writer *json, struct error *err)
{
    const struct work work = { .arena = arena };
    return json_object_get(request, "example") != NULL ? answer_draft(&work, request, json, err)
                                                       : answer_contract(&work, request, json, err);
}

int main(void)
{
    json_lines_run(
        &(struct json_lines){ .line_max_bytes = MAX_LINE_BYTES, .arena_bytes = (size_t)512 * 1024 * 1024, .answer = answer });
    return 0;
}
