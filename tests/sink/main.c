/*
 * The sink's program: options, the listening socket, the workers, and commands on standard input. sink.h says what it is.
 *
 *     posthorn-sink [--port N] [--record FILE] [--delay-ms N] [--seed N] [--threads N]
 *
 * prints {"port":N} when it listens on 127.0.0.1, then a JSON line for each command:
 *
 *     stats                     the counters (SIGUSR1 prints them too)
 *     drop-after-dot P          records, then closes without a reply, with probability P (0 to 1)
 *     drop-mid-data P           closes before the end of a message
 *     421 P                     answers MAIL by 421 and closes
 *     delay N                   milliseconds before the reply to a final dot
 *     stall on|off              accepts connections and input, and says nothing
 *     refuse-connections on|off
 *     normal                    all of that off
 *     forget                    who was put off by +grey
 *
 * Recipients whose local part ends so get: +550 → 550 5.1.1, +block → 550 5.7.1, +full → 452 4.2.2, +grey → 451 4.7.1 the first
 * time and 250 afterwards, +5xxdot → 554 5.6.0 after the dot. It ends by a signal, or when standard input was a pipe and is
 * closed: so it never outlives a test.
 */
#include "sink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MAX_THREADS = 64, MAX_EVENTS = 256, RECHECK_MS = 2, COMMAND_BYTES = 256 };

struct counters counters;

/* What a worker is given through its pipe. */
struct arrival {
    int fd;
    uint64_t id;
};

static long thread_count = 1;
static int arrivals[MAX_THREADS]; /* the writing ends */
static uint16_t port;
static int listening_fd = -1;

static _Noreturn void die(const char *what)
{
    fprintf(stderr, "posthorn-sink: %s: %s\n", what, strerror(errno));
    exit(1);
}

uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* ---- Workers ---- */

static void take_arrival(struct worker *worker, int arrivals_fd)
{
    struct arrival arrival;
    if (read(arrivals_fd, &arrival, sizeof(arrival)) != sizeof(arrival))
        die("cannot take a connection");
    struct session *session = session_new(worker, arrival.fd, arrival.id);
    if (!session_flush(worker, session, now_ns()))
        session_end(worker, session);
}

static void flush_all(struct worker *worker)
{
    uint64_t now = now_ns();
    for (struct session *session = worker->sessions, *next; session != NULL; session = next) {
        next = session_following(session);
        if (!session_flush(worker, session, now))
            session_end(worker, session);
    }
}

struct start {
    uint64_t number;
    int arrivals_fd; /* the reading end */
};

static void *work(void *argument)
{
    const struct start *start = argument;
    int arrivals_fd = start->arrivals_fd;
    struct worker worker = { .epoll_fd = epoll_create1(EPOLL_CLOEXEC), .input = malloc(READ_BYTES + LINE_BYTES) };
    worker.dice.state = behaviour.seed * MAX_THREADS + start->number;
    struct epoll_event wanted = { .events = EPOLLIN };
    if (worker.epoll_fd < 0 || worker.input == NULL || epoll_ctl(worker.epoll_fd, EPOLL_CTL_ADD, arrivals_fd, &wanted) != 0)
        die("cannot begin");
    for (;;) {
        struct epoll_event events[MAX_EVENTS];
        int count = epoll_wait(worker.epoll_fd, events, MAX_EVENTS, worker.waiting > 0 ? RECHECK_MS : -1);
        for (int i = 0; i < count; i++)
            if (events[i].data.ptr != NULL)
                session_read(&worker, events[i].data.ptr);
        record_write(&worker.record);
        uint64_t now = count > 0 ? now_ns() : 0;
        for (int i = 0; i < count; i++)
            if (events[i].data.ptr == NULL)
                take_arrival(&worker, arrivals_fd);
            else if (!session_flush(&worker, events[i].data.ptr, now))
                session_end(&worker, events[i].data.ptr);
        if (worker.waiting > 0)
            flush_all(&worker);
    }
}

static void start_workers(void)
{
    static struct start starts[MAX_THREADS];
    for (long i = 0; i < thread_count; i++) {
        pthread_t thread;
        int ends[2];
        if (pipe(ends) != 0)
            die("cannot begin");
        starts[i] = (struct start){ .number = (uint64_t)i, .arrivals_fd = ends[0] };
        arrivals[i] = ends[1];
        if (pthread_create(&thread, NULL, work, &starts[i]) != 0)
            die("cannot begin a thread");
    }
}

/* ---- Connections ---- */

static void start_listening(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof(address);
    int yes = 1;
    listening_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listening_fd < 0 || setsockopt(listening_fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) != 0 ||
        bind(listening_fd, (struct sockaddr *)&address, size) != 0 || listen(listening_fd, SOMAXCONN) != 0 ||
        getsockname(listening_fd, (struct sockaddr *)&address, &size) != 0)
        die("cannot listen");
    port = ntohs(address.sin_port);
}

static void stop_listening(void)
{
    close(listening_fd);
    listening_fd = -1;
}

static void accept_connections(void)
{
    static uint64_t last_id;
    for (;;) {
        struct arrival arrival = { .fd = accept4(listening_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK) };
        if (arrival.fd < 0)
            return;
        int yes = 1;
        setsockopt(arrival.fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
        count_more(&counters.sessions, 1);
        arrival.id = ++last_id;
        if (write(arrivals[arrival.id % (uint64_t)thread_count], &arrival, sizeof(arrival)) != sizeof(arrival))
            die("cannot hand over a connection");
    }
}

/* ---- Commands ---- */

static void print_stats(void)
{
    unsigned long long first = counters.first_ns;
    double seconds = (double)(counters.last_ns - first) / 1e9;
    printf("{\"messages\":%llu,\"unanswered\":%llu,\"cut\":%llu,\"bytes\":%llu,\"refused\":%llu,\"deferred\":%llu,\"said421\":%llu,"
           "\"sessions\":%llu,\"open\":%llu,\"quit\":%llu,\"lost\":%llu,\"dropped\":%llu,\"seconds\":%.6f,\"nowNs\":%llu}\n",
           counters.messages, counters.unanswered, counters.cut, counters.bytes, counters.refused, counters.deferred,
           counters.said_421, counters.sessions, counters.sessions - counters.quit - counters.lost - counters.dropped,
           counters.quit, counters.lost, counters.dropped, seconds, (unsigned long long)now_ns());
}

static bool set_probability(atomic_uint *probability, const char *text)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= 0 && value <= 1))
        return false;
    *probability = (unsigned)(value * PROBABILITY_ONE);
    return true;
}

static bool set_number(long *ret_number, const char *text, long max)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < 0 || value > max)
        return false;
    *ret_number = value;
    return true;
}

static bool set_switch(bool *ret_on, const char *text)
{
    *ret_on = strcmp(text, "on") == 0;
    return *ret_on || strcmp(text, "off") == 0;
}

static bool set_delay(const char *text)
{
    long delay_ms;
    if (!set_number(&delay_ms, text, 3600 * 1000))
        return false;
    behaviour.delay_ms = delay_ms;
    return true;
}

static bool set_refusing(bool refuses)
{
    if (refuses && listening_fd >= 0)
        stop_listening();
    else if (!refuses && listening_fd < 0)
        start_listening();
    return true;
}

static bool obey_words(const char *word, const char *argument)
{
    bool on;
    if (strcmp(word, "drop-after-dot") == 0)
        return set_probability(&behaviour.drop_after_dot, argument);
    if (strcmp(word, "drop-mid-data") == 0)
        return set_probability(&behaviour.drop_mid_data, argument);
    if (strcmp(word, "421") == 0)
        return set_probability(&behaviour.say_421, argument);
    if (strcmp(word, "delay") == 0)
        return set_delay(argument);
    if (strcmp(word, "refuse-connections") == 0)
        return set_switch(&on, argument) && set_refusing(on);
    if (strcmp(word, "stall") == 0 && set_switch(&on, argument)) {
        behaviour.stalled = on;
        return true;
    }
    if (strcmp(word, "forget") == 0) {
        script_forget();
        return true;
    }
    if (strcmp(word, "normal") != 0)
        return false;
    behaviour.drop_after_dot = behaviour.drop_mid_data = behaviour.say_421 = 0;
    behaviour.delay_ms = 0;
    behaviour.stalled = false;
    return set_refusing(false);
}

static void obey(char *line)
{
    char *space = strchr(line, ' ');
    const char *argument = space == NULL ? "" : space + 1;
    if (space != NULL)
        *space = '\0';
    if (strcmp(line, "stats") == 0)
        print_stats();
    else
        puts(obey_words(line, argument) ? "{\"done\":true}" : "{\"done\":false}");
}

/* Reads commands, whole lines; false at the end of input. */
static bool read_commands(void)
{
    static char bytes[COMMAND_BYTES];
    static size_t size;
    ssize_t received = read(STDIN_FILENO, bytes + size, sizeof(bytes) - size);
    if (received <= 0)
        return false;
    size += (size_t)received;
    for (char *end; (end = memchr(bytes, '\n', size)) != NULL;) {
        *end = '\0';
        obey(bytes);
        size -= (size_t)(end - bytes) + 1;
        memmove(bytes, end + 1, size);
    }
    return size < sizeof(bytes);
}

/* ---- Running ---- */

static void parse_options(int argc, char **argv)
{
    static const struct option known[] = {
        { "port", required_argument, NULL, 'p' },
        { "record", required_argument, NULL, 'r' },
        { "count-only", no_argument, NULL, 'c' },
        { "delay-ms", required_argument, NULL, 'd' },
        { "seed", required_argument, NULL, 's' },
        { "threads", required_argument, NULL, 't' },
        { NULL, 0, NULL, 0 },
    };
    bool valid = true;
    for (int option; valid && (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        long number = 0;
        switch (option) {
        case 'p':
            valid = set_number(&number, optarg, 65535), port = (uint16_t)number;
            break;
        case 'r':
            record_open(optarg);
            break;
        case 'c':
            break; /* without --record it only counts; the word makes that plain */
        case 'd':
            valid = set_delay(optarg);
            break;
        case 's':
            valid = set_number(&number, optarg, LONG_MAX), behaviour.seed = (uint64_t)number;
            break;
        case 't':
            valid = set_number(&thread_count, optarg, MAX_THREADS) && thread_count > 0;
            break;
        default:
            valid = false;
        }
    }
    if (valid && optind == argc)
        return;
    fputs("usage: posthorn-sink [--port N] [--record FILE | --count-only] [--delay-ms N] [--seed N] [--threads N]\n", stderr);
    exit(2);
}

static bool input_is_pipe(void)
{
    struct stat input;
    return fstat(STDIN_FILENO, &input) == 0 && (S_ISFIFO(input.st_mode) || S_ISSOCK(input.st_mode));
}

int main(int argc, char **argv)
{
    parse_options(argc, argv);
    setvbuf(stdout, NULL, _IOLBF, 0);
    sigset_t asks;
    sigemptyset(&asks);
    sigaddset(&asks, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &asks, NULL);
    int signal_fd = signalfd(-1, &asks, SFD_CLOEXEC);
    start_listening();
    start_workers();
    printf("{\"port\":%u}\n", port);

    bool ends_with_input = input_is_pipe();
    int input_fd = STDIN_FILENO;
    for (;;) {
        struct pollfd sources[] = { { .fd = listening_fd, .events = POLLIN },
                                    { .fd = input_fd, .events = POLLIN },
                                    { .fd = signal_fd, .events = POLLIN } };
        if (poll(sources, 3, -1) < 0 && errno != EINTR)
            die("cannot wait");
        if (sources[0].revents != 0)
            accept_connections();
        struct signalfd_siginfo info;
        if (sources[2].revents != 0 && read(signal_fd, &info, sizeof(info)) == sizeof(info))
            print_stats();
        if (sources[1].revents == 0 || read_commands())
            continue;
        if (ends_with_input)
            return 0;
        input_fd = -1;
    }
}
