/* Guarded HTTP client (SSRF protection): the addresses to which it connects, and hostile servers. */
#include "net/fetch.h"

#include "base/clock.h"
#include "net/guard_address.h"

#include "fixtures/loopback_server.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <cmocka.h>

enum { MAX_URLS = 64, URL_BYTES = 256, REQUEST_BYTES = 4096, SHORT_MS = 300 };

/* ---- A web server in this process: a thread a connection, one request each ---- */

static struct {
    struct loopback_server server;
    atomic_int served;
    atomic_bool saw_cookie;
    atomic_int busy; /* requests of /held that are not answered yet */
    atomic_int most_busy;
    atomic_int heads; /* requests by HEAD */
} web;

static void say_bytes(int fd, size_t size)
{
    static const char block[4096];
    while (size > 0) {
        size_t part = size < sizeof(block) ? size : sizeof(block);
        if (!loopback_say(fd, block, part))
            return;
        size -= part;
    }
}

static void redirect(int fd, const char *location)
{
    char head[512];
    snprintf(head, sizeof(head), "HTTP/1.1 302 Found\r\nSet-Cookie: a=b\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n", location);
    loopback_say_text(fd, head);
}

static bool path_is(const char *request, const char *path)
{
    size_t method = strncmp(request, "GET ", 4) == 0 ? 4 : 5;
    bool is_known = method == 4 || strncmp(request, "HEAD ", method) == 0;
    return is_known && strncasecmp(request + method, path, strlen(path)) == 0;
}

/* The number behind the path, such as /bytes/100. */
static long number_of(const char *request)
{
    const char *slash = strrchr(request, '/');
    for (const char *at = request + 5; *at != ' ' && *at != '\0'; at++)
        if (*at == '/')
            slash = at;
    return strtol(slash + 1, NULL, 10);
}

static void say_status(int fd, long status, const char *headers)
{
    char head[256];
    snprintf(head, sizeof(head), "HTTP/1.1 %ld Status\r\n%sContent-Length: 0\r\n\r\n", status, headers);
    loopback_say_text(fd, head);
}

/* Answers after a moment, in which another request can come. The request is counted until just before its answer. */
static void hold(int fd)
{
    int busy = atomic_fetch_add(&web.busy, 1) + 1;
    int most = atomic_load(&web.most_busy);
    while (busy > most && !atomic_compare_exchange_weak(&web.most_busy, &most, busy))
        continue;
    usleep(2000);
    atomic_fetch_sub(&web.busy, 1);
    say_status(fd, 200, "");
}

/* False: the path is not for HEAD. */
static bool answer_head(int fd, const char *request)
{
    static const struct {
        const char *path;
        long status; /* 0: the connection is closed */
        const char *headers;
    } heads[] = {
        { "HEAD /status/404", 404, "" },
        { "HEAD /status/500", 500, "" },
        { "HEAD /refuses/403", 403, "" },
        { "HEAD /refuses/405", 405, "" },
        { "HEAD /refuses/501", 501, "" },
        { "HEAD /refuses/close", 0, "" },
        { "HEAD /refuses/both", 403, "" },
        { "HEAD /moved/2", 301, "Location: /moved/1\r\n" },
        { "HEAD /moved/1", 302, "Location: /refuses/405\r\n" },
        { "HEAD /round", 302, "Location: /round\r\n" },
    };
    atomic_fetch_add(&web.heads, 1);
    for (size_t i = 0; i < ARRAY_COUNT(heads); i++) {
        if (strncmp(request, heads[i].path, strlen(heads[i].path)) != 0)
            continue;
        if (heads[i].status != 0)
            say_status(fd, heads[i].status, heads[i].headers);
        return true;
    }
    return false;
}

static void answer(int fd, const char *request)
{
    char head[256];
    if (strncmp(request, "HEAD ", 5) == 0 && answer_head(fd, request))
        return;
    if (strstr(request, " /held/") != NULL) {
        hold(fd);
    } else if (strncmp(request, "HEAD /to-held/", 14) == 0) {
        snprintf(head, sizeof(head), "Location: http://127.0.0.1:%u/held/0\r\n", web.server.port);
        say_status(fd, 302, head);
    } else if (path_is(request, "/refuses/both")) {
        say_status(fd, 403, "");
    } else if (path_is(request, "/refuses/")) {
        loopback_say_text(fd, "HTTP/1.1 200 OK\r\n\r\n");
        say_bytes(fd, SIZE_MAX);
    } else if (path_is(request, "/bytes/")) {
        snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Length: %ld\r\n\r\n", number_of(request));
        loopback_say_text(fd, head);
        say_bytes(fd, (size_t)number_of(request));
    } else if (path_is(request, "/endless")) {
        loopback_say_text(fd, "HTTP/1.1 200 OK\r\n\r\n");
        say_bytes(fd, SIZE_MAX);
    } else if (path_is(request, "/hops/")) {
        snprintf(head, sizeof(head), number_of(request) > 1 ? "/hops/%ld" : "../bytes/7", number_of(request) - 1);
        redirect(fd, head);
    } else if (path_is(request, "/to-private")) {
        redirect(fd, "http://10.0.0.1/");
    } else if (path_is(request, "/to-file")) {
        redirect(fd, "file:///etc/passwd");
    } else if (path_is(request, "/silent")) {
        loopback_wait_until_gone(fd);
    } else if (path_is(request, "/half-a-header")) {
        loopback_say_text(fd, "HTTP/1.1 200 OK\r\nContent-");
        loopback_wait_until_gone(fd);
    } else if (path_is(request, "/cut")) {
        loopback_say_text(fd, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this");
    } else if (path_is(request, "/longer")) {
        loopback_say_text(fd, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcdef");
    } else if (path_is(request, "/gzip")) {
        loopback_say_text(fd, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc");
    } else if (path_is(request, "/headers")) {
        loopback_say_text(fd, "HTTP/1.1 200 OK\r\n");
        for (int i = 0; i < 10000; i++)
            loopback_say_text(fd, "X-Filler: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n");
    } else if (path_is(request, "/space%20and%C3%A9")) {
        loopback_say_text(fd, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    } else if (path_is(request, "/garbage")) {
        loopback_say_text(fd, "this is not HTTP\r\n\r\n");
    } else {
        loopback_say_text(fd, "HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\nnone\n");
    }
}

static bool serve(int fd)
{
    char request[REQUEST_BYTES] = "";
    size_t size = 0;
    while (size < sizeof(request) - 1 && strstr(request, "\r\n\r\n") == NULL) {
        ssize_t count = recv(fd, request + size, sizeof(request) - 1 - size, 0);
        if (count <= 0)
            break;
        size += (size_t)count;
        request[size] = '\0';
    }
    if (strcasestr(request, "\r\ncookie:") != NULL)
        atomic_store(&web.saw_cookie, true);
    atomic_fetch_add(&web.served, 1);
    answer(fd, request);
    return true;
}

static int start_web(void **state)
{
    (void)state;
    return loopback_server_start(&web.server, serve) ? 0 : -1;
}

static int stop_web(void **state)
{
    (void)state;
    loopback_server_stop(&web.server);
    return 0;
}

/* ---- Fetching in tests ---- */

struct got {
    int times;
    enum fetch_outcome outcome;
    char reason[FETCH_REASON_BYTES];
    size_t size;
    long status;
    enum fetch_cause cause;
    unsigned redirects;
    long redirect_status;
    char url[URL_BYTES];
};

struct round {
    struct got got[MAX_URLS];
    char texts[MAX_URLS][URL_BYTES];
    const char *urls[MAX_URLS];
    size_t count;
    int asked;
    int stops_at; /* should_stop says so when asked the nth time */
    bool has_followed;
};

static void arrived(void *context, size_t index, const struct fetch_answer *answer_given)
{
    struct got *got = &((struct round *)context)->got[index];
    got->times++;
    got->outcome = answer_given->outcome;
    got->size = answer_given->size;
    got->status = answer_given->status;
    got->cause = answer_given->cause;
    got->redirects = answer_given->redirects;
    got->redirect_status = answer_given->redirect_status;
    snprintf(got->url, sizeof(got->url), "%s", answer_given->url != NULL ? answer_given->url : "");
    snprintf(got->reason, sizeof(got->reason), "%s", answer_given->reason);
}

static bool should_stop(void *context)
{
    struct round *round = context;
    return ++round->asked >= round->stops_at;
}

/* `path` is one of the server above, or a whole address. */
static void add(struct round *round, const char *path)
{
    char *text = round->texts[round->count];
    if (path[0] == '/')
        snprintf(text, URL_BYTES, "http://127.0.0.1:%u%s", web.server.port, path);
    else
        snprintf(text, URL_BYTES, "%s", path);
    round->urls[round->count++] = text;
}

static struct fetch_config test_config(struct round *round)
{
    struct fetch_config config = fetch_config_default();
    config.allow_loopback = true;
    config.arrived = arrived;
    config.context = round;
    return config;
}

static struct got fetch_one(const char *path, struct fetch_config config)
{
    struct round round = { .count = 0 };
    add(&round, path);
    config.arrived = arrived;
    config.context = &round;
    fetch_all(&config, round.urls, round.count);
    assert_int_equal(round.got[0].times, 1);
    return round.got[0];
}

static void assert_got(const char *path, enum fetch_outcome outcome, const char *reason)
{
    struct round unused = { .count = 0 };
    struct got got = fetch_one(path, test_config(&unused));
    if (got.outcome != outcome || strstr(got.reason, reason) == NULL)
        fail_msg("%s: %d %s", path, (int)got.outcome, got.reason);
}

/* ---- The guard ---- */

static bool is_public(const char *text)
{
    struct sockaddr_in v4 = { .sin_family = AF_INET };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
    if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
        return guard_address_is_public((const struct sockaddr *)&v4);
    assert_int_equal(inet_pton(AF_INET6, text, &v6.sin6_addr), 1);
    return guard_address_is_public((const struct sockaddr *)&v6);
}

/* a fetch for a caller connects only to the public internet, by any name. */
static void test_only_public_addresses(void **state)
{
    static const char *const denied[] = {
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "10.255.255.255",
        "100.64.0.1",
        "100.100.100.200",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.254",
        "168.63.129.16",
        "169.254.169.254",
        "169.254.0.1",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.192",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.1.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.7",
        "203.0.113.9",
        "224.0.0.1",
        "239.255.255.250",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::7f00:1",
        "::ffff:127.0.0.1",
        "::ffff:8.8.8.8",
        "64:ff9b::8.8.8.8",
        "64:ff9b::7f00:1",
        "64:ff9b:1::1",
        "100::1",
        "2001::1",
        "2001:db8::1",
        "2002:7f00:1::",
        "3fff::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fec0::1",
        "ff02::1",
        "4000::1",
        "e000::1",
    };
    static const char *const allowed[] = {
        "1.1.1.1",         "8.8.8.8",         "9.255.255.255", "11.0.0.1",        "100.63.255.255",
        "100.128.0.1",     "126.255.255.255", "128.0.0.1",     "168.63.129.17",   "169.253.255.255",
        "169.255.0.1",     "172.15.255.255",  "172.32.0.1",    "192.0.1.1",       "192.167.255.255",
        "192.169.0.1",     "198.17.255.255",  "198.20.0.1",    "223.255.255.255", "2001:4860:4860::8888",
        "2606:4700::1111", "2a00:1450::1",    "2003::1",       "2001:200::1",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(denied); i++)
        if (is_public(denied[i]))
            fail_msg("%s passes for public", denied[i]);
    for (size_t i = 0; i < ARRAY_COUNT(allowed); i++)
        if (!is_public(allowed[i]))
            fail_msg("%s does not pass for public", allowed[i]);
    const struct sockaddr other = { .sa_family = AF_UNIX };
    assert_false(guard_address_is_public(&other));
}

static void test_addresses_are_refused_before_a_connection(void **state)
{
    (void)state;
    struct round unused = { .count = 0 };
    struct fetch_config strict = test_config(&unused);
    strict.allow_loopback = false;
    int served = atomic_load(&web.served);
    static const char *const refused[] = {
        "http://127.0.0.1/",  "http://localhost/", "https://127.0.0.1/", "http://[::1]/",           "http://2130706433/",
        "http://0177.0.0.1/", "http://127.1/",     "http://0/",          "http://[::ffff:7f00:1]/", "http://169.254.169.254/",
    };
    for (size_t i = 0; i < ARRAY_COUNT(refused); i++)
        if (fetch_one(refused[i], strict).outcome != FETCH_REFUSED)
            fail_msg("%s is not refused", refused[i]);
    /* Its port is refused first. */
    assert_int_equal(fetch_one("/bytes/1", strict).outcome, FETCH_FAILED);
    assert_int_equal(atomic_load(&web.served), served);
    /* The flag of tests opens loopback and nothing else. */
    assert_got("http://10.0.0.1/", FETCH_REFUSED, "public internet");
    assert_got("http://[::ffff:127.0.0.1]/", FETCH_REFUSED, "public internet");
    assert_got("/bytes/1", FETCH_OK, "");
}

/* In place of the C library's, for libcurl: mixed.invalid has a private address, which comes first, and 127.0.0.1. */
int getaddrinfo(const char *restrict name, const char *restrict service, const struct addrinfo *restrict hints,
                struct addrinfo **restrict ret_list)
{
    (void)hints;
    const char *const texts[] = { "10.0.0.1", "127.0.0.1" };
    bool is_mixed = name != NULL && strcmp(name, "mixed.invalid") == 0;
    size_t first = is_mixed ? 0 : 1;
    if (!is_mixed && (name == NULL || strcmp(name, "localhost") != 0))
        return EAI_NONAME;
    *ret_list = NULL;
    for (size_t i = ARRAY_COUNT(texts); i-- > first;) {
        struct addrinfo *entry = calloc(1, sizeof(*entry) + sizeof(struct sockaddr_in));
        struct sockaddr_in *address = (struct sockaddr_in *)(void *)(entry + 1);
        *address = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons((uint16_t)strtoul(service, NULL, 10)) };
        inet_pton(AF_INET, texts[i], &address->sin_addr);
        *entry = (struct addrinfo){ .ai_family = AF_INET, .ai_socktype = SOCK_STREAM, .ai_addrlen = sizeof(*address) };
        entry->ai_addr = (struct sockaddr *)address;
        entry->ai_next = *ret_list;
        *ret_list = entry;
    }
    return 0;
}

void freeaddrinfo(struct addrinfo *list)
{
    while (list != NULL) {
        struct addrinfo *next = list->ai_next;
        free(list);
        list = next;
    }
}

/* the private one of a name's addresses is passed over, as networks with NAT64 need it. */
static void test_names_with_both_kinds_of_addresses(void **state)
{
    (void)state;
    char url[URL_BYTES];
    snprintf(url, sizeof(url), "http://mixed.invalid:%u/bytes/9", web.server.port);
    assert_got(url, FETCH_OK, "");
}

static void test_forms_of_addresses(void **state)
{
    (void)state;
    assert_got("ftp://127.0.0.1/a", FETCH_FAILED, "only http and https");
    assert_got("file:///etc/passwd", FETCH_FAILED, "only http and https");
    assert_got("http://user@127.0.0.1/", FETCH_FAILED, "user name");
    assert_got("http://", FETCH_FAILED, "not valid");
    assert_got("no address", FETCH_FAILED, "");
    assert_got("/space and\xC3\xA9", FETCH_OK, ""); /* as people paste them */
    assert_true(guard_port_is_web(443) && guard_port_is_web(8080) && !guard_port_is_web(22) && !guard_port_is_web(5432));
}

/* ---- Redirects ---- */

static void test_redirects(void **state)
{
    (void)state;
    struct round unused = { .count = 0 };
    struct got got = fetch_one("/hops/5", test_config(&unused));
    assert_int_equal(got.outcome, FETCH_OK);
    assert_int_equal(got.size, 7);
    assert_got("/hops/6", FETCH_FAILED, "redirects too often");
    assert_got("/to-private", FETCH_REFUSED, "public internet");
    assert_got("/to-file", FETCH_FAILED, "only http and https");
    assert_false(atomic_load(&web.saw_cookie));
}

/* ---- Sizes ---- */

static void test_sizes(void **state)
{
    (void)state;
    struct round unused = { .count = 0 };
    struct fetch_config config = test_config(&unused);
    config.max_bytes = 10000;
    assert_int_equal(fetch_one("/bytes/10000", config).size, 10000);
    assert_int_equal(fetch_one("/bytes/10001", config).outcome, FETCH_TOO_LARGE);
    assert_int_equal(fetch_one("/endless", config).outcome, FETCH_TOO_LARGE);
    assert_int_equal(fetch_one("/bytes/0", config).outcome, FETCH_OK);
    assert_int_equal(fetch_one("/longer", config).size, 3);
    assert_got("/cut", FETCH_FAILED, "cut short");
    assert_got("/gzip", FETCH_FAILED, "compressed");
    assert_got("/headers", FETCH_FAILED, "headers");
    assert_got("/garbage", FETCH_FAILED, "");
    assert_got("/elsewhere", FETCH_FAILED, "answered 404");
}

static void test_all_together_are_bounded(void **state)
{
    (void)state;
    struct round round = { .count = 0 };
    struct fetch_config config = test_config(&round);
    config.max_total_bytes = 25000;
    config.max_parallel = 1;
    for (int i = 0; i < 4; i++)
        add(&round, "/bytes/10000");
    fetch_all(&config, round.urls, round.count);
    assert_int_equal(round.got[1].outcome, FETCH_OK);
    assert_int_equal(round.got[2].outcome, FETCH_TOO_LARGE);
    assert_int_equal(round.got[3].outcome, FETCH_TOO_LARGE);
}

/* ---- Time ---- */

static void test_deadlines(void **state)
{
    (void)state;
    struct round round = { .count = 0 };
    struct fetch_config config = test_config(&round);
    config.each_ms = SHORT_MS;
    assert_int_equal(fetch_one("/silent", config).outcome, FETCH_TOO_SLOW);
    assert_int_equal(fetch_one("/half-a-header", config).outcome, FETCH_TOO_SLOW);

    /* Those that were never begun are told so, too. */
    config.each_ms = 60000;
    config.all_ms = SHORT_MS;
    config.max_parallel = 2;
    for (int i = 0; i < 5; i++)
        add(&round, "/silent");
    fetch_all(&config, round.urls, round.count);
    for (size_t i = 0; i < round.count; i++) {
        assert_int_equal(round.got[i].times, 1);
        assert_int_equal(round.got[i].outcome, FETCH_TOO_SLOW);
    }
}

static void test_stops_when_asked(void **state)
{
    (void)state;
    struct round round = { .stops_at = 1 };
    struct fetch_config config = test_config(&round);
    config.should_stop = should_stop;
    config.each_ms = config.all_ms = 600000;
    add(&round, "/silent");
    fetch_all(&config, round.urls, round.count);
    assert_int_equal(round.got[0].outcome, FETCH_TOO_SLOW);
}

/* ---- Side by side ---- */

static void test_each_is_told_once_and_few_run_at_a_time(void **state)
{
    (void)state;
    static const char *const kinds[] = { "/bytes/1000", "/elsewhere", "/hops/2", "ftp://x/", "/to-private", "/held/1" };
    struct round round = { .count = 0 };
    struct fetch_config config = test_config(&round);
    config.max_parallel = 4;
    atomic_store(&web.most_busy, 0);
    for (size_t i = 0; i < MAX_URLS; i++)
        add(&round, kinds[i % ARRAY_COUNT(kinds)]);
    fetch_all(&config, round.urls, round.count);
    for (size_t i = 0; i < round.count; i++)
        assert_int_equal(round.got[i].times, 1);
    assert_int_equal(round.got[0].outcome, FETCH_OK);
    assert_int_equal(round.got[4].outcome, FETCH_REFUSED);
    assert_in_range(atomic_load(&web.most_busy), 1, 4);
    fetch_all(&config, round.urls, 0);
}

/* ---- Only the status ---- */

static struct got fetch_status(const char *path)
{
    struct round unused = { .count = 0 };
    struct fetch_config config = test_config(&unused);
    config.asks_status = true;
    config.one_per_host = true;
    config.max_redirects = 4;
    if (strcmp(path, "/silent") == 0)
        config.each_ms = SHORT_MS;
    return fetch_one(path, config);
}

/* Every status is an answer. A server that refuses HEAD is asked by GET, whose body is not read. */
static void test_only_the_status(void **state)
{
    static const struct {
        const char *path;
        long status;
    } asked[] = {
        { "/status/404", 404 },  { "/status/500", 500 },    { "/refuses/403", 200 },  { "/refuses/405", 200 },
        { "/refuses/501", 200 }, { "/refuses/close", 200 }, { "/refuses/both", 403 },
    };
    (void)state;
    atomic_store(&web.heads, 0);
    for (size_t i = 0; i < ARRAY_COUNT(asked); i++) {
        struct got got = fetch_status(asked[i].path);
        if (got.outcome != FETCH_OK || got.status != asked[i].status || got.size != 0)
            fail_msg("%s: %d %ld %s", asked[i].path, (int)got.outcome, got.status, got.reason);
    }
    assert_int_equal(atomic_load(&web.heads), ARRAY_COUNT(asked));
}

static void test_status_after_redirects(void **state)
{
    (void)state;
    struct got got = fetch_status("/moved/2");
    assert_int_equal(got.outcome, FETCH_OK);
    assert_int_equal(got.status, 200);
    assert_int_equal(got.redirects, 2);
    assert_int_equal(got.redirect_status, 301);
    assert_non_null(strstr(got.url, "/refuses/405"));
    got = fetch_status("/round");
    assert_int_equal(got.outcome, FETCH_FAILED);
    assert_int_equal(got.cause, FETCH_CAUSE_REDIRECTS);
}

static void test_causes(void **state)
{
    (void)state;
    assert_int_equal(fetch_status("http://127.0.0.1:1/").cause, FETCH_CAUSE_CONNECTION);
    assert_int_equal(fetch_status("http://name.invalid/").cause, FETCH_CAUSE_NAME);
    assert_int_equal(fetch_status("ftp://127.0.0.1/").cause, FETCH_CAUSE_ADDRESS);
    assert_int_equal(fetch_status("http://a:b@127.0.0.1/").cause, FETCH_CAUSE_ADDRESS);
    assert_int_equal(fetch_status("http://10.0.0.1/").outcome, FETCH_REFUSED);
    assert_int_equal(fetch_status("/garbage").cause, FETCH_CAUSE_CONNECTION);
    struct got slow = fetch_status("/silent");
    assert_int_equal(slow.outcome, FETCH_TOO_SLOW);
    assert_int_not_equal(slow.cause, FETCH_CAUSE_NOT_ASKED);
}

/* Also the requests that redirects lead to wait for the turn of their host, and an address that is not valid holds up none. */
static void test_one_request_for_a_host(void **state)
{
    (void)state;
    struct round round = { .count = 0 };
    struct fetch_config config = test_config(&round);
    config.asks_status = true;
    config.one_per_host = true;
    char elsewhere[URL_BYTES];
    snprintf(elsewhere, sizeof(elsewhere), "http://localhost:%u/to-held/1", web.server.port); /* which leads to the other host */
    atomic_store(&web.most_busy, 0);
    for (int i = 0; i < 10; i++) {
        add(&round, "/held/1");
        add(&round, elsewhere);
        add(&round, i % 2 == 0 ? "not an address" : "http://127.0.0.1:1/");
    }
    fetch_all(&config, round.urls, round.count);
    for (size_t i = 0; i < round.count; i++) {
        assert_int_equal(round.got[i].times, 1);
        assert_int_equal(round.got[i].outcome, i % 3 == 2 ? FETCH_FAILED : FETCH_OK);
    }
    assert_int_equal(atomic_load(&web.most_busy), 1);
}

/* The others behind a host that is silent are told as not asked. */
static void test_not_asked(void **state)
{
    (void)state;
    struct round round = { .count = 0 };
    struct fetch_config config = test_config(&round);
    config.asks_status = true;
    config.one_per_host = true;
    config.all_ms = SHORT_MS;
    add(&round, "/silent");
    add(&round, "/status/404");
    fetch_all(&config, round.urls, round.count);
    assert_int_equal(round.got[0].outcome, FETCH_TOO_SLOW);
    assert_int_not_equal(round.got[0].cause, FETCH_CAUSE_NOT_ASKED);
    assert_int_equal(round.got[1].outcome, FETCH_TOO_SLOW);
    assert_int_equal(round.got[1].cause, FETCH_CAUSE_NOT_ASKED);
    assert_int_equal(round.got[1].times, 1);
}

static bool note_redirect(void *context, const char *url)
{
    (void)url;
    return ((struct round *)context)->has_followed = true;
}

static bool has_followed(void *context)
{
    return ((struct round *)context)->has_followed;
}

/* A redirect to a host that is busy to the end was not asked there, and its waiting does not count. */
static void test_redirect_that_waits_is_not_slow(void **state)
{
    (void)state;
    struct round round = { .count = 0 };
    struct fetch_config config = test_config(&round);
    char elsewhere[URL_BYTES];
    snprintf(elsewhere, sizeof(elsewhere), "http://localhost:%u/to-held/1", web.server.port); /* which leads to the silent host */
    config.asks_status = true;
    config.one_per_host = true;
    config.each_ms = config.all_ms = 600000;
    config.may_follow = note_redirect;
    config.should_stop = has_followed;
    add(&round, "/silent");
    add(&round, elsewhere);
    fetch_all(&config, round.urls, round.count);
    assert_int_equal(round.got[0].outcome, FETCH_TOO_SLOW);
    assert_int_not_equal(round.got[0].cause, FETCH_CAUSE_NOT_ASKED);
    assert_int_equal(round.got[1].outcome, FETCH_TOO_SLOW);
    assert_int_equal(round.got[1].cause, FETCH_CAUSE_NOT_ASKED);
    assert_int_equal(round.got[1].redirects, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_public_addresses),
        cmocka_unit_test(test_addresses_are_refused_before_a_connection),
        cmocka_unit_test(test_names_with_both_kinds_of_addresses),
        cmocka_unit_test(test_forms_of_addresses),
        cmocka_unit_test(test_redirects),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_all_together_are_bounded),
        cmocka_unit_test(test_deadlines),
        cmocka_unit_test(test_stops_when_asked),
        cmocka_unit_test(test_each_is_told_once_and_few_run_at_a_time),
        cmocka_unit_test(test_only_the_status),
        cmocka_unit_test(test_status_after_redirects),
        cmocka_unit_test(test_causes),
        cmocka_unit_test(test_one_request_for_a_host),
        cmocka_unit_test(test_not_asked),
        cmocka_unit_test(test_redirect_that_waits_is_not_slow),
    };
    return cmocka_run_group_tests(tests, start_web, stop_web);
}
