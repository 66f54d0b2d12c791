/*
 * The processes of the renderer: which request goes to which, that a held check
 * holds no design, that a held design holds no other organization, the death of
 * each, and the end of the idle ones. A small
 * script takes the place of the sidecar.
 */
#include "render/renderer.h"

#include "base/json_read.h"
#include "fixtures/temp_folder.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { DEADLINE_MS = 30 * 1000, BARELY_MS = 1 };

struct bench {
    char folder[64];
    struct arena *arena;
    struct renderer *renderer;
    _Atomic bool is_held; /* the process has begun the check that it holds */
    _Atomic bool is_checked;
};

static void read_log(void *context, const char *line)
{
    struct bench *bench = context;
    if (strcmp(line, "held") == 0)
        atomic_store(&bench->is_held, true);
}

/* Answers with its process id. `checkShown` of "hold" is answered once there is the file `release`; "crash" ends the process. */
static void write_script(const struct bench *bench, const char *path)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(
        file,
        "import { existsSync } from 'node:fs';\n"
        "import { createInterface } from 'node:readline';\n"
        "createInterface({ input: process.stdin }).on('line', (line) => {\n"
        "  const { id, op, content } = JSON.parse(line);\n"
        "  const reply = () => process.stdout.write(JSON.stringify({ id, ok: true, result: { pid: process.pid, op } }) + '\\n');\n"
        "  if (content === 'crash') process.exit(1);\n"
        "  if (content !== 'hold') return reply();\n"
        "  process.stderr.write('held\\n');\n"
        "  const timer = setInterval(() => { if (existsSync('%s/release')) { clearInterval(timer); reply(); } }, 5);\n"
        "});\n",
        bench->folder);
    fclose(file);
}

static struct renderer *start(struct bench *bench, int64_t idle_ms)
{
    char *path = arena_printf(bench->arena, "%s/script.mjs", bench->folder);
    write_script(bench, path);
    return renderer_new(&(struct renderer_config){ .node_path = "node",
                                                   .script_path = path,
                                                   .deadline_ms = DEADLINE_MS,
                                                   .idle_ms = idle_ms,
                                                   .log = read_log,
                                                   .log_context = bench });
}

static int setup(void **state)
{
    struct bench *bench = calloc(1, sizeof(*bench));
    snprintf(bench->folder, sizeof(bench->folder), "/tmp/sides_test.XXXXXX");
    if (chmod(make_folder(bench->folder), 0755) != 0)
        return -1;
    bench->arena = arena_new(0);
    bench->renderer = start(bench, 0);
    *state = bench;
    return 0;
}

static int teardown(void **state)
{
    struct bench *bench = *state;
    renderer_free(bench->renderer);
    remove_folder(bench->folder);
    arena_free(bench->arena);
    free(bench);
    return 0;
}

/* The process that prepares HTML for an organization; 0: the renderer was unavailable. */
static pid_t prepare_for(struct bench *bench, struct arena *arena, int64_t organization_id, const char *html)
{
    struct error err = { .code = ERR_NONE };
    const json_t *result = NULL;
    if (renderer_prepare(renderer_for(bench->renderer, organization_id), arena, "html", html, NULL, &result, &err))
        return (pid_t)json_get_int(result, "pid", -1);
    return err.code == ERR_SERVICE_UNAVAILABLE ? 0 : -1;
}

static pid_t prepare(struct bench *bench, const char *html)
{
    return prepare_for(bench, bench->arena, 0, html);
}

/* The process that checks a shown mail; 0: the renderer was unavailable. */
static pid_t check(struct bench *bench, struct arena *arena, const char *html)
{
    struct error err = { .code = ERR_NONE };
    const json_t *result = NULL;
    if (renderer_check_shown(renderer_for(bench->renderer, 0), arena, html, "{}", &result, &err))
        return (pid_t)json_get_int(result, "pid", -1);
    return err.code == ERR_SERVICE_UNAVAILABLE ? 0 : -1;
}

static bool is_alive(pid_t pid)
{
    return kill(pid, 0) == 0;
}

static void test_each_request_has_its_process(void **state)
{
    struct bench *bench = *state;
    struct renderer_caller renderer = renderer_for(bench->renderer, 0);
    struct arena *arena = bench->arena;
    struct error err = { .code = ERR_NONE };
    const json_t *designs[8];
    const json_t *views[10];
    const struct bytes page = { .data = (const unsigned char *)"<p>", .size = 3 };
    assert_true(renderer_prepare(renderer, arena, "jsx", "x", NULL, &designs[0], &err));
    assert_true(renderer_replace_images(renderer, arena, "x", "{}", &designs[1], &err));
    assert_true(renderer_replace_text(renderer, arena, "x", NULL, "[]", &designs[2], &err));
    assert_true(renderer_outline(renderer, arena, "x", &designs[3], &err));
    assert_true(renderer_splice(renderer, arena, "x", "[]", &designs[4], &err));
    assert_true(renderer_draw_document(renderer, arena, "{}", "{}", "{}", &designs[5], &err));
    assert_true(renderer_read_page(renderer, arena, "https://a.example/", page, &designs[6], &err));
    assert_true(renderer_ping(renderer, arena, &designs[7], &err));

    assert_true(renderer_check_shown(renderer, arena, "x", "{}", &views[0], &err));
    assert_true(renderer_check_mail(renderer, arena, "\"design\":\"x\"", &views[1], &err));
    assert_true(renderer_list_images(renderer, arena, "x", &views[2], &err));
    assert_true(renderer_draw_page(renderer, arena, "x", 600, 900, "{}", &views[3], &err));
    assert_true(renderer_draw_client(renderer, arena, "x", NULL, "{}", "{}", &views[4], &err));
    assert_true(renderer_draw_frames(renderer, arena, "x", 600, 10, &views[5], &err));
    for (int op = SITE_READ_PAGE; op <= SITE_SUMMARISE; op++)
        assert_true(renderer_site(renderer, arena, (enum renderer_site_op)op, "\"url\":\"x\"", &views[6 + op], &err));

    int64_t design_pid = json_get_int(designs[0], "pid", 0);
    int64_t view_pid = json_get_int(views[0], "pid", 0);
    assert_int_not_equal(design_pid, view_pid);
    for (size_t i = 0; i < ARRAY_COUNT(designs); i++)
        if (json_get_int(designs[i], "pid", 0) != design_pid)
            fail_msg("%s is not made by the process of designs", json_get_text(designs[i], "op"));
    for (size_t i = 0; i < ARRAY_COUNT(views); i++)
        if (json_get_int(views[i], "pid", 0) != view_pid)
            fail_msg("%s is made by the process of designs", json_get_text(views[i], "op"));
}

static void *check_held(void *argument)
{
    struct bench *bench = argument;
    ARENA_SCOPE arena = arena_new(0);
    pid_t pid = check(bench, arena, "hold");
    atomic_store(&bench->is_checked, true);
    return (void *)(intptr_t)pid;
}

static pthread_t begin_held_check(struct bench *bench)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, check_held, bench), 0);
    while (!atomic_load(&bench->is_held) && !atomic_load(&bench->is_checked))
        usleep(1000);
    return thread;
}

static void release_held(struct bench *bench)
{
    FILE *file = fopen(arena_printf(bench->arena, "%s/release", bench->folder), "w");
    assert_non_null(file);
    fclose(file);
}

static void end_held_check(struct bench *bench, pthread_t thread)
{
    void *checked = NULL;
    release_held(bench);
    assert_int_equal(pthread_join(thread, &checked), 0);
    assert_true((intptr_t)checked > 0);
}

/* One brand's check is held until the designs of another brand are made. */
static void test_a_held_check_holds_no_design(void **state)
{
    struct bench *bench = *state;
    pthread_t thread = begin_held_check(bench);
    for (int i = 0; i < 3; i++)
        assert_true(prepare(bench, "<p>Hi</p>") > 0);
    assert_false(atomic_load(&bench->is_checked));
    end_held_check(bench, thread);
}

struct preparation {
    struct bench *bench;
    const char *html;
    pid_t pid;
    _Atomic bool is_done;
};

/* A preparation for organization 1. */
static void *prepare_beside(void *argument)
{
    struct preparation *preparation = argument;
    ARENA_SCOPE arena = arena_new(0);
    preparation->pid = prepare_for(preparation->bench, arena, 1, preparation->html);
    atomic_store(&preparation->is_done, true);
    return NULL;
}

static pthread_t begin_preparation(struct preparation *preparation)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, prepare_beside, preparation), 0);
    return thread;
}

static void test_a_held_design_holds_no_other_organization(void **state)
{
    struct bench *bench = *state;
    pid_t first = prepare(bench, "x");
    struct preparation held = { .bench = bench, .html = "hold" };
    struct preparation behind = { .bench = bench, .html = "x" };
    pthread_t held_thread = begin_preparation(&held);
    while (!atomic_load(&bench->is_held) && !atomic_load(&held.is_done))
        usleep(1000);
    pthread_t behind_thread = begin_preparation(&behind);
    pid_t second = prepare_for(bench, bench->arena, 2, "x");
    assert_int_not_equal(second, first);
    assert_int_equal(prepare_for(bench, bench->arena, 3, "x"), second);
    assert_false(atomic_load(&held.is_done));
    assert_false(atomic_load(&behind.is_done)); /* of the organization that has a process */

    release_held(bench);
    assert_int_equal(pthread_join(held_thread, NULL), 0);
    assert_int_equal(pthread_join(behind_thread, NULL), 0);
    assert_int_equal(held.pid, first);
    assert_int_equal(behind.pid, first);
}

/* The death of one process, in the middle of a request or between two, leaves the other one alone. */
static void test_each_dies_alone(void **state)
{
    struct bench *bench = *state;
    pid_t designs = prepare(bench, "x");
    pid_t views = check(bench, bench->arena, "x");
    assert_int_equal(check(bench, bench->arena, "crash"), 0);
    assert_int_equal(prepare(bench, "x"), designs);
    pid_t next_views = check(bench, bench->arena, "x");
    assert_int_not_equal(next_views, views);

    assert_int_equal(prepare(bench, "crash"), 0);
    assert_int_equal(check(bench, bench->arena, "x"), next_views);
    pid_t next_designs = prepare(bench, "x");
    assert_int_not_equal(next_designs, designs);

    assert_int_equal(kill(next_views, SIGKILL), 0);
    while (check(bench, bench->arena, "x") == next_views) /* it has read the request before the signal came */
        ;
    assert_int_equal(prepare(bench, "x"), next_designs);
}

static void test_the_idle_process_is_ended(void **state)
{
    struct bench *bench = *state;
    renderer_end_idle(NULL);
    renderer_end_idle(bench->renderer); /* none runs */
    pid_t views = check(bench, bench->arena, "x");
    renderer_end_idle(bench->renderer); /* not idle for long enough */
    assert_int_equal(check(bench, bench->arena, "x"), views);

    renderer_free(bench->renderer);
    bench->renderer = start(bench, BARELY_MS);
    pid_t designs = prepare(bench, "x");
    views = check(bench, bench->arena, "x");
    usleep(2 * BARELY_MS * 1000);
    renderer_end_idle(bench->renderer);
    assert_false(is_alive(views));
    assert_int_equal(prepare(bench, "x"), designs);
    assert_int_not_equal(check(bench, bench->arena, "x"), views);
}

/* A process that works is not idle, however long ago its last request ended. */
static void test_a_working_process_is_not_ended(void **state)
{
    struct bench *bench = *state;
    renderer_free(bench->renderer);
    bench->renderer = start(bench, BARELY_MS);
    pthread_t thread = begin_held_check(bench);
    usleep(2 * BARELY_MS * 1000);
    renderer_end_idle(bench->renderer);
    end_held_check(bench, thread);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_each_request_has_its_process, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_held_check_holds_no_design, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_held_design_holds_no_other_organization, setup, teardown),
        cmocka_unit_test_setup_teardown(test_each_dies_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_idle_process_is_ended, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_working_process_is_not_ended, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
