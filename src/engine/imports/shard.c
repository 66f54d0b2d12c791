#include "engine/imports/shard.h"

#include "base/clock.h"
#include "base/json_read.h"
#include "base/text.h"
#include "db/advisory_locks.h"
#include "db/copy_row.h"
#include "engine/validation/validation.h"
#include "sql/contacts.h"
#include "sql/fields.h"
#include "sql/imports.h"
#include "sql/suppress.h"

#include <stdlib.h>
#include <string.h>

enum {
    APPLY_TRIES = 8,
    COPY_FLUSH_BYTES = 64 * 1024,
    COPY_MAX_BYTES = 16 * 1024 * 1024, /* COPY_FLUSH_BYTES and one more row */
    HASH_HEX_CHARS = 2 * SECRET_HASH_BYTES,
    COPIED_COLUMNS = 11,
};

static const char copy_contacts[] =
    "copy contacts (brand_id, email, email_key, first_name, last_name, user_id, source, subscribed, custom_fields, created_at, "
    "updated_at) from stdin (format binary)";
static const char default_source[] = "API";

/* The state of one attempt to save a part. */
struct attempt {
    const struct work *work;
    struct import_contact *contacts; /* one per person, in the order of their keys */
    size_t count;
    size_t *fresh; /* indices of new contacts */
    size_t fresh_count;
    size_t *known;
    size_t known_count;
    bool any_suppressed;
    bool any_stored;           /* suppressions, also those that have expired */
    bool *starts_unsubscribed; /* parallel to `fresh` */
    int64_t inserted;
    int64_t updated;
    int64_t unchanged;
};

/* ---- Merging the rows of one person ---- */

static int by_key(const void *left, const void *right)
{
    const struct import_contact *const *a = left;
    const struct import_contact *const *b = right;
    int order = strcmp((*a)->key, (*b)->key);
    /* The array has the order of the rows in the CSV text, so the pointers compare by row. */
    return order != 0 ? order : (*a > *b) - (*a < *b);
}

static bool replace_text(const char **text, const char *later)
{
    if (later == NULL)
        return false;
    bool differs = *text == NULL || strcmp(*text, later) != 0;
    *text = later;
    return differs;
}

/* Merges a later row into an earlier one. True when the later row changes anything. Its custom fields are only compared with those
 * of the row before it; join_custom joins the custom fields of all rows. */
static bool merge_row(struct import_contact *contact, const struct import_contact *later)
{
    bool differs = replace_text(&contact->email, later->email);
    differs |= replace_text(&contact->first_name, later->first_name);
    differs |= replace_text(&contact->last_name, later->last_name);
    differs |= replace_text(&contact->user_id, later->user_id);
    differs |= replace_text(&contact->source, later->source);
    if (later->subscribed.set) {
        differs |= !contact->subscribed.set || contact->subscribed.value != later->subscribed.value;
        contact->subscribed = later->subscribed;
    }
    if (later->custom[0] != '\0')
        differs |= replace_text(&contact->custom, later->custom);
    return differs;
}

/* Joins the custom fields of all rows of one person, in one allocation. */
static const char *join_custom(struct arena *arena, const struct import_contact *const *rows, size_t count)
{
    const char **parts = arena_array(arena, count, sizeof(*parts));
    size_t part_count = 0;
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) {
        const char *custom = rows[i]->custom;
        if (custom[0] == '\0' || (part_count > 0 && strcmp(parts[part_count - 1], custom) == 0))
            continue;
        parts[part_count++] = custom;
        bytes += strlen(custom) + 1;
    }
    if (part_count <= 1)
        return part_count == 1 ? parts[0] : "";
    char *joined = arena_alloc(arena, bytes);
    char *end = joined;
    for (size_t i = 0; i < part_count; i++) {
        size_t size = strlen(parts[i]);
        memcpy(end, parts[i], size);
        end[size] = ',';
        end += size + 1;
    }
    end[-1] = '\0';
    return joined;
}

static struct import_contact merge_person(struct attempt *attempt, const struct import_contact *const *rows, size_t count)
{
    struct import_contact merged = *rows[0];
    for (size_t i = 1; i < count; i++) {
        if (merge_row(&merged, rows[i]))
            attempt->updated++;
        else
            attempt->unchanged++;
    }
    if (count > 1)
        merged.custom = join_custom(attempt->work->arena, rows, count);
    return merged;
}

static size_t count_same_person(const struct import_contact *const *sorted, size_t count)
{
    size_t same = 1;
    while (same < count && strcmp(sorted[same]->key, sorted[0]->key) == 0)
        same++;
    return same;
}

static void merge_rows(struct attempt *attempt, const struct import_part *part)
{
    struct arena *arena = attempt->work->arena;
    const struct import_contact **sorted = arena_array(arena, part->count, sizeof(*sorted));
    struct import_contact *merged = arena_array(arena, part->count, sizeof(*merged));
    for (size_t i = 0; i < part->count; i++)
        sorted[i] = &part->contacts[i];
    qsort(sorted, part->count, sizeof(*sorted), by_key);
    size_t count = 0;
    for (size_t i = 0, same; i < part->count; i += same) {
        same = count_same_person(&sorted[i], part->count - i);
        merged[count++] = merge_person(attempt, &sorted[i], same);
    }
    attempt->contacts = merged;
    attempt->count = count;
}

/* ---- Existing contacts and suppressions ---- */

static const char *custom_without(struct arena *arena, const char *custom, const struct db_rows *gone)
{
    const struct contact_fields_gone_row *fields = gone->rows;
    json_t *members = json_in_arena(arena, json_loads(arena_printf(arena, "{%s}", custom), 0, NULL));
    for (size_t i = 0; i < gone->count; i++)
        json_object_del(members, fields[i].name);
    char *text = json_compact(arena, members);
    text[strlen(text) - 1] = '\0';
    return text + 1;
}

/* A field that is deleted during the import gets no more values. */
static void leave_out_fields(struct attempt *attempt, const struct db_rows *gone)
{
    for (size_t i = 0; i < attempt->count && gone->count > 0; i++) {
        struct import_contact *contact = &attempt->contacts[i];
        if (contact->custom[0] != '\0')
            contact->custom = custom_without(attempt->work->arena, contact->custom, gone);
    }
}

static bool load_known_contacts(struct attempt *attempt, const struct import_shard *shard, struct error *err)
{
    const struct work *work = attempt->work;
    const char **keys = arena_array(work->arena, attempt->count, sizeof(*keys));
    for (size_t i = 0; i < attempt->count; i++)
        keys[i] = attempt->contacts[i].key;
    struct import_shard_hold_params hold = {
        .brand_id = work->brand_id, .id = shard->import_id, .shard = shard->shard, .chunks = shard->chunks
    };
    struct import_known_keys_params known = { .brand_id = work->brand_id, .email_keys = { keys, attempt->count } };
    struct import_suppressions_any_params any = { .brand_id = work->brand_id, .now = work->now_us };
    struct contact_fields_share_params share = { .lock = ADVISORY_LOCK_FIELD_VALUES, .brand_id = work->brand_id };
    struct contact_fields_gone_params fields = { .brand_id = work->brand_id, .names = shard->fields };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    db_batch_add(batch, &import_planner_statement, NULL);
    db_batch_add(batch, &contact_fields_share_statement, &share);
    size_t gone_at = db_batch_add(batch, &contact_fields_gone_statement, &fields);
    size_t held_at = db_batch_add(batch, &import_shard_hold_statement, &hold);
    size_t known_at = db_batch_add(batch, &import_known_keys_statement, &known);
    size_t any_at = db_batch_add(batch, &import_suppressions_any_statement, &any);
    if (!db_batch_run(batch, err))
        return false;
    if (db_batch_rows(batch, held_at)->count == 0)
        return fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "Another worker has taken over this import.");
    leave_out_fields(attempt, db_batch_rows(batch, gone_at));

    const struct import_suppressions_any_row *suppressions = db_batch_rows(batch, any_at)->rows;
    attempt->any_suppressed = suppressions->any;
    attempt->any_stored = suppressions->any_stored;
    const struct db_rows *known_rows = db_batch_rows(batch, known_at);
    const struct import_known_keys_row *place = known_rows->rows;
    bool *is_known = arena_array(work->arena, attempt->count, sizeof(bool));
    for (size_t i = 0; i < known_rows->count; i++)
        is_known[place[i].place - 1] = true;
    attempt->known = arena_array(work->arena, known_rows->count, sizeof(size_t));
    attempt->fresh = arena_array(work->arena, attempt->count, sizeof(size_t));
    for (size_t i = 0; i < attempt->count; i++) {
        if (is_known[i])
            attempt->known[attempt->known_count++] = i;
        else
            attempt->fresh[attempt->fresh_count++] = i;
    }
    return true;
}

static char *hash_hex(const struct work *work, const struct import_contact *contact)
{
    unsigned char hash[SECRET_HASH_BYTES];
    char *hex = arena_alloc(work->arena, HASH_HEX_CHARS + 1);
    address_hash(work->engine->address_key, contact->key, hash);
    hex_encode(hash, sizeof(hash), hex);
    return hex;
}

/* New contacts whose address is suppressed start unsubscribed. */
static bool load_suppressed(struct attempt *attempt, struct error *err)
{
    const struct work *work = attempt->work;
    attempt->starts_unsubscribed = arena_array(work->arena, attempt->fresh_count, sizeof(bool));
    if (!attempt->any_suppressed || attempt->fresh_count == 0)
        return true;
    const char **hashes = arena_array(work->arena, attempt->fresh_count, sizeof(*hashes));
    for (size_t i = 0; i < attempt->fresh_count; i++)
        hashes[i] = hash_hex(work, &attempt->contacts[attempt->fresh[i]]);
    struct import_suppressed_params params = {
        .brand_id = work->brand_id,
        .address_hashes = { hashes, attempt->fresh_count },
        .now = work->now_us,
    };
    struct import_suppressed_row *rows;
    size_t count;
    if (!sql_import_suppressed(work->conn, work->arena, &params, &rows, &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        attempt->starts_unsubscribed[rows[i].place - 1] = true;
    return true;
}

/* ---- New contacts ---- */

static void write_row(struct buf *out, const struct work *work, const struct import_contact *contact, bool starts_unsubscribed)
{
    const char *custom[] = { "{", contact->custom, "}" };
    db_row_begin(out, COPIED_COLUMNS);
    db_row_bigint(out, work->brand_id);
    db_row_text(out, contact->email);
    db_row_text(out, contact->key);
    db_row_text(out, contact->first_name);
    db_row_text(out, contact->last_name);
    db_row_text(out, contact->user_id);
    db_row_text(out, contact->source != NULL ? contact->source : default_source);
    db_row_boolean(out, contact->subscribed.set ? contact->subscribed.value : !starts_unsubscribed);
    db_row_jsonb(out, custom, ARRAY_COUNT(custom));
    db_row_time(out, work->now_us);
    db_row_time(out, work->now_us);
}

static bool copy_flush(struct db_conn *conn, struct buf *out, struct error *err)
{
    bool ok = db_copy_put(conn, buf_text(out), out->size, err);
    buf_clear(out);
    return ok;
}

static bool copy_fresh(struct attempt *attempt, struct error *err)
{
    const struct work *work = attempt->work;
    if (attempt->fresh_count == 0)
        return true;
    BUF_SCOPE out;
    buf_init(&out, COPY_MAX_BYTES);
    if (!db_copy_begin(work->conn, copy_contacts, err))
        return false;
    db_row_header(&out);
    for (size_t i = 0; i < attempt->fresh_count; i++) {
        write_row(&out, work, &attempt->contacts[attempt->fresh[i]], attempt->starts_unsubscribed[i]);
        if (out.size >= COPY_FLUSH_BYTES && !copy_flush(work->conn, &out, err))
            return false;
    }
    db_row_trailer(&out);
    return copy_flush(work->conn, &out, err) && db_copy_end(work->conn, &attempt->inserted, err);
}

/* ---- Existing contacts ---- */

struct update_columns {
    const char **keys;
    const char **emails;
    const char **first_names;
    const char **last_names;
    const char **user_ids;
    const char **sources;
    const char **subscribed;
    const char **custom_fields;
};

static size_t add_update(struct attempt *attempt, struct db_batch *batch)
{
    const struct work *work = attempt->work;
    size_t count = attempt->known_count;
    struct update_columns columns;
    const char ***lists[] = { &columns.keys,     &columns.emails,  &columns.first_names, &columns.last_names,
                              &columns.user_ids, &columns.sources, &columns.subscribed,  &columns.custom_fields };
    for (size_t i = 0; i < ARRAY_COUNT(lists); i++)
        *lists[i] = arena_array(work->arena, count, sizeof(char *));
    for (size_t i = 0; i < count; i++) {
        const struct import_contact *contact = &attempt->contacts[attempt->known[i]];
        columns.keys[i] = contact->key;
        columns.emails[i] = contact->email;
        columns.first_names[i] = contact->first_name;
        columns.last_names[i] = contact->last_name;
        columns.user_ids[i] = contact->user_id;
        columns.sources[i] = contact->source;
        columns.subscribed[i] = !contact->subscribed.set ? NULL : contact->subscribed.value ? "true" : "false";
        columns.custom_fields[i] = contact->custom[0] != '\0' ? arena_printf(work->arena, "{%s}", contact->custom) : "{}";
    }
    struct import_update_params update = {
        .brand_id = work->brand_id,
        .email_keys = { columns.keys, count },
        .emails = { columns.emails, count },
        .first_names = { columns.first_names, count },
        .last_names = { columns.last_names, count },
        .user_ids = { columns.user_ids, count },
        .sources = { columns.sources, count },
        .subscribed = { columns.subscribed, count },
        .custom_fields = { columns.custom_fields, count },
        .now = work->now_us,
    };
    return db_batch_add(batch, &import_update_statement, &update);
}

/* A row with `subscribed` false stores an unsubscribe under the hash of the address. A row with true deletes it. */
static void add_unsubscribes(struct attempt *attempt, struct db_batch *batch)
{
    const struct work *work = attempt->work;
    const char **unsubscribed = arena_array(work->arena, attempt->count, sizeof(*unsubscribed));
    const char **resubscribed = arena_array(work->arena, attempt->count, sizeof(*resubscribed));
    size_t unsubscribed_count = 0;
    size_t resubscribed_count = 0;
    for (size_t i = 0; i < attempt->count; i++) {
        const struct import_contact *contact = &attempt->contacts[i];
        if (contact->subscribed.set && !contact->subscribed.value)
            unsubscribed[unsubscribed_count++] = hash_hex(work, contact);
        else if (contact->subscribed.set && attempt->any_stored)
            resubscribed[resubscribed_count++] = hash_hex(work, contact);
    }
    if (unsubscribed_count > 0) {
        struct suppressions_add_params keep = {
            .brand_id = work->brand_id,
            .address_hashes = { unsubscribed, unsubscribed_count },
            .reason = "unsubscribed",
            .source = "import",
            .now = work->now_us,
        };
        db_batch_add(batch, &suppressions_add_statement, &keep);
    }
    if (resubscribed_count > 0) {
        struct contact_unsubscribes_lift_params lift = { .brand_id = work->brand_id,
                                                         .address_hashes = { resubscribed, resubscribed_count } };
        db_batch_add(batch, &contact_unsubscribes_lift_statement, &lift);
    }
}

static bool update_known(struct attempt *attempt, struct error *err)
{
    struct db_batch *batch = db_batch_new(attempt->work->conn, attempt->work->arena);
    size_t update_at = 0;
    if (attempt->known_count > 0)
        update_at = add_update(attempt, batch);
    add_unsubscribes(attempt, batch);
    if (!db_batch_run(batch, err))
        return false;
    int64_t changed = attempt->known_count > 0 ? db_batch_rows(batch, update_at)->affected : 0;
    attempt->updated += changed;
    attempt->unchanged += (int64_t)attempt->known_count - changed;
    return true;
}

/* Adds every contact of the part to the validation, because unchanged contacts are validated too. */
static bool add_targets(const struct import_shard *shard, const struct attempt *attempt, struct error *err)
{
    if (shard->validation_id == 0 || attempt->count == 0)
        return true;
    const char **keys = arena_array(shard->work.arena, attempt->count, sizeof(*keys));
    for (size_t i = 0; i < attempt->count; i++)
        keys[i] = attempt->contacts[i].key;
    return validation_add(&shard->work, shard->validation_id, (struct text_list){ keys, attempt->count }, err);
}

/* ---- Committing a chunk ---- */

static void add_errors(const struct import_shard *shard, const struct import_chunk *chunk, struct db_batch *batch)
{
    struct arena *arena = shard->work.arena;
    size_t count = chunk->refusal_count;
    int64_t *lines = arena_array(arena, count, sizeof(*lines));
    const char **columns[5];
    for (size_t i = 0; i < ARRAY_COUNT(columns); i++)
        columns[i] = arena_array(arena, count, sizeof(char *));
    for (size_t i = 0; i < count; i++) {
        const struct import_refusal *refusal = &chunk->refusals[i];
        lines[i] = refusal->line;
        columns[0][i] = refusal->email;
        columns[1][i] = error_info(refusal->code)->name;
        columns[2][i] = refusal->field;
        columns[3][i] = refusal->message;
        columns[4][i] = refusal->record;
    }
    struct import_errors_keep_params keep = {
        .brand_id = shard->work.brand_id,
        .id = shard->import_id,
        .lines = { lines, count },
        .emails = { columns[0], count },
        .codes = { columns[1], count },
        .fields = { columns[2], count },
        .messages = { columns[3], count },
        .records = { columns[4], count },
    };
    db_batch_add(batch, &import_errors_keep_statement, &keep);
}

static bool commit_chunk(const struct import_shard *shard, const struct attempt *attempt, const struct import_chunk *chunk,
                         struct db_tx *tx, struct error *err)
{
    struct db_batch *batch = db_batch_new(shard->work.conn, shard->work.arena);
    struct import_shard_advance_params advance = {
        .brand_id = shard->work.brand_id,
        .id = shard->import_id,
        .shard = shard->shard,
        .next_offset = chunk->end_offset,
        .next_line = chunk->end_line,
        .inserted = attempt->inserted,
        .updated = attempt->updated,
        .unchanged = attempt->unchanged,
    };
    if (shard->shard == 0) {
        advance.skipped = chunk->skipped;
        advance.failed = chunk->failed;
        advance.errors_kept = (int64_t)chunk->refusal_count;
        advance.error_bytes = chunk->error_bytes;
        if (chunk->refusal_count > 0)
            add_errors(shard, chunk, batch);
    }
    db_batch_add(batch, &import_shard_advance_statement, &advance);
    return db_batch_run_commit(batch, tx, err);
}

static bool apply_once(struct import_shard *shard, const struct import_chunk *chunk, struct error *err)
{
    struct attempt attempt = { .work = &shard->work };
    merge_rows(&attempt, &chunk->parts[shard->shard]);
    DB_TX tx = { .conn = NULL };
    return db_tx_begin(shard->work.conn, &tx, err) && load_known_contacts(&attempt, shard, err) && load_suppressed(&attempt, err) &&
           copy_fresh(&attempt, err) && update_known(&attempt, err) && add_targets(shard, &attempt, err) &&
           commit_chunk(shard, &attempt, chunk, &tx, err);
}

/* Another transaction created one of the new contacts concurrently (23505, unique violation). The next attempt finds it. */
static bool is_concurrent_write(const struct error *err)
{
    return db_error_is_retryable(err) || strcmp(err->sqlstate, "23505") == 0;
}

bool import_shard_apply(struct import_shard *shard, const struct import_chunk *chunk, struct error *err)
{
    if (chunk->number < shard->chunks)
        return true;
    for (int attempt = 1;; attempt++) {
        arena_reset(shard->work.arena);
        shard->work.now_us = clock_now_us();
        if (apply_once(shard, chunk, err))
            break;
        if (!is_concurrent_write(err))
            return false;
        if (attempt == APPLY_TRIES) {
            error_clear(err);
            return fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "Other requests are changing these contacts. Try again.");
        }
        error_clear(err);
    }
    shard->chunks++;
    return true;
}
