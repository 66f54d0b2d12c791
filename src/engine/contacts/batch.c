/*
 * Saving many contacts: check every row, learn the custom fields of all, fold
 * rows of one person into one, then one set-based statement.
 */
#include "engine/contacts/ready_contact.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* Rows that somebody else creates in the same moment are missed once; they are there for the next try. */
enum { SAVE_TRIES = 3 };

struct batch_work {
    const struct work *work;
    const struct contact_change *changes;
    struct ready_contact *ready; /* rows that are good so far, in the order of the request */
    size_t ready_count;
    struct contact_refusal *refusals;
    size_t refusal_count;
    struct field_book book;
};

/* ---- Checking ---- */

static void refuse_row(struct batch_work *batch, size_t index, const struct error *error)
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
        struct ready_contact *ready = &batch->ready[batch->ready_count];
        if (contact_make_ready(batch->work, &batch->changes[i], &batch->book, ready, &error)) {
            ready->index = i;
            batch->ready_count++;
        } else {
            refuse_row(batch, i, &error);
        }
    }
}

static bool learn_fields(struct batch_work *batch, struct error *err)
{
    struct db_batch *asked = db_batch_new(batch->work->conn, batch->work->arena);
    size_t fields_at = field_book_ask(&batch->book, batch->work, asked);
    if (!db_batch_run(asked, err))
        return false;
    (void)field_book_learn(&batch->book, asked, fields_at);
    return true;
}

static void drop_misfits(struct batch_work *batch)
{
    size_t kept = 0;
    for (size_t i = 0; i < batch->ready_count; i++) {
        struct error error = { .code = ERR_NONE };
        if (field_book_fit(&batch->book, &batch->ready[i].custom, &error))
            batch->ready[kept++] = batch->ready[i];
        else
            refuse_row(batch, batch->ready[i].index, &error);
    }
    batch->ready_count = kept;
}

static int by_index(const void *left, const void *right)
{
    const struct contact_refusal *a = left;
    const struct contact_refusal *b = right;
    return (a->index > b->index) - (a->index < b->index);
}

/* ---- Folding ---- */

static int by_key_then_index(const void *left, const void *right)
{
    const struct ready_contact *a = *(const struct ready_contact *const *)left;
    const struct ready_contact *b = *(const struct ready_contact *const *)right;
    int order = strcmp(a->address.key, b->address.key);
    return order != 0 ? order : (a->index > b->index) - (a->index < b->index);
}

/* One entry a person, in the order of their keys. */
static struct ready_contact **fold_rows(struct batch_work *batch, size_t *ret_count)
{
    struct arena *arena = batch->work->arena;
    struct ready_contact **sorted = arena_array(arena, batch->ready_count, sizeof(*sorted));
    for (size_t i = 0; i < batch->ready_count; i++)
        sorted[i] = &batch->ready[i];
    qsort(sorted, batch->ready_count, sizeof(*sorted), by_key_then_index);
    size_t count = 0;
    for (size_t i = 0; i < batch->ready_count; i++) {
        if (count > 0 && strcmp(sorted[count - 1]->address.key, sorted[i]->address.key) == 0)
            contact_merge_ready(arena, sorted[count - 1], sorted[i]);
        else
            sorted[count++] = sorted[i];
    }
    *ret_count = count;
    return sorted;
}

/* ---- Saving ---- */

struct columns {
    const char **emails, **email_keys, **address_hashes, **first_names, **last_names, **user_ids, **sources, **subscribed, **groups,
        **custom_fields, **consents;
    bool *sets_first_name, *sets_last_name, *sets_user_id;
};

static struct columns columns_new(struct arena *arena, size_t count)
{
    struct columns columns;
    const char ***const texts[] = {
        &columns.emails,     &columns.email_keys,    &columns.address_hashes, &columns.first_names,
        &columns.last_names, &columns.user_ids,      &columns.sources,        &columns.subscribed,
        &columns.groups,     &columns.custom_fields, &columns.consents,
    };
    bool **const flags[] = { &columns.sets_first_name, &columns.sets_last_name, &columns.sets_user_id };
    for (size_t i = 0; i < ARRAY_COUNT(texts); i++)
        *texts[i] = arena_array(arena, count, sizeof(**texts[i]));
    for (size_t i = 0; i < ARRAY_COUNT(flags); i++)
        *flags[i] = arena_array(arena, count, sizeof(**flags[i]));
    return columns;
}

static void fill_row(const struct batch_work *batch, struct columns *columns, size_t at, const struct ready_contact *ready)
{
    struct arena *arena = batch->work->arena;
    char *hash = arena_alloc(arena, 2 * SECRET_HASH_BYTES + 1);
    hex_encode(ready->address_hash, SECRET_HASH_BYTES, hash);
    columns->emails[at] = ready->address.mailbox;
    columns->email_keys[at] = ready->address.key;
    columns->address_hashes[at] = hash;
    columns->sets_first_name[at] = ready->first_name.set;
    columns->first_names[at] = ready->first_name.value;
    columns->sets_last_name[at] = ready->last_name.set;
    columns->last_names[at] = ready->last_name.value;
    columns->sets_user_id[at] = ready->user_id.set;
    columns->user_ids[at] = ready->user_id.value;
    columns->sources[at] = ready->source;
    if (ready->subscribed.set)
        columns->subscribed[at] = ready->subscribed.value ? "true" : "false";
    columns->groups[at] = contact_groups_json(arena, ready);
    columns->custom_fields[at] = field_book_json(&batch->book, &ready->custom);
    columns->consents[at] = ready->consent;
}

static struct contacts_save_params save_params(const struct batch_work *batch, struct ready_contact *const *contacts, size_t count)
{
    struct columns columns = columns_new(batch->work->arena, count);
    for (size_t i = 0; i < count; i++)
        fill_row(batch, &columns, i, contacts[i]);
    return (struct contacts_save_params){
        .brand_id = batch->work->brand_id,
        .emails = { columns.emails, count },
        .email_keys = { columns.email_keys, count },
        .address_hashes = { columns.address_hashes, count },
        .sets_first_name = { columns.sets_first_name, count },
        .first_names = { columns.first_names, count },
        .sets_last_name = { columns.sets_last_name, count },
        .last_names = { columns.last_names, count },
        .sets_user_id = { columns.sets_user_id, count },
        .user_ids = { columns.user_ids, count },
        .sources = { columns.sources, count },
        .subscribed = { columns.subscribed, count },
        .subscription_groups = { columns.groups, count },
        .custom_fields = { columns.custom_fields, count },
        .consents = { columns.consents, count },
        .max_ids = CONTACTS_BATCH_IDS,
        .now = batch->work->now_us,
    };
}

static bool save_rows(struct batch_work *batch, struct contact_batch *result, struct error *err)
{
    size_t count;
    struct ready_contact **contacts = fold_rows(batch, &count);
    struct contacts_save_params params = save_params(batch, contacts, count);
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
    return fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "These contacts are being changed by others. Try again.");
}

bool contact_save_batch(const struct work *work, const struct contact_change *changes, size_t count,
                        struct contact_batch *ret_batch, struct error *err)
{
    struct batch_work batch = {
        .work = work,
        .changes = changes,
        .ready = arena_array(work->arena, count, sizeof(struct ready_contact)),
        .refusals = arena_array(work->arena, count, sizeof(struct contact_refusal)),
        .book = field_book_new(work->arena),
    };
    check_rows(&batch, count);
    if (!learn_fields(&batch, err))
        return false;
    drop_misfits(&batch);
    qsort(batch.refusals, batch.refusal_count, sizeof(struct contact_refusal), by_index);

    struct contact_batch result = { .refusals = batch.refusals, .refusal_count = batch.refusal_count };
    if (batch.ready_count > 0 && !save_rows(&batch, &result, err))
        return false;
    result.updated = (int64_t)batch.ready_count - result.inserted;
    result.book = batch.book;
    *ret_batch = result;
    return true;
}
