/* The wire shapes of triggers and of their contracts. */
#include "engine/triggers/triggers.h"

#include "base/text.h"

const char *trigger_fire_url(const struct work *work, int64_t id)
{
    const char *base = work->engine->public_url;
    return arena_printf(work->arena, "%s/v1/automations/triggers/%s/fire", base == NULL ? "" : base, work_id(work, ID_TRIGGER, id));
}

void trigger_write_schema(const char *fields, struct json_writer *json)
{
    json_key(json, "payloadSchema");
    json_object_begin(json);
    json_member_text(json, "type", "object");
    json_member_raw(json, "fields", fields);
    json_object_end(json);
}

void trigger_write(const struct work *work, const struct trigger_row *trigger, const char *skill, struct json_writer *json)
{
    json_object_begin(json);
    json_member_id(json, work, "triggerEventId", ID_TRIGGER, trigger->id);
    json_member_text(json, "title", trigger->title);
    json_member_text_if(json, "description", trigger->description);
    json_member_text(json, "provider", trigger->provider);
    trigger_write_schema(trigger->schema, json);
    json_member_time(json, "createdAt", trigger->created_at);
    json_member_time(json, "updatedAt", trigger->updated_at);
    json_member_text_if(json, "skill", skill);
    json_object_end(json);
}

void trigger_contract_write(const struct work *work, const struct trigger_contract *contract, struct json_writer *json)
{
    json_object_begin(json);
    json_member_text(json, "source", contract->is_stored ? "stored" : "derived_from_schema");
    if (contract->is_stored) {
        const struct bytes *hash = &contract->trigger->contract_hash;
        char *text = arena_alloc(work->arena, hash->size * 2 + 1);
        hex_encode(hash->data, hash->size, text);
        json_member_text(json, "contractHash", text);
        json_member_int(json, "version", contract->trigger->contract_version);
    }
    json_member_text(json, "enforcement", contract_enforcement_name(contract->contract.enforcement));
    json_key(json, "fields");
    contract_write_fields(&contract->contract, false, json);
    json_object_end(json);
}

const char *trigger_contract_export(const struct work *work, const struct trigger_contract *contract, enum contract_format format)
{
    struct contract_subject subject = {
        .title = contract->trigger->title,
        .description = contract->trigger->description,
        .fire_url = trigger_fire_url(work, contract->trigger->id),
    };
    return contract_export(work, format, &contract->contract, &subject);
}

void trigger_contract_write_code(const struct work *work, const struct trigger_contract *contract, enum contract_format format,
                                 struct json_writer *json)
{
    json_object_begin(json);
    json_member_text(json, "typeName", contract_payload_name(work, contract->trigger->title));
    json_member_text(json, "format", contract_format_name(format));
    json_member_text(json, "content", trigger_contract_export(work, contract, format));
    json_object_end(json);
}
