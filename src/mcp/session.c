#include "mcp/session.h"

#include "base/clock.h"
#include "base/panic.h"
#include "base/text.h"
#include "mcp/stream.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 4096, STREAM_KEEP_S = 60 };

struct mcp_session_table {
    struct mcp_session *buckets[BUCKETS];
    struct mcp_session *newest; /* by last use */
    struct mcp_session *oldest;
    unsigned char owner_key[crypto_shorthash_siphashx24_KEYBYTES];
    bool has_owner_key;
    unsigned count;
    unsigned counts[STREAM_MEMORY_OWNERS]; /* by organization */
    unsigned max_count;
    int64_t idle_us;
};

struct mcp_session_table *mcp_session_table_new(unsigned max_count, int64_t idle_us)
{
    struct mcp_session_table *sessions = calloc(1, sizeof(*sessions));
    if (sessions == NULL)
        panic(PANIC_NO_MEMORY);
    sessions->max_count = max_count;
    sessions->idle_us = idle_us;
    return sessions;
}

void mcp_session_table_free(struct mcp_session_table *sessions)
{
    free(sessions);
}

/* ---- The table, under the server's lock ---- */

/* Ids are random, so any part of an id is a hash. */
static struct mcp_session **session_bucket(struct mcp_session_table *sessions, const char *id)
{
    unsigned hash = 0;
    for (int i = 0; i < 4 && id[i] != '\0'; i++)
        hash = hash * 31 + (unsigned char)id[i];
    return &sessions->buckets[hash % BUCKETS];
}

static void unlink_by_use(struct mcp_session_table *sessions, struct mcp_session *session)
{
    *(session->newer != NULL ? &session->newer->older : &sessions->newest) = session->older;
    *(session->older != NULL ? &session->older->newer : &sessions->oldest) = session->newer;
    session->newer = NULL;
    session->older = NULL;
}

static void link_as_newest(struct mcp_session_table *sessions, struct mcp_session *session)
{
    session->older = sessions->newest;
    *(sessions->newest != NULL ? &sessions->newest->newer : &sessions->oldest) = session;
    sessions->newest = session;
    session->last_use_us = clock_monotonic_us();
}

static void table_add(struct mcp_session_table *sessions, struct mcp_session *session)
{
    struct mcp_session **bucket = session_bucket(sessions, session->id);
    session->bucket_next = *bucket;
    *bucket = session;
    link_as_newest(sessions, session);
    sessions->count++;
    sessions->counts[session->organization]++;
}

static void table_remove(struct mcp_session_table *sessions, struct mcp_session *session)
{
    struct mcp_session **link = session_bucket(sessions, session->id);
    while (*link != session)
        link = &(*link)->bucket_next;
    *link = session->bucket_next;
    unlink_by_use(sessions, session);
    sessions->count--;
    sessions->counts[session->organization]--;
    session->ended = true;
}

/* The session to evict when there are too many, so that an organization with many sessions evicts its own: the least recently used
 * one of the organization that has the most. */
static struct mcp_session *session_to_evict(const struct mcp_session_table *sessions)
{
    if (sessions->count <= sessions->max_count)
        return NULL;
    struct mcp_session *found = sessions->oldest;
    for (struct mcp_session *session = found; session != NULL; session = session->newer)
        if (sessions->counts[session->organization] > sessions->counts[found->organization])
            found = session;
    return found;
}

/* ---- Sessions ---- */

/* A keyed digest of the credential. A leaked session id cannot be used with another credential, and no secret is stored here. */
static void owner_digest(const struct mcp_session_table *sessions, const struct credentials *credentials,
                         unsigned char ret_digest[MCP_SESSION_OWNER_BYTES])
{
    static const char none[] = "";
    const char *secret = credentials->secret != NULL ? credentials->secret : none;
    const char *brand = credentials->brand != NULL ? credentials->brand : none;
    BUF_SCOPE text;
    buf_init(&text, 1024 * 1024);
    buf_add_char(&text, (char)('0' + (int)credentials->kind));
    buf_add(&text, secret, strlen(secret) + 1);
    buf_add_text(&text, brand);
    crypto_shorthash_siphashx24(ret_digest, (const unsigned char *)text.data, text.size, sessions->owner_key);
}

static void session_free(struct mcp_session *session)
{
    mcp_stream_sweep(session, INT64_MAX);
    mcp_peer_done(&session->peer);
    free(session);
}

void mcp_session_release(struct mcp_session *session)
{
    if (session == NULL)
        return;
    struct mcp_server *server = session->peer.server;
    pthread_mutex_lock(&server->lock);
    bool last = --session->references == 0;
    pthread_mutex_unlock(&server->lock);
    if (last)
        session_free(session);
}

/* The key is created with the first session, so that start-up does no work. */
static void ensure_owner_key(struct mcp_server *server)
{
    struct mcp_session_table *sessions = server->sessions;
    if (sodium_init() < 0)
        panic("libsodium cannot be initialized");
    pthread_mutex_lock(&server->lock);
    if (!sessions->has_owner_key)
        randombytes_buf(sessions->owner_key, sizeof(sessions->owner_key));
    sessions->has_owner_key = true;
    pthread_mutex_unlock(&server->lock);
}

struct mcp_session *mcp_session_begin(struct mcp_server *server, const struct credentials *credentials, int64_t organization_id)
{
    struct mcp_session_table *sessions = server->sessions;
    struct mcp_session *session = calloc(1, sizeof(*session));
    if (session == NULL)
        panic(PANIC_NO_MEMORY);
    ensure_owner_key(server);
    unsigned char random[MCP_SESSION_ID_CHARS / 2];
    randombytes_buf(random, sizeof(random));
    hex_encode(random, sizeof(random), session->id);
    owner_digest(sessions, credentials, session->owner);
    session->organization = (unsigned)((uint64_t)organization_id % STREAM_MEMORY_OWNERS);
    mcp_peer_init(&session->peer, server);
    session->references = 2; /* the table's and the caller's */

    pthread_mutex_lock(&server->lock);
    table_add(sessions, session);
    struct mcp_session *evicted = session_to_evict(sessions);
    if (evicted != NULL)
        evicted->references++;
    pthread_mutex_unlock(&server->lock);

    if (evicted != NULL) {
        mcp_session_end(evicted);
        mcp_session_release(evicted);
    }
    return session;
}

struct mcp_session *mcp_session_find(struct mcp_server *server, const char *id, const struct credentials *credentials)
{
    struct mcp_session_table *sessions = server->sessions;
    pthread_mutex_lock(&server->lock);
    struct mcp_session *session = *session_bucket(sessions, id);
    while (session != NULL && strcmp(session->id, id) != 0)
        session = session->bucket_next;
    if (session != NULL) {
        session->references++;
        unlink_by_use(sessions, session);
        link_as_newest(sessions, session);
    }
    pthread_mutex_unlock(&server->lock);
    if (session == NULL)
        return NULL;
    unsigned char owner[MCP_SESSION_OWNER_BYTES];
    owner_digest(sessions, credentials, owner);
    if (sodium_memcmp(owner, session->owner, sizeof(owner)) != 0) {
        mcp_session_release(session);
        return NULL;
    }
    return session;
}

void mcp_session_end(struct mcp_session *session)
{
    struct mcp_server *server = session->peer.server;
    pthread_mutex_lock(&server->lock);
    bool was_active = !session->ended;
    if (was_active)
        table_remove(server->sessions, session);
    pthread_mutex_unlock(&server->lock);
    if (!was_active)
        return;
    mcp_peer_expire_asks(&session->peer, INT64_MAX);
    mcp_peer_stop(&session->peer, true);
    mcp_session_release(session);
}

/* ---- Housekeeping ---- */

/* All sessions with a reference each, least recently used first. */
static struct mcp_session **snapshot_sessions(struct mcp_server *server, size_t *ret_count)
{
    pthread_mutex_lock(&server->lock);
    struct mcp_session **all = calloc((size_t)server->sessions->count + 1, sizeof(struct mcp_session *));
    if (all == NULL)
        panic(PANIC_NO_MEMORY);
    size_t count = 0;
    for (struct mcp_session *session = server->sessions->oldest; session != NULL; session = session->newer) {
        session->references++;
        all[count++] = session;
    }
    pthread_mutex_unlock(&server->lock);
    *ret_count = count;
    return all;
}

static bool is_idle(struct mcp_session *session, int64_t before_us)
{
    pthread_mutex_lock(&session->peer.lock);
    bool busy = session->peer.requests != NULL;
    pthread_mutex_unlock(&session->peer.lock);
    pthread_mutex_lock(&session->peer.server->lock);
    bool old = session->last_use_us < before_us;
    pthread_mutex_unlock(&session->peer.server->lock);
    return old && !busy;
}

void mcp_session_sweep(struct mcp_server *server, int64_t now_us)
{
    bool all_end = now_us == INT64_MAX;
    size_t count = 0;
    struct mcp_session **all = snapshot_sessions(server, &count);
    for (size_t i = 0; i < count; i++) {
        struct mcp_session *session = all[i];
        mcp_peer_expire_asks(&session->peer, now_us);
        mcp_stream_sweep(session, all_end ? INT64_MAX : now_us - STREAM_KEEP_S * US_PER_S);
        if (all_end || is_idle(session, now_us - server->sessions->idle_us))
            mcp_session_end(session);
        mcp_session_release(session);
    }
    free(all);
}
