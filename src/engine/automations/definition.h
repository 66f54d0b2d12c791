/*
 * Definitions: a graph as a version stores it, with its hash and what it refers to.
 * They belong to the arena of the work.
 */
#pragma once

#include "crypto/keys.h"
#include "engine/automations/graph_refs.h"

struct definition {
    const struct graph *graph;
    struct graph_refs refs;
    const char *nodes;       /* JSON */
    const char *connections; /* JSON */
    unsigned char hash[SECRET_HASH_BYTES];
    struct opt_int trigger_id;  /* unset: the brand has no such trigger event */
    struct opt_int audience_id; /* unset: the brand has no such audience */
    struct int_list email_ids;
};

/* Reads a graph, and what it refers to. One round trip. Errors: INVALID_REQUEST. */
MUST_CHECK bool definition_read(const struct work *work, const json_t *nodes, const json_t *connections,
                                struct definition *ret_definition, struct error *err) NONNULL(1, 2, 3, 4, 5);
