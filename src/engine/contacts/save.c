/*
 * Saves one contact (upsert), or several independent ones. One round trip
 * carries the definitions of custom fields and the rows. It assumes that every
 * custom field has the type of its value. If a field has another type, the row
 * is written again with a converted value, or refused; after a refusal the
 * transaction is rolled back.
 */
#include "engine/contacts/contact_columns.h"

#include <string.h>

struct contact_saving {
    struct normalized_contact ready;
    struct field_registry read;     /* custom fields of the change, with the types of its values */
    struct field_registry registry; /* the same, with the types read in the transaction */
    size_t fields_at;               /* index in the batch, as saved_at */
    size_t saved_at;
    size_t groups_at;
};

bool contact_save_check(const struct work *work, const struct contact_change *change, struct contact_saving **ret_saving,
                        struct error *err)
{
    struct contact_saving *saving = arena_alloc(work->arena, sizeof(*saving));
    saving->read = field_registry_new(work->arena);
    if (!contact_normalize(work, change, &saving->read, &saving->ready, err)) {
        /* Only the rows of a batch have a code of their own for this (D-85). */
        if (err->code == ERR_MISSING_EMAIL)
            err->code = ERR_INVALID_REQUEST;
        return false;
    }
    *ret_saving = saving;
    return true;
}

const char *contact_saving_key(const struct contact_saving *saving)
{
    return saving->ready.address.key;
}

/* ---- Building the batch ---- */

static struct contact_save_params single_save_params(const struct work *work, struct contact_saving *const *savings, size_t count)
{
    struct contact_columns columns = contact_columns_new(work->arena, count);
    for (size_t i = 0; i < count; i++)
        contact_columns_put(work->arena, &columns, i, &savings[i]->ready, &savings[i]->registry);
    return (struct contact_save_params){
        .brand_id = work->brand_id,
        CONTACT_COLUMN_PARAMS(columns),
        .now = work->now_us,
    };
}

/* Queries the fields of all changes at once. A field that several changes define gets the type of the first. */
static size_t query_fields(const struct work *work, struct contact_saving *const *savings, size_t count, struct db_batch *batch)
{
    struct field_registry all = field_registry_new(work->arena);
    for (size_t i = 0; i < count; i++)
        json_object_update_missing(all.types, savings[i]->read.types);
    return field_registry_query(&all, work, batch);
}

void contact_save_ask(const struct work *work, struct contact_saving *const *savings, size_t count, struct db_batch *batch)
{
    struct normalized_contact **contacts = arena_array(work->arena, count, sizeof(struct normalized_contact *));
    for (size_t i = 0; i < count; i++) {
        savings[i]->registry = savings[i]->read;
        contacts[i] = &savings[i]->ready;
    }
    struct contact_save_params params = single_save_params(work, savings, count);
    size_t fields_at = query_fields(work, savings, count, batch);
    size_t groups_at = contact_groups_ask(work, (const struct normalized_contact *const *)contacts, count, batch);
    size_t saved_at = db_batch_add(batch, &contact_save_statement, &params);
    contact_note_unsubscribes(work, contacts, count, batch);
    for (size_t i = 0; i < count; i++) {
        savings[i]->fields_at = fields_at;
        savings[i]->saved_at = saved_at;
        savings[i]->groups_at = groups_at;
    }
}

/* ---- Taking results ---- */

/* Finds the row by the address as given. Different contacts have different addresses. */
static const struct contact_row *find_saved_row(const struct contact_saving *saving, const struct db_rows *rows)
{
    const struct contact_row *row = rows->rows;
    for (size_t i = 0; i < rows->count; i++)
        if (strcmp(row[i].email, saving->ready.address.mailbox) == 0)
            return &row[i];
    return NULL;
}

static bool save_again(const struct work *work, struct contact_saving *saving, const struct contact_row **ret_row,
                       struct error *err)
{
    if (!field_registry_check(&saving->registry, &saving->ready.custom, err))
        return false;
    struct contact_save_params params = single_save_params(work, &saving, 1);
    struct db_rows rows;
    if (!db_run(work->conn, work->arena, &contact_save_statement, &params, &rows, err))
        return false;
    *ret_row = find_saved_row(saving, &rows);
    return true;
}

bool contact_save_take(const struct work *work, struct contact_saving *saving, const struct db_batch *batch,
                       struct contact_saved *ret_saved, struct error *err)
{
    const struct contact_row *row = find_saved_row(saving, db_batch_rows(batch, saving->saved_at));
    bool inserted = row != NULL && row->inserted;
    if (!contact_groups_check(&saving->ready, batch, saving->groups_at, err))
        return false;
    if (field_registry_load(&saving->registry, batch, saving->fields_at) && !save_again(work, saving, &row, err))
        return false;
    if (row == NULL)
        return fail(err, ERR_INTERNAL_ERROR, NULL, "The contact was not saved.");
    *ret_saved = (struct contact_saved){ .contact = row, .inserted = inserted, .registry = saving->registry };
    return true;
}

bool contact_save(const struct work *work, const struct contact_change *change, struct contact_saved *ret_saved, struct error *err)
{
    struct contact_saving *saving;
    if (!contact_save_check(work, change, &saving, err))
        return false;
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    contact_save_ask(work, &saving, 1, batch);
    return db_batch_run(batch, err) && contact_save_take(work, saving, batch, ret_saved, err);
}
