#include "engine/domains/domain_keys.h"

#include "crypto/sign.h"
#include "engine/domains/signing.h"
#include "engine/secrets/reseal.h"
#include "sql/domain_keys.h"

#include <string.h>

enum { PAIR_KEYS = 2 };

static const char sealed_as[] = "domain key";

/* The keys of a pair, in the order in which messages are signed. */
static const struct key_kind {
    enum sign_algorithm signs;
    enum dkim_algorithm algorithm;
    const char *name;
    char letter; /* suffix of the selector */
} kinds[PAIR_KEYS] = {
    { SIGN_RSA_SHA256, DKIM_RSA_SHA256, "rsa-sha256", 'r' },
    { SIGN_ED25519, DKIM_ED25519_SHA256, "ed25519-sha256", 'e' },
};

struct domain_key_pair {
    struct {
        struct bytes private_key;
        struct bytes public_key;
    } keys[PAIR_KEYS];
};

/* The associated data of a sealed key: it opens only for the same domain and selector. */
static const char *sealing_identity(struct arena *arena, int64_t brand_id, int64_t domain_id, const char *selector)
{
    return arena_printf(arena, "%lld/%lld/%s", (long long)brand_id, (long long)domain_id, selector);
}

/* ---- Key pairs ---- */

bool domain_key_pair_new(struct arena *arena, struct domain_key_pair **ret_pair, struct error *err)
{
    struct domain_key_pair *pair = arena_alloc(arena, sizeof(*pair));
    for (size_t i = 0; i < PAIR_KEYS; i++) {
        struct sign_key *key;
        if (!sign_key_generate(arena, kinds[i].signs, &key, err) ||
            !sign_key_private(arena, key, &pair->keys[i].private_key, err) ||
            !sign_key_public(arena, key, &pair->keys[i].public_key, err))
            return false;
    }
    *ret_pair = pair;
    return true;
}

bool domain_key_pair_keep(const struct work *work, int64_t domain_id, const struct domain_key_pair *pair, bool is_used,
                          struct error *err)
{
    ARENA_SCOPE secrets = arena_new(0);
    struct seal_ring *ring;
    struct domain_key_number_row *row;
    if (!secrets_sealing(work, secrets, &ring, err) || !sql_domain_key_number(work->conn, work->arena, &row, err))
        return false;
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    for (size_t i = 0; i < PAIR_KEYS; i++) {
        const char *selector = arena_printf(work->arena, "ph%lld%c", (long long)row->number, kinds[i].letter);
        const char *identity = sealing_identity(work->arena, work->brand_id, domain_id, selector);
        struct domain_key_insert_params params = {
            .brand_id = work->brand_id,
            .domain_id = domain_id,
            .selector = selector,
            .algorithm = kinds[i].name,
            .public_key = pair->keys[i].public_key,
            .sealed_key = seal(work->arena, ring, sealed_as, identity, pair->keys[i].private_key),
            .used_from = { .set = is_used, .value = work->now_us },
            .now = work->now_us,
        };
        db_batch_add(batch, &domain_key_insert_statement, &params);
    }
    return db_batch_run(batch, err);
}

bool domain_keys_lock(const struct work *work, int64_t domain_id, struct domain_key_counts *ret_counts, struct error *err)
{
    struct domain_keys_lock_params lock = { .brand_id = work->brand_id, .domain_id = domain_id };
    struct domain_keys_count_params params = { .brand_id = work->brand_id, .domain_id = domain_id };
    struct domain_keys_lock_row *domain;
    struct domain_keys_count_row *row;
    if (!sql_domain_keys_lock(work->conn, work->arena, &lock, &domain, err))
        return false;
    if (domain == NULL)
        return fail(err, ERR_DOMAIN_NOT_FOUND, "domainId", "No sending domain with this id in this brand.");
    if (!sql_domain_keys_count(work->conn, work->arena, &params, &row, err))
        return false;
    *ret_counts = (struct domain_key_counts){ .waiting = row->waiting, .used = row->used };
    return true;
}

bool domain_keys_exchange(const struct work *work, int64_t domain_id, struct error *err)
{
    struct domain_keys_retire_params retire = { .brand_id = work->brand_id, .domain_id = domain_id, .now = work->now_us };
    struct domain_keys_use_params use = { .brand_id = work->brand_id, .domain_id = domain_id, .now = work->now_us };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    db_batch_add(batch, &domain_keys_retire_statement, &retire);
    db_batch_add(batch, &domain_keys_use_statement, &use);
    return db_batch_run(batch, err);
}

bool domain_keys_ensure(const struct work *work, int64_t domain_id, struct error *err)
{
    ARENA_SCOPE secrets = arena_new(0);
    struct domain_key_pair *pair;
    struct domain_key_counts counts;
    DB_TX tx = { .conn = NULL };
    /* The pair is generated before the domain is locked, because it takes long. */
    if (!domain_key_pair_new(secrets, &pair, err) || !db_tx_begin(work->conn, &tx, err) ||
        !domain_keys_lock(work, domain_id, &counts, err))
        return false;
    if (counts.used == 0 && !domain_key_pair_keep(work, domain_id, pair, true, err))
        return false;
    return db_tx_commit(&tx, err);
}

/* ---- Signing ---- */

static bool used_keys(const struct work *work, int64_t domain_id, struct domain_keys_used_row **ret_rows, size_t *ret_count,
                      struct error *err)
{
    struct domain_keys_used_params params = { .brand_id = work->brand_id, .domain_id = domain_id };
    return sql_domain_keys_used(work->conn, work->arena, &params, ret_rows, ret_count, err);
}

static bool open_key(const struct work *work, int64_t domain_id, const struct domain_keys_used_row *row, struct arena *arena,
                     const struct seal_ring *ring, struct dkim_key **ret_key, struct error *err)
{
    ARENA_SCOPE secrets = arena_new(0);
    const char *identity = sealing_identity(work->arena, work->brand_id, domain_id, row->selector);
    struct bytes private_key;
    if (!seal_open(secrets, ring, sealed_as, identity, row->sealed_key, &private_key, err))
        return false;
    for (size_t i = 0; i < PAIR_KEYS; i++)
        if (strcmp(kinds[i].name, row->algorithm) == 0)
            return dkim_key_new(arena, kinds[i].algorithm, row->name, row->selector, private_key, ret_key, err);
    return fail(err, ERR_INTERNAL_ERROR, NULL, "A signing key has an unknown algorithm.");
}

bool domain_signing_keys(const struct work *work, int64_t domain_id, struct arena *arena, struct dkim_key_list *ret_keys,
                         struct error *err)
{
    ARENA_SCOPE secrets = arena_new(0);
    struct domain_keys_used_row *rows;
    size_t count;
    *ret_keys = (struct dkim_key_list){ NULL, 0 };
    if (!used_keys(work, domain_id, &rows, &count, err))
        return false;
    bool lacks_keys = count == 1 && rows[0].selector == NULL;
    if (lacks_keys && (!domain_keys_ensure(work, domain_id, err) || !used_keys(work, domain_id, &rows, &count, err)))
        return false;
    if (count == 0)
        return true;
    struct seal_ring *ring;
    struct dkim_key **keys = arena_array(arena, count, sizeof(struct dkim_key *));
    if (!secrets_opening(work, secrets, &ring, err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!open_key(work, domain_id, &rows[i], arena, ring, &keys[i], err))
            return false;
    *ret_keys = (struct dkim_key_list){ keys, count };
    return true;
}

/* ---- Resealing ---- */

static bool reseal_key(const struct reseal *reseal, const struct domain_keys_to_reseal_row *row, struct error *err)
{
    const char *identity = sealing_identity(reseal->arena, row->brand_id, row->domain_id, row->selector);
    struct domain_key_reseal_params params = {
        .brand_id = row->brand_id,
        .domain_id = row->domain_id,
        .selector = row->selector,
    };
    if (!reseal_secret(reseal, sealed_as, identity, row->sealed_key, &params.sealed_key, err))
        return false;
    db_batch_add(reseal->updates, &domain_key_reseal_statement, &params);
    return true;
}

static bool reseal_next_keys(const struct reseal *reseal, void *position, size_t *ret_count, struct error *err)
{
    struct domain_keys_to_reseal_params *at = position;
    struct domain_keys_to_reseal_row *rows;
    at->key_id = reseal->key_id;
    at->limit = reseal->limit;
    if (!sql_domain_keys_to_reseal(reseal->work->conn, reseal->arena, at, &rows, ret_count, err))
        return false;
    for (size_t i = 0; i < *ret_count; i++) {
        if (!reseal_key(reseal, &rows[i], err))
            return false;
        at->after_brand_id = rows[i].brand_id;
        at->after_domain_id = rows[i].domain_id;
        at->after_selector = rows[i].selector;
    }
    at->after_selector = arena_dup(reseal->work->arena, at->after_selector);
    return true;
}

bool domain_keys_reseal(const struct work *work, int64_t *ret_count, struct error *err)
{
    struct domain_keys_to_reseal_params from = { .after_selector = "" };
    return reseal_table(work, reseal_next_keys, &from, ret_count, err);
}
