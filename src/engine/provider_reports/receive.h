/*
 * Receiving reports of mail providers: checks that a body comes from the provider
 * of the connection, and records its events.
 *
 * report_delivery_check only reads; report_delivery_apply writes in the open
 * transaction. Between them a message of SNS may need a fetch: of the certificate
 * that signed it, or of the address that confirms the subscription. The engine
 * fetches nothing: a job does (jobs/types/receive_report.c).
 */
#pragma once

#include "engine/provider_reports/provider_events.h"

struct report_delivery {
    const char *provider;
    int64_t connection_id;
    const char *body;
    const char *signature;     /* the header of SendGrid, NULL: none */
    const char *timestamp;     /* the header of SendGrid, NULL: none */
    const char *authorization; /* the header Authorization, NULL: none */

    /* Set by the check. */
    int64_t organization_id;
    struct sns_message sns;   /* of ses */
    const char *fetch_url;    /* the certificate is unknown: it is here */
    struct bytes certificate; /* set by a job that has fetched it; checked, and kept by report_delivery_apply */
    struct provider_events events;
};

enum { REPORT_STALE_HOURS = 48, REPORT_AHEAD_MINUTES = 15, REPORT_CERTIFICATE_DAYS = 1 };

/* Checks credential, signature and age. `fetch_url` is set, and nothing else is checked, when the certificate of a message of SNS
 * is needed. Errors: NOT_FOUND for an unknown connection, AUTHENTICATION_REQUIRED for a signature or credential that is wrong,
 * INVALID_REQUEST. */
MUST_CHECK bool report_delivery_check(const struct work *work, struct report_delivery *delivery, struct error *err)
    NONNULL(1, 2, 3);

struct report_delivery_counts {
    int64_t applied;
    int64_t repeated; /* known from an earlier notification */
    int64_t noted;    /* change nothing */
    int64_t unknown;  /* of no message of this organization */
};

/* Records the events of a checked delivery. */
MUST_CHECK bool report_delivery_apply(const struct work *work, const struct report_delivery *delivery,
                                      struct report_delivery_counts *ret_counts, struct error *err) NONNULL(1, 2, 3, 4);

/* Writes the answer to the provider. */
void report_delivery_write(const struct report_delivery_counts *counts, struct json_writer *json) NONNULL(1, 2);
