/*
 * A call: what any door hands to dispatch, and what it gets back.
 *
 * The door makes an arena, puts the call and everything it points to into it,
 * submits it and keeps its hands off until `done` is called, exactly once, on
 * any thread. Then the answer is read and the arena freed by the door. A door
 * knows its protocol and nothing of email; dispatch does not know which door it
 * serves beyond the name that the log and the audit row carry.
 */
#pragma once

#include "api/catalogue.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/json_write.h"

struct api;
struct call;

/* For the log and the audit row only; what a call's work may depend on is in struct caller. */
enum transport { TRANSPORT_STDIO, TRANSPORT_MCP_HTTP, TRANSPORT_REST, TRANSPORT_COMMAND_LINE, TRANSPORT_EMBEDDED };

/* What kind of caller a door has. */
struct caller {
    bool is_model;  /* a language model, which may be wrong about what its user wants */
    bool is_remote; /* on another machine, perhaps: it names no files here, but may be given links */
};

enum credential_kind {
    CREDENTIAL_NONE,
    CREDENTIAL_API_KEY,     /* `secret` is the key */
    CREDENTIAL_SESSION,     /* `secret` is the session cookie */
    CREDENTIAL_LOCAL_OWNER, /* the user who runs this process on the data folder */
};

struct credentials {
    enum credential_kind kind;
    const char *secret;
    const char *brand; /* X-Brand-Id or --brand as given, NULL when none */
};

struct name_value {
    const char *name;
    const char *value;
};
struct name_value_list {
    const struct name_value *items;
    size_t count;
};

/* Where the arguments are. A tool call is `flat`: one object holds them all, whatever their place,
 * and scalars are coerced faithfully ("5" → 5). A REST call keeps path, query and body apart. */
struct call_input {
    bool flat;
    const json_t *body; /* NULL: none */
    struct name_value_list path;
    struct name_value_list query;
    struct error refusal; /* a fault found while reading the input; reported at its place in the order of checks */
};

/* Whether work can be done in a brand: one that is still being extracted can be read only. */
enum brand_state { BRAND_IS_READY, BRAND_IS_UNFINISHED, BRAND_IS_GONE };

/* Who calls, once authenticated. */
struct principal {
    enum credential_kind kind;
    int64_t organization_id;
    int64_t key_id;         /* 0 unless an API key */
    int64_t session_id;     /* 0 unless a session */
    int64_t bound_brand_id; /* 0: an organization credential */
    enum brand_state bound_brand_state;
    uint32_t scopes;
    double rate_multiplier;
    bool administrator; /* session of role org:admin; other sessions reach some brands only */
};

struct rate_state {
    int64_t limit;
    int64_t remaining;
    int64_t reset_s; /* Unix epoch seconds */
    int64_t wait_s;  /* of a refused call, until then */
};

/* The answer of a handler. The body is streamed into `json`. */
struct reply {
    int status; /* preset from the operation */
    struct buf *body;
    struct json_writer json;
    int64_t item_count;       /* items of PRICE_PER_ITEM; preset to 1 */
    bool charge_nothing;      /* a success that is not billed (a partial audit) */
    bool keep_no_key;         /* the idempotency key is released although it went well */
    bool changes_credentials; /* what this process believes of credentials is asked anew once this is committed */
    const char *confirmation; /* nothing was done: the body is a preview, and this the token that confirms it */
    const char *question;     /* of that preview, for a person */
    int64_t job_id;           /* a job was enqueued: OP_JOB waits for it, others wake the workers */

    /* What was asked about has not ended (operations that wait): how far it is. */
    bool goes_on;
    double progress;
    double progress_total;
    const char *progress_note;
};

struct call {
    /* Filled by the door. */
    struct arena *arena;
    enum transport transport;
    struct caller caller;
    const struct operation *const *candidates; /* NULL-ended; the first whose condition holds is run */
    struct call_input input;
    struct credentials credentials;
    const char *idempotency_key; /* NULL when none */
    const char *confirmation;    /* the token of a preview that was agreed to, NULL when none */
    int64_t wait_s;              /* how long to wait for the end of what is asked about; 0: the answer as it stands */
    const char *request_id;      /* req_ + 32 hex */
    const char *client;          /* name/version of the client as it says, NULL when unknown */
    void (*done)(struct call *call);
    void (*progress)(struct call *call, double progress, double total, const char *message); /* NULL: not wanted */
    void *transport_data;

    /* The answer. */
    bool ok;
    struct reply reply;         /* when ok */
    struct error error;         /* when not */
    const struct operation *op; /* what was run; NULL when refused before that was known */
    struct principal who;
    struct rate_state rate;
    int64_t credit_cost; /* X-Credit-Cost; -1: no header */
    bool replayed;       /* an idempotent replay */

    struct call_state *state; /* dispatch's own */
};

/* Whether a submitted call would be answered before api_submit returns: no thread hop, so nothing to suspend. */
bool api_is_immediate(struct api *api, struct call *call) NONNULL(1, 2);

/* Runs the call through every check and its handler; `done` is called when the answer stands. */
void api_submit(struct api *api, struct call *call) NONNULL(1, 2);

/* The caller lost interest: a waiting call is dropped, a running statement stopped, a parked job asked to stop.
 * `done` is still called. Safe from any thread between api_is_immediate (or api_submit) and the return of `done`. */
void api_cancel(struct api *api, struct call *call) NONNULL(1, 2);

/* Authenticates without doing anything: candidates for a call whose answer is only `who` (handshakes, lists). */
extern const struct operation *const api_connection_check[];

/* Candidates for the file behind a signed link: its only argument is `token`, and no credential is asked for. */
extern const struct operation *const api_signed_download[];

/* Candidates for looking at the unsubscribe link of a message, and for following it, in the same way. */
extern const struct operation *const api_subscription[];
extern const struct operation *const api_unsubscribe[];

/* The error envelope of the contract: {"error":{code,type,message,param?,suggestion,docs,retryAfter?,details?}}. */
void api_write_error(struct json_writer *json, const struct error *err) NONNULL(1, 2);

/* A fresh request id. */
char *api_request_id(struct arena *arena) NONNULL(1) RETURNS_NONNULL;
