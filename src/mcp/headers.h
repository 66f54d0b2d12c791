/*
 * HTTP header checks of 2026-07-28: some headers repeat parts of the body, so
 * that proxies can route without parsing it. Values may be Base64 in the form
 * =?base64?…?=. A difference is refused with -32020.
 */
#pragma once

#include "mcp/core.h"

/* False when a header is missing, malformed or different; `ret_fault` is a sentence. */
MUST_CHECK bool mcp_headers_match(const struct mcp_request *request, const struct mcp_headers *headers, const char *name_member,
                                  const char **ret_fault) NONNULL(1, 2, 4);
