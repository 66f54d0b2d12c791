/* Pages of rows that several operations read. Private to the handlers. */
#pragma once

#include "api/op_context.h"
#include "engine/brands/brands.h"
#include "engine/domains/domains.h"

/* Reads the page of the caller's brands after `cursor`. `binding` names the list to its cursors. One round trip.
 * Errors: INVALID_REQUEST (cursor). */
MUST_CHECK bool rows_find_brands(struct op_context *ctx, const char *binding, int64_t limit, const char *cursor,
                                 struct brand_row **ret_brands, struct db_page *ret_found, struct error *err)
    NONNULL(1, 2, 5, 6, 7);

/* The same for the domains of the brand. */
MUST_CHECK bool rows_find_domains(struct op_context *ctx, const char *binding, bool sendable_only, int64_t limit,
                                  const char *cursor, struct domain_row **ret_domains, struct db_page *ret_found, struct error *err)
    NONNULL(1, 2, 6, 7, 8);
