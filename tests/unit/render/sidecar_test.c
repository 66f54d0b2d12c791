/*
 * Renderer, the client of the sidecar: the protocol and every fault, with small
 * scripts as the sidecar; then the real sidecar.
 */
#include "render/renderer.h"

#include "base/clock.h"
#include "base/json_read.h"
#include "designer/instruction.h"
#include "fixtures/temp_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define REAL_SCRIPT POSTHORN_SOURCE_DIR "/src/render/sidecar/main.mjs"
#define REAL_NODE   POSTHORN_SOURCE_DIR "/build/node/node_modules/.bin/node"

enum { LOG_LINES = 64 };

struct bench {
    char folder[64];
    struct arena *arena;
    int log_count;
    char log[LOG_LINES][256];
};

static int setup(void **state)
{
    struct bench *bench = calloc(1, sizeof(*bench));
    snprintf(bench->folder, sizeof(bench->folder), "/tmp/side_test.XXXXXX");
    if (chmod(make_folder(bench->folder), 0755) != 0)
        return -1;
    bench->arena = arena_new(0);
    *state = bench;
    return 0;
}

static int teardown(void **state)
{
    struct bench *bench = *state;
    remove_folder(bench->folder);
    arena_free(bench->arena);
    free(bench);
    return 0;
}

static void keep_log(void *context, const char *line)
{
    struct bench *bench = context;
    if (bench->log_count < LOG_LINES)
        snprintf(bench->log[bench->log_count], sizeof(bench->log[0]), "%s", line);
    bench->log_count++;
}

static bool log_has(const struct bench *bench, const char *part)
{
    for (int i = 0; i < bench->log_count && i < LOG_LINES; i++)
        if (strstr(bench->log[i], part) != NULL)
            return true;
    return false;
}

/* A process that answers each request by the body of `on`, which sees `request` and `reply(object)`. */
static struct renderer *side_of(struct bench *bench, const char *on, int64_t deadline_ms)
{
    char *path = arena_printf(bench->arena, "%s/script.mjs", bench->folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file,
            "import { createInterface } from 'node:readline';\n"
            "import { closeSync, readFileSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs';\n"
            "let count = 0;\n"
            "const reply = (object) => process.stdout.write(JSON.stringify(object) + '\\n');\n"
            "const ok = (request, result) => reply({ id: request.id, ok: true, result });\n"
            "createInterface({ input: process.stdin }).on('line', (line) => {\n"
            "  const request = JSON.parse(line);\n  count++;\n  %s\n});\n",
            on);
    fclose(file);
    return renderer_new(&(struct renderer_config){ .node_path = "node",
                                                   .script_path = path,
                                                   .deadline_ms = deadline_ms,
                                                   .max_reply_bytes = 4 * 1024 * 1024,
                                                   .log = keep_log,
                                                   .log_context = bench });
}

static const json_t *prepare(struct bench *bench, struct renderer *renderer, const char *html, struct error *err)
{
    const json_t *result = NULL;
    if (!renderer_prepare(renderer, bench->arena, "html", html, NULL, &result, err))
        return NULL;
    return result;
}

static const json_t *prepare_well(struct bench *bench, struct renderer *renderer, const char *html)
{
    struct error err = { .code = ERR_NONE };
    const json_t *result = prepare(bench, renderer, html, &err);
    if (result == NULL)
        fail_msg("%s: %s", err.message, err.cause);
    return result;
}

static void assert_unavailable(struct bench *bench, struct renderer *renderer, const char *html, const char *cause)
{
    struct error err = { .code = ERR_NONE };
    assert_null(prepare(bench, renderer, html, &err));
    assert_int_equal(err.code, ERR_SERVICE_UNAVAILABLE);
    if (strstr(err.cause, cause) == NULL)
        fail_msg("expected '%s' in '%s'", cause, err.cause);
}

static void test_request_and_reply(void **state)
{
    struct bench *bench = *state;
    struct renderer *renderer = side_of(bench, "ok(request, { request, count });", 0);
    const json_t *result = NULL;
    struct error err = { .code = ERR_NONE };
    assert_true(
        renderer_prepare(renderer, bench->arena, "html", "<p title=\"\u00e9\">\n</p>", "https://example.com/", &result, &err));
    const json_t *request = json_object_get(result, "request");
    assert_string_equal(json_get_text(request, "op"), "prepare");
    assert_string_equal(json_get_text(request, "format"), "html");
    assert_string_equal(json_get_text(request, "content"), "<p title=\"\u00e9\">\n</p>");
    assert_string_equal(json_get_text(request, "baseUrl"), "https://example.com/");
    /* One process serves them all. */
    result = prepare_well(bench, renderer, "x");
    assert_int_equal(json_get_int(result, "count", 0), 2);
    assert_null(json_object_get(json_object_get(result, "request"), "baseUrl"));
    renderer_free(renderer);
}

static void test_large_request_and_reply(void **state)
{
    struct bench *bench = *state;
    struct renderer *renderer =
        side_of(bench, "process.stderr.write('e'.repeat(200000) + '\\n'); ok(request, { content: request.content });", 0);
    char *html = arena_alloc(bench->arena, 3 * 1024 * 1024 + 1);
    memset(html, 'h', 3 * 1024 * 1024);
    const json_t *result = prepare_well(bench, renderer, html);
    assert_string_equal(json_get_text(result, "content"), html);
    assert_true(log_has(bench, "eeee"));

    struct error err = { .code = ERR_NONE };
    char *huge = arena_alloc(bench->arena, RENDERER_MAX_REQUEST_BYTES + 1);
    memset(huge, 'h', RENDERER_MAX_REQUEST_BYTES);
    assert_null(prepare(bench, renderer, huge, &err));
    assert_int_equal(err.code, ERR_PAYLOAD_TOO_LARGE);
    prepare_well(bench, renderer, "x");
    renderer_free(renderer);
}

static void test_reported_errors(void **state)
{
    struct bench *bench = *state;
    struct renderer *renderer = side_of(
        bench, "reply({ id: request.id, ok: false, error: { code: request.content, param: 'source.content', message: 'No.' } });",
        0);
    static const struct {
        const char *name;
        enum error_code code;
    } cases[] = { { "EMAIL_IMPORT_FAILED", ERR_EMAIL_IMPORT_FAILED },
                  { "INVALID_REQUEST", ERR_INVALID_REQUEST },
                  { "PAYLOAD_TOO_LARGE", ERR_PAYLOAD_TOO_LARGE },
                  { "SERVICE_UNAVAILABLE", ERR_SERVICE_UNAVAILABLE } };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct error err = { .code = ERR_NONE };
        assert_null(prepare(bench, renderer, cases[i].name, &err));
        assert_int_equal(err.code, cases[i].code);
        assert_string_equal(err.param, "source.content");
        assert_string_equal(err.message, "No.");
    }
    struct error err = { .code = ERR_NONE };
    assert_null(prepare(bench, renderer, "API_KEY_REVOKED", &err)); /* not for it to say */
    assert_int_equal(err.code, ERR_INTERNAL_ERROR);
    assert_null(strstr(err.message, "No."));
    renderer_free(renderer);
}

static void test_deadline_kills_and_restarts(void **state)
{
    struct bench *bench = *state;
    struct renderer *renderer =
        side_of(bench, "if (request.content === 'hang') for (;;); ok(request, { count, pid: process.pid });", 1500);
    const json_t *first = prepare_well(bench, renderer, "x");
    int64_t start_us = clock_monotonic_us();
    struct error err = { .code = ERR_NONE };
    assert_null(prepare(bench, renderer, "hang", &err));
    assert_int_equal(err.code, ERR_SERVICE_UNAVAILABLE);
    assert_true(err.retry_after_s > 0);
    int64_t took_ms = (clock_monotonic_us() - start_us) / US_PER_MS;
    assert_true(took_ms >= 1400 && took_ms < 3000);
    assert_int_equal(kill((pid_t)json_get_int(first, "pid", 0), 0), -1); /* killed and reaped */
    assert_int_equal(json_get_int(prepare_well(bench, renderer, "x"), "count", 0), 1);
    renderer_free(renderer);
}

static void test_process_that_never_reads(void **state)
{
    struct bench *bench = *state;
    struct renderer *renderer = side_of(bench, "", 1000);
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
        side_of(bench, "if (request.content === 'crash') throw new Error('boom'); ok(request, { count });", 0);
    assert_int_equal(json_get_int(prepare_well(bench, renderer, "x"), "count", 0), 1);
    assert_unavailable(bench, renderer, "crash", "standard output closed");
    assert_true(log_has(bench, "boom"));
    assert_int_equal(json_get_int(prepare_well(bench, renderer, "x"), "count", 0), 1);
    renderer_free(renderer);
}

static void test_death_while_idle_is_not_noticed(void **state)
{
    struct bench *bench = *state;
    struct renderer *renderer = side_of(bench, "ok(request, { count, pid: process.pid });", 0);
    pid_t pid = (pid_t)json_get_int(prepare_well(bench, renderer, "x"), "pid", 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    usleep(100000);
    assert_int_equal(json_get_int(prepare_well(bench, renderer, "x"), "count", 0), 1);
    renderer_free(renderer);
}

static void test_senseless_replies(void **state)
{
    static const struct {
        const char *on;
        const char *cause;
    } cases[] = {
        { "process.stdout.write('not json\\n');", "line 1" },
        { "reply({ id: request.id + 1, ok: true, result: {} });", "another request" },
        { "reply([1]);", "another request" },
        { "process.stdout.write('\\n');", "renderer" },
        { "const line = JSON.stringify({ id: request.id, ok: true, result: {} }) + '\\n'; process.stdout.write(line + line);",
          "line 2" },
        { "process.stdout.write('x'.repeat(5 * 1024 * 1024));", "too large" },
        { "process.stdout.write('[' .repeat(1000) + '\\n');", "renderer" },
        { "closeSync(1);", "closed" },
        { "reply({ id: request.id, ok: true });", "without a result" },
    };
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct bench *bench = *state;
        /* The first request of each process is answered well, so that what follows is seen to recover. */
        char *on = arena_printf(bench->arena, "if (request.content === 'bad') { %s } else ok(request, { count });", cases[i].on);
        struct renderer *renderer = side_of(bench, on, 0);
        prepare_well(bench, renderer, "good");
        assert_unavailable(bench, renderer, "bad", cases[i].cause);
        prepare_well(bench, renderer, "good");
        renderer_free(renderer);
    }
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
    struct renderer *renderer =
        side_of(bench,
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
    struct renderer *renderer = side_of(bench, "if (request.content === 'crash') process.exit(1); ok(request, {});", 0);
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
    struct renderer *renderer = side_of(bench, "ok(request, { uid: process.getuid() });", 0);
    assert_int_equal(chmod(bench->folder, 0700), 0);
    assert_int_equal(json_get_int(prepare_well(bench, renderer, "x"), "uid", -1), 0);
    prepare_well(bench, renderer, "x"); /* reads what is left on standard error */
    renderer_free(renderer);
    assert_true(log_has(bench, "runs as root"));
}

struct caller {
    struct renderer *renderer;
    int done;
    int busy;
};

static void *call_often(void *argument)
{
    struct caller *caller = argument;
    for (int i = 0; i < 20; i++) {
        ARENA_SCOPE arena = arena_new(0);
        struct error err = { .code = ERR_NONE };
        const json_t *result = NULL;
        char *html = arena_printf(arena, "<p>%p %d</p>", argument, i);
        if (renderer_prepare(caller->renderer, arena, "html", html, NULL, &result, &err))
            caller->done += strcmp(json_get_text(result, "content"), html) == 0;
        else
            caller->busy += err.code == ERR_SERVICE_UNAVAILABLE;
    }
    return NULL;
}

static void call_from_threads(struct renderer *renderer, int *ret_done, int *ret_busy)
{
    struct caller callers[4];
    pthread_t threads[4];
    *ret_done = 0;
    *ret_busy = 0;
    for (size_t i = 0; i < ARRAY_COUNT(callers); i++) {
        callers[i] = (struct caller){ .renderer = renderer };
        assert_int_equal(pthread_create(&threads[i], NULL, call_often, &callers[i]), 0);
    }
    for (size_t i = 0; i < ARRAY_COUNT(callers); i++) {
        pthread_join(threads[i], NULL);
        *ret_done += callers[i].done;
        *ret_busy += callers[i].busy;
    }
}

static void test_threads_take_turns(void **state)
{
    struct bench *bench = *state;
    int done;
    int busy;
    struct renderer *renderer = side_of(bench, "ok(request, { content: request.content });", 0);
    prepare_well(bench, renderer, "x"); /* this thread outlives the process */
    call_from_threads(renderer, &done, &busy);
    assert_int_equal(done, 80);
    renderer_free(renderer);

    /* Waiting for one's turn counts: with a slow process and a short deadline some are told that it is busy. */
    renderer = side_of(bench, "setTimeout(() => ok(request, { content: request.content }), 250);", 600);
    prepare_well(bench, renderer, "x");
    call_from_threads(renderer, &done, &busy);
    assert_int_equal(done + busy, 80);
    assert_true(done > 0 && busy > 0);
    renderer_free(renderer);
}

static void test_the_real_process(void **state)
{
    struct bench *bench = *state;
    struct renderer *renderer =
        renderer_new(&(struct renderer_config){ .node_path = access(REAL_NODE, X_OK) == 0 ? REAL_NODE : "node",
                                                .script_path = REAL_SCRIPT,
                                                .log = keep_log,
                                                .log_context = bench });
    struct error err = { .code = ERR_NONE };
    const json_t *result = NULL;
    if (!renderer_ping(renderer, bench->arena, &result, &err))
        fail_msg("%s: %s; %s", err.message, err.cause, bench->log_count > 0 ? bench->log[0] : "");
    assert_true(json_get_bool(result, "pong", false));
    result = prepare_well(bench, renderer, "<p>Hi {{ firstName | default: 'there' }}</p><script>alert(1)</script>");
    const char *html = json_get_text(result, "html");
    assert_non_null(html);
    assert_non_null(strstr(html, "{{ firstName"));
    assert_null(strstr(html, "<script"));
    assert_false(renderer_prepare(renderer, bench->arena, "rtf", "x", NULL, &result, &err));
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
    assert_string_equal(err.param, "source.format");
    renderer_free(renderer);
}

/* Edits by the ids of an outline: all or none. */
static void test_outline_and_splice(void **state)
{
    struct bench *bench = *state;
    struct renderer *renderer = renderer_new(
        &(struct renderer_config){ .node_path = access(REAL_NODE, X_OK) == 0 ? REAL_NODE : "node", .script_path = REAL_SCRIPT });
    struct error err = { .code = ERR_NONE };
    const json_t *result = NULL;
    const char *html = json_get_text(prepare_well(bench, renderer, "<p>Hi <a href=\"https://a.example/\">you</a></p>"), "html");
    assert_true(renderer_outline(renderer, bench->arena, html, &result, &err));
    assert_int_equal(json_array_size(json_object_get(result, "texts")), 1);
    assert_string_equal(json_get_text(json_array_get(json_object_get(result, "links"), 0), "id"), "l1");
    assert_true(renderer_splice(renderer, bench->arena, html,
                                "[{\"id\":\"t1\",\"with\":\"Hi all\"},{\"id\":\"l1\",\"with\":\"https://b.example/\"}]", &result,
                                &err));
    assert_non_null(strstr(json_get_text(result, "html"), "<p>Hi <a href=\"https://b.example/\">all</a></p>"));
    assert_false(renderer_splice(renderer, bench->arena, html,
                                 "[{\"id\":\"t1\",\"with\":\"Ho\"},{\"id\":\"l1\",\"with\":\"javascript:x\"}]", &result, &err));
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
    assert_string_equal(err.param, "edits.1.with");
    renderer_free(renderer);
}

/* An instruction about an outline gives edits that the renderer takes. */
static void test_check_mail(void **state)
{
    struct bench *bench = *state;
    struct renderer *renderer = renderer_new(
        &(struct renderer_config){ .node_path = REAL_NODE, .script_path = REAL_SCRIPT, .log = keep_log, .log_context = bench });
    struct error err = { .code = ERR_NONE };
    const json_t *result = NULL;
    const char *members =
        "\"design\":\"<html lang=\\\"en\\\"><body><p>Hello</p></body></html>\",\"html\":null,\"subject\":\"Hello\","
        "\"purpose\":\"marketing\",\"emptyTags\":[],\"pictures\":{}";
    assert_true(renderer_check_mail(renderer, bench->arena, members, &result, &err));
    assert_string_equal(json_get_text(json_object_get(result, "engine"), "name"), "posthorn-static");
    const json_t *checks = json_object_get(result, "checks");
    const char *status = NULL;
    for (size_t i = 0; i < json_array_size(checks); i++)
        if (strcmp(json_get_text(json_array_get(checks, i), "id"), "unsubscribeLink") == 0)
            status = json_get_text(json_array_get(checks, i), "status");
    assert_string_equal(status, "issues");
    assert_false(renderer_check_mail(renderer, bench->arena, "\"html\":\"\"", &result, &err));
    assert_int_equal(err.code, ERR_INVALID_REQUEST);
    renderer_free(renderer);
}

static void test_instruction_for_prepared_html(void **state)
{
    struct bench *bench = *state;
    struct renderer *renderer = renderer_new(
        &(struct renderer_config){ .node_path = access(REAL_NODE, X_OK) == 0 ? REAL_NODE : "node", .script_path = REAL_SCRIPT });
    struct error err = { .code = ERR_NONE };
    const json_t *result = NULL;
    const char *html =
        json_get_text(prepare_well(bench, renderer,
                                   "<p>Hi {{ a | default: \"x & y\" }}</p><a href=\"https://a.example/\" class=\"button\">Buy</a>"),
                      "html");
    assert_true(renderer_outline(renderer, bench->arena, html, &result, &err));
    const struct instruction *instruction =
        instruction_read_outline(bench->arena, result,
                                 "Replace '{{ a | default: \"x & y\" }}' with 'all', set the button text to \"Order\" and set the "
                                 "button link to https://b.example/");
    assert_non_null(instruction->operations);
    if (!renderer_splice(renderer, bench->arena, html, json_compact(bench->arena, instruction->operations), &result, &err))
        fail_msg("%s: %s", err.param, err.message);
    assert_non_null(strstr(json_get_text(result, "html"), "<p>Hi all</p><a href=\"https://b.example/\""));
    assert_non_null(strstr(json_get_text(result, "html"), ">Order</a>"));
    renderer_free(renderer);
}

static const char *status_of(const json_t *report, const char *check_id)
{
    size_t i;
    json_t *check;
    json_array_foreach (json_object_get(report, "checks"), i, check)
        if (strcmp(json_get_text(check, "id"), check_id) == 0)
            return json_get_text(check, "status");
    return "absent";
}

/* The report of the engine "browser" comes through, with a file for a picture. Too much HTML is refused before the process sees it,
 * and the real process finds a grey text in its confinement. */
static void test_checks_of_a_shown_mail(void **state)
{
    struct bench *bench = *state;
    const json_t *report = NULL;
    struct error err = { .code = ERR_NONE };
    struct renderer *renderer =
        side_of(bench,
                "ok(request, { engine: { name: 'axe-core', version: '1' }, checks: [{ id: 'textCut', status: 'passed', "
                "reason: [request.op, request.content, Object.keys(request.files)[0]].join(' '), findings: [], more: 0 }] });",
                0);
    const char *files = "{\"https://a.example/1.png\": {\"type\": \"image/png\", \"data\": \"\"}}";
    assert_true(renderer_check_shown(renderer, bench->arena, "<p>Hi</p>", files, &report, &err));
    const json_t *check = json_array_get(json_object_get(report, "checks"), 0);
    assert_string_equal(json_get_text(check, "reason"), "checkShown <p>Hi</p> https://a.example/1.png");

    char *large = arena_alloc(bench->arena, RENDERER_MAX_REQUEST_BYTES + 1);
    memset(large, 'x', RENDERER_MAX_REQUEST_BYTES);
    large[RENDERER_MAX_REQUEST_BYTES] = '\0';
    assert_false(renderer_check_shown(renderer, bench->arena, large, "{}", &report, &err));
    assert_int_equal(err.code, ERR_PAYLOAD_TOO_LARGE);
    renderer_free(renderer);

    renderer = renderer_new(
        &(struct renderer_config){ .node_path = access(REAL_NODE, X_OK) == 0 ? REAL_NODE : "node", .script_path = REAL_SCRIPT });
    if (!renderer_check_shown(renderer, bench->arena, "<p style=\"color:#bbb\">Grey words</p>", "{}", &report, &err))
        fail_msg("%s %s", err.message, err.cause);
    assert_string_equal(status_of(report, "axeColorContrast"), "issues");
    assert_string_equal(status_of(report, "textCut"), "passed");
    renderer_free(renderer);
}

/* the other formats, in the confinement that the process lives in: no network, no files, another user. */
static void test_the_other_formats(void **state)
{
    static const struct {
        const char *format;
        const char *content;
    } good[] = {
        { "mjml",
          "<mjml><mj-body><mj-section><mj-column><mj-text>Hi {{ firstName }}</mj-text></mj-column></mj-section></mj-body></mjml>" },
        { "jsx", "import { Text } from '@react-email/components';\nexport default () => <Text>Hi {'{{ firstName }}'}</Text>;" },
    };
    struct bench *bench = *state;
    struct renderer *renderer = renderer_new(
        &(struct renderer_config){ .node_path = access(REAL_NODE, X_OK) == 0 ? REAL_NODE : "node", .script_path = REAL_SCRIPT });
    struct error err = { .code = ERR_NONE };
    const json_t *result = NULL;
    for (size_t i = 0; i < ARRAY_COUNT(good); i++) {
        if (!renderer_prepare(renderer, bench->arena, good[i].format, good[i].content, NULL, &result, &err))
            fail_msg("%s: %s %s", good[i].format, err.message, err.cause);
        assert_non_null(strstr(json_get_text(result, "html"), "Hi {{ firstName }}"));
    }
    assert_false(renderer_prepare(renderer, bench->arena, "jsx", "import fs from 'node:fs';\nexport default () => <p>{fs}</p>;",
                                  NULL, &result, &err));
    assert_int_equal(err.code, ERR_EMAIL_IMPORT_FAILED);
    assert_string_equal(err.param, "source.content");
    assert_non_null(strstr(err.message, "Line 1"));
    renderer_free(renderer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_request_and_reply, setup, teardown),
        cmocka_unit_test_setup_teardown(test_large_request_and_reply, setup, teardown),
        cmocka_unit_test_setup_teardown(test_reported_errors, setup, teardown),
        cmocka_unit_test_setup_teardown(test_deadline_kills_and_restarts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_process_that_never_reads, setup, teardown),
        cmocka_unit_test_setup_teardown(test_crash_and_restart, setup, teardown),
        cmocka_unit_test_setup_teardown(test_death_while_idle_is_not_noticed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_senseless_replies, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cannot_start, setup, teardown),
        cmocka_unit_test_setup_teardown(test_confinement, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_descriptor_leaks, setup, teardown),
        cmocka_unit_test_setup_teardown(test_files_that_nobody_cannot_read, setup, teardown),
        cmocka_unit_test_setup_teardown(test_threads_take_turns, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_real_process, setup, teardown),
        cmocka_unit_test_setup_teardown(test_outline_and_splice, setup, teardown),
        cmocka_unit_test_setup_teardown(test_check_mail, setup, teardown),
        cmocka_unit_test_setup_teardown(test_instruction_for_prepared_html, setup, teardown),
        cmocka_unit_test_setup_teardown(test_checks_of_a_shown_mail, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_other_formats, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
