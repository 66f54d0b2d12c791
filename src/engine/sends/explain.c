#include "engine/sends/explain.h"

#include "base/text.h"
#include "mail/address.h"

static const char *const event_types[] = { "sent", "delivered", "opened", "clicked", "bounced", "complained", "unsubscribed" };

/* ---- Contact ---- */

static void write_contact(const struct work *work, const struct explain_decisions_row *row, struct json_writer *json)
{
    json_key(json, "contact");
    if (!row->contact_id.set) {
        json_null_value(json);
        return;
    }
    json_object_begin(json);
    json_member_id(json, work, "contactId", ID_CONTACT, row->contact_id.value);
    json_member_bool(json, "subscribed", row->subscribed.value);
    if (row->consent != NULL)
        json_member_raw(json, "consent", row->consent);
    if (row->validation_status != NULL) {
        json_key(json, "validation");
        json_object_begin(json);
        json_member_text(json, "status", row->validation_status);
        json_member_text_if(json, "reason", row->validation_reason);
        json_member_time_if(json, "checkedAt", row->validated_at);
        json_object_end(json);
    }
    json_member_time_if(json, "createdAt", row->contact_created_at);
    json_member_time_if(json, "updatedAt", row->contact_updated_at);
    json_object_end(json);
}

static void write_suppression(const struct explain_decisions_row *row, struct json_writer *json)
{
    json_key(json, "suppression");
    if (row->suppression_reason == NULL) {
        json_null_value(json);
        return;
    }
    json_object_begin(json);
    json_member_text(json, "reason", row->suppression_reason);
    json_member_time_if(json, "since", row->suppressed_at);
    json_member_time_if(json, "expiresAt", row->suppressed_until);
    json_member_text_if(json, "source", row->suppression_source);
    json_member_text_if(json, "evidence", row->suppression_evidence);
    json_member_time_if(json, "unsubscribedAt", row->unsubscribe_behind);
    json_object_end(json);
}

/* ---- Sends ---- */

static void write_audience(const struct work *work, const struct explain_decisions_row *row, struct json_writer *json)
{
    json_member_text(json, "target", row->target);
    json_member_id_if(json, work, "audienceId", ID_AUDIENCE, row->audience_id);
    json_member_text_if(json, "audienceName", row->audience_name);
    if (row->recipient_count.set)
        json_member_int(json, "recipientCount", row->recipient_count.value);
    json_member_bool(json, "isRecipient", row->ordinal.set);
    if (row->ordinal.set)
        json_member_int(json, "ordinal", row->ordinal.value);
}

static void write_tranche(const struct work *work, const struct explain_decisions_row *row, struct json_writer *json)
{
    struct explain_tranche tranche = explain_tranche_of(work, row);
    if (tranche.tranche == 0)
        return;
    json_member_int(json, "tranche", tranche.tranche);
    json_member_int(json, "tranches", tranche.of);
    json_member_time_if(json, "trancheDueAt", tranche.due_us);
}

static void write_recipient_delivery(const struct explain_decisions_row *row, struct json_writer *json)
{
    json_member_text_if(json, "outcome", row->outcome != NULL ? row->outcome : row->due_at.set ? "waiting" : NULL);
    json_member_text_if(json, "reason", row->reason);
    json_member_time_if(json, "decidedAt", row->decided_at);
    if (row->attempts.set)
        json_member_int(json, "attempts", row->attempts.value);
    json_member_time_if(json, "firstAttemptAt", row->first_at);
    json_member_time_if(json, "nextAttemptAt", row->due_at);
    json_member_text_if(json, "relay", row->relay);
    json_member_text_if(json, "reply", row->reply);
    if (row->uncertain.set && row->uncertain.value)
        json_member_bool(json, "uncertain", true);
    if (row->ordinal.set && row->is_sandbox.value)
        json_member_bool(json, "simulated", true);
    json_member_time_if(json, "unsubscribedAt", row->unsubscribed_at);
}

/* The reports of other mail systems about this message. */
static void write_reports(const struct explain_decisions_row *row, struct json_writer *json)
{
    json_member_time_if(json, "bouncedAt", row->bounced_at);
    json_member_text_if(json, "bounceDiagnostic", row->bounce_diagnostic);
    json_member_time_if(json, "complainedAt", row->complained_at);
    json_member_text_if(json, "complaintDiagnostic", row->complaint_diagnostic);
    json_member_time_if(json, "delayedAt", row->delayed_at);
    json_member_text_if(json, "delayDiagnostic", row->delay_diagnostic);
}

/* The run that sent the message of an automation. */
static void write_message_origin(const struct work *work, const struct explain_decisions_row *row, struct json_writer *json)
{
    json_member_id_if(json, work, "automationId", ID_AUTOMATION, row->automation_id);
    json_member_text_if(json, "nodeId", row->node_id);
    json_member_id_if(json, work, "automationRunId", ID_RUN, row->automation_run_id);
    json_member_id_if(json, work, "audienceRunId", ID_AUDIENCE_RUN, row->audience_run_id);
    json_member_id_if(json, work, "triggerInstanceId", ID_INSTANCE, row->trigger_instance_id);
}

static void write_send(const struct work *work, const struct explain_decisions_row *row, struct json_writer *json)
{
    json_object_begin(json);
    json_member_text(json, "summary", explain_sentence(work, row));
    json_member_id(json, work, "sendId", ID_SEND, row->send_id.value);
    json_member_text(json, "status", row->status);
    json_member_id_if(json, work, "emailId", ID_EMAIL, row->email_id);
    json_member_text_if(json, "emailName", row->email_name);
    json_member_time_if(json, "createdAt", row->created_at);
    json_member_time_if(json, "scheduledAt", row->scheduled_at);
    json_member_time_if(json, "startedAt", row->started_at);
    json_member_time_if(json, "endedAt", row->ended_at);
    json_member_text_if(json, "pauseReason", row->pause_reason);
    json_member_text(json, "approvalState", row->approval_state);
    json_member_time_if(json, "heldAt", row->held_at);
    json_member_text_if(json, "error", row->error);
    write_audience(work, row, json);
    write_tranche(work, row, json);
    write_recipient_delivery(row, json);
    write_reports(row, json);
    write_message_origin(work, row, json);
    json_member_raw(json, "events", row->events != NULL ? row->events : "[]");
    if (row->machine_hits != NULL)
        json_member_raw(json, "machineHits", row->machine_hits);
    json_object_end(json);
}

/* ---- Explanation ---- */

/* What was read about an address. */
struct explanation {
    const struct db_rows *decisions; /* struct explain_decisions_row, at least one */
    const struct db_rows *fires;
    const struct db_rows *runs;
};

static void write_explanation(const struct work *work, const char *email, bool of_one_send, const struct explanation *found,
                              struct json_writer *json)
{
    const struct explain_decisions_row *rows = found->decisions->rows;
    size_t count = found->decisions->count;
    /* No send concerns an unknown address, unless the caller names one. */
    bool shows_sends = rows[0].send_id.set && (rows[0].is_known || of_one_send);
    size_t shown = !shows_sends ? 0 : count > EXPLAIN_SENDS_MAX ? EXPLAIN_SENDS_MAX : count;
    json_object_begin(json);
    json_member_text(json, "email", email);
    json_member_bool(json, "known", rows[0].is_known);
    json_member_text(json, "summary", explain_person_sentence(work, &rows[0]));
    write_contact(work, &rows[0], json);
    write_suppression(&rows[0], json);
    json_member_raw(json, "activity", rows[0].activity != NULL ? rows[0].activity : "[]");
    json_key(json, "sends");
    json_array_begin(json);
    for (size_t i = 0; i < shown; i++)
        write_send(work, &rows[i], json);
    json_array_end(json);
    json_member_bool(json, "hasMoreSends", shows_sends && count > shown);
    explain_write_automations(work, found->fires, found->runs, json);
    json_object_end(json);
}

bool send_why(const struct work *work, const char *email, int64_t send_id, struct json_writer *json, struct error *err)
{
    struct address address;
    if (!address_parse(work->arena, text_trim(work->arena, email), "email", &address, err))
        return false;
    unsigned char hash[SECRET_HASH_BYTES];
    char hex[2 * SECRET_HASH_BYTES + 1];
    address_hash(work->engine->address_key, address.key, hash);
    hex_encode(hash, sizeof(hash), hex);
    struct explain_decisions_params params = {
        .brand_id = work->brand_id,
        .email_key = address.key,
        .address_hash = hex,
        .event_types = { event_types, ARRAY_COUNT(event_types) },
        .send_id = send_id,
        .limit = EXPLAIN_SENDS_MAX + 1,
        .now = work->now_us,
    };
    struct explain_runs_params runs = { .brand_id = work->brand_id, .email_key = address.key, .limit = EXPLAIN_RUNS_MAX + 1 };
    struct explain_fires_params fires = { .brand_id = work->brand_id, .email_key = address.key, .limit = EXPLAIN_RUNS_MAX + 1 };
    struct db_batch *batch = db_batch_new(work->conn, work->arena);
    size_t decisions_at = db_batch_add(batch, &explain_decisions_statement, &params);
    size_t runs_at = db_batch_add(batch, &explain_runs_statement, &runs);
    size_t fires_at = db_batch_add(batch, &explain_fires_statement, &fires);
    if (!db_batch_run(batch, err))
        return false;
    const struct explanation found = { db_batch_rows(batch, decisions_at), db_batch_rows(batch, fires_at),
                                       db_batch_rows(batch, runs_at) };
    const struct explain_decisions_row *rows = found.decisions->rows;
    if (found.decisions->count == 0 || (send_id != 0 && !rows[0].send_id.set))
        return fail(err, ERR_SEND_NOT_FOUND, "sendId", "No send with this id in this brand.");
    write_explanation(work, address.mailbox, send_id != 0, &found, json);
    return true;
}

bool send_why_message(const struct work *work, const struct message_origin *origin, struct json_writer *json, struct error *err)
{
    struct explain_recipient_params params = {
        .brand_id = work->brand_id,
        .send_id = origin->send_id,
        .ordinal = origin->ordinal,
    };
    struct explain_recipient_row *recipient;
    if (origin->send_id == 0)
        return fail(err, ERR_SEND_NOT_FOUND, "messageId", "This is a test message. A test has no send and records no recipient.");
    if (!sql_explain_recipient(work->conn, work->arena, &params, &recipient, err))
        return false;
    if (recipient == NULL)
        return fail(err, ERR_SEND_NOT_FOUND, "messageId", "The send of this message is not recorded any more.");
    int64_t send_id = recipient->message_id.set ? recipient->message_id.value : origin->send_id;
    return send_why(work, recipient->email, send_id, json, err);
}
