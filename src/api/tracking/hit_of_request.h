/*
 * The hit of a request: what is kept of it, with a random id and the time, so
 * that it is stored once however often it is tried.
 */
#pragma once

#include "api/tracking/hit_recorder.h"
#include "api/tracking/hit_spool.h"

/* The texts are copied to the arena: the user agent is cut and its malformed bytes are dropped. */
struct spooled_hit hit_of_request(struct arena *arena, const struct hit_request *request) NONNULL(1, 2);
