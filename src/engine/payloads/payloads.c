#include "engine/payloads/payloads.h"

#include "base/json_read.h"
#include "base/text.h"
#include "crypto/key_file.h"
#include "engine/secrets/reseal.h"
#include "sql/payloads.h"

#include <string.h>

static const char sealed_as[] = "trigger payload";

enum { PLAIN_MAX_BYTES = 1024 * 1024 }; /* a payload with the fallbacks of its contract */

static const char *payload_identity(struct arena *arena, int64_t brand_id, int64_t id)
{
    return arena_printf(arena, "%lld/%lld", (long long)brand_id, (long long)id);
}

/* ---- Storing ---- */

static struct bytes payload_plain(struct arena *arena, const json_t *payload, const json_t *fallbacks)
{
    char *text =
        arena_printf(arena, "{\"payload\":%s,\"fallbacks\":%s}", json_canonical(arena, payload), json_canonical(arena, fallbacks));
    return (struct bytes){ (const unsigned char *)text, strlen(text) };
}

/* The sealed payload in hex. */
static const char *sealed_hex(const struct work *work, struct arena *secrets, const struct seal_ring *ring,
                              const struct payload_storing *storing)
{
    struct bytes plain = payload_plain(secrets, storing->payload, storing->fallbacks);
    struct bytes sealed = seal(secrets, ring, sealed_as, payload_identity(secrets, work->brand_id, storing->id), plain);
    char *hex = arena_alloc(work->arena, 2 * sealed.size + 1);
    hex_encode(sealed.data, sealed.size, hex);
    return hex;
}

/* Returns the place in the batch. */
static size_t add_insert(const struct work *work, const struct seal_ring *ring, const struct payload_storing *storings,
                         size_t count, struct db_batch *batch)
{
    unsigned char *fingerprint = arena_alloc(work->arena, SEAL_FINGERPRINT_BYTES); /* the batch borrows it */
    int64_t *ids = arena_array(work->arena, count, sizeof(*ids));
    const char **sealed = arena_array(work->arena, count, sizeof(*sealed));
    for (size_t i = 0; i < count; i++) {
        ARENA_SCOPE secrets = arena_new(0);
        ids[i] = storings[i].id;
        sealed[i] = sealed_hex(work, secrets, ring, &storings[i]);
    }
    seal_ring_fingerprint(ring, fingerprint);
    struct payloads_insert_params params = {
        .brand_id = work->brand_id,
        .ids = { ids, count },
        .sealed = { sealed, count },
        .key_id = seal_ring_newest(ring),
        .fingerprint = { fingerprint, SEAL_FINGERPRINT_BYTES },
        .now = work->now_us,
    };
    return db_batch_add(batch, &payloads_insert_statement, &params);
}

/* With a key that is new to the database, or is not the one that it knows. */
static bool insert_with_new_key(const struct work *work, const struct payload_storing *storings, size_t count, struct error *err)
{
    ARENA_SCOPE secrets = arena_new(0);
    struct seal_ring *ring;
    if (!secrets_sealing(work, secrets, &ring, err))
        return false;
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    size_t index = add_insert(work, ring, storings, count, batch);
    if (!db_batch_run(batch, err))
        return false;
    return db_batch_rows(batch, index)->affected > 0 || fail(err, ERR_INTERNAL_ERROR, NULL, "The payload was not stored.");
}

bool payloads_store_ask(const struct work *work, const struct payload_storing *storings, size_t count, struct db_batch *batch,
                        size_t *ret_index, struct error *err)
{
    ARENA_SCOPE secrets = arena_new(0);
    struct seal_ring *ring;
    *ret_index = SIZE_MAX;
    if (count == 0)
        return true;
    if (!key_file_read(secrets, work->engine->key_file, &ring, err))
        return false;
    if (ring != NULL)
        *ret_index = add_insert(work, ring, storings, count, batch);
    return true;
}

bool payloads_store_take(const struct work *work, const struct payload_storing *storings, size_t count,
                         const struct db_batch *batch, size_t index, struct error *err)
{
    bool is_stored = count == 0 || (index != SIZE_MAX && db_batch_rows(batch, index)->affected > 0);
    return is_stored || insert_with_new_key(work, storings, count, err);
}

bool payload_store(const struct work *work, const json_t *payload, const json_t *fallbacks, int64_t *ret_id, struct error *err)
{
    struct payload_next_id_row *next;
    size_t index;
    if (!sql_payload_next_id(work->conn, work->arena, &next, err))
        return false;
    *ret_id = next->id;
    struct payload_storing storing = { .id = next->id, .payload = payload, .fallbacks = fallbacks };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    return payloads_store_ask(work, &storing, 1, batch, &index, err) && db_batch_run(batch, err) &&
           payloads_store_take(work, &storing, 1, batch, index, err);
}

/* ---- Opening ---- */

/* Copies the members of `fallbacks` that `payload` lacks. Objects that both have are merged in the same way, as deep as the
 * fallbacks of a contract are. */
static void add_fallbacks(json_t *payload, const json_t *fallbacks)
{
    const char *key;
    json_t *value;
    json_object_foreach (json_for_iteration(fallbacks), key, value) {
        json_t *own = json_object_get(payload, key);
        if (own == NULL)
            json_object_set(payload, key, value);
        else if (json_is_object(own) && json_is_object(value))
            add_fallbacks(own, value);
    }
}

static bool fail_damaged(const struct work *work, int64_t id, struct error *err)
{
    return fail(err, ERR_INTERNAL_ERROR, NULL, "A stored payload is damaged.") ||
           error_because(err, "the payload %lld of brand %lld is no JSON object", (long long)id, (long long)work->brand_id);
}

bool payload_open_with(const struct work *work, const struct seal_ring *ring, int64_t id, struct bytes sealed, bool is_for_mail,
                       const json_t **ret_payload, struct error *err)
{
    ARENA_SCOPE secrets = arena_new(0);
    const struct json_bounds bounds = { .max_bytes = PLAIN_MAX_BYTES };
    struct error ignored = { .code = ERR_NONE }; /* its message may quote the payload */
    const json_t *plain;
    struct bytes text;
    if (!seal_open(secrets, ring, sealed_as, payload_identity(secrets, work->brand_id, id), sealed, &text, err))
        return false;
    if (!json_read(work->arena, (const char *)text.data, text.size, bounds, &plain, &ignored) ||
        !json_is_object(json_object_get(plain, "payload")))
        return fail_damaged(work, id, err);
    if (is_for_mail)
        add_fallbacks(json_object_get(plain, "payload"), json_object_get(plain, "fallbacks"));
    *ret_payload = json_object_get(plain, "payload");
    return true;
}

bool payload_open(const struct work *work, int64_t id, struct bytes sealed, bool is_for_mail, const json_t **ret_payload,
                  struct error *err)
{
    ARENA_SCOPE secrets = arena_new(0);
    struct seal_ring *ring;
    return secrets_opening(work, secrets, &ring, err) && payload_open_with(work, ring, id, sealed, is_for_mail, ret_payload, err);
}

/* ---- Erasing ---- */

bool payload_load_for_mail(const struct work *work, int64_t id, const json_t **ret_payload, struct error *err)
{
    struct payload_sealed_params params = { .brand_id = work->brand_id, .id = id };
    struct payload_sealed_row *row;
    *ret_payload = NULL;
    if (!sql_payload_sealed(work->conn, work->arena, &params, &row, err))
        return false;
    return row == NULL || payload_open(work, id, row->sealed, true, ret_payload, err);
}

void payload_erase_unread_ask(const struct work *work, struct int_list ids, struct db_batch *batch)
{
    struct payload_erase_params params = { .brand_id = work->brand_id, .ids = ids };
    if (ids.count > 0)
        db_batch_add(batch, &payload_erase_statement, &params);
}

bool payload_erase_unread(const struct work *work, struct int_list ids, struct error *err)
{
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    payload_erase_unread_ask(work, ids, batch);
    return db_batch_run(batch, err);
}

/* ---- Resealing ---- */

static bool reseal_payload(const struct reseal *reseal, const struct payloads_to_reseal_row *row, struct error *err)
{
    const char *identity = payload_identity(reseal->arena, row->brand_id, row->id);
    struct payload_reseal_params params = { .brand_id = row->brand_id, .id = row->id };
    if (!reseal_secret(reseal, sealed_as, identity, row->sealed, &params.sealed, err))
        return false;
    db_batch_add(reseal->updates, &payload_reseal_statement, &params);
    return true;
}

static bool reseal_next_payloads(const struct reseal *reseal, void *position, size_t *ret_count, struct error *err)
{
    struct payloads_to_reseal_params *at = position;
    struct payloads_to_reseal_row *rows;
    at->key_id = reseal->key_id;
    at->limit = reseal->limit;
    if (!sql_payloads_to_reseal(reseal->work->conn, reseal->arena, at, &rows, ret_count, err))
        return false;
    for (size_t i = 0; i < *ret_count; i++) {
        if (!reseal_payload(reseal, &rows[i], err))
            return false;
        at->after_brand_id = rows[i].brand_id;
        at->after_id = rows[i].id;
    }
    return true;
}

bool payloads_reseal(const struct work *work, int64_t *ret_count, struct error *err)
{
    struct payloads_to_reseal_params from = { .limit = 0 };
    return reseal_table(work, reseal_next_payloads, &from, ret_count, err);
}
