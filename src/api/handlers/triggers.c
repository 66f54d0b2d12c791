#include "engine/triggers/triggers.h"

#include "api/op_context.h"
#include "base/json_read.h"
#include "catalogue/operations.h"
#include "engine/contracts/contract_infer.h"
#include "engine/triggers/fire_payload.h"

#include <assert.h>

static int64_t trigger_id(const struct op_context *ctx, const char *text)
{
    return id_decode(&ctx->work.engine->ids, ID_TRIGGER, text);
}

/* The fields of payloadSchema; its type is always object. */
static struct trigger_input trigger_input(const char *title, const char *description, const struct payload_schema *schema)
{
    return (struct trigger_input){
        .title = title,
        .description = description,
        .has_schema = schema != NULL,
        .fields = schema == NULL ? NULL : schema->fields,
    };
}

static bool reply_trigger(struct op_context *ctx, const struct trigger_row *trigger, struct reply *reply)
{
    op_context_subject(ctx, work_id(&ctx->work, ID_TRIGGER, trigger->id));
    trigger_write(&ctx->work, trigger, NULL, &reply->json);
    return true;
}

/* ---- Triggers ---- */

bool op_triggers_list(struct op_context *ctx, const struct triggers_list_args *args, struct reply *reply, struct error *err)
{
    return trigger_list(&ctx->work, args->limit, args->cursor, &reply->json, err);
}

bool op_triggers_get(struct op_context *ctx, const struct triggers_get_args *args, struct reply *reply, struct error *err)
{
    struct trigger_contract found;
    if (!trigger_contract(&ctx->work, trigger_id(ctx, args->trigger_event_id), &found, err))
        return false;
    const char *skill = args->include != 0 ? trigger_contract_export(&ctx->work, &found, CONTRACT_SKILL) : NULL;
    trigger_write(&ctx->work, found.trigger, skill, &reply->json);
    return true;
}

bool op_triggers_create(struct op_context *ctx, const struct triggers_create_args *args, struct reply *reply, struct error *err)
{
    struct trigger_row *trigger;
    struct trigger_input input = trigger_input(args->title, args->description, args->payload_schema);
    return trigger_create(&ctx->work, &input, &trigger, err) && reply_trigger(ctx, trigger, reply);
}

bool op_triggers_update(struct op_context *ctx, const struct triggers_update_args *args, struct reply *reply, struct error *err)
{
    struct trigger_row *trigger;
    struct trigger_input input = trigger_input(args->title, args->description, args->payload_schema);
    return trigger_update(&ctx->work, trigger_id(ctx, args->trigger_event_id), &input, &trigger, err) &&
           reply_trigger(ctx, trigger, reply);
}

bool op_triggers_delete(struct op_context *ctx, const struct triggers_delete_args *args, struct reply *reply, struct error *err)
{
    bool deleted;
    if (!op_context_check_id(ctx, ID_TRIGGER, "triggerEventId", args->trigger_event_id, ERR_TRIGGER_EVENT_NOT_FOUND, err) ||
        !trigger_delete(&ctx->work, trigger_id(ctx, args->trigger_event_id), &deleted, err))
        return false;
    if (deleted)
        op_context_subject(ctx, args->trigger_event_id);
    json_object_begin(&reply->json);
    json_member_text(&reply->json, "triggerEventId", args->trigger_event_id);
    json_member_bool(&reply->json, "deleted", deleted);
    json_object_end(&reply->json);
    return true;
}

bool op_triggers_readiness(struct op_context *ctx, const struct triggers_readiness_args *args, struct reply *reply,
                           struct error *err)
{
    return trigger_readiness(&ctx->work, trigger_id(ctx, args->trigger_event_id), &reply->json, err);
}

/* ---- Contracts ---- */

static_assert((int)TRIGGERS_GET_CONTRACT_FORMAT_TS == CONTRACT_TS && (int)TRIGGERS_GET_CONTRACT_FORMAT_ZOD == CONTRACT_ZOD &&
                  (int)TRIGGERS_GET_CONTRACT_FORMAT_JSONSCHEMA == CONTRACT_JSON_SCHEMA &&
                  (int)TRIGGERS_GET_CONTRACT_FORMAT_SKILL == CONTRACT_SKILL,
              "the formats have the order of the declaration");
static_assert((int)PAYLOAD_ENFORCEMENT_OFF - 1 == CONTRACT_OFF && (int)PAYLOAD_ENFORCEMENT_PRUNE - 1 == CONTRACT_PRUNE &&
                  (int)PAYLOAD_ENFORCEMENT_STRICT - 1 == CONTRACT_STRICT,
              "the modes have the order of the declaration");

static enum contract_enforcement enforcement_of(enum payload_enforcement given)
{
    return (enum contract_enforcement)((int)given - 1);
}

bool op_triggers_get_contract(struct op_context *ctx, const struct triggers_get_contract_args *args, struct reply *reply,
                              struct error *err)
{
    struct trigger_contract found;
    if (!trigger_contract(&ctx->work, trigger_id(ctx, args->trigger_event_id), &found, err))
        return false;
    if ((int)args->format == 0)
        trigger_contract_write(&ctx->work, &found, &reply->json);
    else
        trigger_contract_write_code(&ctx->work, &found, (enum contract_format)args->format, &reply->json);
    return true;
}

bool op_triggers_set_contract(struct op_context *ctx, const struct triggers_set_contract_args *args, struct reply *reply,
                              struct error *err)
{
    struct trigger_contract changed;
    struct contract_input input = { .fields = args->fields, .has_enforcement = (int)args->enforcement != 0 };
    if (input.has_enforcement)
        input.enforcement = enforcement_of(args->enforcement);
    if (!trigger_set_contract(&ctx->work, trigger_id(ctx, args->trigger_event_id), &input, &changed, err))
        return false;
    op_context_subject(ctx, args->trigger_event_id);
    trigger_contract_write(&ctx->work, &changed, &reply->json);
    return true;
}

static void write_findings(const char *name, const struct contract_finding *findings, size_t count, struct json_writer *json)
{
    json_key(json, name);
    contract_write_findings(findings, count, json);
}

static void write_check(const struct work *work, const struct contract_check *check, struct json_writer *json)
{
    json_object_begin(json);
    json_member_bool(json, "valid", check->error_count == 0);
    write_findings("errors", check->errors, check->error_count, json);
    write_findings("warnings", check->warnings, check->warning_count, json);
    json_member_raw(json, "resolvedPayload",
                    check->payload == NULL
                        ? "{}"
                        : json_compact(work->arena, contract_merge_fallbacks(work, check->payload, check->fallbacks)));
    json_member_texts(json, "prunedKeys", check->pruned);
    json_object_end(json);
}

bool op_triggers_validate(struct op_context *ctx, const struct triggers_validate_args *args, struct reply *reply, struct error *err)
{
    struct trigger_contract found;
    struct contract_check check;
    struct address address;
    if (!trigger_contract(&ctx->work, trigger_id(ctx, args->trigger_event_id), &found, err))
        return false;
    if ((int)args->enforcement != 0)
        found.contract.enforcement = enforcement_of(args->enforcement);
    fire_payload_find(&ctx->work, &found.contract, args->payload, &check, &address);
    write_check(&ctx->work, &check, &reply->json);
    return true;
}

bool op_payload_contracts_infer(struct op_context *ctx, const struct payload_contracts_infer_args *args, struct reply *reply,
                                struct error *err)
{
    struct contract_draft draft;
    struct json_writer *json = &reply->json;
    if (!contract_infer(&ctx->work, args->example, &draft, err))
        return false;
    json_object_begin(json);
    json_key(json, "fields");
    contract_write_fields(&draft.contract, false, json);
    json_key(json, "issues");
    json_array_begin(json);
    for (size_t i = 0; i < draft.issue_count; i++) {
        json_object_begin(json);
        json_member_text(json, "path", draft.issues[i].path);
        json_member_text(json, "message", draft.issues[i].message);
        json_object_end(json);
    }
    json_array_end(json);
    json_object_end(json);
    return true;
}
