/*
 * http_writes: load of writes that are all different. Each of the keep-alive
 * connections posts one request at a time; every @SEQ@ of the body and of the
 * Idempotency-Key becomes the number of the call. Prints one line of JSON.
 *
 *   http_writes --port 8420 --path /v1/contacts --header "Authorization: Bearer KEY" --body FILE --expect 201 --marker TEXT
 *
 * A reply counts only with the expected status and the marker, whose @SEQ@ is
 * the number of its own call; anything else ends the driver.
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
#include <time.h>
#include <unistd.h>

enum {
    CONNECTIONS_MAX = 256,
    REQUEST_MAX_BYTES = 1024 * 1024,
    REPLY_MAX_BYTES = 256 * 1024,
    PLACES_MAX = 4096,
    REPLY_WAIT_S = 20, /* for a single reply; a server that takes longer has failed */
    SEQ_DIGITS = 12,   /* what @SEQ@ becomes, so that a request is patched in place */
};
static const char placeholder[] = "@SEQ@";

static struct options {
    long port;
    const char *path;
    const char *header;
    const char *body_file;
    const char *marker;
    long expect;
    long connections;
    long warmup_ms;
    long duration_ms;
    long server_pid;
} options = { .connections = 16, .expect = 201, .warmup_ms = 500, .duration_ms = 3000 };

/* A text whose placeholders have become digits, and where they are. */
struct pattern {
    char *text;
    size_t size;
    size_t places[PLACES_MAX];
    size_t place_count;
};

struct connection {
    int fd;
    char *request; /* a copy of the pattern of its own */
    size_t request_size;
    size_t sent;
    char digits[SEQ_DIGITS + 1];
    int64_t sent_ns;
    bool waiting;
    char *reply; /* REPLY_MAX_BYTES */
    size_t reply_size;
};

static struct pattern request_pattern;
static struct pattern marker_pattern;
static struct connection *connections;
static struct latencies latencies;
static long long next_seq;

static void parse_options(int argc, char **argv)
{
    static const struct option known[] = {
        { "port", required_argument, NULL, 'p' },       { "path", required_argument, NULL, 'u' },
        { "header", required_argument, NULL, 'h' },     { "body", required_argument, NULL, 'b' },
        { "marker", required_argument, NULL, 'm' },     { "expect", required_argument, NULL, 'e' },
        { "connections", required_argument, NULL, 'c' }, { "warmup-ms", required_argument, NULL, 'w' },
        { "duration-ms", required_argument, NULL, 'd' }, { "server-pid", required_argument, NULL, 'i' },
        { NULL, 0, NULL, 0 },
    };
    for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        switch (option) {
        case 'p': options.port = parse_number("--port", optarg, 1, 65535); break;
        case 'u': options.path = optarg; break;
        case 'h': options.header = optarg; break;
        case 'b': options.body_file = optarg; break;
        case 'm': options.marker = optarg; break;
        case 'e': options.expect = parse_number("--expect", optarg, 200, 299); break;
        case 'c': options.connections = parse_number("--connections", optarg, 1, CONNECTIONS_MAX); break;
        case 'w': options.warmup_ms = parse_number("--warmup-ms", optarg, 0, 60000); break;
        case 'd': options.duration_ms = parse_number("--duration-ms", optarg, 1, 60000); break;
        case 'i': options.server_pid = parse_number("--server-pid", optarg, 1, 1L << 30); break;
        default: exit(2);
        }
    }
    if (options.port == 0 || options.path == NULL || options.header == NULL || options.body_file == NULL || options.marker == NULL ||
        optind != argc)
        die("usage: http_writes --port N --path P --header LINE --body FILE --marker TEXT [--expect STATUS] [--connections N]"
            " [--warmup-ms N] [--duration-ms N] [--server-pid N]");
}

/* ---- Requests ---- */

static char *read_file(const char *name)
{
    char *text = malloc(REQUEST_MAX_BYTES + 1);
    FILE *file = fopen(name, "re");
    if (text == NULL || file == NULL)
        die("%s: %s", name, strerror(errno));
    size_t size = fread(text, 1, REQUEST_MAX_BYTES, file);
    if (ferror(file) || !feof(file))
        die("%s cannot be read, or is larger than %d bytes", name, REQUEST_MAX_BYTES);
    fclose(file);
    text[size] = '\0';
    return text;
}

static void pattern_init(struct pattern *pattern, const char *text)
{
    size_t marks = 0;
    for (const char *at = strstr(text, placeholder); at != NULL; at = strstr(at + 1, placeholder))
        marks++;
    if (marks > PLACES_MAX)
        die("more than %d places", PLACES_MAX);
    pattern->text = calloc(1, strlen(text) + marks * SEQ_DIGITS + 1);
    if (pattern->text == NULL)
        die("no memory for a request");
    const char *from = text;
    for (const char *at; (at = strstr(from, placeholder)) != NULL; from = at + strlen(placeholder)) {
        memcpy(pattern->text + pattern->size, from, (size_t)(at - from));
        pattern->size += (size_t)(at - from);
        pattern->places[pattern->place_count++] = pattern->size;
        pattern->size += SEQ_DIGITS;
    }
    strcpy(pattern->text + pattern->size, from);
    pattern->size += strlen(from);
}

static void pattern_fill(const struct pattern *pattern, char *text, const char *digits)
{
    for (size_t i = 0; i < pattern->place_count; i++)
        memcpy(text + pattern->places[i], digits, SEQ_DIGITS);
}

static void prepare_patterns(void)
{
    char *body = read_file(options.body_file);
    struct pattern sized = { .text = NULL };
    pattern_init(&sized, body);
    char *request = NULL;
    if (asprintf(&request,
                 "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%ld\r\nContent-Type: application/json\r\n%s\r\n"
                 "Idempotency-Key: write-%s\r\nContent-Length: %zu\r\n\r\n%s",
                 options.path, options.port, options.header, placeholder, sized.size, body) < 0)
        die("no memory for a request");
    pattern_init(&request_pattern, request);
    pattern_init(&marker_pattern, options.marker);
    free(sized.text);
    free(request);
    free(body);
}

/* Sends as much as the socket takes; the rest goes when it is writable again. */
static void send_rest(struct connection *connection)
{
    while (connection->sent < connection->request_size) {
        ssize_t sent = send(connection->fd, connection->request + connection->sent, connection->request_size - connection->sent,
                            MSG_NOSIGNAL);
        if (sent < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (sent < 0)
            die("send: %s", strerror(errno));
        connection->sent += (size_t)sent;
    }
}

static void send_call(struct connection *connection)
{
    snprintf(connection->digits, sizeof(connection->digits), "%0*lld", SEQ_DIGITS, next_seq++);
    pattern_fill(&request_pattern, connection->request, connection->digits);
    connection->sent_ns = now_ns();
    connection->reply_size = 0;
    connection->sent = 0;
    connection->waiting = true;
    send_rest(connection);
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

static void check_reply(const struct connection *connection, const struct http_reply *reply)
{
    pattern_fill(&marker_pattern, marker_pattern.text, connection->digits);
    if (reply->status != options.expect || memmem(reply->body, reply->body_size, marker_pattern.text, marker_pattern.size) == NULL)
        die("not the expected answer (status %d): %.*s", reply->status, (int)reply->body_size, reply->body);
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
    fcntl(connection->fd, F_SETFL, O_NONBLOCK);
    connection->reply = malloc(REPLY_MAX_BYTES);
    connection->request = malloc(request_pattern.size);
    if (connection->reply == NULL || connection->request == NULL)
        die("no memory for a connection");
    memcpy(connection->request, request_pattern.text, request_pattern.size);
    connection->request_size = request_pattern.size;
}

static void open_connections(int epoll_fd)
{
    connections = calloc((size_t)options.connections, sizeof(*connections));
    if (connections == NULL)
        die("no memory for %ld connections", options.connections);
    for (long i = 0; i < options.connections; i++) {
        connect_to_server(&connections[i]);
        struct epoll_event interest = { .events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = &connections[i] };
        if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, connections[i].fd, &interest) != 0)
            die("epoll_ctl: %s", strerror(errno));
    }
}

/* ---- The run ---- */

/* True when the connection's call is over. */
static bool attend(struct connection *connection)
{
    send_rest(connection);
    struct http_reply reply;
    bool complete = false;
    for (size_t before = SIZE_MAX; !complete && connection->waiting && before != connection->reply_size;) {
        before = connection->reply_size;
        complete = receive(connection, &reply);
    }
    if (!complete)
        return false;
    latencies_record(&latencies, now_ns() - connection->sent_ns);
    check_reply(connection, &reply);
    connection->waiting = false;
    return true;
}

/* Keeps every connection busy for `duration_ms`, then waits for what is outstanding. Returns the calls a second that were
 * completed within the time. */
static double run_phase(int epoll_fd, long duration_ms)
{
    long completed = 0;
    long outstanding = options.connections;
    latencies_clear(&latencies);
    int64_t end_ns = now_ns() + duration_ms * 1000000;
    for (long i = 0; i < options.connections; i++)
        send_call(&connections[i]);
    while (outstanding > 0) {
        struct epoll_event events[CONNECTIONS_MAX];
        int count = epoll_wait(epoll_fd, events, CONNECTIONS_MAX, REPLY_WAIT_S * 1000);
        if (count == 0 || (count < 0 && errno != EINTR))
            die("no reply within %d s", REPLY_WAIT_S);
        for (int i = 0; i < count; i++) {
            struct connection *connection = events[i].data.ptr;
            if (!attend(connection))
                continue;
            if (now_ns() >= end_ns) {
                outstanding--;
                continue;
            }
            completed++;
            send_call(connection);
        }
    }
    return (double)completed * 1000 / (double)duration_ms;
}

int main(int argc, char **argv)
{
    parse_options(argc, argv);
    /* Numbers that no earlier run on the same data used. */
    next_seq = (long long)time(NULL) % 100000 * 10000000;
    latencies_init(&latencies);
    prepare_patterns();
    int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (epoll_fd < 0)
        die("epoll_create1: %s", strerror(errno));
    open_connections(epoll_fd);
    if (options.warmup_ms > 0)
        run_phase(epoll_fd, options.warmup_ms);

    int64_t start_ns = now_ns();
    double driver_cpu_s = process_cpu_s(getpid());
    double server_cpu_s = process_cpu_s((pid_t)options.server_pid);
    double calls_per_s = run_phase(epoll_fd, options.duration_ms);
    double elapsed_s = (double)(now_ns() - start_ns) / 1e9;
    driver_cpu_s = process_cpu_s(getpid()) - driver_cpu_s;
    server_cpu_s = process_cpu_s((pid_t)options.server_pid) - server_cpu_s;
    printf("{\"callsPerSecond\":%.1f,\"p50Us\":%ld,\"p99Us\":%ld,\"driverCpu\":%.3f,\"serverCpu\":%.3f}\n", calls_per_s,
           latencies_percentile_us(&latencies, 50), latencies_percentile_us(&latencies, 99), driver_cpu_s / elapsed_s,
           server_cpu_s / elapsed_s);
    return 0;
}
