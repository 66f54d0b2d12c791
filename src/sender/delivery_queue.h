/*
 * Delivery queue: the batches and single messages that a sender has under way,
 * shared by its threads.
 *
 * A batch is what was leased together: one range of a send, or due retries of
 * one send. A single message is a test message whose caller waits. An attempt is
 * one recipient of a batch, or the recipient of a single message.
 *
 * The sender's mutex guards everything here, with one exception: an attempt in
 * progress belongs to the thread that took it, until that thread decides it or
 * returns it to the queue.
 */
#pragma once

#include "base/clock.h"
#include "sender/crash_slots.h"
#include "sender/journal.h"
#include "sender/sender.h"

#include <pthread.h>

/* Back-pressure. A batch waits when it has a waiting attempt. It is blocked when a worker with a free connection found no attempt
 * of it that may leave, because their destinations are at their bounds. Each route has places for marketing mail and places of its
 * own for urgent mail (transactional and automation). A blocked batch takes no place, so a slow destination holds up nobody else.
 */
enum {
    QUEUE_PLACES_MAX = 4,          /* waiting batches that are not blocked */
    QUEUE_URGENT_PLACES_MAX = 2,   /* the same of urgent mail */
    QUEUE_OF_BRAND_MAX = 3,        /* waiting batches of a brand, blocked or not */
    QUEUE_CROWDED = 8,             /* from so many waiting batches on, a brand gets one only */
    QUEUE_WAITING_MAX = 24,        /* waiting batches, blocked or not */
    QUEUE_BATCHES_DECIDED_MAX = 8, /* batches that wait for the result writer only; beyond it no batch is leased at all */
    /* Bytes of the arenas of all batches, and of those of a brand. The replies of the database take as much again. */
    QUEUE_MAX_BYTES = 56 * 1024 * 1024,
    QUEUE_OF_BRAND_MAX_BYTES = 24 * 1024 * 1024,
};

/* A lease lasts DELIVERY_LEASE_S. A process whose last renewal is older than this sends nothing to relays, since another process
 * may lease its batches soon. */
#define LEASE_UNRENEWED_MAX_US (INT64_C(40) * US_PER_S)

/* Where messages go: into the capture Maildir, for the sandbox domain, or to an SMTP relay. */
enum route { ROUTE_CAPTURE, ROUTE_RELAY };

enum attempt_state {
    ATTEMPT_WAITING,
    ATTEMPT_IN_PROGRESS, /* a thread has taken it */
    ATTEMPT_DECIDED,     /* its result is known */
};

struct queue_item;

/* One try to deliver to one recipient. */
struct attempt {
    struct queue_item *item;
    enum attempt_state state;
    uint8_t lost_sessions;  /* SMTP sessions that were lost with this message */
    bool is_dot_in_journal; /* the journal has a dot record: the final dot may have left */
    bool is_withheld;       /* stopped before its dot by this process, not by the relay */
    struct journal_key key; /* of an attempt of a batch */
    struct journal_mark mark;
};

enum item_kind { ITEM_BATCH, ITEM_SINGLE_MESSAGE };

/* The common header of both types, and their first member. */
struct queue_item {
    struct queue_item *next;
    enum item_kind kind;
    enum route route;
    int64_t serial; /* unique in the process, from 1 */
    /* Owns the item and the texts of its results. Only a thread that holds the mutex allocates here. */
    struct arena *arena;
    struct attempt *attempts;
    size_t count;
    size_t first_waiting; /* no attempt before it waits */
    size_t waiting;
    size_t in_progress;
};

struct queued_batch {
    struct queue_item item;
    struct delivery_batch batch;
    struct dkim_key_list keys;  /* empty: unsigned */
    size_t unwritten;           /* attempts that are decided and not in the database */
    int64_t unwritten_since_us; /* monotonic: of the oldest result that is unwritten, or the last try to write */
    bool is_lease_lost;         /* another process has the lease: waiting attempts are dropped */
    bool is_being_written;
    bool is_urgent;  /* transactional or automation mail */
    bool is_blocked; /* the destinations of its waiting attempts are at their bounds */
};

struct queued_message {
    struct queue_item item;
    struct single_message message;
    struct smtp_outcome outcome; /* with is_done */
    bool is_done;
    bool is_caller_gone; /* single_message_end frees it */
};

struct sender {
    struct sender_config config;
    struct engine *engine;
    struct journal_location journal_location;
    struct journal *journal;
    struct crash_slots *slots;

    pthread_mutex_t mutex;
    int refill_fd;                  /* eventfd; wakes the refill thread: the queue has room */
    pthread_cond_t results_ready;   /* the result writer, and callers of sender_deliver */
    pthread_cond_t capture_wanted;  /* the capture worker */
    struct queue_item *queue;       /* single messages first, then urgent batches, then others, each oldest first */
    bool is_stopping;               /* nothing more is leased or sent */
    bool workers_ended;             /* the result writer writes what is left, and ends */
    bool has_dropped_attempts;      /* a batch left the queue with waiting attempts; its leases are to be released */
    bool is_released;               /* at the end: every result is written and every lease released */
    int64_t leases_renewed_us;      /* monotonic */
    int64_t journal_pause_until_us; /* monotonic: the journal could not be written */

    struct delivery_worker *workers; /* delivery_worker.c */
    int worker_count;
    pthread_t refill_thread;
    pthread_t result_writer_thread;
    pthread_t capture_worker_thread;
};

/* ---- delivery_queue.c: items, with the mutex held ---- */

/* An empty item in an arena of its own. These two need no mutex. */
struct queued_batch *queued_batch_new(void) RETURNS_NONNULL;
struct queued_message *queued_message_new(void) RETURNS_NONNULL;

/* The item as its type. Each aborts on an item of the other type. */
struct queued_batch *item_batch(struct queue_item *item) NONNULL(1) RETURNS_NONNULL;
struct queued_message *item_single_message(struct queue_item *item) NONNULL(1) RETURNS_NONNULL;

/* Walks the batches of the queue, oldest first; NULL at the end. */
struct queued_batch *queue_first_batch(const struct sender *sender) NONNULL(1);
struct queued_batch *queue_next_batch(const struct queued_batch *batch) NONNULL(1);

/* Adds a batch with its recipients at the end. */
void queue_add_batch(struct sender *sender, struct queued_batch *batch) NONNULL(1, 2);
/* Adds a single message at the front. */
void queue_add_single_message(struct sender *sender, struct queued_message *message) NONNULL(1, 2);
/* Unlinks an item, without freeing it, and removes the journal files that no other item needs. */
void queue_remove(struct sender *sender, struct queue_item *item) NONNULL(1, 2);
/* Removes the journal files that no attempt needs. Appends the records of old attempts again when there are many files. */
void queue_trim_journal(struct sender *sender) NONNULL(1);
void queue_move_last(struct sender *sender, struct queued_batch *batch) NONNULL(1, 2);

/* Number of batches of this route with a waiting attempt. */
size_t queue_waiting_batches(const struct sender *sender, enum route route) NONNULL(1);
/* The work for which the queue has room: fills `places` and `full` of the request, in the arena. `has_relays`: whether this process
 * can send to relays. */
void queue_find_room(const struct sender *sender, bool has_relays, struct arena *arena, struct delivery_lease_request *request)
    NONNULL(1, 3, 4);

/* ---- delivery_queue.c: attempts, with the mutex held ---- */

/* The position of an attempt in its item: that of its recipient and its result, too. Needs no mutex. */
size_t attempt_index(const struct attempt *attempt) NONNULL(1);

/* From waiting to in progress. */
void attempt_start(struct sender *sender, struct attempt *attempt) NONNULL(1, 2);
/* From in progress back to waiting. */
void attempt_return(struct sender *sender, struct attempt *attempt) NONNULL(1, 2);
/* From in progress to decided, for an attempt of a batch. The texts of `result` are in the item's arena. */
void attempt_decide(struct sender *sender, struct attempt *attempt, const struct delivery_result *result) NONNULL(1, 2, 3);

/* Wakes the refill thread. Any thread may call it, with or without the mutex. */
void refill_wake(struct sender *sender) NONNULL(1);

/* Marks whether all waiting attempts of the batch have destinations at their bounds. */
void batch_set_blocked(struct sender *sender, struct queued_batch *batch, bool is_blocked) NONNULL(1, 2);

/* ---- single_message.c: for delivery workers ---- */

/* Whether the caller still waits. A caller that has gone got an error, so its message is not sent. */
bool single_message_is_wanted(struct sender *sender, const struct queued_message *message) NONNULL(1, 2);
/* Ends its attempt: returned to the queue when it was not sent, else reported to the caller. */
void single_message_end(struct sender *sender, struct queued_message *message, const struct smtp_outcome *outcome) NONNULL(1, 2, 3);

/* ---- Threads ---- */

void *refill_run(void *sender);
void *result_writer_run(void *sender);
void *capture_worker_run(void *sender);

/* Starts the delivery workers, each with an SMTP event loop. */
void delivery_workers_start(struct sender *sender) NONNULL(1);
/* Ends and joins their threads. */
void delivery_workers_stop(struct sender *sender) NONNULL(1);
/* Frees them, when no thread calls delivery_workers_wake any more. */
void delivery_workers_free(struct sender *sender) NONNULL(1);
/* Lets every worker look for messages again. */
void delivery_workers_wake(struct sender *sender) NONNULL(1);

/* The crash slots of the threads; that of delivery worker i is SLOT_OF_FIRST_WORKER + i. */
enum { SLOT_OF_REFILL, SLOT_OF_CAPTURE, SLOT_OF_FIRST_WORKER };

/* ---- set_aside.c ---- */

/* Recipients of one range that are not to be tried again. */
struct set_aside {
    const char *owner; /* of the lease */
    int64_t brand_id;
    int64_t send_id;
    struct int_list ordinals; /* ascending */
    const char *reason;
};

/* Writes the result `failed` with its reason for those that have no result, whether they wait in the range or as retries. Nothing
 * is composed, and no fields of contacts are read. */
MUST_CHECK bool set_aside_recipients(struct sender *sender, struct db_conn *conn, const struct set_aside *aside, struct error *err)
    NONNULL(1, 2, 3, 4);

/* ---- recovery.c ---- */

/* Writes the results that one journal of an ended process proves. False in ret_found when there was no such journal. The journal of
 * a process that has database sessions waits until they have ended. */
MUST_CHECK bool recover_journal(struct sender *sender, struct db_conn *conn, bool *ret_found, struct error *err)
    NONNULL(1, 2, 3, 4);

/* ---- sender.c ---- */

/* The engine's context for a call from a thread of the sender. */
struct work sender_work(const struct sender *sender, struct arena *arena, struct db_conn *conn) NONNULL(1, 2);

/* Logs a failure as a warning. */
void sender_log(const char *event, const struct error *err) NONNULL(1, 2);
