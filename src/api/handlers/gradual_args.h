/*
 * The argument gradualSend, which sends and launches share. Private to the handlers.
 */
#pragma once

#include "api/op_context.h"
#include "catalogue/operations.h"
#include "engine/sends/gradual.h"

/* Checks the argument and makes a plan of it, in the arena of the call. Without the argument the plan is NULL.
 * Errors: INVALID_REQUEST (gradualSend.…). */
MUST_CHECK bool gradual_plan_from_args(struct op_context *ctx, const struct gradual_send *args,
                                       const struct gradual_plan **ret_plan, struct error *err) NONNULL(1, 3, 4);
