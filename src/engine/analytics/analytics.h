/*
 * Analytics: counts and events of mail. Counts are read from hourly rollups, so
 * no query counts the rows of a large table.
 */
#pragma once

#include "engine/core/work.h"
#include "sql/analytics.h"

enum {
    OVERVIEW_DEFAULT_DAYS = 30,
    EVENTS_DEFAULT_DAYS = 7,
    AUTOMATIONS_DEFAULT_DAYS = 30,
    ANALYTICS_MAX_DAYS = 366,
};

/* A time range: from inclusive, to exclusive. An end that was not given depends on the current time. */
struct window {
    int64_t from_us;
    int64_t to_us;
    bool has_from;
    bool has_to;
};

/* Makes a window. The default of `to` is now; the default of `from` is `default_days` before `to`.
 * Errors: INVALID_REQUEST (from) when it is empty or longer than ANALYTICS_MAX_DAYS. */
MUST_CHECK bool window_read(const struct work *work, struct opt_int from_us, struct opt_int to_us, int default_days,
                            struct window *ret_window, struct error *err) NONNULL(1, 5, 6);

/* Writes the member `range`. */
void window_write(struct window window, struct json_writer *json) NONNULL(2);

/* The resource "overview": hourly buckets up to three days, daily ones in the brand's time zone beyond. */
MUST_CHECK bool analytics_overview(const struct work *work, struct window window, struct json_writer *json, struct error *err)
    NONNULL(1, 3, 4);

struct event_filter {
    const char *recipient;  /* NULL: any */
    const char *event_type; /* NULL: any */
    int64_t send_id;        /* 0: any */
    int64_t automation_id;  /* 0: any */
    int64_t run_id;         /* of an automation; 0: any */
    struct window window;
};

/* A page of events, newest first. Errors: INVALID_REQUEST (recipient, cursor). */
MUST_CHECK bool analytics_events(const struct work *work, const struct event_filter *filter, int64_t limit, const char *cursor,
                                 struct json_writer *json, struct error *err) NONNULL(1, 2, 5, 6);

/* The resource "automationFigures": runs and mail of each automation on the days (UTC) of the window, newest automation first, in
 * pages; the totals count all when the list began (automation_figures.c). One round trip. Errors: INVALID_REQUEST (cursor). */
MUST_CHECK bool analytics_automations(const struct work *work, struct window window, int64_t limit, const char *cursor,
                                      struct json_writer *json, struct error *err) NONNULL(1, 5, 6);
