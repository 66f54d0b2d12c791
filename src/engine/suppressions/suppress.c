#include "engine/suppressions/suppress.h"

#include "base/clock.h"
#include "base/text.h"
#include "sql/suppress.h"

struct opt_int suppression_mailbox_full_end(int64_t at_us)
{
    return (struct opt_int){ true, at_us + MAILBOX_FULL_DAYS * INT64_C(86400) * US_PER_S };
}

bool suppression_add(const struct work *work, const struct suppression *suppression, struct error *err)
{
    char hash[2 * SECRET_HASH_BYTES + 1];
    const char *hashes[] = { hash };
    const char *evidences[] = { suppression->evidence };
    hex_encode(suppression->address_hash, SECRET_HASH_BYTES, hash);
    struct suppressions_add_params params = {
        .brand_id = work->brand_id,
        .address_hashes = { hashes, ARRAY_COUNT(hashes) },
        .reason = suppression->reason,
        .source = suppression->source,
        .evidences = { evidences, ARRAY_COUNT(evidences) },
        .expires_at = suppression->expires_us,
        .now = work->now_us,
    };
    return sql_suppressions_add(work->conn, work->arena, &params, NULL, err);
}
