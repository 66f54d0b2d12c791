/*
 * Judges the hits of the default brand for tests/bench/benches/judge.mjs, without
 * the threads of the service:
 *
 *     judge_time DATABASE_URL DATA_DIR judge     judges until no hit waits, a transaction for each pass as in the job
 *     judge_time DATABASE_URL DATA_DIR update    changes the same columns of all hits by one bare UPDATE
 *
 * It prints the seconds that this took, and the processor seconds of the server's
 * process. The connection is made before.
 */
#include "base/clock.h"
#include "crypto/keys.h"
#include "engine/core/installation.h"
#include "engine/hits/hit_rules.h"
#include "engine/hits/judge_hits.h"
#include "measure.h"
#include "server_process.h"

#include <stdio.h>
#include <string.h>

static bool judge_pass(struct db_conn *conn, struct engine *engine, bool *ret_done, struct error *err)
{
    ARENA_SCOPE arena = arena_new(0);
    struct work work = {
        .engine = engine, .arena = arena, .conn = conn, .brand_id = engine->default_brand_id, .now_us = clock_now_us()
    };
    struct judge_left left;
    DB_TX tx = { .conn = NULL };
    if (!db_tx_begin(conn, &tx, err) || !hits_judge(&work, &hit_rules_built_in, &left, err) || !db_tx_commit(&tx, err))
        return false;
    if (!left.is_done && left.next_due_us > work.now_us)
        die("a hit is too young to be judged");
    *ret_done = left.is_done;
    return true;
}

static bool judge_all(struct db_conn *conn, struct engine *engine, struct error *err)
{
    bool is_done = false;
    bool ok = true;
    while (ok && !is_done)
        ok = judge_pass(conn, engine, &is_done, err);
    return ok;
}

static bool measure(struct db_conn *conn, struct engine *engine, const char *mode, struct error *err)
{
    ARENA_SCOPE arena = arena_new(0);
    pid_t server;
    if (!find_server_process(conn, arena, &server, err))
        return false;
    double cpu_s = process_cpu_s(server);
    int64_t begun_ns = now_ns();
    bool ok = strcmp(mode, "update") == 0
                  ? db_script(conn, "update hits set actor = 'human', reason = 'older', rules_version = 0", err)
                  : judge_all(conn, engine, err);
    if (ok)
        printf("%.6f %.6f\n", (double)(now_ns() - begun_ns) / 1e9, process_cpu_s(server) - cpu_s);
    return ok;
}

int main(int argc, char **argv)
{
    struct error err = { .code = ERR_NONE };
    DB_CONN_SCOPE conn = NULL;
    if (argc != 4)
        die("judge_time DATABASE_URL DATA_DIR judge|update");
    crypto_start();
    struct installation_config config = { .database_url = argv[1], .data_dir = argv[2], .application_name = "judge_time" };
    struct installation *installation = installation_new(&config);
    bool ok = installation_connect(installation, &conn, &err) && measure(conn, installation_engine(installation), argv[3], &err);
    if (!ok)
        fprintf(stderr, "%s (%s)\n", err.message, err.cause);
    db_disconnect(conn);
    conn = NULL;
    installation_free(installation);
    return ok ? 0 : 1;
}
