#include "engine/contacts/contacts.h"

void contact_write_members(const struct work *work, const struct contact_row *contact, struct json_writer *json)
{
    json_member_id(json, work, "id", ID_CONTACT, contact->id);
    json_member_text(json, "email", contact->email);
    json_member_text(json, "firstName", contact->first_name);
    json_member_text(json, "lastName", contact->last_name);
    json_member_text(json, "userId", contact->user_id);
    json_member_text(json, "source", contact->source);
    json_member_bool(json, "subscribed", contact->subscribed);
    json_member_raw(json, "subscriptionGroups", contact->subscription_groups);
    json_member_raw(json, "customFields", contact->custom_fields);
    if (contact->consent != NULL)
        json_member_raw(json, "consent", contact->consent);
    json_member_time(json, "createdAt", contact->created_at);
    json_member_time(json, "updatedAt", contact->updated_at);
}

static void open_warnings(const struct field_registry *registry, struct json_writer *json)
{
    json_key(json, "warnings");
    json_array_begin(json);
    field_registry_write_warnings(registry, json);
}

void contact_write_saved(const struct work *work, const struct contact_saved *saved, struct json_writer *json)
{
    json_object_begin(json);
    contact_write_members(work, saved->contact, json);
    if (json_object_size(saved->registry.renamed) > 0) {
        open_warnings(&saved->registry, json);
        json_array_end(json);
    }
    json_object_end(json);
}

static void write_refusal(const struct contact_refusal *refusal, struct json_writer *json)
{
    json_object_begin(json);
    json_member_text(json, "email", refusal->email);
    json_member_int(json, "index", (int64_t)refusal->index);
    json_member_text(json, "code", error_info(refusal->code)->name);
    if (refusal->field[0] != '\0')
        json_member_text(json, "field", refusal->field);
    json_member_text(json, "message", refusal->message);
    json_object_end(json);
}

void contact_open_batch(const struct contact_batch *batch, struct json_writer *json)
{
    json_object_begin(json);
    json_key(json, "summary");
    json_object_begin(json);
    json_member_int(json, "inserted", batch->inserted);
    json_member_int(json, "updated", batch->updated);
    json_member_int(json, "failed", (int64_t)batch->refusal_count);
    json_object_end(json);
    json_member_texts(json, "fieldsCreated", batch->registry.created);
    json_key(json, "errors");
    json_array_begin(json);
    for (size_t i = 0; i < batch->refusal_count; i++)
        write_refusal(&batch->refusals[i], json);
    json_array_end(json);
    open_warnings(&batch->registry, json);
}

void contact_write_batch(const struct contact_batch *batch, struct json_writer *json)
{
    contact_open_batch(batch, json);
    json_array_end(json);
    json_object_end(json);
}
