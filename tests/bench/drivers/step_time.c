/*
 * Steps the due runs of the default brand for tests/bench/benches/steps.mjs,
 * without the thread of the service:
 *
 *     step_time DATABASE_URL DATA_DIR RUNS_OF_A_TRANSACTION
 *
 * It prints the number of stepped runs and the seconds that this took.
 */
#include "base/clock.h"
#include "crypto/keys.h"
#include "engine/core/installation.h"
#include "engine/runs/step_batch.h"

#include <stdio.h>
#include <stdlib.h>

static bool step_all(struct db_conn *conn, struct engine *engine, int limit, size_t *ret_runs, struct error *err)
{
    struct graph_cache *cache = graph_cache_new();
    struct step_batch_result result = { .last = { .due_us = DB_TIME_MINUS_INFINITY } };
    bool ok = true;
    while (ok && !result.is_last) {
        ARENA_SCOPE arena = arena_new(0);
        struct work work = {
            .engine = engine, .arena = arena, .conn = conn, .brand_id = engine->default_brand_id, .now_us = clock_now_us()
        };
        struct step_taking taking = { .mark = result.last, .limit = limit };
        ok = step_batch_run(&work, cache, &taking, &result, err);
        *ret_runs += ok ? result.taken - result.left : 0;
    }
    graph_cache_free(cache);
    return ok;
}

int main(int argc, char **argv)
{
    struct error err = { .code = ERR_NONE };
    DB_CONN_SCOPE conn = NULL;
    size_t runs = 0;
    if (argc != 4)
        return 2;
    crypto_start();
    struct installation_config config = { .database_url = argv[1], .data_dir = argv[2], .application_name = "step_time" };
    struct installation *installation = installation_new(&config);
    int64_t begun_us = 0;
    bool ok = installation_connect(installation, &conn, &err);
    if (ok) {
        begun_us = clock_monotonic_us();
        ok = step_all(conn, installation_engine(installation), atoi(argv[3]), &runs, &err);
    }
    if (ok)
        printf("%zu %.3f\n", runs, (double)(clock_monotonic_us() - begun_us) / (double)US_PER_S);
    else
        fprintf(stderr, "%s (%s)\n", err.message, err.cause);
    db_disconnect(conn);
    conn = NULL;
    installation_free(installation);
    return ok ? 0 : 1;
}
