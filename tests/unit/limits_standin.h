/*
 * For unit tests: a real Valkey or Redis server on a socket in a folder of its
 * own, whose clock the test sets and which then stands still.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct limits_server {
    char folder[64];
    char socket_path[96];
    char address[128]; /* for limit_redis_new */
    pid_t pid;         /* 0: it does not run */
    int64_t *clock;    /* see tests/faults/clock_shim.c */
};

/* Makes the folder and the clock; the server is not started yet. */
void limits_server_make(struct limits_server *server);
/* Starts it and waits until it takes connections. */
void limits_server_start(struct limits_server *server);
/* Sends it a signal; after SIGKILL it is gone when this returns. */
void limits_server_signal(struct limits_server *server, int number);
void limits_server_set_clock(struct limits_server *server, int64_t now_us);
/* Kills it and removes the folder. */
void limits_server_remove(struct limits_server *server);

/* A command; its answer as a number, or -1 where it is none. A refusal fails the test. */
long long limits_server_do(const struct limits_server *server, const char *command);
