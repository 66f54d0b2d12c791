#include "smtp/event_loop.h"

#include "base/clock.h"
#include "base/panic.h"
#include "smtp/connect.h"
#include "smtp/session.h"
#include "smtp/watch.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { EVENTS_A_ROUND = 64, LONGEST_WAIT_MS = 60 * 1000, LOOK_AGAIN_MS = 20 };

/* ---- Creation ---- */

static void watch_wake(struct smtp_event_loop *loop)
{
    struct epoll_event event = { .events = EPOLLIN, .data.u64 = SMTP_WATCH_WAKE };
    loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    loop->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (loop->epoll_fd < 0 || loop->wake_fd < 0 || epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, loop->wake_fd, &event) < 0)
        panic(PANIC_NO_DESCRIPTOR);
}

struct smtp_event_loop *smtp_event_loop_new(struct smtp_relays *relays, int loop_count, const char *helo_name,
                                            const struct smtp_events *events)
{
    struct smtp_event_loop *loop = calloc(1, sizeof(*loop));
    if (relays->count == 0 || loop_count <= 0)
        panic("an event loop without relays");
    if (loop == NULL)
        panic(PANIC_NO_MEMORY);
    *loop = (struct smtp_event_loop){
        .relays = relays,
        .events = *events,
        .helo_name = strdup(helo_name),
        .earliest_us = INT64_MAX,
        .ask_us = INT64_MAX,
        .next_call = calloc(1, sizeof(*loop->next_call)),
    };
    for (size_t i = 0; i < relays->count; i++) {
        loop->shares[i] = (relays->items[i].settings.connections + loop_count - 1) / loop_count;
        loop->session_count += (uint32_t)loop->shares[i];
    }
    loop->sessions = calloc(loop->session_count, sizeof(*loop->sessions));
    if (loop->sessions == NULL || loop->helo_name == NULL || loop->next_call == NULL)
        panic(PANIC_NO_MEMORY);
    for (uint32_t i = 0; i < loop->session_count; i++)
        smtp_session_init(&loop->sessions[i], loop, i);
    watch_wake(loop);
    smtp_connect_init(loop);
    return loop;
}

void smtp_event_loop_free(struct smtp_event_loop *loop)
{
    if (loop == NULL)
        return;
    for (uint32_t i = 0; i < loop->session_count; i++) {
        if (loop->sessions[i].phase != SMTP_FREE)
            smtp_session_stop(&loop->sessions[i], true);
        smtp_session_done(&loop->sessions[i]);
    }
    smtp_connect_done(loop);
    close(loop->epoll_fd);
    close(loop->wake_fd);
    free(loop->sessions);
    free(loop->helo_name);
    free(loop->next_call);
    free(loop);
}

/* ---- For the sessions ---- */

void smtp_event_loop_set_deadline(struct smtp_session *session, int64_t after_ms)
{
    struct smtp_event_loop *loop = session->loop;
    session->deadline_us = loop->now_us + after_ms * US_PER_MS;
    if (session->deadline_us < loop->earliest_us)
        loop->earliest_us = session->deadline_us;
}

void smtp_event_loop_watch(struct smtp_session *session, bool writing)
{
    if (session->is_watched && session->watches_writing == writing)
        return;
    struct epoll_event event = { .events = EPOLLIN | (writing ? EPOLLOUT : 0U), .data.u64 = smtp_watch_session(session->index) };
    epoll_ctl(session->loop->epoll_fd, session->is_watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, session->fd, &event);
    session->is_watched = true;
    session->watches_writing = writing;
}

void smtp_event_loop_vacate(struct smtp_session *session)
{
    struct smtp_event_loop *loop = session->loop;
    if (session->is_idle)
        loop->idle_count--;
    session->is_idle = false;
    loop->busy_count--;
    loop->used[session->relay - loop->relays->items]--;
    smtp_relay_close(session->relay);
}

/* Turns the reservation of smtp_event_loop_has_room into the count of the message, or reverses it. */
static void commit_reservation(struct smtp_event_loop *loop, struct smtp_relay *relay, const struct smtp_message *message)
{
    struct smtp_next_call *next_call = loop->next_call;
    const char *at = message != NULL ? strrchr(message->rcpt_to, '@') : NULL;
    uint64_t key = at != NULL ? smtp_destination_key(relay, at + 1, strlen(at + 1)) : 0;
    if (key != next_call->reserved) {
        smtp_destination_add(relay, key);
        smtp_destination_end(relay, next_call->reserved);
    }
    next_call->reserved = 0;
}

bool smtp_event_loop_next(struct smtp_event_loop *loop, struct smtp_relay *relay, struct smtp_message *ret_message)
{
    if (loop->is_queue_empty || loop->is_stopping)
        return false;
    *loop->next_call = (struct smtp_next_call){ .relay = relay };
    bool given = loop->events.next(loop->events.context, ret_message);
    commit_reservation(loop, relay, given ? ret_message : NULL);
    loop->next_call->relay = NULL;
    if (given)
        return true;
    loop->is_queue_empty = true;
    if (loop->next_call->was_at_bound)
        loop->ask_us = loop->now_us + LOOK_AGAIN_MS * US_PER_MS;
    return false;
}

bool smtp_event_loop_has_room(const struct smtp_event_loop *loop, const char *domain)
{
    struct smtp_next_call *next_call = loop->next_call;
    if (next_call->relay == NULL)
        return true;
    uint64_t key = smtp_destination_key(next_call->relay, domain, strlen(domain));
    if (key != 0 && key == next_call->reserved)
        return true;
    smtp_destination_end(next_call->relay, next_call->reserved);
    bool has_room = smtp_destination_take(next_call->relay, key);
    next_call->reserved = has_room ? key : 0;
    next_call->was_at_bound = next_call->was_at_bound || !has_room;
    return has_room;
}

void smtp_event_loop_settle(struct smtp_session *session, struct smtp_transaction *transaction)
{
    const struct smtp_events *events = &session->loop->events;
    transaction->outcome.relay = session->relay->settings.name;
    smtp_destination_end(session->relay, transaction->destination);
    events->done(events->context, transaction->tag, &transaction->outcome);
    smtp_transaction_clear(transaction);
}

/* ---- Assigning messages to sessions ---- */

static struct smtp_session *find_free_session(struct smtp_event_loop *loop)
{
    for (uint32_t i = 0; i < loop->session_count; i++)
        if (loop->sessions[i].phase == SMTP_FREE)
            return &loop->sessions[i];
    return NULL;
}

/* There may be messages, but the relay could not take one: it is asked again later. */
static void ask_later(struct smtp_event_loop *loop, struct smtp_relay *relay)
{
    loop->relay_ask_us[relay - loop->relays->items] = smtp_relay_ready_us(relay);
}

static bool may_ask(const struct smtp_event_loop *loop, const struct smtp_relay *relay)
{
    return loop->now_us >= loop->relay_ask_us[relay - loop->relays->items];
}

static void offer_to_idle(struct smtp_event_loop *loop)
{
    for (uint32_t i = 0; i < loop->session_count && loop->idle_count > 0 && !loop->is_queue_empty; i++) {
        struct smtp_session *session = &loop->sessions[i];
        if (!session->is_idle || !may_ask(loop, session->relay))
            continue;
        smtp_session_offer(session);
        if (session->is_idle && !loop->is_queue_empty)
            ask_later(loop, session->relay);
    }
}

/* Opens one session with the relay, if there is a message for it. */
static bool open_one(struct smtp_event_loop *loop, size_t index)
{
    struct smtp_relay *relay = &loop->relays->items[index];
    if (loop->used[index] >= loop->shares[index] || !may_ask(loop, relay))
        return false;
    struct smtp_session *session = find_free_session(loop);
    if (session == NULL || !smtp_relay_open(relay)) {
        ask_later(loop, relay);
        return false;
    }
    if (!smtp_session_start(session, relay)) {
        smtp_relay_close(relay);
        if (!loop->is_queue_empty)
            ask_later(loop, relay);
        return false;
    }
    loop->used[index]++;
    loop->busy_count++;
    return true;
}

static void open_more(struct smtp_event_loop *loop)
{
    size_t count = loop->relays->count;
    bool opened = true;
    while (opened && !loop->is_queue_empty) {
        opened = false;
        for (size_t i = 0; i < count && !loop->is_queue_empty; i++)
            opened |= open_one(loop, (loop->first_relay + i) % count);
        loop->first_relay = (loop->first_relay + 1) % count;
    }
}

static void assign_work(struct smtp_event_loop *loop)
{
    bool is_time = loop->now_us >= loop->ask_us;
    if (is_time) {
        loop->ask_us = INT64_MAX;
        loop->is_queue_empty = false;
    }
    if (loop->is_queue_empty || loop->is_stopping)
        return;
    offer_to_idle(loop);
    open_more(loop);
}

/* ---- A round ---- */

static void on_wake(struct smtp_event_loop *loop)
{
    uint64_t count;
    ssize_t size = read(loop->wake_fd, &count, sizeof(count));
    (void)size; /* an empty counter needs no action */
    atomic_store(&loop->is_woken, false);
    loop->is_queue_empty = false;
    loop->ask_us = INT64_MAX;
}

static void on_event(struct smtp_event_loop *loop, const struct epoll_event *event)
{
    uint32_t low = (uint32_t)event->data.u64;
    switch ((enum smtp_watch)(event->data.u64 >> 32)) {
    case SMTP_WATCH_WAKE:
        on_wake(loop);
        return;
    case SMTP_WATCH_CURL:
        smtp_connect_socket_ready(loop, (int)low, event->events);
        return;
    case SMTP_WATCH_SESSION:
        smtp_session_ready(&loop->sessions[low], (event->events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0);
        return;
    }
}

static int64_t smaller_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Handles overdue sessions and finds the next deadline. */
static void check_deadlines(struct smtp_event_loop *loop)
{
    if (loop->now_us < loop->earliest_us)
        return;
    for (uint32_t i = 0; i < loop->session_count; i++)
        if (loop->sessions[i].phase != SMTP_FREE && loop->now_us >= loop->sessions[i].deadline_us)
            smtp_session_overdue(&loop->sessions[i]);
    loop->earliest_us = INT64_MAX;
    for (uint32_t i = 0; i < loop->session_count; i++)
        if (loop->sessions[i].phase != SMTP_FREE)
            loop->earliest_us = smaller_of(loop->earliest_us, loop->sessions[i].deadline_us);
}

static void stop_sessions(struct smtp_event_loop *loop, bool now)
{
    for (uint32_t i = 0; i < loop->session_count; i++)
        if (loop->sessions[i].phase != SMTP_FREE)
            smtp_session_stop(&loop->sessions[i], now);
}

static int epoll_timeout_ms(const struct smtp_event_loop *loop, int64_t stop_at_us)
{
    int64_t until_us = smaller_of(smaller_of(loop->earliest_us, loop->curl_due_us), smaller_of(loop->ask_us, stop_at_us));
    for (size_t i = 0; i < loop->relays->count && !loop->is_queue_empty; i++)
        if (loop->relay_ask_us[i] > loop->now_us)
            until_us = smaller_of(until_us, loop->relay_ask_us[i]);
    int64_t left_us = until_us == INT64_MAX ? INT64_MAX : until_us - loop->now_us;
    if (left_us <= 0)
        return 0;
    int64_t ms = left_us / US_PER_MS + 1;
    return (int)smaller_of(ms, LONGEST_WAIT_MS);
}

static void loop_run_round(struct smtp_event_loop *loop, int64_t stop_at_us)
{
    struct epoll_event events[EVENTS_A_ROUND];
    int count = epoll_wait(loop->epoll_fd, events, EVENTS_A_ROUND, epoll_timeout_ms(loop, stop_at_us));
    loop->now_us = clock_monotonic_us();
    for (int i = 0; i < count; i++)
        on_event(loop, &events[i]);
    if (loop->now_us >= loop->curl_due_us)
        smtp_connect_time_passed(loop);
    check_deadlines(loop);
    assign_work(loop);
}

/* A relay that closes the connection during a TLS write must not end the process by SIGPIPE. */
static void block_pipe_signal(sigset_t *ret_before)
{
    sigset_t pipe_signal;
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_signal, ret_before);
}

/* Consumes a pending SIGPIPE before it is unblocked. */
static void unblock_pipe_signal(const sigset_t *before)
{
    sigset_t pipe_signal;
    const struct timespec at_once = { .tv_sec = 0 };
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    if (!sigismember(before, SIGPIPE))
        sigtimedwait(&pipe_signal, NULL, &at_once);
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

void smtp_event_loop_run(struct smtp_event_loop *loop, int stop_ms)
{
    int64_t stop_at_us = INT64_MAX;
    sigset_t before;
    block_pipe_signal(&before);
    loop->now_us = clock_monotonic_us();
    assign_work(loop);
    while (!loop->is_stopping || (loop->busy_count > 0 && loop->now_us < stop_at_us)) {
        loop_run_round(loop, stop_at_us);
        if (!loop->is_stopping && atomic_load(&loop->must_stop)) {
            loop->is_stopping = true;
            stop_at_us = loop->now_us + stop_ms * US_PER_MS;
            stop_sessions(loop, false);
        }
    }
    stop_sessions(loop, true);
    unblock_pipe_signal(&before);
}

/* ---- From any thread ---- */

static void write_wake_fd(struct smtp_event_loop *loop)
{
    static const uint64_t one = 1;
    ssize_t size = write(loop->wake_fd, &one, sizeof(one));
    (void)size; /* fails only if a wake-up is already pending */
}

void smtp_event_loop_wake(struct smtp_event_loop *loop)
{
    if (!atomic_exchange(&loop->is_woken, true))
        write_wake_fd(loop);
}

void smtp_event_loop_stop(struct smtp_event_loop *loop)
{
    atomic_store(&loop->must_stop, true);
    write_wake_fd(loop);
}
