/*
 * Updates one existing contact. As in save.c, one round trip writes the row and
 * assumes that every custom field has the type of its value. If a field has
 * another type, the row is written again with a converted value, or refused;
 * after a refusal the transaction is rolled back.
 */
#include "engine/contacts/normalized_contact.h"

static struct contact_update_params update_params(const struct work *work, const struct normalized_contact *ready,
                                                  const struct field_registry *registry)
{
    return (struct contact_update_params){
        .brand_id = work->brand_id,
        .email_key = ready->address.key,
        .sets_first_name = ready->first_name.set,
        .first_name = ready->first_name.value,
        .sets_last_name = ready->last_name.set,
        .last_name = ready->last_name.value,
        .sets_user_id = ready->user_id.set,
        .user_id = ready->user_id.value,
        .source = ready->source,
        .subscribed = ready->subscribed,
        .subscription_groups = contact_groups_json(work->arena, ready),
        .custom_fields = field_registry_json(registry, &ready->custom),
        .consent = ready->consent,
        .now = work->now_us,
    };
}

static bool update_again(const struct work *work, const struct normalized_contact *ready, const struct field_registry *registry,
                         struct contact_saved *saved, struct error *err)
{
    if (!field_registry_check(registry, &ready->custom, err))
        return false;
    struct contact_update_params params = update_params(work, ready, registry);
    struct contact_row *row;
    if (!sql_contact_update(work->conn, work->arena, &params, &row, err))
        return false;
    saved->contact = row;
    return true;
}

bool contact_update(const struct work *work, const struct contact_change *change, struct contact_saved *ret_saved,
                    struct error *err)
{
    struct field_registry registry = field_registry_new(work->arena);
    struct normalized_contact ready;
    if (!contact_normalize(work, change, &registry, &ready, err)) {
        if (err->code == ERR_MISSING_EMAIL)
            err->code = ERR_INVALID_REQUEST;
        return false;
    }
    struct normalized_contact *const alone[] = { &ready };
    struct contact_update_params params = update_params(work, &ready, &registry);
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    size_t fields_at = field_registry_query(&registry, work, batch);
    size_t groups_at = contact_groups_ask(work, (const struct normalized_contact *const *)alone, ARRAY_COUNT(alone), batch);
    size_t updated_at = db_batch_add(batch, &contact_update_statement, &params);
    contact_note_unsubscribes(work, alone, ARRAY_COUNT(alone), batch);
    if (!db_batch_run(batch, err))
        return false;

    if (!contact_groups_check(&ready, batch, groups_at, err))
        return false;
    struct contact_saved saved = { .contact = db_batch_rows(batch, updated_at)->rows };
    if (saved.contact == NULL)
        return fail(err, ERR_CONTACT_NOT_FOUND, "email", "No contact has this address.");
    if (field_registry_load(&registry, batch, fields_at) && !update_again(work, &ready, &registry, &saved, err))
        return false;
    saved.registry = registry;
    *ret_saved = saved;
    return true;
}
