#include "engine/core/work.h"

#include "base/clock.h"
#include "base/text.h"
#include "db/advisory_locks.h"
#include "sql/work.h"

#include <string.h>

static const char default_organization[] = "Local";
static const char default_brand[] = "My brand";

/* A setting of the table, and its destination in the engine. */
struct setting {
    const char *name;
    unsigned char *bytes;
    size_t size;
};

static bool keep_new_secrets(struct db_conn *conn, struct arena *arena, const struct setting *settings, size_t count,
                             struct error *err)
{
    struct db_batch *batch = db_batch_new(conn, arena);
    for (size_t i = 0; i < count; i++) {
        unsigned char *secret = arena_alloc(arena, settings[i].size);
        random_bytes(secret, settings[i].size);
        struct setting_keep_params params = { .name = settings[i].name, .value = { secret, settings[i].size } };
        db_batch_add(batch, &setting_keep_statement, &params);
    }
    return db_batch_run(batch, err);
}

static bool load_settings(struct db_conn *conn, struct arena *arena, const struct setting *settings, size_t count,
                          struct error *err)
{
    struct setting_all_row *rows;
    size_t row_count;
    if (!sql_setting_all(conn, arena, &rows, &row_count, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        bool found = false;
        for (size_t j = 0; j < row_count && !found; j++) {
            found = text_equal(rows[j].name, settings[i].name) && rows[j].value.size == settings[i].size;
            if (found)
                memcpy(settings[i].bytes, rows[j].value.data, settings[i].size);
        }
        if (!found)
            return fail(err, ERR_INTERNAL_ERROR, NULL, "The database has no valid key of this installation.") ||
                   error_because(err, "setting %s is missing or has another size", settings[i].name);
    }
    return true;
}

static bool make_defaults(struct db_conn *conn, struct arena *arena, struct engine *engine, struct error *err)
{
    struct defaults_lock_params lock = { .lock = ADVISORY_LOCK_DEFAULTS };
    struct defaults_find_row *found;
    if (!sql_defaults_lock(conn, arena, &lock, NULL, err) || !sql_defaults_find(conn, arena, &found, err))
        return false;

    int64_t now_us = clock_now_us();
    if (found != NULL) {
        engine->default_organization_id = found->organization_id;
    } else {
        struct organization_insert_params organization = { .name = default_organization, .now = now_us };
        struct organization_insert_row *row;
        if (!sql_organization_insert(conn, arena, &organization, &row, err))
            return false;
        engine->default_organization_id = row->id;
    }
    if (found != NULL && found->brand_id.set) {
        engine->default_brand_id = found->brand_id.value;
        return true;
    }
    struct brand_insert_params brand = {
        .organization_id = engine->default_organization_id,
        .name = default_brand,
        .identity = "{}",
        .sandbox_domain = engine->sandbox_domain,
        .now = now_us,
    };
    struct brand_insert_row *row;
    if (!sql_brand_insert(conn, arena, &brand, &row, err))
        return false;
    engine->default_brand_id = row->id;
    return true;
}

/* The name is the hash of a key: a copy of the database has the same name, and any other installation has another. */
static void name_installation(struct engine *engine)
{
    unsigned char hash[SECRET_HASH_BYTES];
    sha256(engine->token_key, sizeof(engine->token_key), hash);
    hex_encode(hash, ENGINE_NAME_CHARS / 2, engine->name);
}

bool engine_load(struct db_conn *conn, struct engine *engine, struct error *err)
{
    unsigned char id_key[ID_KEY_BYTES];
    const struct setting settings[] = {
        { "idKey", id_key, sizeof(id_key) },
        { "tokenKey", engine->token_key, sizeof(engine->token_key) },
        { "addressKey", engine->address_key, sizeof(engine->address_key) },
    };
    ARENA_SCOPE arena = arena_new(0);

    DB_TX tx = { .conn = NULL };
    if (!db_tx_begin(conn, &tx, err) || !keep_new_secrets(conn, arena, settings, ARRAY_COUNT(settings), err) ||
        !load_settings(conn, arena, settings, ARRAY_COUNT(settings), err) || !make_defaults(conn, arena, engine, err))
        return false;
    id_codec_init(&engine->ids, id_key);
    token_keys_init(&engine->token_keys, engine->token_key);
    name_installation(engine);
    return db_tx_commit(&tx, err);
}

char *work_id(const struct work *work, enum id_kind kind, int64_t id)
{
    return id_text(&work->engine->ids, work->arena, kind, id);
}

void json_member_id(struct json_writer *json, const struct work *work, const char *name, enum id_kind kind, int64_t id)
{
    char text[ID_MAX_CHARS];
    id_encode(&work->engine->ids, kind, id, text);
    json_member_text(json, name, text);
}

void json_member_id_if(struct json_writer *json, const struct work *work, const char *name, enum id_kind kind, struct opt_int id)
{
    if (id.set)
        json_member_id(json, work, name, kind, id.value);
}

void json_member_time(struct json_writer *json, const char *name, int64_t time_us)
{
    char text[CLOCK_ISO_CHARS + 1];
    clock_format_iso(time_us, text);
    json_member_text(json, name, text);
}

void json_member_time_if(struct json_writer *json, const char *name, struct opt_int time_us)
{
    if (time_us.set)
        json_member_time(json, name, time_us.value);
}

void json_member_int_or_null(struct json_writer *json, const char *name, struct opt_int value)
{
    json_key(json, name);
    if (value.set)
        json_int(json, value.value);
    else
        json_null_value(json);
}
