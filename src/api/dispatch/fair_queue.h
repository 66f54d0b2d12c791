/*
 * Fair queue: the calls that wait for the threads of one executor. Organizations
 * take turns, and the brands of an organization take turns within it. The calls
 * of one brand are taken in the order of their arrival. So the number of calls
 * that one brand has waiting delays no other brand.
 *
 * The queue also counts the threads that serve each organization. An
 * organization at its bound is passed over until one of its threads is free,
 * and keeps its place. A thread that runs a batch counts for every organization
 * in the batch.
 *
 * The lock of the executor guards all functions. Private to src/api/dispatch.
 */
#pragma once

#include "api/dispatch/activity.h"
#include "api/dispatch/executor.h"

enum queue_kind {
    QUEUE_SINGLES, /* taken in batches */
    QUEUE_OTHERS,  /* taken one by one */
    QUEUE_KINDS,
};

struct fair_queue;
struct queue_organization;

/* The calls that one thread has taken, and the organizations that they belong to. */
struct taken {
    struct call_state *states[EXECUTOR_BATCH_MAX];
    size_t count;
    struct queue_organization *organizations[EXECUTOR_BATCH_MAX];
    size_t organization_count;
    enum queue_kind kind;
    int running; /* the threads that had calls when they were taken, this one included */
};

/* The threads that may serve one organization at a time; at least 1 each. */
struct queue_shares {
    int threads;
    int threads_beside; /* of an organization that is not alone */
    int batchers;
};

/* `activity` tells which organization is not alone; NULL: each is alone. */
struct fair_queue *fair_queue_new(struct queue_shares shares, struct activity *activity) RETURNS_NONNULL;
/* Frees an empty queue. */
void fair_queue_free(struct fair_queue *queue);

/* Appends a call to the line of state->turn. */
void fair_queue_add(struct fair_queue *queue, struct call_state *state, enum queue_kind kind) NONNULL(1, 2);

/* True when a call of this kind waits. */
bool fair_queue_has(const struct fair_queue *queue, enum queue_kind kind) NONNULL(1);

/* True when a further thread may serve a call of this organization. */
bool fair_queue_has_room(const struct fair_queue *queue, int64_t organization_id, enum queue_kind kind) NONNULL(1);

/* Finds the kind of the calls that a free thread takes next. False when every waiting call belongs to an organization at its bound.
 * `may_batch` is false when no further thread may run a batch. */
bool fair_queue_next(const struct fair_queue *queue, bool may_batch, enum queue_kind *ret_kind) NONNULL(1, 3);

/* Takes the next call, or up to EXECUTOR_BATCH_MAX single calls in turns. fair_queue_next has found the kind. */
void fair_queue_take(struct fair_queue *queue, enum queue_kind kind, struct taken *ret_taken) NONNULL(1, 3);

/* Takes the thread back from the organizations of `taken`. Its calls may be freed already. */
void fair_queue_done(struct fair_queue *queue, const struct taken *taken) NONNULL(1, 2);

/* Removes all waiting calls. Returns them as a list by `next`. */
struct call_state *fair_queue_clear(struct fair_queue *queue) NONNULL(1);

/* The number of waiting calls, of all organizations and of one. */
size_t fair_queue_count(const struct fair_queue *queue) NONNULL(1);
size_t fair_queue_count_of(const struct fair_queue *queue, int64_t organization_id) NONNULL(1);
