/*
 * A relay in this process for tests of the SMTP client: a polite mail server on
 * loopback, a thread a connection, that departs from politeness where it is
 * told, and remembers every line and message it got.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { RELAY_MAX_CONNECTIONS = 64, RELAY_MAX_BODIES = 512, RELAY_HEARD_BYTES = 32 * 1024 };

/*
 * Where the relay departs from "250": the nth time (0: each time) that a command with this beginning comes in a connection
 * (0: in any, else counted from 1), it says `say` instead, then does `then`. Moments without a command of their own: "HELLO" (the
 * connection is made), "DOT" (the end of a body), "BODY" (its first bytes).
 */
struct relay_quirk {
    int connection;
    const char *command;
    int nth;
    const char *say; /* NULL: nothing */
    enum { THEN_GO_ON, THEN_CLOSE, THEN_RESET, THEN_STALL } then;
};

struct relay_standin {
    /* Set before relay_start. */
    const struct relay_quirk *quirks;
    size_t quirk_count;
    const char *abilities; /* lines of the reply to EHLO, "250-PIPELINING\r\n…"; NULL: PIPELINING, SIZE, 8BITMIME, SMTPUTF8 */
    bool byte_by_byte;     /* replies */

    /* Read after relay_stop. */
    int connections;
    int most_open;
    char heard[RELAY_MAX_CONNECTIONS][RELAY_HEARD_BYTES]; /* commands, a line each, without bodies */
    char *bodies[RELAY_MAX_BODIES];                       /* as they came, with doubled dots, without the final one */
    int body_count;
    int envelopes_with_dot; /* bodies in whose last bytes a MAIL came along */

    struct relay_inside *inside;
};

void relay_start(struct relay_standin *relay);
unsigned relay_port(const struct relay_standin *relay);

/* Waits for the connections to end. */
void relay_stop(struct relay_standin *relay);
void relay_free_bodies(struct relay_standin *relay);
