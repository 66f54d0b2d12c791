#include "engine/provider_reports/connections.h"

#include "base/text.h"
#include "crypto/verify.h"
#include "sql/provider_reports.h"

#include <string.h>

enum { TOPIC_MAX_BYTES = 400, KEY_MAX_CHARS = 400, PASSWORD_BYTES = 24 };

char *report_connection_path(const struct work *work, const char *provider, int64_t id)
{
    return arena_printf(work->arena, "/reports/%s/%s", provider, work_id(work, ID_REPORT_SOURCE, id));
}

/* ---- What proves a report ---- */

static bool topic_verifier(const struct report_connection *connection, struct bytes *ret_verifier, struct error *err)
{
    const char *topic = connection->topic;
    if (topic == NULL || strncmp(topic, "arn:aws", strlen("arn:aws")) != 0 || strstr(topic, ":sns:") == NULL ||
        strlen(topic) > TOPIC_MAX_BYTES || !text_is_ascii(topic))
        return fail(err, ERR_INVALID_REQUEST, "topic", "Pass the ARN of the SNS topic: arn:aws:sns:REGION:ACCOUNT:NAME.");
    *ret_verifier = (struct bytes){ (const unsigned char *)topic, strlen(topic) };
    return true;
}

static bool key_verifier(const struct work *work, const struct report_connection *connection, struct bytes *ret_verifier,
                         struct error *err)
{
    const char *text = connection->public_key;
    if (text != NULL && strlen(text) <= KEY_MAX_CHARS)
        ret_verifier->data = base64_decode(work->arena, text, &ret_verifier->size);
    return (ret_verifier->data != NULL && verify_key_is_p256(*ret_verifier)) ||
           fail(err, ERR_INVALID_REQUEST, "publicKey", "Pass the verification key of the event webhook: base64 of a P-256 key.");
}

static void password_verifier(const struct work *work, const char **ret_credential, struct bytes *ret_verifier)
{
    unsigned char secret[PASSWORD_BYTES];
    unsigned char *hash = arena_alloc(work->arena, SECRET_HASH_BYTES);
    random_bytes(secret, sizeof(secret));
    *ret_credential = arena_printf(work->arena, "posthorn:%s", base64url_encode(work->arena, secret, sizeof(secret)));
    secret_hash(*ret_credential, hash);
    *ret_verifier = (struct bytes){ hash, SECRET_HASH_BYTES };
}

static bool make_verifier(const struct work *work, const struct report_connection *connection, struct bytes *ret_verifier,
                          const char **ret_credential, struct error *err)
{
    *ret_credential = NULL;
    *ret_verifier = (struct bytes){ NULL, 0 };
    if (strcmp(connection->provider, "ses") == 0)
        return topic_verifier(connection, ret_verifier, err);
    if (strcmp(connection->provider, "sendgrid") == 0)
        return key_verifier(work, connection, ret_verifier, err);
    if (strcmp(connection->provider, "postmark") != 0)
        return fail(err, ERR_INVALID_REQUEST, "provider", "The provider must be ses, sendgrid or postmark.");
    password_verifier(work, ret_credential, ret_verifier);
    return true;
}

/* ---- Rows ---- */

bool report_connection_add(const struct work *work, const struct report_connection *connection, int64_t *ret_id,
                           const char **ret_credential, struct error *err)
{
    struct report_connection_insert_params params = {
        .organization_id = work->organization_id,
        .provider = connection->provider,
        .name = connection->name != NULL ? connection->name : connection->provider,
        .now = work->now_us,
        .most = REPORT_CONNECTIONS_MAX,
    };
    struct report_connection_insert_row *row;
    if (!make_verifier(work, connection, &params.verifier, ret_credential, err))
        return false;
    if (!utf8_has_length(params.name, 0, REPORT_CONNECTION_NAME_MAX_CHARS))
        return fail(err, ERR_INVALID_REQUEST, "name", "The name has at most %d characters.", REPORT_CONNECTION_NAME_MAX_CHARS);
    if (!sql_report_connection_insert(work->conn, work->arena, &params, &row, err))
        return false;
    if (row == NULL)
        return fail(err, ERR_INVALID_REQUEST, NULL, "The organization has %d connections; remove one first.",
                    REPORT_CONNECTIONS_MAX);
    *ret_id = row->id;
    return true;
}

static void write_connection(const struct work *work, const struct report_connections_list_row *row, struct json_writer *json)
{
    json_object_begin(json);
    json_member_id(json, work, "connectionId", ID_REPORT_SOURCE, row->id);
    json_member_text(json, "provider", row->provider);
    json_member_text(json, "name", row->name);
    json_member_text(json, "path", report_connection_path(work, row->provider, row->id));
    if (strcmp(row->provider, "ses") == 0)
        json_member_text(json, "topic", arena_dup_bytes(work->arena, (const char *)row->verifier.data, row->verifier.size));
    if (strcmp(row->provider, "sendgrid") == 0)
        json_member_text(json, "publicKey", base64_encode(work->arena, row->verifier.data, row->verifier.size));
    json_member_time(json, "createdAt", row->created_at);
    json_object_end(json);
}

bool report_connections_write(const struct work *work, struct json_writer *json, struct error *err)
{
    struct report_connections_list_params params = { work->organization_id };
    struct report_connections_list_row *rows;
    size_t count;
    if (!sql_report_connections_list(work->conn, work->arena, &params, &rows, &count, err))
        return false;
    json_list_begin(json);
    for (size_t i = 0; i < count; i++)
        write_connection(work, &rows[i], json);
    json_list_end(json);
    return true;
}

bool report_connection_remove(const struct work *work, const char *wire_id, struct error *err)
{
    struct report_connection_remove_params params = {
        .organization_id = work->organization_id,
        .id = id_decode(&work->engine->ids, ID_REPORT_SOURCE, wire_id),
    };
    struct report_connection_remove_row *row;
    if (!sql_report_connection_remove(work->conn, work->arena, &params, &row, err))
        return false;
    return row != NULL || fail(err, ERR_NOT_FOUND, "connection", "No connection with this id in this organization.");
}
