/*
 * Sentences that explain the delivery decisions about one person. A sentence
 * states only facts that a row proves: the members of an audience at the time of
 * a send cannot be computed later.
 */
#include "engine/sends/explain.h"

#include "base/clock.h"
#include "base/text.h"
#include "engine/sends/gradual.h"

enum { SENTENCE_MAX_BYTES = 16 * 1024 };

static void add_time(struct buf *out, const char *before, struct opt_int time_us)
{
    char text[CLOCK_ISO_CHARS + 1];
    if (!time_us.set)
        return;
    clock_format_iso(time_us.value, text);
    buf_printf(out, "%s%s", before, text);
}

static void add_relay(struct buf *out, const struct explain_decisions_row *row)
{
    if (row->relay != NULL)
        buf_printf(out, " by relay %s", row->relay);
    if (row->reply != NULL)
        buf_printf(out, ": %s", row->reply);
}

/* ---- Contact ---- */

/* The time is known only if the person unsubscribed; then it is the time of the suppression. */
static void add_unsubscribed(struct buf *out, const struct explain_decisions_row *row)
{
    bool by_person = text_equal(row->suppression_reason, "unsubscribe") || text_equal(row->suppression_reason, "unsubscribed");
    buf_add_text(out, "unsubscribed");
    if (by_person)
        add_time(out, " on ", row->suppressed_at);
}

char *explain_person_sentence(const struct work *work, const struct explain_decisions_row *row)
{
    struct buf *out = buf_in_arena(work->arena, SENTENCE_MAX_BYTES);
    if (!row->is_known) {
        buf_add_text(out, "Unknown: no contact, suppression or listed send has this address.");
    } else if (row->contact_id.set && !row->subscribed.value) {
        buf_add_text(out, "Receives no campaigns: ");
        add_unsubscribed(out, row);
        buf_add_char(out, '.');
    } else if (row->suppression_reason != NULL) {
        buf_printf(out, "Receives no campaigns: the address is suppressed (%s)", row->suppression_reason);
        add_time(out, " since ", row->suppressed_at);
        add_time(out, ", until ", row->suppressed_until);
        if (row->suppression_evidence != NULL)
            buf_printf(out, ", because of: %s", row->suppression_evidence);
        buf_add_char(out, '.');
    } else if (text_equal(row->validation_status, "invalid")) {
        buf_printf(out, "Receives no campaigns: the address was found invalid (%s)", row->validation_reason);
        add_time(out, " on ", row->validated_at);
        buf_add_char(out, '.');
    } else if (row->contact_id.set) {
        buf_add_text(out, "Subscribed; the address is not suppressed.");
    } else {
        buf_add_text(out, "Not a contact of the brand; only a send to listed addresses can reach it.");
    }
    return arena_dup(work->arena, buf_text(out));
}

/* ---- Sends without this recipient ---- */

static void say_not_begun(struct buf *out, const struct explain_decisions_row *row)
{
    if (text_equal(row->approval_state, "rejected")) {
        buf_printf(out, "Not mailed: %s", row->error != NULL ? row->error : "an administrator rejected the send.");
    } else if (text_equal(row->status, "canceled")) {
        buf_add_text(out, "Not mailed: the send was canceled before it began.");
    } else if (text_equal(row->approval_state, "pending")) {
        buf_add_text(out, "Not mailed yet: the send waits for the approval of an administrator of the organization");
        add_time(out, "; it is scheduled for ", row->scheduled_at);
        buf_add_char(out, '.');
    } else if (text_equal(row->status, "failed")) {
        buf_printf(out, "Not mailed: the send failed before it began: %s", row->error != NULL ? row->error : "no reason is known.");
    } else if (text_equal(row->status, "paused")) {
        buf_add_text(out, "Not mailed yet: the send is paused until the plan's allowance suffices.");
    } else if (text_equal(row->status, "scheduled")) {
        buf_add_text(out, "Not mailed yet: the send is scheduled");
        add_time(out, " for ", row->scheduled_at);
        buf_add_char(out, '.');
    } else {
        buf_add_text(out, "Not mailed yet: the send is about to begin.");
    }
}

static void say_not_in_audience(struct buf *out, const struct explain_decisions_row *row)
{
    if (text_equal(row->target, "all")) {
        buf_add_text(out, "Not mailed: the send went to the contacts that were subscribed when it began");
        add_time(out, ", ", row->started_at);
        buf_add_text(out, ", and this one was not.");
        return;
    }
    buf_printf(out, "Not mailed: not a subscribed member of the audience %s when the send began",
               row->audience_name != NULL ? row->audience_name : "of the send");
    add_time(out, ", ", row->started_at);
    buf_add_char(out, '.');
}

static void say_not_recipient(struct buf *out, const struct explain_decisions_row *row)
{
    bool is_late = row->contact_created_at.set && row->contact_created_at.value > row->started_at.value;
    bool had_unsubscribed = row->contact_id.set && !row->subscribed.value && row->suppressed_at.set &&
                            row->suppressed_at.value <= row->started_at.value;
    if (text_equal(row->target, "inline")) {
        buf_add_text(out, "Not mailed: the address is not in the send's list.");
    } else if (!row->contact_id.set) {
        buf_add_text(out, "Not mailed: no contact of the brand has this address.");
    } else if (is_late) {
        buf_add_text(out, "Not mailed: the contact was created");
        add_time(out, " at ", row->contact_created_at);
        add_time(out, ", after the send began at ", row->started_at);
        buf_add_char(out, '.');
    } else if (had_unsubscribed) {
        buf_add_text(out, "Not mailed: ");
        add_unsubscribed(out, row);
        add_time(out, ", before the send began at ", row->started_at);
        buf_add_char(out, '.');
    } else {
        say_not_in_audience(out, row);
    }
}

/* ---- A recipient ---- */

static void say_waiting(struct buf *out, const struct explain_decisions_row *row)
{
    buf_printf(out, "Waiting after %lld attempt%s; the last one was deferred", (long long)row->attempts.value,
               row->attempts.value == 1 ? "" : "s");
    add_relay(out, row);
    if (row->is_leased.value)
        buf_add_text(out, ". It is being retried now.");
    else
        add_time(out, ". Next attempt: ", row->due_at);
}

struct explain_tranche explain_tranche_of(const struct work *work, const struct explain_decisions_row *row)
{
    struct explain_tranche found = { .tranche = 0 };
    if (row->gradual_zone == NULL || !row->ordinal.set)
        return found;
    struct gradual_plan plan = {
        .starting_percentage = row->gradual_starting.value,
        .increment_percentage = row->gradual_increment.value,
        .interval_value = row->gradual_interval.value,
        .is_daily = text_equal(row->gradual_unit, "day"),
        .time_zone = row->gradual_zone,
    };
    int64_t anchor_us = row->scheduled_at.set ? row->scheduled_at.value : row->started_at.value;
    found.tranche = gradual_tranche_of(&plan, row->recipient_count.value, row->ordinal.value);
    found.of = gradual_tranche_count(&plan);
    found.is_waiting = row->ordinal.value > row->gradual_released.value;
    found.due_us.set = found.is_waiting && text_equal(row->status, "running") && row->next_tranche_at.set;
    if (!found.due_us.set)
        return found;
    gradual_plan_load(work->arena, &plan);
    found.due_us.value =
        gradual_tranche_due_us(&plan, anchor_us, row->next_tranche_at.value, found.tranche - row->gradual_tranche.value - 1);
    return found;
}

static bool say_tranche(const struct work *work, struct buf *out, const struct explain_decisions_row *row)
{
    struct explain_tranche tranche = explain_tranche_of(work, row);
    bool is_paused = text_equal(row->status, "paused");
    if (!tranche.is_waiting || !(is_paused || text_equal(row->status, "running")))
        return false;
    buf_printf(out, "Not mailed yet: waits for tranche %lld of %lld", (long long)tranche.tranche, (long long)tranche.of);
    add_time(out, ", due at ", tranche.due_us);
    if (is_paused && text_equal(row->pause_reason, "plan_limit"))
        buf_add_text(out, "; the send is paused until the plan's allowance suffices");
    else if (is_paused)
        buf_add_text(out, "; the send is paused");
    buf_add_char(out, '.');
    if (is_paused && row->error != NULL)
        buf_printf(out, " %s", row->error);
    return true;
}

static void say_undecided(const struct work *work, struct buf *out, const struct explain_decisions_row *row)
{
    if (say_tranche(work, out, row))
        return;
    if (text_equal(row->status, "running"))
        buf_add_text(out, row->is_leased.value ? "Being sent now." : "Queued in the running send.");
    else
        buf_printf(out, "Not mailed: the send is %s. %s", row->status, row->error != NULL ? row->error : "");
}

static void say_delivered(struct buf *out, const struct explain_decisions_row *row)
{
    if (row->is_sandbox.value) {
        buf_add_text(out, "Captured in the outbox");
        add_time(out, " at ", row->decided_at);
        buf_add_text(out, "; simulated, nothing left this server.");
        return;
    }
    buf_add_text(out, row->bounced_at.set ? "Not delivered: accepted" : "Delivered");
    add_time(out, " at ", row->decided_at);
    add_relay(out, row);
}

static void say_bounced(struct buf *out, const struct explain_decisions_row *row)
{
    if (text_equal(row->reason, "expired"))
        buf_printf(out, "Given up after %lld attempts", (long long)row->attempts.value);
    else
        buf_printf(out, "Permanently rejected (%s)", row->reason != NULL ? row->reason : "unclassified");
    add_time(out, " at ", row->decided_at);
    add_relay(out, row);
}

static void say_skipped(struct buf *out, const struct explain_decisions_row *row)
{
    buf_add_text(out, "Not mailed: ");
    if (text_equal(row->reason, "unsubscribed"))
        add_unsubscribed(out, row);
    else
        buf_add_text(out, row->reason != NULL ? row->reason : "excluded");
    add_time(out, " (decided at ", row->decided_at);
    buf_add_text(out, ").");
}

static void say_held(struct buf *out, const struct explain_decisions_row *row)
{
    buf_add_text(out, "May have arrived and is not sent again");
    add_time(out, ", since ", row->decided_at);
    buf_printf(out, ": %s", row->reason != NULL ? row->reason : "the outcome of the last attempt is unknown");
    buf_add_char(out, '.');
}

static void say_outcome(struct buf *out, const struct explain_decisions_row *row)
{
    if (text_equal(row->outcome, "delivered"))
        say_delivered(out, row);
    else if (text_equal(row->outcome, "bounced"))
        say_bounced(out, row);
    else if (text_equal(row->outcome, "skipped"))
        say_skipped(out, row);
    else if (text_equal(row->outcome, "held"))
        say_held(out, row);
    else
        buf_printf(out, "Not mailed: the message could not be composed: %s",
                   row->reason != NULL ? row->reason : "no reason is known.");
}

/* ---- Reports after the result ---- */

static void add_report(struct buf *out, const char *before, struct opt_int at, const char *diagnostic)
{
    if (!at.set)
        return;
    bool ends_sentence = out->size > 0 && buf_text(out)[out->size - 1] == '.';
    buf_add_text(out, ends_sentence ? " " : ". ");
    add_time(out, before, at);
    if (diagnostic != NULL)
        buf_printf(out, ": %s", diagnostic);
}

/* A delay is over when the message has bounced. */
static void say_reports(struct buf *out, const struct explain_decisions_row *row)
{
    bool is_over = row->bounced_at.set && row->delayed_at.set && row->bounced_at.value >= row->delayed_at.value;
    if (!is_over)
        add_report(out, "A delay was reported at ", row->delayed_at, row->delay_diagnostic);
    add_report(out, "A bounce was reported at ", row->bounced_at, row->bounce_diagnostic);
    add_report(out, "The recipient complained of spam at ", row->complained_at, row->complaint_diagnostic);
}

char *explain_sentence(const struct work *work, const struct explain_decisions_row *row)
{
    struct buf *out = buf_in_arena(work->arena, SENTENCE_MAX_BYTES);
    if (row->outcome != NULL)
        say_outcome(out, row);
    else if (row->due_at.set)
        say_waiting(out, row);
    else if (row->ordinal.set)
        say_undecided(work, out, row);
    else if (row->started_at.set)
        say_not_recipient(out, row);
    else
        say_not_begun(out, row);
    say_reports(out, row);
    if (row->held_at.set && row->outcome == NULL && !row->ended_at.set && !text_equal(row->status, "canceled")) {
        add_time(out, " The send is held since ", row->held_at);
        buf_add_text(out, ", because the database was restored from an older state; the operator releases or cancels it.");
    }
    if (row->uncertain.value && !text_equal(row->outcome, "held"))
        buf_add_text(out, " (an earlier attempt may have arrived as well, under the same Message-ID)");
    return arena_dup(work->arena, buf_text(out));
}
