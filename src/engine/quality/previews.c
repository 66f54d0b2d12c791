#include "engine/quality/previews.h"

#include "base/text.h"

#include "base/clock.h"
#include "base/nearest.h"
#include "sql/emails.h"

#include <endian.h>
#include <string.h>

enum { LINK_NUMBERS = 2, LINK_HEAD_BYTES = LINK_NUMBERS * 8, CLIENT_MAX_BYTES = 64 };

static const int64_t lifetime_us = INT64_C(7) * 86400 * US_PER_S;
static const char link_purpose[] = "preview";

const struct mail_client *mail_client_find(const char *id)
{
    for (size_t i = 0; i < MAIL_CLIENT_COUNT; i++)
        if (strcmp(mail_clients[i].id, id) == 0)
            return &mail_clients[i];
    return NULL;
}

/* ---- Rounds ---- */

static bool has_text(struct text_list list, const char *text)
{
    for (size_t i = 0; i < list.count; i++)
        if (strcmp(list.items[i], text) == 0)
            return true;
    return false;
}

static bool refuse_client(const struct work *work, size_t place, const char *id, struct error *err)
{
    const char *ids[MAIL_CLIENT_COUNT];
    for (size_t i = 0; i < MAIL_CLIENT_COUNT; i++)
        ids[i] = mail_clients[i].id;
    fail(err, ERR_INVALID_REQUEST, arena_printf(work->arena, "clients.%zu", place), "%.64s is not a known client.", id);
    return error_suggest_name(err, id, ids, MAIL_CLIENT_COUNT);
}

/* The named clients, each once; those of the default when none is named. */
static bool read_clients(const struct work *work, const struct preview_request *request, struct text_list *ret_clients,
                         struct error *err)
{
    const char **ids = arena_array(work->arena, MAIL_CLIENT_COUNT + request->clients.count, sizeof(*ids));
    *ret_clients = (struct text_list){ .items = ids };
    for (size_t i = 0; i < request->clients.count; i++) {
        const char *id = request->clients.items[i];
        if (mail_client_find(id) == NULL)
            return refuse_client(work, i, id, err);
        if (!has_text(*ret_clients, id))
            ids[ret_clients->count++] = id;
    }
    for (size_t i = 0; request->clients.count == 0 && request->preview_id == 0 && i < MAIL_CLIENT_COUNT; i++)
        if (mail_clients[i].is_default)
            ids[ret_clients->count++] = mail_clients[i].id;
    return true;
}

static bool find_version(const struct work *work, int64_t email_id, int64_t *ret_version_id, struct error *err)
{
    struct email_find_params params = { .brand_id = work->brand_id, .id = email_id };
    struct email_find_row *email;
    if (!sql_email_find(work->conn, work->arena, &params, &email, err))
        return false;
    if (email == NULL)
        return fail(err, ERR_EMAIL_NOT_FOUND, "emailId", "No email with this id in this brand.");
    *ret_version_id = email->version_id.value;
    return email->version_id.set || fail(err, ERR_EMAIL_NOT_READY, "emailId", "This design has no version yet.");
}

static bool fail_not_found(struct error *err)
{
    return fail(err, ERR_PREVIEW_NOT_FOUND, "previewId", "No previews with this id in this brand, or they have expired.");
}

/* Previews without a row of the client: the client is the fault, unless they do not exist at all. */
static bool fail_without_client(const struct work *work, int64_t preview_id, struct error *err)
{
    struct preview_rows_params params = { .brand_id = work->brand_id, .id = preview_id, .now = work->now_us };
    struct preview_rows_row *rows;
    size_t count;
    if (!sql_preview_rows(work->conn, work->arena, &params, &rows, &count, err))
        return false;
    return count == 0 ? fail_not_found(err)
                      : fail(err, ERR_PREVIEW_NOT_FOUND, "client", "These previews do not show this client.") ||
                            error_suggest(err, "Leave out client to see the clients that they show.");
}

static bool lock_named(const struct work *work, const struct preview_request *request, int64_t *ret_id, struct error *err)
{
    struct preview_lock_params params = {
        .brand_id = work->brand_id, .id = request->preview_id, .email_id = request->email_id, .now = work->now_us
    };
    struct preview_lock_row *row;
    if (!sql_preview_lock(work->conn, work->arena, &params, &row, err))
        return false;
    *ret_id = row != NULL ? row->id : 0;
    return row != NULL || fail_not_found(err);
}

/* A caller who asks again for clients that are being drawn gets the previews that have them. */
static bool lock_pending(const struct work *work, int64_t email_id, int64_t version_id, struct text_list clients, int64_t *ret_id,
                         struct error *err)
{
    struct preview_lock_pending_params params = {
        .brand_id = work->brand_id,
        .email_id = email_id,
        .version_id = version_id,
        .clients = clients,
        .now = work->now_us,
    };
    struct preview_lock_row *row;
    if (!sql_preview_lock_pending(work->conn, work->arena, &params, &row, err))
        return false;
    *ret_id = row != NULL ? row->id : 0;
    return true;
}

static bool insert_previews(const struct work *work, int64_t email_id, int64_t version_id, int64_t *ret_id, struct error *err)
{
    struct preview_insert_params params = {
        .brand_id = work->brand_id,
        .email_id = email_id,
        .version_id = version_id,
        .now = work->now_us,
        .expires_at = work->now_us + lifetime_us,
    };
    struct preview_insert_row *row;
    if (!sql_preview_insert(work->conn, work->arena, &params, &row, err))
        return false;
    *ret_id = row->id;
    return true;
}

static bool find_previews(const struct work *work, const struct preview_request *request, struct text_list clients, int64_t *ret_id,
                          struct error *err)
{
    int64_t version_id;
    if (!find_version(work, request->email_id, &version_id, err))
        return false;
    if (request->preview_id != 0)
        return lock_named(work, request, ret_id, err);
    *ret_id = 0;
    if (request->clients.count > 0 && !lock_pending(work, request->email_id, version_id, clients, ret_id, err))
        return false;
    return *ret_id != 0 || insert_previews(work, request->email_id, version_id, ret_id, err);
}

bool preview_begin(const struct work *work, const struct preview_request *request, struct preview_round *ret_round,
                   struct error *err)
{
    struct preview_begin_round_params params = { .brand_id = work->brand_id };
    struct preview_begin_round_row *row;
    if (!read_clients(work, request, &params.clients, err) || !find_previews(work, request, params.clients, &params.id, err) ||
        !sql_preview_begin_round(work->conn, work->arena, &params, &row, err))
        return false;
    *ret_round = (struct preview_round){ .preview_id = params.id, .round = row->round, .has_new_clients = row->added > 0 };
    return true;
}

/* ---- The answer ---- */

static void write_result(const struct preview_rows_row *row, struct json_writer *json)
{
    json_member_text_if(json, "dataDate", row->data_date);
    if (row->transforms != NULL)
        json_member_raw(json, "transforms", row->transforms);
    if (row->width.set && row->height.set) {
        json_member_int(json, "width", row->width.value);
        json_member_int(json, "height", row->height.value);
    }
    if (row->is_cut.set)
        json_member_bool(json, "cut", row->is_cut.value);
    json_member_text_if(json, "reason", row->reason);
    if (row->retryable.set)
        json_member_bool(json, "retryable", row->retryable.value);
}

static void write_client(const struct work *work, int64_t preview_id, const struct preview_rows_row *row, struct json_writer *json)
{
    const struct mail_client *client = mail_client_find(row->client);
    bool is_completed = strcmp(row->status, "completed") == 0;
    json_object_begin(json);
    json_member_text(json, "id", row->client);
    if (client != NULL) {
        json_member_text(json, "label", client->label);
        json_member_text(json, "category", client->category);
        json_member_text_if(json, "os", client->os);
        json_member_bool(json, "dark", client->is_dark);
    }
    json_member_text(json, "status", row->status);
    json_member_text(json, "imageUrl", is_completed ? preview_picture_url(work, preview_id, row->client) : NULL);
    json_member_text(json, "fidelity", "simulated");
    write_result(row, json);
    json_object_end(json);
}

static void write_pending(const struct preview_rows_row *rows, size_t count, struct json_writer *json)
{
    json_key(json, "pending");
    json_array_begin(json);
    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i].status, "running") == 0)
            json_text(json, rows[i].client);
    json_array_end(json);
}

/* The picture of the client that was asked for. */
static void write_small_picture(const struct work *work, const struct preview_rows_row *row, struct json_writer *json)
{
    if (strcmp(row->status, "completed") != 0)
        return;
    const struct bytes small = row->small;
    json_member_text(json, "picture", small.data != NULL ? base64_encode(work->arena, small.data, small.size) : NULL);
}

bool preview_write(const struct work *work, int64_t preview_id, const char *client, struct json_writer *json, struct error *err)
{
    struct preview_rows_params params = { .brand_id = work->brand_id, .id = preview_id, .client = client, .now = work->now_us };
    struct preview_rows_row *rows;
    size_t count;
    if (!sql_preview_rows(work->conn, work->arena, &params, &rows, &count, err))
        return false;
    if (count == 0)
        return client != NULL ? fail_without_client(work, preview_id, err) : fail_not_found(err);
    json_object_begin(json);
    json_member_id(json, work, "previewId", ID_PREVIEW, preview_id);
    json_member_id(json, work, "emailId", ID_EMAIL, rows[0].email_id);
    json_member_id(json, work, "emailVersionId", ID_VERSION, rows[0].version_id);
    json_key(json, "previews");
    json_array_begin(json);
    for (size_t i = 0; i < count; i++)
        write_client(work, preview_id, &rows[i], json);
    json_array_end(json);
    write_pending(rows, count, json);
    if (client != NULL)
        write_small_picture(work, &rows[0], json);
    json_member_time(json, "createdAt", rows[0].created_at);
    json_member_time(json, "expiresAt", rows[0].expires_at);
    json_object_end(json);
    return true;
}

/* ---- Pictures ---- */

bool preview_picture_read(const struct work *work, int64_t preview_id, const char *client, struct preview_picture *ret_picture,
                          struct error *err)
{
    struct preview_picture_params params = { .brand_id = work->brand_id, .id = preview_id, .client = client, .now = work->now_us };
    struct preview_picture_row *row;
    if (!sql_preview_picture(work->conn, work->arena, &params, &row, err))
        return false;
    if (row == NULL)
        return fail(err, ERR_PREVIEW_NOT_FOUND, "client", "There is no picture of this client.");
    *ret_picture = (struct preview_picture){ .png = row->picture, .width = row->width.value, .height = row->height.value };
    return true;
}

const char *preview_picture_url(const struct work *work, int64_t preview_id, const char *client)
{
    unsigned char payload[LINK_HEAD_BYTES + CLIENT_MAX_BYTES];
    const uint64_t numbers[LINK_NUMBERS] = { htobe64((uint64_t)work->brand_id), htobe64((uint64_t)preview_id) };
    size_t size = strnlen(client, CLIENT_MAX_BYTES);
    if (work->engine->public_url == NULL)
        return NULL;
    memcpy(payload, numbers, sizeof(numbers));
    memcpy(payload + LINK_HEAD_BYTES, client, size);
    const char *token = token_seal(work->arena, &work->engine->token_keys, link_purpose, payload, LINK_HEAD_BYTES + size);
    return arena_printf(work->arena, "%s/previews/%s", work->engine->public_url, token);
}

bool preview_link_open(const struct work *work, const char *token, int64_t *ret_brand_id, int64_t *ret_preview_id,
                       const char **ret_client)
{
    uint64_t numbers[LINK_NUMBERS];
    struct bytes payload;
    if (!token_open(work->arena, &work->engine->token_keys, link_purpose, token, &payload) || payload.size <= sizeof(numbers))
        return false;
    memcpy(numbers, payload.data, sizeof(numbers));
    *ret_brand_id = (int64_t)be64toh(numbers[0]);
    *ret_preview_id = (int64_t)be64toh(numbers[1]);
    *ret_client = arena_dup_bytes(work->arena, (const char *)payload.data + sizeof(numbers), payload.size - sizeof(numbers));
    return true;
}
