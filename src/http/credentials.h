/*
 * Reads the credentials of a request: Authorization: Bearer, X-API-Key, or the
 * session cookie of the dashboard, in this order.
 */
#pragma once

#include "api/call.h"
#include "http/headers.h"

/* `with_session`: accept the cookie. Header values are borrowed; a cookie is copied to the arena. */
struct credentials credentials_read(struct arena *arena, const struct header_values *headers, bool with_session) NONNULL(1, 2);
