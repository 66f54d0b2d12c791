/*
 * The engine: the business rules of the service, over PostgreSQL. Each folder is
 * one domain with its header, its code and its queries. Engine code is
 * independent of transports. It has no side effects outside the database, except
 * engine/assets, which writes image files when a job calls it. Any other side
 * effect is a job row that is committed with the work.
 *
 * struct work is the context of one unit of work: organization, brand, time,
 * arena and connection. Dispatch or the job worker makes it on its stack; engine
 * functions borrow it.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/json_write.h"
#include "base/values.h"
#include "crypto/ids.h"
#include "crypto/keys.h"
#include "crypto/tokens.h"
#include "db/db.h"

enum { ENGINE_NAME_CHARS = 16 };

struct hit_matchers;

/* The constants of one installation; read-only after engine_load, shared by all threads. */
struct engine {
    struct id_codec ids;
    unsigned char token_key[TOKEN_KEY_BYTES];     /* the secret of this installation; token_keys is derived from it */
    struct token_keys token_keys;                 /* seal cursors, Message-IDs and links */
    unsigned char address_key[ADDRESS_KEY_BYTES]; /* hashes addresses */
    char name[ENGINE_NAME_CHARS + 1]; /* distinguishes installations that share a service (Redis); reveals nothing about the keys */
    int64_t default_organization_id;
    int64_t default_brand_id;
    const char *data_dir;         /* folder of the capture maildir and the assets */
    const char *key_file;         /* file with the master keys */
    const char *import_root;      /* folder of the files that local callers can import; NULL: none */
    const char *public_url;       /* public base URL without a trailing slash; NULL: none */
    bool tracking_off;            /* no links and no opens are tracked */
    const char *design_engine;    /* writes designs: composer, or a provider and its model */
    bool has_embeddings;          /* an embedding model of the operator makes vectors for searches */
    struct opt_int confirm_above; /* an assistant's send to more recipients needs a confirmation; unset: never needed */
    bool fetch_allow_loopback;    /* DANGEROUS, for tests: addresses of SNS may be on this machine */
    const char *sandbox_domain;   /* name of every brand's capture-only sending domain */

    /* The operator's words and ranges in requests, as this process has read them; NULL: none. It has a lock of its own. */
    struct hit_matchers *hit_matchers;
};

struct short_tokens;

struct work {
    struct engine *engine;
    struct arena *arena;
    struct db_conn *conn;
    int64_t organization_id;
    int64_t brand_id; /* 0 for work of the organization */
    int64_t now_us;
    struct short_tokens *short_tokens; /* of a call of an assistant (short_tokens.h); NULL: the tokens are sealed */
};

/* Creates the keys and the default organization and brand if the database has none, and loads them. Idempotent; several
 * processes can run it at once. */
MUST_CHECK bool engine_load(struct db_conn *conn, struct engine *engine, struct error *err) NONNULL(1, 2, 3);

/* Whether an assistant gets the answer. Its answers tell more than the contract's shapes: null for figures that do not exist,
 * rates. */
static inline bool work_is_for_assistant(const struct work *work)
{
    return work->short_tokens != NULL;
}

/* An id in its wire form, in the arena of the work. */
char *work_id(const struct work *work, enum id_kind kind, int64_t id) NONNULL(1) RETURNS_NONNULL;

/* Wire members: an id, a time; *_if omits the member when the value is not set. */
void json_member_id(struct json_writer *json, const struct work *work, const char *name, enum id_kind kind, int64_t id)
    NONNULL(1, 2, 3);
void json_member_id_if(struct json_writer *json, const struct work *work, const char *name, enum id_kind kind, struct opt_int id)
    NONNULL(1, 2, 3);
void json_member_time(struct json_writer *json, const char *name, int64_t time_us) NONNULL(1, 2);
void json_member_int_or_null(struct json_writer *json, const char *name, struct opt_int value) NONNULL(1, 2);
void json_member_time_if(struct json_writer *json, const char *name, struct opt_int time_us) NONNULL(1, 2);
