#include "engine/secrets/model_keys.h"

#include "base/text.h"
#include "engine/secrets/reseal.h"
#include "sql/model_keys.h"

#include <string.h>

static const char sealed_as[] = "model";

/* ---- Texts ---- */

/* The server without the slashes at its end. */
static const char *server_name(struct arena *arena, const char *server)
{
    size_t size = strlen(server);
    while (size > 0 && server[size - 1] == '/')
        size--;
    return arena_dup_bytes(arena, server, size);
}

static bool check_texts(const char *server, const char *key, struct error *err)
{
    bool is_known = text_equal(server, "anthropic") || text_equal(server, "openai");
    bool is_address = text_starts_with(server, "http://") || text_starts_with(server, "https://");
    if ((!is_known && !is_address) || !text_is_word(server, MODEL_SERVER_MAX_CHARS))
        return fail(err, ERR_INVALID_REQUEST, "server", "The server is anthropic, openai, or the base address of another one.");
    return text_is_word(key, MODEL_KEY_SECRET_MAX_BYTES) ||
           fail(err, ERR_INVALID_REQUEST, "secret", "The key must be one word of printable ASCII, of at most %d bytes.",
                MODEL_KEY_SECRET_MAX_BYTES);
}

/* ---- Changes ---- */

static bool seal_key(const struct work *work, const char *server, const char *key, struct bytes *ret_sealed, struct error *err)
{
    ARENA_SCOPE secrets = arena_new(0);
    struct seal_ring *ring;
    if (!secrets_sealing(work, secrets, &ring, err))
        return false;
    const struct bytes bytes = { (const unsigned char *)key, strlen(key) };
    *ret_sealed = seal(work->arena, ring, sealed_as, server, bytes);
    return true;
}

bool model_key_set(const struct work *work, const char *server, const char *key, struct error *err)
{
    const char *name = server_name(work->arena, server);
    struct model_key_set_params params = { .server = name, .now = work->now_us, .most = MODEL_KEYS_MAX };
    struct model_key_set_row *row;
    if (!check_texts(name, key, err) || !seal_key(work, name, key, &params.key, err) ||
        !sql_model_key_set(work->conn, work->arena, &params, &row, err))
        return false;
    return row != NULL ||
           fail(err, ERR_INVALID_REQUEST, "server", "There are %d keys of models; remove one first.", MODEL_KEYS_MAX);
}

bool model_key_remove(const struct work *work, const char *server, struct error *err)
{
    struct model_key_delete_params params = { server_name(work->arena, server) };
    struct model_key_delete_row *row;
    if (!sql_model_key_delete(work->conn, work->arena, &params, &row, err))
        return false;
    return row != NULL || fail(err, ERR_NOT_FOUND, "server", "No key of this server is stored.");
}

/* ---- Reading ---- */

bool model_keys_write(const struct work *work, struct json_writer *json, struct error *err)
{
    struct model_keys_list_row *rows;
    size_t count;
    if (!sql_model_keys_list(work->conn, work->arena, &rows, &count, err))
        return false;
    json_list_begin(json);
    for (size_t i = 0; i < count; i++) {
        json_object_begin(json);
        json_member_text(json, "server", rows[i].server);
        json_member_time(json, "setAt", rows[i].set_at);
        json_object_end(json);
    }
    json_list_end(json);
    return true;
}

bool model_key_find(const struct work *work, struct arena *secrets, const char *server, const char **ret_key, struct error *err)
{
    const char *name = server_name(work->arena, server);
    struct model_key_find_params params = { name };
    struct model_key_find_row *row;
    struct seal_ring *ring;
    struct bytes key;
    *ret_key = NULL;
    if (!sql_model_key_find(work->conn, work->arena, &params, &row, err))
        return false;
    if (row == NULL)
        return true;
    if (!secrets_opening(work, secrets, &ring, err) || !seal_open(secrets, ring, sealed_as, name, row->key, &key, err))
        return false;
    *ret_key = arena_dup_bytes(secrets, (const char *)key.data, key.size);
    return true;
}

/* ---- Resealing ---- */

static bool reseal_next_keys(const struct reseal *reseal, void *position, size_t *ret_count, struct error *err)
{
    struct model_keys_to_reseal_params *at = position;
    struct model_keys_to_reseal_row *rows;
    at->key_id = reseal->key_id;
    at->limit = reseal->limit;
    if (!sql_model_keys_to_reseal(reseal->work->conn, reseal->arena, at, &rows, ret_count, err))
        return false;
    for (size_t i = 0; i < *ret_count; i++) {
        struct model_key_seal_params params = { .server = rows[i].server };
        if (!reseal_secret(reseal, sealed_as, rows[i].server, rows[i].key, &params.key, err))
            return false;
        db_batch_add(reseal->updates, &model_key_seal_statement, &params);
        at->after_server = arena_dup(reseal->work->arena, rows[i].server);
    }
    return true;
}

bool model_keys_reseal(const struct work *work, int64_t *ret_count, struct error *err)
{
    struct model_keys_to_reseal_params from = { .after_server = "" };
    return reseal_table(work, reseal_next_keys, &from, ret_count, err);
}
