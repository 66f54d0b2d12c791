/*
 * Rules about hits: the classes of programs and networks, and the bounds of the
 * judgement. They are declared in schemas/hits.json. A change of them increments
 * the version there; all hits are then judged again.
 */
#pragma once

#include "engine/hits/hit_matcher.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A class of programs or networks, with the actors of its opens and clicks. NULL: other facts decide. */
struct hit_class {
    const char *name;
    const char *open;
    const char *click;
    bool is_suspect; /* a hit that comes very soon after the delivery is of a machine */
};

struct hit_rules {
    int version;
    int hold_s;      /* a hit is judged when it is so old */
    int burst_s;     /* hits of a recipient that are no further apart are judged together */
    int sweep_links; /* so many different links, followed within sweep_s, are followed by a machine */
    int sweep_s;
    int fast_s; /* an earlier hit after the delivery is very soon */
    const struct hit_class *agents;
    size_t agent_count;
    const struct hit_class *networks;
    size_t network_count;
    const struct hit_matcher *matcher; /* the operator's words and ranges; NULL: none */
};

/* The rules of this program. */
extern const struct hit_rules hit_rules_built_in;

/* The class of a program by the header User-Agent. A text that is longer than 1,024 bytes is read as far as that. */
const char *hit_agent_class(const char *agent) NONNULL(1) RETURNS_NONNULL;

/* The class of the network of an IPv4 or IPv6 address; NULL and other texts are `other`. */
const char *hit_network_class(const char *address) RETURNS_NONNULL;
