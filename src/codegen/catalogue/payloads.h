/*
 * The types that a member of a job's payload may have.
 */
#pragma once

#include "model.h"

struct payload_type {
    const char *kind;            /* of enum payload_kind, engine/core/job_payload.h; NULL: no such type */
    const char *c_type;          /* of the member of the struct, with the space or star that its name follows */
    const char *c_type_optional; /* the same for an optional member */
};

/* The type of a member. */
struct payload_type payload_type_of(const struct payload_decl *member) NONNULL(1);

/* Whether the type may have a default: a text, an integer or a boolean. */
bool payload_may_default(const struct payload_decl *member) NONNULL(1);
