#include "net/fetch_hop.h"

#include "base/clock.h"
#include "base/panic.h"
#include "net/guard_address.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { HEADERS_MAX_BYTES = 32 * 1024, STATUS_OK = 200 };

static const char user_agent[] = "Posthorn/" POSTHORN_VERSION " (image fetcher)";

/* ---- Outcomes ---- */

void hop_set_outcome(struct transfer *transfer, enum fetch_outcome outcome, const char *reason)
{
    transfer->answer = (struct fetch_answer){ .outcome = outcome };
    snprintf(transfer->answer.reason, sizeof(transfer->answer.reason), "%s", reason);
}

/* Called in a callback of libcurl, whose return value 0 aborts the transfer. */
static size_t stop_transfer(struct transfer *transfer, enum fetch_outcome outcome, const char *reason)
{
    hop_set_outcome(transfer, outcome, reason);
    transfer->was_stopped = true;
    return 0;
}

void hop_set_failure(struct transfer *transfer, enum fetch_cause cause, const char *reason)
{
    hop_set_outcome(transfer, FETCH_FAILED, reason);
    transfer->answer.cause = cause;
}

void hop_set_final_url(struct transfer *transfer)
{
    if (curl_url_get(transfer->url, CURLUPART_URL, &transfer->final_url, 0) != CURLUE_OK)
        panic(PANIC_NO_MEMORY);
    transfer->answer.url = transfer->final_url;
}

void hop_set_outcome_of_code(struct transfer *transfer, CURLcode code)
{
    if (transfer->address_refused && !transfer->address_allowed)
        return hop_set_outcome(transfer, FETCH_REFUSED, "its server is not on the public internet");
    switch ((int)code) {
    case CURLE_OK:
        hop_set_outcome(transfer, FETCH_OK, "");
        transfer->answer.bytes = (const unsigned char *)buf_text(&transfer->body); /* never NULL */
        transfer->answer.size = transfer->body.size;
        transfer->answer.content_type = transfer->content_type;
        hop_set_final_url(transfer);
        return;
    case CURLE_OPERATION_TIMEDOUT:
        return hop_set_outcome(transfer, FETCH_TOO_SLOW, "it took too long");
    case CURLE_COULDNT_RESOLVE_HOST:
        return hop_set_failure(transfer, FETCH_CAUSE_NAME, "the name of its server cannot be resolved");
    case CURLE_COULDNT_CONNECT:
        return hop_set_failure(transfer, FETCH_CAUSE_CONNECTION, "its server cannot be reached");
    case CURLE_PEER_FAILED_VERIFICATION:
        return hop_set_failure(transfer, FETCH_CAUSE_CERTIFICATE, "the certificate of its server cannot be trusted");
    case CURLE_SSL_CONNECT_ERROR:
        return hop_set_failure(transfer, FETCH_CAUSE_CERTIFICATE, "its server makes no TLS connection");
    case CURLE_PARTIAL_FILE:
        return hop_set_outcome(transfer, FETCH_FAILED, "the response was cut short");
    case CURLE_FILESIZE_EXCEEDED:
        return hop_set_outcome(transfer, FETCH_TOO_LARGE, "it is too large");
    default:
        return hop_set_failure(transfer, FETCH_CAUSE_CONNECTION, "its server sent no valid response");
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
    if (is_final && transfer->fetch->config->asks_status)
        return stop_transfer(transfer, FETCH_OK, "");
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

bool hop_set_target(struct transfer *transfer, const char *text)
{
    const struct fetch_config *config = transfer->fetch->config;
    bool too_long = strlen(text) >= FETCH_URL_MAX_BYTES;
    if (too_long || curl_url_set(transfer->url, CURLUPART_URL, text, CURLU_URLENCODE | CURLU_ALLOW_SPACE) != CURLUE_OK) {
        hop_set_failure(transfer, FETCH_CAUSE_ADDRESS, "its address is not valid");
        return false;
    }
    if (!url_part_is(transfer->url, CURLUPART_SCHEME, "http") && !url_part_is(transfer->url, CURLUPART_SCHEME, "https")) {
        hop_set_failure(transfer, FETCH_CAUSE_ADDRESS, "only http and https addresses are fetched");
        return false;
    }
    if (url_has(transfer->url, CURLUPART_USER) || url_has(transfer->url, CURLUPART_PASSWORD)) {
        hop_set_failure(transfer, FETCH_CAUSE_ADDRESS, "its address contains a user name or a password");
        return false;
    }
    if (!config->allow_loopback && !guard_port_is_web(url_port(transfer->url))) {
        hop_set_failure(transfer, FETCH_CAUSE_ADDRESS, "only the ports 80, 443, 8080 and 8443 are fetched from");
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
    curl_easy_setopt(curl, CURLOPT_NOBODY, transfer->fetch->config->asks_status && !transfer->uses_get ? 1L : 0L);
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

void hop_start(struct transfer *transfer)
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
    transfer->is_running = true;
    transfer->fetch->running++;
}
