/*
 * SMTP relays: the addresses of the mail servers that take outgoing mail, and
 * the state of each (backoff, circuit breaker). All sending threads share a set.
 *
 *     smtp://[user:password@]host[:port][?tls=starttls|none|required&connections=10&per_destination=0
 *                                        &messages=1000&timeout=60&final_timeout=600&ca=FILE&verify=yes
 *                                        &reports=ses|sendgrid|postmark&return_path=on]
 *     smtps://…                          TLS from the first byte
 *
 * port            25 by default, 587 with a log-in, 465 of smtps
 * tls             starttls (default): TLS is used when the relay offers it; required: a session without TLS ends; none: no TLS.
 *                 With a log-in, starttls means required: only tls=none sends a password in the clear.
 * connections     sessions open at a time, over all threads of this process (1 to 200, default 10)
 * per_destination messages in progress at a time to one recipient domain (0, the default: no bound)
 * messages        messages of one session; then a new one is opened (default 1000)
 * timeout         seconds to connect and for every reply but the last (default 60)
 * final_timeout   seconds for the reply to the final dot (default 600, RFC 5321 §4.5.3.2.6)
 * ca              a file of certificates to trust in place of the system's
 * return_path     off: the envelope sender is always the address of From, for relays that refuse any other (default on)
 * verify          no: any certificate is accepted. DANGEROUS: an attacker on the path can read the mail and the password.
 *
 * reports         the provider behind this relay: each message gets the header field that makes it give back the Message-ID in its
 *                 reports (report_header.h)
 *
 * Special characters of user, password and file are written as %XX.
 *
 * Backoff: a relay fails when it cannot be reached, replies 421, refuses the log-in, refuses MAIL FROM, stalls, or drops a
 * session before it handled a message. No session uses it then for a time that doubles from one second to five minutes, with a
 * jitter of a fifth. Then one session tries it (half-open probe); the first success ends the backoff. A refusal of MAIL FROM
 * that is about this sender or this size (5.1.7, 5.1.8, 5.3.4, or 501, 552, 553 without an enhanced code) is no failure of the
 * relay. Passwords are never logged.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum { SMTP_MAX_RELAYS = 8, SMTP_MAX_CONNECTIONS = 200, SMTP_TROUBLE_MAX_BYTES = 200 };

struct smtp_relays;

/* `urls`: addresses as above, NULL-ended, at least one. Errors: INVALID_REQUEST with param --relay and the position, without the
 * address itself. */
MUST_CHECK bool smtp_relays_new(const char *const *urls, struct smtp_relays **ret_relays, struct error *err) NONNULL(1, 2, 3);
void smtp_relays_free(struct smtp_relays *relays);

size_t smtp_relays_count(const struct smtp_relays *relays) NONNULL(1);

struct smtp_relay_state {
    const char *name;                     /* host:port, without credentials; borrowed from the set */
    int connections;                      /* allowed */
    int open;                             /* sessions */
    bool is_resting;                      /* in backoff: not used for now */
    int64_t rests_for_ms;                 /* the rest of the backoff; 0 outside one */
    char trouble[SMTP_TROUBLE_MAX_BYTES]; /* the reason of the last failure, "" after a success; without secrets */
    int64_t accepted;                     /* messages, since the start */
    int64_t refused;                      /* messages whose recipient or content was refused, for good or for now */
};
void smtp_relay_look(struct smtp_relays *relays, size_t index, struct smtp_relay_state *ret_state) NONNULL(1, 3);
