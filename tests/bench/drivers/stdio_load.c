/*
 * stdio_load: starts an MCP server as its child, performs the handshake of the
 * session era, lists the tools, and keeps W calls of one tool in flight over
 * the pipes. Every id must be answered exactly once, with the marker and
 * without "isError":true. It prints one JSON line of figures.
 *
 * The server is the command after "--". The end of its input ends it; it is
 * killed if it stays, and when this process ends.
 */
#include "measure.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    WINDOW_MAX = 64,
    CALL_MAX_BYTES = 16 * 1024,
    LINE_MAX_BYTES = 4 * 1024 * 1024,
    ANSWER_WAIT_MS = 30 * 1000, /* for a single line; a server that takes longer has failed */
    GOODBYE_WAIT_MS = 3 * 1000,
};

/* All calls have ids of seven digits, so their requests and replies keep their sizes. */
enum { INITIALIZE_ID = 1, LIST_ID = 2, FIRST_CALL_ID = 1000000, LAST_CALL_ID = 9999999 };

static struct options {
    const char *tool; /* NULL: stop after tools/list */
    const char *arguments;
    const char *marker;
    long window;
    long warmup_calls;
    long duration_ms;
    long calls; /* 0: as many as the duration allows */
    long idle_ms;
    long core; /* -1: not pinned */
    char **command;
} options = { .arguments = "{}", .marker = "\"result\":", .window = 1, .core = -1 };

static struct server {
    pid_t pid;
    int to;
    int from;
    int64_t spawned_ns;
    char *bytes; /* LINE_MAX_BYTES */
    size_t size; /* filled */
    size_t at;   /* start of what was not yet taken */
} server;

/* The calls that wait for their answer. A free place has id 0. */
static struct pending {
    long id;
    int64_t sent_ns;
} pending[WINDOW_MAX];

static struct latencies latencies;
static long next_id = FIRST_CALL_ID;

/* Sizes of the last call's two lines, newlines included. */
static size_t request_bytes;
static size_t reply_bytes;

static void parse_options(int argc, char **argv)
{
    static const struct option known[] = {
        { "tool", required_argument, NULL, 't' },         { "arguments", required_argument, NULL, 'a' },
        { "marker", required_argument, NULL, 'm' },       { "window", required_argument, NULL, 'w' },
        { "warmup-calls", required_argument, NULL, 'u' }, { "duration-ms", required_argument, NULL, 'd' },
        { "calls", required_argument, NULL, 'n' },        { "idle-ms", required_argument, NULL, 'i' },
        { "core", required_argument, NULL, 'c' },         { NULL, 0, NULL, 0 },
    };
    for (int option; (option = getopt_long(argc, argv, "+", known, NULL)) != -1;) {
        switch (option) {
        case 't': options.tool = optarg; break;
        case 'a': options.arguments = optarg; break;
        case 'm': options.marker = optarg; break;
        case 'w': options.window = parse_number("--window", optarg, 1, WINDOW_MAX); break;
        case 'u': options.warmup_calls = parse_number("--warmup-calls", optarg, 0, 1000000); break;
        case 'd': options.duration_ms = parse_number("--duration-ms", optarg, 1, 60000); break;
        case 'n': options.calls = parse_number("--calls", optarg, 1, 10000000); break;
        case 'i': options.idle_ms = parse_number("--idle-ms", optarg, 0, 60000); break;
        case 'c': options.core = parse_number("--core", optarg, 0, CPU_SETSIZE - 1); break;
        default: exit(2);
        }
    }
    options.command = argv + optind;
    bool bounded = options.calls > 0 || options.duration_ms > 0;
    if (optind == argc || (options.tool != NULL && !bounded))
        die("usage: stdio_load [--tool NAME --arguments JSON --marker TEXT --calls N | --duration-ms N] [--window N]"
            " [--warmup-calls N] [--idle-ms N] [--core N] -- COMMAND …");
}

/* ---- The server ---- */

static void pin_to_core(long core)
{
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET((size_t)core, &cores);
    if (sched_setaffinity(0, sizeof(cores), &cores) != 0)
        die("cannot run on core %ld: %s", core, strerror(errno));
}

static void spawn_server(void)
{
    int input[2];
    int output[2];
    if (pipe2(input, O_CLOEXEC) != 0 || pipe2(output, O_CLOEXEC) != 0)
        die("pipe: %s", strerror(errno));
    server.bytes = malloc(LINE_MAX_BYTES);
    if (server.bytes == NULL)
        die("no memory for the server's lines");

    server.spawned_ns = now_ns();
    server.pid = fork();
    if (server.pid < 0)
        die("fork: %s", strerror(errno));
    if (server.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGPIPE, SIG_DFL);
        dup2(input[0], STDIN_FILENO);
        dup2(output[1], STDOUT_FILENO);
        execvp(options.command[0], options.command);
        _exit(127);
    }
    close(input[0]);
    close(output[1]);
    server.to = input[1];
    server.from = output[0];
}

/* The window's requests together are smaller than a pipe, so writing never waits for the server to read. */
static void write_lines(const char *lines, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t written = write(server.to, lines + done, size - done);
        if (written < 0 && errno != EINTR)
            die("the server takes no input: %s", strerror(errno));
        done += written > 0 ? (size_t)written : 0;
    }
}

enum arrival { BYTES_CAME, NOTHING_CAME, OUTPUT_ENDED };

/* Waits for more bytes, after moving what is left to the front. */
static enum arrival receive(int wait_ms)
{
    if (server.at > 0) {
        memmove(server.bytes, server.bytes + server.at, server.size - server.at);
        server.size -= server.at;
        server.at = 0;
    }
    if (server.size == LINE_MAX_BYTES)
        die("a line is longer than %d bytes", LINE_MAX_BYTES);
    struct pollfd from = { .fd = server.from, .events = POLLIN };
    if (poll(&from, 1, wait_ms) == 0)
        return NOTHING_CAME;
    ssize_t got = read(server.from, server.bytes + server.size, LINE_MAX_BYTES - server.size);
    if (got <= 0)
        return OUTPUT_ENDED;
    server.size += (size_t)got;
    return BYTES_CAME;
}

static void read_more(void)
{
    enum arrival arrival = receive(ANSWER_WAIT_MS);
    if (arrival == NOTHING_CAME)
        die("no answer within %d s", ANSWER_WAIT_MS / 1000);
    if (arrival == OUTPUT_ENDED)
        die("the server ended its output");
}

struct line {
    const char *text;
    size_t size;
};

/* Takes the next line that is already here. */
static bool take_line(struct line *ret_line)
{
    char *start = server.bytes + server.at;
    char *newline = memchr(start, '\n', server.size - server.at);
    if (newline == NULL)
        return false;
    *ret_line = (struct line){ .text = start, .size = (size_t)(newline - start) };
    server.at += ret_line->size + 1;
    return true;
}

/* ---- Answers ---- */

static bool contains(struct line line, const char *text)
{
    return memmem(line.text, line.size, text, strlen(text)) != NULL;
}

static bool starts_with(struct line line, const char *text)
{
    return line.size >= strlen(text) && memcmp(line.text, text, strlen(text)) == 0;
}

/* The id of an answer, found without parsing: servers write it first or last in the object, and only there is it certain to
 * be the message's own. 0 for a notification. */
static long answer_id(struct line line)
{
    static const char *const openings[] = { "{\"jsonrpc\":\"2.0\",\"id\":", "{\"id\":" };
    for (size_t i = 0; i < sizeof(openings) / sizeof(*openings); i++) {
        if (starts_with(line, openings[i]))
            return strtol(line.text + strlen(openings[i]), NULL, 10);
    }

    const char *digits = line.text + line.size - 1;
    if (line.size > 0 && *digits == '}') {
        while (digits > line.text && digits[-1] >= '0' && digits[-1] <= '9')
            digits--;
        static const char last_member[] = ",\"id\":";
        size_t before = (size_t)(digits - line.text);
        if (before >= strlen(last_member) && memcmp(digits - strlen(last_member), last_member, strlen(last_member)) == 0)
            return strtol(digits, NULL, 10);
    }
    if (starts_with(line, "{\"method\":") || starts_with(line, "{\"jsonrpc\":\"2.0\",\"method\":"))
        return 0;
    die("a line that is neither an answer nor a notification: %.*s", (int)line.size, line.text);
}

static struct line await_answer(long id)
{
    for (;;) {
        struct line line;
        while (!take_line(&line))
            read_more();
        long answered = answer_id(line);
        if (answered == 0)
            continue;
        if (answered != id || !contains(line, "\"result\":"))
            die("not the answer to request %ld: %.*s", id, (int)line.size, line.text);
        return line;
    }
}

/* The handshake and tools/list. Returns the milliseconds from spawning to the list. */
static double start_session(void)
{
    static const char initialize[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
        "\"clientInfo\":{\"name\":\"stdio_load\",\"version\":\"1\"}}}\n";
    static const char initialized_and_list[] = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"
                                               "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}\n";
    write_lines(initialize, strlen(initialize));
    await_answer(INITIALIZE_ID);
    write_lines(initialized_and_list, strlen(initialized_and_list));
    struct line list = await_answer(LIST_ID);
    double start_ms = (double)(now_ns() - server.spawned_ns) / 1e6;
    if (!contains(list, "\"inputSchema\":"))
        die("tools/list lists no tool: %.*s", (int)list.size, list.text);
    return start_ms;
}

/* ---- Calls ---- */

/* Frees the place of an answered call; dies when no call waits for this answer or the answer is wrong. */
static void settle(struct line line, long id, int64_t got_ns)
{
    for (long i = 0; i < options.window; i++) {
        if (pending[i].id != id)
            continue;
        latencies_record(&latencies, got_ns - pending[i].sent_ns);
        pending[i].id = 0;
        reply_bytes = line.size + 1;
        if (!contains(line, options.marker) || contains(line, "\"isError\":true"))
            die("not the expected answer: %.*s", (int)line.size, line.text);
        return;
    }
    die("an answer without a call, or a second answer: id %ld", id);
}

/* Fills the free places with new calls, at most `left`, in one write. Returns how many. */
static long send_calls(long left)
{
    static char lines[WINDOW_MAX * CALL_MAX_BYTES];
    size_t size = 0;
    long sent = 0;
    int64_t sent_ns = now_ns();
    for (long i = 0; i < options.window && sent < left; i++) {
        if (pending[i].id != 0)
            continue;
        int added = snprintf(lines + size, CALL_MAX_BYTES,
                             "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\",\"arguments\":%s}}\n",
                             next_id, options.tool, options.arguments);
        if (added < 0 || added >= CALL_MAX_BYTES)
            die("a call is longer than %d bytes", CALL_MAX_BYTES);
        if (next_id > LAST_CALL_ID)
            die("more than %d calls", LAST_CALL_ID - FIRST_CALL_ID + 1);
        request_bytes = (size_t)added;
        size += request_bytes;
        pending[i] = (struct pending){ .id = next_id++, .sent_ns = sent_ns };
        sent++;
    }
    write_lines(lines, size);
    return sent;
}

/* Keeps the window full until `calls` are answered (0: no bound) or `duration_ms` have passed (0: no bound), then waits for
 * the rest. Returns the calls a second. */
static double run_calls(long calls, long duration_ms)
{
    latencies_clear(&latencies);
    long left = calls > 0 ? calls : 1L << 40;
    int64_t start_ns = now_ns();
    int64_t end_ns = duration_ms > 0 ? start_ns + duration_ms * 1000000 : INT64_MAX;
    long waiting = send_calls(left);
    left -= waiting;
    while (waiting > 0) {
        read_more();
        int64_t got_ns = now_ns();
        struct line line;
        while (take_line(&line)) {
            long id = answer_id(line);
            if (id == 0)
                continue;
            settle(line, id, got_ns);
            waiting--;
        }
        if (got_ns < end_ns && left > 0 && waiting < options.window) {
            long sent = send_calls(left);
            waiting += sent;
            left -= sent;
        }
    }
    return (double)latencies.total * 1e9 / (double)(now_ns() - start_ns);
}

/* Closes the server's input and waits for its end. Its remaining output must not hold another answer. */
static void end_server(void)
{
    close(server.to);
    enum arrival arrival;
    while ((arrival = receive(GOODBYE_WAIT_MS)) == BYTES_CAME) {
        struct line line;
        while (take_line(&line)) {
            if (answer_id(line) != 0)
                die("an answer without a call, after the last one: %.*s", (int)line.size, line.text);
        }
    }
    if (arrival == NOTHING_CAME) {
        fprintf(stderr, "the server's output is still open %d ms after its input ended\n", GOODBYE_WAIT_MS);
        kill(server.pid, SIGKILL);
    }
    waitpid(server.pid, NULL, 0);
}

struct figures {
    double start_ms;       /* from spawning to tools/list */
    double since_spawn_ms; /* from spawning to the last answer */
    double calls_per_s;
    double driver_cores;
    double server_cores;
    double server_cpu_us; /* a call */
    long idle_rss_kb;
    long warm_rss_kb;
    long end_rss_kb;
};

static void measure_calls(struct figures *figures)
{
    if (options.warmup_calls > 0)
        run_calls(options.warmup_calls, 0);
    figures->warm_rss_kb = process_rss_kb(server.pid);

    int64_t start_ns = now_ns();
    double driver_cpu_s = process_cpu_s(getpid());
    double server_cpu_s = process_cpu_s(server.pid);
    figures->calls_per_s = run_calls(options.calls, options.duration_ms);
    int64_t end_ns = now_ns();
    driver_cpu_s = process_cpu_s(getpid()) - driver_cpu_s;
    server_cpu_s = process_cpu_s(server.pid) - server_cpu_s;
    double elapsed_s = (double)(end_ns - start_ns) / 1e9;
    figures->driver_cores = driver_cpu_s / elapsed_s;
    figures->server_cores = server_cpu_s / elapsed_s;
    figures->server_cpu_us = server_cpu_s * 1e6 / (double)latencies.total;
    figures->since_spawn_ms = (double)(end_ns - server.spawned_ns) / 1e6;
    figures->end_rss_kb = process_rss_kb(server.pid);
}

int main(int argc, char **argv)
{
    parse_options(argc, argv);
    signal(SIGPIPE, SIG_IGN);
    latencies_init(&latencies);
    if (options.core >= 0)
        pin_to_core(options.core);
    spawn_server();
    struct figures figures = { .start_ms = start_session() };
    usleep((useconds_t)options.idle_ms * 1000);
    figures.idle_rss_kb = process_rss_kb(server.pid);
    if (options.tool != NULL)
        measure_calls(&figures);
    end_server();

    printf("{\"startMs\":%.3f,\"idleRssKb\":%ld", figures.start_ms, figures.idle_rss_kb);
    if (options.tool != NULL)
        printf(",\"sinceSpawnMs\":%.3f,\"calls\":%lu,\"callsPerSecond\":%.1f,\"p50Us\":%ld,\"p99Us\":%ld,\"driverCpu\":%.3f,"
               "\"serverCpu\":%.3f,\"serverCpuUs\":%.2f,\"requestBytes\":%zu,\"replyBytes\":%zu,\"warmRssKb\":%ld,\"endRssKb\":%ld",
               figures.since_spawn_ms, latencies.total, figures.calls_per_s, latencies_percentile_us(&latencies, 50),
               latencies_percentile_us(&latencies, 99), figures.driver_cores, figures.server_cores, figures.server_cpu_us, request_bytes,
               reply_bytes, figures.warm_rss_kb, figures.end_rss_kb);
    printf("}\n");
    return 0;
}
