#include "engine/integrations/connections.h"

#include "base/json_read.h"
#include "base/text.h"
#include "engine/secrets/reseal.h"
#include "sql/integrations.h"

#include <string.h>

enum { JSON_MAX_BYTES = 64 * 1024 };

static const char sealed_as[] = "integration";

char *integration_path(const struct work *work, const char *provider, int64_t id)
{
    return arena_printf(work->arena, "/integrations/%s/webhook/%s", provider, work_id(work, ID_INTEGRATION, id));
}

bool integration_provider_find(const char *key, const struct integration_provider **ret_provider, struct error *err)
{
    for (size_t i = 0; i < integration_provider_count; i++) {
        *ret_provider = &integration_providers[i];
        if (text_equal(key, (*ret_provider)->key))
            return true;
    }
    return fail(err, ERR_INVALID_REQUEST, "provider",
                "The provider must be identity, payments, ecommerce, authentication, database, directory_sync or in_app_purchase.");
}

/* ---- Secrets ---- */

/* The associated data of a sealed secret: it opens only for the same connection. */
static const char *sealing_identity(struct arena *arena, int64_t brand_id, int64_t id)
{
    return arena_printf(arena, "%lld/%lld", (long long)brand_id, (long long)id);
}

static bool seal_secret(const struct work *work, int64_t id, const char *secret, struct bytes *ret_sealed, struct error *err)
{
    ARENA_SCOPE secrets = arena_new(0);
    struct seal_ring *ring;
    if (!secrets_sealing(work, secrets, &ring, err))
        return false;
    struct bytes bytes = { (const unsigned char *)secret, strlen(secret) };
    *ret_sealed = seal(work->arena, ring, sealed_as, sealing_identity(work->arena, work->brand_id, id), bytes);
    return true;
}

bool integration_secret_open(const struct work *work, struct arena *secrets, int64_t brand_id, int64_t id, struct bytes sealed,
                             const char **ret_secret, struct error *err)
{
    struct seal_ring *ring;
    struct bytes secret;
    if (!secrets_opening(work, secrets, &ring, err) ||
        !seal_open(secrets, ring, sealed_as, sealing_identity(secrets, brand_id, id), sealed, &secret, err))
        return false;
    *ret_secret = arena_dup_bytes(secrets, (const char *)secret.data, secret.size);
    return true;
}

/* The given secret, or a new one. */
static bool choose_secret(const struct work *work, const struct integration_provider *provider, const char *given,
                          const char **ret_secret, const char **ret_new_secret, struct error *err)
{
    *ret_new_secret = given == NULL ? proof_secret_new(work->arena, provider) : NULL;
    *ret_secret = given == NULL ? *ret_new_secret : given;
    return proof_secret_check(provider, *ret_secret, err);
}

/* ---- Settings ---- */

/* A name in lower case that can follow the provider in the name of a field. */
static bool is_column_name(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
    size_t size = strlen(name);
    return size > 0 && size <= INTEGRATION_NAME_MAX_CHARS && strspn(name, letters) > 0 &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == size;
}

static bool is_table_name(const char *name)
{
    size_t size = strlen(name);
    return size > 0 && size <= INTEGRATION_NAME_MAX_CHARS && utf8_is_valid(name, size) && strpbrk(name, " \t\r\n\"") == NULL;
}

static bool check_settings(const struct integration_provider *provider, const struct integration_connection *connection,
                           struct error *err)
{
    bool has_tables = provider->table_path != NULL;
    if (!has_tables && (connection->tables.count > 0 || connection->columns.count > 0))
        return fail(err, ERR_INVALID_REQUEST, "tables", "Only the provider database has tables and columns.");
    if (has_tables && (connection->tables.count == 0 || connection->tables.count > INTEGRATION_TABLES_MAX))
        return fail(err, ERR_INVALID_REQUEST, "tables", "Name 1 to %d tables whose events are received.", INTEGRATION_TABLES_MAX);
    if (connection->columns.count > INTEGRATION_COLUMNS_MAX)
        return fail(err, ERR_INVALID_REQUEST, "columns", "Name at most %d columns.", INTEGRATION_COLUMNS_MAX);
    for (size_t i = 0; i < connection->tables.count; i++)
        if (!is_table_name(connection->tables.items[i]))
            return fail(err, ERR_INVALID_REQUEST, "tables", "The name of a table has at most %d characters, without spaces.",
                        INTEGRATION_NAME_MAX_CHARS);
    for (size_t i = 0; i < connection->columns.count; i++)
        if (!is_column_name(connection->columns.items[i]))
            return fail(
                err, ERR_INVALID_REQUEST, "columns",
                "The name of a column has lower-case letters, digits and _, begins with a letter, and has at most %d characters.",
                INTEGRATION_NAME_MAX_CHARS);
    return true;
}

static const char *settings_json(const struct work *work, const struct integration_connection *connection)
{
    struct buf *out = buf_in_arena(work->arena, JSON_MAX_BYTES);
    struct json_writer json;
    json_writer_init(&json, out);
    json_object_begin(&json);
    json_member_texts(&json, "tables", connection->tables);
    json_member_texts(&json, "columns", connection->columns);
    json_object_end(&json);
    return buf_text(out);
}

static struct text_list read_names(struct arena *arena, const json_t *list)
{
    const char **items = arena_array(arena, json_array_size(list), sizeof(*items));
    size_t i;
    const json_t *item;
    json_array_foreach (list, i, item)
        items[i] = json_string_value(item);
    return (struct text_list){ items, json_array_size(list) };
}

void integration_settings_read(struct arena *arena, const char *text, struct integration_settings *ret_settings)
{
    struct error ignored = { .code = ERR_NONE };
    const json_t *json = NULL;
    *ret_settings = (struct integration_settings){ .tables = { NULL, 0 } };
    if (!json_read(arena, text, strlen(text), (struct json_bounds){ .max_bytes = JSON_MAX_BYTES }, &json, &ignored))
        return;
    ret_settings->tables = read_names(arena, json_object_get(json, "tables"));
    ret_settings->columns = read_names(arena, json_object_get(json, "columns"));
}

/* ---- Triggers ---- */

static void write_field(struct json_writer *json, const char *key, const char *type, bool is_required)
{
    json_object_begin(json);
    json_member_text(json, "key", key);
    json_member_text(json, "type", type);
    json_member_bool(json, "required", is_required);
    json_object_end(json);
}

/* The fields of an event; only the address is in every payload. */
static const char *schema_json(const struct work *work, const struct integration_provider *provider,
                               const struct integration_mapping *mapping, struct text_list columns)
{
    struct buf *out = buf_in_arena(work->arena, JSON_MAX_BYTES);
    struct json_writer json;
    json_writer_init(&json, out);
    json_array_begin(&json);
    write_field(&json, "email", "string", true);
    for (size_t i = 0; i < mapping->field_count; i++)
        write_field(&json, mapping->fields[i].key, mapping->fields[i].type, false);
    for (size_t i = 0; mapping->columns != NULL && i < columns.count; i++)
        write_field(&json, arena_printf(work->arena, "%s_%s", provider->key, columns.items[i]), "string", false);
    json_array_end(&json);
    return buf_text(out);
}

static bool insert_triggers(const struct work *work, int64_t id, const struct integration_provider *provider,
                            const struct integration_connection *connection, struct error *err)
{
    size_t tables = connection->tables.count > 0 ? connection->tables.count : 1;
    size_t most = tables * provider->event_count;
    const char **events = arena_array(work->arena, most, sizeof(*events));
    const char **titles = arena_array(work->arena, most, sizeof(*titles));
    const char **schemas = arena_array(work->arena, most, sizeof(*schemas));
    size_t count = 0;
    for (size_t table = 0; table < tables; table++) {
        const char *name = connection->tables.count > 0 ? connection->tables.items[table] : NULL;
        for (size_t i = 0; i < provider->event_count; i++, count++) {
            const struct integration_event *event = &provider->events[i];
            events[count] = adapter_trigger_event(work->arena, event, name);
            titles[count] = name != NULL ? events[count] : event->title;
            schemas[count] = schema_json(work, provider, event->mapping, connection->columns);
        }
    }
    struct integration_triggers_insert_params params = {
        .brand_id = work->brand_id,
        .connection_id = id,
        .provider = provider->key,
        .events = { events, count },
        .titles = { titles, count },
        .schemas = { schemas, count },
        .now = work->now_us,
    };
    return sql_integration_triggers_insert(work->conn, work->arena, &params, NULL, err);
}

bool integration_triggers_write(const struct work *work, int64_t id, struct json_writer *json, struct error *err)
{
    struct integration_triggers_params params = { .brand_id = work->brand_id, .connection_id = id };
    struct integration_triggers_row *rows;
    size_t count;
    if (!sql_integration_triggers(work->conn, work->arena, &params, &rows, &count, err))
        return false;
    json_array_begin(json);
    for (size_t i = 0; i < count; i++) {
        json_object_begin(json);
        json_member_id(json, work, "triggerEventId", ID_TRIGGER, rows[i].id);
        json_member_text(json, "event", rows[i].event);
        json_member_text(json, "title", rows[i].title);
        json_object_end(json);
    }
    json_array_end(json);
    return true;
}

/* ---- Connections ---- */

static bool check_name(const char *name, struct error *err)
{
    return utf8_has_length(name, 0, INTEGRATION_CONNECTION_NAME_MAX_CHARS) ||
           fail(err, ERR_INVALID_REQUEST, "name", "The name has at most %d characters.", INTEGRATION_CONNECTION_NAME_MAX_CHARS);
}

static bool insert_connection(const struct work *work, const struct integration_provider *provider,
                              const struct integration_connection *connection, const char *secret, int64_t *ret_id,
                              struct error *err)
{
    struct integration_next_row *next;
    struct integration_insert_row *row;
    struct integration_insert_params params = {
        .brand_id = work->brand_id,
        .provider = provider->key,
        .name = connection->name != NULL ? connection->name : provider->name,
        .settings = settings_json(work, connection),
        .now = work->now_us,
        .most = INTEGRATIONS_MAX,
    };
    if (!check_name(params.name, err) || !sql_integration_next(work->conn, work->arena, &next, err) ||
        !seal_secret(work, next->id, secret, &params.secret, err))
        return false;
    params.id = *ret_id = next->id;
    if (!sql_integration_insert(work->conn, work->arena, &params, &row, err))
        return false;
    return row != NULL || fail(err, ERR_INVALID_REQUEST, NULL, "The brand has %d connections; revoke one first.", INTEGRATIONS_MAX);
}

bool integration_add(const struct work *work, const struct integration_connection *connection, int64_t *ret_id,
                     const char **ret_new_secret, struct error *err)
{
    const struct integration_provider *provider;
    const char *secret;
    return integration_provider_find(connection->provider, &provider, err) && check_settings(provider, connection, err) &&
           choose_secret(work, provider, connection->secret, &secret, ret_new_secret, err) &&
           insert_connection(work, provider, connection, secret, ret_id, err) &&
           insert_triggers(work, *ret_id, provider, connection, err);
}

static bool fail_unknown(struct error *err)
{
    return fail(err, ERR_NOT_FOUND, "connection", "No connection with this id is in use in this brand.");
}

bool integration_rotate(const struct work *work, const char *wire_id, const char *secret, const char **ret_new_secret,
                        struct error *err)
{
    struct integration_lock_params lock = { work->brand_id, id_decode(&work->engine->ids, ID_INTEGRATION, wire_id) };
    struct integration_rotate_params params = { .brand_id = lock.brand_id, .id = lock.id };
    const struct integration_provider *provider;
    struct integration_lock_row *row;
    if (!sql_integration_lock(work->conn, work->arena, &lock, &row, err))
        return false;
    if (row == NULL)
        return fail_unknown(err);
    return integration_provider_find(row->provider, &provider, err) &&
           choose_secret(work, provider, secret, &secret, ret_new_secret, err) &&
           seal_secret(work, params.id, secret, &params.secret, err) &&
           sql_integration_rotate(work->conn, work->arena, &params, NULL, err);
}

bool integration_revoke(const struct work *work, const char *wire_id, struct error *err)
{
    struct integration_revoke_params params = {
        .brand_id = work->brand_id,
        .id = id_decode(&work->engine->ids, ID_INTEGRATION, wire_id),
        .now = work->now_us,
    };
    struct integration_revoke_row *row;
    if (!sql_integration_revoke(work->conn, work->arena, &params, &row, err))
        return false;
    return row != NULL || fail_unknown(err);
}

static void write_connection(const struct work *work, const struct integrations_of_brand_row *row, struct json_writer *json)
{
    struct integration_settings settings;
    integration_settings_read(work->arena, row->settings, &settings);
    json_object_begin(json);
    json_member_id(json, work, "connectionId", ID_INTEGRATION, row->id);
    json_member_text(json, "provider", row->provider);
    json_member_text(json, "name", row->name);
    json_member_text(json, "path", integration_path(work, row->provider, row->id));
    if (settings.tables.count > 0)
        json_member_texts(json, "tables", settings.tables);
    if (settings.columns.count > 0)
        json_member_texts(json, "columns", settings.columns);
    json_member_time(json, "createdAt", row->created_at);
    json_member_time_if(json, "usedAt", row->used_at);
    json_member_time_if(json, "revokedAt", row->revoked_at);
    json_object_end(json);
}

bool integration_connections_write(const struct work *work, struct json_writer *json, struct error *err)
{
    struct integrations_of_brand_params params = { work->brand_id };
    struct integrations_of_brand_row *rows;
    size_t count;
    if (!sql_integrations_of_brand(work->conn, work->arena, &params, &rows, &count, err))
        return false;
    json_list_begin(json);
    for (size_t i = 0; i < count; i++)
        write_connection(work, &rows[i], json);
    json_list_end(json);
    return true;
}

/* ---- Resealing ---- */

static bool reseal_connection(const struct reseal *reseal, const struct integrations_to_reseal_row *row, struct error *err)
{
    const char *identity = sealing_identity(reseal->arena, row->brand_id, row->id);
    struct integration_rotate_params params = { .brand_id = row->brand_id, .id = row->id };
    if (!reseal_secret(reseal, sealed_as, identity, row->secret, &params.secret, err))
        return false;
    db_batch_add(reseal->updates, &integration_rotate_statement, &params);
    return true;
}

static bool reseal_next_connections(const struct reseal *reseal, void *position, size_t *ret_count, struct error *err)
{
    struct integrations_to_reseal_params *at = position;
    struct integrations_to_reseal_row *rows;
    at->key_id = reseal->key_id;
    at->limit = reseal->limit;
    if (!sql_integrations_to_reseal(reseal->work->conn, reseal->arena, at, &rows, ret_count, err))
        return false;
    for (size_t i = 0; i < *ret_count; i++) {
        if (!reseal_connection(reseal, &rows[i], err))
            return false;
        at->after_brand_id = rows[i].brand_id;
        at->after_id = rows[i].id;
    }
    return true;
}

bool integrations_reseal(const struct work *work, int64_t *ret_count, struct error *err)
{
    struct integrations_to_reseal_params from = { .limit = 0 };
    return reseal_table(work, reseal_next_connections, &from, ret_count, err);
}
