#include "net/fetch.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/panic.h"
#include "net/guard_address.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum {
    MAX_PARALLEL = 32,
    URL_MAX_BYTES = 8192,
    HEADERS_MAX_BYTES = 32 * 1024,
    POLL_MS = 200,
    ASK_STOP_EVERY_US = 500000,
    STATUS_OK = 200,
    CONTENT_TYPE_BYTES = 160,
};

static const char user_agent[] = "Posthorn/" POSTHORN_VERSION " (image fetcher)";

/* The fetch of one address. A slot is reused for the next address. */
struct transfer {
    struct fetch *fetch;
    CURL *curl;
    size_t index;
    CURLU *url; /* of this hop */
    unsigned redirects;
    int64_t until_us; /* monotonic */
    struct buf body;
    size_t header_bytes;
    long status;
    char location[URL_MAX_BYTES];
    char content_type[CONTENT_TYPE_BYTES];
    char *final_url; /* of libcurl; NULL: not asked for */
    bool is_compressed;
    bool address_refused;
    bool address_allowed; /* a name can have addresses of both kinds */
    bool was_stopped;     /* by a callback of this file, which set the outcome */
    struct fetch_answer answer;
};

struct fetch {
    const struct fetch_config *config;
    const char *const *urls;
    size_t count;
    size_t next; /* address not started yet */
    CURLM *multi;
    struct transfer slots[MAX_PARALLEL];
    unsigned running;
    size_t total_bytes;
    int64_t until_us;
    int64_t asked_us; /* should_stop, last */
    bool is_over;     /* the common deadline has passed, or should_stop returned true */
};

struct fetch_config fetch_config_default(void)
{
    return (struct fetch_config){
        .max_bytes = 15 * 1000 * 1000,
        .max_total_bytes = 50 * 1000 * 1000,
        .each_ms = 15000,
        .all_ms = 60000,
        .max_parallel = 8,
        .max_redirects = 5,
    };
}

/* ---- Outcomes ---- */

static void set_outcome(struct transfer *transfer, enum fetch_outcome outcome, const char *reason)
{
    transfer->answer = (struct fetch_answer){ .outcome = outcome };
    snprintf(transfer->answer.reason, sizeof(transfer->answer.reason), "%s", reason);
}

/* Called in a callback of libcurl, whose return value 0 aborts the transfer. */
static size_t stop_transfer(struct transfer *transfer, enum fetch_outcome outcome, const char *reason)
{
    set_outcome(transfer, outcome, reason);
    transfer->was_stopped = true;
    return 0;
}

static void set_outcome_of_code(struct transfer *transfer, CURLcode code)
{
    if (transfer->address_refused && !transfer->address_allowed)
        return set_outcome(transfer, FETCH_REFUSED, "its server is not on the public internet");
    switch ((int)code) {
    case CURLE_OK:
        set_outcome(transfer, FETCH_OK, "");
        transfer->answer.bytes = (const unsigned char *)buf_text(&transfer->body); /* never NULL */
        transfer->answer.size = transfer->body.size;
        transfer->answer.content_type = transfer->content_type;
        if (curl_url_get(transfer->url, CURLUPART_URL, &transfer->final_url, 0) != CURLUE_OK)
            panic(PANIC_NO_MEMORY);
        transfer->answer.url = transfer->final_url;
        return;
    case CURLE_OPERATION_TIMEDOUT:
        return set_outcome(transfer, FETCH_TOO_SLOW, "it took too long");
    case CURLE_COULDNT_RESOLVE_HOST:
        return set_outcome(transfer, FETCH_FAILED, "the name of its server cannot be resolved");
    case CURLE_COULDNT_CONNECT:
        return set_outcome(transfer, FETCH_FAILED, "its server cannot be reached");
    case CURLE_PEER_FAILED_VERIFICATION:
        return set_outcome(transfer, FETCH_FAILED, "the certificate of its server cannot be trusted");
    case CURLE_PARTIAL_FILE:
        return set_outcome(transfer, FETCH_FAILED, "the response was cut short");
    case CURLE_FILESIZE_EXCEEDED:
        return set_outcome(transfer, FETCH_TOO_LARGE, "it is too large");
    default:
        return set_outcome(transfer, FETCH_FAILED, "its server sent no valid response");
    }
}

/* ---- Callbacks of libcurl ---- */

static curl_socket_t open_guarded_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct transfer *transfer = context;
    bool allowed = guard_address_is_public(&address->addr) ||
                   (transfer->fetch->config->allow_loopback && guard_address_is_loopback(&address->addr));
    if (purpose != CURLSOCKTYPE_IPCXN || !allowed) {
        transfer->address_refused = true;
        return CURL_SOCKET_BAD;
    }
    transfer->address_allowed = true;
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static bool header_is(const char *line, size_t size, const char *name)
{
    size_t name_size = strlen(name);
    return size > name_size && strncasecmp(line, name, name_size) == 0 && line[name_size] == ':';
}

/* The value of a header line without white space around it. */
static void copy_value(const char *line, size_t size, char *ret_value, size_t value_bytes)
{
    const char *colon = memchr(line, ':', size);
    const char *start = colon != NULL ? colon + 1 : line + size;
    const char *end = line + size;
    while (start < end && (*start == ' ' || *start == '\t'))
        start++;
    while (end > start && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r' || end[-1] == '\n'))
        end--;
    snprintf(ret_value, value_bytes, "%.*s", (int)(end - start), start);
}

/* Called for the status line, each header and the empty line after them, also for 1xx responses. */
static size_t on_fetch_header(char *line, size_t one, size_t size, void *context)
{
    struct transfer *transfer = context;
    (void)one;
    transfer->header_bytes += size;
    if (transfer->header_bytes > HEADERS_MAX_BYTES)
        return stop_transfer(transfer, FETCH_FAILED, "the headers of the response are too large");
    if (header_is(line, size, "location"))
        copy_value(line, size, transfer->location, sizeof(transfer->location));
    if (header_is(line, size, "content-type"))
        copy_value(line, size, transfer->content_type, sizeof(transfer->content_type));
    if (header_is(line, size, "content-encoding")) {
        char coding[32];
        copy_value(line, size, coding, sizeof(coding));
        transfer->is_compressed = coding[0] != '\0' && strcasecmp(coding, "identity") != 0;
    }
    bool is_end = size <= 2 && (line[0] == '\r' || line[0] == '\n');
    if (!is_end)
        return size;
    curl_easy_getinfo(transfer->curl, CURLINFO_RESPONSE_CODE, &transfer->status);
    /* The body of a redirect or an error page is not read. */
    bool is_final = transfer->status >= STATUS_OK;
    if (is_final && transfer->status != STATUS_OK)
        return stop_transfer(transfer, FETCH_FAILED, "");
    if (is_final && transfer->is_compressed)
        return stop_transfer(transfer, FETCH_FAILED, "the response is compressed, which the request did not allow");
    return size;
}

static size_t on_fetch_body(char *bytes, size_t one, size_t size, void *context)
{
    struct transfer *transfer = context;
    struct fetch *fetch = transfer->fetch;
    (void)one;
    if (transfer->body.size + size > fetch->config->max_bytes)
        return stop_transfer(transfer, FETCH_TOO_LARGE, "it is too large");
    if (fetch->total_bytes + size > fetch->config->max_total_bytes)
        return stop_transfer(transfer, FETCH_TOO_LARGE, "all of them together are too large");
    fetch->total_bytes += size;
    buf_add(&transfer->body, bytes, size);
    return size;
}

/* ---- One hop ---- */

static bool url_part_is(CURLU *url, CURLUPart part, const char *wanted)
{
    char *text = NULL;
    bool same = curl_url_get(url, part, &text, 0) == CURLUE_OK && strcasecmp(text, wanted) == 0;
    curl_free(text);
    return same;
}

static bool url_has(CURLU *url, CURLUPart part)
{
    char *text = NULL;
    bool has = curl_url_get(url, part, &text, 0) == CURLUE_OK;
    curl_free(text);
    return has;
}

static unsigned url_port(CURLU *url)
{
    char *text = NULL;
    unsigned long port = 0;
    if (curl_url_get(url, CURLUPART_PORT, &text, CURLU_DEFAULT_PORT) == CURLUE_OK)
        port = strtoul(text, NULL, 10);
    curl_free(text);
    return (unsigned)port;
}

/* Sets the address of the next hop; `text` is absolute or relative to the current hop. False: the outcome is set. */
static bool set_target(struct transfer *transfer, const char *text)
{
    const struct fetch_config *config = transfer->fetch->config;
    bool too_long = strlen(text) >= URL_MAX_BYTES;
    if (too_long || curl_url_set(transfer->url, CURLUPART_URL, text, CURLU_URLENCODE | CURLU_ALLOW_SPACE) != CURLUE_OK) {
        set_outcome(transfer, FETCH_FAILED, "its address is not valid");
        return false;
    }
    if (!url_part_is(transfer->url, CURLUPART_SCHEME, "http") && !url_part_is(transfer->url, CURLUPART_SCHEME, "https")) {
        set_outcome(transfer, FETCH_FAILED, "only http and https addresses are fetched");
        return false;
    }
    if (url_has(transfer->url, CURLUPART_USER) || url_has(transfer->url, CURLUPART_PASSWORD)) {
        set_outcome(transfer, FETCH_FAILED, "its address contains a user name or a password");
        return false;
    }
    if (!config->allow_loopback && !guard_port_is_web(url_port(transfer->url))) {
        set_outcome(transfer, FETCH_FAILED, "only the ports 80, 443, 8080 and 8443 are fetched from");
        return false;
    }
    return true;
}

static void set_options(struct transfer *transfer)
{
    CURL *curl = transfer->curl;
    curl_easy_reset(curl);
    curl_easy_setopt(curl, CURLOPT_CURLU, transfer->url);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
    const char *given_agent = transfer->fetch->config->user_agent;
    curl_easy_setopt(curl, CURLOPT_USERAGENT, given_agent != NULL ? given_agent : user_agent);
    curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, open_guarded_socket);
    curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, transfer);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_fetch_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, transfer);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_fetch_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, transfer);
    curl_easy_setopt(curl, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)transfer->fetch->config->max_bytes);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_QUICK_EXIT, 1L); /* do not wait for a name server that does not respond */
    curl_easy_setopt(curl, CURLOPT_PRIVATE, transfer);
}

static void start_hop(struct transfer *transfer)
{
    int64_t left_ms = (transfer->until_us - clock_monotonic_us()) / US_PER_MS;
    transfer->header_bytes = 0;
    transfer->status = 0;
    transfer->location[0] = '\0';
    transfer->content_type[0] = '\0';
    transfer->is_compressed = false;
    transfer->address_refused = false;
    transfer->address_allowed = false;
    transfer->was_stopped = false;
    buf_clear(&transfer->body);
    set_options(transfer);
    curl_easy_setopt(transfer->curl, CURLOPT_TIMEOUT_MS, (long)(left_ms > 0 ? left_ms : 1));
    curl_multi_add_handle(transfer->fetch->multi, transfer->curl);
    transfer->fetch->running++;
}

/* ---- One address ---- */

static void report_answer(struct transfer *transfer)
{
    const struct fetch_config *config = transfer->fetch->config;
    transfer->answer.status = transfer->status;
    config->arrived(config->context, transfer->index, &transfer->answer);
    curl_free(transfer->final_url);
    transfer->final_url = NULL;
    buf_done(&transfer->body); /* the body may have megabytes */
    curl_url_cleanup(transfer->url);
    transfer->url = NULL;
}

/* Starts the next address in the slot. Refused addresses before it are reported at once. */
static void start_next(struct transfer *transfer)
{
    struct fetch *fetch = transfer->fetch;
    while (fetch->next < fetch->count && !fetch->is_over) {
        int64_t until_us = clock_monotonic_us() + fetch->config->each_ms * US_PER_MS;
        transfer->index = fetch->next++;
        transfer->redirects = 0;
        transfer->until_us = until_us < fetch->until_us ? until_us : fetch->until_us;
        transfer->url = curl_url();
        if (transfer->url == NULL)
            panic(PANIC_NO_MEMORY);
        if (set_target(transfer, fetch->urls[transfer->index])) {
            start_hop(transfer);
            return;
        }
        report_answer(transfer);
    }
}

static bool is_redirect(const struct transfer *transfer)
{
    long status = transfer->status;
    bool is_redirect_status = status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
    return transfer->was_stopped && is_redirect_status && transfer->location[0] != '\0';
}

/* Handles the end of a hop; a redirect starts another one. */
static void end_hop(struct transfer *transfer, CURLcode code)
{
    struct fetch *fetch = transfer->fetch;
    curl_multi_remove_handle(fetch->multi, transfer->curl);
    fetch->running--;
    if (is_redirect(transfer)) {
        if (transfer->redirects++ == fetch->config->max_redirects) {
            set_outcome(transfer, FETCH_FAILED, "it redirects too often");
        } else if (set_target(transfer, transfer->location)) {
            start_hop(transfer);
            return;
        }
    } else if (!transfer->was_stopped) {
        set_outcome_of_code(transfer, code);
    } else if (transfer->answer.reason[0] == '\0') {
        snprintf(transfer->answer.reason, sizeof(transfer->answer.reason), "its server answered %ld", transfer->status);
    }
    report_answer(transfer);
    start_next(transfer);
}

/* ---- All ---- */

static void collect_ended(struct fetch *fetch)
{
    int waiting;
    const CURLMsg *message;
    while ((message = curl_multi_info_read(fetch->multi, &waiting)) != NULL) {
        if (message->msg != CURLMSG_DONE)
            continue;
        struct transfer *transfer = NULL;
        CURLcode code = message->data.result;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
        end_hop(transfer, code);
    }
}

static void check_deadline(struct fetch *fetch)
{
    int64_t now_us = clock_monotonic_us();
    if (now_us >= fetch->until_us)
        fetch->is_over = true;
    if (fetch->config->should_stop == NULL || now_us - fetch->asked_us < ASK_STOP_EVERY_US)
        return;
    fetch->asked_us = now_us;
    if (fetch->config->should_stop(fetch->config->context))
        fetch->is_over = true;
}

/* Reports FETCH_TOO_SLOW for every address that is in progress or waiting. */
static void end_unfinished(struct fetch *fetch)
{
    for (size_t i = 0; i < ARRAY_COUNT(fetch->slots); i++) {
        struct transfer *transfer = &fetch->slots[i];
        if (transfer->url == NULL)
            continue;
        curl_multi_remove_handle(fetch->multi, transfer->curl);
        set_outcome(transfer, FETCH_TOO_SLOW, "all of them together took too long");
        report_answer(transfer);
    }
    const struct fetch_answer late = { .outcome = FETCH_TOO_SLOW, .reason = "all of them together took too long" };
    for (; fetch->next < fetch->count; fetch->next++)
        fetch->config->arrived(fetch->config->context, fetch->next, &late);
}

static void start_slots(struct fetch *fetch)
{
    unsigned parallel = fetch->config->max_parallel < MAX_PARALLEL ? fetch->config->max_parallel : MAX_PARALLEL;
    parallel = parallel < fetch->count ? parallel : (unsigned)fetch->count;
    for (unsigned i = 0; i < parallel; i++) {
        struct transfer *transfer = &fetch->slots[i];
        *transfer = (struct transfer){ .fetch = fetch, .curl = curl_easy_init() };
        if (transfer->curl == NULL)
            panic(PANIC_NO_MEMORY);
        buf_init(&transfer->body, fetch->config->max_bytes + 1);
    }
    for (unsigned i = 0; i < parallel; i++)
        start_next(&fetch->slots[i]);
}

static void init_libcurl(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

static void fetch_free(struct fetch **ended)
{
    struct fetch *fetch = *ended;
    for (size_t i = 0; i < ARRAY_COUNT(fetch->slots); i++) {
        buf_done(&fetch->slots[i].body);
        curl_url_cleanup(fetch->slots[i].url);
        curl_free(fetch->slots[i].final_url);
        curl_easy_cleanup(fetch->slots[i].curl);
    }
    curl_multi_cleanup(fetch->multi);
    free(fetch);
}

void fetch_all(const struct fetch_config *config, const char *const *urls, size_t count)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_libcurl);
    CLEANUP(fetch_free) struct fetch *fetch = calloc(1, sizeof(*fetch));
    if (fetch == NULL)
        panic(PANIC_NO_MEMORY);
    *fetch = (struct fetch){
        .config = config,
        .urls = urls,
        .count = count,
        .multi = curl_multi_init(),
        .until_us = clock_monotonic_us() + config->all_ms * US_PER_MS,
    };
    if (fetch->multi == NULL)
        panic(PANIC_NO_MEMORY);
    start_slots(fetch);
    while (fetch->running > 0 && !fetch->is_over) {
        int running;
        curl_multi_perform(fetch->multi, &running);
        collect_ended(fetch);
        if (fetch->running > 0)
            curl_multi_poll(fetch->multi, NULL, 0, POLL_MS, NULL);
        check_deadline(fetch);
    }
    end_unfinished(fetch);
}
