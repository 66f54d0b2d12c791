#include "inbound/imap.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/panic.h"
#include "base/text.h"
#include "inbound/receive.h"
#include "mail/mime_reader.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COMMAND_TIMEOUT_S = 120, CONNECT_TIMEOUT_S = 20, ANSWER_MAX_BYTES = 256 * 1024, EVERY_MAX_S = 86400 };

struct mailbox_source {
    char *url; /* without credentials and parameters */
    char *user;
    char *password;
    bool is_plain;
    int64_t every_us;
    int64_t due_us; /* monotonic */
};

struct imap_poller {
    struct api *api;
    struct mailbox_source sources[IMAP_MAX_MAILBOXES];
    size_t count;
    pthread_mutex_t lock;
    pthread_cond_t stop_wanted;
    bool is_stopping; /* under the lock */
    pthread_t thread;
};

static bool must_stop(struct imap_poller *poller)
{
    pthread_mutex_lock(&poller->lock);
    bool is_stopping = poller->is_stopping;
    pthread_mutex_unlock(&poller->lock);
    return is_stopping;
}

/* ---- Addresses ---- */

static void free_url(CURLU **url)
{
    curl_url_cleanup(*url);
}

/* A copy of a part for free(); NULL when there is none. */
static char *url_part(CURLU *url, CURLUPart part, unsigned flags)
{
    char *text = NULL;
    if (curl_url_get(url, part, &text, flags) != CURLUE_OK)
        return NULL;
    char *copy = strdup(text);
    curl_free(text);
    if (copy == NULL)
        panic(PANIC_NO_MEMORY);
    return copy;
}

static bool read_parameters(const char *query, struct mailbox_source *source)
{
    while (query != NULL && *query != '\0') {
        size_t size = strcspn(query, "&");
        char word[32] = "";
        int64_t seconds;
        if (size >= sizeof(word))
            return false;
        memcpy(word, query, size);
        if (strcmp(word, "tls=none") == 0)
            source->is_plain = true;
        else if (text_starts_with(word, "every=") && int64_parse(word + 6, &seconds) && seconds >= 1 && seconds <= EVERY_MAX_S)
            source->every_us = seconds * US_PER_S;
        else
            return false;
        query += size + (query[size] == '&');
    }
    return true;
}

static bool read_source(const char *text, struct mailbox_source *source)
{
    CLEANUP(free_url) CURLU *url = curl_url();
    if (url == NULL)
        panic(PANIC_NO_MEMORY);
    bool has_scheme = text_starts_with(text, "imap://") || text_starts_with(text, "imaps://");
    if (!has_scheme || curl_url_set(url, CURLUPART_URL, text, 0) != CURLUE_OK)
        return false;
    source->every_us = IMAP_EVERY_S * US_PER_S;
    source->user = url_part(url, CURLUPART_USER, CURLU_URLDECODE);
    source->password = url_part(url, CURLUPART_PASSWORD, CURLU_URLDECODE);
    char *query = url_part(url, CURLUPART_QUERY, 0);
    char *path = url_part(url, CURLUPART_PATH, 0);
    bool is_read =
        source->user != NULL && source->password != NULL && path != NULL && strlen(path) > 1 && read_parameters(query, source);
    free(query);
    free(path);
    static const CURLUPart removed[] = { CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_QUERY, CURLUPART_FRAGMENT };
    for (size_t i = 0; i < ARRAY_COUNT(removed); i++)
        (void)curl_url_set(url, removed[i], NULL, 0);
    source->url = url_part(url, CURLUPART_URL, 0);
    return is_read && source->url != NULL;
}

/* ---- One command ---- */

static size_t add_bytes(char *bytes, size_t size, size_t count, void *context)
{
    struct buf *out = context;
    buf_add(out, bytes, size * count);
    return out->overflowed ? 0 : size * count;
}

static int check_stop(void *context, curl_off_t down_total, curl_off_t down, curl_off_t up_total, curl_off_t up)
{
    (void)down_total;
    (void)down;
    (void)up_total;
    (void)up;
    return must_stop(context);
}

/* `path` follows the address of the mailbox; `command` replaces the fetch, NULL: none. */
static bool run_command(CURL *curl, const struct mailbox_source *source, const char *path, const char *command, struct buf *out)
{
    BUF_SCOPE url;
    buf_init(&url, 4096);
    buf_printf(&url, "%s%s", source->url, path);
    buf_clear(out);
    curl_easy_setopt(curl, CURLOPT_URL, buf_text(&url));
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, command);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, out);
    CURLcode code = curl_easy_perform(curl);
    if (code == CURLE_OK)
        return true;
    if (code != CURLE_ABORTED_BY_CALLBACK)
        log_event(LOG_WARNING, "imap.failed", "%s: %s", source->url, curl_easy_strerror(code));
    return false;
}

static void prepare(CURL *curl, struct imap_poller *poller, const struct mailbox_source *source)
{
    curl_easy_reset(curl);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "imap,imaps");
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_USERNAME, source->user);
    curl_easy_setopt(curl, CURLOPT_PASSWORD, source->password);
    curl_easy_setopt(curl, CURLOPT_USE_SSL, source->is_plain ? (long)CURLUSESSL_NONE : (long)CURLUSESSL_ALL);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_TIMEOUT_S);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, (long)COMMAND_TIMEOUT_S);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, add_bytes);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, check_stop);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, poller);
}

/* ---- One mailbox ---- */

/* Records a fetched message. `ret_flag` is what it is marked with; false: it is fetched again later. */
static bool record(struct imap_poller *poller, const struct buf *message, const char **ret_flag)
{
    ARENA_SCOPE arena = arena_new(0);
    struct error err = { .code = ERR_NONE };
    const char *ignored;
    const struct inbound_mail mail = { .message = { (const unsigned char *)buf_text(message), message->size }, .source = "imap" };
    bool is_recorded = inbound_receive(poller->api, arena, &mail, &ignored, &err);
    *ret_flag = is_recorded ? "\\Deleted" : "\\Flagged";
    if (!is_recorded)
        log_event(LOG_WARNING, "imap.message", "A message could not be recorded: %s", err.message);
    return is_recorded || err.code == ERR_INVALID_REQUEST || err.code == ERR_PAYLOAD_TOO_LARGE;
}

static bool take_message(CURL *curl, struct imap_poller *poller, const struct mailbox_source *source, int64_t uid,
                         struct buf *answer)
{
    BUF_SCOPE message;
    char path[48];
    char store[80];
    const char *flag;
    buf_init(&message, MIME_MESSAGE_MAX_BYTES + 1);
    snprintf(path, sizeof(path), "/;UID=%lld", (long long)uid);
    if (!run_command(curl, source, path, NULL, &message) || !record(poller, &message, &flag))
        return false;
    snprintf(store, sizeof(store), "UID STORE %lld +FLAGS.SILENT (%s)", (long long)uid, flag);
    return run_command(curl, source, "", store, answer);
}

/* The messages that are neither recorded nor refused, as in "* SEARCH 4 7". */
static size_t read_uids(const struct buf *answer, int64_t ret_uids[IMAP_MESSAGES_A_ROUND])
{
    static const char prefix[] = "* SEARCH";
    const char *at = strstr(buf_text(answer), prefix);
    size_t count = 0;
    at = at != NULL ? at + strlen(prefix) : "";
    while (*at == ' ' && count < IMAP_MESSAGES_A_ROUND) {
        char *end;
        ret_uids[count] = strtoll(at, &end, 10);
        if (end == at || ret_uids[count] <= 0)
            break;
        count++;
        at = end;
    }
    return count;
}

static void poll_mailbox(CURL *curl, struct imap_poller *poller, const struct mailbox_source *source)
{
    BUF_SCOPE answer;
    int64_t uids[IMAP_MESSAGES_A_ROUND];
    char search[80];
    size_t taken = 0;
    buf_init(&answer, ANSWER_MAX_BYTES);
    snprintf(search, sizeof(search), "UID SEARCH UNDELETED UNFLAGGED SMALLER %d", MIME_MESSAGE_MAX_BYTES + 1);
    prepare(curl, poller, source);
    if (!run_command(curl, source, "", search, &answer))
        return;
    size_t count = read_uids(&answer, uids);
    while (taken < count && !must_stop(poller) && take_message(curl, poller, source, uids[taken], &answer))
        taken++;
    if (taken > 0)
        (void)run_command(curl, source, "", "EXPUNGE", &answer);
}

/* ---- The thread ---- */

/* Waits until a mailbox is due; NULL when the poller stops. */
static struct mailbox_source *wait_for_mailbox(struct imap_poller *poller)
{
    struct mailbox_source *next = &poller->sources[0];
    for (size_t i = 1; i < poller->count; i++)
        if (poller->sources[i].due_us < next->due_us)
            next = &poller->sources[i];
    int64_t wait_us = next->due_us - clock_monotonic_us();
    struct timespec until = clock_deadline(wait_us > 0 ? (int)(wait_us / US_PER_MS) + 1 : 0);
    pthread_mutex_lock(&poller->lock);
    while (!poller->is_stopping && pthread_cond_clockwait(&poller->stop_wanted, &poller->lock, CLOCK_MONOTONIC, &until) == 0)
        continue;
    bool is_stopping = poller->is_stopping;
    pthread_mutex_unlock(&poller->lock);
    return is_stopping ? NULL : next;
}

static void *poller_run(void *argument)
{
    struct imap_poller *poller = argument;
    struct mailbox_source *source;
    CURL *curl = curl_easy_init();
    if (curl == NULL)
        panic(PANIC_NO_MEMORY);
    while ((source = wait_for_mailbox(poller)) != NULL) {
        poll_mailbox(curl, poller, source);
        source->due_us = clock_monotonic_us() + source->every_us;
    }
    curl_easy_cleanup(curl);
    return NULL;
}

static void free_poller(struct imap_poller *poller)
{
    for (size_t i = 0; i < poller->count; i++) {
        free(poller->sources[i].url);
        free(poller->sources[i].user);
        free(poller->sources[i].password);
    }
    pthread_mutex_destroy(&poller->lock);
    pthread_cond_destroy(&poller->stop_wanted);
    free(poller);
}

bool imap_poller_start(struct api *api, const char *const *urls, struct imap_poller **ret_poller, struct error *err)
{
    struct imap_poller *poller = calloc(1, sizeof(*poller));
    if (poller == NULL)
        panic(PANIC_NO_MEMORY);
    poller->api = api;
    pthread_mutex_init(&poller->lock, NULL);
    pthread_cond_init(&poller->stop_wanted, NULL);
    for (; urls[poller->count] != NULL; poller->count++) {
        if (poller->count < IMAP_MAX_MAILBOXES && read_source(urls[poller->count], &poller->sources[poller->count]))
            continue;
        size_t number = poller->count + 1;
        poller->count += poller->count < IMAP_MAX_MAILBOXES;
        free_poller(poller);
        return fail(err, ERR_INVALID_REQUEST, "--imap",
                    "--imap: address %zu is not of the form imaps://user:password@host/MAILBOX?every=60; there may be %d.", number,
                    IMAP_MAX_MAILBOXES);
    }
    if (poller->count == 0) {
        free_poller(poller);
        return fail(err, ERR_INVALID_REQUEST, "--imap", "--imap names no mailbox.");
    }
    if (pthread_create(&poller->thread, NULL, poller_run, poller) != 0)
        panic(PANIC_NO_THREAD);
    *ret_poller = poller;
    return true;
}

void imap_poller_stop(struct imap_poller *poller)
{
    if (poller == NULL)
        return;
    pthread_mutex_lock(&poller->lock);
    poller->is_stopping = true;
    pthread_cond_signal(&poller->stop_wanted);
    pthread_mutex_unlock(&poller->lock);
    pthread_join(poller->thread, NULL);
    free_poller(poller);
}
