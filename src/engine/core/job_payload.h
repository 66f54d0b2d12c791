/*
 * Payloads of jobs: the arguments of a job, kept as JSON in its row.
 *
 * schemas/jobs.json declares the jobs. The generator makes a struct of each
 * payload, a table of its members, and typed functions over the two functions
 * of this file (catalogue/jobs.h). The members of a payload are part of the data
 * folder: a job that an older version enqueued must still be readable.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/values.h"

#include <jansson.h>

/* The time that a caller waits for the end of its job by default; the job continues. Work for a caller ends before it. */
enum { JOB_CALLER_WAIT_MS = 60 * 1000 };

/* The C type of a member, and that of an optional one. */
enum payload_kind {
    PAYLOAD_INTEGER, /* int64_t; struct opt_int */
    PAYLOAD_BOOLEAN, /* bool; struct opt_bool */
    PAYLOAD_TEXT,    /* const char *; NULL when absent */
    PAYLOAD_TEXTS,   /* struct text_list; items NULL when absent */
    PAYLOAD_LIST,    /* const json_t *, an array; NULL when absent */
};

struct payload_member {
    const char *name;
    enum payload_kind kind;
    size_t offset; /* in the struct of the payload */
    bool optional;
    bool has_default;       /* the member is always written, and may be absent in older rows */
    int64_t default_number; /* PAYLOAD_INTEGER and PAYLOAD_BOOLEAN */
    const char *default_text;
};

/* One declared job. */
struct job_declaration {
    const char *name; /* in the column jobs.kind */
    const struct payload_member *members;
    size_t member_count;
    size_t payload_size; /* of its struct */
    size_t max_bytes;    /* of its JSON as it is enqueued */
    const char *pool;    /* the workers that execute it: work, network or quality */
};

/* The pool of workers that executes the jobs of a type, as in the column jobs.pool. */
const char *job_pool_name(const struct job_declaration *type) NONNULL(1) RETURNS_NONNULL PURE;

/* A job to enqueue. The function of its type makes it: campaign_job, test_send_job. */
struct new_job {
    const struct job_declaration *type;
    const char *payload; /* JSON; NULL when it is larger than the declaration allows */
};

/* The payload, a struct of this type, as JSON. Optional members that are absent are left out. */
struct new_job job_payload_encode(struct arena *arena, const struct job_declaration *type, const void *payload) NONNULL(1, 2, 3);

/* The struct of a payload; its texts live as long as the arena. Unknown members, absent members that are not optional and
 * members of another type are refused. Errors: INTERNAL_ERROR, PAYLOAD_TOO_LARGE, INVALID_REQUEST. */
MUST_CHECK bool job_payload_decode(struct arena *arena, const struct job_declaration *type, const char *json,
                                   const void **ret_payload, struct error *err) NONNULL(1, 2, 3, 4, 5);
