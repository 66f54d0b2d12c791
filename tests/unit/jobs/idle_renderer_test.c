/* The upkeep of the workers ends the process of the renderer that checks and draws, once it is idle. */
#include "fixtures/own_fail.h"

#include "fixtures/engine_fixture.h"

#include "base/json_read.h"
#include "jobs/worker.h"
#include "render/renderer.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BARELY_MS = 1 };

/* A process that answers each request with its id. */
static struct renderer *answering_renderer(void)
{
    const char *path = arena_printf(arena, "%s/script.mjs", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("import { createInterface } from 'node:readline';\n"
          "createInterface({ input: process.stdin }).on('line', (line) => console.log(JSON.stringify(\n"
          "  { id: JSON.parse(line).id, ok: true, result: { pid: process.pid } })));\n",
          file);
    fclose(file);
    return renderer_new(&(struct renderer_config){ .node_path = "node", .script_path = path, .idle_ms = BARELY_MS });
}

static void test_the_upkeep_ends_the_idle_process(void **state)
{
    (void)state;
    struct error err;
    const json_t *result = NULL;
    struct renderer *renderer = answering_renderer();
    assert_ok(renderer_check_shown(renderer_for(renderer, 0), arena, "x", "{}", &result, &err), &err);
    pid_t views = (pid_t)json_get_int(result, "pid", 0);
    assert_ok(renderer_outline(renderer_for(renderer, 0), arena, "x", &result, &err), &err);
    pid_t designs = (pid_t)json_get_int(result, "pid", 0);
    usleep(2 * BARELY_MS * 1000);

    struct job_services services = { .renderer = renderer };
    struct workers *workers = workers_start(installation, &services, 1);
    int64_t until_us = clock_monotonic_us() + 30 * US_PER_S;
    while (kill(views, 0) == 0 && clock_monotonic_us() < until_us)
        usleep(20000);
    workers_stop(workers);
    assert_int_equal(kill(views, 0), -1);
    assert_int_equal(kill(designs, 0), 0);
    renderer_free(renderer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_upkeep_ends_the_idle_process),
    };
    return cmocka_run_group_tests_name("jobs: idle renderer", tests, world_begin, world_end);
}
