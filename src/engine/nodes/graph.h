/*
 * Graph: the nodes and connections of a version of an automation, read from
 * their JSON. Reading checks what one node can be judged by alone: its id, its
 * type, and its config, by the declaration of the type (schemas/nodes). Faults
 * between nodes are found by engine/automations.
 *
 * A graph is read-only after it is read; any thread. It is allocated in the
 * arena that it is read into, and borrows nothing.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/values.h"
#include "catalogue/nodes.h"
#include "crypto/ids.h"

#include <jansson.h>

enum {
    GRAPH_NODES_MAX = 200,
    GRAPH_CONNECTIONS_MAX = 400,
};

struct match_parts;

/* Types and configs come from schemas/nodes: NODE_TRIGGER, struct trigger_config and so on. */
struct graph_node {
    const char *id;
    enum node_type type;
    const char *label;       /* NULL: none */
    const char *description; /* NULL: none */
    const void *config;      /* the generated struct of the type: struct wait_config, … */
    const json_t *given;     /* the config as JSON, with the names of the declaration */
    size_t first_connection; /* the connections that leave the node are consecutive */
    size_t connection_count;
    const struct match_parts *const *condition_parts; /* of its conditions, or those of its exit: their texts, made once */
    struct text_list branches;                        /* the ways out that the config has; none: one way out, without a branch */
    int64_t least_wait_us;                            /* a run stays here at least so long; 0: it may pass at once */
    bool reads_contact;                               /* the step, or the exit conditions of the graph, read it */
    bool reads_payload;                               /* the same; its message may read it, too */
    bool payload_ahead; /* this node, its message, or one that can be reached from it reads the payload */
};

struct graph_connection {
    size_t from; /* index of a node; GRAPH_NONE: the id names no node */
    size_t to;
    const char *from_id;
    const char *to_id;
    const char *branch; /* NULL: the only way out */
};

enum { GRAPH_NONE = GRAPH_NODES_MAX };

struct graph {
    const struct graph_node *nodes; /* in the given order */
    size_t node_count;
    const struct graph_connection *connections; /* ordered by `from` */
    size_t connection_count;
    size_t trigger; /* index of the first trigger node; GRAPH_NONE: there is none */
    size_t trigger_count;
};

/* Reads a graph. Ids of nodes may occur twice, and connections may name no node. `nodes` and `connections` are arrays of objects,
 * of a caller or of a stored version. An id in a config that is none of this installation is NODE_ID_UNKNOWN. Errors:
 * INVALID_REQUEST with a dotted path such as nodes.2.config.duration. */
MUST_CHECK bool graph_read(struct arena *arena, const struct id_codec *ids, const json_t *nodes, const json_t *connections,
                           struct graph **ret_graph, struct error *err) NONNULL(1, 2, 3, 4, 5, 6);

/* The node with this id; NULL when there is none. */
const struct graph_node *graph_find(const struct graph *graph, const char *id) NONNULL(1, 2) PURE;

/* The node behind `node` on this branch (NULL: the only way out); NULL: the run ends there. */
const struct graph_node *graph_next(const struct graph *graph, const struct graph_node *node, const char *branch)
    NONNULL(1, 2) PURE;

/* The index of a word in a NULL-terminated list; -1: it is not there. */
int node_word_index(const char *const *words, const char *word) NONNULL(1);

/* Microseconds of a time span. */
int64_t node_span_us(int64_t duration, enum time_unit unit) PURE;

/* The nodes as they are stored and shown: types by their own names, configs as given. The JSON belongs to the arena. */
json_t *graph_nodes_json(struct arena *arena, const struct graph *graph) NONNULL(1, 2) RETURNS_NONNULL;

/* The canonical JSON of the graph, whose SHA-256 is the definition hash: equal graphs give equal texts. */
char *graph_canonical(struct arena *arena, const struct graph *graph) NONNULL(1, 2) RETURNS_NONNULL;
