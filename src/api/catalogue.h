/*
 * Catalogue: the tables that codegen generates from schemas/ and tools/.
 *
 * An operation is the unit of work. A tool is an assistant's view of one or
 * several operations. The tables hold everything that transports and dispatch
 * must know about them, so no handler checks for itself and no transport
 * depends on email. All of it is constant for the life of the process.
 */
#pragma once

#include "base/error.h"
#include "base/values.h"

#include <jansson.h>

struct job_declaration;
struct op_context;
struct reply;

/* ---- Arguments ---- */

enum arg_kind {
    ARG_TEXT,        /* const char *, NULL when absent; nullable: struct opt_text */
    ARG_ID,          /* int64_t, 0 when absent, -1 when not an id of this kind (finds nothing) */
    ARG_INTEGER,     /* int64_t when required or defaulted, else struct opt_int */
    ARG_NUMBER,      /* double when required or defaulted, else struct opt_number */
    ARG_BOOLEAN,     /* bool when required or defaulted, else struct opt_bool */
    ARG_ENUM,        /* int of a generated enum; 0 is absent */
    ARG_TOKENS,      /* uint32_t of generated bits; comma-separated text or an array of text */
    ARG_TIME,        /* struct opt_int, microseconds since the epoch; ISO 8601 with a zone */
    ARG_TEXT_LIST,   /* struct text_list; a single text counts as a list of one when `single` is allowed */
    ARG_OBJECT,      /* pointer to a generated struct, NULL when absent */
    ARG_OBJECT_LIST, /* struct arg_list of generated structs */
    ARG_JSON,        /* const json_t *, NULL when absent: an object or array that the engine reads */
};

/* ARG_OBJECT_LIST: `items` points to `count` generated structs. Generated code has a typed twin. `faults` has the error of each
 * item that could not be decoded, NULL for the others; it is NULL when there is none. */
struct arg_list {
    const void *items;
    size_t count;
    const struct error *const *faults;
};

enum arg_place { ARG_IN_PATH, ARG_IN_QUERY, ARG_IN_BODY };

struct arg_field {
    const char *name;
    enum arg_kind kind;
    enum arg_place place;
    size_t offset;
    bool required;
    bool nullable;
    bool has_default;
    bool single;    /* ARG_TEXT_LIST: one bare text is accepted too; ARG_TEXT: true and false are */
    bool list_too;  /* ARG_JSON of an object: a bare array is accepted too */
    bool any_too;   /* ARG_JSON: any other JSON value, of any size, is accepted too */
    bool own_names; /* ARG_JSON: it holds the names that its object does not have */
    bool rows;   /* lists: a fault of an item does not refuse the call (D-143); it is in `faults`, and a text of a list is NULL */
    int id_kind; /* ARG_ID: enum id_kind of crypto/ids.h */
    double minimum; /* value bounds of numbers; -INFINITY and INFINITY when open */
    double maximum;
    size_t min_size; /* code points of a text, items of a list, members of an object */
    size_t max_size;
    size_t max_item_size;           /* code points of each item of a text list */
    const char *const *enum_values; /* NULL-terminated; index + 1 is the enum constant, 1 << index the token bit */
    const struct arg_shape *object; /* ARG_OBJECT and ARG_OBJECT_LIST */
    double default_number;          /* ARG_INTEGER, ARG_NUMBER, ARG_BOOLEAN, ARG_ENUM */
    const char *default_text;       /* ARG_TEXT */
    json_type json_type;            /* ARG_JSON: JSON_OBJECT or JSON_ARRAY */
    const char *flag;               /* its name on the command line, without dashes: scheduled-at */
    const char *words;              /* its type for people: "text, at most 40 characters, required" */
    const char *description;
};

/* A key that belongs to another place, and the message that names that place. */
struct key_elsewhere {
    const char *name; /* NULL ends a table */
    const char *message;
};

struct arg_shape {
    const struct arg_field *fields;
    size_t count;
    size_t size;                           /* of the generated struct */
    const struct key_elsewhere *elsewhere; /* NULL: none */
    const char *const *choosing;           /* arguments that choose another operation of the route; NULL-terminated, NULL: none */
    const char *chooser;                   /* the argument whose value chooses one; NULL: none */
};

/* ---- Policies ---- */

struct rate_policy {
    const char *name;
    int index;
    int limit; /* calls a window; 0: not limited */
    int window_s;
};

enum price_kind { PRICE_FREE, PRICE_FIXED, PRICE_PER_ITEM, PRICE_METERED };

struct price {
    enum price_kind kind;
    int credits;           /* a call, or an item */
    const char *operation; /* its name under credits.operations in the help */
};

/* ---- Operations ---- */

enum op_mode {
    OP_MEMORY, /* answered on the thread where it arrives, without a connection */
    OP_READ,   /* statements without BEGIN */
    OP_WRITE,  /* one READ COMMITTED transaction */
    OP_JOB,    /* a transaction that enqueues; the caller is parked until the job settles */
};
enum op_pool { POOL_QUICK, POOL_SLOW };
enum op_reach {
    REACH_PUBLIC,       /* no credential */
    REACH_SESSION,      /* a signed-in administrator only */
    REACH_ORGANIZATION, /* works in no brand; `organization_key` says whether a brand-bound key may call it */
    REACH_BRAND,        /* works in exactly one brand */
};

/* The condition that chooses one of several operations of a route or tool. */
enum when_kind { WHEN_ALWAYS, WHEN_PRESENT, WHEN_EQUALS };
struct op_when {
    enum when_kind kind;
    const char *argument;
    const char *value;  /* WHEN_EQUALS: canonical JSON text of the value, such as true or "account" */
    const char *beside; /* WHEN_EQUALS: an argument that must be given as well, NULL when none */
};

typedef bool op_handler(struct op_context *ctx, const void *args, struct reply *reply, struct error *err);

struct db_statement;
struct db_batch;

/* A read of one statement. bind fills the statement's parameters; reply writes the answer from its rows. */
struct op_single {
    const struct db_statement *statement;
    size_t params_size;
    bool (*bind)(struct op_context *ctx, const void *args, void *params, struct error *err);
    bool (*reply)(struct op_context *ctx, const void *args, const void *rows, size_t count, struct reply *reply, struct error *err);
};

/* One of several single writes that run together. */
struct single_write {
    struct op_context *ctx;
    void *kept; /* the state that `check` left for it */
};

/*
 * A write whose statements may share a transaction with those of other callers
 * (group_commit.c). `check` refuses everything that needs no database and keeps
 * the state for the next steps in the arena of the work. It also names the row
 * that the write locks, so that two batches lock rows in the same order. `ask`
 * adds the statements of several writes in one brand, of different rows, in the
 * order of their lock keys. `is_large`, which may be NULL, tells by their results
 * that a write has so much to do that it would hold up the others. `finish`, which
 * may be NULL, sends statements for all of them that depend on these results.
 * `is_refused`, which may be NULL, tells behind `finish` that a write was refused
 * and has written nothing: it gets this error, and the others of the batch go on.
 * `reply` writes the answer of one write from the results. All but `check` may run
 * again in another batch.
 *
 * A write that `check` gives no lock key (NULL), and one that is large, get a
 * transaction of their own.
 */
struct op_single_write {
    bool (*check)(struct op_context *ctx, const void *args, void **ret_kept, const char **ret_lock_key, struct error *err);
    void (*ask)(const struct single_write *writes, size_t count, struct db_batch *batch);
    bool (*is_large)(const void *kept, const struct db_batch *batch);
    bool (*finish)(const struct single_write *writes, size_t count, const struct db_batch *batch, struct error *err);
    bool (*is_refused)(const void *kept, struct error *ret_refusal);
    bool (*reply)(struct op_context *ctx, void *kept, const struct db_batch *batch, struct reply *reply, struct error *err);
    bool locks_common_rows; /* calls wait for each other in the database, so one batch of them runs at a time */
};

/* A list of a result with an item for each faulty row, which tools group by code. */
struct result_group {
    const char *member;
    const char *row; /* the member of an item that numbers its row; NULL: none */
    const char
        *counts;     /* the member of the result that counts all items by code, because the list is cut; NULL: the list is whole */
    const char *uri; /* the resource with all items; placeholder {member}: a member of the result. NULL: none */
};

/* What tools may leave out of the result of an operation, from the declaration of its shape. */
struct result_view {
    const char *const *technical;      /* paths of technical members, such as data.createdAt; NULL-terminated */
    const char *const *cut;            /* lists at the top level that obey a tool's limit; NULL-terminated */
    const char *const *kept;           /* members at the top level that are shown also when empty; NULL-terminated */
    const struct result_group *groups; /* ended by a row without member */
    bool is_always_short;              /* also through a tool without the argument detail */
};

struct operation {
    const char *id;     /* contacts.search */
    int index;          /* enum op_index, generated */
    const char *domain; /* its two words on the command line: email-groups, create */
    const char *verb;
    const char *operands; /* parameters of its path there: "EMAIL_ID TEST_ID", "" when none */
    const char *summary;
    const char *cost;   /* what a call costs, one sentence */
    const char *method; /* NULL: reached by tools only */
    const char *path;   /* with {parameters} */
    struct op_when when;
    enum op_mode mode;
    enum op_pool pool;
    enum op_reach reach;
    bool organization_key;            /* REACH_ORGANIZATION that writes or bills: brand-bound keys get ORG_SCOPE_REQUIRED */
    uint32_t scopes;                  /* any one of these bits is enough; 0: any credential */
    const char *scope;                /* the scope's name for the error message, NULL when none */
    const struct rate_policy *policy; /* NULL: unlimited */
    struct price price;
    int status;       /* the status of a successful answer */
    int query_budget; /* maximum round trips to the database by the work itself */
    bool built;
    bool open;                         /* the contract leaves details open */
    bool idempotent_key;               /* honours Idempotency-Key */
    bool key_in_body;                  /* and the member idempotencyKey of its body, when there is no other key */
    int replay_status;                 /* of an idempotent replay; 0: that of the stored answer */
    const char *replay_json;           /* members that a replay has in place of the stored ones, object text; NULL: none */
    const char *free_with;             /* an argument with which a call costs nothing, NULL when none */
    const char *const *slow_with;      /* arguments with which a quick operation is slow; NULL-terminated, NULL: none */
    bool unaudited;                    /* a public write that needs no audit row */
    bool unready;                      /* a write that reaches its handler in a brand that is not ready */
    bool asks_confirmation;            /* an assistant may get a preview first, to be confirmed */
    const struct job_declaration *job; /* the job that the operation enqueues, NULL when none */
    bool job_charges;                  /* OP_WRITE: its job charges the call when it succeeds */
    bool waits; /* takes a tool's waitSeconds: answered when the observed work has ended, or the time is over */
    const struct arg_shape *args;
    const struct result_view *view;             /* NULL: its result has nothing of it */
    op_handler *handler;                        /* NULL for `single` and for operations that are not built */
    const struct op_single *single;             /* NULL unless a read marked single */
    const struct op_single_write *single_write; /* NULL unless a write marked single */
    size_t max_body_bytes;
};

extern const struct operation operations[];
extern const size_t operation_count;

/* ---- Routes ---- */

/* The operations of one method and path, in the order in which their conditions are checked. */
struct route {
    const char *method;
    const char *path;
    const struct operation *const *candidates; /* NULL-terminated */
};
extern const struct route routes[];
extern const size_t route_count;

/* ---- Tools ---- */

struct tool {
    const char *name;
    int index;
    const char *title;
    const char *description; /* for a model, with the cost at its end */
    const char *cost;        /* what a call costs, one sentence */
    const char *toolset;
    bool built;  /* at least one of its operations is */
    bool listed; /* built, and able to do something: what it needs can be connected to this server */
    bool read_only;
    bool destructive;
    bool idempotent;
    bool open_world;
    bool organization;     /* hidden from brand connections */
    const char *list_json; /* its complete object in tools/list; NULL when not built, as is the schema */
    const char
        *organization_json; /* the same with the argument brandId, for a connection that is bound to no brand; NULL: the same */
    const char *input_schema_json;
    const char *const *arguments;              /* names in its input schema, NULL-terminated */
    const struct operation *const *candidates; /* NULL-terminated; `choose_by` or their own conditions decide */
    const char *choose_by;            /* argument whose value chooses candidates[i] by choose_values[i]; NULL: conditions */
    const char *const *aliases;       /* another name, then the argument that it means, and so on, NULL-terminated */
    const char *const *choose_values; /* NULL-terminated, beside candidates */
    const char *const *present;       /* the first candidates[i] whose argument present[i] is given ("": always); NULL: unused */
    const char *fixed_json;           /* arguments always set, object text or NULL */
    const char *default_json;         /* arguments set when absent and the chosen operation takes them, object text or NULL */
    bool takes_detail;                /* its results are short unless detail is full */
    const char *long_member;          /* a text of the result that include adds, and that is read in windows; NULL: none */
    const char *long_uri;             /* the resource of that text; placeholder {argument}: the argument's value */
    const char *picture_member;       /* a picture of the result in base64, which is shown and not in the text; NULL: none */
    const char *picture_type;         /* its media type */
    const char *picture_uri;          /* the resource of the whole picture, as long_uri */
    const char *help;                 /* focused help, Markdown */
    const char *instead;              /* what to do in place of a tool that is not listed, a sentence that names tools; or NULL */
};
extern const struct tool tools[];
extern const size_t tool_count;

/* ---- Texts generated at build time ---- */

extern const char catalogue_help_json[];    /* the body of GET /v1/help */
extern const char catalogue_openapi_json[]; /* the OpenAPI document */
