/*
 * The line: what is under way in a sender, shared by its threads. Everything
 * here is under the sender's mutex, except what a slot's present owner does to
 * it: a slot that is in hand belongs to the thread that took it.
 */
#pragma once

#include "base/clock.h"
#include "sender/journal.h"
#include "sender/sender.h"

#include <pthread.h>

enum {
    LINE_BATCHES_WAITING = 4, /* of each way, with somebody who waits */
    LINE_BATCHES_DECIDED = 8, /* done, and waiting for the settler: more would be memory without bound */
    LINE_PUT_OFF_MAX = 64,
};

/* Leases last DELIVERY_LEASE_S; who could not renew them for so long hands nothing over, as another process may soon. */
#define LINE_UNSEEN_MAX_US (INT64_C(40) * US_PER_S)

/* The ways out. */
enum way { WAY_OUTBOX, WAY_RELAY };

enum slot_state { SLOT_WAITING, SLOT_IN_HAND, SLOT_DECIDED };

/* One recipient under way. */
struct slot {
    struct piece *piece;
    enum slot_state state;
    uint8_t losses;   /* sessions that were lost with it before its end */
    bool is_dot_out;  /* the journal says that its final dot may have left */
    bool is_withheld; /* it was held back before its dot, by no fault of a relay */
    struct journal_key key;
};

/* A batch in the line, or a letter: then it has one slot and no batch. */
struct piece {
    struct piece *next;
    struct arena *arena; /* holds all of it; results' texts too, so only the holder of the mutex writes there */
    int64_t serial;      /* unique in the process, from 1 */
    enum way way;
    struct delivery_batch batch;
    struct dkim_key_list keys;
    struct slot *slots;
    size_t count;
    size_t first_waiting; /* none waits before it */
    size_t waiting;
    size_t in_hand;
    size_t unsettled;      /* decided, not written yet */
    int64_t decided_at_us; /* monotonic: since when something is unsettled */
    int64_t journal_file;  /* the first that can name its messages */
    bool is_lost;          /* another process has taken it: what waits is dropped */
    bool is_settling;

    const struct sender_letter *letter;
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
    pthread_cond_t room;    /* for the feeder: the line is short, or there is news */
    pthread_cond_t decided; /* for the settler, and whoever waits for a letter */
    pthread_cond_t work;    /* for the outbox hand */
    struct piece *line;     /* oldest first */
    bool is_stopping;       /* nothing new is taken or handed over */
    bool is_settling_last;  /* all hands have ended */
    bool has_dropped;       /* a lost piece left the line with somebody waiting: what is still leased goes back */
    bool is_released;       /* at the end: everything is settled and given back */
    int64_t seen_us;        /* monotonic: when the leases were renewed last */
    int64_t journal_broken_until_us;
    struct {
        int64_t send_id;
        int64_t until_us; /* monotonic */
    } put_off[LINE_PUT_OFF_MAX];

    struct hand *hands; /* hands.c */
    int hand_count;
    pthread_t feeder;
    pthread_t settler;
    pthread_t outbox_hand;
};

/* ---- line.c; all with the mutex held ---- */

/* A piece of nothing yet, with an arena of its own. */
struct piece *piece_new(enum way way) RETURNS_NONNULL;

/* Puts a fetched batch at the end of the line. */
void line_add(struct sender *sender, struct piece *piece) NONNULL(1, 2);
void line_add_first(struct sender *sender, struct piece *piece) NONNULL(1, 2);
void line_remove(struct sender *sender, struct piece *piece) NONNULL(1, 2);

/* Behind all others. */
void line_put_last(struct sender *sender, struct piece *piece) NONNULL(1, 2);

/* How many pieces of this way have somebody waiting. */
size_t line_waiting(const struct sender *sender, enum way way) NONNULL(1);

/* How many pieces wait for nothing but the settler. */
size_t line_decided(const struct sender *sender) NONNULL(1);

/* Marks a slot as in hand. */
void slot_take(struct slot *slot) NONNULL(1);
/* Back to those who wait; dropped when the piece is lost. */
void slot_give_back(struct sender *sender, struct slot *slot) NONNULL(1, 2);
/* Decides a slot that is in hand; the texts of `result` are in the piece's arena. */
void slot_decide(struct sender *sender, struct slot *slot, const struct delivery_result *result) NONNULL(1, 2, 3);

/* ---- The threads ---- */

void *feeder_thread(void *sender);
void *settler_thread(void *sender);
void *outbox_thread(void *sender);

/* Makes the hands and their loops, and starts them; ends their threads; frees them, when nobody wakes them any more. */
void hands_start(struct sender *sender) NONNULL(1);
void hands_stop(struct sender *sender) NONNULL(1);
void hands_free(struct sender *sender) NONNULL(1);
void hands_wake(struct sender *sender) NONNULL(1);

/* Settles what a process that is gone has left in the data folder; false in ret_found when there was nothing. */
MUST_CHECK bool recover_one(struct sender *sender, struct db_conn *conn, bool *ret_found, struct error *err) NONNULL(1, 2, 3, 4);

/* Work of a thread of the sender. */
struct work sender_work(const struct sender *sender, struct arena *arena, struct db_conn *conn) NONNULL(1, 2);

void sender_log(const char *event, const struct error *err) NONNULL(1, 2);
