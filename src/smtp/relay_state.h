/*
 * SMTP relay state: the data that all loops of a process share about a relay:
 * its settings, its connection limit, its backoff and circuit breaker (half-open
 * probe), and the throttle per recipient domain. Internal to the SMTP client;
 * other modules use smtp/relay.h.
 *
 * Settings never change after smtp_relays_new. One mutex of the set protects
 * everything else. Any thread may call the functions below.
 */
#pragma once

#include "smtp/destinations.h"
#include "smtp/relay.h"
#include "smtp/report_header.h"

#include <pthread.h>
#include <stdbool.h>

enum smtp_tls {
    SMTP_TLS_IF_OFFERED, /* STARTTLS */
    SMTP_TLS_REQUIRED,   /* STARTTLS */
    SMTP_TLS_NEVER,
    SMTP_TLS_AT_ONCE, /* smtps */
};

struct smtp_settings {
    char *name; /* host:port */
    char *host; /* with brackets around an IPv6 address */
    int port;
    char *user; /* NULL: no log-in */
    char *password;
    char *ca_file; /* NULL: the system's */
    enum smtp_tls tls;
    bool takes_any_certificate;
    bool ignores_return_path; /* the envelope sender is the address of From */
    int connections;
    int per_destination; /* 0: no bound */
    int messages;
    int timeout_s;
    int final_timeout_s;
    enum smtp_reports reports;
};

struct smtp_relay {
    struct smtp_relays *set;
    struct smtp_settings settings;

    /* Protected by the lock of the set. */
    int open;
    unsigned failures;        /* in a row */
    unsigned failure_epoch;   /* counts the backoffs, so that ten sessions that fail for one cause start only one */
    int64_t backoff_until_us; /* monotonic */
    bool is_half_open;        /* a probe is in progress */
    char trouble[SMTP_TROUBLE_MAX_BYTES];
    int64_t accepted;
    int64_t refused;
};

struct smtp_relays {
    pthread_mutex_t lock;
    struct smtp_relay items[SMTP_MAX_RELAYS];
    size_t count;
    struct smtp_destinations *destinations; /* NULL when no relay bounds them */
};

/* Reads an address of the form in smtp/relay.h. False: `ret_why` is part of a sentence and holds nothing of the address. */
MUST_CHECK bool smtp_settings_read(const char *url, struct smtp_settings *ret_settings, const char **ret_why) NONNULL(1, 2, 3);
void smtp_settings_done(struct smtp_settings *settings) NONNULL(1);

/* ---- Sessions ---- */

/* Counts one more session, unless the relay is at its limit of connections. */
MUST_CHECK bool smtp_relay_open(struct smtp_relay *relay) NONNULL(1);
void smtp_relay_close(struct smtp_relay *relay) NONNULL(1);

/* ---- Beginning and ending messages ---- */

/* A session's permit to begin a message; zeroed at first. */
struct smtp_permit {
    unsigned failure_epoch;
    bool is_probe; /* the half-open probe: the only session with a permit until its result is known */
};

/* Whether a session may begin a message now. One of the three functions below ends the permit. */
MUST_CHECK bool smtp_relay_begin(struct smtp_relay *relay, struct smtp_permit *permit) NONNULL(1, 2);

/* The relay decided about a message. */
void smtp_relay_worked(struct smtp_relay *relay, struct smtp_permit *permit, bool accepted) NONNULL(1, 2);

/* The relay itself failed: its backoff begins. `why` is kept for smtp_relay_look. */
void smtp_relay_failed(struct smtp_relay *relay, struct smtp_permit *permit, const char *why) NONNULL(1, 2, 3);

/* The session ended without a result for the relay. */
void smtp_relay_abandon(struct smtp_relay *relay, struct smtp_permit *permit) NONNULL(1, 2);

/* The time to retry after smtp_relay_open or _begin returned false, monotonic. */
int64_t smtp_relay_ready_us(struct smtp_relay *relay) NONNULL(1);

/* ---- Recipient domains ---- */

/* The key of a domain (lower case) at a relay. 0 when the relay has no bound; the functions below ignore 0. */
uint64_t smtp_destination_key(const struct smtp_relay *relay, const char *domain, size_t size) NONNULL(1, 2) PURE;

/* Whether one more message may be in progress; if so, it is counted. */
MUST_CHECK bool smtp_destination_take(struct smtp_relay *relay, uint64_t key) NONNULL(1);

/* Counts one more message without a check of the bound. */
void smtp_destination_add(struct smtp_relay *relay, uint64_t key) NONNULL(1);
void smtp_destination_end(struct smtp_relay *relay, uint64_t key) NONNULL(1);
