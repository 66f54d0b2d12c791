/*
 * Ledger of calls that share a transaction (group commit): it writes the same
 * rows as for a single call, with one statement for all calls.
 */
#include "engine/ledger/ledger.h"

#include "base/text.h"
#include "sql/ledger.h"

static const char *hash_text(struct arena *arena, const unsigned char *hash)
{
    char *text = arena_alloc(arena, 2 * SECRET_HASH_BYTES + 1);
    hex_encode(hash, SECRET_HASH_BYTES, text);
    return text;
}

/* ---- Keys in use ---- */

size_t ledger_used_keys_ask(struct arena *arena, const struct ledger_call *calls, size_t count, struct db_batch *batch)
{
    struct ledger_share_params share = { .lock_timeout = arena_printf(arena, "%dms", LEDGER_SHARED_WAIT_MS) };
    int64_t *organizations = arena_array(arena, count, sizeof(*organizations));
    const char **hashes = arena_array(arena, count, sizeof(*hashes));
    size_t keys = 0;
    for (size_t i = 0; i < count; i++) {
        if (calls[i].entry->idempotency_key == NULL)
            continue;
        organizations[keys] = calls[i].work->organization_id;
        hashes[keys++] = hash_text(arena, calls[i].entry->idempotency_key);
    }
    struct ledger_used_keys_params used = { .organization_ids = { organizations, keys }, .key_hashes = { hashes, keys } };
    db_batch_add(batch, &ledger_share_statement, &share);
    return db_batch_add(batch, &ledger_used_keys_statement, &used);
}

bool ledger_used_keys_read(const struct db_batch *batch, size_t index, const struct ledger_call *calls, size_t count,
                           bool *ret_used)
{
    const struct db_rows *rows = db_batch_rows(batch, index);
    const struct ledger_used_keys_row *used = rows->rows;
    int64_t key_number = 0; /* counts the calls with a key, from 1 */
    for (size_t i = 0; i < count; i++) {
        ret_used[i] = false;
        if (calls[i].entry->idempotency_key == NULL)
            continue;
        key_number++;
        for (size_t row = 0; row < rows->count; row++)
            ret_used[i] = ret_used[i] || used[row].place == key_number;
    }
    return rows->count > 0;
}

/* ---- Settling ---- */

static const char *join_subjects(struct arena *arena, const struct ledger_entry *entry)
{
    const char *joined = entry->subject_count > 0 ? entry->subjects[0] : "";
    for (size_t i = 1; i < entry->subject_count; i++)
        joined = arena_printf(arena, "%s,%s", joined, entry->subjects[i]);
    return joined;
}

static int64_t *numbers(struct arena *arena, size_t count)
{
    return arena_array(arena, count, sizeof(int64_t));
}

static const char **texts(struct arena *arena, size_t count)
{
    return arena_array(arena, count, sizeof(const char *));
}

static void add_audits(struct arena *arena, const struct ledger_call *calls, size_t count, struct db_batch *batch)
{
    int64_t *times = numbers(arena, count);
    int64_t *organizations = numbers(arena, count);
    int64_t *brands = numbers(arena, count);
    int64_t *keys = numbers(arena, count);
    int64_t *sessions = numbers(arena, count);
    const char **transports = texts(arena, count);
    const char **clients = texts(arena, count);
    const char **requests = texts(arena, count);
    const char **operations = texts(arena, count);
    const char **subjects = texts(arena, count);
    size_t rows = 0;
    for (size_t i = 0; i < count; i++) {
        const struct work *work = calls[i].work;
        const struct ledger_entry *entry = calls[i].entry;
        if (!entry->writes_audit)
            continue;
        times[rows] = work->now_us;
        organizations[rows] = work->organization_id;
        brands[rows] = work->brand_id;
        keys[rows] = entry->key_id;
        sessions[rows] = entry->session_id;
        transports[rows] = entry->transport;
        clients[rows] = entry->client;
        requests[rows] = entry->request_id;
        operations[rows] = entry->operation;
        subjects[rows++] = join_subjects(arena, entry);
    }
    if (rows == 0)
        return;
    struct ledger_audits_params params = {
        .times = { times, rows },
        .organization_ids = { organizations, rows },
        .brand_ids = { brands, rows },
        .key_ids = { keys, rows },
        .session_ids = { sessions, rows },
        .transports = { transports, rows },
        .clients = { clients, rows },
        .request_ids = { requests, rows },
        .operations = { operations, rows },
        .subjects = { subjects, rows },
    };
    db_batch_add(batch, &ledger_audits_statement, &params);
}

static void add_responses(struct arena *arena, const struct ledger_call *calls, size_t count, struct db_batch *batch)
{
    int64_t *organizations = numbers(arena, count);
    int64_t *statuses = numbers(arena, count);
    int64_t *created = numbers(arena, count);
    const char **keys = texts(arena, count);
    const char **fingerprints = texts(arena, count);
    const char **operations = texts(arena, count);
    const char **bodies = texts(arena, count);
    size_t stored = 0;
    for (size_t i = 0; i < count; i++) {
        const struct ledger_entry *entry = calls[i].entry;
        if (entry->idempotency_key == NULL || calls[i].body == NULL)
            continue;
        organizations[stored] = calls[i].work->organization_id;
        statuses[stored] = calls[i].status;
        created[stored] = calls[i].work->now_us;
        keys[stored] = hash_text(arena, entry->idempotency_key);
        fingerprints[stored] = hash_text(arena, entry->fingerprint);
        operations[stored] = entry->operation;
        bodies[stored++] = calls[i].body;
    }
    if (stored == 0)
        return;
    struct ledger_keep_responses_params params = {
        .organization_ids = { organizations, stored },
        .key_hashes = { keys, stored },
        .fingerprints = { fingerprints, stored },
        .operations = { operations, stored },
        .statuses = { statuses, stored },
        .bodies = { bodies, stored },
        .created = { created, stored },
    };
    db_batch_add(batch, &ledger_keep_responses_statement, &params);
}

bool ledger_settle_all(struct arena *arena, const struct ledger_call *calls, size_t count, struct db_tx *commit, struct error *err)
{
    struct db_batch *batch = db_batch_new(commit->conn, arena);
    add_audits(arena, calls, count, batch);
    add_responses(arena, calls, count, batch);
    return db_batch_run_commit(batch, commit, err);
}
