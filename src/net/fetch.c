#include "net/fetch.h"

#include "base/clock.h"
#include "base/panic.h"
#include "net/fetch_hop.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    POLL_MS = 200,
    LEAST_MS = 10,
    ASK_STOP_EVERY_US = 500000,
    STATUS_FORBIDDEN = 403,
    STATUS_NOT_ALLOWED = 405,
    STATUS_NOT_IMPLEMENTED = 501,
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

/* ---- Turns of hosts ---- */

static bool host_is_busy(const struct fetch *fetch, const char *host)
{
    for (size_t i = 0; i < ARRAY_COUNT(fetch->slots); i++) {
        const struct transfer *transfer = &fetch->slots[i];
        if (transfer->is_running && transfer->host != NULL && strcasecmp(transfer->host, host) == 0)
            return true;
    }
    return false;
}

static char *host_of(CURLU *url)
{
    char *host = NULL;
    return curl_url_get(url, CURLUPART_HOST, &host, CURLU_PUNYCODE) == CURLUE_OK ? host : NULL;
}

static char *host_of_text(const char *text)
{
    CURLU *url = curl_url();
    if (url == NULL)
        panic(PANIC_NO_MEMORY);
    bool is_url = strlen(text) < FETCH_URL_MAX_BYTES &&
                  curl_url_set(url, CURLUPART_URL, text, CURLU_URLENCODE | CURLU_ALLOW_SPACE) == CURLUE_OK;
    char *host = is_url ? host_of(url) : NULL;
    curl_url_cleanup(url);
    return host;
}

/* An address that is not valid has no host. It is never busy, and start_next reports it. */
static void find_hosts(struct fetch *fetch)
{
    fetch->hosts = calloc(fetch->count + 1, sizeof(*fetch->hosts));
    if (fetch->hosts == NULL)
        panic(PANIC_NO_MEMORY);
    for (size_t i = 0; i < fetch->count; i++)
        fetch->hosts[i] = host_of_text(fetch->urls[i]);
}

/* The next address whose host is not busy; false: there is none. */
static bool pick_next(struct fetch *fetch, size_t *ret_index)
{
    while (fetch->next < fetch->count && fetch->are_started[fetch->next])
        fetch->next++;
    for (size_t i = fetch->next; i < fetch->count; i++) {
        bool is_busy = fetch->hosts != NULL && fetch->hosts[i] != NULL && host_is_busy(fetch, fetch->hosts[i]);
        if (fetch->are_started[i] || is_busy)
            continue;
        fetch->are_started[i] = true;
        *ret_index = i;
        return true;
    }
    return false;
}

/* Starts a hop, or lets it wait for the turn of its host. */
static void request_hop(struct transfer *transfer)
{
    struct fetch *fetch = transfer->fetch;
    if (fetch->hosts != NULL) {
        curl_free(transfer->host);
        transfer->host = host_of(transfer->url);
        if (transfer->host != NULL && host_is_busy(fetch, transfer->host)) {
            transfer->is_waiting = true;
            transfer->waiting_us = clock_monotonic_us();
            return;
        }
    }
    hop_start(transfer);
}

/* Its deadline does not count the time for which it waited. */
static void end_waiting(struct transfer *transfer)
{
    int64_t waited_us = clock_monotonic_us() - transfer->waiting_us;
    int64_t until_us = transfer->until_us + waited_us;
    transfer->is_waiting = false;
    transfer->waited_us += waited_us;
    transfer->until_us = until_us < transfer->fetch->until_us ? until_us : transfer->fetch->until_us;
    hop_start(transfer);
}

/* ---- One address ---- */

static void report_answer(struct transfer *transfer)
{
    const struct fetch_config *config = transfer->fetch->config;
    int64_t now_us = clock_monotonic_us();
    int64_t waited_us = transfer->waited_us + (transfer->is_waiting ? now_us - transfer->waiting_us : 0);
    transfer->answer.status = transfer->status;
    transfer->answer.host = transfer->host;
    transfer->answer.redirects = transfer->redirects;
    transfer->answer.redirect_status = transfer->redirect_status;
    transfer->answer.took_ms = (now_us - transfer->started_us - waited_us) / US_PER_MS;
    config->arrived(config->context, transfer->index, &transfer->answer);
    curl_free(transfer->final_url);
    transfer->final_url = NULL;
    buf_done(&transfer->body); /* the body may have megabytes */
    curl_url_cleanup(transfer->url);
    transfer->url = NULL;
    curl_free(transfer->host);
    transfer->host = NULL;
    transfer->is_waiting = false;
}

/* Starts the next address in the slot. Refused addresses before it are reported at once. */
static void start_next(struct transfer *transfer)
{
    struct fetch *fetch = transfer->fetch;
    size_t index;
    int64_t now_us = clock_monotonic_us();
    /* A request that would end at once is not begun. */
    fetch->is_over |= fetch->until_us - now_us < LEAST_MS * US_PER_MS;
    while (!fetch->is_over && pick_next(fetch, &index)) {
        int64_t until_us = now_us + fetch->config->each_ms * US_PER_MS;
        transfer->index = index;
        transfer->redirects = 0;
        transfer->redirect_status = 0;
        transfer->status = 0;
        transfer->uses_get = false;
        transfer->started_us = now_us;
        transfer->waited_us = 0;
        transfer->until_us = until_us < fetch->until_us ? until_us : fetch->until_us;
        transfer->url = curl_url();
        if (transfer->url == NULL)
            panic(PANIC_NO_MEMORY);
        if (hop_set_target(transfer, fetch->urls[transfer->index])) {
            request_hop(transfer);
            return;
        }
        report_answer(transfer);
    }
}

/* Gives their turn to the hops and addresses that wait for a host. */
static void start_waiting(struct fetch *fetch)
{
    for (size_t i = 0; i < ARRAY_COUNT(fetch->slots) && fetch->hosts != NULL; i++) {
        struct transfer *transfer = &fetch->slots[i];
        if (transfer->is_waiting && (transfer->host == NULL || !host_is_busy(fetch, transfer->host)))
            end_waiting(transfer);
    }
    for (size_t i = 0; i < ARRAY_COUNT(fetch->slots) && fetch->hosts != NULL; i++)
        if (fetch->slots[i].curl != NULL && fetch->slots[i].url == NULL)
            start_next(&fetch->slots[i]);
}

static bool is_redirect(const struct transfer *transfer)
{
    long status = transfer->status;
    bool is_redirect_status = status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
    return transfer->was_stopped && is_redirect_status && transfer->location[0] != '\0';
}

static bool refuses_head(const struct transfer *transfer, CURLcode code)
{
    if (!transfer->fetch->config->asks_status || transfer->uses_get)
        return false;
    long status = transfer->status;
    bool is_refused = status == STATUS_FORBIDDEN || status == STATUS_NOT_ALLOWED || status == STATUS_NOT_IMPLEMENTED;
    return is_refused || (!transfer->was_stopped && code == CURLE_GOT_NOTHING);
}

/* Asks the caller about the address of the next hop; for a refusal the outcome is set. */
static bool may_follow(struct transfer *transfer)
{
    const struct fetch_config *config = transfer->fetch->config;
    char *url = NULL;
    if (config->may_follow == NULL)
        return true;
    if (curl_url_get(transfer->url, CURLUPART_URL, &url, 0) != CURLUE_OK)
        panic(PANIC_NO_MEMORY);
    bool is_allowed = config->may_follow(config->context, url);
    curl_free(url);
    if (!is_allowed)
        hop_set_failure(transfer, FETCH_CAUSE_ADDRESS, "it redirects to an address that is not requested");
    return is_allowed;
}

/* Whether the redirect leads on; else the outcome is set. */
static bool follow_redirect(struct transfer *transfer)
{
    if (transfer->redirects == transfer->fetch->config->max_redirects) {
        hop_set_failure(transfer, FETCH_CAUSE_REDIRECTS, "it redirects too often");
        return false;
    }
    if (transfer->redirects++ == 0)
        transfer->redirect_status = transfer->status;
    transfer->uses_get = false;
    return hop_set_target(transfer, transfer->location) && may_follow(transfer);
}

/* Whether the transfer needs another request; else its outcome is set. */
static bool needs_request(struct transfer *transfer, CURLcode code)
{
    if (is_redirect(transfer))
        return follow_redirect(transfer);
    if (refuses_head(transfer, code))
        return transfer->uses_get = true;
    if (!transfer->was_stopped)
        hop_set_outcome_of_code(transfer, code);
    else if (transfer->answer.outcome == FETCH_OK)
        hop_set_final_url(transfer);
    else if (transfer->answer.reason[0] == '\0')
        snprintf(transfer->answer.reason, sizeof(transfer->answer.reason), "its server answered %ld", transfer->status);
    return false;
}

/* Handles the end of a hop; a redirect starts another one. */
static void end_hop(struct transfer *transfer, CURLcode code)
{
    struct fetch *fetch = transfer->fetch;
    curl_multi_remove_handle(fetch->multi, transfer->curl);
    transfer->is_running = false;
    fetch->running--;
    if (needs_request(transfer, code)) {
        request_hop(transfer);
    } else {
        report_answer(transfer);
        start_next(transfer);
    }
    start_waiting(fetch);
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
        hop_set_outcome(transfer, FETCH_TOO_SLOW, "all of them together took too long");
        if (transfer->is_waiting)
            transfer->answer.cause = FETCH_CAUSE_NOT_ASKED;
        report_answer(transfer);
    }
    const struct fetch_answer late = {
        .outcome = FETCH_TOO_SLOW,
        .reason = "all of them together took too long",
        .cause = FETCH_CAUSE_NOT_ASKED,
    };
    for (; fetch->next < fetch->count; fetch->next++)
        if (!fetch->are_started[fetch->next])
            fetch->config->arrived(fetch->config->context, fetch->next, &late);
}

static void start_slots(struct fetch *fetch)
{
    unsigned parallel = fetch->config->max_parallel < FETCH_MAX_PARALLEL ? fetch->config->max_parallel : FETCH_MAX_PARALLEL;
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
        curl_free(fetch->slots[i].host);
        curl_easy_cleanup(fetch->slots[i].curl);
    }
    for (size_t i = 0; i < fetch->count && fetch->hosts != NULL; i++)
        curl_free(fetch->hosts[i]);
    free(fetch->hosts);
    free(fetch->are_started);
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
        .are_started = calloc(count + 1, sizeof(*fetch->are_started)),
        .until_us = clock_monotonic_us() + config->all_ms * US_PER_MS,
    };
    if (fetch->multi == NULL || fetch->are_started == NULL)
        panic(PANIC_NO_MEMORY);
    if (config->one_per_host)
        find_hosts(fetch);
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
