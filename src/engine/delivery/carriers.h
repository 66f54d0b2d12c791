/*
 * Carriers: the hidden sends that bring the mail of automations. Each message
 * node of a version has one. A stepper appends recipients to it in batches; the
 * sender delivers a carrier like a campaign. A carrier never completes, and is in
 * no list. Callers see each message as a send of its own (automation_sends).
 *
 * All functions run in the open transaction of the work.
 *
 * Locks: automation_runs (of the caller), the allowance, the usage of the
 * organization, automation_carriers, trigger_payloads. The usage and the carrier
 * stay locked until the commit, so append late in the transaction. Settling
 * (delivery_results.c) keeps the same order.
 */
#pragma once

#include "engine/core/work.h"

/* The mail of a node, as its config says. */
struct carrier_design {
    int64_t automation_id;
    int64_t version_id;
    const char *node_id;
    int64_t email_id;
    int64_t email_version_id;
    int64_t domain_id; /* 0: the default domain of the brand */
    const char *subject;
    const char *preview_text; /* NULL: of the design */
    const char *sender_name;  /* NULL: of the domain */
    const char *from_address; /* NULL: of the domain */
    const char *reply_to;     /* NULL: of the domain */
};

/* The carrier of a node, made at the first message. `ret_carrier_id` is its id in sends. Two transactions make one.
 * Errors: EMAIL_NOT_FOUND, DOMAIN_NOT_FOUND, DOMAIN_NOT_READY, INVALID_REQUEST: the step fails with their message. */
MUST_CHECK bool carrier_ensure(const struct work *work, const struct carrier_design *design, int64_t *ret_carrier_id,
                               struct error *err) NONNULL(1, 2, 3, 4);

/* A message to append. */
struct carrier_message {
    int64_t run_id;
    int64_t visit;
    int64_t contact_id;
    const char *email;
    const char *email_key;
    int64_t audience_run_id; /* 0: none */
    int64_t instance_id;     /* 0: none */
    int64_t payload_id;      /* 0: none, or the design reads no payload */
};

/* Appends messages: recipients, automation_sends, one range, the allowance. Locks the carrier until the commit; carriers are to be
 * appended to in the order of their ids. A run appends once for each visit; a second time is an INTERNAL_ERROR. `ret_ids` are ids
 * of automation_sends in the order of the messages. `ret_has_room` false: the plan's allowance has no room, and nothing was
 * appended. */
MUST_CHECK bool carrier_append(const struct work *work, int64_t carrier_id, const char *node_id, int64_t automation_id,
                               const struct carrier_message *messages, size_t count, bool *ret_has_room, struct int_list *ret_ids,
                               struct error *err) NONNULL(1, 3, 5, 7, 8, 9);

/* Wakes the senders behind the commit. */
MUST_CHECK bool carriers_notify(const struct work *work, struct error *err) NONNULL(1, 2);
