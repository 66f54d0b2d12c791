#include "engine/validation/change_json.h"

#include "base/json_read.h"

/* ---- Writing: members that are not set are omitted, members to clear are null ---- */

static void write_text(struct json_writer *json, const char *name, struct opt_text text)
{
    if (text.set)
        json_member_text(json, name, text.value);
}

static void write_object(struct arena *arena, struct json_writer *json, const char *name, const json_t *object)
{
    if (object != NULL)
        json_member_raw(json, name, json_compact(arena, object));
}

static void write_proof(const struct contact_proof *proof, struct json_writer *json)
{
    json_key(json, "consent");
    json_object_begin(json);
    json_member_text_if(json, "source", proof->source);
    json_member_text_if(json, "policyVersion", proof->policy_version);
    json_member_text_if(json, "evidence", proof->evidence);
    if (proof->captured_at.set)
        json_member_int(json, "capturedAt", proof->captured_at.value);
    json_object_end(json);
}

void contact_changes_write(const struct contact_change *changes, size_t count, struct json_writer *json)
{
    ARENA_SCOPE scratch = arena_new(0);
    json_array_begin(json);
    for (size_t i = 0; i < count; i++) {
        const struct contact_change *change = &changes[i];
        json_object_begin(json);
        json_member_text_if(json, "email", change->email);
        write_text(json, "firstName", change->first_name);
        write_text(json, "lastName", change->last_name);
        write_text(json, "userId", change->user_id);
        json_member_text_if(json, "source", change->source);
        if (change->subscribed.set)
            json_member_bool(json, "subscribed", change->subscribed.value);
        write_object(scratch, json, "subscriptionGroups", change->subscription_groups);
        write_object(scratch, json, "customFields", change->custom_fields);
        if (change->has_proof)
            write_proof(&change->proof, json);
        json_object_end(json);
    }
    json_array_end(json);
}

/* ---- Reading ---- */

static struct opt_text read_opt_text(const json_t *object, const char *name)
{
    const json_t *text = json_object_get(object, name);
    return (struct opt_text){ .set = text != NULL, .value = json_string_value(text) };
}

static struct contact_proof read_proof(const json_t *object)
{
    const json_t *captured_at = json_object_get(object, "capturedAt");
    return (struct contact_proof){
        .source = json_get_text(object, "source"),
        .captured_at = { .set = captured_at != NULL, .value = json_integer_value(captured_at) },
        .policy_version = json_get_text(object, "policyVersion"),
        .evidence = json_get_text(object, "evidence"),
    };
}

static struct contact_change read_change(const json_t *object)
{
    const json_t *subscribed = json_object_get(object, "subscribed");
    const json_t *consent = json_object_get(object, "consent");
    struct contact_change change = {
        .email = json_get_text(object, "email"),
        .first_name = read_opt_text(object, "firstName"),
        .last_name = read_opt_text(object, "lastName"),
        .user_id = read_opt_text(object, "userId"),
        .source = json_get_text(object, "source"),
        .subscribed = { .set = subscribed != NULL, .value = json_is_true(subscribed) },
        .subscription_groups = json_object_get(object, "subscriptionGroups"),
        .custom_fields = json_object_get(object, "customFields"),
        .has_proof = consent != NULL,
    };
    if (consent != NULL)
        change.proof = read_proof(consent);
    return change;
}

struct contact_change *contact_changes_read(struct arena *arena, const json_t *array, size_t *ret_count)
{
    size_t count = json_array_size(array);
    struct contact_change *changes = arena_array(arena, count, sizeof(*changes));
    for (size_t i = 0; i < count; i++)
        changes[i] = read_change(json_array_get(array, i));
    *ret_count = count;
    return changes;
}
