/*
 * Node config: reads the config of a node by the declaration of its type
 * (schemas/nodes) into its generated struct. Private to engine/nodes.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "catalogue/nodes.h"

/* The struct and its text are allocated in the arena. `path` is that of the config.
 * Errors: INVALID_REQUEST with the dotted path of the member. */
MUST_CHECK bool node_config_read(struct arena *arena, const struct id_codec *ids, enum node_type type, const json_t *given,
                                 const char *path, const void **ret_config, const struct node_form **ret_form, struct error *err)
    NONNULL(1, 2, 5, 6, 7, 8);
