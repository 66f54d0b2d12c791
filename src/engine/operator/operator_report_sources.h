/*
 * Connections of mail providers, for the operator (posthorn admin
 * report-source). Every change commits with an audit row.
 */
#pragma once

#include "engine/provider_reports/connections.h"

/* Makes a connection and writes it, with the credential that is shown once. Errors: INVALID_REQUEST. */
MUST_CHECK bool operator_add_report_source(const struct work *work, const struct report_connection *connection,
                                           struct json_writer *json, struct error *err) NONNULL(1, 2, 3, 4);

/* Errors: NOT_FOUND. */
MUST_CHECK bool operator_remove_report_source(const struct work *work, const char *wire_id, struct json_writer *json,
                                              struct error *err) NONNULL(1, 2, 3, 4);
