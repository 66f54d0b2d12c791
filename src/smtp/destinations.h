/*
 * SMTP destinations: a hash table that counts the messages in progress to each
 * recipient domain, by key, for the throttle per destination. Its size is
 * bounded: a session has at most two messages. The caller holds a lock.
 */
#pragma once

#include "base/compiler.h"

#include <stdint.h>

struct smtp_destinations;

struct smtp_destinations *smtp_destinations_new(void) RETURNS_NONNULL;
void smtp_destinations_free(struct smtp_destinations *destinations);

/* Keys are hashes other than 0. Two domains of one key share a bound, which harms neither. */
int smtp_destinations_count(const struct smtp_destinations *destinations, uint64_t key) NONNULL(1) PURE;
void smtp_destinations_add(struct smtp_destinations *destinations, uint64_t key) NONNULL(1);

/* Reverses one smtp_destinations_add. */
void smtp_destinations_end(struct smtp_destinations *destinations, uint64_t key) NONNULL(1);
