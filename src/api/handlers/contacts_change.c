#include "engine/contacts/contacts.h"

#include "api/handlers/contact_args.h"
#include "api/op_context.h"
#include "base/json_read.h"
#include "base/text.h"
#include "catalogue/operations.h"

#include <string.h>

/* ---- PATCH: members at the top level or in `fields`, which also holds custom fields ---- */

/* The content of `fields`, as a change. */
struct patch {
    struct contact_change *change;
    json_t *custom_fields;
};

static bool refuse_field(const char *name, const char *wanted, struct error *err)
{
    fail(err, ERR_INVALID_REQUEST, NULL, "%s %s.", name, wanted);
    return error_set_param(err, "fields.%s", name);
}

/* The same bounds as those of the members at the top level. */
enum { NAME_MAX_CHARS = 200, SOURCE_MAX_CHARS = 100 };

static bool patch_take_text(const char *name, const json_t *value, struct opt_text *ret_text, struct error *err)
{
    *ret_text = (struct opt_text){ .set = true, .value = json_string_value(value) };
    return json_is_null(value) || (ret_text->value != NULL && utf8_length(ret_text->value) <= NAME_MAX_CHARS) ||
           refuse_field(name, "must be text of at most 200 characters, or null", err);
}

static bool patch_take_field(struct patch *patch, const char *name, json_t *value, struct error *err)
{
    struct contact_change *change = patch->change;
    if (strcmp(name, "email") == 0)
        return refuse_field(name, "is the key of the contact and cannot be changed", err);
    if (strcmp(name, "firstName") == 0)
        return patch_take_text(name, value, &change->first_name, err);
    if (strcmp(name, "lastName") == 0)
        return patch_take_text(name, value, &change->last_name, err);
    if (strcmp(name, "userId") == 0)
        return patch_take_text(name, value, &change->user_id, err);
    if (strcmp(name, "source") == 0) {
        change->source = json_string_value(value);
        return (change->source != NULL && utf8_length(change->source) <= SOURCE_MAX_CHARS) ||
               refuse_field(name, "must be text of at most 100 characters", err);
    }
    if (strcmp(name, "subscribed") == 0) {
        change->subscribed = (struct opt_bool){ .set = true, .value = json_is_true(value) };
        return json_is_boolean(value) || refuse_field(name, "must be true or false", err);
    }
    if (strcmp(name, "subscriptionGroups") == 0) {
        change->subscription_groups = value;
        return json_is_object(value) || refuse_field(name, "must be an object of group ids with true or false", err);
    }
    json_object_set(patch->custom_fields, name, value);
    return true;
}

static bool is_given_at_top(const struct contacts_update_args *args, const char *name)
{
    const struct {
        const char *name;
        bool given;
    } members[] = {
        { "firstName", args->first_name.set },  { "lastName", args->last_name.set },
        { "userId", args->user_id.set },        { "source", args->source != NULL },
        { "subscribed", args->subscribed.set }, { "subscriptionGroups", args->subscription_groups != NULL },
    };
    for (size_t i = 0; i < ARRAY_COUNT(members); i++)
        if (strcmp(members[i].name, name) == 0)
            return members[i].given;
    return json_object_get(args->custom_fields, name) != NULL;
}

static bool patch_take_fields(struct patch *patch, const struct contacts_update_args *args, struct error *err)
{
    const char *name;
    json_t *value;
    json_object_foreach (json_for_iteration(args->fields), name, value) {
        if (is_given_at_top(args, name))
            return refuse_field(name, "is given twice: in fields and at the top level", err);
        if (!patch_take_field(patch, name, value, err))
            return false;
    }
    return true;
}

static struct contact_change change_of(const struct contacts_update_args *args, json_t *custom_fields)
{
    struct contact_change change = {
        .email = args->email,
        .first_name = args->first_name,
        .last_name = args->last_name,
        .user_id = args->user_id,
        .source = args->source,
        .subscribed = args->subscribed,
        .subscription_groups = args->subscription_groups,
        .custom_fields = custom_fields,
    };
    json_object_update(custom_fields, json_for_iteration(args->custom_fields));
    contact_args_consent(&change, args->consent);
    return change;
}

static bool change_is_empty(const struct contact_change *change)
{
    return !change->first_name.set && !change->last_name.set && !change->user_id.set && change->source == NULL &&
           !change->subscribed.set && change->subscription_groups == NULL && json_object_size(change->custom_fields) == 0 &&
           !change->has_proof;
}

/* Changes the param of an error to the place where the caller gave the value. */
static bool correct_param(const struct contacts_update_args *args, struct error *err)
{
    static const char custom[] = "customFields.";
    size_t size = strlen(custom);
    if (strncmp(err->param, custom, size) == 0 && json_object_get(args->custom_fields, err->param + size) == NULL) {
        char name[ERROR_PARAM_MAX_BYTES];
        snprintf(name, sizeof(name), "%s", err->param + size);
        error_set_param(err, "fields.%s", name);
    }
    return false;
}

bool op_contacts_update(struct op_context *ctx, const struct contacts_update_args *args, struct reply *reply, struct error *err)
{
    json_t *custom_fields = json_in_arena(ctx->work.arena, json_object());
    struct contact_change change = change_of(args, custom_fields);
    struct patch patch = { .change = &change, .custom_fields = custom_fields };
    struct contact_saved saved;
    if (!patch_take_fields(&patch, args, err))
        return false;
    if (change_is_empty(&change))
        return fail(err, ERR_INVALID_REQUEST, "fields", "Give at least one field to change.");
    if (!contact_update(&ctx->work, &change, &saved, err))
        return correct_param(args, err);
    op_context_subject(ctx, work_id(&ctx->work, ID_CONTACT, saved.contact->id));
    contact_write_saved(&ctx->work, &saved, &reply->json);
    return true;
}

/* ---- Deleting ---- */

static bool remove_listed(struct op_context *ctx, struct text_list emails, struct contact_removal *ret_removal, struct error *err)
{
    if (!contact_remove(&ctx->work, emails, ret_removal, err))
        return false;
    for (size_t i = 0; i < ret_removal->ids.count && i < CONTACTS_BATCH_IDS; i++)
        op_context_subject(ctx, work_id(&ctx->work, ID_CONTACT, ret_removal->ids.items[i]));
    return true;
}

bool op_contacts_delete(struct op_context *ctx, const struct contacts_delete_args *args, struct reply *reply, struct error *err)
{
    struct contact_removal removal;
    if (!remove_listed(ctx, (struct text_list){ &args->email, 1 }, &removal, err))
        return false;
    struct json_writer *json = &reply->json;
    json_object_begin(json);
    json_member_text(json, "email", args->email);
    if (removal.ids.count > 0)
        json_member_id(json, &ctx->work, "id", ID_CONTACT, removal.ids.items[0]);
    json_member_bool(json, "deleted", removal.ids.count > 0);
    json_object_end(json);
    return true;
}

/* The rows without a text, as the errors of contactBatch; nothing when there are none. */
static void write_faulty_rows(struct text_list emails, struct json_writer *json)
{
    bool is_open = false;
    for (size_t i = 0; i < emails.count; i++) {
        if (emails.items[i] != NULL)
            continue;
        if (!is_open) {
            json_key(json, "errors");
            json_array_begin(json);
        }
        is_open = true;
        json_object_begin(json);
        json_member_int(json, "index", (int64_t)i);
        json_member_text(json, "email", NULL);
        json_member_text(json, "code", error_info(ERR_INVALID_EMAIL)->name);
        json_member_text(json, "message", "A row must be an address: a text of 1 to 320 characters.");
        json_object_end(json);
    }
    if (is_open)
        json_array_end(json);
}

bool op_contacts_delete_batch(struct op_context *ctx, const struct contacts_delete_batch_args *args, struct reply *reply,
                              struct error *err)
{
    struct contact_removal removal;
    if (!remove_listed(ctx, args->emails, &removal, err))
        return false;
    struct json_writer *json = &reply->json;
    json_object_begin(json);
    json_member_int(json, "deletedCount", (int64_t)removal.ids.count);
    json_member_texts(json, "notFound", removal.not_found);
    write_faulty_rows(args->emails, json);
    json_object_end(json);
    return true;
}
