/*
 * The models that the options name: one that writes designs, and one that makes
 * vectors for searches.
 */
#pragma once

#include "base/error.h"
#include "cli/options.h"

struct embeddings;
struct installation;
struct model;

/* The name that writes designs: composer, or the provider and the name of the model. */
const char *design_engine_of_options(struct arena *arena, const struct options *options) NONNULL(1, 2) RETURNS_NONNULL;

/* `*ret_model` is NULL when no model is named. The caller frees it. Its key comes from the file, from the variable, or from the
 * keys that the installation has sealed (engine/secrets/model_keys.h). Errors: INVALID_REQUEST with the option; SERVICE_UNAVAILABLE
 * (the database, the master keys). */
MUST_CHECK bool model_of_options(struct installation *installation, const struct options *options, struct model **ret_model,
                                 struct error *err) NONNULL(1, 2, 3, 4);

/* The same for the model that makes vectors. */
MUST_CHECK bool embeddings_of_options(struct installation *installation, const struct options *options,
                                      struct embeddings **ret_embeddings, struct error *err) NONNULL(1, 2, 3, 4);
