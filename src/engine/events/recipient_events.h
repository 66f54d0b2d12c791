/*
 * Events of recipients that come after the delivery: opens, clicks, reported
 * bounces and complaints, unsubscribes. Each counts once for each recipient and
 * send. An event and all counts of it are written in one transaction:
 * recipient_events (the first time), events (the feed), contact_activity,
 * send_stats, event_counts and event_rollups. An open or a click of a message of
 * an automation also wakes the runs that wait for it.
 *
 * `send_id` is the carrier of such a message; the feed names the message instead.
 */
#pragma once

#include "engine/core/work.h"

enum { RECIPIENT_EVENTS_MAX = 1000 };

enum recipient_event_change {
    RECIPIENT_EVENT_ADD,    /* the first event of this type of the recipient */
    RECIPIENT_EVENT_MOVE,   /* the recorded event happened at another time */
    RECIPIENT_EVENT_REMOVE, /* the recorded event did not happen */
};

struct recipient_event {
    int64_t send_id;
    int64_t ordinal;  /* ordinal of the recipient in the send */
    const char *type; /* opened, clicked, bounced, complained, unsubscribed */
    int64_t at_us;
    const char *summary; /* NULL: none */
    const char *url;     /* the link of a click; NULL: none */
    const char *actor;   /* human for an open or a click; NULL: none */
    enum recipient_event_change change;
    int64_t recorded_at_us; /* of an event that is moved or removed: its recorded time */
};

/* Records up to RECIPIENT_EVENTS_MAX events of the brand of `work` in the open transaction. `ret_new`, with a place for each event,
 * tells which were recorded: an event that was recorded before, that is listed a second time, or whose recipient does not exist, is
 * not. A recipient that bounced at its delivery is not recorded as bounced again. An event that is moved or removed leaves all
 * counts and the feed; nothing is changed when no event is recorded at its time. */
MUST_CHECK bool recipient_events_record(const struct work *work, const struct recipient_event *events, size_t count, bool *ret_new,
                                        struct error *err) NONNULL(1, 4, 5);
