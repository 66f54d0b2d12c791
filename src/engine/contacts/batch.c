/*
 * Batch save (bulk upsert) of contacts: check every row, load the types of all
 * custom fields, merge rows with the same address, then run one set-based
 * statement.
 */
#include "engine/contacts/contact_columns.h"

#include <stdlib.h>
#include <string.h>

/* A row that another transaction creates concurrently is missed once. The next try finds it. */
enum { SAVE_TRIES = 3 };

struct batch_work {
    const struct work *work;
    const struct contact_change *changes;
    struct normalized_contact *ready; /* rows without an error so far, in the order of the request */
    size_t ready_count;
    struct contact_refusal *refusals;
    size_t refusal_count;
    struct field_registry registry;
    struct db_batch *queries;
    size_t groups_at; /* index in `queries` */
};

/* ---- Checking ---- */

static void reject_row(struct batch_work *batch, size_t index, const struct error *error)
{
    bool is_address = error->code == ERR_INVALID_REQUEST && strcmp(error->param, "email") == 0;
    batch->refusals[batch->refusal_count++] = (struct contact_refusal){
        .index = index,
        .email = batch->changes[index].email,
        .code = is_address ? ERR_INVALID_EMAIL : error->code,
        .field = arena_dup(batch->work->arena, error->param),
        .message = arena_dup(batch->work->arena, error->message),
    };
}

static void check_rows(struct batch_work *batch, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct error error = { .code = ERR_NONE };
        struct normalized_contact *ready = &batch->ready[batch->ready_count];
        if (batch->changes[i].fault != NULL) {
            reject_row(batch, i, batch->changes[i].fault);
        } else if (contact_normalize(batch->work, &batch->changes[i], &batch->registry, ready, &error)) {
            ready->index = i;
            batch->ready_count++;
        } else {
            reject_row(batch, i, &error);
        }
    }
}

/* Loads the types of the custom fields, and finds the contacts with too many subscription groups. */
static bool load_stored(struct batch_work *batch, struct error *err)
{
    const struct normalized_contact **rows = arena_array(batch->work->arena, batch->ready_count, sizeof(*rows));
    for (size_t i = 0; i < batch->ready_count; i++)
        rows[i] = &batch->ready[i];
    batch->queries = db_batch_new(batch->work->conn, batch->work->arena);
    size_t fields_at = field_registry_query(&batch->registry, batch->work, batch->queries);
    batch->groups_at = contact_groups_ask(batch->work, rows, batch->ready_count, batch->queries);
    if (!db_batch_run(batch->queries, err))
        return false;
    (void)field_registry_load(&batch->registry, batch->queries, fields_at);
    return true;
}

static void reject_by_stored(struct batch_work *batch)
{
    size_t kept = 0;
    for (size_t i = 0; i < batch->ready_count; i++) {
        struct error error = { .code = ERR_NONE };
        if (field_registry_check(&batch->registry, &batch->ready[i].custom, &error) &&
            contact_groups_check(&batch->ready[i], batch->queries, batch->groups_at, &error))
            batch->ready[kept++] = batch->ready[i];
        else
            reject_row(batch, batch->ready[i].index, &error);
    }
    batch->ready_count = kept;
}

static int by_index(const void *left, const void *right)
{
    const struct contact_refusal *a = left;
    const struct contact_refusal *b = right;
    return (a->index > b->index) - (a->index < b->index);
}

/* ---- Merging ---- */

static int by_key_then_index(const void *left, const void *right)
{
    const struct normalized_contact *a = *(const struct normalized_contact *const *)left;
    const struct normalized_contact *b = *(const struct normalized_contact *const *)right;
    int order = strcmp(a->address.key, b->address.key);
    return order != 0 ? order : (a->index > b->index) - (a->index < b->index);
}

/* The number of rows from the beginning of a sorted list that have the address of the first one. */
static size_t count_same_key(const struct normalized_contact *const *sorted, size_t count)
{
    size_t same = 1;
    while (same < count && strcmp(sorted[same]->address.key, sorted[0]->address.key) == 0)
        same++;
    return same;
}

/* Merges rows with the same address. Returns one entry per address, in the order of the keys. */
static struct normalized_contact **merge_batch_rows(struct batch_work *batch, size_t *ret_count)
{
    struct arena *arena = batch->work->arena;
    const struct normalized_contact **sorted = arena_array(arena, batch->ready_count, sizeof(*sorted));
    struct normalized_contact **merged = arena_array(arena, batch->ready_count, sizeof(*merged));
    for (size_t i = 0; i < batch->ready_count; i++)
        sorted[i] = &batch->ready[i];
    qsort(sorted, batch->ready_count, sizeof(*sorted), by_key_then_index);
    size_t count = 0;
    for (size_t i = 0, same; i < batch->ready_count; i += same) {
        same = count_same_key(&sorted[i], batch->ready_count - i);
        merged[count++] = contact_merge_normalized(arena, &sorted[i], same);
    }
    *ret_count = count;
    return merged;
}

/* ---- Saving ---- */

static struct contacts_save_params batch_save_params(const struct batch_work *batch, struct normalized_contact *const *contacts,
                                                     size_t count)
{
    struct contact_columns columns = contact_columns_new(batch->work->arena, count);
    for (size_t i = 0; i < count; i++)
        contact_columns_put(batch->work->arena, &columns, i, contacts[i], &batch->registry);
    return (struct contacts_save_params){
        .brand_id = batch->work->brand_id,
        CONTACT_COLUMN_PARAMS(columns),
        .max_ids = CONTACTS_BATCH_IDS,
        .now = batch->work->now_us,
    };
}

static bool save_rows(struct batch_work *batch, struct contact_batch *result, struct error *err)
{
    size_t count;
    struct normalized_contact **contacts = merge_batch_rows(batch, &count);
    struct contacts_save_params params = batch_save_params(batch, contacts, count);
    for (int attempt = 1; attempt <= SAVE_TRIES; attempt++) {
        struct db_batch *saving = db_batch_new(batch->work->conn, batch->work->arena);
        size_t saved_at = db_batch_add(saving, &contacts_save_statement, &params);
        if (attempt == 1)
            contact_note_unsubscribes(batch->work, contacts, count, saving);
        if (!db_batch_run(saving, err))
            return false;
        const struct contacts_save_row *saved = db_batch_rows(saving, saved_at)->rows;
        result->inserted += saved->inserted;
        result->ids = saved->ids;
        if (saved->missed == 0)
            return true;
    }
    return fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "Other requests are changing these contacts. Try again.");
}

bool contact_save_batch(const struct work *work, const struct contact_change *changes, size_t count,
                        struct contact_batch *ret_batch, struct error *err)
{
    struct batch_work batch = {
        .work = work,
        .changes = changes,
        .ready = arena_array(work->arena, count, sizeof(struct normalized_contact)),
        .refusals = arena_array(work->arena, count, sizeof(struct contact_refusal)),
        .registry = field_registry_new(work->arena),
    };
    check_rows(&batch, count);
    if (!load_stored(&batch, err))
        return false;
    reject_by_stored(&batch);
    qsort(batch.refusals, batch.refusal_count, sizeof(struct contact_refusal), by_index);

    struct contact_batch result = { .refusals = batch.refusals, .refusal_count = batch.refusal_count };
    if (batch.ready_count > 0 && !save_rows(&batch, &result, err))
        return false;
    result.updated = (int64_t)batch.ready_count - result.inserted;
    result.registry = batch.registry;
    *ret_batch = result;
    return true;
}
