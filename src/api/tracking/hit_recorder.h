/*
 * Hit recorder: answers requests of tracked links, and stores them as hits.
 *
 * The target of a link comes from the cache of links, else from the database. A
 * hit is stored by the call tracking.record. A redirect waits for its commit at
 * most HIT_WAIT_MS; a hit that is not committed by then goes to the spool
 * (hit_spool.h). A redirect waits for a target that is not in the cache until the
 * database has answered, at most HIT_TARGET_WAIT_MS. While the database does not
 * answer, hits go to the spool at once, and so do those of a brand that has many
 * calls in the queue. A thread drains the spool; the id and the time of a hit keep
 * it from being stored twice.
 *
 * Thread-safe. The owner stops it after its last request, frees the service, and
 * then frees the recorder, because calls may still end.
 */
#pragma once

#include "api/call.h"

enum {
    HIT_WAIT_MS = 250,
    HIT_TARGET_WAIT_MS = 10 * 1000,
    HITS_PENDING_MAX = 8192, /* half of them of one brand */
    HITS_CALLING_MAX = 1024, /* of them, those whose calls are in the queue; further ones go to the spool */
};

struct hit_recorder;

enum hit_answer {
    HIT_REDIRECT,  /* to `target` */
    HIT_PICTURE,   /* the picture that reports opens */
    HIT_NOT_FOUND, /* not a token of this installation, or its message does not exist */
    HIT_LATER,     /* the target is not known, and the database does not answer */
};

struct hit_request {
    struct arena *arena; /* of the target; it lives until on_answer */
    const char *token;
    bool is_open;        /* the path is that of the picture */
    bool is_head;        /* the method is HEAD */
    const char *host;    /* the host of the request, NULL when unknown */
    const char *agent;   /* NULL when unknown */
    const char *address; /* of the client, NULL when unknown */
    void (*on_answer)(struct hit_request *request);
    void *context;

    enum hit_answer answer;
    const char *target;
};

struct hit_recorder *hit_recorder_new(struct api *api, const char *data_dir, const char *public_url) NONNULL(1, 2) RETURNS_NONNULL;

/* Takes a request. True: it is answered already, and on_answer is not called. A picture is always answered at once. False: call
 * hit_recorder_follow. */
bool hit_recorder_take(struct hit_recorder *recorder, struct hit_request *request) NONNULL(1, 2);

/* Answers the request of a link, on any thread, through on_answer. */
void hit_recorder_follow(struct hit_recorder *recorder, struct hit_request *request) NONNULL(1, 2);

/* Puts what is not committed into the spool, answers all requests and stops the threads. */
void hit_recorder_stop(struct hit_recorder *recorder) NONNULL(1);
void hit_recorder_free(struct hit_recorder *recorder);

/* Counters in the Prometheus text format. */
void hit_recorder_write_metrics(struct hit_recorder *recorder, struct buf *out) NONNULL(1, 2);
