/*
 * SMTP relays: where mail is handed over, as the operator names them, and how
 * each of them does. A set of relays is shared by all threads that send.
 *
 *     smtp://[user:password@]host[:port][?tls=starttls|none|required&connections=10&per_destination=0
 *                                        &messages=1000&timeout=60&final_timeout=600&ca=FILE&verify=yes]
 *     smtps://…                          TLS from the first byte
 *
 * port            25 by default, 587 with a log-in, 465 of smtps
 * tls             starttls (default): used when the relay offers it; required: nothing is said without it; none: never.
 *                 With a log-in starttls means required: a password crosses the network in the clear only where none says so.
 * connections     sessions open at a time, over all threads of this process (1 to 200, default 10)
 * per_destination messages under way at a time to one recipient domain (0, the default: no bound)
 * messages        of one session, then it is renewed (default 1000)
 * timeout         seconds to connect and for every reply but the last (default 60)
 * final_timeout   seconds for the reply to the final dot (default 600, RFC 5321 §4.5.3.2.6)
 * ca              a file of certificates to trust in place of the system's
 * verify          no: any certificate is taken. DANGEROUS: whoever stands between can read the mail and the password.
 *
 * Special characters of user, password and file are written as %XX.
 *
 * A relay that cannot be reached, says 421, refuses the log-in, refuses MAIL FROM, stalls, or drops a session before it did
 * anything is left alone for a while that doubles from one second to five minutes, give or take a fifth. Then one session tries
 * it, and its first success ends this. What a relay says to MAIL FROM about this sender or this size (5.1.7, 5.1.8, 5.3.4, or
 * 501, 552, 553 without more) is no reason. Passwords are never logged.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum { SMTP_MAX_RELAYS = 8, SMTP_MAX_CONNECTIONS = 200, SMTP_TROUBLE_MAX_BYTES = 200 };

struct smtp_relays;

/* `urls`: addresses as above, NULL-ended, at least one. Errors: INVALID_REQUEST with param --relay and the position, never the
 * address itself. */
MUST_CHECK bool smtp_relays_new(const char *const *urls, struct smtp_relays **ret_relays, struct error *err) NONNULL(1, 2, 3);
void smtp_relays_free(struct smtp_relays *relays);

size_t smtp_relays_count(const struct smtp_relays *relays) NONNULL(1);

struct smtp_relay_state {
    const char *name;                     /* host:port, without credentials; borrowed from the set */
    int connections;                      /* allowed */
    int open;                             /* sessions */
    bool is_resting;                      /* left alone for now */
    int64_t rests_for_ms;                 /* from now on, 0 when it does not rest */
    char trouble[SMTP_TROUBLE_MAX_BYTES]; /* of its last failure, "" after a success; without secrets */
    int64_t accepted;                     /* messages, since the start */
    int64_t refused;                      /* those whose recipient or content it did not take, for good or for now */
};
void smtp_relay_look(struct smtp_relays *relays, size_t index, struct smtp_relay_state *ret_state) NONNULL(1, 3);
