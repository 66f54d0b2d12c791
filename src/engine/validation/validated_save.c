#include "engine/validation/validated_save.h"

#include "engine/validation/address_warning.h"
#include "engine/validation/change_json.h"

#include <string.h>

/* ---- The job ---- */

struct new_job validated_save_job(struct arena *arena, const struct contact_change *changes, size_t count, bool is_single)
{
    struct save_validated_payload payload = { .single = is_single, .contacts = contact_changes_json(arena, changes, count) };
    return save_validated_job(arena, &payload);
}

static struct text_list change_addresses(struct arena *arena, const struct contact_change *changes, size_t count)
{
    const char **emails = arena_array(arena, count, sizeof(*emails));
    for (size_t i = 0; i < count; i++)
        emails[i] = changes[i].email != NULL ? changes[i].email : "";
    return (struct text_list){ emails, count };
}

void validated_save_read(struct arena *arena, const struct save_validated_payload *payload, struct validated_save *ret_save)
{
    size_t count;
    const struct contact_change *changes = contact_changes_read(arena, payload->contacts, &count);
    *ret_save = (struct validated_save){
        .is_single = payload->single,
        .changes = changes,
        .count = count,
    };
    address_list_read(arena, change_addresses(arena, changes, count), &ret_save->list);
}

/* ---- Small batches, by a job ---- */

static bool save_one(const struct work *work, const struct validated_save *save, struct validated_saved *saved,
                     struct json_writer *json, struct error *err)
{
    struct contact_saved contact;
    if (!contact_save(work, save->changes, &contact, err))
        return false;
    int64_t *id = arena_array(work->arena, 1, sizeof(*id));
    *id = contact.contact->id;
    *saved = (struct validated_saved){
        .inserted = contact.inserted,
        .ids = { id, 1 },
        .checked = address_list_checked(&save->list),
    };
    bool has_warnings = json_object_size(contact.registry.renamed) > 0 || address_warning_code(&save->list.items[0]) != NULL;
    json_object_begin(json);
    contact_write_members(work, contact.contact, json);
    if (has_warnings) {
        json_key(json, "warnings");
        json_array_begin(json);
        field_registry_write_warnings(&contact.registry, json);
        address_warning_write(work->arena, &save->list.items[0], json);
        json_array_end(json);
    }
    json_object_end(json);
    return true;
}

/* True for each row that was saved. */
static bool *rows_saved(struct arena *arena, const struct contact_batch *batch, size_t count)
{
    bool *saved = arena_array(arena, count, sizeof(*saved));
    memset(saved, true, count * sizeof(*saved));
    for (size_t i = 0; i < batch->refusal_count; i++)
        saved[batch->refusals[i].index] = false;
    return saved;
}

/* True for the first saved row of each address. Only this row gets a warning and is charged. */
static bool *first_rows(struct arena *arena, const struct address_list *list, const bool *saved)
{
    bool *seen = arena_array(arena, list->count, sizeof(*seen));
    bool *first = arena_array(arena, list->count, sizeof(*first));
    for (size_t i = 0; i < list->count; i++) {
        first[i] = saved[i] && !seen[list->items[i].first];
        seen[list->items[i].first] = seen[list->items[i].first] || saved[i];
    }
    return first;
}

static bool save_batch(const struct work *work, const struct validated_save *save, struct validated_saved *saved,
                       struct json_writer *json, struct error *err)
{
    struct contact_batch batch;
    if (!contact_save_batch(work, save->changes, save->count, &batch, err))
        return false;
    const struct address_list *list = &save->list;
    const bool *first = first_rows(work->arena, list, rows_saved(work->arena, &batch, save->count));
    *saved = (struct validated_saved){ .ids = batch.ids };
    contact_open_batch(&batch, json);
    for (size_t i = 0; i < list->count; i++) {
        if (!first[i])
            continue;
        saved->checked += address_was_checked(&list->items[i]);
        address_warning_write(work->arena, &list->items[i], json);
    }
    json_array_end(json);
    json_object_end(json);
    return true;
}

bool validated_save_settle(const struct work *work, const struct validated_save *save, struct validated_saved *ret_saved,
                           struct json_writer *json, struct error *err)
{
    bool done = save->is_single ? save_one(work, save, ret_saved, json, err) : save_batch(work, save, ret_saved, json, err);
    return done && validation_keep(work, &save->list, err);
}

/* ---- Large batches, in the background ---- */

/* The merge keys of the rows that were saved. */
static struct text_list keys_of(const struct work *work, const struct contact_change *changes, const bool *saved, size_t count)
{
    const char **keys = arena_array(work->arena, count, sizeof(*keys));
    size_t key_count = 0;
    struct address_list list;
    address_list_read(work->arena, change_addresses(work->arena, changes, count), &list);
    for (size_t i = 0; i < count; i++)
        if (saved[i] && list.items[i].is_well_formed)
            keys[key_count++] = list.items[i].address.key;
    return (struct text_list){ keys, key_count };
}

bool validated_save_many(const struct work *work, const struct contact_change *changes, size_t count, struct int_list *ret_ids,
                         struct json_writer *json, struct error *err)
{
    struct contact_batch batch;
    if (!contact_save_batch(work, changes, count, &batch, err))
        return false;
    struct text_list keys = keys_of(work, changes, rows_saved(work->arena, &batch, count), count);
    int64_t validation_id;
    int64_t job_id;
    if (!validation_open(work, &validation_id, err) || !validation_add(work, validation_id, keys, err) ||
        !validation_start(work, validation_id, 0, &job_id, err))
        return false;
    *ret_ids = batch.ids;
    contact_open_batch(&batch, json);
    json_array_end(json);
    if (job_id != 0)
        json_member_id(json, work, "validationJobId", ID_JOB, job_id);
    json_object_end(json);
    return true;
}
