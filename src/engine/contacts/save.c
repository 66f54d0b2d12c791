/*
 * Saving one contact, or several at once that know nothing of each other.
 * Everything travels together: the definitions of custom fields and the rows
 * themselves, written on the assumption that every field has the type its value
 * suggests. Where that proves wrong the row is written again, or refused, and
 * then nothing of the transaction is kept.
 */
#include "engine/contacts/contact_columns.h"

#include <string.h>

struct contact_saving {
    struct normalized_contact ready;
    struct field_registry read;     /* what the change itself says of custom fields */
    struct field_registry registry; /* and what is learned of them in the transaction */
    size_t fields_at;               /* in the batch */
    size_t saved_at;
};

bool contact_save_check(const struct work *work, const struct contact_change *change, struct contact_saving **ret_saving,
                        struct error *err)
{
    struct contact_saving *saving = arena_alloc(work->arena, sizeof(*saving));
    saving->read = field_registry_new(work->arena);
    if (!contact_normalize(work, change, &saving->read, &saving->ready, err)) {
        /* Codes of their own are for the rows of a batch (D-85). */
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

/* ---- Asking ---- */

static struct contact_save_params save_params(const struct work *work, struct contact_saving *const *savings, size_t count)
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

/* Asks for the fields of all at once; a field that several changes would define gets the type of the first. */
static size_t ask_fields(const struct work *work, struct contact_saving *const *savings, size_t count, struct db_batch *batch)
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
    struct contact_save_params params = save_params(work, savings, count);
    size_t fields_at = ask_fields(work, savings, count, batch);
    size_t saved_at = db_batch_add(batch, &contact_save_statement, &params);
    contact_note_unsubscribes(work, contacts, count, batch);
    for (size_t i = 0; i < count; i++) {
        savings[i]->fields_at = fields_at;
        savings[i]->saved_at = saved_at;
    }
}

/* ---- Taking ---- */

/* Of different contacts the addresses as given are different, too. */
static const struct contact_row *find_row(const struct contact_saving *saving, const struct db_rows *rows)
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
    struct contact_save_params params = save_params(work, &saving, 1);
    struct db_rows rows;
    if (!db_run(work->conn, work->arena, &contact_save_statement, &params, &rows, err))
        return false;
    *ret_row = find_row(saving, &rows);
    return true;
}

bool contact_save_take(const struct work *work, struct contact_saving *saving, const struct db_batch *batch,
                       struct contact_saved *ret_saved, struct error *err)
{
    const struct contact_row *row = find_row(saving, db_batch_rows(batch, saving->saved_at));
    bool inserted = row != NULL && row->inserted;
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
