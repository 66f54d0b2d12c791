/*
 * Sender: delivers the messages of campaigns, and single messages whose callers
 * wait. Each process that runs jobs has one sender with these threads:
 *
 *     refill thread     leases ranges and due retries, and reads their recipients  (refill.c)
 *     delivery workers  compose, sign and send to SMTP relays; one thread a core   (delivery_worker.c)
 *     capture worker    delivers the sandbox domain into the capture Maildir       (capture_worker.c)
 *     result writer     writes results and retries, and renews the leases          (result_writer.c)
 *
 * The refill thread and the result writer each have a database connection. The
 * threads share the delivery queue (delivery_queue.h): a few batches for each
 * route, so that a relay that stalls delays only its own messages.
 *
 * Memory never has the only copy of anything. A process that is killed leaves
 * its leases in the database and its journal in the data folder (journal.h). The
 * next sender learns from them which recipients have a result, which have none,
 * and which are uncertain (recovery.c). docs/modules/sending.md describes it all.
 */
#pragma once

#include "engine/core/installation.h"
#include "mail/capture_maildir.h"
#include "sender/retry_policy.h"
#include "smtp/relay.h"

struct sender;

struct sender_config {
    struct installation *installation;
    const char *owner;    /* of leases: the application name of the installation's connections, unique to this process */
    const char *data_dir; /* of the journal */
    struct capture_maildir *outbox;
    struct smtp_relays *relays; /* NULL: none; then only the sandbox domain can send */
    const char *helo_name;
    int delivery_workers;
    bool leaves_unsigned; /* the relay signs (--dkim off) */
    struct retry_policy retry_policy;
};

/* Starts the threads. The refill thread first recovers the journals of ended processes in the data folder. `config` and all that it
 * names are borrowed. Errors: SERVICE_UNAVAILABLE when the journal cannot be written. */
MUST_CHECK bool sender_start(const struct sender_config *config, struct sender **ret_sender, struct error *err) NONNULL(1, 2, 3);

/* Waits up to 10 s for final replies, writes all results and releases the leases. NULL is allowed. */
void sender_stop(struct sender *sender);

bool sender_has_relay(const struct sender *sender) NONNULL(1);

/* Whether messages are to be signed here. */
bool sender_signs(const struct sender *sender) NONNULL(1);

/* A message to one recipient, sent before any batch. */
struct single_message {
    const char *mail_from;
    const char *return_path; /* as in struct smtp_message; NULL: none */
    const char *rcpt_to;
    bool needs_smtputf8;
    struct bytes signatures; /* header fields that precede the message; may be empty */
    struct bytes message;
};

/* Sends it and waits for the final reply. `ret_is_uncertain`, if not NULL, tells whether a relay may have taken it although the
 * call fails. Errors: SERVICE_UNAVAILABLE when no relay took it in time, or the reply never came; INVALID_REQUEST (param `to`) with
 * the relay's reply when it refused for good. */
MUST_CHECK bool sender_deliver(struct sender *sender, const struct single_message *message, int wait_ms, bool *ret_is_uncertain,
                               struct error *err) NONNULL(1, 2, 5);
