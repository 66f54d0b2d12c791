#include "api/tracking/hit_of_request.h"

#include "base/clock.h"
#include "base/text.h"
#include "crypto/keys.h"

#include <string.h>

struct spooled_hit hit_of_request(struct arena *arena, const struct hit_request *request)
{
    struct spooled_hit hit = {
        .at_us = clock_now_us(),
        .is_head = request->is_head,
        .agent = request->agent != NULL ? arena_dup_bytes(arena, request->agent, strnlen(request->agent, HIT_AGENT_MAX_BYTES)) : "",
        .address = request->address != NULL ? arena_dup(arena, request->address) : "",
    };
    char *agent = (char *)(uintptr_t)hit.agent;
    if (agent[0] != '\0')
        utf8_drop_malformed(agent);
    random_bytes(&hit.id, sizeof(hit.id));
    hit.id &= (INT64_C(1) << 53) - 1; /* exact in JSON */
    memcpy(hit.token, request->token, HIT_TOKEN_CHARS);
    return hit;
}
