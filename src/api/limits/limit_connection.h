/*
 * Connection to a limit store (Valkey, Redis) through hiredis. Every wait has a
 * time-out. A connection that failed is not used again, because a late answer
 * may still arrive.
 */
#pragma once

#include "api/limits/limit_address.h"
#include "api/limits/limit_store.h"

enum {
    LIMIT_CONNECT_MS = 250,
    LIMIT_ANSWER_MS = 250,
    LIMIT_WHY_BYTES = 128,
    LIMIT_HOST_BYTES = 64, /* a numeric address */
    LIMIT_SCRIPT_HASH_CHARS = 40,
};

enum limit_asked {
    LIMIT_ANSWERED,
    LIMIT_CLOSED, /* the server has closed it; another connection may work */
    LIMIT_FAILED,
};

struct limit_connection {
    struct limit_connection *next; /* links the idle connections of a pool */
    struct redisContext *context;
    char script_hash[LIMIT_SCRIPT_HASH_CHARS + 1]; /* the hash that EVALSHA takes */
};

/* Connects, logs in and loads the script. `host` replaces the host of the address. NULL, with the reason, when that fails. */
struct limit_connection *limit_connect(const struct limit_address *address, const char *host, char ret_why[LIMIT_WHY_BYTES])
    NONNULL(1, 3);
void limit_disconnect(struct limit_connection *connection);

/* Counts a call in the window with this name. */
enum limit_asked limit_ask(struct limit_connection *connection, const char *window, int64_t limit, struct limit_count *ret_count,
                           char ret_why[LIMIT_WHY_BYTES]) NONNULL(1, 2, 4, 5);

/* The peer as a numeric address, "" for a socket. */
void limit_peer(const struct limit_connection *connection, char ret_host[LIMIT_HOST_BYTES]) NONNULL(1, 2);

/* The server's name and version, such as "valkey 8.1.0"; "" when it does not report them. */
void limit_server(struct limit_connection *connection, char *ret_text, size_t size) NONNULL(1, 2);
