/*
 * Account: plan, credits and send allowance of the organization, and the brand
 * of a connection.
 */
#pragma once

#include "engine/core/work.h"
#include "sql/account.h"

/* Reads the organization's usage in the current period. Errors: INTERNAL_ERROR. */
MUST_CHECK bool account_usage(const struct work *work, struct usage_row **ret_usage, struct error *err) NONNULL(1, 2, 3);

/* The resource "usage" (R-164 … R-168). */
void account_write_usage(const struct usage_row *usage, struct json_writer *json) NONNULL(1, 2);

/* Writes the suppressed addresses by reason into the open object. Only hashes of addresses are stored, so they are not listed.
 * One round trip. */
enum { SUPPRESSIONS_COUNTED = 20000 };
MUST_CHECK bool account_write_suppressions(const struct work *work, struct json_writer *json, struct error *err) NONNULL(1, 2, 3);

/* The resource "account": brand, usage, domains that can send, audiences. One round trip.
 * Errors: BRAND_NOT_FOUND. */
MUST_CHECK bool account_write_facts(const struct work *work, struct json_writer *json, struct error *err) NONNULL(1, 2, 3);
