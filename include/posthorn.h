/*
 * Posthorn, embedded: the whole service as a library in your process.
 *
 * Five functions: open, call, cancel, free a reply, close. A call has the name of
 * an operation (contacts.search) or of a tool (search_contacts) and its arguments
 * as one JSON object (RFC 8259, UTF-8). It passes the same checks as in every
 * other transport (REST, MCP, CLI). posthorn_open does not connect; the first call
 * that needs the database connects to it.
 *
 * Threads: any number of threads may call at once; each call blocks until its
 * reply. Any thread may call posthorn_cancel.
 */
#ifndef POSTHORN_H
#define POSTHORN_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct posthorn;

struct posthorn_options {
    size_t struct_size;             /* sizeof(struct posthorn_options) */
    const char *data_dir;           /* the data folder; created if it does not exist */
    const char *database_url;       /* libpq connection string; NULL: the private cluster of the folder */
    const char *brand_id;           /* the brand of the local owner; NULL: the default brand */
    const char *const *runner_argv; /* command line of `posthorn runner`, NULL-ended; NULL: "posthorn" from PATH */
    const char *import_root;        /* absolute path of the folder whose files imports may read; NULL: none */
    const char *public_url;         /* public address of the installation; NULL: none */
    long long job_wait_ms;          /* the time that a call waits for a background job; 0: a minute */
};

struct posthorn_call {
    size_t struct_size;          /* sizeof(struct posthorn_call) */
    const char *name;            /* an operation, or a tool, whose reply is the short form that an assistant gets */
    const char *arguments;       /* JSON object text; NULL: {} */
    const char *api_key;         /* NULL: the local owner */
    const char *brand_id;        /* for organization credentials; NULL: the default brand */
    const char *idempotency_key; /* 1 to 100 characters; NULL: none */
    long long wait_s;            /* for an operation that reports progress: seconds to wait for the end; 0: no wait */
    const char *token;           /* any text, by which posthorn_cancel finds this call; NULL: cannot be cancelled */
    void (*progress)(void *context, double progress, double total, const char *message); /* called on another thread; may be NULL */
    void *context;
};

struct posthorn_reply {
    int status;        /* HTTP status of the contract: 200, 201, 202, 4xx, 5xx */
    int ok;            /* 1: success; 0: body is the error envelope */
    int replayed;      /* 1: the stored reply of an earlier call with this idempotency key */
    long long credits; /* the fixed price of the call, -1 when it has none */
    const char *body;  /* JSON text, NUL-terminated; never NULL */
    size_t body_bytes;
};

/* Opens an installation. NULL only when an option is not valid. */
struct posthorn *posthorn_open(const struct posthorn_options *options);

/* Makes one call and waits for its reply. Never NULL; free it with posthorn_reply_free. */
struct posthorn_reply *posthorn_call(struct posthorn *posthorn, const struct posthorn_call *call);

/* Cancels every running call with this token; each still returns its reply (SERVICE_UNAVAILABLE if it was stopped). */
void posthorn_cancel(struct posthorn *posthorn, const char *token);

/* Releases a reply and its body. NULL is allowed. */
void posthorn_reply_free(struct posthorn_reply *reply);

/* Waits ten seconds for running calls, stops the remaining ones, and frees everything. The caller must not begin a call
 * meanwhile. NULL is allowed. */
void posthorn_close(struct posthorn *posthorn);

#ifdef __cplusplus
}
#endif

#endif
