#include "engine/simulations/branch_sample.h"

#include "engine/simulations/people.h"

/* All visits of a sample together, and all bytes that their conditions compare. A loop may make 1,000 visits in one run. */
enum { SAMPLE_VISITS_MAX = 20000, SAMPLE_COMPARED_MAX = SIMULATION_COMPARED_MAX };

/* The publication holds the locks of its automation and its trigger, so a sample may not take long. The settings end with the
 * savepoint. */
static const char begin[] = "savepoint branch_sample; set local statement_timeout = 1000";
static const char end[] = "rollback to savepoint branch_sample; release savepoint branch_sample";

static bool read_people(const struct work *work, const struct branch_sample_of *of, struct people *ret_people,
                        const char **ret_time_zone, struct error *err)
{
    struct simulation_time_zone_params params = { .brand_id = work->brand_id };
    struct simulation_time_zone_row *zone;
    if (!sql_simulation_time_zone(work->conn, work->arena, &params, &zone, err))
        return false;
    *ret_time_zone = zone != NULL ? zone->time_zone : "UTC";
    if (of->audience_id != 0)
        return people_of_audience(work, of->audience_id, BRANCH_SAMPLE_MAX, ret_people, err);
    return people_of_trigger(work, of->trigger_id, BRANCH_SAMPLE_MAX, ret_people, err);
}

/* Reads the contacts. A failure leaves the transaction as it was. */
static bool try_people(const struct work *work, const struct branch_sample_of *of, struct people *ret_people,
                       const char **ret_time_zone, bool *ret_ok, struct error *err)
{
    struct error refusal = { .code = ERR_NONE };
    if (!db_script(work->conn, begin, err))
        return false;
    *ret_ok = read_people(work, of, ret_people, ret_time_zone, &refusal);
    if (*ret_ok || !db_error_is_lost(&refusal))
        return db_script(work->conn, end, err);
    *err = refusal;
    return false;
}

/* Each walk has the memory of the one before it. One that passes the bound counts for nothing, because its branches are not all
 * known. */
static bool walk_all(const struct work *work, struct walked_graph walked, const struct people *people, struct branch_sample *sample,
                     struct error *err)
{
    ARENA_SCOPE arena = arena_new(0);
    size_t visits = 0;
    walked.max_compared = SAMPLE_COMPARED_MAX;
    for (size_t i = 0; i < people->count && visits < SAMPLE_VISITS_MAX; i++) {
        struct simulation simulation;
        if (!people_walk(work, arena, &walked, &people->rows[i], &simulation, err))
            return false;
        if (simulation.is_cut)
            break;
        branch_counts_add(&sample->branches, &simulation);
        visits += simulation.count;
        walked.max_compared -= simulation.compared;
        sample->contact_count++;
        arena_reset(arena);
    }
    return true;
}

bool branch_sample_take(const struct work *work, const struct branch_sample_of *of, struct branch_sample *ret_sample,
                        struct error *err)
{
    struct walked_graph walked = { .graph = of->graph, .seed = of->seed };
    struct people people = { .count = 0 };
    bool ok = true;
    *ret_sample = (struct branch_sample){ .contact_count = 0 };
    branch_counts_init(work->arena, of->graph, &ret_sample->branches);
    if ((of->audience_id != 0 || of->trigger_id != 0) && !try_people(work, of, &people, &walked.time_zone, &ok, err))
        return false;
    ret_sample->is_refused = !ok;
    return !ok || walk_all(work, walked, &people, ret_sample, err);
}
