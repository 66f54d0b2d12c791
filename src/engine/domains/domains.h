/*
 * Sending domains of a brand. Every brand has its sandbox domain, whose mail is
 * captured in the outbox instead of being sent.
 */
#pragma once

#include "engine/engine.h"
#include "sql/domains.h"

/* The resource "domain". */
void domain_write(const struct work *work, const struct domain_row *domain, struct json_writer *json) NONNULL(1, 2, 3);
