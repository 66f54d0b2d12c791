/*
 * Posthorn, embedded: the whole service in a process of yours.
 *
 * Five functions: open, call, cancel, free a reply, close. A call names an
 * operation (contacts.search) or a tool (search_contacts) and hands over its
 * arguments as one JSON object (RFC 8259, UTF-8). It passes exactly the checks
 * of every other door. Opening costs nothing; the database is reached with the
 * first call that needs it.
 *
 * Threads: calls may be made from any number of threads at once; each blocks
 * until its answer stands. posthorn_cancel may be called from any thread.
 */
#ifndef POSTHORN_H
#define POSTHORN_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct posthorn;

struct posthorn_options {
    size_t struct_size;           /* sizeof(struct posthorn_options) */
    const char *data_dir;         /* folder of the installation; created when absent */
    const char *database_url;     /* libpq connection string; NULL: the private cluster of the folder */
    const char *brand_id;         /* brand of the local owner; NULL: the default brand */
    const char *const *runner_argv; /* how to start `posthorn runner`, NULL-ended; NULL: "posthorn" from PATH */
    const char *import_root;      /* whole path of a folder whose files imports may read; NULL: none */
    const char *public_url;       /* address under which the world reaches the installation; NULL: none */
    long long job_wait_ms;        /* how long a call waits for work in the background; 0: a minute */
};

struct posthorn_call {
    size_t struct_size;          /* sizeof(struct posthorn_call) */
    const char *name;            /* an operation or a tool */
    const char *arguments;       /* JSON object text; NULL: {} */
    const char *api_key;         /* NULL: the local owner */
    const char *brand_id;        /* for organization credentials; NULL: the default */
    const char *idempotency_key; /* 1 to 100 characters; NULL: none */
    long long wait_s;            /* of an operation that tells how something goes on: waits for its end so long; 0: no */
    const char *token;           /* any text that posthorn_cancel can name this call by; NULL: cannot be cancelled */
    void (*progress)(void *context, double progress, double total, const char *message); /* on another thread; NULL */
    void *context;
};

struct posthorn_reply {
    int status;        /* HTTP status of the contract: 200, 201, 202, 4xx, 5xx */
    int ok;            /* whether it went well; otherwise body is the error envelope */
    int replayed;      /* the stored answer of an earlier call with this idempotency key */
    long long credits; /* cost at a fixed price, -1 when it has none */
    const char *body;  /* JSON text, NUL-terminated; never NULL */
    size_t body_bytes;
};

/* Opens an installation. NULL only when an option cannot be understood. */
struct posthorn *posthorn_open(const struct posthorn_options *options);

/* Makes one call and waits for its answer. Never NULL; free it with posthorn_reply_free. */
struct posthorn_reply *posthorn_call(struct posthorn *posthorn, const struct posthorn_call *call);

/* Asks every running call with this token to stop; each still returns its reply (SERVICE_UNAVAILABLE when it stopped). */
void posthorn_cancel(struct posthorn *posthorn, const char *token);

/* Releases a reply and its body. NULL is allowed. */
void posthorn_reply_free(struct posthorn_reply *reply);

/* Waits ten seconds for running calls, stops those that are left, and releases everything. No call may be begun meanwhile.
 * NULL is allowed. */
void posthorn_close(struct posthorn *posthorn);

#ifdef __cplusplus
}
#endif

#endif
