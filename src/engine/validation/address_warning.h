/*
 * Warnings about addresses whose verdict is not clearly valid, as the resource
 * "warning".
 */
#pragma once

#include "base/json_write.h"
#include "mail/address_verdict.h"

/* The code for callers; NULL when a judged address needs no warning. */
const char *address_warning_code(const struct address_check *check) NONNULL(1);

/* Writes the warning; nothing when there is none. */
void address_warning_write(struct arena *arena, const struct address_check *check, struct json_writer *json) NONNULL(1, 2, 3);
