/*
 * http_load: N keep-alive connections that each POST one request at a time,
 * one thread over epoll. With --tool it is an MCP client of the session era:
 * every connection performs the handshake before the clock starts and then
 * calls the tool. Without it the same bytes are posted, or --get requests a
 * path. --idle keeps more connections open that have served one request, and
 * sends a second request on each after the run.
 *
 * Every reply is read to its end and checked: status 200 or that of --expect, the marker, the id
 * of its request, no "isError":true. It prints one JSON line of figures.
 */
#include "http_reply.h"
#include "measure.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    CONNECTIONS_MAX = 256,
    IDLE_MAX = 10000,
    REQUEST_MAX_BYTES = 16 * 1024,
    REPLY_MAX_BYTES = 1024 * 1024,
    REPLY_WAIT_S = 20, /* for a single reply; a server that takes longer has failed */
};

/* All ids have seven digits, so a request is patched in place and replies keep their length. */
static const long FIRST_ID = 1000000;
static const long LAST_ID = 9999999;
enum { ID_DIGITS = 7 };

static struct options {
    long port;
    const char *path;
    const char *header; /* one more header line, or NULL */
    const char *tool;   /* NULL: no handshake, and replies carry no id */
    const char *arguments;
    const char *marker;
    const char *save_reply; /* file for the body of the last reply, or NULL */
    bool get;
    long connections;
    long expect; /* the status of a correct reply */
    long idle;   /* connections that stay open and silent */
    long warmup_ms;
    long duration_ms;
    long server_pid;
} options = { .path = "/mcp", .arguments = "{}", .connections = 16, .expect = 200, .warmup_ms = 500, .duration_ms = 3000 };

struct connection {
    int fd;
    char request[REQUEST_MAX_BYTES];
    size_t request_size;
    size_t id_offset; /* of the digits in `request` */
    int64_t sent_ns;
    bool waiting;
    char *reply; /* REPLY_MAX_BYTES */
    size_t reply_size;
};

static struct connection *connections;
static struct latencies latencies;
static long next_id = FIRST_ID;

/* The last body that was checked in full. A body that differs from it only in the id is not searched again. */
static char *known_body;
static size_t known_size;
static size_t known_id_offset;

static void parse_options(int argc, char **argv)
{
    static const struct option known[] = {
        { "port", required_argument, NULL, 'p' },       { "path", required_argument, NULL, 'u' },
        { "header", required_argument, NULL, 'h' },     { "tool", required_argument, NULL, 't' },
        { "arguments", required_argument, NULL, 'a' },  { "marker", required_argument, NULL, 'm' },
        { "save-reply", required_argument, NULL, 's' }, { "connections", required_argument, NULL, 'c' },
        { "warmup-ms", required_argument, NULL, 'w' },  { "duration-ms", required_argument, NULL, 'd' },
        { "server-pid", required_argument, NULL, 'i' }, { "get", required_argument, NULL, 'g' },
        { "idle", required_argument, NULL, 'q' },       { "expect", required_argument, NULL, 'x' },
        { NULL, 0, NULL, 0 },
    };
    for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        switch (option) {
        case 'p':
            options.port = parse_number("--port", optarg, 1, 65535);
            break;
        case 'u':
            options.path = optarg;
            break;
        case 'h':
            options.header = optarg;
            break;
        case 't':
            options.tool = optarg;
            break;
        case 'a':
            options.arguments = optarg;
            break;
        case 'm':
            options.marker = optarg;
            break;
        case 's':
            options.save_reply = optarg;
            break;
        case 'c':
            options.connections = parse_number("--connections", optarg, 1, CONNECTIONS_MAX);
            break;
        case 'w':
            options.warmup_ms = parse_number("--warmup-ms", optarg, 0, 60000);
            break;
        case 'd':
            options.duration_ms = parse_number("--duration-ms", optarg, 1, 60000);
            break;
        case 'i':
            options.server_pid = parse_number("--server-pid", optarg, 1, 1L << 30);
            break;
        case 'g':
            options.get = true;
            options.path = optarg;
            break;
        case 'q':
            options.idle = parse_number("--idle", optarg, 0, IDLE_MAX);
            break;
        case 'x':
            options.expect = parse_number("--expect", optarg, 100, 599);
            break;
        default:
            exit(2);
        }
    }
    if (options.port == 0 || options.marker == NULL || optind != argc)
        die("usage: http_load --port N --marker TEXT [--tool NAME --arguments JSON] [--path P | --get P] [--idle N] [--header "
            "LINE] [--connections N]"
            " [--warmup-ms N] [--duration-ms N] [--server-pid N] [--save-reply FILE]");
}

/* ---- Requests ---- */

/* Writes the request for `body` into the connection; `session` is a header line with its CRLF, or "". */
static void prepare_request(struct connection *connection, const char *session, const char *body)
{
    int size = snprintf(connection->request, sizeof(connection->request),
                        "POST %s HTTP/1.1\r\n"
                        "Host: 127.0.0.1:%ld\r\n"
                        "Content-Type: application/json\r\n"
                        "Accept: application/json, text/event-stream\r\n"
                        "MCP-Protocol-Version: 2025-11-25\r\n"
                        "%s%s%s"
                        "Content-Length: %zu\r\n\r\n%s",
                        options.path, options.port, session, options.header != NULL ? options.header : "",
                        options.header != NULL ? "\r\n" : "", strlen(body), body);
    if (size < 0 || (size_t)size >= sizeof(connection->request))
        die("the request is larger than %d bytes", REQUEST_MAX_BYTES);
    connection->request_size = (size_t)size;
}

static void prepare_get(struct connection *connection)
{
    int size =
        snprintf(connection->request, sizeof(connection->request), "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%ld\r\n%s%s\r\n",
                 options.path, options.port, options.header != NULL ? options.header : "", options.header != NULL ? "\r\n" : "");
    if (size < 0 || (size_t)size >= sizeof(connection->request))
        die("the request is larger than %d bytes", REQUEST_MAX_BYTES);
    connection->request_size = (size_t)size;
}

static size_t request_body_bytes; /* of a call; 0 for --get */

static void prepare_call(struct connection *connection, const char *session)
{
    if (options.get) {
        prepare_get(connection);
        return;
    }
    char body[REQUEST_MAX_BYTES];
    snprintf(body, sizeof(body),
             "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\",\"arguments\":%s}}", FIRST_ID,
             options.tool != NULL ? options.tool : "none", options.arguments);
    prepare_request(connection, session, body);
    request_body_bytes = strlen(body);
    connection->id_offset = connection->request_size - strlen(body) + strlen("{\"jsonrpc\":\"2.0\",\"id\":");
}

static void send_request(struct connection *connection)
{
    connection->sent_ns = now_ns();
    connection->reply_size = 0;
    connection->waiting = true;
    /* A request is far smaller than an idle socket's buffer, so it is taken whole. */
    ssize_t sent = send(connection->fd, connection->request, connection->request_size, MSG_NOSIGNAL);
    if (sent != (ssize_t)connection->request_size)
        die("send: %s", sent < 0 ? strerror(errno) : "not taken whole");
}

static void send_call(struct connection *connection)
{
    if (options.get) {
        send_request(connection);
        return;
    }
    if (next_id > LAST_ID)
        next_id = FIRST_ID;
    char digits[24];
    snprintf(digits, sizeof(digits), "%ld", next_id++);
    memcpy(connection->request + connection->id_offset, digits, ID_DIGITS);
    send_request(connection);
}

/* ---- Replies ---- */

/* Reads the available bytes. True when the reply is complete; it is then in `ret_reply`. */
static bool receive(struct connection *connection, struct http_reply *ret_reply)
{
    ssize_t got = recv(connection->fd, connection->reply + connection->reply_size, REPLY_MAX_BYTES - connection->reply_size, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (got <= 0)
        die("the server closed a connection: %s", got < 0 ? strerror(errno) : "end of stream");
    connection->reply_size += (size_t)got;

    const char *problem = NULL;
    bool complete = http_reply_parse(connection->reply, connection->reply_size, ret_reply, &problem);
    if (problem != NULL)
        die("reply: %s\n%.*s", problem, (int)connection->reply_size, connection->reply);
    if (!complete && connection->reply_size == REPLY_MAX_BYTES)
        die("a reply is larger than %d bytes", REPLY_MAX_BYTES);
    return complete;
}

static bool contains(const struct http_reply *reply, const char *text)
{
    return memmem(reply->body, reply->body_size, text, strlen(text)) != NULL;
}

static bool equals_known(const struct http_reply *reply, const char *digits)
{
    if (known_body == NULL || reply->body_size != known_size)
        return false;
    if (options.tool == NULL)
        return memcmp(reply->body, known_body, known_size) == 0;
    size_t after_id = known_id_offset + ID_DIGITS;
    return memcmp(reply->body, known_body, known_id_offset) == 0 && memcmp(reply->body + known_id_offset, digits, ID_DIGITS) == 0 &&
           memcmp(reply->body + after_id, known_body + after_id, known_size - after_id) == 0;
}

/* Dies unless this is the correct reply to the connection's request. */
static void check_reply(const struct connection *connection, const struct http_reply *reply)
{
    const char *digits = connection->request + connection->id_offset;
    if (reply->status == options.expect && equals_known(reply, digits))
        return;

    char id[sizeof("\"id\":") + ID_DIGITS];
    snprintf(id, sizeof(id), "\"id\":%.*s", ID_DIGITS, digits);
    const char *found_id = options.tool == NULL ? reply->body : memmem(reply->body, reply->body_size, id, strlen(id));
    if (reply->status != options.expect || found_id == NULL || !contains(reply, options.marker) || contains(reply, "\"isError\":true"))
        die("not the expected answer (status %d): %.*s", reply->status, (int)reply->body_size, reply->body);

    known_body = realloc(known_body, reply->body_size);
    if (known_body == NULL)
        die("no memory for a reply");
    memcpy(known_body, reply->body, reply->body_size);
    known_size = reply->body_size;
    known_id_offset = options.tool == NULL ? 0 : (size_t)(found_id - reply->body) + strlen("\"id\":");
}

/* ---- Connections ---- */

static void connect_to_server(struct connection *connection)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)options.port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    connection->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connection->fd < 0 || connect(connection->fd, (struct sockaddr *)&address, sizeof(address)) != 0)
        die("connect to port %ld: %s", options.port, strerror(errno));
    int on = 1;
    setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    struct timeval wait = { .tv_sec = REPLY_WAIT_S };
    setsockopt(connection->fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
    connection->reply = malloc(REPLY_MAX_BYTES);
    if (connection->reply == NULL)
        die("no memory for replies");
}

/* Sends the prepared request and waits for its reply, on a socket that still blocks. */
static struct http_reply exchange(struct connection *connection)
{
    struct http_reply reply;
    send_request(connection);
    while (!receive(connection, &reply)) {
        if (now_ns() - connection->sent_ns > (int64_t)REPLY_WAIT_S * 1000000000)
            die("no answer to the handshake within %d s", REPLY_WAIT_S);
    }
    return reply;
}

/* initialize and notifications/initialized. Leaves the session header line (or "") in `session`. */
static void shake_hands(struct connection *connection, char *session, size_t session_max)
{
    prepare_request(connection, "",
                    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\","
                    "\"capabilities\":{},\"clientInfo\":{\"name\":\"http_load\",\"version\":\"1\"}}}");
    struct http_reply reply = exchange(connection);
    if (reply.status != 200 || !contains(&reply, "\"protocolVersion\":\"2025-11-25\""))
        die("initialize: status %d: %.*s", reply.status, (int)reply.body_size, reply.body);
    session[0] = '\0';
    if (reply.session_size > 0)
        snprintf(session, session_max, "Mcp-Session-Id: %.*s\r\n", (int)reply.session_size, reply.session);

    prepare_request(connection, session, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    reply = exchange(connection);
    if (reply.status != 202)
        die("notifications/initialized: status %d", reply.status);
}

static void open_connections(int epoll_fd)
{
    connections = calloc((size_t)options.connections, sizeof(*connections));
    if (connections == NULL)
        die("no memory for %ld connections", options.connections);
    for (long i = 0; i < options.connections; i++) {
        struct connection *connection = &connections[i];
        char session[512] = "";
        connect_to_server(connection);
        if (options.tool != NULL)
            shake_hands(connection, session, sizeof(session));
        prepare_call(connection, session);
        connection->waiting = false;

        fcntl(connection->fd, F_SETFL, O_NONBLOCK);
        struct epoll_event interest = { .events = EPOLLIN, .data.ptr = connection };
        if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, connection->fd, &interest) != 0)
            die("epoll_ctl: %s", strerror(errno));
    }
}

/* ---- Idle connections ---- */

static struct connection *idle;

/* Sends one request on each: a kept connection has served a request before. */
static void use_idle(void)
{
    for (long i = 0; i < options.idle; i++) {
        struct http_reply reply = exchange(&idle[i]);
        check_reply(&idle[i], &reply);
    }
}

static void open_idle(void)
{
    idle = calloc((size_t)options.idle, sizeof(*idle));
    if (idle == NULL)
        die("no memory for %ld connections", options.idle);
    for (long i = 0; i < options.idle; i++) {
        connect_to_server(&idle[i]);
        prepare_call(&idle[i], "");
    }
    use_idle();
}

/* ---- The run ---- */

/* Keeps every connection busy for `duration_ms`, then waits for what is outstanding, so that a starved connection shows in the
 * latencies. Returns the calls a second that were completed within the time. */
static double run_phase(int epoll_fd, long duration_ms)
{
    long completed = 0;
    long outstanding = options.connections;
    latencies_clear(&latencies);
    int64_t start_ns = now_ns();
    int64_t end_ns = start_ns + duration_ms * 1000000;
    for (long i = 0; i < options.connections; i++)
        send_call(&connections[i]);

    while (outstanding > 0) {
        struct epoll_event events[CONNECTIONS_MAX];
        int count = epoll_wait(epoll_fd, events, CONNECTIONS_MAX, REPLY_WAIT_S * 1000);
        if (count == 0 || (count < 0 && errno != EINTR))
            die("no reply within %d s", REPLY_WAIT_S);
        for (int i = 0; i < count; i++) {
            struct connection *connection = events[i].data.ptr;
            struct http_reply reply;
            if (!receive(connection, &reply))
                continue;
            if (!connection->waiting)
                die("a reply without a request");
            int64_t got_ns = now_ns();
            latencies_record(&latencies, got_ns - connection->sent_ns);
            check_reply(connection, &reply);
            connection->waiting = false;
            if (got_ns >= end_ns) {
                outstanding--;
                continue;
            }
            completed++;
            send_call(connection);
        }
    }
    return (double)completed * 1000 / (double)duration_ms;
}

static void save_last_reply(void)
{
    FILE *file = fopen(options.save_reply, "we");
    if (file == NULL || fwrite(known_body, 1, known_size, file) != known_size || fclose(file) != 0)
        die("%s: %s", options.save_reply, strerror(errno));
}

int main(int argc, char **argv)
{
    parse_options(argc, argv);
    latencies_init(&latencies);
    int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (epoll_fd < 0)
        die("epoll_create1: %s", strerror(errno));
    open_connections(epoll_fd);
    if (options.idle > 0)
        open_idle();
    if (options.warmup_ms > 0)
        run_phase(epoll_fd, options.warmup_ms);

    int64_t start_ns = now_ns();
    double driver_cpu_s = process_cpu_s(getpid());
    double server_cpu_s = process_cpu_s((pid_t)options.server_pid);
    double calls_per_s = run_phase(epoll_fd, options.duration_ms);
    double elapsed_s = (double)(now_ns() - start_ns) / 1e9;
    driver_cpu_s = process_cpu_s(getpid()) - driver_cpu_s;
    server_cpu_s = process_cpu_s((pid_t)options.server_pid) - server_cpu_s;

    long rss_kb = options.server_pid != 0 ? process_rss_kb((pid_t)options.server_pid) : 0;
    use_idle(); /* none of them was closed */

    printf("{\"callsPerSecond\":%.1f,\"p50Us\":%ld,\"p99Us\":%ld,\"requestBytes\":%zu,\"replyBytes\":%zu,\"driverCpu\":%.3f,"
           "\"serverCpu\":%.3f,\"serverCpuUs\":%.2f,\"serverRssKb\":%ld}\n",
           calls_per_s, latencies_percentile_us(&latencies, 50), latencies_percentile_us(&latencies, 99), request_body_bytes,
           known_size, driver_cpu_s / elapsed_s, server_cpu_s / elapsed_s, server_cpu_s * 1e6 / (double)latencies.total, rss_kb);
    if (options.save_reply != NULL)
        save_last_reply();
    return 0;
}
