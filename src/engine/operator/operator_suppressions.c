#include "engine/operator/operator_suppressions.h"

#include "base/text.h"
#include "engine/operator/operator_audit.h"
#include "engine/suppressions/suppress.h"
#include "mail/address.h"
#include "sql/operator_suppressions.h"

#include <string.h>

enum { HASH_HEX_CHARS = 2 * SECRET_HASH_BYTES };

bool operator_check_suppression_reason(const char *reason, struct error *err)
{
    static const char *const reasons[] = { "bounce", "complaint", "unsubscribe", "operator" };
    for (size_t i = 0; i < ARRAY_COUNT(reasons); i++)
        if (strcmp(reasons[i], reason) == 0)
            return true;
    return fail(err, ERR_INVALID_REQUEST, "reason", "The reason must be bounce, complaint, unsubscribe or operator.");
}

/* ---- List ---- */

static bool is_hash(const char *text)
{
    return strlen(text) == HASH_HEX_CHARS && strspn(text, "0123456789abcdef") == HASH_HEX_CHARS;
}

static void write_listed(const struct operator_suppressions_row *row, struct json_writer *json)
{
    json_object_begin(json);
    json_member_text(json, "addressHash", row->hash);
    json_member_text(json, "reason", row->reason);
    json_member_text_if(json, "source", row->source);
    json_member_text_if(json, "evidence", row->evidence);
    json_member_time(json, "since", row->created_at);
    json_member_time_if(json, "expiresAt", row->expires_at);
    json_member_time_if(json, "unsubscribedAt", row->unsubscribed_at);
    json_object_end(json);
}

bool operator_write_suppressions(const struct work *work, const char *after, struct json_writer *json, struct error *err)
{
    struct operator_suppressions_params params = {
        .brand_id = work->brand_id,
        .after = after != NULL ? after : "",
        .limit = SUPPRESSIONS_OF_PAGE + 1,
        .now = work->now_us,
    };
    struct operator_suppressions_row *rows;
    size_t count;
    if (after != NULL && !is_hash(after))
        return fail(err, ERR_INVALID_REQUEST, "after", "Pass the member next of the previous page.");
    if (!sql_operator_suppressions(work->conn, work->arena, &params, &rows, &count, err))
        return false;
    size_t shown = count > SUPPRESSIONS_OF_PAGE ? SUPPRESSIONS_OF_PAGE : count;
    json_list_begin(json);
    for (size_t i = 0; i < shown; i++)
        write_listed(&rows[i], json);
    json_array_end(json);
    json_member_text_if(json, "next", shown < count ? rows[shown - 1].hash : NULL);
    json_object_end(json);
    return true;
}

/* ---- Add, release ---- */

struct suppressed_address {
    struct address address;
    unsigned char hash[SECRET_HASH_BYTES];
    char hex[HASH_HEX_CHARS + 1];
};

static bool read_address(const struct work *work, const char *email, struct suppressed_address *ret_address, struct error *err)
{
    if (!address_parse(work->arena, text_trim(work->arena, email), "address", &ret_address->address, err))
        return false;
    address_hash(work->engine->address_key, ret_address->address.key, ret_address->hash);
    hex_encode(ret_address->hash, SECRET_HASH_BYTES, ret_address->hex);
    return true;
}

static bool find_suppression(const struct work *work, const struct suppressed_address *address,
                             struct operator_suppression_row **ret_row, struct error *err)
{
    struct operator_suppression_params params = { .brand_id = work->brand_id, .hash = address->hex, .now = work->now_us };
    return sql_operator_suppression(work->conn, work->arena, &params, ret_row, err);
}

static void write_suppression(const char *name, const struct operator_suppression_row *row, struct json_writer *json)
{
    json_key(json, name);
    json_object_begin(json);
    json_member_text(json, "reason", row->reason);
    json_member_text_if(json, "source", row->source);
    json_member_text_if(json, "evidence", row->evidence);
    json_member_time(json, "since", row->created_at);
    json_member_time_if(json, "expiresAt", row->expires_at);
    json_member_time_if(json, "unsubscribedAt", row->unsubscribed_at);
    json_object_end(json);
}

bool operator_add_suppression(const struct work *work, const char *email, const char *reason, struct json_writer *json,
                              struct error *err)
{
    struct suppressed_address address;
    struct operator_suppression_row *row;
    DB_TX tx = { NULL };
    if (!operator_check_suppression_reason(reason, err) || !read_address(work, email, &address, err))
        return false;
    struct suppression suppression = { .address_hash = address.hash, .reason = reason, .source = "operator" };
    if (!db_tx_begin(work->conn, &tx, err) || !suppression_add(work, &suppression, err) ||
        !find_suppression(work, &address, &row, err) || !operator_commit(work, &tx, "admin.suppression.add", address.hex, err))
        return false;
    json_object_begin(json);
    json_member_text(json, "address", address.address.mailbox);
    json_member_text(json, "addressHash", address.hex);
    write_suppression("suppression", row, json);
    json_object_end(json);
    return true;
}

static bool is_unsubscribe(const char *reason)
{
    return text_equal(reason, "unsubscribe") || text_equal(reason, "unsubscribed");
}

/* The state of an address before its release. */
struct release {
    struct suppressed_address address;
    const struct operator_suppression_row *was;             /* NULL: not suppressed */
    const struct operator_suppression_contact_row *contact; /* NULL: none */
    bool unsubscribed;                                      /* as the operator demands */
};

static bool find_release(const struct work *work, struct release *release, struct error *err)
{
    struct operator_suppression_contact_params contact = { work->brand_id, release->address.address.key };
    struct operator_suppression_contact_row *contact_row;
    struct operator_suppression_row *was;
    if (!sql_operator_suppression_contact(work->conn, work->arena, &contact, &contact_row, err) ||
        !find_suppression(work, &release->address, &was, err))
        return false;
    release->contact = contact_row;
    release->was = was;
    return true;
}

static bool check_release(const struct release *release, struct error *err)
{
    bool has_left = release->contact != NULL && !release->contact->subscribed;
    if (release->was == NULL && !has_left)
        return fail(err, ERR_INVALID_REQUEST, "address", "The address is not suppressed in this brand.");
    if (!release->unsubscribed && (release->was == NULL || is_unsubscribe(release->was->reason)))
        return fail(err, ERR_INVALID_REQUEST, "unsubscribed",
                    "The address is unsubscribed, not refused by its mail system. Pass --unsubscribed only if the person has "
                    "asked for mail again.");
    return true;
}

static bool end_suppression(const struct work *work, const struct release *release, struct error *err)
{
    const char *hash = release->address.hex;
    struct operator_suppression_to_unsubscribe_params keep = { work->brand_id, hash };
    struct operator_suppression_remove_params remove = { work->brand_id, hash };
    struct operator_suppression_subscribe_params subscribe = { work->brand_id, release->address.address.key, work->now_us };
    if (release->unsubscribed)
        return sql_operator_suppression_subscribe(work->conn, work->arena, &subscribe, NULL, err) &&
               sql_operator_suppression_remove(work->conn, work->arena, &remove, NULL, err);
    if (release->was->unsubscribe_reason != NULL)
        return sql_operator_suppression_to_unsubscribe(work->conn, work->arena, &keep, NULL, err);
    return sql_operator_suppression_remove(work->conn, work->arena, &remove, NULL, err);
}

static void write_release(const struct release *release, struct json_writer *json)
{
    bool has_left = release->contact != NULL && !release->contact->subscribed;
    bool stays = !release->unsubscribed && (has_left || release->was->unsubscribe_reason != NULL);
    json_object_begin(json);
    json_member_text(json, "address", release->address.address.mailbox);
    json_member_text(json, "addressHash", release->address.hex);
    if (release->was != NULL)
        write_suppression("released", release->was, json);
    json_member_bool(json, "unsubscribed", stays);
    if (stays)
        json_member_text(
            json, "message",
            "The address is still unsubscribed and gets no campaigns. --unsubscribed ends that, too; pass it only if the "
            "person has asked for mail again.");
    json_object_end(json);
}

bool operator_release_suppression(const struct work *work, const char *email, bool unsubscribed, struct json_writer *json,
                                  struct error *err)
{
    struct release release = { .unsubscribed = unsubscribed };
    DB_TX tx = { NULL };
    if (!read_address(work, email, &release.address, err) || !db_tx_begin(work->conn, &tx, err) ||
        !find_release(work, &release, err) || !check_release(&release, err) || !end_suppression(work, &release, err) ||
        !operator_commit(work, &tx, "admin.suppression.release", release.address.hex, err))
        return false;
    write_release(&release, json);
    return true;
}
