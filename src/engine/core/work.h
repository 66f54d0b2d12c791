/*
 * The engine: the rules of the service, over PostgreSQL. Each domain is a
 * folder with its header, its code and its queries. Engine code knows email and
 * nothing of any protocol; it has no effects outside the database: what must
 * happen in the world is a job row committed with the work.
 *
 * struct work is the context of one unit of work: whose it is, when it happens,
 * and the arena and connection it uses. It is made by dispatch or by the job
 * worker and lives on their stack; engine functions borrow it.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/json_write.h"
#include "base/values.h"
#include "crypto/ids.h"
#include "crypto/keys.h"
#include "db/db.h"

enum { ENGINE_NAME_CHARS = 16 };

/* What one installation keeps for its life; read-only after engine_load, shared by all threads. */
struct engine {
    struct id_codec ids;
    unsigned char token_key[TOKEN_KEY_BYTES];   /* cursors, links */
    unsigned char address_key[TOKEN_KEY_BYTES]; /* suppressions */
    char name[ENGINE_NAME_CHARS + 1]; /* tells this installation from others where they share a service; says nothing of its keys */
    int64_t default_organization_id;
    int64_t default_brand_id;
    const char *data_dir;         /* where the outbox and the assets are */
    const char *key_file;         /* with the master keys */
    const char *import_root;      /* local callers may import files beneath it; NULL: none */
    const char *public_url;       /* under which anybody reaches this installation, no slash at its end; NULL: none */
    struct opt_int confirm_above; /* recipients from which on an assistant has to confirm; unset: none do */
    const char *sandbox_domain;   /* name of the capture-only sending domain of every brand */
};

struct work {
    struct engine *engine;
    struct arena *arena;
    struct db_conn *conn;
    int64_t organization_id;
    int64_t brand_id; /* 0 for work of the organization */
    int64_t now_us;
};

/* Creates what a fresh database lacks (keys, the default organization and brand) and loads it. Idempotent, safe to
 * run from several processes at once. */
MUST_CHECK bool engine_load(struct db_conn *conn, struct engine *engine, struct error *err) NONNULL(1, 2, 3);

/* An id in its wire form, in the arena of the work. */
char *work_id(const struct work *work, enum id_kind kind, int64_t id) NONNULL(1) RETURNS_NONNULL;

/* Members of the wire: an id, a time; *_if leaves the member out when there is none. */
void json_member_id(struct json_writer *json, const struct work *work, const char *name, enum id_kind kind, int64_t id)
    NONNULL(1, 2, 3);
void json_member_id_if(struct json_writer *json, const struct work *work, const char *name, enum id_kind kind, struct opt_int id)
    NONNULL(1, 2, 3);
void json_member_time(struct json_writer *json, const char *name, int64_t time_us) NONNULL(1, 2);
void json_member_time_if(struct json_writer *json, const char *name, struct opt_int time_us) NONNULL(1, 2);
