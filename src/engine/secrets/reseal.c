#include "engine/secrets/reseal.h"

enum { BATCH_ROWS = 100 };

bool reseal_secret(const struct reseal *reseal, const char *purpose, const char *identity, struct bytes sealed,
                   struct bytes *ret_sealed, struct error *err)
{
    struct bytes secret;
    if (!seal_open(reseal->arena, reseal->ring, purpose, identity, sealed, &secret, err))
        return false;
    *ret_sealed = seal(reseal->arena, reseal->ring, purpose, identity, secret);
    return true;
}

static bool reseal_batch(const struct work *work, reseal_next *next, void *position, size_t *ret_count, struct error *err)
{
    ARENA_SCOPE arena = arena_new(0);
    struct seal_ring *ring;
    DB_TX tx = { .conn = NULL };
    if (!db_tx_begin(work->conn, &tx, err) || !secrets_sealing(work, arena, &ring, err))
        return false;
    struct reseal reseal = {
        .work = work,
        .arena = arena,
        .ring = ring,
        .updates = db_batch_new(work->conn, arena),
        .key_id = seal_ring_newest(ring),
        .limit = BATCH_ROWS,
    };
    if (!next(&reseal, position, ret_count, err))
        return false;
    return *ret_count == 0 || db_batch_run_commit(reseal.updates, &tx, err);
}

bool reseal_table(const struct work *work, reseal_next *next, void *position, int64_t *ret_count, struct error *err)
{
    size_t count = BATCH_ROWS;
    *ret_count = 0;
    while (count == BATCH_ROWS) {
        if (!reseal_batch(work, next, position, &count, err))
            return false;
        *ret_count += (int64_t)count;
    }
    return true;
}
