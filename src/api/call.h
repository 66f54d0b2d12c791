/*
 * Call: the request that a transport (stdio, MCP over HTTP, REST, command line,
 * embedding API) submits to dispatch, and its answer.
 *
 * The transport creates an arena, puts the call and everything it points to
 * into it, and submits it. It must not touch the call until `on_completed` is
 * called, exactly once, on any thread. Then it reads the answer and frees the
 * arena. A transport handles its protocol and nothing of email. Dispatch uses
 * the transport's name for the log and the audit row only.
 */
#pragma once

#include "api/catalogue.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/json_write.h"
#include "base/values.h"
#include "crypto/ids.h"

struct api;
struct call;

/* Used for the log and the audit row only. The work of a call may depend on struct caller instead. */
enum transport { TRANSPORT_STDIO, TRANSPORT_MCP_HTTP, TRANSPORT_REST, TRANSPORT_COMMAND_LINE, TRANSPORT_EMBEDDED, TRANSPORT_MAIL };

/* The kind of caller behind a transport. */
struct caller {
    bool is_model;  /* a language model, which may misunderstand its user */
    bool is_remote; /* possibly on another machine: it may not name files here, but gets links */
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

/* How the values of a flat input are read. */
enum input_reading {
    INPUT_COERCED, /* scalars of another type are converted without loss ("5" → 5) */
    INPUT_HEALED,  /* and other spellings of names and bare items of lists are accepted */
    INPUT_EXACT,   /* only what is declared: the tool is destructive */
};

/* The arguments. A tool call is `flat`: one object holds all arguments, whatever their place. A REST call keeps path, query and
 * body apart. */
struct call_input {
    bool flat;
    enum input_reading reading;
    const char *const *shown; /* the arguments that an error may suggest, NULL-terminated; NULL: all */
    const json_t *body;       /* NULL: none */
    struct name_value_list path;
    struct name_value_list query;
    struct error refusal; /* an error found while reading the input; reported at its place in the order of checks */
};

/* The state of a brand. One that is still being extracted (unfinished) can only be read. */
enum brand_state { BRAND_IS_READY, BRAND_IS_UNFINISHED, BRAND_IS_GONE };

/* The authenticated caller. */
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
    int64_t wait_s;  /* Retry-After of a refused call: the seconds until reset_s, at least 1 */
};

/* The answer of a handler. The body is streamed into `json`. */
struct reply {
    int status; /* preset from the operation */
    struct buf *body;
    struct json_writer json;
    int64_t item_count;          /* items of PRICE_PER_ITEM; preset to 1 */
    bool charge_nothing;         /* a success that is not billed (a partial audit) */
    bool keep_no_key;            /* the idempotency key is released although the call succeeded */
    bool changes_credentials;    /* the cached credentials are dropped once this call is committed */
    const char *confirmation;    /* nothing was done: the body is a preview, and this token confirms it */
    const char *question;        /* the question that asks a person to confirm the preview */
    const char *note;            /* for an assistant: the member `note` of the result, which ends with note_advice */
    enum error_code note_advice; /* the code whose suggestion it is */
    int64_t job_id;              /* a job was enqueued: OP_JOB waits for it, others wake the workers */
    bool starts_runs;            /* runs of automations were started: the steppers are notified once this call is committed */

    /* For operations that wait: the observed work has not ended; its progress. */
    bool goes_on;
    double progress;
    double progress_total;
    const char *progress_note;
};

/* The part of the result that a tool shows (view/tool_view.h). Zero: all of it. */
struct call_view {
    bool is_short;        /* without empty and technical members, with grouped lists of faulty rows */
    struct opt_int limit; /* items of the lists that obey it */
    struct opt_int from;  /* a window of the long member, in characters; `chars` is not set: as many as fit */
    struct opt_int chars;
};

/* The connection of a provider at whose address a public call came. Its calls have turns of their own. */
struct call_connection {
    enum id_kind kind;
    const char *id;  /* as the address names it; NULL: none */
    int threads_max; /* of a pool, that serve it at a time; 0: no bound of its own */
};

struct call {
    /* Filled by the transport. */
    struct arena *arena;
    enum transport transport;
    struct caller caller;
    const struct operation *const *candidates; /* NULL-terminated; the first whose condition holds is run */
    struct call_input input;
    struct credentials credentials;
    struct call_connection connection;
    int64_t turn_brand_id;       /* of a public call: the brand that a sealed token names; 0: not known */
    const char *idempotency_key; /* NULL when none */
    const char *confirmation;    /* the token of a preview that the user has answered, NULL when none */
    struct call_view view;       /* what a tool shows of the result */
    bool is_declined;            /* the user has declined that preview; otherwise it is confirmed */
    const char *tool;            /* the tool that an assistant calls; NULL: none */
    int64_t wait_s;              /* how long to wait for the end of the observed work; 0: answer at once */
    /* Fills `input` from a body that is not parsed yet. Dispatch calls it once, on an executor thread, after the credential has
     * passed; `who` is filled. NULL: `input` is complete. */
    void (*read_input)(struct call *call);
    /* True when the transport has room for one more answer of this caller. Dispatch asks at the end of each admission, and before
     * it writes the answer of a single read; `who` is filled. It never asks after a write. Errors: SERVICE_UNAVAILABLE. NULL: there
     * is always room. */
    bool (*has_room)(struct call *call, struct error *err);
    bool reads_much;        /* read_input takes long: it runs in the pool of slow calls */
    bool is_large;          /* its input is so large that the call runs in the pool of slow calls, whatever its operation is */
    const char *request_id; /* req_ + 32 hex */
    const char *client;     /* name/version that the client reports, NULL when unknown */
    void (*on_completed)(struct call *call);
    void (*on_progress)(struct call *call, double progress, double total, const char *message); /* NULL: not wanted */
    void *transport_data;

    /* The answer. */
    bool ok;
    struct reply reply;         /* when ok */
    struct error error;         /* when not */
    const struct operation *op; /* the operation that ran; NULL when the call was refused before it was chosen */
    struct principal who;
    struct rate_state rate;
    int64_t credit_cost; /* X-Credit-Cost; -1: no header */
    bool replayed;       /* an idempotent replay */
    size_t kept_bytes;   /* of memory that is freed with the arena and not counted by it */

    struct call_state *state; /* dispatch's own */
};

/* ---- Judging a call by its headers, before its body is collected and parsed ---- */

/* True when the credential has the form of a key or session. One of another form is refused without the database. */
bool api_credential_is_well_formed(const struct credentials *credentials) NONNULL(1) PURE;

/* Looks for the caller without the database; false when the database must be asked. Any thread. */
bool api_find_caller(struct api *api, const struct credentials *credentials, struct principal *ret_who) NONNULL(1, 2, 3);

/* True when the rate limit of one of the candidates has room for a call of this caller. Counts nothing. Errors: RATE_LIMITED. */
MUST_CHECK bool api_has_rate_left(struct api *api, const struct principal *who, const struct operation *const *candidates,
                                  struct error *err) NONNULL(1, 2, 3, 4);

/* True when another organization has had a call lately, or has a campaign that is being delivered. Any thread. */
bool api_has_others(struct api *api, int64_t organization_id) NONNULL(1);

/* ---- Running ---- */

/* True when api_submit would answer the call before it returns: it needs no thread hop, so the transport suspends nothing. */
bool api_is_immediate(struct api *api, struct call *call) NONNULL(1, 2);

/* Runs all checks and the handler of the call. `on_completed` is called when the answer is complete. */
void api_submit(struct api *api, struct call *call) NONNULL(1, 2);

/* Cancels a call for its caller, who no longer waits: a queued call is dropped, a running statement is cancelled, a parked job is
 * asked to stop. `on_completed` is still called. Safe from any thread between api_is_immediate (or api_submit) and the return of
 * `on_completed`. */
void api_cancel(struct api *api, struct call *call) NONNULL(1, 2);

/* Cancels a call for the server, which stops or has waited too long. The log and the counters show it as a failure. */
void api_stop(struct api *api, struct call *call) NONNULL(1, 2);

/* Candidates of a call that only authenticates; its answer is `who` (handshakes, lists). */
extern const struct operation *const api_connection_check[];

/* The same for a call that begins a session. It counts as a call of the policy capabilities.read. */
extern const struct operation *const api_session_check[];

/* Candidates of a sealed download link, and of the picture of a preview. The only argument is `token`; no credential is needed. */
extern const struct operation *const api_signed_download[];
extern const struct operation *const api_signed_preview[];

/* Candidates of the unsubscribe link of a message: reading its state, and unsubscribing. The only argument is `token`. */
extern const struct operation *const api_subscription[];
extern const struct operation *const api_unsubscribe[];

/* Candidates of the same link: choosing subscription groups. The arguments are `token`, `groups` and `subscribe`. */
extern const struct operation *const api_preferences[];

/* Candidates of the form on which people ask for their link: showing it (`brand`), and sending the link (`brand`, `email`). */
extern const struct operation *const api_link_form[];
extern const struct operation *const api_link_request[];

/* Candidates of a tracked link: reading the links of its message, and storing the request. */
extern const struct operation *const api_tracked_links[];
extern const struct operation *const api_tracked_request[];

/* Candidates of a report of a mail provider; no credential is needed, the provider proves itself. */
extern const struct operation *const api_reports[];

/* Candidates of an event of a provider; no credential is needed, the provider proves itself. */
extern const struct operation *const api_integration_event[];

/* Candidates of a report of another mail system (engine/reports/receive.h). No credential is needed. */
extern const struct operation *const api_mail_report[];

/* The error envelope of the contract: {"error":{code,type,message,param?,suggestion,docs,retryAfter?,details?}}. The suggestion is
 * the error's own. An error without one has that of its code: for programs, or `otherwise`. */
void api_write_error(struct json_writer *json, const struct error *err) NONNULL(1, 2);
void api_write_error_for(struct json_writer *json, const struct error *err, const char *otherwise) NONNULL(1, 2, 3);

/* The suggestion for an assistant: that of the error's advice, else that of its code. It names tools only when `sees` is true of
 * all that it would name; NULL: all are seen. */
const char *api_tool_suggestion(struct arena *arena, const struct error *err, bool (*sees)(const void *who, const char *tool),
                                const void *who) NONNULL(1, 2) RETURNS_NONNULL;

/* Sets the URL of the documentation, for the whole process. The member `docs` of an error links to URL/errors#CODE. The text is
 * borrowed until the process ends. */
void api_set_docs_url(const char *url) NONNULL(1);

/* A new request id. */
char *api_request_id(struct arena *arena) NONNULL(1) RETURNS_NONNULL;
