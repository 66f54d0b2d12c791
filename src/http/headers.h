/*
 * Request headers: finds the headers that this server uses, in one pass. Values
 * are borrowed from the request.
 */
#pragma once

#include "base/compiler.h"

#include <stdbool.h>
#include <stddef.h>

struct MHD_Connection;

enum header {
    HEADER_UNKNOWN,
    HEADER_ACCEPT,
    HEADER_AUTHORIZATION,
    HEADER_CONTENT_LENGTH,
    HEADER_CONTENT_TYPE,
    HEADER_COOKIE,
    HEADER_EXPECT,
    HEADER_HOST,
    HEADER_IDEMPOTENCY_KEY,
    HEADER_IF_NONE_MATCH,
    HEADER_LAST_EVENT_ID,
    HEADER_MCP_METHOD,
    HEADER_MCP_NAME,
    HEADER_MCP_PROTOCOL_VERSION,
    HEADER_MCP_SESSION_ID,
    HEADER_ORIGIN,
    HEADER_SEC_FETCH_SITE,
    HEADER_TRANSFER_ENCODING,
    HEADER_USER_AGENT,
    HEADER_X_API_KEY,
    HEADER_X_BRAND_ID,
    HEADER_X_FORWARDED_FOR,
    HEADER_X_FORWARDED_HOST,
    HEADER_X_FORWARDED_PROTO,
    HEADER_X_TWILIO_SIGNATURE,
    HEADER_X_TWILIO_TIMESTAMP,
    HEADER_COUNT,
};

struct header_values {
    const char *values[HEADER_COUNT]; /* NULL when absent; the first when repeated */
    bool contradictory;               /* a unique header came twice, or two headers give the length */
};

void headers_read(struct MHD_Connection *mhd, struct header_values *ret_values) NONNULL(1, 2);

/* The header with this name, in any case. */
enum header header_by_name(const char *name, size_t size) NONNULL(1) PURE;

/* ---- Forms of values ---- */

/* True when an Accept (RFC 9110 §12.5.1) allows `type`/`subtype`. An absent header allows everything. A weight of 0 refuses. */
bool accept_takes(const char *accept, const char *type, const char *subtype) NONNULL(2, 3) PURE;

/* True when a Content-Type (RFC 9110 §8.3) is application/json or application/…+json. */
bool content_type_is_json(const char *content_type) NONNULL(1) PURE;

/* The credential after "Bearer " (RFC 6750 §2.1), NULL for other schemes. */
const char *bearer_token(const char *authorization) PURE;
