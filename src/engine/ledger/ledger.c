#include "engine/ledger/ledger.h"

#include "base/clock.h"
#include "base/json_read.h"
#include "base/text.h"
#include "engine/ledger/plans.h"
#include "sql/ledger.h"

#include <string.h>

static const int64_t response_lifetime_us = INT64_C(24) * 3600 * US_PER_S;
static const char claim_wait[] = "5s";

static struct opt_int id_or_null(int64_t id)
{
    return (struct opt_int){ .set = id != 0, .value = id };
}

static struct bytes hash_bytes(const unsigned char *hash)
{
    return (struct bytes){ hash, SECRET_HASH_BYTES };
}

/* ---- Idempotency ---- */

static bool explain_wait(struct error *err)
{
    /* 55P03: lock_timeout expired while the first transaction with this key was running. */
    if (strcmp(err->sqlstate, "55P03") != 0)
        return false;
    error_clear(err);
    return fail(err, ERR_IDEMPOTENCY_IN_PROGRESS, NULL, "A request with this idempotency key is still in progress.");
}

static bool try_insert(const struct work *work, const struct ledger_entry *entry, bool *ret_inserted, struct error *err)
{
    struct bytes key = hash_bytes(entry->idempotency_key);
    struct ledger_wait_limit_params wait = { .timeout = claim_wait };
    struct ledger_expire_params expire = {
        .organization_id = work->organization_id,
        .key_hash = key,
        .before = work->now_us - response_lifetime_us,
    };
    struct ledger_insert_key_params insert = {
        .organization_id = work->organization_id,
        .key_hash = key,
        .fingerprint = hash_bytes(entry->fingerprint),
        .operation = entry->operation,
        .now = work->now_us,
    };
    struct ledger_wait_limit_params no_wait = { .timeout = "0" };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    db_batch_add(batch, &ledger_wait_limit_statement, &wait);
    db_batch_add(batch, &ledger_expire_statement, &expire);
    size_t inserted = db_batch_add(batch, &ledger_insert_key_statement, &insert);
    db_batch_add(batch, &ledger_wait_limit_statement, &no_wait);
    if (!db_batch_run(batch, err))
        return explain_wait(err);
    *ret_inserted = db_batch_rows(batch, inserted)->affected == 1;
    return true;
}

bool ledger_claim(const struct work *work, const struct ledger_entry *entry, enum ledger_claim *ret_claim,
                  struct ledger_replay *ret_replay, struct error *err)
{
    bool inserted = false;
    if (!try_insert(work, entry, &inserted, err))
        return false;
    if (inserted) {
        *ret_claim = LEDGER_FRESH;
        return true;
    }

    struct ledger_find_key_params find = { .organization_id = work->organization_id,
                                           .key_hash = hash_bytes(entry->idempotency_key) };
    struct ledger_find_key_row *row;
    if (!sql_ledger_find_key(work->conn, work->arena, &find, &row, err))
        return false;
    if (row == NULL)
        return fail(err, ERR_IDEMPOTENCY_IN_PROGRESS, NULL,
                    "The first request with this idempotency key has just ended. Try again.");
    if (row->fingerprint.size != SECRET_HASH_BYTES || memcmp(row->fingerprint.data, entry->fingerprint, SECRET_HASH_BYTES) != 0)
        return fail(err, ERR_IDEMPOTENCY_CONFLICT, NULL, "This idempotency key was already used with other arguments.");

    *ret_replay = (struct ledger_replay){ .credit_cost = -1 };
    if (row->status.set) {
        *ret_claim = LEDGER_REPLAY;
        ret_replay->status = (int)row->status.value;
        ret_replay->body = row->body;
        if (row->credit_cost.set)
            ret_replay->credit_cost = row->credit_cost.value;
        return true;
    }
    if (!row->job_id.set)
        return fail(err, ERR_IDEMPOTENCY_IN_PROGRESS, NULL, "A request with this idempotency key is still in progress.");
    *ret_claim = LEDGER_JOIN;
    ret_replay->job_id = row->job_id.value;
    return true;
}

/* ---- Credits ---- */

/* Reads the remaining credits after the statements of `batch`. */
static bool read_credits_left(const struct work *work, struct db_batch *batch, struct opt_int *ret_left, struct error *err)
{
    struct ledger_credits_params params = { .organization_id = work->organization_id, .now = work->now_us };
    size_t credits_at = db_batch_add(batch, &ledger_credits_statement, &params);
    if (!db_batch_run(batch, err))
        return false;
    const struct db_rows *rows = db_batch_rows(batch, credits_at);
    const struct ledger_credits_row *row = rows->rows;
    if (rows->count == 0)
        return fail(err, ERR_INTERNAL_ERROR, NULL, "The organization of this credential no longer exists.");
    *ret_left = plan_credits_remaining(row->plan, row->bonus_credits, row->used + row->reserved);
    return true;
}

static void add_lock(const struct work *work, struct db_batch *batch)
{
    struct ledger_lock_credits_params lock = {
        .organization_id = work->organization_id,
        .unlimited = plans_unlimited(work->arena),
    };
    db_batch_add(batch, &ledger_lock_credits_statement, &lock);
}

static void add_release_hold(const struct work *work, int64_t job_id, struct db_batch *batch)
{
    struct ledger_release_hold_params release = { .organization_id = work->organization_id, .job_id = job_id };
    db_batch_add(batch, &ledger_release_hold_statement, &release);
}

bool ledger_credits_left(const struct work *work, struct opt_int *ret_left, struct error *err)
{
    return read_credits_left(work, db_batch_new(work->conn, work->arena), ret_left, err);
}

bool ledger_check_credits(const struct work *work, int64_t credits, struct error *err)
{
    struct opt_int left;
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    add_lock(work, batch);
    if (!read_credits_left(work, batch, &left, err))
        return false;
    if (left.set && left.value < credits)
        return fail(err, ERR_INSUFFICIENT_CREDITS, NULL, "This call needs %lld credit%s, but %lld %s left in this period.",
                    (long long)credits, credits == 1 ? "" : "s", (long long)left.value, left.value == 1 ? "is" : "are");
    return true;
}

bool ledger_hold_items(const struct work *work, int64_t job_id, int64_t credits, int64_t wanted, int64_t *ret_items,
                       struct error *err)
{
    struct opt_int left;
    DB_TX tx = { .conn = NULL };
    if (!db_tx_begin(work->conn, &tx, err))
        return false;
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    add_lock(work, batch);
    add_release_hold(work, job_id, batch);
    if (!read_credits_left(work, batch, &left, err))
        return false;
    int64_t payable = left.set ? left.value / credits : wanted;
    *ret_items = payable < wanted ? payable : wanted;
    struct ledger_hold_params hold = {
        .organization_id = work->organization_id,
        .job_id = job_id,
        .credits = *ret_items * credits,
    };
    if (left.set && hold.credits > 0 && !sql_ledger_hold(work->conn, work->arena, &hold, NULL, err))
        return false;
    return db_tx_commit(&tx, err);
}

bool ledger_release_hold(const struct work *work, int64_t job_id, struct error *err)
{
    struct ledger_release_hold_params release = { .organization_id = work->organization_id, .job_id = job_id };
    return sql_ledger_release_hold(work->conn, work->arena, &release, NULL, err);
}

/* ---- Settling a write ---- */

static void add_audit(const struct work *work, const struct ledger_entry *entry, struct db_batch *batch)
{
    struct ledger_audit_params audit = {
        .now = work->now_us,
        .organization_id = work->organization_id,
        .brand_id = id_or_null(work->brand_id),
        .key_id = id_or_null(entry->key_id),
        .session_id = id_or_null(entry->session_id),
        .transport = entry->transport,
        .client = entry->client,
        .request_id = entry->request_id,
        .operation = entry->operation,
        .subjects = { entry->subjects, entry->subject_count },
        .engine = entry->engine,
        .tokens_in = entry->tokens_in,
        .tokens_out = entry->tokens_out,
    };
    db_batch_add(batch, &ledger_audit_statement, &audit);
}

static void add_response(const struct work *work, const struct ledger_entry *entry, int status, const char *body,
                         struct db_batch *batch)
{
    struct ledger_store_response_params response = {
        .organization_id = work->organization_id,
        .key_hash = hash_bytes(entry->idempotency_key),
        .status = status,
        .body = body,
        .credit_cost = { .set = entry->credit_cost >= 0, .value = entry->credit_cost },
    };
    db_batch_add(batch, &ledger_store_response_statement, &response);
}

static void add_delete_key(const struct work *work, const struct ledger_entry *entry, struct db_batch *batch)
{
    struct ledger_delete_key_params params = {
        .organization_id = work->organization_id,
        .key_hash = hash_bytes(entry->idempotency_key),
    };
    db_batch_add(batch, &ledger_delete_key_statement, &params);
}

bool ledger_settle(const struct work *work, const struct ledger_entry *entry, int status, const char *body, struct db_tx *commit,
                   struct error *err)
{
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    if (entry->writes_audit)
        add_audit(work, entry, batch);
    if (entry->job_id != 0)
        add_release_hold(work, entry->job_id, batch);
    if (entry->credits > 0) {
        struct ledger_charge_params charge = {
            .organization_id = work->organization_id,
            .now = work->now_us,
            .credits = entry->credits,
        };
        db_batch_add(batch, &ledger_charge_statement, &charge);
    }
    if (entry->idempotency_key != NULL && entry->releases_key)
        add_delete_key(work, entry, batch);
    else if (entry->idempotency_key != NULL && body != NULL)
        add_response(work, entry, status, body, batch);
    return commit != NULL ? db_batch_run_commit(batch, commit, err) : db_batch_run(batch, err);
}

bool ledger_release(const struct work *work, const struct ledger_entry *entry, struct error *err)
{
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    if (entry->job_id != 0)
        add_release_hold(work, entry->job_id, batch);
    if (entry->idempotency_key != NULL)
        add_delete_key(work, entry, batch);
    return db_batch_run(batch, err);
}

/* ---- Jobs ---- */

bool ledger_enqueue(const struct work *work, struct new_job job, int64_t run_after_us, const struct ledger_entry *entry,
                    int64_t *ret_job_id, struct error *err)
{
    if (job.payload == NULL)
        return fail(err, ERR_INTERNAL_ERROR, NULL, "The payload of the job %s is larger than %zu bytes.", job.type->name,
                    job.type->max_bytes);
    struct job_insert_params insert = {
        .kind = job.type->name,
        .pool = job_pool_name(job.type),
        .organization_id = id_or_null(work->organization_id),
        .brand_id = id_or_null(work->brand_id),
        .payload = job.payload,
        .call = entry != NULL ? ledger_entry_write(work->arena, entry) : NULL,
        .run_after = run_after_us,
        .now = work->now_us,
        .credits = entry != NULL ? entry->hold : 0,
    };
    struct job_insert_row *row;
    if (!sql_job_insert(work->conn, work->arena, &insert, &row, err))
        return false;
    *ret_job_id = row->id;
    if (entry == NULL || entry->idempotency_key == NULL)
        return true;
    struct ledger_bind_job_params bind = {
        .organization_id = work->organization_id,
        .key_hash = hash_bytes(entry->idempotency_key),
        .job_id = row->id,
    };
    return sql_ledger_bind_job(work->conn, work->arena, &bind, NULL, err);
}

static void write_hash(struct arena *arena, struct json_writer *json, const char *name, const unsigned char *hash)
{
    if (hash != NULL)
        json_member_text(json, name, base64url_encode(arena, hash, SECRET_HASH_BYTES));
}

char *ledger_entry_write(struct arena *arena, const struct ledger_entry *entry)
{
    struct buf *out = buf_in_arena(arena, 64 * 1024);
    struct json_writer json;
    json_writer_init(&json, out);
    json_object_begin(&json);
    json_member_text(&json, "operation", entry->operation);
    json_member_text(&json, "door", entry->transport);
    json_member_text(&json, "client", entry->client);
    json_member_text(&json, "requestId", entry->request_id);
    json_member_int(&json, "keyId", entry->key_id);
    json_member_int(&json, "sessionId", entry->session_id);
    json_member_int(&json, "credits", entry->credits);
    json_member_int(&json, "creditCost", entry->credit_cost);
    json_member_bool(&json, "writesAudit", entry->writes_audit);
    write_hash(arena, &json, "idempotencyKey", entry->idempotency_key);
    write_hash(arena, &json, "fingerprint", entry->fingerprint);
    json_object_end(&json);
    return arena_dup(arena, buf_text(out));
}

static const unsigned char *read_hash(struct arena *arena, const json_t *object, const char *name)
{
    const char *text = json_get_text(object, name);
    size_t size;
    unsigned char *hash = text != NULL ? base64url_decode(arena, text, &size) : NULL;
    return hash != NULL && size == SECRET_HASH_BYTES ? hash : NULL;
}

bool ledger_entry_read(struct arena *arena, const char *json, struct ledger_entry *ret_entry)
{
    struct json_bounds bounds = { .max_bytes = 64 * 1024 };
    struct error ignored = { .code = ERR_NONE };
    const json_t *object;
    if (!json_read(arena, json, strlen(json), bounds, &object, &ignored))
        return false;
    *ret_entry = (struct ledger_entry){
        .operation = json_get_text(object, "operation"),
        .transport = json_get_text(object, "door"),
        .client = json_get_text(object, "client"),
        .request_id = json_get_text(object, "requestId"),
        .key_id = json_get_int(object, "keyId", 0),
        .session_id = json_get_int(object, "sessionId", 0),
        .idempotency_key = read_hash(arena, object, "idempotencyKey"),
        .fingerprint = read_hash(arena, object, "fingerprint"),
        .credits = json_get_int(object, "credits", 0),
        .credit_cost = json_get_int(object, "creditCost", -1),
        .writes_audit = json_get_bool(object, "writesAudit", false),
    };
    return ret_entry->operation != NULL && ret_entry->transport != NULL && ret_entry->request_id != NULL;
}
