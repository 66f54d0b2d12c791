/*
 * MCP sessions over HTTP in the legacy era (2025-11-25, "Session Management"):
 * a peer that lasts over several requests. It has a random id and is bound to
 * the credential that created it. The number of sessions is bounded: the
 * organization that has the most loses its least recently used one, and idle
 * ones expire. Streams of a session outlive their connections, so that a client
 * can resume with Last-Event-ID (stream.h).
 *
 * Sessions are reference-counted: the caller of begin or find must release.
 */
#pragma once

#include "mcp/core.h"

enum { MCP_SESSION_ID_CHARS = 32, MCP_SESSION_OWNER_BYTES = 16, MCP_SESSION_MAX_STREAMS = 16 };

struct mcp_stream;

struct mcp_session {
    struct mcp_peer peer; /* first member: a session is a peer */
    char id[MCP_SESSION_ID_CHARS + 1];
    unsigned char owner[MCP_SESSION_OWNER_BYTES]; /* keyed digest of the credential */
    unsigned organization;                        /* its place in the table, and the owner in the stream memory */
    unsigned references;                          /* the server's lock guards this member and those down to `older` */
    bool ended;
    int64_t last_use_us;
    struct mcp_session *bucket_next;
    struct mcp_session *newer;
    struct mcp_session *older;
    struct mcp_stream *streams; /* under the peer's lock */
    unsigned stream_count;
    uint64_t last_stream_number;
};

struct mcp_session_table *mcp_session_table_new(unsigned max_count, int64_t idle_us) RETURNS_NONNULL;
void mcp_session_table_free(struct mcp_session_table *sessions);

/* Creates a session with a reference for the caller. When there are too many, it evicts the least recently used one of the
 * organization that has the most; that takes one pass over all sessions. */
struct mcp_session *mcp_session_begin(struct mcp_server *server, const struct credentials *credentials, int64_t organization_id)
    NONNULL(1, 2) RETURNS_NONNULL;

/* Finds the session with this id and owner and marks it as used; with a reference for the caller. NULL when there is none. */
struct mcp_session *mcp_session_find(struct mcp_server *server, const char *id, const struct credentials *credentials)
    NONNULL(1, 2, 3);

void mcp_session_release(struct mcp_session *session);

/* Removes the session and ends its streams and asks. */
void mcp_session_end(struct mcp_session *session) NONNULL(1);

/* Ends sessions that were idle too long (all of them when now_us is INT64_MAX), and old asks and streams. */
void mcp_session_sweep(struct mcp_server *server, int64_t now_us) NONNULL(1);
