/*
 * The model that the options name.
 */
#pragma once

#include "base/error.h"
#include "cli/options.h"

struct model;

/* The name that writes designs: composer, or the provider and the name of the model. */
const char *design_engine_of_options(struct arena *arena, const struct options *options) NONNULL(1, 2) RETURNS_NONNULL;

/* `*ret_model` is NULL when no model is named. The caller frees it. Errors: INVALID_REQUEST with the option. */
MUST_CHECK bool model_of_options(const struct options *options, struct model **ret_model, struct error *err) NONNULL(1, 2, 3);
