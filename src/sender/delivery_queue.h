/*
 * The line: what is under way in a sender, shared by its threads. Everything
 * here is under the sender's mutex, except what a attempt's present owner does to
 * it: a attempt that is in hand belongs to the thread that took it.
 */
#pragma once

#include "base/clock.h"
#include "sender/journal.h"
#include "sender/sender.h"

#include <pthread.h>

enum {
    QUEUE_BATCHES_WAITING_MAX = 4, /* of each way, with somebody who waits */
    QUEUE_BATCHES_DECIDED_MAX = 8, /* done, and waiting for the writer: more would be memory without bound */
    QUEUE_DEFERRED_SENDS_MAX = 64,
};

/* Leases last DELIVERY_LEASE_S; who could not renew them for so long hands nothing over, as another process may soon. */
#define LEASE_UNRENEWED_MAX_US (INT64_C(40) * US_PER_S)

/* The ways out. */
enum route { ROUTE_CAPTURE, ROUTE_RELAY };

enum attempt_state { ATTEMPT_WAITING, ATTEMPT_IN_PROGRESS, ATTEMPT_DECIDED };

/* One recipient under way. */
struct attempt {
    struct piece *piece;
    enum attempt_state state;
    uint8_t losses;   /* sessions that were lost with it before its end */
    bool is_dot_out;  /* the journal says that its final dot may have left */
    bool is_withheld; /* it was held back before its dot, by no fault of a relay */
    struct journal_key key;
};

/* A batch in the line, or a letter: then it has one attempt and no batch. */
struct piece {
    struct piece *next;
    struct arena *arena; /* holds all of it; results' texts too, so only the holder of the mutex writes there */
    int64_t serial;      /* unique in the process, from 1 */
    enum route route;
    struct delivery_batch batch;
    struct dkim_key_list keys;
    struct attempt *attempts;
    size_t count;
    size_t first_waiting; /* none waits before it */
    size_t waiting;
    size_t in_progress;
    size_t unwritten;      /* decided, not written yet */
    int64_t decided_at_us; /* monotonic: since when something is unwritten */
    int64_t journal_file;  /* the first that can name its messages */
    bool is_lost;          /* another process has taken it: what waits is dropped */
    bool is_being_written;

    const struct single_message *letter;
    struct smtp_outcome outcome; /* of the letter */
    bool is_letter_done;
    bool is_orphan; /* a letter whose caller has gone; whoever ends it frees it */
};

struct sender {
    struct sender_config config;
    struct engine *engine;
    struct journal_place place;
    struct journal *journal;

    pthread_mutex_t mutex;
    pthread_cond_t room;       /* for the refill: the line is short, or there is news */
    pthread_cond_t decided;    /* for the writer, and whoever waits for a letter */
    pthread_cond_t work;       /* for the outbox hand */
    struct piece *queue;       /* oldest first */
    bool is_stopping;          /* nothing new is taken or handed over */
    bool workers_ended;        /* all hands have ended */
    bool has_dropped_leases;   /* a lost piece left the line with somebody waiting: what is still leased goes back */
    bool is_released;          /* at the end: everything is settled and given back */
    int64_t leases_renewed_us; /* monotonic: when the leases were renewed last */
    int64_t journal_broken_until_us;
    struct {
        int64_t send_id;
        int64_t until_us; /* monotonic */
    } deferred_sends[QUEUE_DEFERRED_SENDS_MAX];

    struct delivery_worker *workers; /* hands.c */
    int worker_count;
    pthread_t refill_thread;
    pthread_t result_writer_thread;
    pthread_t capture_worker_thread;
};

/* ---- line.c; all with the mutex held ---- */

/* A piece of nothing yet, with an arena of its own. */
struct piece *piece_new(enum route route) RETURNS_NONNULL;

/* Puts a fetched batch at the end of the line. */
void queue_add(struct sender *sender, struct piece *piece) NONNULL(1, 2);
void queue_add_first(struct sender *sender, struct piece *piece) NONNULL(1, 2);
void queue_remove(struct sender *sender, struct piece *piece) NONNULL(1, 2);

/* Behind all others. */
void queue_move_last(struct sender *sender, struct piece *piece) NONNULL(1, 2);

/* How many pieces of this way have somebody waiting. */
size_t queue_waiting_batches(const struct sender *sender, enum route route) NONNULL(1);

/* How many pieces wait for nothing but the writer. */
size_t queue_decided_batches(const struct sender *sender) NONNULL(1);

/* Marks a attempt as in hand. */
void attempt_start(struct attempt *attempt) NONNULL(1);
/* Back to those who wait; dropped when the piece is lost. */
void attempt_return(struct sender *sender, struct attempt *attempt) NONNULL(1, 2);
/* Decides a attempt that is in hand; the texts of `result` are in the piece's arena. */
void attempt_decide(struct sender *sender, struct attempt *attempt, const struct delivery_result *result) NONNULL(1, 2, 3);

/* ---- The threads ---- */

void *refill_run(void *sender);
void *result_writer_run(void *sender);
void *capture_worker_run(void *sender);

/* Makes the hands and their loops, and starts them; ends their threads; frees them, when nobody wakes them any more. */
void delivery_workers_start(struct sender *sender) NONNULL(1);
void delivery_workers_stop(struct sender *sender) NONNULL(1);
void delivery_workers_free(struct sender *sender) NONNULL(1);
void delivery_workers_wake(struct sender *sender) NONNULL(1);

/* Settles what a process that is gone has left in the data folder; false in ret_found when there was nothing. */
MUST_CHECK bool recover_one(struct sender *sender, struct db_conn *conn, bool *ret_found, struct error *err) NONNULL(1, 2, 3, 4);

/* Work of a thread of the sender. */
struct work sender_work(const struct sender *sender, struct arena *arena, struct db_conn *conn) NONNULL(1, 2);

void sender_log(const char *event, const struct error *err) NONNULL(1, 2);
