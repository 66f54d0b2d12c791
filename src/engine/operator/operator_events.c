#include "engine/operator/operator.h"

#include "base/text.h"
#include "engine/analytics/partitions.h"
#include "engine/operator/operator_audit.h"

bool operator_keep_events(const struct work *work, const char *months, struct error *err)
{
    int64_t count;
    if (!int64_parse(months, &count))
        count = 0;
    DB_TX tx = { .conn = NULL };
    return db_tx_begin(work->conn, &tx, err) && months_keep(work->conn, work->arena, count, err) &&
           operator_commit(work, &tx, "admin.events.keep", months, err);
}

bool operator_kept_events(const struct work *work, int64_t *ret_months, struct error *err)
{
    return months_kept(work->conn, work->arena, ret_months, err);
}
