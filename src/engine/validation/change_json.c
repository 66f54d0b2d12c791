#include "engine/validation/change_json.h"

#include "base/json_read.h"

/* ---- Writing: members that are not set are omitted, members to clear are null ---- */

static void set_text(json_t *object, const char *name, const char *text)
{
    if (text != NULL)
        json_object_set_new(object, name, json_string(text));
}

static void set_optional_text(json_t *object, const char *name, struct opt_text text)
{
    if (text.set)
        json_object_set_new(object, name, text.value != NULL ? json_string(text.value) : json_null());
}

static void set_object(json_t *object, const char *name, const json_t *value)
{
    if (value != NULL)
        json_object_set(object, name, json_for_iteration(value));
}

static json_t *proof_json(const struct contact_proof *proof)
{
    json_t *object = json_object();
    set_text(object, "source", proof->source);
    set_text(object, "policyVersion", proof->policy_version);
    set_text(object, "evidence", proof->evidence);
    if (proof->captured_at.set)
        json_object_set_new(object, "capturedAt", json_integer(proof->captured_at.value));
    return object;
}

static json_t *fault_json(const struct error *fault)
{
    json_t *object = json_object();
    set_text(object, "code", error_info(fault->code)->name);
    set_text(object, "param", fault->param);
    set_text(object, "message", fault->message);
    return object;
}

static json_t *change_json(const struct contact_change *change)
{
    json_t *object = json_object();
    if (change->fault != NULL)
        json_object_set_new(object, "fault", fault_json(change->fault));
    set_text(object, "email", change->email);
    set_optional_text(object, "firstName", change->first_name);
    set_optional_text(object, "lastName", change->last_name);
    set_optional_text(object, "userId", change->user_id);
    set_text(object, "source", change->source);
    if (change->subscribed.set)
        json_object_set_new(object, "subscribed", json_boolean(change->subscribed.value));
    set_object(object, "subscriptionGroups", change->subscription_groups);
    set_object(object, "customFields", change->custom_fields);
    if (change->has_proof)
        json_object_set_new(object, "consent", proof_json(&change->proof));
    return object;
}

const json_t *contact_changes_json(struct arena *arena, const struct contact_change *changes, size_t count)
{
    json_t *array = json_in_arena(arena, json_array());
    for (size_t i = 0; i < count; i++)
        json_array_append_new(array, change_json(&changes[i]));
    return array;
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

static const struct error *read_fault(struct arena *arena, const json_t *object)
{
    if (object == NULL)
        return NULL;
    struct error *fault = arena_alloc(arena, sizeof(*fault));
    const char *message = json_get_text(object, "message");
    fail(fault, error_code_from_name(json_get_text(object, "code"), ERR_INVALID_REQUEST), json_get_text(object, "param"), "%s",
         message != NULL ? message : "");
    return fault;
}

static struct contact_change read_change(struct arena *arena, const json_t *object)
{
    const json_t *subscribed = json_object_get(object, "subscribed");
    const json_t *consent = json_object_get(object, "consent");
    struct contact_change change = {
        .fault = read_fault(arena, json_object_get(object, "fault")),
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
        changes[i] = read_change(arena, json_array_get(array, i));
    *ret_count = count;
    return changes;
}
