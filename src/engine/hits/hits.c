#include "engine/hits/hits.h"

#include "base/clock.h"
#include "db/advisory_locks.h"
#include "engine/hits/hit_matches.h"
#include "engine/hits/hit_rules.h"
#include "sql/hits.h"

static const char *const kind_names[] = { [HIT_OPEN] = "open", [HIT_CLICK] = "click" };

/* The operator's words and ranges in the requests. */
static void find_matches(const struct work *work, const struct hit *hits, size_t count, int64_t *ret_word_ids,
                         int64_t *ret_range_ids)
{
    const char **agents = arena_array(work->arena, count, sizeof(*agents));
    const char **addresses = arena_array(work->arena, count, sizeof(*addresses));
    struct hit_found *found = arena_array(work->arena, count, sizeof(*found));
    for (size_t i = 0; i < count; i++) {
        agents[i] = hits[i].agent;
        addresses[i] = hits[i].address;
    }
    hit_matchers_find(work, agents, addresses, count, found);
    for (size_t i = 0; i < count; i++) {
        ret_word_ids[i] = found[i].word_id;
        ret_range_ids[i] = found[i].range_id;
    }
}

void hits_add(const struct work *work, struct db_batch *batch, const struct hit *hits, size_t count)
{
    int64_t *ids = arena_array(work->arena, count, sizeof(*ids));
    int64_t *brand_ids = arena_array(work->arena, count, sizeof(*brand_ids));
    int64_t *send_ids = arena_array(work->arena, count, sizeof(*send_ids));
    int64_t *ordinals = arena_array(work->arena, count, sizeof(*ordinals));
    int64_t *links = arena_array(work->arena, count, sizeof(*links));
    int64_t *ats = arena_array(work->arena, count, sizeof(*ats));
    int64_t *word_ids = arena_array(work->arena, count, sizeof(*word_ids));
    int64_t *range_ids = arena_array(work->arena, count, sizeof(*range_ids));
    const char **kinds = arena_array(work->arena, count, sizeof(*kinds));
    const char **methods = arena_array(work->arena, count, sizeof(*methods));
    const char **agents = arena_array(work->arena, count, sizeof(*agents));
    const char **networks = arena_array(work->arena, count, sizeof(*networks));
    const char **addresses = arena_array(work->arena, count, sizeof(*addresses));
    const char **urls = arena_array(work->arena, count, sizeof(*urls));
    for (size_t i = 0; i < count; i++) {
        ids[i] = hits[i].id;
        brand_ids[i] = hits[i].brand_id;
        send_ids[i] = hits[i].send_id;
        ordinals[i] = hits[i].ordinal;
        links[i] = hits[i].link;
        ats[i] = hits[i].at_us;
        kinds[i] = kind_names[hits[i].kind];
        methods[i] = hits[i].method;
        agents[i] = hit_agent_class(hits[i].agent);
        networks[i] = hit_network_class(hits[i].address);
        addresses[i] = hits[i].address;
        urls[i] = hits[i].url;
    }
    find_matches(work, hits, count, word_ids, range_ids);
    struct hits_add_params params = {
        .ids = { ids, count },
        .brand_ids = { brand_ids, count },
        .send_ids = { send_ids, count },
        .ordinals = { ordinals, count },
        .kinds = { kinds, count },
        .links = { links, count },
        .methods = { methods, count },
        .agents = { agents, count },
        .networks = { networks, count },
        .word_ids = { word_ids, count },
        .range_ids = { range_ids, count },
        .addresses = { addresses, count },
        .urls = { urls, count },
        .ats = { ats, count },
        .max_hits = HITS_MAX_A_RECIPIENT,
        .judge_at = work->now_us + (hit_rules_built_in.hold_s + HITS_LATE_S) * US_PER_S,
        .now = work->now_us,
    };
    struct hits_hold_jobs_params hold = { .lock = ADVISORY_LOCK_HITS, .brand_ids = { brand_ids, count } };
    db_batch_add(batch, &hits_hold_jobs_statement, &hold);
    db_batch_add(batch, &hits_add_statement, &params);
}
