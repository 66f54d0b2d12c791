#include "engine/secrets/secrets.h"

#include "crypto/key_file.h"
#include "db/cluster.h"
#include "sql/secrets.h"

#include <string.h>

static bool fail_keys(struct error *err)
{
    return fail(err, ERR_SERVICE_UNAVAILABLE, NULL, "The master keys of this installation cannot be used.");
}

bool secrets_opening(const struct work *work, struct arena *arena, struct seal_ring **ret_ring, struct error *err)
{
    const char *path = work->engine->key_file;
    if (!key_file_read(arena, path, ret_ring, err))
        return false;
    return *ret_ring != NULL || fail_keys(err) || error_because(err, "%s is missing: restore it from its backup", path);
}

bool secrets_check_key(const struct work *work, const struct seal_ring *ring, struct bytes sealed, struct error *err)
{
    int id = sealed_key_id(sealed);
    struct sealing_keys_find_row *known;
    size_t count;
    if (!sql_sealing_keys_find(work->conn, work->arena, &known, &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (known[i].key_id == id && !seal_ring_has(ring, id, known[i].fingerprint))
            return fail_keys(err) ||
                   error_because(err, "%s does not have the master key %d that sealed the secrets of the database",
                                 work->engine->key_file, id);
    return true;
}

/* Makes the key file, if nothing was sealed before. Otherwise the file was lost, or is on another machine. */
static bool make_first_key(const struct work *work, struct arena *arena, struct seal_ring **ret_ring, struct error *err)
{
    const struct engine *engine = work->engine;
    struct sealing_keys_find_row *known;
    size_t count;
    if (!sql_sealing_keys_find(work->conn, work->arena, &known, &count, err))
        return false;
    if (count > 0)
        return fail_keys(err) ||
               error_because(err,
                             "%s is missing, but the database contains secrets sealed with master key %lld: restore "
                             "it from its backup, or copy it from the machine that has it",
                             engine->key_file, (long long)known[count - 1].key_id);
    return cluster_make_folder(engine->data_dir, err) && key_file_make(arena, engine->key_file, ret_ring, err);
}

/* Checks that the newest key has the fingerprint that the database stores for its number. */
static bool check_fingerprint(const struct work *work, const struct seal_ring *ring, struct error *err)
{
    unsigned char fingerprint[SEAL_FINGERPRINT_BYTES];
    seal_ring_fingerprint(ring, fingerprint);
    struct sealing_key_keep_params params = {
        .key_id = seal_ring_newest(ring),
        .fingerprint = { fingerprint, sizeof(fingerprint) },
        .now = work->now_us,
    };
    struct sealing_keys_find_row *known;
    size_t count;
    if (!sql_sealing_key_keep(work->conn, work->arena, &params, NULL, err) ||
        !sql_sealing_keys_find(work->conn, work->arena, &known, &count, err))
        return false;
    for (size_t i = 0; i < count; i++)
        if (known[i].key_id == params.key_id && known[i].fingerprint.size == sizeof(fingerprint) &&
            memcmp(known[i].fingerprint.data, fingerprint, sizeof(fingerprint)) == 0)
            return true;
    return fail_keys(err) || error_because(err, "master key %lld of %s is not the key that sealed the secrets of the database",
                                           (long long)params.key_id, work->engine->key_file);
}

bool secrets_sealing(const struct work *work, struct arena *arena, struct seal_ring **ret_ring, struct error *err)
{
    if (!key_file_read(arena, work->engine->key_file, ret_ring, err))
        return false;
    if (*ret_ring == NULL && !make_first_key(work, arena, ret_ring, err))
        return false;
    return check_fingerprint(work, *ret_ring, err);
}
