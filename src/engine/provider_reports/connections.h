/*
 * Connections of mail providers: the addresses /reports/PROVIDER/CONNECTION at
 * which they report deliveries, each with what proves that a report is theirs.
 * Nothing secret is stored: of a password only a hash.
 */
#pragma once

#include "engine/core/work.h"

enum { REPORT_CONNECTIONS_MAX = 100, REPORT_CONNECTION_NAME_MAX_CHARS = 200 };

struct report_connection {
    const char *provider;   /* ses, sendgrid or postmark */
    const char *name;       /* NULL: the provider */
    const char *topic;      /* ses: the ARN of the topic */
    const char *public_key; /* sendgrid: base64 */
};

/* Makes a connection for the organization of `work`, in the open transaction. Of Postmark, `ret_credential` is the user and
 * password as USER:PASSWORD, which is shown once; else NULL. Errors: INVALID_REQUEST. */
MUST_CHECK bool report_connection_add(const struct work *work, const struct report_connection *connection, int64_t *ret_id,
                                      const char **ret_credential, struct error *err) NONNULL(1, 2, 3, 4, 5);

/* Writes the connections of the organization as {"data":[…]}. */
MUST_CHECK bool report_connections_write(const struct work *work, struct json_writer *json, struct error *err) NONNULL(1, 2, 3);

/* Removes a connection in the open transaction. Errors: NOT_FOUND. */
MUST_CHECK bool report_connection_remove(const struct work *work, const char *wire_id, struct error *err) NONNULL(1, 2, 3);

/* The path of a connection: /reports/PROVIDER/CONNECTION. */
char *report_connection_path(const struct work *work, const char *provider, int64_t id) NONNULL(1, 2) RETURNS_NONNULL;
