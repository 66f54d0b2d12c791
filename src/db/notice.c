#include "db/conn.h"

#include "base/clock.h"
#include "db/db_errors.h"

#include <string.h>

bool db_listen(struct db_conn *conn, const char *channel, struct error *err)
{
    if (conn->channel_count == DB_MAX_CHANNELS) {
        fail(err, ERR_INTERNAL_ERROR, NULL, "An unexpected error happened.");
        return error_because(err, "more than %d channels", DB_MAX_CHANNELS);
    }
    if (!conn_ready(conn, err))
        return false;
    char *quoted = PQescapeIdentifier(conn->pg, channel, strlen(channel));
    char sql[128];
    int length = snprintf(sql, sizeof(sql), "LISTEN %s", quoted != NULL ? quoted : "");
    bool fits = quoted != NULL && length < (int)sizeof(sql);
    PQfreemem(quoted);
    if (!fits) {
        fail(err, ERR_INTERNAL_ERROR, NULL, "An unexpected error happened.");
        return error_because(err, "no channel name: %s", channel);
    }
    if (!conn_simple(conn, sql, NULL, err))
        return false;
    conn->channels[conn->channel_count++] = channel;
    return true;
}

static bool take_notice(struct db_conn *conn, struct arena *arena, struct db_notice *ret_notice)
{
    PGnotify *notify = PQnotifies(conn->pg);
    if (notify == NULL)
        return false;
    ret_notice->channel = arena_dup(arena, notify->relname);
    ret_notice->payload = arena_dup(arena, notify->extra);
    PQfreemem(notify);
    return true;
}

bool db_notice_take(struct db_conn *conn, struct arena *arena, int wait_ms, bool *ret_got, struct db_notice *ret_notice,
                    struct error *err)
{
    *ret_got = false;
    /* A lost connection must be reported as an error, so it is not reopened here. */
    if (conn->pg == NULL && !conn_ready(conn, err))
        return false;
    int64_t deadline_us = clock_monotonic_us() + wait_ms * US_PER_MS;
    for (;;) {
        if (!conn_read(conn))
            return conn_lost(conn, err);
        *ret_got = take_notice(conn, arena, ret_notice);
        int64_t left_ms = (deadline_us - clock_monotonic_us() + US_PER_MS - 1) / US_PER_MS;
        if (*ret_got || left_ms <= 0)
            return true;
        if (conn_wait_readable(conn, (int)left_ms) < 0)
            return conn_lost(conn, err);
    }
}
