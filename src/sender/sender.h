/*
 * Sender: hands over what campaigns, and callers that wait, have to send. One
 * in each process that runs jobs.
 *
 *     refill   leases ranges and retries, brands in turns, and reads their recipients (a connection of its own)
 *     hands    one thread a core: compose, sign, and talk to the relays (smtp/event_loop), writing the journal
 *     outbox   the hand of the sandbox domain: the capture outbox
 *     writer  writes what became of the recipients, many in a transaction (a connection of its own)
 *
 * What is under way is a line of batches in memory, a few for each way out, so
 * that a relay that stalls holds nothing but itself. Nothing in memory is the
 * only copy: a process that is killed leaves leases and its journal, by which
 * the next one knows whose fate is decided, whose is not, and whose nobody
 * knows.
 */
#pragma once

#include "engine/core/installation.h"
#include "mail/outbox.h"
#include "sender/retry_policy.h"
#include "smtp/relay.h"

struct sender;

struct sender_config {
    struct installation *installation;
    const char *owner;    /* the application name of the installation's connections, unique to this process */
    const char *data_dir; /* the journal is kept there */
    struct outbox *outbox;
    struct smtp_relays *relays; /* NULL: none, only the sandbox domain can send */
    const char *helo_name;
    int delivery_workers;
    bool leaves_unsigned; /* the relay signs (--dkim off) */
    struct retry_policy retry_policy;
};

/* Starts its threads; what an earlier process left in the data folder is settled first. `config` and what it names are borrowed.
 * Errors: SERVICE_UNAVAILABLE when the journal cannot be written. */
MUST_CHECK bool sender_start(const struct sender_config *config, struct sender **ret_sender, struct error *err) NONNULL(1, 2, 3);

/* Ends at a message boundary: waits for final replies up to 10 s, settles, gives the leases back. NULL is allowed. */
void sender_stop(struct sender *sender);

/* There may be something to send. */
void sender_wake(struct sender *sender) NONNULL(1);

bool sender_has_relay(const struct sender *sender) NONNULL(1);

/* Whether messages are to be signed here. */
bool sender_signs(const struct sender *sender) NONNULL(1);

/* One message to be handed to a relay at once, before any campaign. */
struct single_message {
    const char *mail_from;
    const char *rcpt_to;
    bool needs_smtputf8;
    struct bytes signatures; /* headers to stand before the message; may be empty */
    struct bytes message;
};

/* Hands it over and waits. False when it was not sent: SERVICE_UNAVAILABLE when no relay took it in time, or its reply never
 * came; INVALID_REQUEST (param `to`) with the words of a relay that refused it for good. */
MUST_CHECK bool sender_deliver(struct sender *sender, const struct single_message *letter, int wait_ms, struct error *err)
    NONNULL(1, 2, 4);
