#include "base/memory_share.h"

enum {
    KEPT_PART = 16, /* for owners that hold little */
    UNKNOWN_PART = 8,
    ADDRESS_PART = 4, /* of the share of unknown callers */
};

static size_t share_of(size_t bound, size_t max_bytes)
{
    size_t share = bound < max_bytes ? bound : max_bytes;
    return share > MEMORY_SHARE_LEAST_BYTES ? share : (size_t)MEMORY_SHARE_LEAST_BYTES;
}

struct memory_shares memory_shares_of(const struct memory_rule *rule, size_t used_bytes)
{
    size_t common = rule->max_bytes - rule->max_bytes / KEPT_PART;
    size_t bound = used_bytes < common ? (common - used_bytes) * rule->times_free : 0;
    size_t unknown = share_of(bound, rule->max_bytes / UNKNOWN_PART);
    return (struct memory_shares){
        .organization = share_of(bound, rule->organization_max_bytes),
        .unknown = unknown,
        .address = unknown / ADDRESS_PART,
    };
}
