#include "engine/analytics/partitions.h"

#include "sql/partitions.h"

bool event_partitions_make(struct db_conn *conn, struct arena *arena, int64_t now_us, struct error *err)
{
    struct event_partitions_make_params params = { .at = now_us };
    struct event_partitions_make_row *ignored;
    return sql_event_partitions_make(conn, arena, &params, &ignored, err);
}
