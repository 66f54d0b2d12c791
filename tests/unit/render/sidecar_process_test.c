/*
 * Renderer, the client of the sidecar: the life of its process, what the process may
 * do, and turns of several callers, with small scripts as the sidecar.
 */
#include "render/renderer_pool.h"

#include "base/clock.h"
#include "base/json_read.h"
#include "fixtures/sidecar_bench.h"
#include "fixtures/temp_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* DEADLINE_MS is long enough for a start of the process on a busy machine. */
enum { DEADLINE_MS = 5000, NEVER_READ_MS = 1000 };

/* The deadline comes after the process has begun the request, and before it would answer. */
static void test_deadline_kills_and_restarts(void **state)
{
    struct bench *bench = *state;
    struct renderer *renderer = scripted_renderer(bench,
                                                  "if (request.content === 'hang') { process.stderr.write('begun\\n'); for (const "
                                                  "end = Date.now() + 60000; Date.now() < end;); }"
                                                  "ok(request, { count, pid: process.pid });",
                                                  DEADLINE_MS);
    const json_t *first = prepare_well(bench, renderer, "x");
    struct error err = { .code = ERR_NONE };
    assert_null(prepare_html(bench, renderer, "hang", &err));
    assert_int_equal(err.code, ERR_SERVICE_UNAVAILABLE);
    assert_non_null(strstr(err.cause, "deadline"));
    assert_true(err.retry_after_s > 0);
    assert_true(log_has(bench, "begun"));
    assert_int_equal(kill((pid_t)json_get_int(first, "pid", 0), 0), -1); /* killed and reaped */
    assert_int_equal(json_get_int(prepare_well(bench, renderer, "x"), "count", 0), 1);
    renderer_free(renderer);
}

static void test_process_that_never_reads(void **state)
{
    struct bench *bench = *state;
    struct renderer *renderer = scripted_renderer(bench, "", NEVER_READ_MS);
    FILE *file = fopen(arena_printf(bench->arena, "%s/script.mjs", bench->folder), "w");
    fputs("setInterval(() => {}, 1000);", file);
    fclose(file);
    char *html = arena_alloc(bench->arena, 2 * 1024 * 1024 + 1);
    memset(html, 'h', 2 * 1024 * 1024);
    assert_unavailable(bench, renderer, html, "deadline");
    renderer_free(renderer);
}

static void test_crash_and_restart(void **state)
{
    struct bench *bench = *state;
    struct renderer *renderer =
        scripted_renderer(bench, "if (request.content === 'crash') throw new Error('boom'); ok(request, { count });", 0);
    assert_int_equal(json_get_int(prepare_well(bench, renderer, "x"), "count", 0), 1);
    assert_unavailable(bench, renderer, "crash", "standard output closed");
    assert_true(log_has(bench, "boom"));
    assert_int_equal(json_get_int(prepare_well(bench, renderer, "x"), "count", 0), 1);
    renderer_free(renderer);
}

static void test_death_while_idle_is_not_noticed(void **state)
{
    struct bench *bench = *state;
    struct renderer *renderer = scripted_renderer(bench, "ok(request, { count, pid: process.pid });", 0);
    pid_t pid = (pid_t)json_get_int(prepare_well(bench, renderer, "x"), "pid", 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    siginfo_t death;
    assert_int_equal(waitid(P_PID, (id_t)pid, &death, WEXITED | WNOWAIT), 0); /* it is dead, and the renderer has not reaped it */
    assert_int_equal(json_get_int(prepare_well(bench, renderer, "x"), "count", 0), 1);
    renderer_free(renderer);
}

static void test_cannot_start(void **state)
{
    struct bench *bench = *state;
    struct renderer *renderer =
        renderer_new(&(struct renderer_config){ .node_path = "/nonexistent/node", .script_path = "/nonexistent/main.mjs" });
    assert_unavailable(bench, renderer, "x", "No such file");
    assert_unavailable(bench, renderer, "x", "No such file");
    renderer_free(renderer);
    renderer = renderer_new(&(struct renderer_config){ .node_path = "node", .script_path = "/nonexistent/main.mjs" });
    assert_unavailable(bench, renderer, "x", "closed");
    renderer_free(renderer);
    renderer_free(NULL);
}

/* Whether this machine lets us take the network from a child. */
static bool can_drop_network(void)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(unshare(CLONE_NEWNET) == 0 ? 0 : 1);
    int status = 1;
    return waitpid(pid, &status, 0) == pid && status == 0;
}

/* What the process may see and do. */
static void test_confinement(void **state)
{
    struct bench *bench = *state;
    setenv("https_proxy", "http://proxy.example", 1);
    setenv("POSTHORN_SECRET", "secret", 1);
    setenv("NODE_OPTIONS", "--no-such-option", 1);
    char *kept_path = arena_printf(bench->arena, "%s/kept", bench->folder);
    int kept_fd = open(kept_path, O_RDWR | O_CREAT, 0600); /* without close-on-exec */
    assert_true(kept_fd >= 0);
    struct renderer *renderer = scripted_renderer(
        bench,
        "let inherited = 0;"
        "for (const fd of readdirSync('/proc/self/fd')) { try { if (readlinkSync('/proc/self/fd/' + fd) === "
        "request.content) inherited++; } catch {} }"
        "let wrote = 'no'; try { writeFileSync('/tmp/side_test_written', 'x'); wrote = 'yes'; } catch {}"
        "ok(request, { environment: Object.keys(process.env).sort().join(), uid: process.getuid(), cwd: process.cwd(),"
        "  heap: process.execArgv.join(), wrote, inherited, status: readFileSync('/proc/self/status', 'latin1'),"
        "  interfaces: readFileSync('/proc/net/dev', 'latin1').split(':').length - 1 });",
        0);
    const json_t *seen = prepare_well(bench, renderer, kept_path);
    if (can_drop_network())
        assert_int_equal(json_get_int(seen, "interfaces", -1), 1); /* the loopback of an empty namespace, which is down */
    assert_int_equal(json_get_int(seen, "inherited", -1), 0);
    assert_string_equal(json_get_text(seen, "wrote"), "no");
    assert_string_equal(json_get_text(seen, "environment"), "HOME,LANG,NODE_ENV,PATH,TZ");
    assert_string_equal(json_get_text(seen, "cwd"), "/");
    assert_string_equal(json_get_text(seen, "heap"), "--max-old-space-size=512");
    assert_non_null(strstr(json_get_text(seen, "status"), "NoNewPrivs:\t1"));
    if (geteuid() == 0) {
        assert_int_not_equal(json_get_int(seen, "uid", 0), 0);
        assert_non_null(strstr(json_get_text(seen, "status"), "CapEff:\t0000000000000000"));
        assert_false(log_has(bench, "runs as root"));
    }
    unlink("/tmp/side_test_written");
    renderer_free(renderer);
    close(kept_fd);
    unsetenv("https_proxy");
    unsetenv("POSTHORN_SECRET");
    unsetenv("NODE_OPTIONS");
}

static int count_fds(void)
{
    int count = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count;
}

static void test_no_descriptor_leaks(void **state)
{
    struct bench *bench = *state;
    int before = count_fds();
    struct renderer *renderer = scripted_renderer(bench, "if (request.content === 'crash') process.exit(1); ok(request, {});", 0);
    for (int i = 0; i < 3; i++) {
        prepare_well(bench, renderer, "x");
        assert_unavailable(bench, renderer, "crash", "renderer");
    }
    renderer_free(renderer);
    renderer = renderer_new(&(struct renderer_config){ .node_path = "/nonexistent/node", .script_path = "/x" });
    assert_unavailable(bench, renderer, "x", "No such file");
    renderer_free(renderer);
    assert_int_equal(count_fds(), before);
}

static void test_files_that_nobody_cannot_read(void **state)
{
    struct bench *bench = *state;
    if (geteuid() != 0)
        skip();
    struct renderer *renderer = scripted_renderer(bench, "ok(request, { uid: process.getuid() });", 0);
    assert_int_equal(chmod(bench->folder, 0700), 0);
    assert_int_equal(json_get_int(prepare_well(bench, renderer, "x"), "uid", -1), 0);
    prepare_well(bench, renderer, "x"); /* reads what is left on standard error */
    renderer_free(renderer);
    assert_true(log_has(bench, "runs as root"));
}

struct caller {
    struct renderer *renderer;
    int done;
};

static void *call_often(void *argument)
{
    struct caller *caller = argument;
    for (int i = 0; i < 20; i++) {
        ARENA_SCOPE arena = arena_new(0);
        struct error err = { .code = ERR_NONE };
        const json_t *result = NULL;
        char *html = arena_printf(arena, "<p>%p %d</p>", argument, i);
        if (renderer_prepare(renderer_for(caller->renderer, 0), arena, "html", html, NULL, &result, &err))
            caller->done += strcmp(json_get_text(result, "content"), html) == 0;
    }
    return NULL;
}

static int call_from_threads(struct renderer *renderer)
{
    struct caller callers[4];
    pthread_t threads[4];
    int done = 0;
    for (size_t i = 0; i < ARRAY_COUNT(callers); i++) {
        callers[i] = (struct caller){ .renderer = renderer };
        assert_int_equal(pthread_create(&threads[i], NULL, call_often, &callers[i]), 0);
    }
    for (size_t i = 0; i < ARRAY_COUNT(callers); i++) {
        pthread_join(threads[i], NULL);
        done += callers[i].done;
    }
    return done;
}

static void test_threads_take_turns(void **state)
{
    struct bench *bench = *state;
    struct renderer *renderer = scripted_renderer(bench, "ok(request, { content: request.content });", 0);
    prepare_well(bench, renderer, "x"); /* this thread outlives the process */
    assert_int_equal(call_from_threads(renderer), 80);
    renderer_free(renderer);
}

/* ---- A turn that does not come ---- */

enum { FAR_AWAY_S = 3600, LINE_MAX_BYTES = 256 };

static bool exchange(struct renderer_pool *pool, struct arena *arena, const char *content, int64_t deadline_us, struct error *err)
{
    BUF_SCOPE line;
    buf_init(&line, LINE_MAX_BYTES);
    buf_add_text(&line, arena_printf(arena, "{\"id\":7,\"content\":\"%s\"}\n", content));
    const json_t *result = NULL;
    return renderer_pool_exchange(pool, 1, arena, &line, 7, deadline_us, &result, err);
}

static int64_t far_away(void)
{
    return clock_monotonic_us() + FAR_AWAY_S * US_PER_S;
}

struct holder {
    struct renderer_pool *pool;
    bool succeeded;
    _Atomic bool is_done;
};

static void *hold(void *argument)
{
    struct holder *holder = argument;
    ARENA_SCOPE arena = arena_new(0);
    struct error err = { .code = ERR_NONE };
    holder->succeeded = exchange(holder->pool, arena, "hold", far_away(), &err);
    atomic_store(&holder->is_done, true);
    return NULL;
}

static struct renderer_pool *start_holding_pool(const struct bench *bench, struct renderer_config *config)
{
    config->script_path = write_script(
        bench,
        arena_printf(
            bench->arena,
            "if (request.content !== 'hold') { ok(request, {}); return; }"
            "process.stderr.write('held\\n');"
            "const timer = setInterval(() => { if (existsSync('%s/release')) { clearInterval(timer); ok(request, {}); } }, 5);",
            bench->folder));
    return renderer_pool_new(config);
}

/* Waiting for one's turn counts: the deadline of a caller passes while another caller's request is held. */
static void test_a_turn_that_does_not_come(void **state)
{
    struct bench *bench = *state;
    struct renderer_config config = {
        .node_path = "node", .heap_mb = RENDERER_HEAP_MB, .max_reply_bytes = 1024, .log = keep_log, .log_context = bench
    };
    struct holder holder = { .pool = start_holding_pool(bench, &config) };
    struct error err = { .code = ERR_NONE };
    assert_ok(exchange(holder.pool, bench->arena, "x", far_away(), &err), &err); /* this thread outlives the process */
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, hold, &holder), 0);
    while (!log_has(bench, "held") && !atomic_load(&holder.is_done))
        usleep(1000);

    assert_false(exchange(holder.pool, bench->arena, "x", clock_monotonic_us(), &err));
    assert_int_equal(err.code, ERR_SERVICE_UNAVAILABLE);
    assert_non_null(strstr(err.cause, "busy until the deadline"));
    assert_false(atomic_load(&holder.is_done));

    FILE *file = fopen(arena_printf(bench->arena, "%s/release", bench->folder), "w");
    assert_non_null(file);
    fclose(file);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(holder.succeeded);
    assert_ok(exchange(holder.pool, bench->arena, "x", far_away(), &err), &err);
    renderer_pool_free(holder.pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_deadline_kills_and_restarts, set_up_bench, tear_down_bench),
        cmocka_unit_test_setup_teardown(test_process_that_never_reads, set_up_bench, tear_down_bench),
        cmocka_unit_test_setup_teardown(test_crash_and_restart, set_up_bench, tear_down_bench),
        cmocka_unit_test_setup_teardown(test_death_while_idle_is_not_noticed, set_up_bench, tear_down_bench),
        cmocka_unit_test_setup_teardown(test_cannot_start, set_up_bench, tear_down_bench),
        cmocka_unit_test_setup_teardown(test_confinement, set_up_bench, tear_down_bench),
        cmocka_unit_test_setup_teardown(test_no_descriptor_leaks, set_up_bench, tear_down_bench),
        cmocka_unit_test_setup_teardown(test_files_that_nobody_cannot_read, set_up_bench, tear_down_bench),
        cmocka_unit_test_setup_teardown(test_threads_take_turns, set_up_bench, tear_down_bench),
        cmocka_unit_test_setup_teardown(test_a_turn_that_does_not_come, set_up_bench, tear_down_bench),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
