#include "engine/suppressions/suppress.h"

#include "sql/suppress.h"

bool suppression_add(const struct work *work, const struct suppression *suppression, struct error *err)
{
    struct suppression_add_params params = {
        .brand_id = work->brand_id,
        .address_hash = { suppression->address_hash, SECRET_HASH_BYTES },
        .reason = suppression->reason,
        .source = suppression->source,
        .evidence = suppression->evidence,
        .expires_at = suppression->expires_us,
        .now = work->now_us,
    };
    return sql_suppression_add(work->conn, work->arena, &params, NULL, err);
}
