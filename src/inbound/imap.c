#include "inbound/imap.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/panic.h"
#include "db/cluster.h"
#include "db/db.h"
#include "engine/reports/mailboxes.h"
#include "inbound/receive.h"
#include "mail/mime_reader.h"
#include "net/imap_client.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    COMMAND_TIMEOUT_S = 60,
    SILENCE_S = 20,     /* of a server, which ends a command */
    POLL_MAX_S = 30,    /* no further message is fetched in a poll: one thread polls all mailboxes */
    STORED_EVERY_S = 2, /* how often stored mailboxes are looked for */
    ANSWER_MAX_BYTES = 256 * 1024,
};

static_assert(POLL_MAX_S + 2 * COMMAND_TIMEOUT_S < MAILBOX_LEASE_S, "a claim outlasts the poll");

struct mailbox_source {
    struct imap_address address;
    int64_t due_us;   /* monotonic */
    int64_t pause_us; /* after the last poll, which failed; 0: it did not */
};

struct imap_poller {
    struct api *api;
    struct mailbox_source sources[IMAP_MAX_MAILBOXES];
    size_t count;
    const char *cluster_dir;
    struct db_conn *conn; /* of the thread, for stored mailboxes; NULL: not connected */
    bool has_failed;      /* the failure of the connection is logged */
    int64_t stored_due_us;
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

static void log_failure(const char *event, const struct error *err)
{
    struct log_line line;
    log_begin(&line, LOG_WARNING, event);
    log_error_members(&line, err);
    log_end(&line);
}

/* ---- One command ---- */

static bool has_stopped(void *context)
{
    return must_stop(context);
}

/* As imap_client_run; the log gets the reason of a failure. */
static const char *run_command(struct imap_client *client, const char *path, const char *command, struct buf *out)
{
    const char *problem = imap_client_run(client, path, command, out);
    if (problem != NULL && !imap_client_was_stopped(client))
        log_event(LOG_WARNING, "imap.failed", "%s: %s", imap_client_address(client)->url, problem);
    return problem;
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
        log_failure("imap.message", &err);
    return is_recorded || err.code == ERR_INVALID_REQUEST || err.code == ERR_PAYLOAD_TOO_LARGE;
}

/* `ret_problem` is set when the message cannot be taken. */
static bool take_message(struct imap_client *client, struct imap_poller *poller, int64_t uid, struct buf *answer,
                         const char **ret_problem)
{
    BUF_SCOPE message;
    char path[48];
    char store[80];
    const char *flag;
    buf_init(&message, MIME_MESSAGE_MAX_BYTES + 1);
    snprintf(path, sizeof(path), "/;UID=%lld", (long long)uid);
    *ret_problem = run_command(client, path, NULL, &message);
    if (*ret_problem == NULL && !record(poller, &message, &flag)) {
        *ret_problem = "A message could not be recorded.";
        return false;
    }
    if (*ret_problem == NULL) {
        snprintf(store, sizeof(store), "UID STORE %lld +FLAGS.SILENT (%s)", (long long)uid, flag);
        *ret_problem = run_command(client, "", store, answer);
    }
    return *ret_problem == NULL;
}

/* Returns why the poll failed; NULL when it did not. */
static const char *poll_mailbox(struct imap_client *client, struct imap_poller *poller, const struct imap_address *address)
{
    BUF_SCOPE answer;
    int64_t uids[IMAP_MESSAGES_A_ROUND];
    char search[80];
    size_t taken = 0;
    int64_t until_us = clock_monotonic_us() + POLL_MAX_S * US_PER_S;
    buf_init(&answer, ANSWER_MAX_BYTES);
    snprintf(search, sizeof(search), "UID SEARCH UNDELETED UNFLAGGED SMALLER %d", MIME_MESSAGE_MAX_BYTES + 1);
    imap_client_use(client, address, COMMAND_TIMEOUT_S * 1000);
    imap_client_set_silence(client, SILENCE_S);
    const char *problem = run_command(client, "", search, &answer); /* the messages that are neither recorded nor refused */
    if (problem != NULL)
        return problem;
    size_t count = imap_read_uids(buf_text(&answer), uids, IMAP_MESSAGES_A_ROUND);
    while (taken < count && clock_monotonic_us() < until_us && !must_stop(poller) &&
           take_message(client, poller, uids[taken], &answer, &problem))
        taken++;
    const char *left = taken > 0 ? run_command(client, "", "EXPUNGE", &answer) : NULL;
    return problem != NULL ? problem : left;
}

/* ---- Stored mailboxes ---- */

/* A stopped cluster is left alone: a connection would start it again. */
static bool has_database(const struct imap_poller *poller)
{
    return poller->cluster_dir == NULL || cluster_has_runner(poller->cluster_dir);
}

static bool begin_work(struct imap_poller *poller, struct arena *arena, struct work *ret_work, struct error *err)
{
    struct installation *installation = api_installation(poller->api);
    if (poller->conn == NULL && !installation_connect(installation, &poller->conn, err))
        return false;
    *ret_work = (struct work){
        .conn = poller->conn,
        .engine = installation_engine(installation),
        .arena = arena,
        .now_us = clock_now_us(),
    };
    return true;
}

/* Polls a claimed mailbox, and notes what came of it. */
static bool poll_claimed(struct imap_client *client, struct imap_poller *poller, const struct work *work,
                         const struct mailbox_claim *claim, struct error *err)
{
    ARENA_SCOPE secrets = arena_new(0);
    struct error sealed = { .code = ERR_NONE };
    struct imap_address address;
    const char *password;
    const char *problem = "The address cannot be read.";
    if (imap_address_read(claim->address, &address)) {
        if (mailbox_password(work, secrets, claim, &password, &sealed)) {
            address.password = strdup(password);
            if (address.password == NULL)
                panic(PANIC_NO_MEMORY);
            problem = poll_mailbox(client, poller, &address);
        } else {
            problem = arena_dup(work->arena, sealed.message);
        }
    }
    int64_t every_us = address.every_us;
    imap_address_done(&address);
    return mailbox_polled(work, claim->id, problem, every_us, err);
}

/* Polls the mailbox that is due for the longest time. `ret_polled` is false when none is due. */
static bool poll_next_stored(struct imap_client *client, struct imap_poller *poller, bool *ret_polled, struct error *err)
{
    ARENA_SCOPE arena = arena_new(0);
    struct work work;
    struct mailbox_claim *claim = NULL;
    if (!begin_work(poller, arena, &work, err) || !mailbox_claim(&work, &claim, err))
        return false;
    *ret_polled = claim != NULL;
    return claim == NULL || poll_claimed(client, poller, &work, claim, err);
}

/* Polls one of them, so that the mailboxes of the option have their turns. */
static void poll_stored(struct imap_client *client, struct imap_poller *poller)
{
    struct error err = { .code = ERR_NONE };
    bool has_polled = false;
    bool ok = !has_database(poller) || poll_next_stored(client, poller, &has_polled, &err);
    poller->stored_due_us = clock_monotonic_us() + (has_polled && ok ? 0 : STORED_EVERY_S * US_PER_S);
    if (!ok) {
        if (!poller->has_failed)
            log_failure("imap.database", &err);
        db_disconnect(poller->conn);
        poller->conn = NULL;
    }
    poller->has_failed = !ok;
}

/* ---- The thread ---- */

/* Waits until a time; false when the poller stops. */
static bool wait_until(struct imap_poller *poller, int64_t due_us)
{
    int64_t wait_us = due_us - clock_monotonic_us();
    struct timespec until = clock_deadline(wait_us > 0 ? (int)(wait_us / US_PER_MS) + 1 : 0);
    pthread_mutex_lock(&poller->lock);
    while (!poller->is_stopping && pthread_cond_clockwait(&poller->stop_wanted, &poller->lock, CLOCK_MONOTONIC, &until) == 0)
        continue;
    bool is_stopping = poller->is_stopping;
    pthread_mutex_unlock(&poller->lock);
    return !is_stopping;
}

/* The mailbox of the option that is due next; NULL: the stored ones are due before it. */
static struct mailbox_source *next_source(struct imap_poller *poller)
{
    struct mailbox_source *next = NULL;
    int64_t due_us = poller->stored_due_us;
    for (size_t i = 0; i < poller->count; i++)
        if (poller->sources[i].due_us < due_us) {
            next = &poller->sources[i];
            due_us = next->due_us;
        }
    return next;
}

/* The pause after a poll doubles while polls fail, as that of a stored mailbox does. */
static int64_t pause_after(struct mailbox_source *source, bool has_failed)
{
    int64_t every_us = source->address.every_us;
    int64_t longest_us = MAILBOX_PAUSE_MAX_S * US_PER_S;
    int64_t doubled_us = 2 * source->pause_us < longest_us ? 2 * source->pause_us : longest_us;
    int64_t pause_us = has_failed && doubled_us > every_us ? doubled_us : every_us;
    source->pause_us = has_failed ? pause_us : 0;
    return pause_us;
}

static void *poller_run(void *argument)
{
    struct imap_poller *poller = argument;
    struct imap_client *client = imap_client_new(has_stopped, poller);
    while (true) {
        struct mailbox_source *source = next_source(poller);
        if (!wait_until(poller, source != NULL ? source->due_us : poller->stored_due_us))
            break;
        if (source != NULL) {
            bool has_failed = poll_mailbox(client, poller, &source->address) != NULL;
            source->due_us = clock_monotonic_us() + pause_after(source, has_failed);
        } else {
            poll_stored(client, poller);
        }
    }
    imap_client_free(client);
    db_disconnect(poller->conn);
    return NULL;
}

static void free_poller(struct imap_poller *poller)
{
    for (size_t i = 0; i < poller->count; i++)
        imap_address_done(&poller->sources[i].address);
    pthread_mutex_destroy(&poller->lock);
    pthread_cond_destroy(&poller->stop_wanted);
    free(poller);
}

static bool read_source(const char *text, struct mailbox_source *source)
{
    return imap_address_read(text, &source->address) && source->address.has_folder && source->address.password != NULL;
}

static bool read_sources(struct imap_poller *poller, const char *const *urls, struct error *err)
{
    for (size_t i = 0; urls != NULL && urls[i] != NULL; i++) {
        bool has_room = i < IMAP_MAX_MAILBOXES;
        poller->count += has_room;
        if (!has_room || !read_source(urls[i], &poller->sources[i]))
            return fail(err, ERR_INVALID_REQUEST, "--imap",
                        "--imap: address %zu is not of the form imaps://user:password@host/MAILBOX?every=60; there may be %d.",
                        i + 1, IMAP_MAX_MAILBOXES);
    }
    return urls == NULL || poller->count > 0 || fail(err, ERR_INVALID_REQUEST, "--imap", "--imap names no mailbox.");
}

bool imap_poller_start(struct api *api, const struct imap_config *config, struct imap_poller **ret_poller, struct error *err)
{
    struct imap_poller *poller = calloc(1, sizeof(*poller));
    if (poller == NULL)
        panic(PANIC_NO_MEMORY);
    poller->api = api;
    poller->cluster_dir = config->cluster_dir;
    pthread_mutex_init(&poller->lock, NULL);
    pthread_cond_init(&poller->stop_wanted, NULL);
    if (!read_sources(poller, config->urls, err)) {
        free_poller(poller);
        return false;
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
