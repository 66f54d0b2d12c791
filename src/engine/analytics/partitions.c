#include "engine/analytics/partitions.h"

#include "sql/partitions.h"

enum {
    MOVED_A_CALL = 10000, /* the table is locked while they are moved */
    REMOVED_A_CALL = 5000,
};
static const char *const tables[] = { "events", "hits", "trigger_instances" };

bool months_make(struct db_conn *conn, struct arena *arena, int64_t now_us, struct error *err)
{
    for (size_t i = 0; i < ARRAY_COUNT(tables); i++) {
        struct months_make_params params = { .parent = tables[i], .at = now_us };
        struct months_make_row *ignored;
        if (!sql_months_make(conn, arena, &params, &ignored, err))
            return false;
    }
    return true;
}

static bool tend(struct db_conn *conn, struct arena *arena, const char *table, int64_t months, int64_t now_us, struct error *err)
{
    struct months_drain_params drain = { .parent = table, .at = now_us, .most = MOVED_A_CALL };
    struct months_drain_row *moved;
    struct months_drop_params drop = { .parent = table, .at = now_us, .months = months, .most = REMOVED_A_CALL };
    struct months_drop_row *removed;
    return sql_months_drain(conn, arena, &drain, &moved, err) && sql_months_drop(conn, arena, &drop, &removed, err);
}

bool months_tend(struct db_conn *conn, struct arena *arena, int64_t now_us, struct error *err)
{
    int64_t months;
    if (!months_kept(conn, arena, &months, err))
        return false;
    for (size_t i = 0; i < ARRAY_COUNT(tables); i++)
        if (!tend(conn, arena, tables[i], months, now_us, err))
            return false;
    return true;
}

bool months_kept(struct db_conn *conn, struct arena *arena, int64_t *ret_months, struct error *err)
{
    struct months_kept_row *row;
    if (!sql_months_kept(conn, arena, &row, err))
        return false;
    *ret_months = row != NULL ? row->months : EVENTS_KEPT_MONTHS;
    return true;
}

bool months_keep(struct db_conn *conn, struct arena *arena, int64_t months, struct error *err)
{
    struct months_keep_params params = { .months = months };
    if (months < 1 || months > EVENTS_KEPT_MONTHS_MAX)
        return fail(err, ERR_INVALID_REQUEST, "months", "months must be a number from 1 to %d.", EVENTS_KEPT_MONTHS_MAX);
    return sql_months_keep(conn, arena, &params, NULL, err);
}
