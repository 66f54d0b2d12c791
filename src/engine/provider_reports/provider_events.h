/*
 * Readers of the notifications that mail providers send over HTTP: SES (through
 * SNS), SendGrid and Postmark. They turn a body into events and trust nothing in
 * it. Whether the body is the provider's is checked elsewhere (receive.h).
 *
 * Events and texts live in the arena. No state; any thread.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "engine/reports/reports.h"

#include <jansson.h>

enum { PROVIDER_EVENTS_MAX = 10000, PROVIDER_TREE_MAX_BYTES = 32 * 1024 * 1024 };

/* The member, tag or metadata in which a provider gives back the Message-ID token of our message. */
#define PROVIDER_TOKEN_NAME "posthorn"

struct provider_event {
    enum report_kind kind;    /* REPORT_OTHER: a delivery, or anything that changes nothing */
    enum bounce_class bounce; /* of a bounce */
    const char *message_id;   /* Message-ID or its token; NULL: none */
    const char *diagnostic;   /* NULL: none */
    const char *id;           /* names the event; the same when it is sent again */
    int64_t at_us;
};

struct provider_events {
    struct provider_event *items;
    size_t count;
};

/* A body of JSON within the bounds. Errors: INVALID_REQUEST, PAYLOAD_TOO_LARGE. */
MUST_CHECK bool provider_json_read(struct arena *arena, const char *body, const json_t **ret_json, struct error *err)
    NONNULL(1, 2, 3, 4);

/* The events of a body. `now_us` replaces times that are missing or in the future. Errors: INVALID_REQUEST when it is not of the
 * provider's form. */
MUST_CHECK bool sendgrid_events_read(struct arena *arena, const json_t *body, int64_t now_us, struct provider_events *ret_events,
                                     struct error *err) NONNULL(1, 4, 5);
MUST_CHECK bool postmark_events_read(struct arena *arena, const json_t *body, int64_t now_us, struct provider_events *ret_events,
                                     struct error *err) NONNULL(1, 4, 5);

/* ---- SNS ---- */

enum sns_type { SNS_NOTIFICATION, SNS_SUBSCRIPTION, SNS_UNSUBSCRIPTION };

/* An envelope of SNS, whose members exist and have bounds. */
struct sns_message {
    enum sns_type type;
    const char *id;
    const char *topic;
    const char *message;
    const char *certificate_url;
    const char *subscribe_url; /* NULL for a notification */
    bool is_sha256;            /* SignatureVersion 2 */
    struct bytes signature;
    struct bytes signed_text; /* the canonical form that is signed */
    int64_t at_us;
};

MUST_CHECK bool sns_message_read(struct arena *arena, const json_t *body, struct sns_message *ret_message, struct error *err)
    NONNULL(1, 3, 4);

/* Whether an address is of SNS: https, the host sns.REGION.amazonaws.com or .com.cn, no port, credentials or fragment.
 * `allow_loopback` (DANGEROUS, for tests) allows http://127.0.0.1:PORT/ too. */
bool sns_address_is_trusted(const char *url, bool allow_loopback) NONNULL(1);
/* The same, and its path is that of a signing certificate. */
bool sns_certificate_address_is_trusted(const char *url, bool allow_loopback) NONNULL(1);

/* The events of SES in a notification; none in a message that is not of SES. */
MUST_CHECK bool ses_events_read(struct arena *arena, const struct sns_message *message, int64_t now_us,
                                struct provider_events *ret_events, struct error *err) NONNULL(1, 2, 4, 5);

/* ---- For the readers ---- */

/* The text of a member, bounded and without control characters; NULL when absent, empty or not a text. */
const char *provider_text(struct arena *arena, const json_t *object, const char *name) NONNULL(1, 3);
/* An ISO 8601 time that is not in the future, else `now_us`. */
int64_t provider_time(const char *text, int64_t now_us);
/* The class of a bounce by the words and codes of its reply. */
enum bounce_class provider_bounce_class(const char *diagnostic);
