#include "engine/integrations/receive.h"

#include "base/clock.h"
#include "base/json_read.h"
#include "base/text.h"
#include "engine/integrations/connections.h"
#include "engine/triggers/fire.h"
#include "sql/integrations.h"

#include <string.h>

enum { TREE_MAX_BYTES = 32 * 1024 * 1024, DEPTH_MAX = 32, KEYS_MAX = 2 };

static bool fail_unknown(struct error *err)
{
    return fail(err, ERR_NOT_FOUND, NULL, "There is no such connection.");
}

/* ---- The check ---- */

static bool find_provider(struct integration_delivery *delivery, struct error *err)
{
    struct error ignored = { .code = ERR_NONE };
    return integration_provider_find(delivery->provider, &delivery->request.provider, &ignored) || fail_unknown(err);
}

static bool find_connection(const struct work *work, struct integration_delivery *delivery, struct integration_find_row **ret_row,
                            struct error *err)
{
    delivery->connection_id = id_decode(&work->engine->ids, ID_INTEGRATION, delivery->connection);
    struct integration_find_params params = { .id = delivery->connection_id, .provider = delivery->provider };
    if (!sql_integration_find(work->conn, work->arena, &params, ret_row, err))
        return false;
    if (*ret_row == NULL)
        return fail_unknown(err);
    delivery->brand_id = (*ret_row)->brand_id;
    delivery->organization_id = (*ret_row)->organization_id;
    return true;
}

static bool check_proof(const struct work *work, struct integration_delivery *delivery, const struct integration_find_row *row,
                        const char **ret_signed_id, struct error *err)
{
    ARENA_SCOPE secrets = arena_new(0);
    const char *secret;
    return integration_secret_open(work, secrets, row->brand_id, delivery->connection_id, row->secret, &secret, err) &&
           proof_check(work->arena, &delivery->request, secret, work->now_us, ret_signed_id, err);
}

static bool read_body(const struct work *work, const struct integration_delivery *delivery, const json_t **ret_body,
                      struct error *err)
{
    const struct json_bounds bounds = { .max_bytes = INTEGRATION_BODY_MAX_BYTES,
                                        .max_depth = DEPTH_MAX,
                                        .max_tree_bytes = TREE_MAX_BYTES };
    if (!json_read(work->arena, delivery->body, strlen(delivery->body), bounds, ret_body, err))
        return false;
    return json_is_object(*ret_body) || fail(err, ERR_INVALID_REQUEST, "body", "The body must be a JSON object.");
}

bool integration_delivery_check(const struct work *work, struct integration_delivery *delivery, struct error *err)
{
    struct integration_find_row *row;
    struct integration_settings settings;
    const char *signed_id;
    const json_t *body;
    delivery->request.headers = delivery->headers;
    delivery->request.body = (struct bytes){ (const unsigned char *)delivery->body, strlen(delivery->body) };
    if (!find_provider(delivery, err) || !find_connection(work, delivery, &row, err) ||
        !check_proof(work, delivery, row, &signed_id, err) || !read_body(work, delivery, &body, err))
        return false;
    integration_settings_read(work->arena, row->settings, &settings);
    adapter_read(work->arena, &delivery->request, &settings, body, signed_id, &delivery->notice);
    return true;
}

/* ---- Repetitions ---- */

static const char *key_of(struct arena *arena, const char *kind, const char *text)
{
    unsigned char hash[SECRET_HASH_BYTES];
    char *hex = arena_alloc(arena, 2 * sizeof(hash) + 1);
    secret_hash(arena_printf(arena, "%s:%s", kind, text), hash);
    hex_encode(hash, sizeof(hash), hex);
    return hex;
}

static const char *body_key(const struct work *work, const struct integration_delivery *delivery)
{
    return key_of(work->arena, "body", arena_printf(work->arena, "%s:%s", delivery->notice.trigger_event, delivery->body));
}

/* An event with an id is noted for good; where a signature covers the body alone, the body is noted too, because another id could
 * be put before it. An event without an id is known by its body for a while: the same row may change in the same way again. */
static bool note_event(const struct work *work, const struct integration_delivery *delivery, bool *ret_is_new, struct error *err)
{
    const char *keys[KEYS_MAX];
    size_t count = 0;
    const struct integration_notice *notice = &delivery->notice;
    bool is_body_signed = delivery->request.provider->scheme == INTEGRATION_BODY;
    if (notice->id != NULL)
        keys[count++] = key_of(work->arena, "id", notice->id);
    if (notice->id == NULL || is_body_signed)
        keys[count++] = body_key(work, delivery);
    bool is_kept = notice->id != NULL || is_body_signed;
    struct integration_event_note_params params = {
        .brand_id = delivery->brand_id,
        .connection_id = delivery->connection_id,
        .keys = { keys, count },
        .now = work->now_us,
        .repeat_after = is_kept ? DB_TIME_MINUS_INFINITY : work->now_us - INTEGRATION_BODY_REPEAT_S * US_PER_S,
    };
    struct integration_event_note_row *row;
    if (!sql_integration_event_note(work->conn, work->arena, &params, &row, err))
        return false;
    *ret_is_new = row->noted == (int64_t)count;
    return true;
}

/* ---- Firing ---- */

static struct bytes person_key(const struct work *work, const struct integration_notice *notice)
{
    unsigned char *hash = arena_alloc(work->arena, SECRET_HASH_BYTES);
    if (notice->person == NULL)
        return (struct bytes){ NULL, 0 };
    secret_hash(notice->person, hash);
    return (struct bytes){ hash, SECRET_HASH_BYTES };
}

static bool reject(const struct work *work, const struct integration_delivery *delivery, int64_t trigger_id, const char *reason,
                   int64_t *ret_instance_id, struct error *err)
{
    struct integration_event_reject_params params = {
        .brand_id = delivery->brand_id,
        .trigger_id = trigger_id,
        .provider = delivery->provider,
        .reason = reason,
        .now = work->now_us,
    };
    struct integration_event_reject_row *row;
    if (!sql_integration_event_reject(work->conn, work->arena, &params, &row, err))
        return false;
    *ret_instance_id = row->id;
    return true;
}

/* Notes the person's contact and the use of the connection. */
static bool keep_traces(const struct work *work, const struct integration_delivery *delivery, int64_t contact_id, struct error *err)
{
    struct integration_person_keep_params person = {
        .brand_id = delivery->brand_id,
        .connection_id = delivery->connection_id,
        .person_key = person_key(work, &delivery->notice),
        .contact_id = contact_id,
    };
    struct integration_touch_params touch = { delivery->brand_id, delivery->connection_id, work->now_us };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    if (person.person_key.data != NULL && contact_id != 0)
        db_batch_add(batch, &integration_person_keep_statement, &person);
    db_batch_add(batch, &integration_touch_statement, &touch);
    return db_batch_run(batch, err);
}

static bool fire(const struct work *work, const struct integration_delivery *delivery, int64_t trigger_id,
                 enum integration_outcome *ret_outcome, int64_t *ret_instance_id, int64_t *ret_contact_id, struct error *err)
{
    struct fire_request request = { .trigger_id = trigger_id, .payload = delivery->notice.payload, .provider = delivery->provider };
    struct fire_result result;
    struct error fault = { .code = ERR_NONE };
    *ret_contact_id = 0;
    if (trigger_fire(work, &request, &result, &fault)) {
        *ret_outcome = INTEGRATION_FIRED;
        *ret_instance_id = result.instance_id;
        *ret_contact_id = result.contact_id;
        return true;
    }
    *ret_outcome = INTEGRATION_REJECTED;
    if (fault.code == ERR_INVALID_PAYLOAD)
        return reject(work, delivery, trigger_id, "The address or another value of the event is not valid.", ret_instance_id, err);
    *err = fault;
    return false;
}

bool integration_delivery_apply(const struct work *work, const struct integration_delivery *delivery,
                                enum integration_outcome *ret_outcome, int64_t *ret_instance_id, struct error *err)
{
    const struct integration_notice *notice = &delivery->notice;
    struct integration_event_find_params params = {
        .brand_id = delivery->brand_id,
        .connection_id = delivery->connection_id,
        .event = notice->trigger_event,
        .person_key = person_key(work, notice),
    };
    struct integration_event_find_row *row;
    bool is_new;
    int64_t contact_id = 0;
    *ret_instance_id = 0;
    *ret_outcome = INTEGRATION_IGNORED;
    if (notice->event == NULL)
        return true;
    if (!sql_integration_event_find(work->conn, work->arena, &params, &row, err))
        return false;
    if (row == NULL)
        return true;
    if (!note_event(work, delivery, &is_new, err))
        return false;
    *ret_outcome = is_new ? INTEGRATION_REJECTED : INTEGRATION_REPEATED;
    if (!is_new)
        return true;
    const char *email = notice->email != NULL ? notice->email : row->email;
    if (email == NULL)
        return reject(work, delivery, row->trigger_id, "The event has no address, and the person is not known.", ret_instance_id,
                      err);
    json_object_set_new(notice->payload, "email", json_string(email));
    return fire(work, delivery, row->trigger_id, ret_outcome, ret_instance_id, &contact_id, err) &&
           keep_traces(work, delivery, contact_id, err);
}

const char *integration_outcome_name(enum integration_outcome outcome)
{
    switch (outcome) {
    case INTEGRATION_FIRED:
        return "fired";
    case INTEGRATION_REPEATED:
        return "repeated";
    case INTEGRATION_IGNORED:
        return "ignored";
    case INTEGRATION_REJECTED:
        break;
    }
    return "rejected";
}
