#include "engine/core/restore_holds.h"

bool restore_release_holds(const struct work *work, const char *send_id, int64_t *ret_count, struct error *err)
{
    int64_t id = send_id != NULL ? id_decode(&work->engine->ids, ID_SEND, send_id) : 0;
    struct restore_release_params params = { .send_id = id, .now = work->now_us };
    struct restore_release_row *row = NULL;
    bool is_id = send_id == NULL || id > 0;
    if (is_id && !sql_restore_release(work->conn, work->arena, &params, &row, err))
        return false;
    if (row == NULL || (send_id != NULL && row->released == 0))
        return fail(err, ERR_SEND_NOT_FOUND, "send", "No held send with this id.");
    *ret_count = row->released;
    return true;
}

static void write_held_send(const struct work *work, const struct restore_list_row *send, struct json_writer *json)
{
    json_object_begin(json);
    json_member_id(json, work, "sendId", ID_SEND, send->id);
    json_member_id(json, work, "brandId", ID_BRAND, send->brand_id);
    json_member_text(json, "status", send->status);
    json_member_text(json, "subject", send->subject);
    json_member_time_if(json, "scheduledAt", send->scheduled_at);
    json_member_time_if(json, "startedAt", send->started_at);
    json_member_int_or_null(json, "recipients", send->recipient_count);
    json_member_int(json, "decided", send->decided);
    json_member_time(json, "heldAt", send->held_at);
    json_object_end(json);
}

bool restore_write_holds(const struct work *work, struct json_writer *json, struct error *err)
{
    struct restore_list_params params = { .limit = RESTORE_LISTED_MAX };
    struct restore_count_row *count;
    struct restore_list_row *sends;
    size_t listed;
    if (!sql_restore_count(work->conn, work->arena, &count, err) ||
        !sql_restore_list(work->conn, work->arena, &params, &sends, &listed, err))
        return false;
    json_object_begin(json);
    json_member_int(json, "held", count->held);
    json_member_time_if(json, "since", count->since);
    json_member_int(json, "runs", count->runs);
    json_key(json, "sends");
    json_array_begin(json);
    for (size_t i = 0; i < listed; i++)
        write_held_send(work, &sends[i], json);
    json_array_end(json);
    json_object_end(json);
    return true;
}
