/*
 * A client that sends exactly the bytes it is told to, well-formed or not, and
 * reads one answer at a time. Every wait is bounded.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct client {
    int fd;
    unsigned port;
    size_t size; /* of what was read and not yet used */
    char bytes[256 * 1024];
};

struct answer {
    int status; /* 0: the connection ended without an answer */
    char head[4096];
    char body[64 * 1024]; /* cut to this size */
    size_t body_size;     /* as received, without chunk marks */
};

/* Aborts when it cannot connect. */
void client_open(struct client *client, unsigned port);
void client_close(struct client *client);

/* False when the peer has closed. `size` 0: the text's own. */
bool client_send(struct client *client, const char *bytes, size_t size);

/* The next answer; `head_only` for the answer to a HEAD. False: none within `wait_ms`, or the end. */
bool client_read(struct client *client, struct answer *answer, bool head_only, int wait_ms);

/* Connects, sends one request with Host, Connection: close and the given lines, and reads the answer.
 * `lines` are header lines, each with \r\n; `body` NULL: none, else Content-Length is added. */
void client_ask(unsigned port, const char *method, const char *target, const char *lines, const char *body, struct answer *answer);

/* Bytes that have arrived so far, answer or not; waits at most `wait_ms` for `wanted`. */
bool client_sees(struct client *client, const char *wanted, int wait_ms);

/* Whether the peer closes within `wait_ms`. */
bool client_is_closed(struct client *client, int wait_ms);

/* A header's value in the head of the answer, NULL when absent. Valid until the next call. */
const char *answer_header(const struct answer *answer, const char *name);
